"""The ways in which an argument of each sort can be wrong, and what the message must then say.

The right values here, by which the wrong ones are made: B = 2 examples of T = 5 tokens, the second padded on
the left by two; H = 2 heads; width D = 8; vocabulary V = 7; a model with 6 positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from prefixlm_teach import create_prefix_lm_mask, to_additive

B, H, T, D, V = 2, 2, 5, 8, 7


@dataclass(frozen=True)
class Wrong:
    """A wrong value, what is wrong with it, and what the message must say."""

    kind: str
    value: Any
    says: str


class Watch(TorchFunctionMode):
    """Remembers the names of the torch functions that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.called: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.called.add(func.__name__)
        return func(*args, **(kwargs or {}))


def count(minimum: int) -> list[Wrong]:
    whole = "must be a whole number"
    return [
        Wrong("bool", True, whole),
        Wrong("float", 2.0, whole),
        Wrong("numpy float", np.float64(2), whole),
        Wrong("numpy bool", np.True_, whole),
        Wrong("None", None, whole),
        Wrong("text", "3", whole),
        Wrong("list", [3], whole),
        Wrong("numpy array", np.array([3]), whole),
        Wrong("tensor", torch.tensor(3), whole),
        Wrong("too small", minimum - 1, f"must be at least {minimum}"),
        Wrong("negative", -7, f"must be at least {minimum}"),
    ]


def number(range_says: str, *outside: float) -> list[Wrong]:
    not_numbers = [
        Wrong(str(x), x, "must be a number") for x in (True, None, "0.1", [0.1], torch.tensor(0.1))
    ]
    return not_numbers + [Wrong(str(x), x, range_says) for x in outside]


PREFIX_LEN = [
    Wrong("bool", True, "must be a whole number"),
    Wrong("float", 2.0, "must be a whole number"),
    Wrong("text", "2", "must be a whole number"),
    Wrong("list", [2, 2], r"use torch.tensor\(\[2, 2\]\)"),
    Wrong("tuple", (2, 2), r"use torch.tensor\(\[2, 2\]\)"),
    Wrong("numpy array", np.array([2, 2]), "must be a whole number"),
    Wrong("float tensor", torch.tensor([2.0, 2.0]), "must be an integer tensor"),
    Wrong("bool tensor", torch.tensor([True, True]), "must be an integer tensor"),
    Wrong("complex tensor", torch.tensor([2j, 2j]), "must be an integer tensor"),
    Wrong("uint16 tensor", torch.tensor([2, 2], dtype=torch.uint16), "must be an integer tensor"),
    Wrong("meta", torch.tensor([2, 2], device="meta"), "meta"),
    Wrong("0-d meta", torch.tensor(2, device="meta"), "meta"),
    Wrong("two dimensions", torch.tensor([[2], [2]]), r"one number per example, shape \(B,\), not \(2, 1\)"),
    Wrong("three for two", torch.tensor([2, 2, 2]), "is for 3 examples, but there are 2"),
    Wrong("one for two", torch.tensor([2]), "is for 1 examples, but there are 2"),
    Wrong("empty", torch.tensor([], dtype=torch.int64), "is empty"),
    Wrong("negative", -1, "must be at least 0, not -1"),
    Wrong("one negative", torch.tensor([2, -3]), "must be at least 0, not -3"),
    Wrong("too long", T + 1, r"6 is longer than the sequence \(5 tokens\)"),
    Wrong("far too long", 2**70, "is longer than the sequence"),
    Wrong("one longer than real", torch.tensor([5, 4]), r"4 is longer than example 1 \(3 real tokens\)"),
    Wrong("all longer than real", 4, r"4 is longer than example 1 \(3 real tokens\)"),
]
NO_PREFIX_LEN = [Wrong("None", None, "must be a whole number")]
NO_SPLIT = [Wrong("None", None, r"pass prefix_len \(0 for a causal model\), or a mask")]

REAL = torch.tensor([[True] * 5, [False, False, True, True, True]])
VALID = [
    Wrong("bool", True, "must be a .* tensor of booleans"),
    Wrong("list", REAL.tolist(), "must be a .* tensor of booleans"),
    Wrong("numpy array", REAL.numpy(), "must be a .* tensor of booleans"),
    Wrong("float", REAL.float(), r"must be boolean .* use valid.bool\(\)"),
    Wrong("int", REAL.long(), r"must be boolean .* use valid.bool\(\)"),
    Wrong("one dimension", REAL[0], r"must be \(B, T\), not \(5,\)"),
    Wrong("three dimensions", REAL[None], r"must be \(B, T\), not \(1, 2, 5\)"),
    Wrong("too short", REAL[:, 1:], "is for 4 tokens, but there are 5"),
    Wrong("a hole", REAL & torch.tensor([True, True, True, False, True]), "has a hole in example 0"),
    Wrong("meta", REAL.to("meta"), "meta"),
]
VALID_OF_BATCH = [Wrong("too few", REAL[:1], "is for 1 examples, but there are 2")]
NO_EXAMPLES = [Wrong("no examples", REAL[:0], "valid is empty")]

MASK = create_prefix_lm_mask(T, 2)
LONE_MASK = [
    Wrong("None", None, "must be a tensor of booleans"),
    Wrong("list", MASK.tolist(), "must be a tensor of booleans"),
    Wrong("numpy array", MASK.numpy(), "must be a tensor of booleans"),
    Wrong("0/1 floats", MASK.float(), "0/1 float mask would be added to the scores and hide nothing"),
    Wrong("0/-inf", to_additive(MASK), "mask == 0 for one made of 0 and -inf"),
    Wrong("ints", MASK.long(), "must be boolean"),
    Wrong("one dimension", MASK[0], r"must be \(T, T\) or \(B, 1, T, T\), not \(5,\)"),
    Wrong("(B, T, T)", MASK.expand(B, T, T), r"use mask\[:, None\]"),
    Wrong("a mask per head", MASK.expand(B, H, T, T), r"must be \(T, T\) or \(B, 1, T, T\)"),
    Wrong("empty", MASK[:0, :0], "is empty"),
]
META_MASK = [Wrong("meta", MASK.to("meta"), "meta")]
FITTED_MASK = [
    *LONE_MASK[1:],
    *META_MASK,
    Wrong("too short", MASK[1:, 1:], r"need \(5, 5\) or \(2, 1, 5, 5\)"),
    Wrong("not square", MASK[1:], r"need \(5, 5\) or \(2, 1, 5, 5\)"),
    Wrong("three for two", MASK.expand(3, 1, T, T), r"need \(5, 5\) or \(2, 1, 5, 5\)"),
]
SCORE_MASK = [
    *LONE_MASK[:6],
    *META_MASK,
    Wrong("one dimension", MASK[0], r"the scores of q and k are \(2, 2, 5, 5\)"),
    Wrong("(B, T, T)", MASK.expand(B, T, T), "one fewer would be taken for one mask per head"),
    Wrong("too short", MASK[1:, 1:], r"give \(5, 5\)"),
    Wrong("one row for all", MASK[:1], r"give \(5, 5\)"),
    Wrong("three for two", MASK.expand(3, 1, T, T), r"the scores of q and k are \(2, 2, 5, 5\)"),
]

TOKENS = torch.tensor([[1, 2, 3, 4, 5], [0, 0, 6, 1, 2]])
UNKNOWN_IDS = [
    Wrong("None", None, "must be a .* tensor of ids"),
    Wrong("list", TOKENS.tolist(), "must be a .* tensor of ids"),
    Wrong("numpy array", TOKENS.numpy(), "must be a .* tensor of ids"),
    Wrong("floats", TOKENS.float(), "must be int64 or int32 ids, not torch.float32"),
    Wrong("bools", TOKENS.bool(), "must be int64 or int32 ids, not torch.bool"),
    Wrong("bytes", TOKENS.to(torch.uint8), "must be int64 or int32 ids, not torch.uint8"),
    Wrong("one dimension", TOKENS[0], r"add the batch dimension, tokens\[None\]"),
    Wrong("three dimensions", TOKENS[None], r"must be \(B, T\), not \(1, 2, 5\)"),
    Wrong("no examples", TOKENS[:0], "is empty"),
    Wrong("no tokens", TOKENS[:, :0], "is empty"),
    Wrong("negative", TOKENS - 1, "holds the id -1, but ids begin at 0: mark padding with valid"),
    Wrong("meta", TOKENS.to("meta"), "meta"),
]
IDS = [*UNKNOWN_IDS, Wrong("beyond the vocabulary", TOKENS + 1, "holds the id 7, but ids go from 0 to 6")]
LONG = torch.ones(B, 7, dtype=torch.int64)
POSITIONS = [
    Wrong("list", [0, 1, 2, 3, 4], "must be a tensor"),
    Wrong("int", 0, "must be a tensor"),
    Wrong("floats", torch.arange(5.0), "must be int64 or int32"),
    Wrong("bools", torch.ones(5, dtype=torch.bool), "must be int64 or int32"),
    Wrong("too few", torch.arange(4), r"give \(5,\) or \(2, 5\)"),
    Wrong("other batch", torch.arange(5).expand(3, 5), r"give \(5,\) or \(2, 5\)"),
    Wrong("negative", torch.arange(5) - 1, "go from -1 to 3, but this model has 0 to 5"),
    Wrong("beyond the model", torch.arange(5) + 2, "go from 2 to 6, but this model has 0 to 5"),
    Wrong("meta", torch.arange(5, device="meta"), "meta"),
]

LOGITS = torch.zeros(B, T, V)
GUESSES = [
    Wrong("None", None, r"must be a \(B, T, V\) tensor"),
    Wrong("list", LOGITS.tolist(), r"must be a \(B, T, V\) tensor"),
    Wrong("numpy array", LOGITS.numpy(), r"must be a \(B, T, V\) tensor"),
    Wrong("ints", LOGITS.long(), "must be floating point"),
    Wrong("two dimensions", LOGITS[0], r"must be \(B, T, V\), not \(5, 7\)"),
    Wrong("four dimensions", LOGITS[None], r"must be \(B, T, V\)"),
    Wrong("shifted by the caller", LOGITS[:, :-1], "pass both unshifted, the loss shifts once inside"),
    Wrong("other batch", LOGITS[:1], r"logits are for \(1, 5\)"),
    Wrong("no vocabulary", LOGITS[..., :0], "are empty"),
    Wrong("meta", LOGITS.to("meta"), "meta"),
]
LABELS = [
    Wrong("None", None, r"must be a \(B, T\) tensor"),
    Wrong("list", TOKENS.tolist(), r"must be a \(B, T\) tensor"),
    Wrong("floats", TOKENS.float(), "must be int64 or int32 ids"),
    Wrong("one dimension", TOKENS[0], r"labels is \(5,\)"),
    Wrong("shifted by the caller", TOKENS[:, 1:], "pass both unshifted, the loss shifts once inside"),
    Wrong("negative", TOKENS - 1, "hold -1, but ids go from 0 to 6 and -100 marks what is not scored"),
    Wrong("beyond the vocabulary", TOKENS + 1, "hold 7, but ids go from 0 to 6"),
    Wrong("meta", TOKENS.to("meta"), "meta"),
]

X = torch.zeros(B, T, D)
HIDDEN = [
    Wrong("None", None, r"must be a \(B, T, d\) tensor"),
    Wrong("list", X.tolist(), r"must be a \(B, T, d\) tensor"),
    Wrong("ids", TOKENS, "must be floating point"),
    Wrong("two dimensions", X[0], r"must be \(B, T, 8\), not \(5, 8\)"),
    Wrong("other width", X[..., 1:], r"must be \(B, T, 8\), not \(2, 5, 7\)"),
    Wrong("no tokens", X[:, :0], "is empty"),
    Wrong("double", X.double(), "is torch.float64, but the layer is torch.float32"),
    Wrong("meta", X.to("meta"), "meta"),
]
MEMORY = torch.zeros(B, 3, D)  # another sequence of S = 3
OTHER_HIDDEN = [
    Wrong("list", MEMORY.tolist(), r"must be a \(B, T, d\) tensor"),
    Wrong("ids", MEMORY.long(), "must be floating point"),
    Wrong("two dimensions", MEMORY[0], r"must be \(B, T, 8\), not \(3, 8\)"),
    Wrong("other width", MEMORY[..., 1:], r"must be \(B, T, 8\), not \(2, 3, 7\)"),
    Wrong("no tokens", MEMORY[:, :0], "is empty"),
    Wrong("other batch", MEMORY[:1], "is for 1 examples, but there are 2"),
    Wrong("double", MEMORY.double(), "is torch.float64, but the layer is torch.float32"),
    Wrong("meta", MEMORY.to("meta"), "meta"),
]
CROSS_MASK = torch.ones(B, 1, T, 3, dtype=torch.bool)
CROSS_MASKS = [
    Wrong("None", None, "must be a tensor of booleans"),
    Wrong("list", CROSS_MASK.tolist(), "must be a tensor of booleans"),
    Wrong("0/1 floats", CROSS_MASK.float(), "0/1 float mask would be added to the scores and hide nothing"),
    Wrong("ints", CROSS_MASK.long(), "must be boolean"),
    Wrong("one dimension", CROSS_MASK[0, 0, 0], r"need \(5, 3\) or \(2, 1, 5, 3\)"),
    Wrong("(B, T, S)", CROSS_MASK[:, 0], r"need \(5, 3\) or \(2, 1, 5, 3\)"),
    Wrong("a mask per head", CROSS_MASK.expand(B, H, T, 3), r"need \(5, 3\) or \(2, 1, 5, 3\)"),
    Wrong("rows and columns exchanged", CROSS_MASK.mT, r"need \(5, 3\) or \(2, 1, 5, 3\)"),
    Wrong("one row for all", CROSS_MASK[:, :, :1], r"need \(5, 3\) or \(2, 1, 5, 3\)"),
    Wrong("three for two", CROSS_MASK[:1].expand(3, 1, T, 3), r"need \(5, 3\) or \(2, 1, 5, 3\)"),
    Wrong("meta", CROSS_MASK.to("meta"), "meta"),
]
Q = torch.zeros(B, H, T, 4)
TURNED = [
    Wrong("None", None, r"must be a \(\.\.\., T, d_head\) tensor"),
    Wrong("list", Q.tolist(), r"must be a \(\.\.\., T, d_head\) tensor"),
    Wrong("ints", Q.long(), "must be floating point"),
    Wrong("one dimension", Q[0, 0, 0], r"must be \(\.\.\., T, d_head\), not \(4,\)"),
    Wrong("empty", Q[:0], "is empty"),
    Wrong("odd", Q[..., 1:], "has vectors of 3 numbers, but rotary positions turn pairs"),
    Wrong("meta", Q.to("meta"), "meta"),
]


def vectors(fits: str) -> list[Wrong]:
    return [
        Wrong("None", None, r"must be a \(\.\.\., T, d_head\) tensor"),
        Wrong("list", Q.tolist(), r"must be a \(\.\.\., T, d_head\) tensor"),
        Wrong("ints", Q.long(), "must be floating point"),
        Wrong("one dimension", Q[0, 0, 0], r"must be \(\.\.\., T, d_head\), not \(4,\)"),
        Wrong("empty", Q[:0], "is empty"),
        Wrong("other batch", Q[:1], fits),
        Wrong("double", Q.double(), "torch.float64"),
        Wrong("meta", Q.to("meta"), "meta"),
    ]


QUERIES = [*vectors("does not fit q"), Wrong("other width", Q[..., 1:], "does not fit q")]
KEYS = [*QUERIES, Wrong("other length", Q[:, :, 1:], r"give \(5, 4\)")]
READY_KEYS = [*QUERIES, Wrong("other length", Q[:, :, 1:], "v is .* does not fit k")]
VALUES = [*vectors("does not fit k"), Wrong("other length", Q[:, :, 1:], "does not fit k")]
DTYPE = [
    Wrong(str(x), x, "must be torch.float16, bfloat16, float32 or float64")
    for x in (None, "float32", float, torch.int64, torch.bool, torch.complex64, torch.float8_e5m2)
]
WORDS = [
    Wrong("one string", "cat", r"use \['cat'\]"),
    Wrong("None", None, "must be a list of words"),
    Wrong("a generator", iter(["cat"]), "must be a list of words"),
    Wrong("empty", [], "is empty"),
    Wrong("an empty word", ["cat", ""], "holds an empty word"),
    Wrong("not a word", ["cat", 3], r"must be strings, not int \(3\)"),
]
CAT = ("cat", ("K", "AE", "T"))
PAIRS = [
    Wrong("None", None, "must be a list of pairs"),
    Wrong("words", ["cat", "dog"], "must be a list of pairs"),
    Wrong("one pair", CAT, "must be a list of pairs"),
    Wrong("empty", [], "is empty"),
    Wrong("phonemes in one string", [("cat", "K AE T")], "must say 'cat' as a tuple of phonemes"),
]
SPLIT = [Wrong(str(x), x, "unknown split") for x in ("dev", None, 0, ["train"])]
SAID = [("K", "AE", "T")]
ANSWERS = [
    Wrong("None", None, "must be a list of tuples of phonemes"),
    Wrong("one string", "K AE T", "must be a list of tuples of phonemes"),
    Wrong("a generator", iter(SAID), "must be a list of tuples of phonemes"),
    Wrong("none", [], "there are 1 words, but 0 answers"),
    Wrong("two for one", SAID * 2, "there are 1 words, but 2 answers"),
    Wrong("a string for a tuple", ["K AE T"], r"answers must say 'cat' as a tuple of phonemes, not str"),
    Wrong(
        "a list for a tuple", [["K", "AE", "T"]], "answers must say 'cat' as a tuple of phonemes, not list"
    ),
    Wrong("ids for phonemes", [(1, 2)], "answers must say 'cat' as a tuple of phonemes, not tuple"),
]
KEEP = [
    Wrong("a string", "run.pt", r"must be a pathlib.Path, not str \('run.pt'\): use Path"),
    Wrong("bool", True, "must be a pathlib.Path"),
]
WATCH = [Wrong(str(x), x, "must be called with the list of losses, not") for x in (3, True, "print", [])]
FLAG = [Wrong(str(x), x, "must be True or False, not") for x in (None, 1, 0.0, "yes", [True])]
START = [
    Wrong(str(x), x, r"unknown start .*\(there are: twice, outside, once\)") for x in (None, "inside", 1)
]
PAIR_P = [*count(2), Wrong("too long", T + 1, r"6 is longer than the sequence \(5 tokens\)")]
EVEN_HEADS = [Wrong("odd", 8, "8 heads .* gives a head 1 numbers, which is odd")]
EVEN_WIDTH = [Wrong("odd", 6, "6 in 2 heads .* gives a head 3 numbers, which is odd")]
AT_LEAST_ONE = [
    Wrong("none", 0, "must be at least 1 for an encoder-decoder"),
    Wrong("none of one", torch.tensor([2, 0]), "must be at least 1 for an encoder-decoder"),
]
HEADS = [*count(1), Wrong("does not divide", 3, "8 cannot be cut into 3 equal heads")]
WIDTH = [*count(1), Wrong("is not divided", 7, "7 cannot be cut into 2 equal heads")]
DROPOUT = number("must be at least 0 and below 1", -0.1, 1, 1.5, float("nan"))
RATE = number("must be above 0", 0, -1e-3, float("inf"), float("nan"))
STOP = [*count(0), Wrong("beyond the vocabulary", V, "unknown stop_id 7")]
OWN_STOP = [wrong for wrong in STOP if wrong.value is not None]
NEW = [*count(1), Wrong("beyond the model", 5, r"need 9 positions, but this model has 6 \(max_len\)")]

LENGTHS = [
    Wrong("None", None, "must be a list of whole numbers"),
    Wrong("number", 3, "must be a list of whole numbers"),
    Wrong("text", "32", "must be a list of whole numbers"),
    Wrong("tensor", torch.tensor([3, 2]), "must be a list here, not a tensor"),
    Wrong("empty", [], "is empty"),
    Wrong("float", [3, 2.0], "must be a whole number"),
    Wrong("bool", [3, True], "must be a whole number"),
    Wrong("no token", [3, 0], "must be at least 1, not 0"),
    Wrong("many", [4094, 2], "come to more than 4,096 tokens"),
    Wrong("far too many", [10**30, 2], "come to more than 4,096 tokens"),
]
PADS = [*count(0), Wrong("many", 4092, "4,096 tokens"), Wrong("far too many", 10**30, "4,096 tokens")]
PREFIX_LENS = [
    *LENGTHS[:4],
    Wrong("too few", [1], "is for 1 documents, but there are 2"),
    Wrong("float", [1, 2.0], "must be a whole number"),
    Wrong("bool", [1, True], "must be a whole number"),
    Wrong("negative", [1, -1], "must be at least 0, not -1"),
    Wrong("too long", [1, 3], r"is 3, longer than document 1 \(2 tokens\)"),
]
RULE = [
    Wrong("None", None, "must be a string"),
    Wrong("list", ["causal"], "must be a string"),
    Wrong("empty", "", "is empty"),
    Wrong("too long", "~" * 201, "has 201 characters: 200 are the most"),
    Wrong("unknown", "casual", "I don't know “casual”"),
    Wrong("unfinished", "causal and", "has nothing after it"),
]
ONES = torch.ones(T, T, dtype=torch.bool)
PARTS = dict.fromkeys(("causal", "prefix", "window", "document", "valid"), ONES)
RULE_PARTS = [
    Wrong("None", None, "must be a dict from name to mask"),
    Wrong("mask", ONES, "must be a dict from name to mask"),
    Wrong("one lacks", {"causal": ONES}, "lacks 'prefix'"),
    Wrong("list", {**PARTS, "window": [[True]]}, "must be a tensor of booleans"),
    Wrong("float", {**PARTS, "window": torch.ones(T, T)}, "must be boolean"),
    Wrong("batch", {**PARTS, "window": ONES[None]}, r"must be \(T, T\), not \(1, 5, 5\)"),
    Wrong("row", {**PARTS, "valid": ONES[:1]}, r"must be \(T, T\), not \(1, 5\)"),
    Wrong("empty", {**PARTS, "causal": ONES[:0, :0]}, r"must be \(T, T\), not \(0, 0\)"),
    Wrong("size", {**PARTS, "valid": ONES[:3, :3]}, r"is \(3, 3\), but the others are \(5, 5\)"),
    Wrong("meta", {**PARTS, "valid": ONES.to("meta")}, "meta"),
]
TOP_K = [wrong for wrong in count(1) if wrong.value is not None]
TOP_P = [w for w in number("above 0 and at most 1", 0, -0.1, 1.1, float("nan")) if w.value is not None]
TEMPERATURE = number("must be 0 .* or at least 1e-06", -1, 1e-7, float("inf"), float("nan"))
SEED = [*TOP_K[:-2], Wrong("negative", -1, "must be at least 0"), Wrong("large", 2**64, "must be below 2")]
NO_CACHE = [Wrong(type(x).__name__, x, "a prefix is prefilled whole") for x in (False, (), "cache", [TOKENS])]
CACHE = [Wrong(str(type(x)), x, "must be what prefill or decode returned") for x in (None, (), {}, TOKENS)]
SCORES = [
    Wrong("None", None, r"must be a \(B, V\) tensor"),
    Wrong("list", LOGITS[0].tolist(), r"must be a \(B, V\) tensor"),
    Wrong("ints", LOGITS[0].long(), "must be floating point"),
    Wrong("one dimension", LOGITS[0, 0], r"must be \(B, V\), one row for each example"),
    Wrong("three dimensions", LOGITS, r"of a \(B, T, V\) tensor choose the row of the last token"),
    Wrong("no vocabulary", LOGITS[0, :, :0], "are empty"),
    Wrong("NaN", LOGITS[0] * float("nan"), "example 0 are not all finite"),
    Wrong("-inf", LOGITS[0] - float("inf"), "example 0 are not all finite"),
    Wrong("one inf", torch.eye(3).masked_fill(torch.eye(3) == 1, float("inf"))[1:], "not all finite"),
    Wrong("meta", LOGITS[0].to("meta"), "meta"),
]
DRAWS = [
    Wrong("seed", 3, "must be a torch.Generator"),
    Wrong("text", "cpu", "must be a torch.Generator"),
]
NEW_P = [
    wrong
    for wrong in PREFIX_LEN
    if wrong.kind not in ("too long", "far too long", "one longer than real", "all longer than real")
]
NEW_P += [Wrong("longer", 3, "prefix_len 3 is not the 1"), Wrong("too long", 8, "longer than the sequence")]
PROMPT = count(1)

PROBED = [
    Wrong("None", None, "model must be something to call"),
    Wrong("logits", LOGITS, "model must be something to call"),
    Wrong("in training mode", torch.nn.Linear(1, 1), r"in training mode.*call model\.eval\(\)"),
]
HOW = [Wrong(str(x), x, "must be 'change' or 'gradient'") for x in ("changes", None, True, ["change"])]
TOLERANCE = number("must be 0 or more", -1e-9, float("inf"), float("nan"))
EXCHANGES = [
    Wrong("number", 3, "must be a list of whole numbers"),
    Wrong("text", "12", "must be a list of whole numbers"),
    Wrong("tensor", torch.tensor([1, 2]), "must be a list of whole numbers"),
    Wrong("empty", [], "is empty"),
    Wrong("float", [1, 2.0], "must be a whole number"),
    Wrong("bool", [1, True], "must be a whole number"),
    Wrong("negative", [1, -1], "must be at least 0"),
    Wrong("its own", [1], "nothing to exchange the id 1 for: .* or more ids"),
]
EMBEDDING = [
    Wrong("name", "token_emb", "must be a layer"),
    Wrong("table", torch.zeros(V, D), "must be a layer"),
]
USED_BY_THE_OTHER = {
    "ids": [Wrong("by gradient", [1, 2], "is only used by how='change'")],
    "embedding": [Wrong("by change", torch.nn.Embedding(V, D), "is only used by how='gradient'")],
}
SEEN = torch.zeros(B, B, T, T, dtype=torch.bool)
TABLE_SEEN = [
    Wrong("None", None, "must be a tensor of booleans"),
    Wrong("list", SEEN.tolist(), "must be a tensor of booleans"),
    Wrong("numpy array", SEEN.numpy(), "must be a tensor of booleans"),
    Wrong("floats", SEEN.float(), "must be boolean"),
    Wrong("ints", SEEN.long(), "must be boolean"),
    Wrong("one dimension", SEEN[0, 0, 0], r"must be \(T, T\) or \(B, B, T, T\).*, not \(5,\)"),
    Wrong("(B, T, T)", SEEN[0], r"must be \(T, T\) or \(B, B, T, T\)"),
    Wrong("a mask", SEEN[:, :1], r"must be \(T, T\) or \(B, B, T, T\)"),
    Wrong("not square", SEEN[..., 1:], r"must be \(T, T\) or \(B, B, T, T\)"),
    Wrong("no tokens", SEEN[..., :0, :0], "is empty"),
    Wrong("meta", SEEN.to("meta"), "meta"),
]
PACKED_LENGTHS = [
    *(wrong for wrong in LENGTHS[1:] if "many" not in wrong.kind),
    Wrong("too few tokens", [2, 2], "add up to 4, but the row has 5 real tokens"),
    Wrong("far too many tokens", [10**30, 2], "but the row has 5 real tokens"),
]
PACKED_PREFIX_LEN = [
    *PREFIX_LEN[:10],
    Wrong("three for two", torch.tensor([1, 1, 1]), "is for 3 documents, but there are 2"),
    Wrong("too long", torch.tensor([1, 3]), r"3 is longer than document 1 \(2 tokens\)"),
]

SIGHT = [
    Wrong("None", None, r"must be a Sight, as in Sight\(seq_len, prefix_len\)"),
    Wrong("mask", MASK, "must be a Sight"),
    Wrong("number", T, "must be a Sight"),
]
SIGHT_MASK = [
    *LONE_MASK[1:],
    *META_MASK,
    Wrong("too few columns", MASK[1:, 1:], r"5 tokens need \(5, 5\), or fewer rows for"),
    Wrong("more rows", torch.ones(6, T, dtype=torch.bool), r"5 tokens need \(5, 5\)"),
    Wrong("three for two", MASK.expand(3, 1, T, T), "is for 3 examples, but valid is for 2"),
]
READ = [
    Wrong("list", REAL.tolist(), r"must be a \(B, T\) tensor of booleans"),
    Wrong("numpy array", REAL.numpy(), r"must be a \(B, T\) tensor of booleans"),
    Wrong("ints", REAL.long(), r"must be boolean .* use read.bool\(\)"),
    Wrong("one dimension", REAL[0], r"is \(5,\), but the input is for \(2, 5\)"),
    Wrong("too short", REAL[:, 1:], r"is \(2, 4\), but the input is for \(2, 5\)"),
    Wrong("one for two", REAL[:1], r"is \(1, 5\), but the input is for \(2, 5\)"),
    Wrong("meta", REAL.to("meta"), "meta"),
]
LONE_LABELS = [
    *LABELS[:3],
    Wrong("one dimension", TOKENS[0], r"must be \(B, T\), not \(5,\)"),
    Wrong("three dimensions", TOKENS[None], r"must be \(B, T\), not \(1, 2, 5\)"),
    Wrong("empty", TOKENS[:0], "is empty"),
    Wrong("meta", TOKENS.to("meta"), "meta"),
]
SCORED_LABELS = [*LONE_LABELS, *LABELS[-3:-1]]
READ_LOGITS = [
    Wrong("None", None, r"must be an \(N, V\) tensor"),
    Wrong("list", LOGITS[0].tolist(), r"must be an \(N, V\) tensor"),
    Wrong("ints", LOGITS.view(-1, V).long(), "must be floating point"),
    Wrong("of all rows", LOGITS, r"must be \(N, V\), those of the rows read alone, not \(2, 5, 7\)"),
    Wrong("too many", LOGITS.view(-1, V), r"are for 10 rows, but 8 labels are scored: .*read=read_rows"),
    Wrong("too few", LOGITS.view(-1, V)[:7], "are for 7 rows, but 8 labels are scored"),
    Wrong("no vocabulary", LOGITS.view(-1, V)[:8, :0], "are empty"),
    Wrong("meta", LOGITS.view(-1, V)[:8].to("meta"), "meta"),
]
KERNEL = [
    Wrong("None", None, "must be one of auto, plain, dense, cut, mend, flex.*, or a function"),
    Wrong("number", 1, r"must be one of auto, .*, or a function, not int \(1\)"),
    Wrong("unknown", "flash", r"unknown kernel 'flash' \(there are: auto, plain, dense, cut, mend, flex"),
    Wrong("a class", dict, "must be one of auto, .*, or a function, not type"),
]
LINEAR_KERNEL = [
    Wrong(str(x), x, f"must be linear or plain_linear, not {said}")
    for x, said in ((None, "None"), (1, "int"), ("flash", "'flash'"), ("plain", "'plain'"), (len, "builtin"))
]
