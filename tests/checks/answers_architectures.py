"""Answers to the exercises of chapter 10: right ones in several forms, wrong ones by what they are told."""

RIGHT = {
    "both_stacks": ["pairs = 101", "pairs = 25 + 36 + 40", "pairs = torch.tensor(101.0)"],
    "one_softmax": [
        """
def one_softmax(q, k, v, memory_k, memory_v, memory_valid):
    R = len(q)
    mask = torch.cat([torch.ones(R, R).tril().bool(), memory_valid.repeat(R, 1)], dim=1)
    return F.scaled_dot_product_attention(
        q[None], torch.cat([k, memory_k])[None], torch.cat([v, memory_v])[None], attn_mask=mask
    )
""",
        """
def one_softmax(q, k, v, memory_k, memory_v, memory_valid):
    rows = []
    for t in range(len(q)):
        keys = torch.cat([memory_k[memory_valid], k[: t + 1]])
        values = torch.cat([memory_v[memory_valid], v[: t + 1]])
        rows.append((keys @ q[t] / q.size(1) ** 0.5).softmax(0) @ values)
    return torch.stack(rows)
""",
        """
def one_softmax(q, k, v, memory_k, memory_v, memory_valid):  # two softmaxes, weighed by what they left out
    root = math.sqrt(q.size(-1))
    of_memory = (q @ memory_k.T / root).masked_fill(~memory_valid, float("-inf"))
    of_past = (q @ k.T / root) + torch.full((len(q), len(q)), float("-inf")).triu(1)
    a, b = (scores.logsumexp(-1, keepdim=True) for scores in (of_memory, of_past))
    first = of_memory.softmax(-1).nan_to_num(0.0) @ memory_v
    return torch.sigmoid(a - b) * first + torch.sigmoid(b - a) * (of_past.softmax(-1) @ v)
""",
    ],
    "leaky_routes": ["leaky = ['F', 'E', 'D']", "leaky = {'d', 'e', 'f'}", "leaky = tuple('DEF')"],
    "mixed_route": [
        """
def mixed_route(likely, prefix_len, room):
    out = torch.zeros_like(likely)
    for e in range(likely.size(1)):
        for t in likely[:prefix_len, e].argsort(descending=True)[:room]:
            out[t, e] = likely[t, e]
    for t in range(prefix_len, len(likely)):
        e = likely[t].argmax()
        out[t, e] = likely[t, e]
    return out
""",
        """
def mixed_route(likely, prefix_len, room):
    better = (likely[None, :prefix_len] > likely[:prefix_len, None]).sum(1)  # (p, E) who stands before
    target = F.one_hot(likely[prefix_len:].argmax(-1), likely.size(1))
    return likely.double() * torch.cat([(better < room).long(), target])
""",
        """
def mixed_route(likely, prefix_len, room):
    rows = [[0.0] * likely.size(1) for _ in likely]
    for e in range(likely.size(1)):
        prefix = sorted(range(prefix_len), key=lambda t: -float(likely[t, e]))
        for t in prefix[:room]:
            rows[t][e] = float(likely[t, e])
    for t in range(prefix_len, len(likely)):
        top = int(likely[t].argmax())
        rows[t][top] = float(likely[t, top])
    return rows
""",
    ],
}

MERGED = """
def one_softmax(q, k, v, memory_k, memory_v, memory_valid):
    R, S = len(q), len(memory_k)
    causal = torch.arange(R) <= torch.arange(R)[:, None]
    seen = memory_valid[None].repeat(R, 1)
    mask = torch.cat([seen, causal], dim=1)
    keys, values = torch.cat([memory_k, k]), torch.cat([memory_v, v])
    def attend(q, k, v, mask):
        return (q @ k.T / math.sqrt(q.size(-1))).masked_fill(~mask, float("-inf")).softmax(-1) @ v
    {}
"""
ROUTE = """
def mixed_route(likely, prefix_len, room):
    p, T, E = prefix_len, *likely.shape
    def experts(some, n):
        taken = torch.zeros(some.shape, dtype=torch.bool)
        for e in range(E):
            taken[some[:, e].argsort(descending=True)[:n], e] = True
        return taken
    def tokens(some):
        return F.one_hot(some.argmax(-1), E).bool()
    right = torch.cat([experts(likely[:p], room), tokens(likely[p:])])
    {}
"""

WRONG = {
    "both_stacks": {
        "a prefix LM has so many": ["pairs = 88"],
        "it sees both copies": ["pairs = 93"],
        "outside the encoder": ["pairs = 84"],
        "the encoder's own pairs": ["pairs = 76"],
        "looks into the encoder": ["pairs = 61"],
        "own past is missing": ["pairs = 65"],
        "your encoder is causal": ["pairs = 91"],
        "its own future": ["pairs = 129"],
        "every pair": ["pairs = 144"],
        "is too small": ["pairs = 100"],
        "a number is wanted": ["pairs = 'many'"],
    },
    "one_softmax": {
        "half of each": [
            MERGED.format(
                "return (attend(q, memory_k, memory_v, seen) + attend(q, k, v, causal)) / 2",
            )
        ],
        "the padding of the memory": [
            MERGED.format(
                "return attend(q, keys, values, torch.cat([torch.ones(R, S) > 0, causal], 1))",
            )
        ],
        "its own future": [
            MERGED.format(
                "mask[:, S:] = True\n    return attend(q, keys, values, mask)",
            )
        ],
        "upper left corner": [
            MERGED.format(
                "mask = torch.arange(S + R) <= torch.arange(R)[:, None]\n"
                "    mask = mask & torch.cat([memory_valid, torch.ones(R) > 0])\n"
                "    return attend(q, keys, values, mask)"
            )
        ],
        "different orders": [MERGED.format("return attend(q, keys, torch.cat([v, memory_v]), mask)")],
        "the mask has the past first": [
            MERGED.format(
                "return attend(q, keys, values, torch.cat([causal, seen], dim=1))",
            ),
        ],
        "square root": [MERGED.format("return attend(q * q.size(-1) ** 0.5, keys, values, mask)")],
        "own past is gone": [MERGED.format("return attend(q, memory_k, memory_v, seen)")],
        "the memory is gone": [MERGED.format("return attend(q, k, v, causal)")],
        "set to 0": [MERGED.format("return (q @ keys.T / math.sqrt(q.size(1)) * mask).softmax(1) @ values")],
        "too late": [
            MERGED.format(
                "return (q @ keys.T / math.sqrt(q.size(1))).softmax(1).masked_fill(~mask, 0) @ values"
            )
        ],
        "your code stops": [MERGED.format("return attend(q, keys, v, mask)")],
        "the shape": [MERGED.format("return attend(q, keys, values, mask).T")],
    },
    "leaky_routes": {
        "the tight ones": ["leaky = ['A', 'B', 'C']"],
        "left out D": ["leaky = ['E', 'F']"],
        "left out E": ["leaky = ['D', 'F']"],
        "left out F": ["leaky = ['D', 'E']"],
        "isn't the only way": ["leaky = 'F'"],
        "there are more": ["leaky = 'D'"],
        "A is tight": ["leaky = list('ADEF')"],
        "B is tight": ["leaky = list('BDEF')"],
        "C is tight": ["leaky = list('CDEF')"],
        "of yours 1 belong": ["leaky = ['A', 'E']"],
        "none of the words": ["leaky = ['G']"],
    },
    "mixed_route": {
        "experts choose among the targets": [ROUTE.format("return likely * experts(likely, room)")],
        "compete for the places": [
            ROUTE.format("return likely * torch.cat([experts(likely, room)[:p], tokens(likely[p:])])")
        ],
        "expert choice of their own": [
            ROUTE.format(
                "return likely * torch.cat([experts(likely[:p], room), experts(likely[p:], room)])",
            )
        ],
        "token choice throughout": [ROUTE.format("return likely * tokens(likely)")],
        "takes its best experts": [
            ROUTE.format(
                "right = right.float()\n"
                "    for t in range(p):\n"
                "        right[t] = 0\n"
                "        right[t, likely[t].argsort(descending=True)[:room]] = 1\n"
                "    return likely * right"
            )
        ],
        "are exchanged": [
            ROUTE.format("return likely * torch.cat([tokens(likely[:p]), experts(likely[p:], room)])")
        ],
        "all experts compute": [ROUTE.format("right[p:] = True\n    return likely * right")],
        "favourite besides": [ROUTE.format("return likely * (right | tokens(likely))")],
        "scaled to sum to 1": [
            ROUTE.format("out = likely * right\n    return (out / out.sum(-1, keepdim=True)).nan_to_num(0.0)")
        ],
        "the factors are 1": [ROUTE.format("return right")],
        "more tokens than the prefix has": [
            ROUTE.format(
                "rows = likely[:p].topk(room, dim=0).indices\n"
                "    right[:p] = False\n"
                "    right[:p].scatter_(0, rows, True)\n"
                "    return likely * right"
            )
        ],
        "there is no limit": [ROUTE.format("right[:p] = True\n    return likely * right")],
        "treated as prefix": [
            ROUTE.format(
                "return likely * torch.cat([experts(likely[: p + 1], room), tokens(likely[p + 1 :])])"
            )
        ],
        "treated as a target": [
            ROUTE.format(
                "p = max(p - 1, 0)\n"
                "    return likely * torch.cat([experts(likely[:p], room), tokens(likely[p:])])"
            )
        ],
        "changes its input": [ROUTE.format("likely[~right] = 0\n    return likely")],
        "right for": [ROUTE.format("return likely * right * (p > 0)")],
    },
}

UNTOUCHED = {
    "one_softmax": [
        MERGED.format("return attend(q, memory_k, memory_v, seen) + attend(q, k, v, causal)"),
    ],
}
