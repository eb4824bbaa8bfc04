"""Answers to the exercises of chapter 4: right ones in several forms, wrong ones by what they are told."""

WEDNESDAY = """
model, symbols = load_checkpoint()
batch = make_batch([("wednesday", load_words()["wednesday"][0])], symbols)
wednesday = LossExplorer({{"trained": model}}, batch.tokens, symbols.decode(batch.tokens[0]), prefix_len={})
"""
ROWS = """
def row_labels(tokens, prefix_len, valid):
    B, T = tokens.shape
    labels = torch.full_like(tokens, -100)
    for b in range(B):
        n, p = int(valid[b].sum()), int(prefix_len[b])
        for t in range(T):
            {}
    return labels
"""
ANSWERS = """
def answer_log_probs(logits, tokens, prefix_len, valid):
    totals = []
    for b in range(len(tokens)):
        n, p, total = int(valid[b].sum()), int(prefix_len[b]), torch.zeros(())
        {}
        totals.append(total)
    return torch.stack(totals)
"""
BENCH = """
def diagnose_loss(loss):
    V, T, p = 40, 8, 3
    tokens = torch.stack([torch.arange(T), torch.arange(T, 2 * T)])

    def likes(step, without=None):
        logits = torch.zeros(2, T, V)
        for b in range(2):
            for t in range(T):
                if t != without:
                    logits[b, t, tokens[b, (t + step) % T]] = 30.0
        return float(loss(logits, tokens, p)) < 1e-3
    {}
"""

RIGHT = {
    "two_answers": ["nats = 1.5 * math.log(2)", "nats = 1.04", "nats = torch.tensor([1.0397])"],
    "looks_worse": [WEDNESDAY.format("14"), WEDNESDAY.format("0") + "wednesday.prefix_len = 14"],
    "row_labels": [
        ROWS.format("if p - 1 <= t < n - 1: labels[b, t] = tokens[b, t + 1]"),
        """
def row_labels(tokens, prefix_len, valid):
    return prefix_lm_labels(tokens, prefix_len, valid=valid).roll(-1, dims=1)
""",
        """
def row_labels(tokens, prefix_len, valid):
    following = F.pad(tokens[:, 1:].int(), (0, 1), value=-100)
    real = F.pad(valid[:, 1:].int(), (0, 1)).bool()
    target = torch.arange(1, tokens.size(1) + 1) >= prefix_len[:, None]
    return torch.where(real & target, following, -100).tolist()
""",
    ],
    "answer_log_probs": [
        ANSWERS.format(
            "for t in range(max(p, 1), n): total = total + torch.log_softmax(logits[b, t - 1], -1)[tokens[b, t]]"
        ),
        """
def answer_log_probs(logits, tokens, prefix_len, valid):
    labels = prefix_lm_labels(tokens, prefix_len, valid=valid)[:, 1:]
    costs = F.cross_entropy(logits[:, :-1].transpose(1, 2).double(), labels, reduction="none")
    return [-row.sum() for row in costs]
""",
        """
def answer_log_probs(logits, tokens, prefix_len, valid):
    chances = torch.softmax(logits.double(), dim=2)
    place = torch.arange(tokens.size(1)).expand_as(tokens)
    scored = valid * (place >= torch.maximum(prefix_len, torch.tensor(1)).unsqueeze(1))
    before = torch.cat([chances[:, :1], chances[:, :-1]], dim=1)
    said = before.gather(2, tokens.unsqueeze(2)).squeeze(2)
    return torch.where(scored, said, 1.0).prod(dim=1).log().numpy()
""",
    ],
    "diagnose_loss": [
        BENCH.format("""
    if likes(1):
        if likes(1, without=p - 1):
            return "late"
        return "right" if likes(1, without=p - 2) else "prefix scored"
    return "no shift" if likes(0) else "shifted twice"
"""),
        """
def diagnose_loss(loss):  # asks for gradients: where they are is what is scored
    T, p = 9, 4
    tokens = torch.arange(T)[None]
    logits = torch.zeros(1, T, T, requires_grad=True)
    loss(logits, tokens, p).backward()
    rows = logits.grad[0].abs().sum(-1).nonzero().flatten()
    first = int(rows[0])
    ahead = int(logits.grad[0, first].argmin()) - first
    return {
        (0, p): "no shift", (1, p - 1): "right", (1, p): "late", (1, 0): "Prefix scored", (2, p - 1): "shifted twice"
    }[ahead, first]
""",
    ],
}

WRONG = {
    "two_answers": {
        "mean of the two rows' means": ["nats = 2 * math.log(2)", "nats = 1.386"],
        "left out the first target token": ["nats = (5 * math.log(2) + math.log(8)) / 6"],
        "a token too many": ["nats = (7 * math.log(2) + 3 * math.log(8)) / 10"],
        "in bits": ["nats = 1.5"],
        "base 10": ["nats = 1.5 * math.log10(2)"],
        "mean probability": ["nats = -math.log(0.40625)"],
        "all tokens of the table": ["nats = 12 * math.log(2) / 18"],
        "all rows but the last ones": ["nats = 12 * math.log(2) / 16"],
        "this is the sum": ["nats = 8.318"],
        "no minus any more": ["nats = -1.04"],
        "0.7 is too small": ["nats = 0.7"],
        "a number is wanted": ["nats = '1.04'"],
    },
    "looks_worse": {
        "nothing to score": [WEDNESDAY.format("16"), WEDNESDAY.format("17")],
        "better than it is": [WEDNESDAY.format("9"), WEDNESDAY.format("15")],
        "at a larger p it does so too": [WEDNESDAY.format("10"), WEDNESDAY.format("11")],
        "a LossExplorer is wanted": ["wednesday = 14"],
    },
    "row_labels": {
        "has no label yet": [ROWS.format("if p <= t < n - 1: labels[b, t] = tokens[b, t + 1]")],
        "nothing comes after it": [ROWS.format("if p - 1 <= t < n: labels[b, t] = tokens[b, (t + 1) % T]")],
        "roll goes round": [
            """
def row_labels(tokens, prefix_len, valid):
    labels = tokens.roll(-1, dims=1)
    scored = valid & valid.roll(-1, dims=1) & (torch.arange(tokens.size(1)) >= prefix_len[:, None] - 1)
    return labels.masked_fill(~scored, -100)
"""
        ],
        "to guess padding": [
            ROWS.format("if p - 1 <= t < n and t + 1 < T: labels[b, t] = tokens[b, t + 1]"),
        ],
        "aren't shifted": [
            ROWS.format("if max(p, 1) <= t < n: labels[b, t] = tokens[b, t]"),
            "def row_labels(tokens, prefix_len, valid):\n    return prefix_lm_labels(tokens, prefix_len, valid=valid)",
        ],
        "a prefix token is scored": [ROWS.format("if p - 2 <= t < n - 1: labels[b, t] = tokens[b, t + 1]")],
        "shifted twice": [ROWS.format("if p - 1 <= t < n - 1: labels[b, t] = tokens[b, (t + 2) % T]")],
        "the wrong way": [ROWS.format("if p - 1 <= t < n - 1: labels[b, t] = tokens[b, t - 1]")],
        "a row too many is closed": [ROWS.format("if p - 1 <= t < n - 2: labels[b, t] = tokens[b, t + 1]")],
        "prefix is scored too": [ROWS.format("if t < n - 1: labels[b, t] = tokens[b, t + 1]")],
        "IndexError": [ROWS.format("if p - 1 <= t < n: labels[b, t] = tokens[b, t + 1]")],
        "changes its input": [
            "def row_labels(tokens, prefix_len, valid):\n    tokens[~valid] = -100\n    return tokens"
        ],
    },
    "answer_log_probs": {
        "the first target token of each row is left out": [
            ANSWERS.format(
                "for t in range(max(p, 0) + 1, n): total = total + logits[b, t - 1].log_softmax(-1)[tokens[b, t]]"
            )
        ],
        "there is no shift": [
            ANSWERS.format("for t in range(p, n): total = total + logits[b, t].log_softmax(-1)[tokens[b, t]]")
        ],
        "the prefix is counted too": [
            ANSWERS.format(
                "for t in range(1, n): total = total + logits[b, t - 1].log_softmax(-1)[tokens[b, t]]"
            )
        ],
        "padding is counted": [
            ANSWERS.format(
                "for t in range(max(p, 1), tokens.size(1)): total = total + logits[b, t - 1].log_softmax(-1)[tokens[b, t]]"
            )
        ],
        "mean per target token": [
            """
def answer_log_probs(logits, tokens, prefix_len, valid):
    labels = prefix_lm_labels(tokens, prefix_len, valid=valid)
    rows = zip(logits[:, :-1], labels[:, 1:])
    return torch.stack([-F.cross_entropy(guesses, wanted) for guesses, wanted in rows])
""",
            ANSWERS.format(
                "for t in range(max(p, 1), n): total = total + logits[b, t - 1].log_softmax(-1)[tokens[b, t]]\n"
                "        total = total / max(n - max(p, 1), 1)"
            ),
        ],
        "no minus before it": [
            ANSWERS.format(
                "for t in range(max(p, 1), n): total = total - logits[b, t - 1].log_softmax(-1)[tokens[b, t]]"
            )
        ],
        "these are probabilities": [
            ANSWERS.format(
                "total = total + 1\n"
                "        for t in range(max(p, 1), n): total = total * logits[b, t - 1].softmax(-1)[tokens[b, t]]"
            )
        ],
        "added up logits": [
            ANSWERS.format("for t in range(max(p, 1), n): total = total + logits[b, t - 1, tokens[b, t]]")
        ],
        "runs over the positions": [
            ANSWERS.format(
                "for t in range(max(p, 1), n): total = total + logits[b].log_softmax(0)[t - 1, tokens[b, t]]"
            )
        ],
        "the first row's prefix_len": [
            ANSWERS.format(
                "p = int(prefix_len[0])\n"
                "        for t in range(max(p, 1), n): total = total + logits[b, t - 1].log_softmax(-1)[tokens[b, t]]"
            )
        ],
        "the last target token": [
            ANSWERS.format(
                "for t in range(max(p, 1), n - 1): total = total + logits[b, t - 1].log_softmax(-1)[tokens[b, t]]"
            )
        ],
        "the shape (1,) is wanted": [
            """
def answer_log_probs(logits, tokens, prefix_len, valid):
    return prefix_lm_labels(tokens, prefix_len, valid=valid) * 1.0
"""
        ],
    },
    "diagnose_loss": {
        "a late loss passes for right": [
            BENCH.format("""
    if likes(1):
        return "right" if likes(1, without=0) else "prefix scored"
    return "no shift" if likes(0) else "shifted twice"
""")
        ],
        "scores the prefix passes for right": [
            BENCH.format("""
    if likes(1):
        return "late" if likes(1, without=p - 1) else "right"
    return "no shift" if likes(0) else "shifted twice"
""")
        ],
        "not where it begins": [
            BENCH.format("return 'right' if likes(1) else 'no shift' if likes(0) else 'shifted twice'")
        ],
        "shifts twice passes for right": [
            BENCH.format("""
    if likes(0):
        return "no shift"
    if likes(1) and likes(1, without=p - 1):
        return "late"
    return "prefix scored" if likes(1) and not likes(1, without=0) else "right"
""")
        ],
        "taken for one that doesn't shift": [
            BENCH.format("""
    if not likes(1):
        return "no shift"
    if likes(1, without=p - 1):
        return "late"
    return "right" if likes(1, without=0) else "prefix scored"
""")
        ],
        "shifts twice is taken for a late": [
            BENCH.format("""
    if likes(0):
        return "no shift"
    if not likes(1) or likes(1, without=p - 1):
        return "late"
    return "right" if likes(1, without=0) else "prefix scored"
""")
        ],
        "scores the prefix is taken for a late": [
            BENCH.format("""
    if likes(1):
        return "right" if likes(1, without=0) and not likes(1, without=p - 1) else "late"
    return "no shift" if likes(0) else "shifted twice"
""")
        ],
        "said to score the prefix": [
            BENCH.format("""
    if likes(1):
        if likes(1, without=p - 1):
            return "late"
        return "prefix scored"
    return "no shift" if likes(0) else "shifted twice"
""")
        ],
        "right and no shift are exchanged": [
            BENCH.format("""
    if likes(0):
        return "right"
    if not likes(1):
        return "shifted twice"
    if likes(1, without=p - 1):
        return "late"
    return "no shift" if likes(1, without=0) else "prefix scored"
""")
        ],
        "right and late are exchanged": [
            BENCH.format("""
    if likes(1):
        if likes(1, without=p - 1):
            return "right"
        return "late" if likes(1, without=0) else "prefix scored"
    return "no shift" if likes(0) else "shifted twice"
""")
        ],
        "every loss passes": [BENCH.format("return 'right'")],
        "none of the words": [BENCH.format("return 'early'")],
        "right for 4 of 15 inputs": [
            """
def diagnose_loss(loss):  # takes every loss for a sum
    tokens = torch.arange(6)[None]
    return "late" if loss(torch.zeros(1, 6, 6), tokens, 2) < 3 * math.log(6) + 1 else "right"
"""
        ],
    },
}

UNTOUCHED = {
    "looks_worse": [WEDNESDAY.format("0")],
    "row_labels": [
        ROWS.format("if p <= t < n: labels[b, t] = tokens[b, (t + 1) % T]"),
        """
def row_labels(tokens, prefix_len, valid):
    labels = tokens.roll(-1, dims=1)
    place = torch.arange(tokens.size(1))
    scored = valid & (place >= prefix_len[:, None])
    return labels.masked_fill(~scored, -100)
""",
    ],
}
