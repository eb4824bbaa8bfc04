"""What a table of `visibility` shows: is it a prefix LM, and if not, what does it look like?

Through a stack of layers, sight goes from token to token in several steps. The mask of a prefix LM is closed
under such steps: what is seen by anything that a row may see, the row may see itself. So a stack of any depth
shows the mask of one layer, and what a table shows beyond it is wrong at any depth. But once one cell leaks,
deep models leak more: mend what is named first and look again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from prefixlm_teach.masks import bidirectional_mask, causal_mask, create_prefix_lm_mask
from prefixlm_teach.probe_arguments import check_explained


class Part(NamedTuple):
    """One example of a batch, or one document of a packed row, and where it stands in the whole table."""

    who: str  # "example 1" or "document 0"
    real: Tensor  # (n,) rows and columns of its tokens
    pads: Tensor  # (m,) rows and columns of the padding in its row
    prefix_len: int


class Look(NamedTuple):
    """Something that a table can look like."""

    name: str
    sentence: str
    table: Tensor


def explain(
    seen: Tensor,
    prefix_len: int | Tensor,
    *,
    valid: Tensor | None = None,
    lengths: Sequence[int] | None = None,
) -> str:
    """Compare what a model sees with what a prefix LM should see, and say what it looks like.

    It names: a prefix that is closed, one token short or long, or another example's; labels that leak; rows
    and columns exchanged; True and False exchanged; padding that is visible; neighbours in a batch or in a
    packed row that leak; a window. Where two of them would show the same table it says so, with the input
    that would tell them apart. It knows of nothing but the table: not of the loss or of positions, not of how
    much a row makes of what it sees, and not of which layer sees it.

    Args:
        seen: booleans, (T, T) or (B, B, T, T), as `visibility` returns them.
        prefix_len: the p that should be: an int or 0-d tensor for all, (B,) for one per example, or, with
            `lengths`, one per document.
        valid: (B, T) booleans, False at padding.
        lengths: for several documents packed in one row, the number of tokens of each.

    Returns:
        A line for each finding with the first cell that shows it, "row 0 does not see column 1": row q is the
        guess made at token q, column k is token k. Without a finding it begins with "Right", and the
        next lines say what the input did not try.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, shape or range, or they do not fit together.
    """
    check_explained(seen, prefix_len, valid, lengths)
    B, T = (1 if seen.ndim == 2 else len(seen)), seen.size(-1)
    table = seen.reshape(B, B, T, T).transpose(1, 2).reshape(B * T, B * T)  # one long row of all examples
    if valid is None:
        valid = torch.ones(B, T, dtype=torch.bool, device=seen.device)
    parts = list(_parts(prefix_len, valid, lengths))

    said, doubts, right = [], [], True
    for part in parts:
        who = f"{part.who.capitalize()}: " if len(parts) > 1 else ""
        first, *others = looks_like(part, table, parts, T)
        findings = [*leaks(part, table, parts, T), *([first.sentence] if first.sentence else [])]
        right = right and not findings
        said += [who + finding for finding in findings or ["Right."]]
        if others:
            alike = ", ".join(look.name for look in others)
            doubts.append(f"{who}This table is also that of: {alike}.")
    if right:
        its = f"p = {parts[0].prefix_len}" if len(parts) == 1 else "its own p"
        said = [f"Right: each row sees what a prefix LM with {its} shows it, and nothing else."]
        said += _left_open(parts, valid)
    if doubts:
        doubts.append(
            "To tell these apart, probe with p of at least 3 and two target tokens or more; in a batch, give "
            "each example its own p, two apart."
        )
    return "\n".join(said + doubts)


def _parts(prefix_len: int | Tensor, valid: Tensor, lengths: Sequence[int] | None) -> Iterator[Part]:
    """Cut the places of all rows, one row after the other, into examples or documents."""
    places = torch.arange(valid.numel(), device=valid.device).view(valid.shape)
    count = len(valid) if lengths is None else len(lengths)
    prefix_lens = torch.as_tensor(prefix_len).expand(count).tolist()
    if lengths is None:
        reals, kind = [row[real] for row, real in zip(places, valid, strict=True)], "example"
        pads = [row[~real] for row, real in zip(places, valid, strict=True)]
    else:
        reals, kind = list(places[valid].split(list(lengths))), "document"
        pads = [places[~valid]] * count
    for i in range(count):
        yield Part(f"{kind} {i}", reals[i], pads[i], prefix_lens[i])


def leaks(part: Part, table: Tensor, parts: Sequence[Part], seq_len: int) -> Iterator[str]:
    """Say which columns outside of the part its rows see: neighbours, and padding."""
    outside = torch.ones(len(table), dtype=torch.bool, device=table.device)
    outside[part.real] = outside[part.pads] = False
    neighbours = outside.nonzero().flatten()
    for columns, sentence in (
        (neighbours, "A neighbour leaks ({})."),
        (part.pads, "Padding is visible ({})."),
    ):
        open_cells = table[part.real][:, columns].nonzero().tolist()
        if open_cells:
            q, k = part.real[open_cells[0][0]], columns[open_cells[0][1]]
            where = "a pad" if columns is part.pads else _owner(k, parts)
            yield sentence.format(f"{_cell(q, k, seq_len, sees=True)}, {where}")


def _owner(place: Tensor, parts: Sequence[Part]) -> str:
    """Say whose column this is: "example 1", "document 0"."""
    return next(part.who for part in parts if bool((place == torch.cat([part.real, part.pads])).any()))


def looks_like(part: Part, table: Tensor, parts: Sequence[Part], seq_len: int) -> list[Look]:
    """Return everything that the part's own (n, n) table looks like, the likeliest first; at least one."""
    own = table[part.real][:, part.real]
    n, p = len(own), part.prefix_len
    if n == 0:
        return [Look("right", "", own)]
    wanted = create_prefix_lm_mask(n, p).to(own.device)
    wrong = [
        _cell(part.real[q], part.real[k], seq_len, sees=bool(own[q, k]))
        for q, k in (own != wanted).nonzero().tolist()
    ]
    pads_hidden = len(part.pads) > 0 and not bool(table[part.real][:, part.pads].any())
    looks = [*_common(n, p, pads_hidden), *_other_prefixes(part, parts), *_windows(n, p)]
    found = [look for look in looks if torch.equal(own, look.table.to(own.device))]
    if not found:
        more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return [Look("unknown", f"Not recognised ({'; '.join(wrong[:3])}{more}).", own)]
    return [Look(name, f"{sentence} ({wrong[0]})." if wrong else "", t) for name, sentence, t in found]


def _cell(q: Tensor, k: Tensor, seq_len: int, *, sees: bool) -> str:
    """Name a cell of the whole table by its row and column in its example."""
    return f"row {int(q) % seq_len} {'sees' if sees else 'does not see'} column {int(k) % seq_len}"


def _common(n: int, p: int, pads_hidden: bool) -> Iterator[Look]:
    """What an example of n tokens shows when it is right, and when it is wrong as it often is."""
    right = create_prefix_lm_mask(n, p)
    itself = torch.eye(n, dtype=torch.bool)  # the residual path: a row sees its own token past any mask
    yield Look("right", "", right)
    yield Look("causal", "Causal: the prefix is not open", causal_mask(n))
    alone = "Padding alone is masked: all else is visible, and the labels leak"
    every = alone if pads_hidden else "All visible: the labels leak"
    yield Look("all visible", every, bidirectional_mask(n))
    yield Look("transposed", "Transposed: rows and columns are exchanged", right.T)
    for table in (~right | itself, ~right):
        yield Look("upside down", "Upside down: True and False are exchanged", table)
    for step, word in ((-1, "short"), (1, "long")):
        if 0 <= p + step <= n:
            name = f"a prefix one token {word}"
            sentence = f"Prefix one token too {word}: as if p were {p + step}, not {p}"
            yield Look(name, sentence, create_prefix_lm_mask(n, p + step))


def _other_prefixes(part: Part, parts: Sequence[Part]) -> Iterator[Look]:
    """What an example shows whose prefix is another's, was counted with the pads, or is just another."""
    n, p = len(part.real), part.prefix_len
    known = {0, 1, p - 1, p, p + 1, n}
    pads_before = int((part.pads < part.real[0]).sum())
    if pads_before:
        known.add(p - pads_before)
        sentence = f"Pads are counted as prefix: {pads_before} before the text, and the prefix ends too soon"
        yield Look("pads counted as prefix", sentence, create_prefix_lm_mask(n, max(p - pads_before, 0)))
    for other in parts:
        if other.prefix_len != p:
            known.add(other.prefix_len)
            whose = f"the p of {other.who}"
            sentence = f"Borrowed prefix: as if p were {other.prefix_len}, {whose}, not {p}"
            yield Look(whose, sentence, create_prefix_lm_mask(n, min(other.prefix_len, n)))
    for end in set(range(n)) - known:
        sentence = f"Another prefix: as if p were {end}, not {p}"
        yield Look("another prefix", sentence, create_prefix_lm_mask(n, end))


def _windows(n: int, p: int) -> Iterator[Look]:
    """What an example shows through a window, or through layers of windows: a reach of so many tokens."""
    places = torch.arange(n)
    away = (places - places[:, None]).abs()
    right, causal = create_prefix_lm_mask(n, p), causal_mask(n)
    for reach in range(n - 1):
        how_far = f"{reach} token{'s' * (reach != 1)}"
        near = away <= reach
        yield Look("a window", f"Window: no row sees further than {how_far} away", right & near)
        sentence = f"Causal, with a window: no row sees further than {how_far} back"
        yield Look("causal with a window", sentence, causal & near)
        if reach < n - 1 - p:
            sentence = (
                f"Window on the target alone: it reaches {how_far} back, but the prefix is open behind it"
            )
            yield Look("a window on the target", sentence, (causal & near) | (places < p))


def _left_open(parts: Sequence[Part], valid: Tensor) -> Iterator[str]:
    """Say what a right table leaves open: what the input did not try, and what no table tells."""
    if len(parts) == 1:
        yield "Not tried: neighbours (there is one example)."
    elif len({part.prefix_len for part in parts}) == 1:
        yield "Not tried: a prefix borrowed from a neighbour (all have the same p)."
    if bool(valid.all()):
        yield "Not tried: padding (there is none)."
    yield "Not told by any table: the loss, positions, which layer sees, how much a row makes of it."
