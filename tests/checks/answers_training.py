"""Answers to the exercises of chapter 5: right ones in several forms, wrong ones by what they are told."""

BATCHES = """
def budget_batches(lengths, budget):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches = [[]]
    for i in order:
        rows = len(batches[-1])
        tokens = sum(lengths[j] for j in batches[-1])
        shortest = min([lengths[j] for j in batches[-1]], default=0)
        longest = max([lengths[j] for j in batches[-1]], default=0)
        if {}:
            batches.append([])
        batches[-1].append(i)
    return [next(n for n, batch in enumerate(batches) if i in batch) for i in range(len(lengths))]
"""
RUN = """
def go_on(load, batches, steps):
    {}
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=steps)
    kept = load()
    done = len(kept["losses"])
    {}
    for x, y in {}:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])
"""
SEED, ALL, LEFT = "torch.manual_seed(0)", "batches[: steps - done]", "batches[done:]"
MODEL, OPTIMIZER, SCHEDULE, RANDOM = (
    *(f"{name}.load_state_dict(kept['{name}'])" for name in ("model", "optimizer", "schedule")),
    "torch.set_rng_state(kept['random'])",
)
PIECES = """
def gradient_in_pieces(model, pieces):
    model.zero_grad()
    counts = [sum(int(label) != -100 for row in labels for label in row[1:]) for _, labels in pieces]
    for (tokens, labels), count in zip(pieces, counts):
        {}
    {}
    return torch.cat([weight.grad.flatten() for weight in model.parameters()])
"""
CLIP = "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
BACK = "if count: (label_loss(model(tokens), labels) * ({})).backward()"


def run(*back: str, before: str = SEED, batches: str = LEFT) -> str:
    """Code that goes on with what is put back."""
    return RUN.format(before, "; ".join(back), batches)


def weighed(by: str, *more: str, after: str = CLIP) -> str:
    """Code that weighs a piece by an expression."""
    return PIECES.format("\n        ".join([BACK.format(by), *more]), after)


RIGHT = {
    "french_sounds": ["rate = 0.3", "rate = 3 / 10", "rate = torch.tensor(0.3)"],
    "budget_batches": [
        BATCHES.format("rows and (rows + 1) * lengths[i] > budget"),
        """
def budget_batches(lengths, budget):
    lengths = torch.tensor(lengths)
    order = lengths.argsort(stable=True)
    numbers = torch.zeros(len(lengths), dtype=torch.int32)
    start = 0
    for end in range(1, len(order)):
        if (end - start + 1) * lengths[order[end]] > budget:
            numbers[order[end:]] += 1
            start = end
    return numbers
""",
        """
import numpy as np

def budget_batches(lengths, budget):
    left = sorted((length, place) for place, length in enumerate(lengths))
    found, number = np.zeros(len(lengths)), 0
    while left:
        taken = [left.pop(0)]
        while left and left[0][0] * (len(taken) + 1) <= budget:
            taken.append(left.pop(0))
        for _, place in taken:
            found[place] = number
        number += 1
    return found
""",
    ],
    "go_on": [
        run(MODEL, OPTIMIZER, SCHEDULE, RANDOM),
        run(SCHEDULE, OPTIMIZER, MODEL, "model.train()", RANDOM, before="pass"),
        """
def go_on(load, batches, steps):
    kept = load()
    net = nn.ModuleDict({"a": nn.Linear(4, 8), "b": nn.Linear(8, 1)})
    net["a"].weight.data, net["a"].bias.data = kept["model"]["0.weight"], kept["model"]["0.bias"]
    net["b"].weight.data, net["b"].bias.data = kept["model"]["2.weight"], kept["model"]["2.bias"]
    optimizer = torch.optim.AdamW(net.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=steps)
    optimizer.load_state_dict(kept["optimizer"])
    schedule.load_state_dict(kept["schedule"])
    torch.set_rng_state(kept["random"])
    for step in range(len(kept["losses"]), steps):
        x, y = batches[step]
        optimizer.zero_grad()
        ((net["b"](F.dropout(net["a"](x), 0.5)) - y) ** 2).mean().backward()
        optimizer.step()
        schedule.step()
    return [number for weight in net.parameters() for number in weight.flatten().tolist()]
""",
    ],
    "gradient_in_pieces": [
        weighed("count / sum(counts)"),
        PIECES.format(  # the loss of nothing is NaN, but its gradient is 0
            "loss = F.cross_entropy(model(tokens)[:, :-1].transpose(1, 2), labels[:, 1:])\n"
            "        (loss * count / sum(counts)).backward()",
            CLIP,
        ),
        """
def gradient_in_pieces(model, pieces):
    model.zero_grad()
    total = sum((labels[:, 1:] != -100).sum() for _, labels in pieces)
    for tokens, labels in pieces:
        logits = model(tokens)[:, :-1].transpose(1, 2)
        (F.cross_entropy(logits, labels[:, 1:], reduction="sum") / total).backward()
    found = torch.cat([weight.grad.flatten() for weight in model.parameters()])
    return found / max(1.0, found.norm())
""",
        """
def gradient_in_pieces(model, pieces):  # as one batch
    longest = max(tokens.size(1) for tokens, _ in pieces)
    tokens = torch.cat([F.pad(tokens, (0, longest - tokens.size(1))) for tokens, _ in pieces])
    labels = torch.cat([F.pad(labels, (0, longest - labels.size(1)), value=-100) for _, labels in pieces])
    weights = list(model.parameters())
    gradients = torch.autograd.grad(label_loss(model(tokens), labels), weights)
    for weight, gradient in zip(weights, gradients):
        weight.grad = gradient
    nn.utils.clip_grad_norm_(weights, 1.0)
    return torch.cat([weight.grad.flatten() for weight in weights]).float()
""",
    ],
}

WRONG = {
    "french_sounds": {
        "word error rate": ["rate = 2 / 3"],
        "the words' own rates": ["rate = (0 / 4 + 1 / 4 + 2 / 2) / 3"],
        "the first pronunciation that is listed": ["rate = 4 / 9"],
        "the length of the first one": ["rate = 3 / 9"],
        "place by place": ["rate = 0.6"],
        "the sounds of the answers": ["rate = 3 / 11"],
        "these are the edits": ["rate = 3"],
        "edits per word": ["rate = 1.0"],
        "sounds that are right": ["rate = 0.7"],
        "in percent": ["rate = 30"],
        "0.2 is too small": ["rate = 0.2"],
        "a number is wanted": ["rate = '30 %'"],
    },
    "budget_batches": {
        "aren't sorted": [
            BATCHES.replace(
                "sorted(range(len(lengths)), key=lambda i: lengths[i])", "range(len(lengths))"
            ).format("rows and (rows + 1) * max(longest, lengths[i]) > budget")
        ],
        "the longest come first": [
            BATCHES.replace("lambda i: lengths[i]", "lambda i: -lengths[i]").format(
                "rows and (rows + 1) * max(longest, lengths[i]) > budget"
            )
        ],
        "add up the lengths": [BATCHES.format("rows and tokens + lengths[i] > budget")],
        "cells, not rows": [BATCHES.format("rows + 1 > budget")],
        "its shortest row": [BATCHES.format("rows and (rows + 1) * shortest > budget")],
        "exactly as many cells": [BATCHES.format("rows and (rows + 1) * lengths[i] >= budget")],
        "a row too many": [
            BATCHES.format("rows * longest > budget"),
            BATCHES.format("rows * longest >= budget"),
        ],
        "leaves an empty batch": [BATCHES.format("(rows + 1) * lengths[i] > budget")],
        "in the order of length": [
            BATCHES.format("rows and (rows + 1) * lengths[i] > budget").replace(
                "for i in range(len(lengths))]", "for i in order]"
            )
        ],
        "counted from 1": [
            BATCHES.format("rows and (rows + 1) * lengths[i] > budget").replace(
                "enumerate(batches)", "enumerate(batches, 1)"
            )
        ],
        "a batch of its own": [BATCHES.format("rows")],
        "changes its input": ["def budget_batches(lengths, budget):\n    lengths.sort()\n    return lengths"],
        "the shape (4,) is wanted": ["def budget_batches(lengths, budget):\n    return 2"],
    },
    "go_on": {
        "one thing is still forgotten: what adamw": [run(MODEL, SCHEDULE, RANDOM)],
        "one thing is still forgotten: how far": [run(MODEL, OPTIMIZER, RANDOM)],
        "one thing is still forgotten: the state": [run(MODEL, OPTIMIZER, SCHEDULE)],
        "one thing is still forgotten: which batches": [run(MODEL, OPTIMIZER, SCHEDULE, RANDOM, batches=ALL)],
        "two things are still forgotten: what adamw remembers of each weight, and how": [run(MODEL, RANDOM)],
        "two things are still forgotten: the state of the random numbers, and which": [
            run(MODEL, OPTIMIZER, SCHEDULE, batches=ALL)
        ],
        "three things are still forgotten: what adamw remembers of each weight, and how": [run(MODEL)],
        "put back too early": [
            run(MODEL, OPTIMIZER, SCHEDULE, before="torch.set_rng_state(load()['random'])"),
            run(MODEL, OPTIMIZER, SCHEDULE, before="torch.set_rng_state(load()['random'])").replace(
                "kept = load()", "kept = {**load(), 'random': None}"
            ),
        ],
        "those of a new model": [run(OPTIMIZER, SCHEDULE, RANDOM)],
        "a batch is passed over": [
            run(MODEL, OPTIMIZER, SCHEDULE, RANDOM, batches="batches[done + 1 :]"),
        ],
        "nothing is trained": [run(MODEL, OPTIMIZER, SCHEDULE, RANDOM, batches="[]")],
        "dropout is switched off": [run(MODEL, OPTIMIZER, SCHEDULE, RANDOM, "model.eval()")],
        "your code stops with valueerror": [
            run(MODEL, OPTIMIZER, SCHEDULE, RANDOM, batches="batches"),
        ],
    },
    "gradient_in_pieces": {
        "each piece counts the same": [weighed("1 / len(counts)")],
        "and the rest is as it was": [weighed("1 / len(counts)", CLIP, after="pass")],
        "that has targets counts the same": [
            weighed("1 / sum(n > 0 for n in counts)"),
            weighed("1 / sum(n > 0 for n in counts)", CLIP, after="pass"),
        ],
        "clipped by itself": [
            weighed("count / sum(counts)", CLIP, after="pass"),
            weighed("count / sum(counts)", CLIP, after="pass").replace("if count: ", ""),
        ],
        "by its rows": [
            weighed("len(tokens) / sum(len(t) for t, _ in pieces)"),
            weighed("len(tokens) / sum(len(t) for t, _ in pieces)", CLIP, after="pass"),
        ],
        "by all its cells": [weighed("labels.numel() / sum(other.numel() for _, other in pieces)")],
        "labels in column 0": [
            weighed("(labels != -100).sum() / sum((other != -100).sum() for _, other in pieces)"),
            weighed("(labels != -100).sum() / sum((other != -100).sum() for _, other in pieces)").replace(
                "if count: ", ""
            ),
        ],
        "divided by nothing": [weighed("1")],
        "not divided by how many": [weighed("count")],
        "isn't clipped at all": [weighed("count / sum(counts)", after="pass")],
        "are stretched": [
            weighed(
                "count / sum(counts)",
                after="found = torch.cat([weight.grad.flatten() for weight in model.parameters()]); return found / found.norm()",
            )
        ],
        "only the last piece": [
            PIECES.format("if count: model.zero_grad()\n        " + BACK.format("count / sum(counts)"), CLIP)
        ],
        "has no mean loss": [weighed("count / sum(counts)").replace("if count: ", "")],
        "changes its input": [
            weighed(
                "count / sum(counts)",
                after="[weight.data.sub_(weight.grad) for weight in model.parameters()]",
            )
        ],
    },
}

UNTOUCHED = {
    "go_on": [run(MODEL, batches=ALL)],
    "gradient_in_pieces": [
        """
def gradient_in_pieces(model, pieces):
    model.zero_grad()
    for tokens, labels in pieces:
        loss = label_loss(model(tokens), labels) / len(pieces)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return torch.cat([weight.grad.flatten() for weight in model.parameters()])
"""
    ],
}
