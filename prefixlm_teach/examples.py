"""What an objective makes of a text: tokens, labels, and who may see whom, in one form for all objectives.

A label stands where its token stands, never shifted. Most objectives predict it from the row before; a cloze
(masked LM, UniLM) predicts it in its own row, where the token has been covered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach.arguments import check_flag, check_label_ids, check_logits
from prefixlm_teach.example_arguments import check_examples, check_reader, check_some_cloze
from prefixlm_teach.loss import IGNORE, label_loss, prefix_lm_labels
from prefixlm_teach.rows import pad_right


@dataclass(frozen=True, eq=False)
class Examples:
    """B examples of T columns, padded on the right.

    Attributes:
        tokens: (B, T) int64 ids, what the model reads.
        labels: (B, T) int64, the token that is asked for at each place, -100 where none is.
        valid: (B, T) booleans, False at padding.
        prefix_len: (B,) int64, the number of prefix tokens; 0 is causal, the real length an encoder. None
            where `mask` says more than a prefix can.
        mask: (B, 1, T, T) booleans, True = may attend, where `prefix_len` is None.
        positions: (B, T) int64, where they are not simply counted from the first token.
        cloze: True where a label is predicted in its own row, False where in the row before.
        kinds: what made each example, where an objective is a mixture of several.

    Raises:
        TypeError, ValueError: a part has the wrong kind, shape, device or range, a label stands at padding,
            the row that is to predict a label sees its token (but in a cloze), or both or neither of
            `prefix_len` and `mask` are given.
    """

    tokens: Tensor
    labels: Tensor
    valid: Tensor
    prefix_len: Tensor | None = None
    mask: Tensor | None = None
    positions: Tensor | None = None
    cloze: bool = False
    kinds: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_flag("cloze", self.cloze)
        check_examples(
            *(self.tokens, self.labels, self.valid, self.prefix_len, self.mask, self.positions, self.kinds),
            cloze=self.cloze,
            ignore=IGNORE,
        )

    @property
    def label_count(self) -> int:
        """The number of labels that `loss` is the mean over; none stands before the first to predict it."""
        asked = self.labels if self.cloze else self.labels[:, 1:]
        return int((asked != IGNORE).sum())

    def logits(self, model: Callable[..., Tensor]) -> Tensor:
        """Return the (B, T, V) logits of a model that is called as `TinyPrefixLM` is.

        A `TinyEncoderDecoder` is called alike: it encodes the prefix and writes the target. It takes neither
        `mask` nor `positions`, and guesses no cloze.

        Raises:
            TypeError, ValueError: the model does not take what these examples need, or refuses them.
        """
        given: dict[str, Tensor] = {"valid": self.valid}
        if self.mask is not None:
            given["mask"] = self.mask
        if self.positions is not None:
            given["positions"] = self.positions
        check_reader(model, given, self.cloze)
        return model(self.tokens, self.prefix_len, **given)

    def loss(self, logits: Tensor) -> Tensor:
        """Return the mean cross-entropy in nats per label, in float32 (float64 for float64 logits).

        Args:
            logits: (B, T, V) floats, what `logits` returns.

        Raises:
            TypeError, ValueError: a kind, shape, device or id is wrong, or there is no label at all.
        """
        if not self.cloze:
            return label_loss(logits, self.labels)
        check_logits(logits, "labels", self.labels)
        check_label_ids(self.labels, logits.size(-1), IGNORE)
        check_some_cloze(self.labels, IGNORE)
        guesses = logits.flatten(0, 1)  # (B * T, V)
        guesses = guesses.to(torch.promote_types(guesses.dtype, torch.float32))
        return F.cross_entropy(guesses, self.labels.flatten().long(), ignore_index=IGNORE)


def examples_of_rows(
    rows: Sequence[Sequence[int]], prefix_len: Sequence[int], pad_id: int, kinds: Sequence[str] | None = None
) -> Examples:
    """Return examples that show the first `prefix_len` tokens of each row, and ask for each after them.

    A `prefix_len` of 0 asks for all tokens but the first, which nothing stands before to predict.
    """
    tokens, valid = pad_right(rows, pad_id)
    p = torch.tensor(prefix_len, device="cpu")
    labels = prefix_lm_labels(tokens, p, valid=valid)
    return Examples(tokens, labels, valid, p, kinds=None if kinds is None else tuple(kinds))


def examples_of_pairs(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]], pad_id: int, kinds: Sequence[str] | None = None
) -> Examples:
    """Return the examples of (prefix, target) pairs of ids: each prefix is followed by its target."""
    rows = [[*prefix, *target] for prefix, target in pairs]
    return examples_of_rows(rows, [len(prefix) for prefix, _ in pairs], pad_id, kinds)
