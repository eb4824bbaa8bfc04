"""The oldest objectives: causal LM, masked LM and prefix LM, each from rows of ids to `Examples`.

Sources: masked LM as in Devlin et al. 2019 (BERT, arXiv:1810.04805), section 3.1, and in its released
`create_pretraining_data.py`; prefix LM as in Raffel et al. 2020 (T5, arXiv:1910.10683), section 3.3.1, and
in its released `random_prefix_noise_mask`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_share
from prefixlm_teach.cover import cover
from prefixlm_teach.examples import Examples, examples_of_rows
from prefixlm_teach.objective_arguments import check_one_split, check_special_ids
from prefixlm_teach.row_arguments import check_id, check_row_seed, check_rows, check_vocab_size
from prefixlm_teach.rows import draw_int, row_draws


def causal_lm(rows: Sequence[Sequence[int]], *, pad_id: int = 0) -> Examples:
    """Return examples that ask for every token but the first, each from those before it.

    Args:
        rows: texts as lists of ids, of any lengths from 2 on.
        pad_id: the id that fills up the shorter rows.

    Returns:
        Examples with p = 0.

    Raises:
        TypeError, ValueError: an argument has the wrong kind or range, or a row is too short.
    """
    check_rows(rows, shortest=2)
    check_id("pad_id", pad_id)
    return examples_of_rows(rows, [0] * len(rows), pad_id)


def prefix_lm(
    rows: Sequence[Sequence[int]],
    *,
    seed: int | None = None,
    prefix_len: int | Tensor | None = None,
    pad_id: int = 0,
) -> Examples:
    """Return examples that show a prefix whole and ask for each token after it.

    With a seed, p is drawn uniformly from 1 to L - 1 for a row of L tokens. The draw of row i depends on the
    seed, on i and on L, not on the other rows.

    Args:
        rows: texts as lists of ids, of any lengths from 2 on.
        seed: draws the prefix lengths.
        prefix_len: instead of a seed, p: an int or 0-d tensor for all rows, or (B,) for one per row. Each row
            needs a token after its prefix.
        pad_id: the id that fills up the shorter rows.

    Returns:
        Examples with `prefix_len`.

    Raises:
        TypeError, ValueError: an argument has the wrong kind or range, a row is too short, or both or neither
            of `seed` and `prefix_len` are given.
    """
    check_rows(rows, shortest=2)
    check_one_split(prefix_len, seed, rows)
    check_id("pad_id", pad_id)
    p: list[int]
    if seed is None:
        p = torch.as_tensor(prefix_len, device="cpu").expand(len(rows)).tolist()
    else:
        p = [draw_int(1, len(row) - 1, row_draws(seed, i)) for i, row in enumerate(rows)]
    return examples_of_rows(rows, p, pad_id)


def masked_lm(
    rows: Sequence[Sequence[int]],
    *,
    vocab_size: int,
    mask_id: int,
    seed: int,
    rate: float = 0.15,
    special_ids: Collection[int] = (),
    pad_id: int = 0,
) -> Examples:
    """Return examples that cover some tokens and ask for each of them in its own row, all rows seeing all.

    Of a row of L tokens, round(L * rate) are asked for, at least one, at places drawn without replacement.
    Each of them is covered by `mask_id` 80 % of the time, by any id of the vocabulary, drawn uniformly, 10 %
    of the time, and left as it is 10 % of the time. The released code also has a highest number of places
    per row, which is left out here. The draws of row i depend on the seed, on i and on the row alone.

    Args:
        rows: texts as lists of ids, without `mask_id`.
        vocab_size: V, the number of ids.
        mask_id: the id that covers a token.
        seed: draws places and covers.
        rate: which share of the tokens is asked for.
        special_ids: ids that are never asked for, such as a separator's. They count in L.
        pad_id: the id that fills up the shorter rows.

    Returns:
        Examples with `cloze`, whose `prefix_len` is the length of each row.

    Raises:
        TypeError, ValueError: an argument has the wrong kind or range, a row holds `mask_id`, or has no
            token to ask for.
    """
    check_vocab_size(vocab_size)
    check_id("mask_id", mask_id, vocab_size)
    check_rows(rows, vocab_size, special={mask_id: "mask_id"})
    check_row_seed(seed)
    check_share("rate", rate)
    check_special_ids(special_ids, rows)
    check_id("pad_id", pad_id, vocab_size)
    draws = [row_draws(seed, i) for i in range(len(rows))]
    special = set(special_ids)
    places = []
    for row, own in zip(rows, draws, strict=True):
        usual = [t for t, id_ in enumerate(row) if id_ not in special]
        count = max(round(len(row) * rate), 1)
        places.append(own.permutation(usual)[:count].tolist())
    tokens, labels, valid = cover(rows, places, draws, mask_id=mask_id, vocab_size=vocab_size, pad_id=pad_id)
    return Examples(tokens, labels, valid, valid.sum(-1), cloze=True)
