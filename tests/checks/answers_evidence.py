"""Answers to the exercises of chapter 12: right ones in several forms, wrong ones by what they are told."""

BLOCKS = """
def fit_in_blocks(x, y, block):
    line = torch.zeros(x.shape[1], dtype=torch.float64)
    for start in {starts}:
        xs, ys = {rows}
        left = {left}
        change = {change}
        {then}
    return line{returned}
"""


def blocks(
    starts: str = "range(0, len(x), block)",
    rows: str = "x[start : start + block], y[start : start + block]",
    left: str = "ys - xs @ line",
    change: str = "torch.linalg.lstsq(xs, left[:, None], driver='gelsd').solution[:, 0]",
    then: str = "line = line + change",
    returned: str = "",
) -> str:
    return BLOCKS.format(starts=starts, rows=rows, left=left, change=change, then=then, returned=returned)


BATCHES = """
def batches_needed(batches, budget):
    used = done = 0
    for lengths, prefix_lens in batches:
        done += 1
        used {adds} {counted}
        if used {enough} budget:
            return done{off}
    return {last}
"""


def batches(
    counted: str = "sum(n - p - (p == 0) for n, p in zip(lengths, prefix_lens))",
    adds: str = "+=",
    enough: str = ">=",
    off: str = "",
    last: str = "done",
) -> str:
    return BATCHES.format(counted=counted, adds=adds, enough=enough, off=off, last=last)


RIGHT = {
    "also_changed": [
        "changed = ['data and compute', 'scored tokens']",
        "changed = {'Scored tokens', 'Data and compute'}",
    ],
    "lines_by_hand": ["answered = [3, 6, 4, 1.8]", "answered = torch.tensor([3.0, 6, 4, 1.8])"],
    "fit_in_blocks": [
        blocks(),
        """
import numpy as np

def fit_in_blocks(x, y, block):
    x, y = x.numpy(), y.numpy()
    line = np.zeros(x.shape[1])
    for start in range(0, len(x), block):
        xs, ys = x[start : start + block], y[start : start + block]
        line = line + np.linalg.lstsq(xs, ys - xs @ line, rcond=None)[0]
    return line
""",
        """
def fit_in_blocks(x, y, block):
    line = torch.zeros(x.shape[1], 1, dtype=x.dtype)
    while len(x):
        xs, ys = x[:block], y[:block, None]
        x, y = x[block:], y[block:]
        U, S, V = torch.linalg.svd(xs, full_matrices=False)
        line = line + V.mT @ ((U.mT @ (ys - xs @ line)) / S[:, None])
    return line.flatten().float()
""",
    ],
    "batches_needed": [
        batches(),
        """
def batches_needed(batches, budget):
    for n in range(1, len(batches) + 1):
        rows = [row for lengths, prefix_lens in batches[:n] for row in zip(lengths, prefix_lens)]
        if sum(sum(1 for t in range(length) if t > 0 and t >= p) for length, p in rows) >= budget:
            break
    return n
""",
        """
def batches_needed(batches, budget):
    scored = torch.tensor([
        int((torch.tensor(lengths) - torch.tensor(prefix_lens).clamp(min=1)).sum())
        for lengths, prefix_lens in batches
    ]).cumsum(0)
    return torch.clamp((scored < budget).sum() + 1, max=len(batches))
""",
    ],
}

WRONG = {
    "also_changed": {
        "does its loss leave out": ["changed = ['data and compute']", "changed = 'data and compute'"],
        "how many steps has each": ["changed = ['scored tokens']"],
        "the use is the same": ["changed = ['data and compute', 'scored tokens', 'use']"],
        "the objective is the same: both": ["changed = ['objective', 'data and compute', 'scored tokens']"],
        "the objective is the same here": ["changed = ['objective', 'scored tokens']"],
        "neither of these": ["changed = ['use', 'objective']"],
        "not all four": ["changed = ['objective', 'data and compute', 'scored tokens', 'use']"],
        "something was changed": ["changed = []"],
        "of yours 1 belong there": ["changed = ['use', 'scored tokens']"],
        "'mask' is none of the words": ["changed = ['mask']"],
    },
    "lines_by_hand": {
        "these are the lines": ["answered = [1.5, 3, 2, 0.9]"],
        "the masks are exchanged": ["answered = [6, 3, 3, 1.8]"],
        "the mean of the slopes": ["answered = [4, 6, 4, 1.8]"],
        "the sum of y": ["answered = [3.5, 6, 4, 1.8]"],
        "which one that is now": ["answered = [3, 6, 6, 1.8]"],
        "the first example decides": ["answered = [3, 4, 2, 1.8]"],
        "their sum isn't divided": ["answered = [3, 6, 4, 0.6]"],
        "the step is missing": ["answered = [3, 6, 4, 18]"],
        "the question's own x": ["answered = [3, 6, 4, 0.9]"],
        "that of one pass": ["answered = [3, 3, 3, 1.8]"],
        "2 at [0] is too small": ["answered = [2, 6, 4, 1.8]"],
        "the shape (4,) is wanted": ["answered = [3, 6, 4]"],
    },
    "fit_in_blocks": {
        "least squares over all": [blocks(starts="[0]", rows="x, y")],
        "single pass of the causal mask": [
            blocks(starts="range(len(x))", rows="x[start, None], y[start, None]")
        ],
        "begins anew": [blocks(left="ys", then="line = change")],
        "fitted to y itself": [blocks(left="ys")],
        "averaged": [blocks(left="ys", returned=" / math.ceil(len(x) / block)")],
        "isn't full is dropped": [blocks(starts="range(0, len(x) - block + 1, block)")],
        "from the back": [blocks(starts="reversed(range(0, len(x), block))")],
        "inside the loop": [blocks(then="return change")],
        "one step of gradient": [blocks(change="xs.T @ left")],
        "taken off": [blocks(then="line = line - change")],
        "one of zeros": [blocks(then="line + change")],
        "right for": [
            blocks(change="torch.linalg.pinv(xs, rtol=0.5) @ left"),
            blocks(change="torch.linalg.inv(xs.T @ xs) @ xs.T @ left"),  # only where xs.T @ xs is regular
        ],
        "changes its input": [blocks(then="x += 1")],
        "the shape (4,) is wanted": [blocks(returned="[:, None]")],
    },
    "batches_needed": {
        "the first token is counted": [batches("sum(lengths) - sum(prefix_lens)")],
        "one token of each row is lost": [batches("sum(n - p - 1 for n, p in zip(lengths, prefix_lens))")],
        "all tokens but the first": [batches("sum(n - 1 for n in lengths)")],
        "the target isn't": [batches("sum(prefix_lens)")],
        "padding is counted": [batches("max(lengths) * len(lengths) - sum(max(p, 1) for p in prefix_lens)")],
        "a batch late": [batches(enough=">")],
        "a batch early": [batches(off=" - 1")],
        "aren't added up": [batches(adds="=")],
        "the first row's p": [batches("sum(max(n - max(prefix_lens[0], 1), 0) for n in lengths)")],
        "rows are counted": [batches("len(lengths)")],
        "right for": [batches(last="None")],
        "nameerror": [batches("sum(lengths) - sum(p)")],
        "the shape () is wanted": [batches(last="[done, used]", off=", used")],
        "changes its input": [batches("len(lengths) * lengths.pop()")],
    },
}

UNTOUCHED = {"batches_needed": [batches("sum(lengths)")]}
