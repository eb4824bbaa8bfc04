"""The definitions, spelt out in loops: slow, plain, and independent of the package they test.

An example is a list of T places; `real[t]` says whether place t holds a token or padding.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def visible_pairs(prefix_len: int, real: list[bool]) -> list[list[bool]]:
    """Who may attend to whom in one example: rows are queries, columns are keys."""
    first = real.index(True) if True in real else 0
    rows = []
    for q in range(len(real)):
        row = []
        for k in range(len(real)):
            past = k <= q
            in_prefix = k < first + prefix_len
            row.append((past or in_prefix) and real[k])
        rows.append(row)
    return rows


def additive_mask(seq_len: int, prefix_len: int) -> Tensor:
    """The additive mask, cell by cell: -inf at a key that comes after its query and after the prefix."""
    cells = [
        [-math.inf if key > query and key >= prefix_len else 0.0 for key in range(seq_len)]
        for query in range(seq_len)
    ]
    return torch.tensor(cells)


def attend(
    q: list[list[float]], k: list[list[float]], v: list[list[float]], visible: list[list[bool]]
) -> tuple[list[list[float]], list[list[float]]]:
    """One head, one example: the mixed values and the weights; a query that sees nothing mixes nothing."""
    mixed, weights = [], []
    for query, row in zip(q, visible, strict=True):
        seen = [j for j, may in enumerate(row) if may]
        scores = {
            j: sum(a * b for a, b in zip(query, k[j], strict=True)) / math.sqrt(len(query)) for j in seen
        }
        total = sum(math.exp(score) for score in scores.values())
        shares = [math.exp(scores[j]) / total if j in scores else 0.0 for j in range(len(k))]
        weights.append(shares)
        mixed.append(
            [sum(s * value[c] for s, value in zip(shares, v, strict=True)) for c in range(len(v[0]))]
        )
    return mixed, weights


def model_logits(
    weights: dict[str, Tensor], tokens: list[int], visible: list[list[bool]], *, n_heads: int
) -> Tensor:
    """TinyPrefixLM, one example, no padding, no dropout: (T, V) logits, head by head, query by query."""

    def linear(name: str, x: Tensor) -> Tensor:
        return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / ((centred**2).mean(-1, keepdim=True) + 1e-5).sqrt()
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    h = torch.stack([weights["token_emb.weight"][id_] for id_ in tokens])
    h = h + torch.stack([weights["pos_emb.weight"][t] for t in range(len(tokens))])
    h = norm("layer_norm", h)
    layer = 0
    while f"blocks.{layer}.attn.q_proj.weight" in weights:
        block = f"blocks.{layer}"
        x = norm(f"{block}.attn_norm", h)
        q, k, v = (linear(f"{block}.attn.{name}_proj", x) for name in "qkv")
        d_head = q.size(-1) // n_heads
        rows = []
        for t in range(len(tokens)):
            seen = [j for j in range(len(tokens)) if visible[t][j]]
            heads = []
            for head in range(n_heads):
                part = slice(head * d_head, (head + 1) * d_head)
                scores = torch.stack([q[t, part] @ k[j, part] / math.sqrt(d_head) for j in seen])
                shares = scores.exp() / scores.exp().sum()
                heads.append(sum(share * v[j, part] for share, j in zip(shares, seen, strict=True)))
            rows.append(torch.cat(heads))
        h = h + linear(f"{block}.attn.out_proj", torch.stack(rows))
        x = linear(f"{block}.ff.0", norm(f"{block}.ff_norm", h))
        x = 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))  # GELU
        h = h + linear(f"{block}.ff.2", x)
        layer += 1
    return linear("output", h)


def loss_terms(
    logits: list[list[float]], tokens: list[int], prefix_len: int, real: list[bool]
) -> list[float]:
    """The cross-entropy, in nats, of each target token of one example; `logits` is T rows of V numbers."""
    places = [t for t in range(len(tokens)) if real[t]]
    terms = []
    for position, place in enumerate(places):
        if position == 0 or position < prefix_len:
            continue  # nothing stands before it, or it belongs to the prefix
        row = logits[places[position - 1]]
        terms.append(math.log(sum(math.exp(x) for x in row)) - row[tokens[place]])
    return terms
