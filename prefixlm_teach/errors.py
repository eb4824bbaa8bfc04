"""How far an answer is from what the dictionary lists: phoneme and word error rates.

Of several listed pronunciations the nearest counts, as is usual for letters to phonemes. The edit distance is
rapidfuzz's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from prefixlm_teach.data import Pronunciation, load_words
from prefixlm_teach.word_arguments import check_answers


class ErrorRates(NamedTuple):
    """Shares from 0 up; a phoneme error rate can exceed 1, where answers are far too long.

    Attributes:
        word: the share of words whose answer is none of the listed pronunciations.
        phoneme: edits (a phoneme put in, left out or exchanged) per phoneme of the nearest pronunciations.
    """

    word: float
    phoneme: float


def error_rates(words: Sequence[str], answers: Sequence[Pronunciation]) -> ErrorRates:
    """Hold answers against the dictionary.

    Args:
        words: words of the dictionary.
        answers: a tuple of phonemes for each.

    Raises:
        TypeError: an answer is not a tuple of strings.
        ValueError: there is no word, one is not in the dictionary, or there are more or fewer answers.
    """
    listed = load_words()
    check_answers(words, answers, listed)
    wrong = edits = length = 0
    for word, answer in zip(words, answers, strict=True):
        distance, nearest = min((Levenshtein.distance(answer, said), len(said)) for said in listed[word])
        wrong += distance > 0
        edits += distance
        length += nearest
    return ErrorRates(wrong / len(words), edits / length)
