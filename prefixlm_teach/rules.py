"""Masks from rules: the parts of which rules are made, the mask of a rule, and what no mask may show."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_int
from prefixlm_teach.picture_arguments import check_prefix_lens
from prefixlm_teach.rule_arguments import check_lengths, check_parts, check_total
from prefixlm_teach.rule_language import PARTS, parse_rule

# What may never be seen, each as a rule of its own; the last one where the rule speaks of a window.
LAWS = {
    "Pads are visible": "not valid",
    "The target's future is visible": "not causal and not prefix",
    "Another document is visible": "valid and not document",
    "Keys beyond the window are visible": "valid and not window",
}


def mask_from_rule(rule: str, parts: Mapping[str, Tensor]) -> Tensor:
    """Return the mask that a rule such as `(causal or prefix) and valid` stands for.

    Args:
        rule: see `parse_rule`.
        parts: a (T, T) boolean tensor, True = may attend, for each part, as `mask_parts` makes them.

    Returns:
        (T, T) booleans, True = may attend.

    Raises:
        TypeError: `rule` is not a string, or a part is not boolean.
        ValueError: `rule` is not a rule, or a part is missing or of another size.
    """
    check_parts(parts, PARTS)
    pile: list[Tensor] = []
    for name in parse_rule(rule):
        if name in PARTS:
            pile.append(parts[name])
        elif name == "not":
            pile.append(~pile.pop())
        else:
            right, left = pile.pop(), pile.pop()
            pile.append(left & right if name == "and" else left | right)
    return pile.pop().clone()  # a rule may be a part and nothing else


def mask_parts(
    lengths: Sequence[int], prefix_lens: Sequence[int], *, window: int, pads: int = 0
) -> dict[str, Tensor]:
    """Return the parts of which rules are made, for documents packed in a row.

    Pads on the left belong to the first document, and to its prefix: the prefix is `k < end`, as in
    `create_prefix_lm_mask`, so what closes the pads must come after what opens the prefix.

    Args:
        lengths: the number of tokens of each document.
        prefix_lens: p of each document.
        window: how many tokens wide the window is: a query sees the `window` - 1 keys before it and as many
            after it.
        pads: how many pads stand before the first document.

    Returns:
        (T, T) booleans on the CPU under each name, T = pads + all lengths: `causal`, the key is not after
        the query; `prefix`, the key is before the end of its document's prefix; `window`, the key is less
        than `window` away; `document`, key and query are in one document; `valid`, the key is no pad.

    Raises:
        TypeError: a number is not whole.
        ValueError: a number is too small, a prefix longer than its document, or T more than 4,096.
    """
    check_lengths(lengths)
    check_prefix_lens(prefix_lens, lengths, "document")
    check_int("window", window, minimum=1)
    check_int("pads", pads, minimum=0)
    check_total(lengths, pads)
    counts = torch.tensor([*map(operator.index, lengths)], device="cpu")
    p = torch.tensor([*map(operator.index, prefix_lens)], device="cpu")
    sizes = counts.clone()
    sizes[0] += pads
    ends = sizes.cumsum(0) - counts + p  # where each target begins
    document = torch.arange(len(sizes), device="cpu").repeat_interleave(sizes)  # (T,)
    k = torch.arange(len(document), device="cpu")  # (T,): the columns
    q = k[:, None]  # (T, 1): the rows
    parts = {
        "causal": k <= q,
        "prefix": k < ends[document],
        "window": (q - k).abs() < min(window, len(k)),
        "document": document == document[:, None],
        "valid": k >= pads,
    }
    return {name: part.expand(len(k), len(k)).clone() for name, part in parts.items()}


def find_leaks(rule: str, parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Find the cells that a rule opens and that must stay hidden, by the law that they break.

    No query may see a pad, a later key that is not prefix, or another document; and none may see beyond the
    window if the rule speaks of a window. A pad counts as a pad only, but any other cell may break two laws.

    Args:
        rule: see `parse_rule`.
        parts: see `mask_from_rule`.

    Returns:
        (T, T) booleans, True = open and must not be, for each law that is broken; without a leak, nothing.

    Raises:
        TypeError, ValueError: as `mask_from_rule`.
    """
    mask, named = mask_from_rule(rule, parts), parse_rule(rule)
    laws = {law: hidden for law, hidden in LAWS.items() if "window" not in hidden or "window" in named}
    leaks = {law: mask & mask_from_rule(hidden, parts) for law, hidden in laws.items()}
    return {law: cells for law, cells in leaks.items() if bool(cells.any())}
