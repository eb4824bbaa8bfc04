"""Answers to the exercises of chapter 8: right ones in several forms, wrong ones by what they are told."""

MARKS = "PAD, END, MASK, SOS, PRE, MID, SUF = range(7)\n"
SEEING = """
words = "a prefix model reads what is given both ways and writes the rest".split()
marks = "<pad> <end> [MASK] [SOS] <pre> <mid> <suf>".split()
symbols = Vocabulary([*marks, *words, *(f"<extra_{{i}}>" for i in range(6, -1, -1))])
fim_ids = FimIds(pad=0, end=1, prefix=4, middle=5, suffix=6)
seeing = ObjectiveExplorer(
    {{
        "causal LM": causal_lm,
        "prefix LM": prefix_lm,
        "span corruption": lambda rows, *, rate, mean_span, seed: span_corruption(
            rows, vocab_size=len(symbols), end_id=1, rate=rate, mean_span=mean_span, seed=seed
        ),
        "fill-in-the-middle": lambda rows, *, seed: fill_in_the_middle(rows, fim_ids, seed=seed, rate=1.0),
    }},
    words,
    symbols,
    objective="prefix LM",
    noise_after=["<mid>"],
)
seeing.objective, seeing.draw = {}
"""

RIGHT = {
    "rows_that_answer": ["rows = [4, 5, 9, 10]", "rows = torch.tensor([4.0, 5, 9, 10])"],
    "suffix_first": [
        'drawn = "#...## ##..## ###.## ###### ....#. ....##".replace(" ", "\\n")',
        """
order = [4, 5, 0, 1, 2, 3]
drawn = [[order.index(k) <= order.index(q) for k in range(6)] for q in range(6)]
""",
    ],
    "fill_holes": [
        MARKS
        + """
def fill_holes(prefix, answer, sentinels):
    answer = answer[: answer.index(END)] if END in answer else answer
    starts = [i for i, token in enumerate(answer) if token in sentinels] + [len(answer)]
    spans = {answer[a]: answer[a + 1 : b] for a, b in zip(starts, starts[1:])}
    text = []
    for token in prefix:
        if token != END:
            text += spans.get(token, [token])
    return text
""",
        MARKS
        + """
def fill_holes(prefix, answer, sentinels):
    text = torch.tensor(prefix[:-1])
    for hole in sentinels:
        if hole in answer and hole in prefix:
            start = stop = answer.index(hole) + 1
            while stop < len(answer) and answer[stop] not in sentinels and answer[stop] != END:
                stop += 1
            (at,) = (text == hole).nonzero().flatten().tolist()
            text = torch.cat([text[:at], torch.tensor(answer[start:stop], dtype=torch.long), text[at + 1 :]])
    return text
""",
    ],
    "fim_row": [
        MARKS
        + """
def fim_row(before, middle, after, longest):
    before, after = list(before), list(after)
    while len(before) + len(middle) + len(after) + 4 > longest:
        if after:
            after.pop()
        else:
            before.pop(0)
    return [PRE, *before, SUF, *after, MID, *middle, END]
""",
        MARKS
        + """
def fim_row(before, middle, after, longest):
    row = [PRE] + before + [SUF] + after + [MID] + middle + [END]
    over = max(len(row) - longest, 0)
    from_suffix = min(over, len(after))
    end = len(before) + len(after) + 2
    row = row[: end - from_suffix] + row[end:]
    return torch.tensor(row[:1] + row[1 + over - from_suffix :])
""",
    ],
    "both_sides": [SEEING.format(f"'fill-in-the-middle', {draw}") for draw in (4, 5)],
}

HOLES = (
    MARKS
    + """
def fill_holes(prefix, answer, sentinels):
    cut = answer[: answer.index(END)] if END in answer else answer
    spans = {{}}
    for token in {cut}:
        if token in sentinels:
            spans[token] = []
        else:
            spans[list(spans)[-1]].append(token)
    {then}
    text = []
    for token in prefix[:-1]:
        {each}
    return {text}
"""
)


def holes(
    cut: str = "cut", then: str = "", each: str = "text += spans.get(token, [token])", text: str = "text"
) -> str:
    return HOLES.format(cut=cut, then=then, each=each, text=text)


ROWS = (
    MARKS
    + """
def fim_row(before, middle, after, longest):
    over = max(len(before) + len(middle) + len(after) + 4 - longest, 0)
    from_suffix = min(over, len(after))
    from_prefix = over - from_suffix
    shorter = after[: len(after) - from_suffix]
    {}
"""
)

WRONG = {
    "rows_that_answer": {
        "the row before answers": ["rows = [5, 5, 10, 11]"],
        "shifted the cloze": ["rows = [4, 4, 9, 10]"],
        "the wrong way": ["rows = [6, 5, 11, 12]"],
        "a mark is missing in c": ["rows = [4, 5, 8, 10]"],
        "the target's own sentinels are missing": ["rows = [4, 5, 7, 10]"],
        "every word got a sentinel": ["rows = [4, 5, 12, 10]"],
        "still stands where it stood": ["rows = [4, 5, 9, 5]"],
        "the three marks are missing": ["rows = [4, 5, 9, 7]"],
        "the places of the sentence": ["rows = [4, 5, 4, 4]"],
        "3 at [0] is too small": ["rows = [3, 5, 9, 10]"],
        "the shape (4,) is wanted": ["rows = [4, 5]"],
    },
    "suffix_first": {
        "this is psm": ["drawn = '#.....\\n##....\\n###.##\\n######\\n##..#.\\n##..##'"],
        "causal mask of the sentence": ["drawn = torch.ones(6, 6).tril()"],
        "rows and columns are exchanged": ["drawn = '####..\\n.###..\\n..##..\\n...#..\\n######\\n####.#'"],
        "marked what is hidden": ["drawn = '.###..\\n..##..\\n...#..\\n......\\n####.#\\n####..'"],
        "open in yours, as under a prefix mask": [
            "drawn = '##..##\\n##..##\\n###.##\\n######\\n##..##\\n##..##'"
        ],
        "the suffix looks back": ["drawn = '#...##\\n##..##\\n###.##\\n######\\n#####.\\n######'"],
        "doesn't see itself": ["drawn = '....##\\n#...##\\n##..##\\n###.##\\n......\\n....#.'"],
        "everything is open": ["drawn = torch.ones(6, 6)"],
        "row 0 doesn't see column 5": ["drawn = '#...#.\\n##..##\\n###.##\\n######\\n....#.\\n....##'"],
    },
    "fill_holes": {
        "nothing was filled in": [holes(each="text.append(token)"), holes(text="prefix[:-1]")],
        "the span that comes next": [
            holes(
                then="left = list(spans.values())",
                each="text += left.pop(0) if token in sentinels and left else [token]",
            )
        ],
        "still stand in the text": [holes(each="text += [token] + spans.get(token, [])")],
        "the end of the prefix": [
            holes(text="text + [END]"),
            MARKS
            + """
def fill_holes(prefix, answer, sentinels):
    spans = {}
    for token in answer:
        if token == END:
            break
        if token in sentinels:
            last = token
        spans.setdefault(last, []).append(token)
    return sum((spans.get(token, [token, token])[1:] for token in prefix), [])
""",
        ],
        "read past its end": [holes(cut="answer")],
        "only the first token": [holes(each="text += spans.get(token, [token])[:1]")],
        "last span is lost": [holes(then="del spans[list(spans)[-1]]")],
        "in front of its sentinel": [
            holes(
                then="names = list(spans); spans = dict(zip(names, [[]] + [spans[name] for name in names]))"
            )
        ],
        "has vanished": [holes(each="text += spans.get(token, []) if token in sentinels else [token]")],
        "at the end of the text": [
            holes(
                each="text += [] if token in sentinels else [token]",
                text="text + [token for span in spans.values() for token in span]",
            )
        ],
        "whole numbers are wanted": [holes(text="[0.5]")],
        "one value after the other": [holes(text="'text'"), holes(text="[text, text]")],
        "changes its input": [holes(then="prefix.pop(0)")],
        "right for": [holes(each="text += spans.get(token, [token])[::-1]")],
    },
    "fim_row": {
        "cut at its left": [ROWS.format("return [PRE, *before, SUF, *after, MID, *middle, END][-longest:]")],
        "the suffix loses its first": [
            ROWS.format("return [PRE, *before[from_prefix:], SUF, *after[from_suffix:], MID, *middle, END]")
        ],
        "the prefix loses its last": [
            ROWS.format(
                "return [PRE, *before[: len(before) - from_prefix], SUF, *shorter, MID, *middle, END]"
            )
        ],
        "the prefix is shortened before": [
            MARKS
            + """
def fim_row(before, middle, after, longest):
    before, after = before[:], after[:]
    while len(before + middle + after) + 4 > longest:
        if before:
            before = before[1:]
        else:
            after = after[:-1]
    return [PRE, *before, SUF, *after, MID, *middle, END]
"""
        ],
        "never learns to stop": [
            MARKS
            + """
def fim_row(before, middle, after, longest):
    over = max(3 + len(before + middle + after) - longest, 0)
    keep = max(len(after) - over, 0)
    before = before[over - (len(after) - keep) :]
    return [PRE, *before, SUF, *after[:keep], MID, *middle, END][:longest]
"""
        ],
        "the row is too long": [
            MARKS
            + """
def fim_row(before, middle, after, longest):
    over = max(len(before + middle + after) - longest, 0)
    keep = max(len(after) - over, 0)
    before = before[over - (len(after) - keep) :]
    return [PRE, *before, SUF, *after[:keep], MID, *middle, END]
"""
        ],
        "still takes the middle": [
            MARKS
            + """
def fim_row(before, middle, after, longest):
    while len(before + middle + after) > longest:
        before, after = (before, after[:-1]) if after else (before[1:], [])
    return [PRE, *before, SUF, *after, MID, *middle, END][:longest]
"""
        ],
        "too long by one": [
            MARKS
            + """
def fim_row(before, middle, after, longest):
    while len(before + middle + after) + 3 > longest:
        before, after = (before, after[:-1]) if after else (before[1:], [])
    return [PRE, *before, SUF, *after, MID, *middle, END]
"""
        ],
        "one token less": [
            MARKS
            + """
def fim_row(before, middle, after, longest):
    while (before or after) and len(before + middle + after) + 4 >= longest:
        before, after = (before, after[:-1]) if after else (before[1:], [])
    return [PRE, *before, SUF, *after, MID, *middle, END]
"""
        ],
        "[:-0] is empty": [
            ROWS.format("return [PRE, *before[from_prefix:], SUF, *after[:-over], MID, *middle, END]")
        ],
        "loses its whole suffix": [
            ROWS.format(
                "return [PRE, *before[from_prefix:], SUF, *([] if over else after), MID, *middle, END]"
            )
        ],
        "the row stays too long": [ROWS.format("return [PRE, *before, SUF, *shorter, MID, *middle, END]")],
        "the middle goes next": [
            ROWS.format("return [PRE, *before, SUF, *shorter, MID, *middle, END][:longest]")
        ],
        "have changed places": [
            ROWS.format("return [PRE, SUF, *shorter, MID, *before[from_prefix:], *middle, END]")
        ],
        "changes its input": [ROWS.format("middle.pop(0)\n    return before")],
        "does it end in `return`": [ROWS.format("row = [PRE]")],
    },
    "both_sides": {
        "the mask isn't causal": [
            SEEING.format("'prefix LM', 3"),
            SEEING.format("'span corruption', 1"),
        ],
        "stand as in the sentence": [
            SEEING.format("'causal LM', 0"),
            SEEING.format("'fill-in-the-middle', 1"),
        ],
        "something was moved": [SEEING.format(f"'fill-in-the-middle', {draw}") for draw in (0, 7)],
        "an objectiveexplorer is wanted": ["seeing = SplitExplorer(['a', 'b'], prefix_len=0)"],
    },
}

UNTOUCHED = {
    "fim_row": [ROWS.format("return [PRE, *before, SUF, *after, MID, *middle, END][:longest]")],
    "both_sides": [SEEING.format("'prefix LM', 0")],
}
