"""Alternative text for pictures, made from the data they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from prefixlm_teach.descriptions import describe_mask

SPOKEN = 32  # a longer list of tokens is not read out


def caption_mask(name: str, mask: Tensor, prefix_len: int | None) -> str:
    """Say what the rows of a (T, T) mask see, and how many cells of each kind there are."""
    seq_len = len(mask)
    visible = int(mask.sum())
    opened = int(mask.triu(1).sum())
    counted = f"{visible} of {seq_len * seq_len} pairs may attend"
    if prefix_len is not None:
        counted += f", {opened} of them opened by the prefix of {prefix_len}"
    return f"{name + ': ' if name else ''}{describe_mask(mask)} {counted}."


def caption_tokens(tokens: Sequence[str] | None) -> str:
    """Say which token each number stands for, if there are few."""
    if tokens is None or len(tokens) > SPOKEN:
        return ""
    return f"Tokens: {', '.join(f'{i} {token}' for i, token in enumerate(tokens))}."


def caption_split(tokens: Sequence[str], prefix_len: int) -> str:
    """Say which tokens are prefix, which are target, and which row predicts which token."""
    first, seq_len = max(prefix_len, 1), len(tokens)
    parts = [f"{seq_len} {'token' if seq_len == 1 else 'tokens'}, prefix length {prefix_len}."]
    if seq_len <= SPOKEN:
        if prefix_len:
            parts.append(f"Prefix: “{' '.join(tokens[:prefix_len])}”.")
        if prefix_len < seq_len:
            parts.append(f"Target: “{' '.join(tokens[prefix_len:])}”.")
    if first >= seq_len:
        return " ".join([*parts, "No token is scored."])
    rows = f"rows {first - 1} to {seq_len - 2} each predict the token after them"
    if first == seq_len - 1:
        rows = f"row {first - 1} predicts token {first}"
    return " ".join([*parts, f"{seq_len - first} scored: {rows}."])


def caption_documents(documents: Sequence[Sequence[str]], prefix_lens: Sequence[int], pads: int) -> list[str]:
    """Say of each document which tokens are its prefix and which its target; the pads are the first one's."""
    said = []
    for d, (tokens, p) in enumerate(zip(documents, prefix_lens, strict=True)):
        name = f"Document {d}" if len(documents) > 1 else "Tokens"
        parts = [f"{pads} {'pad' if pads == 1 else 'pads'}"] if pads and d == 0 else []
        for kind, part in {"prefix": tokens[:p], "target": tokens[p:]}.items():
            words = f" “{' '.join(part)}”" if part and len(tokens) <= SPOKEN else ""
            parts.append(f"{kind} ({len(part)}){words}")
        said.append(f"{name}: {', '.join(parts)}.")
    return said


def caption_leaks(faults: Mapping[str, int]) -> str:
    """Say which laws a mask breaks and in how many cells, as `find_leaks` names them."""
    if not faults:
        return "No leak: nothing is visible that must stay hidden."
    return " ".join(f"{law}: {n} {'cell' if n == 1 else 'cells'}." for law, n in faults.items())


def caption_weights(name: str, weights: Tensor, tokens: Sequence[str]) -> str:
    """Say where the rows of a (T, T) weight map look most: each row of a small one, the mean of a large."""
    most, where = weights.max(-1)
    begin = f"{name}: " if name else ""
    if len(tokens) > 16:
        return f"{begin}a row gives its strongest column {float(most.mean()):.2f} of its weight on average."
    rows = [
        f"row {q} ({tokens[q]}) looks most at column {k} ({tokens[k]}), {share:.2f}"
        for q, (k, share) in enumerate(zip(where.tolist(), most.tolist(), strict=True))
    ]
    return f"{begin}{'; '.join(rows)}."


def caption_losses(losses: Sequence[float], mean: Sequence[float], smooth: int) -> str:
    """Say where a loss curve begins, where its running mean ends, and where that is lowest."""
    lowest = min(range(len(mean)), key=mean.__getitem__)
    return (
        f"Loss in nats per target token over {len(losses)} steps: {losses[0]:.2f} at the first step; "
        f"the mean of the last {smooth} ends at {mean[-1]:.2f}; "
        f"its lowest is {mean[lowest]:.2f}, at step {lowest + 1}."
    )
