"""The objective explorer without a browser: its table, its noise, its values, its errors, its words."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from shown_objective import (
    KIND,
    SENTENCE,
    kinds_of,
    make,
    objectives_of,
    vocabulary_of,
    wanted_of,
    words_of,
)

from prefixlm_teach import (
    CodeGen2Ids,
    Examples,
    FimIds,
    ObjectiveExplorer,
    UniLMIds,
    Vocabulary,
    causal_lm,
    codegen2_mixture,
    fill_in_the_middle,
    masked_lm,
    mix_denoisers,
    prefix_lm,
    span_corruption,
    unilm_cloze,
)
from prefixlm_teach.denoisers import UL2_TABLE
from prefixlm_teach.rows import row_draws
from prefixlm_teach.spans import noise_mask
from prefixlm_teach.widgets.objective_trace import tracing_rows

VOCABULARY = vocabulary_of(SENTENCE)
V = len(VOCABULARY)
TWELVE = ["thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week", "my", "friend"]


def settings(explorer: ObjectiveExplorer) -> Any:
    """Put the explorer into each of its states, one after the other."""
    stops = (explorer.names, explorer.rates, explorer.mean_spans, range(explorer.draws))
    for setting in itertools.product(*stops):
        explorer.objective, explorer.rate, explorer.mean_span, explorer.draw = setting
        yield


def test_at_every_setting_it_shows_what_the_objective_makes() -> None:
    explorer = make()
    impossible = 0
    for _ in settings(explorer):
        wanted = wanted_of(explorer)
        assert explorer.description == words_of(explorer)
        if isinstance(wanted, str):
            impossible += 1
            assert (explorer.made, explorer.row, explorer.labels, explorer.mask) == (None, (), (), None)
            continue
        assert (list(explorer.row), list(explorer.labels)) == (wanted.row, wanted.labels)
        assert explorer.mask is not None
        assert torch.equal(explorer.mask, wanted.mask)
    assert impossible == 3  # spans of 1 at a rate of 0.7, in each draw


@pytest.mark.parametrize("tokens", [SENTENCE, list("abcdefg"), list("aabab")])
def test_noise_is_what_span_corruption_takes_out(tokens: list[str]) -> None:
    rates = (0.2, 0.4)
    explorer = make(tokens, rates=rates, draws=20)
    for explorer.rate, explorer.draw in itertools.product(rates, range(20)):
        where = noise_mask(len(tokens), explorer.rate, 1, row_draws(explorer.draw, 0))
        assert explorer.made is not None
        assert list(explorer.made.noise) == np.flatnonzero(where).tolist()


def test_noise_is_the_target_of_a_prefix_lm_and_what_a_masked_lm_asks_for() -> None:
    explorer = make(objective="Prefix LM", draws=20)
    for explorer.draw in range(20):
        assert explorer.made is not None
        assert explorer.made.prefix_len is not None
        assert explorer.made.noise == tuple(range(explorer.made.prefix_len, 6))
    explorer.objective, explorer.rate = "Masked LM", 0.4
    for explorer.draw in range(20):
        assert explorer.made is not None
        assert list(explorer.made.noise) == [
            t for t, label in enumerate(explorer.labels) if label is not None
        ]
    explorer.objective = "Causal LM"
    assert explorer.made is not None
    assert explorer.made.noise == ()


def moving(rows: Sequence[Sequence[int]], *, seed: int) -> Examples:
    """Any tokens, by the seed, moved behind an end; the others stay in any order."""
    order = np.random.default_rng(seed).permutation(len(rows[0])).tolist()
    kept, moved = order[: seed % len(order)], order[seed % len(order) :]
    return causal_lm([[*(rows[0][i] for i in kept), 1, *(rows[0][i] for i in moved), 1]])


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=32), st.integers(2, 12))
def test_the_noise_of_a_row_that_is_asked_for_whole_is_what_stands_behind_a_symbol(
    tokens: list[str], draws: int
) -> None:
    if len(set(tokens)) == 1:
        tokens = [*tokens[1:], "e"]
    explorer = ObjectiveExplorer(
        {"moving": moving}, tokens, vocabulary_of(tokens), draws=draws, noise_after=["</s>"]
    )
    for explorer.draw in (0, draws // 2, draws - 1):
        order = np.random.default_rng(explorer.draw).permutation(len(tokens)).tolist()
        assert explorer.made is not None
        assert list(explorer.made.noise) == sorted(order[explorer.draw % len(tokens) :])


@given(st.lists(st.integers(0, 3), min_size=2, max_size=64).filter(lambda ids: len(set(ids)) > 1))
def test_tracing_rows_tell_all_places_apart_with_the_ids_of_the_sentence(ids: list[int]) -> None:
    rows = tracing_rows(ids)
    assert rows[0] == ids
    assert len(set(zip(*rows, strict=True))) == len(ids)
    assert {id_ for row in rows for id_ in row} == set(ids)
    assert all(len(set(place)) > 1 for place in zip(*rows, strict=True))  # none is like what is added


@given(st.lists(st.integers(0, 4), min_size=4, max_size=32), st.sets(st.sampled_from([0, -1])))
def test_tracing_rows_leave_what_is_held_in_its_place_and_put_it_nowhere_else(
    ids: list[int], which: set[int]
) -> None:
    held = [i % len(ids) for i in which]
    rows = tracing_rows(ids, held)
    free = [i for i in range(len(ids)) if i not in held]
    if not rows:
        assert len({ids[i] for i in free} - {ids[i] for i in held}) < 2
        return
    assert len({tuple(row[i] for row in rows) for i in free}) == len(free)
    for row in rows[1:]:
        assert [row[i] for i in held] == [ids[i] for i in held]
        assert not {row[i] for i in free} & {ids[i] for i in held}


def test_an_objective_has_the_sliders_that_it_names() -> None:
    filled = partial(span_corruption, vocab_size=V, end_id=1, rate=0.4)
    explorer = ObjectiveExplorer(
        objectives_of(VOCABULARY) | {"filled": filled, "nothing": lambda rows, **_: causal_lm(rows)},
        SENTENCE,
        VOCABULARY,
    )
    assert dict(zip(explorer.names, explorer.uses, strict=True)) == {
        "Causal LM": (),
        "Prefix LM": ("seed",),
        "Masked LM": ("rate", "seed"),
        "Span corruption": ("rate", "mean_span", "seed"),
        "From the right": ("seed",),
        "filled": ("mean_span", "seed"),
        "nothing": (),
    }
    explorer.objective = "filled"
    assert explorer.setting == "filled, mean span 1, draw 0"


def test_each_setting_is_drawn_once_when_the_explorer_is_made() -> None:
    asked: list[tuple[float, int]] = []

    def counting(rows: list[list[int]], *, rate: float, seed: int) -> Examples:
        asked.append((rate, seed))
        return masked_lm(rows, vocab_size=V, mask_id=2, seed=seed, rate=rate)

    tokens = ["the", "cat"]  # none twice: nothing else has to be asked
    explorer = ObjectiveExplorer({"counts": counting}, tokens, VOCABULARY, rates=(0.2, 0.4), draws=3)
    assert asked == list(itertools.product((0.2, 0.4), range(3)))
    for _ in settings(explorer):
        assert explorer.description
    assert len(asked) == 6


def unmoved(rows: list[list[int]], *, seed: int) -> Examples:
    """A causal LM that could draw, and does not."""
    return causal_lm(rows)


def test_the_same_thing_is_carried_once_and_only_symbols_that_occur() -> None:
    many = Vocabulary([*VOCABULARY.symbols[:-10], *(f"w{i}" for i in range(5000)), *VOCABULARY.symbols[-10:]])
    causal = {"a": causal_lm, "b": causal_lm, "c": unmoved}
    explorer = ObjectiveExplorer(causal, SENTENCE, many)
    assert len(explorer.table) == 1
    assert explorer.which == ((0,), (0,), (0,) * 8)
    assert sorted(explorer.symbols) == sorted(set(SENTENCE))


def nine() -> ObjectiveExplorer:
    """All objectives of the package, on twelve words."""
    modes = {"R": 3, "S": 4, "X": 5}
    special = ["<pad>", "</s>", "[M]", *modes, "<pre>", "<mid>", "<suf>", "<sep>", "<eom>", "[SOS]"]
    vocabulary = Vocabulary([*special, *TWELVE, *(f"<x{i}>" for i in range(9, -1, -1))])
    size, id_of = len(vocabulary), vocabulary.ids
    fim = FimIds(prefix=id_of["<pre>"], middle=id_of["<mid>"], suffix=id_of["<suf>"], end=1, pad=0)
    masks = tuple(range(size - 1, size - 11, -1))
    codegen2 = CodeGen2Ids(masks=masks, sep=id_of["<sep>"], eom=id_of["<eom>"], end=1, pad=0)
    unilm = UniLMIds(start=id_of["[SOS]"], end=1, mask=2, pad=0)

    def moving_spans(rows: list[list[int]], *, rate: float, mean_span: float, seed: int) -> Examples:
        span_lens = (int(mean_span), int(mean_span))
        given = {"mask_ratio": (rate, rate), "span_lens": span_lens, "rate": 1.0}
        return codegen2_mixture(rows, codegen2, seed=seed, **given)

    def seq2seq(rows: list[list[int]], *, rate: float, seed: int) -> Examples:
        pairs = [(row[:6], row[6:]) for row in rows]
        return unilm_cloze(pairs, ["sequence-to-sequence"], unilm, vocab_size=size, seed=seed, rate=rate)

    return ObjectiveExplorer(
        {
            "Causal LM": causal_lm,
            "Prefix LM": prefix_lm,
            "Masked LM": partial(masked_lm, vocab_size=size, mask_id=2),
            "Span corruption": partial(span_corruption, vocab_size=size, end_id=1),
            "UL2": partial(mix_denoisers, denoisers=UL2_TABLE, vocab_size=size, end_id=1, mode_ids=modes),
            "FIM, PSM": partial(fill_in_the_middle, ids=fim, rate=1.0, spm_rate=0.0),
            "FIM, SPM": partial(fill_in_the_middle, ids=fim, rate=1.0, spm_rate=1.0),
            "CodeGen2": moving_spans,
            "UniLM": seq2seq,
        },
        TWELVE,
        vocabulary,
        noise_after=["<mid>", "<sep>"],
    )


def test_nine_objectives_of_twelve_words_make_a_small_table() -> None:
    explorer = nine()
    assert len(json.dumps(explorer.state())) < 60_000
    explorer.objective = "UL2"
    kinds = {explorer.made.kind for explorer.draw in range(8) if explorer.made}
    assert kinds <= {denoiser.name for denoiser in UL2_TABLE}
    assert len(kinds) > 1
    assert explorer.made is not None
    assert explorer.setting == f"UL2, draw 7 ({explorer.made.kind})"


def between(row: tuple[str, ...], start: str, end: str) -> list[str]:
    """The symbols after the first `start` and before the next `end`."""
    after = row[row.index(start) + 1 :]
    return list(after[: after.index(end)])


def test_noise_is_what_fill_in_the_middle_and_codegen2_have_moved() -> None:
    explorer = nine()
    for explorer.draw in range(8):
        explorer.objective = "FIM, PSM"
        assert explorer.made is not None
        assert [TWELVE[i] for i in explorer.made.noise] == between(explorer.row, "<mid>", "</s>")
        stays = between(explorer.row, "<pre>", "<suf>") + between(explorer.row, "<suf>", "<mid>")
        assert [word for word in TWELVE if word in stays] == stays
        middle = explorer.made.noise
        explorer.objective = "FIM, SPM"  # the same draws: prefix and middle have come behind the suffix
        assert explorer.made.noise == tuple(range(middle[-1] + 1 if middle else len(explorer.made.noise)))
        explorer.objective = "CodeGen2"
        moved = [word for word in explorer.row[explorer.row.index("<sep>") :] if word in TWELVE]
        assert sorted(TWELVE[i] for i in explorer.made.noise) == sorted(moved)
        assert 0 < len(moved) < 12


def test_a_cloze_under_a_prefix_mask_shows_its_prefix() -> None:
    explorer = nine()
    explorer.objective = "UniLM"
    assert explorer.made is not None
    assert explorer.row[0] == "[SOS]"
    assert (explorer.made.prefix_len, explorer.made.mask, explorer.made.cloze) == (8, None, True)
    assert [TWELVE[i] for i in explorer.made.noise] == [
        label for label in explorer.labels if label is not None
    ]


def test_the_noise_of_a_cloze_is_what_is_covered_even_if_its_mask_is_causal() -> None:
    def left_to_right(rows: list[list[int]], *, seed: int) -> Examples:
        made = masked_lm(rows, vocab_size=V, mask_id=2, seed=seed)
        causal = torch.ones(1, 1, 6, 6, dtype=torch.bool).tril()
        return Examples(made.tokens, made.labels, made.valid, mask=causal, cloze=True)

    explorer = ObjectiveExplorer({"cloze": left_to_right}, SENTENCE, VOCABULARY)
    assert explorer.made is not None
    assert explorer.made.prefix_len == 0
    assert [t for t, label in enumerate(explorer.labels) if label] == list(explorer.made.noise) != []


def test_padding_is_not_shown() -> None:
    def padded(rows: list[list[int]]) -> Examples:
        made = causal_lm([rows[0], [*rows[0], 1, 1]])
        return Examples(made.tokens[:1], made.labels[:1], made.valid[:1], made.prefix_len[:1])

    explorer = ObjectiveExplorer({"padded": padded}, SENTENCE, VOCABULARY)
    assert explorer.row == tuple(SENTENCE)
    assert explorer.labels == (None, *SENTENCE[1:])


@pytest.mark.parametrize("p", range(7))
def test_a_mask_that_is_that_of_a_prefix_is_known_as_one(p: int) -> None:
    def masked(rows: list[list[int]]) -> Examples:
        made = prefix_lm(rows, prefix_len=min(p, 5))
        mask = torch.ones(6, 6).tril().bool()
        mask[:, :p] = True
        # where all is seen, only a cloze may ask
        return Examples(made.tokens, made.labels, made.valid, mask=mask[None, None], cloze=p == 6)

    explorer = ObjectiveExplorer({"masked": masked}, SENTENCE, VOCABULARY)
    assert explorer.made is not None
    assert explorer.made.prefix_len == (p if p > 1 else 0)  # one prefix token opens nothing
    assert explorer.made.mask is None


def test_its_words() -> None:
    explorer = make(rate=0.4)
    assert repr(explorer) == "ObjectiveExplorer(6 tokens, 'Span corruption, rate 0.4, mean span 1, draw 0')"
    assert explorer.picture().alt.startswith(
        f"{explorer.description} The sentence: “the cat sat on the mat”; noise: "
    )
    explorer.objective = "Causal LM"
    assert explorer.description == (
        "Causal LM: no prefix; target “the cat sat on the mat”; 5 labels, each predicted in the row before "
        "it."
    )
    assert explorer.picture().alt == (
        f"{explorer.description} The sentence: “the cat sat on the mat”; nothing of it is noise. Mask: 6 "
        "rows (queries) by 6 columns (keys): rows 0 to 5 each see column 0 up to their own. 21 of 36 pairs "
        "may attend."
    )
    explorer.objective, explorer.rate = "Span corruption", 0.7
    assert explorer.description == (
        "Span corruption, rate 0.7, mean span 1, draw 0: impossible. rate and mean_span ask for 4 spans in 6 "
        "tokens, but only 2 stay to keep them apart: lower the rate, or make mean_span longer."
    )
    assert explorer.picture().alt == (
        f"{explorer.description} The sentence: “the cat sat on the mat”; nothing of it is noise."
    )


def test_the_picture_has_the_cells_of_the_mask_and_none_where_a_setting_is_impossible() -> None:
    explorer = make()
    for explorer.objective in ("From the right", "Span corruption"):
        assert explorer.mask is not None
        assert KIND.png_cells(explorer) == [kinds_of(explorer.mask)]
    explorer.rate = 0.7
    assert KIND.png_cells(explorer) == "no grid"
