"""Answers to the exercises of chapter 9: right ones in several forms, wrong ones by what they are told."""

EXTREME = """
words = (
    "a prefix is read both ways at once while every target word looks back only "
    "so you may show the whole question first and then let it answer"
).split()
symbols = Vocabulary(["<pad>", "<end>", "[NLU]", "[S2S]", "[NLG]", *words, *(f"<x{{i}}>" for i in range(19, -1, -1))])


def make(rows, denoisers, seed):
    ids = {{"R": 2, "S": 3, "X": 4}}
    return mix_denoisers(rows, denoisers, seed=seed, vocab_size=len(symbols), end_id=1, mode_ids=ids)


def r_or_x(rows, *, rate, mean_span, seed):
    return make(rows, [Denoiser("X" if rate >= 0.3 or mean_span >= 12 else "R", rate, mean_span)], seed)


extreme = ObjectiveExplorer(
    {{"R or X": r_or_x, "S of the table": lambda rows, *, seed: make(rows, UL2_TABLE[6:], seed)}},
    words,
    symbols,
    rates=(0.15, 0.3, 0.5),
    mean_spans=(3, 8, 12, 64),
    draws=4,
)
extreme.rate, extreme.mean_span = {}
"""

RIGHT = {
    "whose_sentinel": [
        'modes = ["[NLU]", "[NLG]"]',
        'modes = {"[nlg]", "[NLU]"}',
        'modes = ("[NLG]", "[NLU]")',
    ],
    "second_hole": ["length = 31", "length = torch.tensor(31.0)"],
    "draw_shares": [
        """
def draw_shares(labels, wanted):
    often = torch.tensor(wanted, dtype=torch.float64) / torch.tensor(labels)
    return often / often.sum()
""",
        """
def draw_shares(labels, wanted):
    product = math.prod(labels)
    parts = [share * product // count for share, count in zip(wanted, labels)]
    return [part / sum(parts) for part in parts]
""",
        """
import numpy as np

def draw_shares(labels, wanted):
    often = np.divide(wanted, labels)
    return (often / often.sum()).astype(np.float32)[None]
""",
    ],
    "with_holes": [
        """
def with_holes(row, spans, symbols):
    ids = Vocabulary(symbols).ids
    made = list(row)
    for i in reversed(range(len(spans))):
        start, stop = spans[i]
        made[start:stop] = [ids[f"<x{i}>"]]
    return made
""",
        """
def with_holes(row, spans, symbols):
    hole = {start: (i, stop) for i, (start, stop) in enumerate(spans)}
    made, at = [], 0
    while at < len(row):
        if at in hole:
            number, at = hole[at]
            made.append(symbols.index("<x" + str(number) + ">"))
        else:
            made.append(row[at])
            at += 1
    return torch.tensor(made)
""",
    ],
    "by_rate_alone": [EXTREME.format("0.3, 8"), EXTREME.format("0.3, 8\nextreme.draw = 2")],
}

SHARES = """
def draw_shares(labels, wanted):
    n, w = torch.tensor(labels).double(), torch.tensor(wanted).double()
    {}
"""
CUT = """
def with_holes(row, spans, symbols):
    {}
    made, at = [], 0
    for (start, stop), sentinel in zip(spans, sentinels):
        made += [*row[at:start], sentinel]
        at = stop
    return [*made, *row[at:]]
"""
BY_NAME = "sentinels = [symbols.index(f'<x{i}>') for i in range(len(spans))]"

WRONG = {
    "whose_sentinel": {
        "r fills holes": ['modes = "[NLU]"'],
        "x fills holes": ['modes = ["[NLG]"]'],
        "this one announces s": ['modes = ["[S2S]"]'],
        "one of the three": ['modes = ["[NLU]", "[S2S]", "[NLG]"]'],
        "r belongs there": ['modes = ["[NLU]", "[S2S]"]'],
        "x belongs there": ['modes = ["[NLG]", "[S2S]"]'],
        "is none of the words": ['modes = ["R", "X"]'],
        "one of the words is wanted": ["modes = 2"],
    },
    "second_hole": {
        "4.5 is a tie": ["length = 30"],
        "a sixth token": ["length = 37"],
        "rounded neither": ["length = 40"],
        "rounded the number of tokens down": ["length = 34"],
        "rounded the number of tokens up": ["length = 27"],
        "rounded the number of spans up": ["length = 24"],
        "one span, and no more": ["length = 17"],
        "29 is too small": ["length = 29"],
        "512 is too large": ["length = 512"],
    },
    "draw_shares": {
        "as many labels as the others": [
            SHARES.format("return w / w.sum()"),
            "def draw_shares(labels, wanted):\n    return [share / sum(wanted) for share in wanted]",
        ],
        "drawn equally often in yours": [
            "def draw_shares(labels, wanted):\n    return [1 / len(labels)] * len(labels)"
        ],
        "you multiply by the labels": [SHARES.format("return w * n / (w @ n)")],
        "which share of the labels each has": [SHARES.format("return n / n.sum()")],
        "you don't use `wanted`": [SHARES.format("return n.reciprocal() / n.reciprocal().sum()")],
        "you don't divide by the sum": [SHARES.format("return w / n")],
        "the quotients have to": [SHARES.format("return w / w.sum() / n")],
        "a softmax": [SHARES.format("return torch.softmax(w / n, -1)")],
        "divide by the largest": [SHARES.format("return (w / n) / max(w / n)")],
        "upside down": [SHARES.format("return (n / w) / (n / w).sum()")],
        "the shape (2,) is wanted": [SHARES.format("return w @ n")],
        "a tensor is wanted": [SHARES.format("return dict(zip(labels, wanted))")],
        "changes its input": [SHARES.format("labels.sort(); return w")],
    },
    "with_holes": {
        "from below the three modes": [
            CUT.format("sentinels = [len(symbols) - 4 - i for i in range(len(spans))]")
        ],
        "you count down": [
            CUT.format("sentinels = [symbols.index('<x0>') - i for i in range(len(spans))]"),
        ],
        "you count up": [CUT.format("sentinels = [symbols.index('<x0>') + i for i in range(len(spans))]")],
        "sorted as text": [
            CUT.format("sentinels = [symbols.index(s) for s in sorted(symbols) if s.startswith('<x')]")
        ],
        "from the lowest id": [
            CUT.format("sentinels = [i for i, s in enumerate(symbols) if s.startswith('<x')]")
        ],
        "from the highest id": [
            CUT.format("sentinels = [i for i, s in enumerate(symbols) if s.startswith('<x')][::-1]")
        ],
        "counted from 0": [CUT.format(BY_NAME.replace("range(", "range(1, 1 + "))],
        "the same sentinel": [CUT.format("sentinels = [symbols.index('<x0>')] * len(spans)")],
        "one token more": [CUT.format(BY_NAME).replace("at = stop", "at = stop + 1")],
        "for each of its tokens": [CUT.format(BY_NAME).replace("sentinel]", "*[sentinel] * (stop - start)]")],
        "no sentinel at all": [CUT.format(BY_NAME).replace(", sentinel]", "]")],
        "changes its input": [
            """
def with_holes(row, spans, symbols):
    for i in reversed(range(len(spans))):
        row[slice(*spans[i])] = [symbols.index(f"<x{i}>")]
    return row
"""
        ],
        "one value after the other": [CUT.format(BY_NAME).replace("return [", "return [symbols, ")],
    },
    "by_rate_alone": {
        "s has no holes": [EXTREME.format("0.3, 8\nextreme.objective = 'S of the table'")],
        "the spans you ask for are long": [EXTREME.format("0.15, 12"), EXTREME.format("0.3, 64")],
        "not extreme at all": [EXTREME.format("0.15, 8")],
        "more than one hole": [EXTREME.format("0.5, 8"), EXTREME.format("0.3, 3")],
        "an objectiveexplorer is wanted": ["extreme = None or 3"],
    },
}

UNTOUCHED = {
    "with_holes": [CUT.format("sentinels = [len(symbols) - 1 - i for i in range(len(spans))]")],
    "by_rate_alone": [EXTREME.format("0.15, 3")],
}
