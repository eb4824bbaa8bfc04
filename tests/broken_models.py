"""Bugs from public threads, each a small model that has one, and the right model they were made from.

Each is called as `model(tokens, prefix_len)`, with `valid=` where the batch is padded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from prefixlm_teach import causal_mask, create_prefix_lm_mask

V, D, H, T = 11, 8, 2, 10
torch.manual_seed(0)
EMBED, POSITION, OUT = nn.Embedding(V, D).double(), nn.Embedding(T, D).double(), nn.Linear(D, V).double()
LAYERS = [nn.Linear(D, 3 * D).double() for _ in range(2)]
sdpa = F.scaled_dot_product_attention


def lm(tokens: Tensor, mask: Tensor, attend: Callable[..., Tensor] = sdpa) -> Tensor:
    """A language model of two attention layers: what it sees is what its mask, or `attend`, lets it see."""
    h = EMBED(tokens) + POSITION.weight[: tokens.size(1)]
    for layer in LAYERS:
        q, k, v = (
            x.unflatten(-1, (H, -1)).transpose(1, 2) for x in layer(h).chunk(3, -1)
        )  # (B, H, T, d_head)
        h = h + attend(q, k, v, mask).transpose(1, 2).flatten(2)
    logits: Tensor = OUT(h)
    return logits


def right(tokens: Tensor, prefix_len: int | Tensor, *, valid: Tensor | None = None) -> Tensor:
    return lm(tokens, create_prefix_lm_mask(tokens.size(1), prefix_len, valid=valid))


# The prefix


def late(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """bigscience/Megatron-DeepSpeed PR 167: the index was taken for the last prefix token."""
    return right(tokens, prefix_len + 1)


def early(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """The same thread, the other way round: the index was taken for the number of prefix tokens."""
    return right(tokens, prefix_len - 1)


def one_mask_for_all(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """bigscience/Megatron-DeepSpeed PR 52: one mask for a batch whose prefixes differ."""
    return right(tokens, int(prefix_len[0]))


def boundary_of_the_longest(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """ChatGLM-Tuning 11, turned round: one example's boundary for the whole batch."""
    return right(tokens, int(prefix_len.max()))


def mask_without_heads(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """lucidrains/graph-transformer-pytorch PR 2: (B, T, T) is taken for one mask per head when B = H."""
    return lm(tokens, create_prefix_lm_mask(tokens.size(1), prefix_len)[:, 0])


def pads_counted(tokens: Tensor, prefix_len: Tensor, *, valid: Tensor) -> Tensor:
    """The prefix is `k < p` by columns, while pads stand on the left."""
    k = torch.arange(tokens.size(1))
    opened = causal_mask(tokens.size(1)) | (k < prefix_len[:, None, None, None])
    return lm(tokens, opened & valid[:, None, None, :])


def is_causal_too(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """pytorch 118972: `is_causal` beside a mask. Both apply, and nothing is left of the open prefix."""
    mask = create_prefix_lm_mask(tokens.size(1), prefix_len)
    return lm(tokens, mask, lambda q, k, v, mask: sdpa(q, k, v, attn_mask=mask, is_causal=True))


# Labels that leak


def all_ones(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """huggingface/transformers PR 30918: a mask of ones while fine-tuning."""
    return lm(tokens, torch.ones(tokens.size(1), tokens.size(1), dtype=torch.bool))


def zeros_and_ones(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """pytorch 21518: a mask of 0.0 and 1.0 is added to the scores and hides nothing."""
    return lm(tokens, create_prefix_lm_mask(tokens.size(1), prefix_len).double())


def padding_mask_instead(tokens: Tensor, prefix_len: Tensor, *, valid: Tensor) -> Tensor:
    """unslothai/unsloth-zoo PR 963: where there is a padding mask, it takes the place of the whole mask."""
    return lm(tokens, valid[:, None, None, :])


# Upside down, and the wrong way round


def inverted(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """transformers 31312, x-transformers 160, LLMs-from-scratch 1061: True was meant to be blocked."""
    return lm(tokens, ~create_prefix_lm_mask(tokens.size(1), prefix_len))


def two_readings(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """NVIDIA/TransformerEngine 614: another backend takes True for blocked."""
    mask = create_prefix_lm_mask(tokens.size(1), prefix_len)
    return lm(
        tokens,
        mask,
        lambda q, k, v, mask: sdpa(
            q, k, v, torch.zeros_like(mask, dtype=q.dtype).masked_fill(mask, -torch.inf)
        ),
    )


def transposed(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """pytorch/examples 649: the triangle of the mask lies on the wrong side."""
    return lm(tokens, create_prefix_lm_mask(tokens.size(1), prefix_len).mT)


# Padding


def opened_last(tokens: Tensor, prefix_len: Tensor, *, valid: Tensor) -> Tensor:
    """huggingface/transformers 35855: the prefix is opened after padding was closed, and the pads with it."""
    k, ends = torch.arange(tokens.size(1)), (~valid).sum(-1) + prefix_len
    closed = causal_mask(tokens.size(1)) & valid[:, None, None, :]
    return lm(tokens, closed | (k < ends[:, None, None, None]))


def blind_rows(tokens: Tensor, prefix_len: Tensor, *, valid: Tensor) -> Tensor:
    """pytorch 103749, transformers 38690, OLMo 322: a row that sees nothing is NaN, and then all rows are."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        scores = (q @ k.mT).masked_fill(~mask, -torch.inf)
        return scores.softmax(-1) @ v

    mask = create_prefix_lm_mask(tokens.size(1), prefix_len, valid=valid)
    return lm(tokens, mask & valid[:, None, :, None], attend)


def too_large_for_half(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """NVIDIA/apex 1052, fairseq 3575: -1e9 is -inf in half precision, and 0 times -inf is NaN."""
    hidden = ~create_prefix_lm_mask(tokens.size(1), prefix_len)
    return lm(tokens, (hidden.half() * torch.tensor(-1e9).half()).double())


# Neighbours, windows, decoding


def batch_second(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """dhimasryan/MOSA-Net-Cross-Domain 10: `batch_first` forgotten, so that examples attend to each other."""
    h = right(tokens, prefix_len)
    return h + sdpa(h.transpose(0, 1), h.transpose(0, 1), h.transpose(0, 1)).transpose(0, 1)


def packed_by_precedence(lengths: Sequence[int], prefix_lens: Sequence[int]) -> Callable[..., Tensor]:
    """trl 1230, functionary 265: packed documents see each other; here by `or` before `and`."""
    document = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
    ends = torch.tensor(lengths).cumsum(0) - torch.tensor(lengths) + torch.tensor(prefix_lens)
    same, prefix = document == document[:, None], torch.arange(len(document)) < ends[document]
    return lambda tokens, prefix_len: lm(tokens, causal_mask(len(document)) | prefix & same)


def window_before_prefix(tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """huggingface/transformers PR 46850: the prefix is opened after the window was closed, and across it."""
    k = torch.arange(tokens.size(1))
    window = (k - k[:, None]).abs() < 2
    return lm(tokens, causal_mask(tokens.size(1)) & window | (k < prefix_len[:, None, None, None]))


def upper_left(tokens: Tensor, prefix_len: int) -> Tensor:
    """pytorch 103082, 108108, llama 899: one query decoded with `is_causal`, which shows it key 0 alone."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        prefill = sdpa(q[:, :, :prefix_len], k[:, :, :prefix_len], v[:, :, :prefix_len])
        steps = [
            sdpa(q[:, :, t : t + 1], k[:, :, : t + 1], v[:, :, : t + 1], is_causal=True)
            for t in range(prefix_len, tokens.size(1))
        ]
        return torch.cat([prefill, *steps], dim=2)

    return lm(tokens, causal_mask(1), attend)


@dataclass(frozen=True)
class Case:
    """A model, the input that shows its bug, and what is to be said of it (or with what it is refused)."""

    model: Callable[..., Tensor]
    says: str
    prefix_len: Any = None
    valid: Tensor | None = None
    lengths: Sequence[int] | None = None

    @property
    def tokens(self) -> Tensor:
        return TOKENS if self.lengths is None and isinstance(self.prefix_len, Tensor) else TOKENS[:1]


TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [5, 8, 9, 7, 9, 3, 2, 3, 8, 4]])
P = torch.tensor([3, 5])
PADDED = torch.tensor([[True] * 10, [False] * 3 + [True] * 7])

SAYS = {
    late: "Example 0: Prefix one token too long: as if p were 4, not 3 (row 0 sees column 3).",
    early: "Example 0: Prefix one token too short: as if p were 2, not 3 (row 0 does not see column 2).",
    one_mask_for_all: "Example 1: Borrowed prefix: as if p were 3, the p of example 0, not 5 "
    "(row 0 does not see column 3).",
    boundary_of_the_longest: "Example 0: Borrowed prefix: as if p were 5, the p of example 1, not 3 "
    "(row 0 sees column 3).",
    mask_without_heads: "Example 0: Borrowed prefix: as if p were 5, the p of example 1, not 3 "
    "(row 0 sees column 3).",
    is_causal_too: "Example 0: Causal: the prefix is not open (row 0 does not see column 1).",
    all_ones: "Example 0: All visible: the labels leak (row 0 sees column 3).",
    zeros_and_ones: "Example 0: All visible: the labels leak (row 0 sees column 3).",
    inverted: "Example 0: Upside down: True and False are exchanged (row 0 does not see column 1).",
    two_readings: "Example 0: Upside down: True and False are exchanged (row 0 does not see column 1).",
    transposed: "Example 0: Transposed: rows and columns are exchanged (row 0 sees column 3).",
    too_large_for_half: "row 0 of example 0 is NaN",
    batch_second: "Example 0: A neighbour leaks (row 0 sees column 0, example 1).",
    window_before_prefix: "Example 0: Window on the target alone: it reaches 2 tokens back, but the "
    "prefix is open behind it (row 6 does not see column 3).",
}
SAYS_PADDED = {
    pads_counted: "Example 1: Pads are counted as prefix: 3 before the text, and the prefix ends too soon "
    "(row 3 does not see column 5).",
    padding_mask_instead: "Example 1: Padding alone is masked: all else is visible, and the labels leak "
    "(row 3 sees column 8).",
    opened_last: "Example 1: Padding is visible (row 3 sees column 0, a pad).",
    blind_rows: "row 3 of example 1 is NaN",
}
CASES = {
    **{model.__name__: Case(model, says, P) for model, says in SAYS.items()},
    **{model.__name__: Case(model, says, P, PADDED) for model, says in SAYS_PADDED.items()},
    "packed_by_precedence": Case(
        packed_by_precedence([5, 5], [3, 3]),
        "Document 1: A neighbour leaks (row 5 sees column 0, document 0).",
        torch.tensor([3, 3]),
        lengths=[5, 5],
    ),
    "upper_left": Case(
        upper_left,
        "Window on the target alone: it reaches 0 tokens back, but the prefix is open behind it "
        "(row 4 does not see column 3).",
        3,
    ),
}
