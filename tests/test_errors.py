"""Error rates: against an edit distance spelt out cell by cell, to the nearest of several pronunciations."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlm_teach import error_rates, load_words
from prefixlm_teach.data import CONSONANTS, VOWELS

WORDS = load_words()
SEVERAL = [word for word, said in WORDS.items() if len({len(one) for one in said}) > 2][:50]
phonemes = st.sampled_from((*VOWELS[:4], *CONSONANTS[:4], "NG", "zz"))
known = st.sampled_from([*SEVERAL, "read", "cat", "a", "the", "tomato", "knight"])


def edits(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """The fewest phonemes to put in, leave out or exchange: the table of Wagner and Fischer."""
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)))
        above = row
    return above[-1]


@st.composite
def answered(draw: st.DrawFn) -> tuple[str, tuple[str, ...]]:
    """A word, and an answer that is any, or close to one that is listed."""
    word = draw(known)
    if draw(st.booleans()):
        return word, tuple(draw(st.lists(phonemes, max_size=9)))
    answer = list(draw(st.sampled_from(WORDS[word])))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(answer)))
        answer[place : place + draw(st.integers(0, 2))] = draw(st.lists(phonemes, max_size=2))
    return word, tuple(answer)


@given(st.lists(answered(), min_size=1, max_size=6))
@settings(max_examples=200)
def test_rates_are_those_of_a_plain_edit_distance_to_the_nearest(
    marked: list[tuple[str, tuple[str, ...]]],
) -> None:
    wrong = total = length = 0
    for word, answer in marked:
        by_distance = sorted((edits(answer, said), len(said)) for said in WORDS[word])
        wrong += answer not in WORDS[word]
        total += by_distance[0][0]
        length += by_distance[0][1]
    rates = error_rates([word for word, _ in marked], [answer for _, answer in marked])
    assert rates == (wrong / len(marked), total / length)


@pytest.mark.parametrize(
    ("word", "answer", "phoneme"),
    [
        ("cat", "K AE T", 0),
        ("cat", "K AE", 1 / 3),  # one left out
        ("cat", "K AE T S", 1 / 3),  # one put in
        ("cat", "B AE T", 1 / 3),  # one exchanged
        ("cat", "AE K T", 2 / 3),  # two that changed places are two edits
        ("cat", "", 1),
        ("a", "K AE T K AE T", 6),  # a rate may exceed 1
        ("read", "R EH D", 0),
        ("read", "R IY D", 0),
    ],
)
def test_a_word_at_a_time(word: str, answer: str, phoneme: float) -> None:
    rates = error_rates([word], [tuple(answer.split())])
    assert rates.phoneme == pytest.approx(phoneme)
    assert rates.word == (phoneme > 0)


def test_the_nearest_pronunciation_gives_both_the_edits_and_the_length() -> None:
    said = WORDS["tomatoes"]
    assert len(said) > 1
    for one in said:
        assert error_rates(["tomatoes"], [one]) == (0, 0)
        assert error_rates(["tomatoes"], [(*one, "ZZ")]).phoneme == pytest.approx(1 / len(one))


def test_the_phoneme_rate_is_one_of_all_words_together_and_no_mean_of_rates() -> None:
    rates = error_rates(["cat", "a"], [("K", "AE", "T"), ()])
    assert rates == (1 / 2, 1 / 4)


def test_a_phoneme_is_compared_whole() -> None:
    """AE and AH share a letter, and are as different as any two."""
    assert error_rates(["cat"], [("K", "AH", "T")]).phoneme == pytest.approx(1 / 3)


def test_a_word_that_the_dictionary_does_not_list_cannot_be_marked() -> None:
    with pytest.raises(ValueError, match=r"unknown word 'qqq' \(only words of the dictionary"):
        error_rates(["cat", "qqq"], [(), ()])


@pytest.mark.parametrize("answers", [[], [("K",)] * 2])
def test_more_or_fewer_answers_than_words_are_refused(answers: list[tuple[str, ...]]) -> None:
    with pytest.raises(ValueError, match=f"there are 1 words, but {len(answers)} answers"):
        error_rates(["cat"], answers)
