"""Answers to the exercises of chapter 6: right ones in several forms, wrong ones by what they are told."""

SECONDS = """
seconds = DecodeExplorer([*"seconds", "<sep>"], ["S", "EH", "K", "AH", "N", "D", "Z", "<end>"], step={}, cached={})
"""
OWN = """
def settled_tokens(draft, logits):
    draft, best = draft.tolist(), logits.argmax(-1).tolist()
    count = 0
    for given, wanted in zip(draft, best):
        if given != wanted:
            break
        count += 1
    return {}
"""
BLOCK = """
def block_mask(seen, question, answer):
    k, S = question + answer, len(seen)
    kept = S - k
    mask = torch.zeros(k, S, dtype=torch.bool)
    for q in range(k):
        for c in range(S):
            mask[q, c] = {}
    return mask
"""
SHARES = """
def kept_shares(logits, temperature, m):
    scores = logits / temperature
    shares = torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True)
    best = shares.max(-1, keepdim=True).values
    {}
"""

RIGHT = {
    "stale_keys": ["keys = 31", "keys = torch.tensor(31.0)", "keys = 1 + 10 + 10 + 10"],
    "saved_pairs": [SECONDS.format(6, False)],
    "settled_tokens": [
        OWN.format("draft[:count] + [best[count]]"),
        """
def settled_tokens(draft, logits):
    said = []
    for i in range(len(logits)):
        said.append(logits[i].argmax())
        if i == len(draft) or said[-1] != draft[i]:
            return said
""",
        """
def settled_tokens(draft, logits):
    own = logits.argmax(-1)
    n = int((own[:-1] == draft).long().cumprod(0).sum())
    return torch.cat([draft[:n], own[n : n + 1]])
""",
        """
def settled_tokens(draft, logits):
    own = logits.softmax(-1).numpy().argmax(-1)
    wrong = [i for i in range(len(draft)) if own[i] != int(draft[i])]
    return own[: wrong[0] + 1] if wrong else own[None]
""",
    ],
    "block_mask": [
        BLOCK.format("seen[c] and (c < kept + question or c <= kept + q)"),
        """
def block_mask(seen, question, answer):  # to be added to scores
    k, S = question + answer, len(seen)
    mask = torch.full((k, S), float("-inf")).triu(S - k + 1)
    mask[:question, S - k : S - k + question] = 0.0
    return mask.masked_fill(~seen, float("-inf"))
""",
        """
def block_mask(seen, question, answer):
    k, S = question + answer, len(seen)
    new = create_prefix_lm_mask(k, question)
    return torch.cat([torch.ones(k, S - k, dtype=torch.bool), new], dim=1).int() * seen
""",
        """
def block_mask(seen, question, answer):
    k, S = question + answer, len(seen)
    whole = create_prefix_lm_mask(S, int(seen.sum()) - answer, valid=seen[None])
    return whole[:, :, S - k :]
""",
    ],
    "kept_shares": [
        SHARES.format("shares[shares < m * best] = 0\n    return shares / shares.sum(-1, keepdim=True)"),
        SHARES.format("return scores.masked_fill(shares < m * best, -math.inf).softmax(-1)"),
        """
def kept_shares(logits, temperature, m):
    far = (logits - logits.amax(-1, keepdim=True)) / temperature
    return torch.where(far >= math.log(m), far, -math.inf).double().softmax(-1)
""",
        """
def kept_shares(logits, temperature, m):
    rows = []
    for row in logits.tolist():
        weights = [math.exp(z / temperature) for z in row]
        weights = [w if w >= m * max(weights) else 0.0 for w in weights]
        rows.append([w / sum(weights) for w in weights])
    return rows
""",
    ],
}

WRONG = {
    "stale_keys": {
        "in layer 0 only one key changes": ["keys = 40"],
        "in layer 0 one key changes too": ["keys = 30"],
        "the count for a causal model": ["keys = 22"],
        "from token 3 on, in each layer": ["keys = 28"],
        "the target sees the prefix as well": ["keys = 19"],
        "you count the prefix in every layer": ["keys = 24"],
        "its own key isn't all": ["keys = 4"],
        "keys and values": ["keys = 62"],
        "33 is too large": ["keys = 33"],
        "a number is wanted": ["keys = [1, 10, 10, 10]"],
    },
    "saved_pairs": {
        "at step 0 nothing": [SECONDS.format(0, False)],
        "now leave it without a cache": [SECONDS.format(6, True)],
        "of the tokens, but not yet": [SECONDS.format(5, False), SECONDS.format(5, True)],
        "for this one step": [SECONDS.format(2, False)],
        "less than three quarters of all pairs": [SECONDS.format(4, False), SECONDS.format(3, True)],
        "an earlier step would do": [SECONDS.format(7, False), SECONDS.format(8, True)],
        "a decodeexplorer is wanted": ["seconds = 6"],
    },
    "settled_tokens": {
        "held against the row that has read it": [
            """
def settled_tokens(draft, logits):
    own, n = logits.argmax(-1), 0
    while n < len(draft) and draft[n] == own[n + 1]:
        n += 1
    return [*draft[:n], own[n]]
""",
            """
def settled_tokens(draft, logits):
    after = logits.argmax(-1).tolist()[1:]
    for n, (given, wanted) in enumerate(zip(draft.tolist(), after)):
        if given != wanted:
            return draft[:n].tolist() + [wanted]
    return draft.tolist() + logits[-1:].argmax(-1).tolist()
""",
        ],
        "own token is missing": [OWN.format("draft[:count]"), OWN.format("best[:count]")],
        "wrong token of the draft stays in": [
            OWN.format("draft[: count + 1] if count < len(draft) else [*draft, best[-1]]")
        ],
        "no row is doubted": [OWN.format("best")],
        "after the first wrong one are kept": [
            OWN.format("[a for a, b in zip(draft, best) if a == b] + best[-1:]")
        ],
        "the last row's token is lost": [OWN.format("draft if count == len(draft) else best[: count + 1]")],
        "kept whole or not at all": [OWN.format("best if count == len(draft) else best[:1]")],
        "has read the wrong one": [OWN.format("best[:count] + [best[min(count + 1, len(draft))]]")],
        "unchecked": [OWN.format("draft")],
        "one value after the other": [OWN.format("count")],
        "does it end in `return`": [OWN.format("None")],
        "holds 0.5": [OWN.format("[0.5]")],
        "right for": [OWN.format("best[: count + 1] if len(draft) < 5 else best[:2]")],
    },
    "block_mask": {
        "still stands at column 0": [BLOCK.format("seen[c] and (c < question or c <= kept + q)")],
        "still hangs in the upper left": [BLOCK.format("seen[c] and (c < kept + question or c <= q)")],
        "read left to right": [BLOCK.format("seen[c] and c <= kept + q")],
        "its own future": [BLOCK.format("seen[c]")],
        "padding is visible": [BLOCK.format("c < kept + question or c <= kept + q")],
        "nothing of what is in the cache": [
            BLOCK.format("c >= kept and seen[c] and (c < kept + question or c <= kept + q)")
        ],
        "doesn't see itself": [BLOCK.format("seen[c] and (c < kept + question or c < kept + q)")],
        "sees the next one": [BLOCK.format("seen[c] and (c < kept + question or c <= kept + q + 1)")],
        "one column too wide": [BLOCK.format("seen[c] and (c <= kept + question or c <= kept + q)")],
        "one column too narrow": [BLOCK.format("seen[c] and (c < kept + question - 1 or c <= kept + q)")],
        "true and false are exchanged": [
            BLOCK.format("not (seen[c] and (c < kept + question or c <= kept + q))")
        ],
        "the shape (4, 7) is wanted": [BLOCK.format("True").replace("return mask", "return mask[:, kept:]")],
    },
    "kept_shares": {
        "nothing is cut": [SHARES.format("return shares"), SHARES.format("return scores.softmax(-1)")],
        "compared with m alone": [
            SHARES.format(
                "shares = shares.where(shares >= m, torch.zeros(()))\n"
                "    return shares / shares.sum(-1, keepdim=True)"
            )
        ],
        "doesn't add up to 1": [SHARES.format("return shares * (shares >= m * best)")],
        "the temperature multiplies": [
            """
def kept_shares(logits, temperature, m):
    shares = (logits * temperature).softmax(-1)
    shares = shares * (shares >= m * shares.amax(-1, keepdim=True))
    return shares / shares.sum(-1, keepdim=True)
"""
        ],
        "before the temperature": [
            """
def kept_shares(logits, temperature, m):
    shares = logits.softmax(-1)
    cut = shares < m * shares.amax(-1, keepdim=True)
    return (logits / temperature).masked_fill(cut, -torch.inf).softmax(-1)
"""
        ],
        "the logits are compared": [
            SHARES.format(
                "cut = scores < m * scores.max(-1, keepdim=True).values\n"
                "    return scores.masked_fill(cut, -torch.inf).softmax(-1)"
            )
        ],
        "measure for the whole batch": [
            SHARES.format("return scores.masked_fill(shares < m * shares.max(), -torch.inf).softmax(-1)")
        ],
        "sorted": [
            SHARES.format(
                "ordered, _ = (shares * (shares >= m * best)).sort(descending=True)\n"
                "    return ordered / ordered.sum(-1, keepdim=True)"
            )
        ],
        "over the examples": [
            """
def kept_shares(logits, temperature, m):
    shares = F.softmax(logits / temperature, dim=0)
    shares = shares * (shares >= m * shares.amax(-1, keepdim=True))
    return shares / shares.sum(-1, keepdim=True)
"""
        ],
        "nothing is left": [
            SHARES.format("kept = shares * (shares > m * best)\n    return kept / kept.sum(-1, keepdim=True)")
        ],
        "second softmax": [
            SHARES.format("return torch.where(shares < m * best, -torch.inf, shares).softmax(-1)")
        ],
        "changes its input": [SHARES.format("logits.zero_()\n    return shares")],
    },
}

UNTOUCHED = {
    "saved_pairs": [SECONDS.format(0, True)],
    "block_mask": [BLOCK.format("seen[c] and (c < question or c <= q)")],
}
