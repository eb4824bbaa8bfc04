"""Answers to the exercises of chapter 5c: right ones in several forms, wrong ones by what they are told."""

POSITIONS = """
def restarting_positions(valid, prefix_len):
    B, T = valid.shape
    found = torch.zeros(B, T, dtype=torch.long)
    for b in range(B):
        p, n = int(prefix_len[{row}]), 0
        for t in range(T):
            if {pads}valid[b, t]:
                {number}
                n += 1
    return found
"""


def positions(number: str = "found[b, t] = n - p if n >= p else n", row: str = "b", pads: str = "") -> str:
    return POSITIONS.format(number=number, row=row, pads=pads)


GAP = """
from math import hypot, sqrt
from statistics import mean, pstdev, stdev, variance

def paired_gap(causal, prefix):
    both = {both}
    gaps = {gaps}
    n = len(gaps)
    return {returned}
"""


def gap(
    both: str = "sorted(causal.keys() & prefix.keys())",
    gaps: str = "[causal[seed] - prefix[seed] for seed in both]",
    returned: str = "mean(gaps), stdev(gaps) / sqrt(n)",
) -> str:
    return GAP.format(both=both, gaps=gaps, returned=returned)


ZIPPED = "[a - b for a, b in zip(causal.values(), prefix.values())]"
SORTED = "[causal[a] - prefix[b] for a, b in zip(sorted(causal), sorted(prefix))]"

RIGHT = {
    "four_claims": ["claims = [1, -4, 5, 6]", "claims = torch.tensor([1.0, -4, 5, 6])"],
    "restarting_positions": [
        positions(),
        """
def restarting_positions(valid, prefix_len):
    place = torch.cumsum(valid, dim=1) - 1
    place = place - prefix_len.unsqueeze(1) * (place >= prefix_len.unsqueeze(1))
    return (place * valid).float()
""",
        """
def restarting_positions(valid, prefix_len):
    rows = []
    for row, p in zip(valid.tolist(), prefix_len.tolist()):
        counted = iter([*range(p), *range(sum(row) - p)])
        rows.append([next(counted) if real else 0 for real in row])
    return rows
""",
    ],
    "paired_gap": [
        gap(),
        """
def paired_gap(causal, prefix):
    both = [seed for seed in prefix if seed in causal]
    gaps = torch.tensor([causal[seed] for seed in both]) - torch.tensor([prefix[seed] for seed in both])
    return torch.stack([gaps.mean(), gaps.std() / len(both) ** 0.5])
""",
        gap(returned="[sum(gaps) / n, (sum((g - sum(gaps) / n) ** 2 for g in gaps) / n / (n - 1)) ** 0.5]"),
    ],
}

WRONG = {
    "four_claims": {
        "these are gaps on validation words": ["claims = [2, -3, 4, 7]"],
        "in the first, the prefix model's rate": ["claims = [4, -4, 5, 6]"],
        "in the first and the last": ["claims = [4, -4, 5, 9]"],
        "it was tuned on the others": ["claims = [1, -4, 5, 9]"],
        "that suits the prefix model": ["claims = [5, -4, 5, 6]"],
        "have done their work": ["claims = [2, -4, 5, 6]"],
        "all four are turned round": ["claims = [-1, 4, -5, -6]"],
        "are exchanged": ["claims = [1, 5, -4, 6]"],
        "nearest to nothing": ["claims = [1, 3, 5, 6]"],
        "lost its sign": ["claims = [1, 4, 5, 6]"],
        "has the usual rate too": ["claims = [1, -4, 5, 3]"],
        "8 at [3] is too large": ["claims = [1, -4, 5, 8]"],
        "the shape (4,) is wanted": ["claims = [1, -4, 5]"],
    },
    "restarting_positions": {
        "you count columns": [positions("found[b, t] = t - p if t >= p else t")],
        "behind pads it begins later": [positions("found[b, t] = t - p if t >= p else n")],
        "taken off from column p": [positions("found[b, t] = n - p if t >= p else n")],
        "nothing begins anew": [positions("found[b, t] = n")],
        "counts below 0": [positions("found[b, t] = n - p")],
        "stands at 0": [positions("found[b, t] = max(n - p, 0)")],
        "a token late": [positions("found[b, t] = n - p - 1 if n > p else n")],
        "a token early": [positions("found[b, t] = n - p + 1 if n >= p - 1 else n")],
        "both parts count from 1": [positions("found[b, t] = n - p + 1 if n >= p else n + 1")],
        "the target counts from 1": [positions("found[b, t] = n - p + 1 if n >= p else n")],
        "pads have positions": [
            """
def restarting_positions(valid, prefix_len):
    place = valid.cumsum(1) - 1
    return place - (place >= prefix_len[:, None]) * prefix_len[:, None]
"""
        ],
        "where the first one does": [positions(row="0")],
        "right for": [positions("found[b, t] = n - p if n >= p > 0 else 0 if n >= p else n")],
        "the shape (1, 6) is wanted": [
            "def restarting_positions(valid, prefix_len): return valid.cumsum(1)[:, 1:]"
        ],
        "nameerror": [positions("found[b, t] = n - q")],
        "changes its input": [positions("valid[b, t] = False; found[b, t] = n")],
    },
    "paired_gap": {
        "still paired in the order": [gap(gaps=ZIPPED)],
        "doesn't shrink": [gap(returned="mean(gaps), stdev(gaps)")],
        "with a neighbour's seed": [gap(gaps=SORTED)],
        "still that of a single gap": [gap(gaps=SORTED, returned="mean(gaps), stdev(gaps)")],
        "as one without an error": [
            gap("causal | prefix", "[causal.get(seed, 0) - prefix.get(seed, 0) for seed in both]")
        ],
        "what `compare` says": [
            "def paired_gap(causal, prefix):\n    d = compare([*causal.values()], [*prefix.values()])\n    return d.mean, d.error\n",
        ],
        "forgot who it was": [
            gap(
                returned="mean(gaps), hypot(*(stdev([side[s] for s in both]) / sqrt(n) for side in (causal, prefix)))"
            )
        ],
        "the gap counts runs without": [
            gap(returned="mean(causal.values()) - mean(prefix.values()), stdev(gaps) / sqrt(n)")
        ],
        "not by its square root": [gap(returned="mean(gaps), stdev(gaps) / n")],
        "divided by n, and": [gap(returned="mean(gaps), pstdev(gaps) / sqrt(n)")],
        "the gap is turned round": [gap(returned="-mean(gaps), stdev(gaps) / sqrt(n)")],
        "the bound for `clear`": [gap(returned="mean(gaps), 2 * stdev(gaps) / sqrt(n)")],
        "right for 3 of 6": [gap("causal")],
        "the shape (2,) is wanted": [gap(returned="mean(gaps)")],
        "yours is none": [gap(returned="None")],
        "changes its input": [gap("[s for s in [*causal] if s in prefix or causal.pop(s) < 0]")],
    },
}

UNTOUCHED = {"paired_gap": [gap(gaps=ZIPPED, returned="mean(gaps), stdev(gaps)")]}
