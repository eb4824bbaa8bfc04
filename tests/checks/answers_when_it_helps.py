"""Answers to the exercises of chapter 5b: right ones in several forms, wrong ones by what they are told."""

ALONE = """
def alone_mask(T, opened):
    q, k = torch.arange(T)[:, None], torch.arange(T)
    column = torch.tensor([t in opened for t in range(T)])
    row = column[:, None]
    return {}
"""

GAP = """
from statistics import mean

def fair_gap(runs):
    gap = 0.0
    for sign, mask in ((1, "prefix"), (-1, "causal")):
        own = [run for run in runs if run["mask"] == mask]
        first = [run for run in {choosing} if run["seed"] == 0]
        others = [run for run in own if run["seed"] {counting} 0]
        lr = max({group}, key=lambda run: run["right"])["lr"]
        gap += sign * {score}(run["right"] for run in others if {which})
    return {returned}
"""


def gap(
    choosing: str = "own",
    counting: str = ">",
    group: str = "first",
    score: str = "mean",
    which: str = "run['lr'] == lr",
    returned: str = "gap",
) -> str:
    return GAP.format(
        choosing=choosing, counting=counting, group=group, score=score, which=which, returned=returned
    )


BY_MEANS = """
def fair_gap(runs):
    found = {{}}
    for mask in ("causal", "prefix"):
        rates = {{}}
        for run in runs:
            if run["mask"] == mask and run["seed"] >= {least}:
                rates.setdefault(run["lr"], []).append(run["right"])
        lr = max(rates, key=lambda lr: sum(rates[lr]) / len(rates[lr]))
        kept = [run["right"] for run in runs if (run["mask"], run["lr"]) == (mask, lr) and run["seed"]]
        found[mask] = sum(kept) / len(kept)
    return found["prefix"] - found["causal"]
"""

HANDED_OUT = """
def fair_gap(runs):
    lr = max(runs, key=lambda run: run["right"])["lr"]
    means = {}
    for mask in ("causal", "prefix"):
        found = [run["right"] for run in runs if run["mask"] == mask and run["lr"] == lr]
        means[mask] = sum(found) / len(found)
    return means["prefix"] - means["causal"]
"""

RIGHT = {
    "room_for_roads": [
        "rooms = [4, 15, 8]",
        "rooms = (5 - 1, 2**4 - 1, 2**3)",
        "rooms = torch.tensor([4.0, 15, 8])",
    ],
    "told_in_time": ["told = ['B', 'C']", "told = {'c', 'b'}"],
    "alone_mask": [
        ALONE.format("torch.where(row, q == k, (k <= q) | column)"),
        """
def alone_mask(T, opened):
    return [[q == k or (q not in opened and (k < q or k in opened)) for k in range(T)] for q in range(T)]
""",
        """
def alone_mask(T, opened):  # to be added to scores
    mask = torch.full((T, T), -math.inf).triu(1)
    for t in opened:
        mask[:, t] = 0.0
    for t in opened:
        mask[t] = -math.inf
        mask[t, t] = 0.0
    return mask
""",
    ],
    "fair_gap": [
        gap(),
        """
def fair_gap(runs):
    best = {}
    for run in runs:
        if run["seed"] == 0 and run["right"] > best.get(run["mask"], (-1, None))[0]:
            best[run["mask"]] = run["right"], run["lr"]
    total, count = {"prefix": 0, "causal": 0}, {"prefix": 0, "causal": 0}
    for run in runs:
        if run["seed"] != 0 and run["lr"] == best[run["mask"]][1]:
            total[run["mask"]] += run["right"]
            count[run["mask"]] += 1
    return torch.tensor(total["prefix"] / count["prefix"] - total["causal"] / count["causal"])
""",
    ],
}

WRONG = {
    "room_for_roads": {
        "only reads the key": ["rooms = [5, 16, 9]"],
        "how far a single road leads": ["rooms = [4, 16, 8]"],
        "forgets how far it had come": ["rooms = [4, 8, 8]"],
        "roads grow by one": ["rooms = [4, 7, 5]"],
        "how far three layers come": ["rooms = [4, 5, 8]"],
        "needn't wait": ["rooms = [4, 15, 7]"],
        "saves the roads": ["rooms = [4, 15, 4]"],
        "costs nothing in yours": ["rooms = [4, 15, 15]"],
        "there are five here": ["rooms = [2, 3, 2]"],
        "14 at [1] is too small": ["rooms = [4, 14, 8]"],
        "5 at [0] is too large": ["rooms = [5, 15, 8]"],
        "the shape (3,) is wanted": ["rooms = [4, 15]"],
    },
    "told_in_time": {
        "two copies help too": ["told = ['C']", "told = 'c'"],
        "another order helps too": ["told = ['B']"],
        "the roads that stand before the key": ["told = 'b c f'.split()"],
        "one that is enough is missing": ["told = ['F', 'C']"],
        "more heads look": ["told = ['B', 'C', 'D']"],
        "and to no road": ["told = ('B', 'C', 'G')"],
        "the number of hops isn't the key": ["told = list('ABC')"],
        "the start isn't the key": ["told = list('BCE')"],
        "these are all seven": ["told = list('ABCDEFG')"],
        "of yours 1 belong there": ["told = ['A', 'B']"],
        "'h' is none of the words": ["told = ['H']"],
        "one of the words is wanted": ["told = 2"],
    },
    "alone_mask": {
        "bring more than themselves": [ALONE.format("(k <= q) | column")],
        "rows and columns are exchanged": [ALONE.format("torch.where(column, q == k, (k >= q) | row)")],
        "true and false are exchanged": [ALONE.format("torch.where(row, q != k, (k > q) & ~column)")],
        "see one another": [ALONE.format("torch.where(row, column, (k <= q) | column)")],
        "opened before it": [ALONE.format("(~row & (k <= q)) | (column & ((k <= q) | ~row))")],
        "not even themselves": [ALONE.format("((k <= q) | column) & ~row")],
        "ahead of their place": [ALONE.format("torch.where(row, q == k, k <= q)")],
        "you closed the columns": [ALONE.format("((k <= q) & ~column) | (q == k)")],
        "you opened the rows": [ALONE.format("(k <= q) | row")],
        "this is an open prefix": [
            ALONE.format("torch.where(row, q == k, (k <= q) | (k <= max(opened, default=-1)))")
        ],
        "this is the causal mask": [ALONE.format("k <= q")],
        "everything is open": [ALONE.format("torch.zeros(T, T)")],  # added to scores
        "right for": [ALONE.format("torch.where(row, q == k, (k <= q) | (k == max(opened, default=T)))")],
        "changes its input": [ALONE.format("opened.append(0) or k <= q")],
        "the shape (9, 9) is wanted": [ALONE.format("(k <= q)[1:]")],
        "nameerror": [ALONE.format("k <= q | key")],
    },
    "fair_gap": {
        "that of the luckiest run": [gap(group="runs")],
        "the best of seed 0": [gap(choosing="runs")],
        "then counts as well": [gap(counting=">=")],
        "chooses its rate": [gap(group="own")],
        "seeds that are compared choose": [BY_MEANS.format(least=1)],
        "all seeds choose": [BY_MEANS.format(least=0)],
        "the best run of each mask is compared": [gap(counting=">=", score="max", which="True")],
        "the best of the other seeds": [gap(score="max")],
        "the sign is turned": [gap(returned="-gap")],
        "no rate is chosen": [gap(which="True")],
        "only seed 0 counts": [gap(counting="==")],
        "the sums are compared": [gap(score="sum")],
        "zerodivisionerror": [gap(returned="gap / 0")],
        "yours is none": [gap(returned="None")],
        "changes its input": [gap(returned="runs.pop() and gap")],
    },
}

UNTOUCHED = {"fair_gap": [HANDED_OUT]}
