"""Answers to the exercises of chapter 1: right ones in several forms, wrong ones by what they are told."""

RIGHT = {
    "target_pairs": ["pairs = 63", "pairs = sum(range(6, 13))", "pairs = torch.tensor(63)", "pairs = 63.0"],
    "two_pieces_by_hand": [
        'drawn = ["##....", "##....", "####..", "####..", "#####.", "######"]',
        'drawn = "##.... ##.... ####.. ####.. #####. ######".replace(" ", "\\n")',
        """
drawn = [
    [1, 1, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 0],
    [1, 1, 1, 1, 0, 0],
    [1, 1, 1, 1, 0, 0],
    [1, 1, 1, 1, 1, 0],
    [1, 1, 1, 1, 1, 1],
]
""",
        """
drawn = torch.ones(6, 6).tril()
drawn[:2, :2] = drawn[2:4, 2:4] = 1
""",
    ],
    "pieces_mask": [
        """
def pieces_mask(lengths):
    T = sum(lengths)
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    start = 0
    for length in lengths[:-1]:
        mask[start : start + length, start : start + length] = True
        start += length
    return mask
""",
        """
def pieces_mask(lengths):
    ends = [sum(lengths[: i + 1]) for i in range(len(lengths)) for _ in range(lengths[i])]
    T = len(ends)
    return [[k <= q or (k < ends[q] and ends[q] < T) for k in range(T)] for q in range(T)]
""",
        """
def pieces_mask(lengths):  # to be added to scores
    T, start = sum(lengths), 0
    mask = torch.full((T, T), float("-inf")).triu(1)
    for length in lengths[:-1]:
        mask[start : start + length, start : start + length] = 0.0
        start += length
    return mask
""",
        """
import numpy as np

def pieces_mask(lengths):
    piece = np.repeat(np.arange(len(lengths)), lengths)
    target = piece == len(lengths) - 1
    place = np.arange(len(piece))
    return np.where(target[None, :], place <= place[:, None], piece <= piece[:, None]).astype(np.uint8)
""",
    ],
    "pictures_mask": [
        """
def pictures_mask(is_image):
    T = len(is_image)
    number, last = [], 0
    for t in range(T):
        if is_image[t] and (t == 0 or not is_image[t - 1]):
            last += 1
        number.append(last if is_image[t] else -t - 1)
    number = torch.tensor(number)
    return torch.ones(T, T).tril().bool() | (number == number[:, None])
""",
        """
def pictures_mask(is_image):
    place = torch.arange(len(is_image))
    text_before = (~is_image).cumsum(0)
    same = is_image & is_image[:, None] & (text_before == text_before[:, None])
    return (place <= place[:, None]) | same
""",
        """
def pictures_mask(is_image):
    mask = torch.ones(len(is_image), len(is_image), dtype=torch.int64).tril()
    for q in range(len(is_image)):
        k = q
        while is_image[q] and k < len(is_image) and is_image[k]:
            mask[q, k] = 1
            k += 1
    return mask
""",
    ],
    "three_quarters": ["split = SplitExplorer(list('abcdefghi'), prefix_len=7)"],
}

PIECES = """
def pieces_mask(lengths):
    piece = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    place = torch.arange(len(piece))
    target = (piece == len(lengths) - 1)
    causal = place <= place[:, None]
    {}
"""
PICTURES = """
def pictures_mask(is_image):
    T = len(is_image)
    causal = torch.tril(torch.ones(T, T, dtype=torch.bool))
    begins = torch.tensor([bool(is_image[t]) and (t == 0 or not is_image[t - 1]) for t in range(T)])
    number = begins.cumsum(0)
    same = is_image & is_image[:, None] & (number == number[:, None])
    {}
"""

WRONG = {
    "target_pairs": {
        "all visible pairs": ["pairs = 88"],
        "target with target": ["pairs = 28"],
        "prefix columns only": ["pairs = 35"],
        "every column": ["pairs = 84"],
        "began a row early": ["pairs = 68"],
        "began a row late": ["pairs = 57"],
        "sees itself too": ["pairs = 56"],
        "what the prefix rows see": ["pairs = 25"],
        "the whole causal mask": ["pairs = 78"],
        "what the prefix opens": ["pairs = 10"],
        "don't all see each other": ["pairs = 49"],
        "61 is too small": ["pairs = 61"],
        "144 is too large": ["pairs = 144"],
        "a number is wanted": ["pairs = 'sixty-three'"],
    },
    "two_pieces_by_hand": {
        "rows and columns are exchanged": ["drawn = '######\\n######\\n..####\\n..####\\n....##\\n.....#'"],
        "True and False are exchanged": ["drawn = '..####\\n..####\\n....##\\n....##\\n.....#\\n......'"],
        "everything is open": ["drawn = torch.ones(6, 6)"],
        "causal mask": ["drawn = torch.ones(6, 6).tril()"],
        "only itself": ["drawn = '##....\\n##....\\n..##..\\n..##..\\n....#.\\n....##'"],
        "one prefix": ["drawn = '####..\\n####..\\n####..\\n####..\\n#####.\\n######'"],
        "the target is open": ["drawn = '##....\\n##....\\n####..\\n####..\\n######\\n######'"],
        "doesn't see itself": ["drawn = '##....\\n##....\\n####..\\n####..\\n####..\\n#####.'"],
        "different lengths": ["drawn = '##\\n###'"],
        "holds 'a'": ["drawn = 'ab\\ncd'"],
        "the shape (6, 6)": ["drawn = torch.ones(5, 6)"],
    },
    "pieces_mask": {
        "rows and columns are exchanged": [
            PIECES.format("return (causal | (~target & (piece <= piece[:, None]))).T"),
            PIECES.format("return torch.where(target[:, None], causal.T, piece >= piece[:, None])"),
        ],
        "True and False are exchanged": [
            PIECES.format("return ~(causal | (~target & (piece <= piece[:, None])))"),
            PIECES.format("return torch.where(target, place > place[:, None], piece > piece[:, None])"),
        ],
        "everything is open": [
            PIECES.format("return torch.zeros(len(piece), len(piece))")
        ],  # added to scores
        "causal mask": [PIECES.format("return causal.float()")],
        "only itself": [
            PIECES.format("return torch.where(target, causal & target[:, None], piece == piece[:, None])")
        ],
        "one prefix": [PIECES.format("return causal | (place < sum(lengths[:-1]))")],
        "the target is open": [
            PIECES.format("return piece <= piece[:, None]"),
            PIECES.format("return torch.where(piece > piece[:, None], float('-inf'), 0.0)"),
        ],
        "doesn't see itself": [
            PIECES.format("return torch.where(target, causal.tril(-1), piece <= piece[:, None])")
        ],
        "IndexError": [PIECES.format("return causal[place + 1]")],
        "changes its input": [PIECES.format("lengths.pop()\n    return causal")],
        "does it end in `return`": [PIECES.format("mask = causal")],
        "the shape (7, 7) is wanted": [PIECES.format("return causal[1:]")],
        "yours holds 2": [PIECES.format("return causal.long() * 2")],
        "right for": [PIECES.format("return causal | (~target & (piece == piece[:, None]) & (piece > 0))")],
        "come to an end": ["def pieces_mask(lengths):\n    while True:\n        pass"],
    },
    "pictures_mask": {
        "causal mask": [PICTURES.format("return causal")],
        "rows and columns are exchanged": [PICTURES.format("return (causal | same).T")],
        "True and False are exchanged": [PICTURES.format("return ~(causal | same)")],
        "every token sees every picture": [PICTURES.format("return causal | is_image")],
        "runs of text are opened": [
            PICTURES.format(
                "run = torch.tensor([0] + [int(a != b) for a, b in zip(is_image[1:], is_image)]).cumsum(0)\n"
                "    return causal | (run == run[:, None])"
            )
        ],
        "the text after a picture": [
            PICTURES.format("return causal | ((number == number[:, None]) & (number > 0))")
        ],
        "all up to the last picture": [
            PICTURES.format(
                "last = max([t for t in range(T) if is_image[t]], default=-1)\n"
                "    return causal | (torch.arange(T) <= last)"
            )
        ],
        "sees itself only": [PICTURES.format("return torch.where(is_image[:, None], same, causal)")],
        "stays visible": [PICTURES.format("return (causal & ~(is_image & is_image[:, None])) | same")],
        "everything is open": [PICTURES.format("return causal | True")],
    },
    "three_quarters": {
        "fewer than three quarters": ["split = SplitExplorer(list('abcdefghi'), prefix_len=6)"],
        "a smaller p would do": ["split = SplitExplorer(list('abcdefghi'), prefix_len=8)"],
        "a SplitExplorer is wanted": ["split = 7"],
    },
}

UNTOUCHED = {
    "pictures_mask": [PICTURES.format("return causal | (is_image & is_image[:, None])")],
    "three_quarters": ["split = SplitExplorer(list('abcdefghi'), prefix_len=0)"],
}
