"""Answers to the exercises of chapter 3: right ones in several forms, wrong ones by what they are told."""

RIGHT = {
    "fewer_parameters": [
        "fewer = 86688",
        """
def count(n):
    return sum(parameter.numel() for parameter in nn.Linear(128, n).parameters())


fewer = 6 * (count(128) - count(16))
""",
        "fewer = torch.tensor(86_688)",
    ],
    "slip_by_hand": [
        'drawn = "#..... ##.... #####. #####. #####. ######"\nmeasured = drawn.replace(" ", "\\n")',
        """
mask = torch.ones(6, 6).tril()
mask[2, 4] = 1
measured = (mask @ mask) > 0
""",
        """
measured = [
    [1, 0, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 0],
    [1, 1, 1, 1, 1, 0],
    [1, 1, 1, 1, 1, 0],
    [1, 1, 1, 1, 1, 0],
    [1, 1, 1, 1, 1, 1],
]
""",
        """
torch.manual_seed(0)
slip = causal_mask(6)
slip[2, 4] = True
black_box = TinyPrefixLM(50, 16, 2, n_layers=2).eval()
measured = visibility(lambda tokens, _: black_box(tokens, mask=slip), torch.arange(6)[None], 0)
""",
    ],
    "reach": [
        """
def reach(masks):
    T = len(masks[0])
    held = [{t} for t in range(T)]
    for mask in masks:
        held = [held[q].union(*(held[k] for k in range(T) if mask[q, k])) for q in range(T)]
    return [[k in held[q] for k in range(T)] for q in range(T)]
""",
        """
def reach(masks):
    reached = torch.eye(len(masks[0]), dtype=torch.bool)
    for mask in masks:
        reached = reached | (mask[:, :, None] & reached[None]).any(1)
    return reached
""",
        """
from functools import reduce

def reach(masks):
    one = torch.eye(len(masks[0]), dtype=torch.int64)
    return reduce(lambda held, mask: (mask.long() + one) @ held, masks, one).clamp(max=1)
""",
        """
def reach(masks):  # by a model: one run, in which each example has one token changed
    torch.manual_seed(0)
    T = len(masks[0])
    tokens = torch.cat([torch.arange(T)[None], torch.arange(T) + T * torch.eye(T, dtype=torch.int64)])
    black_box = TinyPrefixLM(40, 8, 2, n_layers=len(masks)).double().eval()
    h = black_box._embed(tokens, None, None)
    for block, mask in zip(black_box.blocks, masks):
        h = block(h, mask)
    return ((h[1:] - h[:1]).abs().amax(-1) > 1e-13).T  # more than rounding
""",
    ],
    "side_by_side": [
        """
def side_by_side(h, mask, attend, feed):
    x = (h - h.mean(-1, keepdim=True)) / (h.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt()
    return h + (attend(x, mask) + feed(x))
""",
        """
def side_by_side(h, mask, attend, feed):
    norm = nn.LayerNorm(h.size(-1))
    return feed(norm(h)) + attend(norm(h), mask) + h
""",
        """
def side_by_side(h, mask, attend, feed):
    out = h.clone()
    for b in range(h.size(0)):
        x = torch.stack([F.layer_norm(token, token.shape) for token in h[b]])[None]
        out[b] += attend(x, mask)[0]
        out[b] += feed(x)[0]
    return out
""",
    ],
    "free_blocks": ["free = 'fourth'", "free = ['Fourth']", "free = {'fourth'}"],
}

REACH = """
def reach(masks):
    T = len(masks[0])
    eye = torch.eye(T, dtype=torch.int64)
    {}
    return held > 0
"""
STEPS = "held = eye\n    for mask in {}:\n        held = ({}) @ held"
SIDE = """
def side_by_side(h, mask, attend, feed):
    norm = nn.LayerNorm(h.size(-1), elementwise_affine=False)
    x = norm(h)
    {}
"""

WRONG = {
    "fewer_parameters": {
        "keys or values": ["fewer = 43344"],
        "this is one block": ["fewer = 28896"],
        "mind the bias": ["fewer = 6 * (128 * 128 - 128 * 16)"],
        "still have": ["fewer = 6 * (128 * 16 + 16)"],
        "had before": ["fewer = 6 * (128 * 128 + 128)"],
        "the output projection keeps": ["fewer = 9 * 14448"],
        "each head asks": ["fewer = 12 * 14448"],
        "the width of a head": ["fewer = 6 * (129 * 128 - 129 * 8)"],
        "is too small": ["fewer = 0"],
    },
    "slip_by_hand": {
        "this is the mask itself": ["measured = '#.....\\n##....\\n###.#.\\n####..\\n#####.\\n######'"],
        "this is the causal mask": ["measured = torch.ones(6, 6).tril()"],
        "the slip travels": ["measured = '#.....\\n##....\\n#####.\\n####..\\n#####.\\n######'"],
        "row 2 reads token 4": ["measured = '#.....\\n##....\\n###.#.\\n#####.\\n#####.\\n######'"],
        "so that the slip doesn't reach": [
            "measured = '#...#.\\n##..#.\\n#####.\\n#####.\\n#####.\\n######'"
        ],
        "in no block": ["measured = '#####.\\n#####.\\n#####.\\n#####.\\n#####.\\n######'"],
        "seen by row 5 alone": ["measured = '#.....\\n##....\\n######\\n######\\n######\\n######'"],
        "every output moves": ["measured = torch.ones(6, 6)"],
        "rows and columns are exchanged": [
            "measured = '######\\n.#####\\n..####\\n..####\\n..####\\n.....#'"
        ],
        "the signs are exchanged": ["measured = '.#####\\n..####\\n.....#\\n.....#\\n.....#\\n......'"],
        "row 1 doesn't see column 1": ["measured = '#.....\\n#.....\\n#####.\\n#####.\\n#####.\\n######'"],
    },
    "reach": {
        "is not lost": [REACH.format(STEPS.format("masks", "mask.long()"))],
        "in the wrong order": [
            REACH.format(STEPS.format("reversed(masks)", "mask.long() + eye")),
            REACH.format("held = eye\n    for mask in masks:\n        held = held @ (mask.long() + eye)"),
        ],
        "this joins what the masks show": [
            REACH.format("held = eye + sum(mask.long() for mask in masks)"),
            REACH.format("held = sum(mask.long() for mask in masks)"),
        ],
        "all masks show": [
            REACH.format("held = masks[0].long()\n    for mask in masks:\n        held = held * mask")
        ],
        "the first mask is used": [
            REACH.format("held = torch.matrix_power((masks[0] | (eye > 0)).double(), len(masks))")
        ],
        "the last mask is used": [
            REACH.format(STEPS.format("[masks[-1]] * len(masks)", "mask.long() + eye"))
        ],
        "this is one block": [REACH.format("held = masks[0] + eye"), REACH.format("held = masks[-1] + eye")],
        "the last counts twice": [REACH.format(STEPS.format("masks + masks[-1:]", "mask.long() + eye"))],
        "the first counts twice": [REACH.format(STEPS.format("masks[:1] + masks", "mask.long() + eye"))],
        "a block too few": [REACH.format(STEPS.format("masks[:-1]", "mask.long() + eye"))],
        "without end": [
            REACH.format(
                "held = eye\n    for _ in range(20):\n        for mask in masks:\n"
                "            held = ((mask.long() + eye) @ held).clamp(max=1)"
            )
        ],
        "rows and columns are exchanged": [
            REACH.format(STEPS.format("masks", "mask.long() + eye") + "\n    held = held.T")
        ],
        "True and False": [
            REACH.format(STEPS.format("masks", "mask.long() + eye") + "\n    held = held == 0")
        ],
        "whatever the masks": [REACH.format("held = eye + 1")],
        "your code stops": [REACH.format("held = masks[0] @ masks[-1]")],
        "for 2 masks of shape (6, 6): the shape": [REACH.format("held = eye[1:]")],
        "right for": [REACH.format(STEPS.format("masks[:2]", "mask.long() + eye"))],
        "yours holds 4": [
            REACH.format(STEPS.format("masks", "mask.long() + eye")).replace("return held > 0", "return held")
        ],
    },
    "side_by_side": {
        "normalised together: so": [
            SIDE.format("x = F.layer_norm(h, h.shape[-2:])\n    return h + attend(x, mask) + feed(x)"),
            SIDE.format(
                "x = F.layer_norm(h, h.shape[1:])\n    h = h + attend(x, mask)\n    return h + feed(h)"
            ),
            SIDE.format("x = F.layer_norm(h, h.shape[1:])\n    return x + attend(x, mask) + feed(x)"),
        ],
        "what came in is lost": [
            SIDE.format("return x + attend(x, mask) + feed(x)"),
            SIDE.format("x = x + attend(x, mask)\n    return x + feed(x)"),
        ],
        "and not the tokens that attention reads": [
            SIDE.format("h = h + attend(x, mask)\n    return h + feed(h)")
        ],
        "one half after the other": [SIDE.format("h = h + attend(x, mask)\n    return h + feed(norm(h))")],
        "along the tokens": [
            SIDE.format(
                "x = (h - h.mean(1, keepdim=True)) / (h.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()\n"
                "    return h + attend(x, mask) + feed(x)"
            )
        ],
        "the whole batch": [
            SIDE.format(
                "x = (h - h.mean()) / h.std(unbiased=False)\n    return h + attend(x, mask) + feed(x)"
            )
        ],
        "d - 1": [
            SIDE.format(
                "x = (h - h.mean(-1, keepdim=True)) / h.std(-1, keepdim=True)\n"
                "    return h + attend(x, mask) + feed(x)"
            )
        ],
        "nothing is normalised": [SIDE.format("return h + attend(h, mask) + feed(h)")],
        "added twice": [SIDE.format("return 2 * h + attend(x, mask) + feed(x)")],
        "the two results alone": [SIDE.format("return attend(x, mask) + feed(x)")],
        "the feed-forward layer reads what came in": [SIDE.format("return h + attend(x, mask) + feed(h)")],
        "attention reads what came in": [SIDE.format("return h + attend(h, mask) + feed(x)")],
        "the sum is normalised": [SIDE.format("return norm(h + attend(x, mask) + feed(x))")],
        "turned it round": [SIDE.format("return h + attend(x, ~mask) + feed(x)")],
        "your code stops": [SIDE.format("return h + attend(x) + feed(x)")],
        "changes its input": [SIDE.format("h += attend(x, mask) + feed(x)\n    return h")],
    },
    "free_blocks": {
        "there is one": ["free = 'none'"],
        "in the second": ["free = 'first'"],
        "in the next block": ["free = 'second'"],
        "in the last block": ["free = ['third']"],
        "that the target needs": ["free = ['first', 'second', 'third']"],
        "it would be a causal model": ["free = 'first second third fourth'.split()"],
        "the first block is followed": ["free = ('fourth', 'first')"],
        "the third block is followed": ["free = ('third', 'fourth')"],
        "is none of the words": ["free = 'last'"],
    },
}

UNTOUCHED = {
    "side_by_side": [
        """
def side_by_side(h, mask, attend, feed):
    x = F.layer_norm(h, h.shape[1:])
    h = x + attend(x, mask)
    return h + feed(h)
"""
    ],
}
