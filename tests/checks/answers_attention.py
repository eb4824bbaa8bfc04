"""Answers to the exercises of chapter 2: right ones in several forms, wrong ones by what they are told."""

LOOKS = """
model, vocabulary = load_checkpoint()
batch = make_batch([("wring", load_words()["wring"][0])], vocabulary)
symbols = vocabulary.decode(batch.tokens[0])
looks = AttentionExplorer(model, batch.tokens, symbols, int(batch.prefix_len), layer=0)
looks.layer, looks.head, looks.prefix_len = {}
"""

RIGHT = {
    "row_by_hand": [
        "row = [0.125, 0.25, 0.125, 0.5, 0]",
        "row = torch.tensor([0, math.log(2), 0, math.log(4), float('-inf')]).softmax(-1)",
        "row = torch.tensor([[0.12, 0.25, 0.13, 0.5, 0.0]], dtype=torch.float64)",
        "row = (1 / 8, 1 / 4, 1 / 8, 1 / 2, 0)",
    ],
    "quiet_shapes": ["quiet = ['A', 'B', 'D']", "quiet = ('d', 'b', 'a')", "quiet = {'A', 'B', 'D'}"],
    "way_out": [
        """
def way_out(q, k, mask):
    scores = q @ k.T / math.sqrt(q.size(-1))
    scores = torch.where(mask, scores, -torch.inf)
    return F.pad(scores, (0, 1)).softmax(-1)[..., :-1]
""",
        """
def way_out(q, k, mask):
    scores = (q @ k.T / q.size(-1) ** 0.5).masked_fill(~mask, float("-inf"))
    largest = scores.amax(-1, keepdim=True).clamp(min=0)
    e = torch.exp(scores - largest)
    return e / (e.sum(-1, keepdim=True) + torch.exp(-largest))
""",
        """
def way_out(q, k, mask):  # a key of zeros, which everybody may see
    k = torch.cat([k, torch.zeros(1, k.size(-1))])
    mask = torch.cat([mask, torch.ones(len(mask), 1, dtype=torch.bool)], dim=1)
    scores = q / math.sqrt(q.size(-1)) @ k.T
    return scores.masked_fill(~mask, -1e9).softmax(-1)[:, :-1]
""",
        """
def way_out(q, k, mask):
    T, d = q.shape
    rows = []
    for t in range(T):
        scores = [float(q[t] @ k[s]) / math.sqrt(d) if mask[t, s] else None for s in range(T)]
        top = max([0.0] + [score for score in scores if score is not None])
        e = [0.0 if score is None else math.exp(score - top) for score in scores]
        rows.append([one / (sum(e) + math.exp(-top)) for one in e])
    return rows
""",
        """
def way_out(q, k, mask):
    scores = (q @ k.mT / math.sqrt(q.size(-1))).double().masked_fill(~mask, float("-inf"))
    below = torch.logaddexp(scores.logsumexp(-1, keepdim=True), torch.zeros(1, dtype=torch.float64))
    return (scores - below).exp()
""",
    ],
    "capped_attention": [
        """
def capped_attention(q, k, v, mask, cap):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    scores = (cap * torch.tanh(scores / cap)).masked_fill(~mask, float("-inf"))
    return scores.softmax(-1).nan_to_num(0.0) @ v
""",
        """
def capped_attention(q, k, v, mask, cap):
    scores = cap * (torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1]) / cap).tanh()
    e = scores.exp() * mask  # a capped score can't overflow
    return e / e.sum(-1, keepdim=True).clamp(min=1e-30) @ v
""",
        """
def capped_attention(q, k, v, mask, cap):
    bent = cap * torch.tanh(q @ k.transpose(-2, -1) / (cap * math.sqrt(q.size(-1))))
    scores = torch.where(mask, bent, torch.finfo(bent.dtype).min)
    return (scores.softmax(-1) * mask.any(-1, keepdim=True)) @ v
""",
        """
def capped_attention(q, k, v, mask, cap):
    out = torch.zeros_like(v)
    for b in range(q.size(0)):
        for h in range(q.size(1)):
            for t in range(q.size(2)):
                seen = mask[b, 0, t]
                if seen.any():
                    scores = k[b, h, seen] @ q[b, h, t] / math.sqrt(q.size(-1))
                    out[b, h, t] = (cap * torch.tanh(scores / cap)).softmax(0) @ v[b, h, seen]
    return out
""",
    ],
    "keeps_more": [LOOKS.format("1, 1, 3"), LOOKS.format("2, 1, 5"), LOOKS.format("1, 2, 3")],
}

WAY_OUT = """
def way_out(q, k, mask):
    d = q.size(-1)
    scores = q @ k.T / math.sqrt(d)
    hidden = scores.masked_fill(~mask, float("-inf"))
    zeros = torch.zeros(len(q), 1)
    {}
"""
CAPPED = """
def capped_attention(q, k, v, mask, cap):
    d = q.size(-1)
    scores = q @ k.mT / math.sqrt(d)
    bent = cap * torch.tanh(scores / cap)
    blind = mask.sum(-1, keepdim=True) == 0
    {}
"""
FIXED = "masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(blind, 0.0)"

WRONG = {
    "row_by_hand": {
        "without the mask": ["row = [1 / 16, 2 / 16, 1 / 16, 4 / 16, 8 / 16]"],
        "sum of all five": ["row = [0.0625, 0.125, 0.0625, 0.25, 0]"],
        "causal row": ["row = [1 / 3, 2 / 3, 0, 0, 0]", "row = [0.33, 0.67, 0, 0, 0]"],
        "ends a column early": ["row = [0.25, 0.5, 0.25, 0, 0]"],
        "gave column 4 the score 0": ["row = [0.11, 0.22, 0.11, 0.44, 0.11]"],
        "upside down": ["row = [0, 0, 0, 0, 1]"],
        "counts alike": ["row = [0.25] * 4 + [0]"],
        "sum to 1": ["row = [1, 2, 1, 4, 0]"],
        "shares of the scores": ["row = [0, 0.33, 0, 0.67, 0]"],
        "sees itself too": ["row = [0.17, 0, 0.17, 0.67, 0]"],
        "is too large": ["row = [0.5, 0.25, 0.125, 0.125, 0]"],
        "the shape (5,) is wanted": ["row = [0.125, 0.25, 0.125, 0.5]"],
    },
    "quiet_shapes": {
        "the one of the chapter": ["quiet = 'B'"],
        "no example in its shape": ["quiet = ['A', 'B']"],
        "all examples share it": ["quiet = ['B', 'D']"],
        "the place of the heads": ["quiet = ['A', 'D']"],
        "C has the examples in front": ["quiet = 'A B C D'.split()"],
        "F repeats each mask": ["quiet = ['F', 'D', 'B', 'A']"],
        "one that stops": ["quiet = ['A', 'B', 'D', 'E']"],
        "these are the good ones": ["quiet = ['F', 'C']"],
        "it isn't quiet": ["quiet = ['E']"],
        "of yours 1 belong there": ["quiet = ['B', 'C', 'E']"],
        "is none of the words": ["quiet = ['G']"],
    },
    "way_out": {
        "there is no way out": [
            WAY_OUT.format("return hidden.softmax(-1).nan_to_num(0.0)"),
            WAY_OUT.format("return attention_weights(q, k, mask)").replace(
                "def", "from prefixlm_teach.attention import attention_weights\n\ndef"
            ),
        ],
        "the softmax as it was": [WAY_OUT.format("return hidden.softmax(-1)")],
        "takes back": [
            WAY_OUT.format(
                "w = torch.cat([hidden, zeros], -1).softmax(-1)[:, :-1]\n    return w / w.sum(-1, keepdim=True)"
            ),
            WAY_OUT.format(
                "w = torch.cat([hidden, zeros], -1).softmax(-1)[:, :-1]\n"
                "    return torch.where(w.sum(-1, keepdim=True) > 0, w / w.sum(-1, keepdim=True), 0.0)"
            ),
        ],
        "still there": [WAY_OUT.format("return torch.cat([hidden, zeros], dim=-1).softmax(-1)")],
        "the way out has score 1": [
            WAY_OUT.format("return torch.cat([hidden, zeros + 1], dim=-1).softmax(-1)[:, :-1]")
        ],
        "is infinite": [
            WAY_OUT.format("e = torch.exp(hidden)\n    return e / (1 + e.sum(-1, keepdim=True))"),
            WAY_OUT.format("e = scores.exp() * mask\n    return e / (e.sum(-1, keepdim=True) + 1)"),
        ],
        "not off that of the way out": [
            WAY_OUT.format(
                "e = (hidden - hidden.amax(-1, keepdim=True)).exp()\n    return e / (1 + e.sum(-1, keepdim=True))"
            ),
            WAY_OUT.format(
                "e = (hidden - scores.amax(-1, keepdim=True)).exp()\n    return e / (1 + e.sum(-1, keepdim=True))"
            ),
            WAY_OUT.format(
                "top = hidden.amax(-1, keepdim=True)\n    top = torch.where(top.isinf(), 0.0, top)\n"
                "    e = (hidden - top).exp()\n    return e / (1 + e.sum(-1, keepdim=True))"
            ),
        ],
        "the mask comes after": [
            WAY_OUT.format(
                "return torch.cat([scores, zeros], dim=-1).softmax(-1)[:, :-1].masked_fill(~mask, 0)"
            )
        ],
        "nothing is masked": [
            WAY_OUT.format("return torch.cat([scores, zeros], dim=-1).softmax(-1)[:, :-1]"),
            WAY_OUT.format("return torch.cat([zeros, scores], dim=-1).softmax(-1)[:, 1:]"),
        ],
        "True and False": [
            WAY_OUT.format(
                "scores[mask] = float('-inf')\n    return torch.cat([scores, zeros], 1).softmax(1)[:, :-1]"
            )
        ],
        "set to 0": [
            WAY_OUT.format("return torch.cat([scores.masked_fill(~mask, 0.0), zeros], 1).softmax(1)[:, :-1]")
        ],
        "square root": [
            WAY_OUT.format(
                "hidden = (q @ k.T).masked_fill(~mask, float('-inf'))\n"
                "    return torch.cat([hidden, zeros], 1).softmax(1)[:, :-1]"
            )
        ],
        "down the columns": [WAY_OUT.format("return torch.cat([hidden, zeros.T], 0).softmax(0)[:-1]")],
        "rows and columns are exchanged": [
            WAY_OUT.format("return torch.cat([hidden, zeros], 1).softmax(1)[:, :-1].T")
        ],
        "right for": [
            WAY_OUT.format("return torch.cat([hidden, zeros + scores.min()], 1).softmax(1)[:, :-1]")
        ],
        "changes its input": [
            WAY_OUT.format("mask |= True\n    return torch.cat([hidden, zeros], 1).softmax(1)[:, :-1]")
        ],
        "your code stops": [WAY_OUT.format("return torch.cat([hidden, zeros[0]], dim=-1)")],
    },
    "capped_attention": {
        "a blind row returns 0 now": [
            CAPPED.format(
                "bent = cap * torch.tanh(scores.masked_fill(~mask, -torch.inf) / cap)\n"
                "    return bent.softmax(-1).masked_fill(blind, 0.0) @ v"
            ),
            CAPPED.format("bent = torch.where(mask, bent, -cap)\n    return (bent.softmax(-1) * ~blind) @ v"),
        ],
        "is NaN": [
            CAPPED.format("return bent.masked_fill(~mask, -torch.inf).softmax(-1) @ v"),
            CAPPED.format("e = bent.exp() * mask\n    return e / e.sum(-1, keepdim=True) @ v"),
        ],
        "average of everything": [
            CAPPED.format("return torch.where(mask, bent, torch.finfo(bent.dtype).min).softmax(-1) @ v")
        ],
        "comes too late": [
            CAPPED.format("return bent.softmax(-1).masked_fill(~mask, 0.0) @ v"),
            CAPPED.format("return (torch.where(mask, bent, -cap).softmax(-1) * mask) @ v"),
        ],
        "nothing is masked": [CAPPED.format("return bent.softmax(-1) @ v")],
        "the cap is gone": [
            CAPPED.format(f"return scores.{FIXED} @ v"),
            CAPPED.format("return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"),
            CAPPED.format("return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ v"),
        ],
        "cuts the scores off": [CAPPED.format(f"return scores.clamp(-cap, cap).{FIXED} @ v")],
        "inside tanh": [CAPPED.format(f"return (cap * torch.tanh(scores)).{FIXED} @ v")],
        "no score gets above 1": [CAPPED.format(f"return torch.tanh(scores / cap).{FIXED} @ v")],
        "square root": [
            CAPPED.format(f"return (cap * torch.tanh(q @ k.mT / cap) / math.sqrt(d)).{FIXED} @ v")
        ],
        "True and False": [
            CAPPED.format(
                "mask = ~mask\n    blind = ~mask.any(-1, keepdim=True)\n"
                "    return bent.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(blind, 0.0) @ v"
            )
        ],
        "set to 0": [CAPPED.format("return (bent * mask).softmax(-1) @ v")],
        "your code stops": [CAPPED.format(f"return bent.{FIXED}.T @ v")],
        "right for": [CAPPED.format(f"return (bent + bent[..., :1]).{FIXED} @ v * (cap < 30)")],
    },
    "keeps_more": {
        "sees nothing but itself": [LOOKS.format("1, 1, 1"), LOOKS.format("1, 1, 0")],
        "reaches into the pronunciation": [LOOKS.format("1, 1, 7")],
        "in layer 0 it can't happen": [LOOKS.format("0, 1, 3")],
        "keeps no more": [LOOKS.format("1, 1, 4"), LOOKS.format("2, 3, 2")],
        "an AttentionExplorer is wanted": ["looks = 3"],
    },
}

UNTOUCHED = {
    "capped_attention": [
        """
def capped_attention(q, k, v, mask, cap):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    scores = scores.masked_fill(~mask, float("-inf"))
    scores = cap * torch.tanh(scores / cap)
    return scores.softmax(-1) @ v
"""
    ],
    "keeps_more": [LOOKS.format("0, 0, 6")],
}
