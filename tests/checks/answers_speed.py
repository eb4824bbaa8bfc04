"""Answers to the exercises of chapter 11: right ones in several forms, wrong ones by what they are told."""

RIGHT = {
    "rows_read": ["rows = 12", "rows = 7 + 4 + 1", "rows = torch.tensor(12)"],
    "needed_blocks": [
        """
def needed_blocks(seq_len, prefix_len, size):
    mask = create_prefix_lm_mask(seq_len, prefix_len)
    n = math.ceil(seq_len / size)
    return [
        [bool(mask[q * size : (q + 1) * size, k * size : (k + 1) * size].any()) for k in range(n)]
        for q in range(n)
    ]
""",
        """
def needed_blocks(seq_len, prefix_len, size):
    n, opened = -(-seq_len // size), -(-prefix_len // size)
    blocks = torch.ones(n, n).tril()
    blocks[:, :opened] = 1
    return blocks
""",
        """
def needed_blocks(seq_len, prefix_len, size):
    mask = create_prefix_lm_mask(seq_len, prefix_len).float()[None, None]
    return F.max_pool2d(mask, size, ceil_mode=True)[0, 0] > 0
""",
    ],
    "piecewise": [
        """
def piecewise(q, k, v, lengths):
    piece = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    T, target = len(piece), piece == len(lengths) - 1
    seen = torch.where(target, torch.ones(T, T).tril() > 0, piece <= piece[:, None])
    return plain_linear_attention(q, k, v, seen)
""",
        """
def piecewise(q, k, v, lengths):
    q, k, v = (x[None, None] for x in (q, k, v))
    rows, state, start = [], None, 0
    for i, length in enumerate(lengths):
        part = slice(start, start + length)
        p = length if i < len(lengths) - 1 else 0
        out, state = prefix_linear_attention(q[:, :, part], k[:, :, part], v[:, :, part], p, state=state)
        rows.append(out)
        start += length
    return torch.cat(rows, dim=2)
""",
        """
def piecewise(q, k, v, lengths):
    q, k = (torch.where(x > 0, x + 1, x.exp()) for x in (q, k))
    ends = [sum(lengths[: i + 1]) for i, n in enumerate(lengths[:-1]) for _ in range(n)]
    ends += range(sum(lengths[:-1]) + 1, sum(lengths) + 1)
    S = torch.einsum("ti,tj->tij", k, v).cumsum(0)[[end - 1 for end in ends]]
    z = k.cumsum(0)[[end - 1 for end in ends]]
    return torch.einsum("ti,tij->tj", q, S) / (q * z).sum(1, keepdim=True)
""",
    ],
    "wasteful_and_cheap": [
        "costs = CostExplorer(4096, 3072)",
        "costs = CostExplorer(4096, 3072, way='cut on a CPU')",
    ],
}

BLOCKS = """
def needed_blocks(seq_len, prefix_len, size):
    T, p = seq_len, prefix_len
    n = math.ceil(T / size)
    def table(n, opened):
        seen = [[key <= query or key < opened for key in range(n)] for query in range(n)]
        return torch.tensor(seen, dtype=torch.bool).view(n, n)
    right = table(n, math.ceil(p / size))
    {}
"""
PIECES = """
def piecewise(q, k, v, lengths):
    first = sum(lengths[:-1])
    fq, fk = F.elu(q) + 1, F.elu(k) + 1
    S, z, rows, start = 0, 0, [], 0
    for length in {lengths}:
        piece = slice(start, start + length)
        {add}
        rows.append({read})
        start += length
    return torch.cat(rows)
"""
LENGTHS = "[*lengths[:-1], *[1] * lengths[-1]]"
ADD = "S, z = S + fk[piece].T @ v[piece], z + fk[piece].sum(0)"
READ = "fq[piece] @ S / (fq[piece] @ z)[:, None]"


def summed(lengths: str = LENGTHS, add: str = ADD, read: str = READ) -> str:
    """The right answer, with one part of it exchanged."""
    return PIECES.format(lengths=lengths, add=add, read=read)


WRONG = {
    "rows_read": {
        "the padding counts": ["rows = 16"],
        "began at row p": ["rows = 9"],
        "the last real row": ["rows = 15"],
        "all rows, with padding": ["rows = 30"],
        "all real tokens": ["rows = 26"],
        "these are the prefix tokens": ["rows = 14"],
        "the longest prefix": ["rows = 8"],
        "the shortest prefix": ["rows = 17"],
        "11 is too small": ["rows = 11"],
    },
    "needed_blocks": {
        "the last block is there now": [BLOCKS.format("return table(n, p // size)")],
        "the prefix is right now": [BLOCKS.format("return table(T // size, math.ceil(p / size))")],
        "isn't rounding up": [BLOCKS.format("return table(n, p // size + 1)")],
        "a block is added": [BLOCKS.format("return table(T // size + 1, math.ceil(p / size))")],
        "nearest block": [BLOCKS.format("return table(n, int(p / size + 0.5))")],
        "from end to end": [
            BLOCKS.format(
                "mask = create_prefix_lm_mask(T, p)\n"
                "    for i in range(n):\n"
                "        for j in range(n):\n"
                "            right[i, j] = mask[i * size : (i + 1) * size, j * size : (j + 1) * size].all()\n"
                "    return right"
            )
        ],
        "the prefix is closed": [BLOCKS.format("return torch.ones(n, n).tril()")],
        "no block is skipped": [BLOCKS.format("return right | True")],
        "the blocks to skip": [BLOCKS.format("return ~right")],
        "rows and columns are exchanged": [BLOCKS.format("return right.T")],
        "the mask of all pairs": [BLOCKS.format("return create_prefix_lm_mask(T, p)")],
        "right for": [BLOCKS.format("return table(n, math.ceil(p / size) if n > 1 else 0) & (n < 5)")],
        "your code stops": [BLOCKS.format("return right[n]")],
    },
    "piecewise": {
        "causal throughout": [summed(lengths="[1] * sum(lengths)")],
        "the prompt is one prefix": [summed(lengths="[n for n in [first, *[1] * lengths[-1]] if n]")],
        "the state begins anew": [
            summed(add="S, z = (0, 0) if start <= first else (S, z); " + ADD),
        ],
        "summed up whole: its rows": [summed(lengths="lengths")],
        "before its own key": [
            summed(
                add=(
                    "old = (S, z) if start >= first else None\n"
                    "        if start == 0:\n"
                    "            S, z = torch.zeros_like(fk.T @ v), torch.zeros_like(fk[0])\n"
                    "            old = (S, z) if first == 0 else None\n"
                    f"        {ADD}\n"
                    "        A, b = old or (S, z)"
                ),
                read="fq[piece] @ A / (fq[piece] @ b)[:, None]",
            )
        ],
        "z is missing": [summed(read="fq[piece] @ S")],
        "z begins anew": [summed(add="z = 0 if start <= first else z; " + ADD)],
        "keys go in without": [summed(add=ADD.replace("fk", "k"))],
        "queries read without": [summed(read=READ.replace("fq", "q"))],
        "the 1 is missing": [
            summed(add="fq, fk = F.elu(q), F.elu(k); " + ADD),
        ],
        "softmax attention": [
            """
def piecewise(q, k, v, lengths):
    ends = [sum(lengths[: i + 1]) for i, n in enumerate(lengths[:-1]) for _ in range(n)]
    ends += range(sum(lengths[:-1]) + 1, sum(lengths) + 1)
    rows = [(k[:end] @ q[t] / math.sqrt(q.size(1))).softmax(0) @ v[:end] for t, end in enumerate(ends)]
    return torch.stack(rows)
"""
        ],
        "the shape": [
            summed(read="fq[piece] @ S / (fq[piece] @ z)[:, None]").replace("cat(rows)", "cat(rows).T")
        ],
        "your code stops": [summed(read="fq[piece] @ S / (fq[piece] @ z) @ S @ v")],
        "changes its input": [summed(add="k += 1; " + ADD)],
    },
    "wasteful_and_cheap": {
        "leave d at 768": ["costs = CostExplorer(8192, 6144, d_model=4096)"],
        "no more pairs": ["costs = CostExplorer(4096, 2816)", "costs = CostExplorer(8192, 0)"],
        "half of the layer or more": ["costs = CostExplorer(8192, 6144)", "costs = CostExplorer(4096, 3328)"],
        "for a longer T": ["costs = CostExplorer(2048, 1536)", "costs = CostExplorer(1024, 1024)"],
        "a CostExplorer is wanted": ["costs = (4096, 3072)"],
    },
}

UNTOUCHED = {
    "needed_blocks": [BLOCKS.format("return table(T // size, p // size)")],
    "wasteful_and_cheap": ["costs = CostExplorer(2048, 1024)", "costs = CostExplorer(2048)"],
}
