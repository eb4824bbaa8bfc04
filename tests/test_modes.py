"""The experiment on mode tokens: what its models are shown, and how their answers are judged."""

from __future__ import annotations

import json
from itertools import islice

import modes
import pytest
import torch
from again import first_loss
from modes import FIRST, KINDS, Run, batches, fill_in, go_on, mode_ids, vocabulary

from prefixlm_teach import MODE_TOKENS, TinyPrefixLM, load_words, words_of
from prefixlm_teach.data import END, SEP

SYMBOLS = vocabulary()


def pairs_of(kind: str, n: int = 30) -> list[tuple[list[str], list[str]]]:
    """Prefix and target of the examples of some batches."""
    found = []
    for batch in islice(batches(Run(kind, 0)), n):
        for tokens, p, valid in zip(batch.tokens, batch.prefix_len, batch.valid, strict=True):
            symbols = SYMBOLS.decode(tokens[valid])
            found.append((symbols[: int(p)], symbols[int(p) :]))
    return found


def filled(prefix: list[str], target: list[str]) -> str:
    """Put what was taken out back into its holes: the text as it was."""
    spans: dict[str, list[str]] = {"": []}
    name = ""
    for symbol in target[:-1]:
        if modes.is_sentinel(symbol):
            name = symbol
            spans[name] = []
        else:
            spans[name].append(symbol)
    shown = [symbol for symbol in prefix[:-1] if symbol not in MODE_TOKENS.values()]
    whole = [part for symbol in shown for part in spans.get(symbol, [symbol])]
    return " ".join([*whole, *spans[""]])


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_is_a_training_word_with_its_sounds(kind: str) -> None:
    known = {" ".join([*word, SEP, *said]) for word in words_of("train") for said in load_words()[word]}
    pairs = pairs_of(kind, 8)
    assert all(prefix[-1] == target[-1] == END for prefix, target in pairs)
    assert {filled(prefix, target) for prefix, target in pairs} <= known


def test_each_kind_has_the_modes_and_the_holes_of_its_name() -> None:
    first = {kind: [prefix[0] for prefix, _ in pairs_of(kind)] for kind in KINDS}
    holes = {kind: [FIRST in prefix for prefix, _ in pairs_of(kind)] for kind in KINDS}
    shares = {mode: first["mixture with modes"].count(token) / 3840 for mode, token in MODE_TOKENS.items()}
    assert shares == pytest.approx({"R": 2 / 7, "X": 4 / 7, "S": 1 / 7}, abs=0.03)
    assert not {*first["mixture without modes"], *first["S alone"]} & set(MODE_TOKENS.values())
    for kind in KINDS[:2]:
        assert sum(holes[kind]) / 3840 == pytest.approx(6 / 7, abs=0.03)
    assert not any(holes["S alone"])


def test_the_same_seed_gives_the_same_texts_whatever_is_made_of_them() -> None:
    texts = {kind: [filled(*pair) for pair in pairs_of(kind, 3)] for kind in KINDS}
    assert texts[KINDS[0]] == texts[KINDS[1]] == texts[KINDS[2]]
    assert pairs_of(KINDS[0], 1) == pairs_of(KINDS[0], 1)


def a_model_that_writes(monkeypatch: pytest.MonkeyPatch, answer_of: dict[tuple[str, ...], list[str]]) -> None:
    """Stands in for a trained one: what matters here is how its answers are judged."""
    monkeypatch.setattr(
        "modes.answers_to",
        lambda _, prompts, symbols: [
            answer_of.get(tuple(symbols.decode(prompt)), ["AH"]) for prompt in prompts
        ],
    )


def test_going_on_is_judged_by_the_sounds_and_sentinels_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    words = words_of("validation")[::3]
    mode = [SYMBOLS.ids["[S2S]"]]
    perfect = {("[S2S]", *word, SEP, END): [*load_words()[word][-1]] for word in words}
    a_model_that_writes(monkeypatch, perfect)
    nobody: object = None
    assert go_on(nobody, mode, SYMBOLS) == {"word": 0.0, "phoneme": 0.0, "with a sentinel": 0.0}
    assert go_on(nobody, [], SYMBOLS)["word"] > 0.99
    marked = {prompt: [FIRST, *said] for prompt, said in perfect.items()}
    a_model_that_writes(monkeypatch, marked)
    assert go_on(nobody, mode, SYMBOLS) == {"word": 0.0, "phoneme": 0.0, "with a sentinel": 1.0}


def test_filling_in_wants_the_sentinel_and_the_last_two_sounds(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [(word, load_words()[word][0]) for word in words_of("validation")[::3]]
    asked = [(word, sounds) for word, sounds in said if len(sounds) >= 4]
    prompts = [("[NLU]", *word, SEP, *sounds[:-2], FIRST, END) for word, sounds in asked]
    nobody, mode = None, [SYMBOLS.ids["[NLU]"]]
    for begins, share in (([FIRST], 1.0), ([], 0.0)):
        answers = [[*begins, *sounds[-2:]] for _, sounds in asked]
        a_model_that_writes(monkeypatch, dict(zip(prompts, answers, strict=True)))
        assert fill_in(nobody, mode, SYMBOLS) == share


def test_answers_come_back_in_the_order_of_their_prompts() -> None:
    torch.manual_seed(0)
    model = TinyPrefixLM(len(SYMBOLS), d_model=16, n_heads=2, max_len=60).eval()
    prompts = [SYMBOLS.encode([*word, SEP, END]) for word in ("photograph", "a", "knight", "ab")]
    together = modes.answers_to(model, prompts, SYMBOLS)
    assert together == [modes.answers_to(model, [prompt], SYMBOLS)[0] for prompt in prompts]


def test_mode_ids_are_known_to_one_kind_alone() -> None:
    assert mode_ids(Run(KINDS[0], 0), SYMBOLS) == {m: SYMBOLS.ids[token] for m, token in MODE_TOKENS.items()}
    assert [mode_ids(Run(kind, 0), SYMBOLS) for kind in KINDS[1:]] == [None, None]


AGAIN = Run("mixture with modes", 0)


def test_the_first_steps_of_a_run_are_those_that_were_written_down() -> None:
    """Bit for bit on one machine; another kind of machine rounds otherwise, and by far less than this."""
    written = modes.EXPERIMENT.result(AGAIN)["loss_every_50"][0]
    assert first_loss(modes.learn, AGAIN) == pytest.approx(written, abs=3e-4)


def test_what_was_written_down_is_complete_and_stands_under_its_name() -> None:
    paths = sorted(modes.EXPERIMENT.results.glob("*.json"))
    assert modes.EXPERIMENT.path(AGAIN) in paths
    for path in paths:
        result = json.loads(path.read_text(encoding="utf-8"))
        assert path.stem == Run(result["kind"], result["seed"]).name
        assert len(result["loss_every_50"]) == modes.STEPS // 50


def test_the_answers_that_are_kept_are_to_unseen_words_and_have_the_form_that_was_counted() -> None:
    result = modes.EXPERIMENT.result(AGAIN)
    assert set(result["said"]) == set(MODE_TOKENS)
    for mode, said in result["said"].items():
        assert set(said) <= set(words_of("validation"))
        with_sentinel = sum("<x" in answer for answer in said.values()) / len(said)
        assert with_sentinel == pytest.approx(result["go on"][mode]["with a sentinel"], abs=0.1)
