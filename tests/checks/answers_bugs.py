"""Answers to the exercises of chapter 7: right ones in several forms, wrong ones by what they are told."""

DRAWN = 'drawn = "{}".replace(" ", "\\n")'
MEASURED = """
def used_prefix(logits_of, tokens):
    B, T = tokens.shape
    moves = torch.zeros(B, T, dtype=torch.bool)  # whether {0} moves with column k
    before = logits_of(tokens)
    for k in range(T):
        for step in range(1, 16):
            changed = tokens.clone()
            changed[:, k] = (changed[:, k] + step) % 16
            after = logits_of(changed)
            moves[:, k] |= {1}
    p = (moves * torch.arange(1, T + 1)).amax(-1)
    return {2}
"""
ROW_0 = "(before != after).any(-1)[:, 0]"
TESTED = """
def pads_are_hidden(model, tokens, prefix_len, valid):
    before = model(tokens, prefix_len, valid=valid)
    hidden = torch.ones(tokens.shape, dtype=torch.bool)
    for step in range(1, 16):
        changed = tokens.clone()
        changed[~valid] = (tokens[~valid] + step) % 16
        hidden &= ({0} == {1}).all(-1)
    return {2}
"""
TOLD = ("before", "model(changed, prefix_len, valid=valid)")
TAUGHT = """
def taught_ids(loss, logits, tokens, prefix_len):
    leaf = logits.detach().clone().requires_grad_(True)
    (pull,) = torch.autograd.grad(loss(leaf, tokens, prefix_len), leaf)
    ids = {}
    return {}
"""

RIGHT = {
    "lowest_loss": [
        "floor = math.log(16) / 2",
        "floor = 1.39",
        "floor = torch.tensor([0.0, math.log(16)]).mean()",
    ],
    "two_layers_of_leak": [
        DRAWN.format("####.. ##.#.. ####.. ####.. #####. ######"),
        """
drawn = create_prefix_lm_mask(6, 2)
drawn[0, 3] = True
drawn = (drawn.int() @ drawn.int()) > 0
""",
        """
drawn = [[1, 1, 1, 1, 0, 0], [1, 1, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0]]
drawn += [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]]
""",
    ],
    "used_prefix": [
        MEASURED.format("row 0", ROW_0, "p"),
        MEASURED.format("row 0", ROW_0, "moves.sum(-1)"),
        """
def used_prefix(logits_of, tokens):
    found = []
    for b in range(len(tokens)):
        p = tokens.size(1)
        while p > 1:
            changed = tokens.repeat(16, 1)
            blocks = changed.view(16, *tokens.shape)
            blocks[:, b, p - 1] = torch.arange(16)
            rows = torch.stack([logits_of(block)[b, 0] for block in blocks])
            if (rows != rows[0]).any():
                break
            p -= 1
        found.append(p)
    return found
""",
        """
def used_prefix(logits_of, tokens):
    seen = visibility(lambda ids, p: logits_of(ids), tokens, 0, ids=range(16))
    seen = seen[None, None] if seen.ndim == 2 else seen
    return [float(seen[b, b, 0].sum()) for b in range(len(tokens))]
""",
    ],
    "pads_are_hidden": [
        TESTED.format(*TOLD, "(hidden | ~valid).all(-1)"),
        TESTED.format(*TOLD, "[bool(row[real].all()) for row, real in zip(hidden, valid)]"),
        TESTED.format(*TOLD, "(~hidden & valid).sum(-1) == 0"),
        """
def pads_are_hidden(model, tokens, prefix_len, valid):
    answers = []
    for pad in range(16):
        filled = torch.where(valid, tokens, pad)
        answers.append(model(filled, prefix_len, valid=valid).masked_fill(~valid[..., None], 0))
    return [int(all((a[b] == answers[0][b]).all() for a in answers)) for b in range(len(tokens))]
""",
    ],
    "taught_ids": [
        TAUGHT.format("pull.argmin(-1)", "torch.where(pull.abs().sum(-1) == 0, -1, ids)"),
        TAUGHT.format("pull.abs().argmax(-1)", "ids.where((pull != 0).any(-1), torch.tensor(-1)).tolist()"),
        """
def taught_ids(loss, logits, tokens, prefix_len):
    B, T, V = logits.shape
    ids = torch.full((B, T), -1)
    before = loss(logits, tokens, prefix_len)
    for b in range(B):
        for t in range(T):
            for v in range(V):
                raised = logits.clone()
                raised[b, t, v] += 0.5
                if loss(raised, tokens, prefix_len) < before - 1e-6:
                    ids[b, t] = v
    return ids
""",
    ],
}

WRONG = {
    "lowest_loss": {
        "if nothing is repeated": ["floor = math.log(16)"],
        "this is a sum": ["floor = 4 * math.log(16)"],
        "in bits": ["floor = 2.0"],
        "nobody gets to 0": ["floor = 0"],
        "you divide by all tokens": ["floor = 4 * math.log(16) / 12"],
        "you count the prefix: nobody": ["floor = 8 * math.log(16) / 12"],
        "but for its first token": ["floor = 7 * math.log(16) / 11"],
        "how many symbols are possible": ["floor = math.log(8.5)"],
        "you halve the number of symbols": ["floor = math.log(8)"],
        "is too large": ["floor = 1.5"],
        "a number is wanted": ["floor = 'log 16'"],
    },
    "two_layers_of_leak": {
        "what one layer shows": [DRAWN.format("##.#.. ##.... ###... ####.. #####. ######")],
        "what three layers show": [DRAWN.format("####.. ####.. ####.. ####.. #####. ######")],
        "the leak is gone": ["drawn = create_prefix_lm_mask(6, 2)"],
        "all others read row 0": [DRAWN.format("####.. ##.... ###... ####.. #####. ######")],
        "but row 0 reads row 3": [DRAWN.format("##.#.. ##.#.. ####.. ####.. #####. ######")],
        "everything is open": ["drawn = torch.ones(6, 6)"],
        "rows and columns": [DRAWN.format("###### ###### #.#### ###### ....## .....#")],
        "true and false": [DRAWN.format("....## ..#.## ....## ....## .....# ......")],
        "row 5 doesn't see column 5": [DRAWN.format("####.. ##.#.. ####.. ####.. #####. #####.")],
    },
    "used_prefix": {
        "the index of the last prefix token": [MEASURED.format("row 0", ROW_0, "p - 1")],
        "one too many": [MEASURED.format("row 0", ROW_0, "p + 1")],
        "counts as 1 here": [MEASURED.format("row 0", ROW_0, "p * (p > 1)")],
        "in any case": [
            MEASURED.format("any row", "(before != after).any(-1).any(-1)", "p"),
            MEASURED.format("the last row", "(before != after).any(-1)[:, -1]", "p"),
        ],
        "the first example's p": [MEASURED.format("row 0", ROW_0, "[p[0]] * B")],
        "the longest prefix": [MEASURED.format("row 0", ROW_0, "[max(p)] * B")],
        "some are 0 already": [
            """
def used_prefix(logits_of, tokens):
    before, p = logits_of(tokens)[:, 0], torch.ones(len(tokens), dtype=torch.long)
    for k in range(1, tokens.size(1)):
        changed = tokens.clone()
        changed[:, k] = 0
        p[(logits_of(changed)[:, 0] != before).any(-1)] = k + 1
    return p
"""
        ],
        "one other id isn't enough": [
            """
def used_prefix(logits_of, tokens):
    before, p = logits_of(tokens)[:, 0], [1] * len(tokens)
    for k in range(1, tokens.size(1)):
        changed = tokens.clone()
        changed[:, k] = (changed[:, k] + 1) % 16
        after = logits_of(changed)[:, 0]
        for b in range(len(tokens)):
            if not torch.equal(after[b], before[b]):
                p[b] = k + 1
    return p
"""
        ],
        "a tolerance": [
            MEASURED.format("row 0", "~torch.isclose(before, after).all(-1)[:, 0]", "p.clamp(min=1)"),
            MEASURED.format("row 0", "((before - after).abs() > 1e-6).any(-1)[:, 0]", "p.clamp(min=1)"),
        ],
        "right for": [MEASURED.format("row 0", ROW_0, "p.clamp(max=4)")],
        "one value after the other": [MEASURED.format("row 0", ROW_0, "before")],
    },
    "pads_are_hidden": {
        "one and the same id": [
            f"""
def pads_are_hidden(model, tokens, prefix_len, valid):
    before = model(tokens, prefix_len, valid=valid)
    after = model(tokens.masked_fill(~valid, {pad}), prefix_len, valid=valid)
    return ((before == after).all(-1) | ~valid).all(-1)
"""
            for pad in (0, 1, 15)
        ],
        "rows at pads are counted": [TESTED.format(*TOLD, "hidden.all(-1)")],
        "only each example's last row": [
            TESTED.format(*TOLD, "hidden[[0, 1], [row.nonzero().max() for row in valid]]")
        ],
        "one verdict for the whole batch": [
            TESTED.format(*TOLD, "(hidden | ~valid).all()"),
            TESTED.format(*TOLD, "[bool((hidden | ~valid).all())] * len(tokens)"),
        ],
        "true stands where pads are seen": [TESTED.format(*TOLD, "(~hidden & valid).any(-1)")],
        "real tokens are exchanged": [
            """
def pads_are_hidden(model, tokens, prefix_len, valid):
    before = model(tokens, prefix_len, valid=valid)
    after = model((tokens + 5) % 16, prefix_len, valid=valid)
    return [bool((b[v] == a[v]).all()) for b, a, v in zip(before, after, valid)]
"""
        ],
        "isn't told where the padding is": [
            TESTED.format(
                "model(tokens, prefix_len)", "model(changed, prefix_len)", "(hidden | ~valid).all(-1)"
            )
        ],
        "a tolerance": [
            """
def pads_are_hidden(model, tokens, prefix_len, valid):
    before = model(tokens, prefix_len, valid=valid)
    after = model(torch.where(valid, tokens, (tokens + 3) % 16), prefix_len, valid=valid)
    return [torch.allclose(b[v], a[v]) for b, a, v in zip(before, after, valid)]
"""
        ],
        "right for": [
            TESTED.format(*TOLD, "(hidden | ~valid).all(-1) | (torch.tensor([[0, 1]]) > 0).any(0)")
        ],
        "changes its input": [
            TESTED.format(*TOLD, "(hidden | ~valid).all(-1) & (tokens.fill_(1) > 0).all(-1)")
        ],
        "yours holds 2": [TESTED.format(*TOLD, "(hidden | ~valid).all(-1) * 2")],
    },
    "taught_ids": {
        "the loss isn't asked": [TAUGHT.format("logits.argmax(-1)", "ids")],
        "where there is a loss": [
            TAUGHT.format("logits.argmax(-1)", "torch.where((pull == 0).all(-1), -1, ids)")
        ],
        "the sign is the wrong way round": [
            TAUGHT.format("pull.argmax(-1)", "torch.where((pull == 0).all(-1), -1, ids)")
        ],
        "rows without loss say an id": [TAUGHT.format("pull.argmin(-1)", "ids")],
        "what the rows should be taught": [
            TAUGHT.format(
                "prefix_lm_labels(tokens, prefix_len)[:, 1:]", "F.pad(ids, (0, 1), value=-1).clamp(min=-1)"
            )
        ],
        "say -100": [TAUGHT.format("pull.argmin(-1)", "ids.masked_fill((pull == 0).all(-1), -100)")],
        "you say which rows carry loss": [TAUGHT.format("pull.argmin(-1)", "pull.any(-1)")],
        "a row too late": [
            TAUGHT.format("pull.argmin(-1).masked_fill((pull == 0).all(-1), -1)", "ids.roll(1, 1)")
        ],
        "a row too early": [
            TAUGHT.format("pull.argmin(-1).masked_fill((pull == 0).all(-1), -1)", "ids.roll(-1, 1)")
        ],
        "the shape (2, 7) is wanted": [TAUGHT.format("pull.argmin(1)", "ids")],
    },
}

UNTOUCHED = {
    "pads_are_hidden": [
        """
def pads_are_hidden(model, tokens, prefix_len, valid):
    still = model(tokens, prefix_len, valid=valid) == model(torch.where(valid, tokens, 0), prefix_len, valid=valid)
    return still.flatten(1).all(-1)
"""
    ],
}
