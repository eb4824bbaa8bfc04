"""UL2's mixtures: the published tables, how often each denoiser comes, and what each does to a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from objectives import parts, spread
from test_spans import fill_in, pairs_of

from prefixlm_teach import (
    MODE_TOKENS,
    UL2_CODE,
    UL2_TABLE,
    UL2R,
    Denoiser,
    Examples,
    TinyEncoderDecoder,
    TinyPrefixLM,
    mix_denoisers,
    span_corruption,
    span_counts,
)

V, END, PAD = 100, 40, 41
MODES = {"R": 36, "S": 37, "X": 38}
MIXTURES = {"UL2_TABLE": UL2_TABLE, "UL2_CODE": UL2_CODE, "UL2R": UL2R}
seeds = st.integers(0, 2**32 - 1)
texts = st.lists(st.lists(st.integers(0, 35), min_size=4, max_size=40), min_size=1, max_size=5)


def mixed(
    rows: list[list[int]], denoisers: Sequence[Denoiser], seed: int, modes: dict[str, int] | None = MODES
) -> Examples:
    known = {"vocab_size": V, "end_id": END, "pad_id": PAD}
    return mix_denoisers(rows, denoisers, seed=seed, mode_ids=modes, **known)


def test_the_tables_are_the_published_ones() -> None:
    corrupting = {(d.mode, d.mean_span, d.rate) for d in UL2_TABLE if d.mean_span}
    assert corrupting == {
        *[("R", 3, 0.15), ("R", 8, 0.15)],
        *[("X", 3, 0.5), ("X", 8, 0.5), ("X", 64, 0.15), ("X", 64, 0.5)],
    }
    assert [(d.mode, d.rate) for d in UL2_TABLE if not d.mean_span] == [("S", 0.25)]
    assert [(d.mode, d.rate) for d in UL2_CODE if not d.mean_span] == [("S", None)]
    assert UL2_CODE[:6] == UL2_TABLE[:6]
    assert {(d.mode, d.mean_span, d.rate) for d in UL2R} == {
        *[("R", 3, 0.15), ("X", 32, 0.15), ("X", 3, 0.5), ("S", None, 0.25)],
    }
    assert MODE_TOKENS == {"R": "[NLU]", "X": "[NLG]", "S": "[S2S]"}


def test_each_denoiser_of_a_mixture_has_a_name_of_its_own() -> None:
    for denoisers in MIXTURES.values():
        assert len({d.name for d in denoisers}) == len(denoisers)
    assert [d.name for d in UL2R] == [
        *("S: the end, 25 %", "R: spans of 3, 15 %"),
        *("X: spans of 32, 15 %", "X: spans of 3, 50 %"),
    ]


@pytest.mark.parametrize("name", MIXTURES)
def test_denoisers_come_as_often_as_their_shares_say(name: str) -> None:
    denoisers, count = MIXTURES[name], 4000
    kinds = mixed([[1] * 8] * count, denoisers, seed=0).kinds
    assert kinds is not None
    times, total = Counter(kinds), sum(d.share for d in denoisers)
    assert set(times) == {d.name for d in denoisers}
    for d in denoisers:
        assert abs(times[d.name] - count * d.share / total) < spread(count, d.share / total)


def test_shares_of_modes() -> None:
    def share(denoisers: Sequence[Denoiser], mode: str) -> float:
        return sum(d.share for d in denoisers if d.mode == mode) / sum(d.share for d in denoisers)

    assert [share(UL2R, mode) for mode in "SRX"] == [0.5, 0.25, 0.25]
    assert [share(UL2_TABLE, mode) for mode in "SRX"] == pytest.approx([1 / 7, 2 / 7, 4 / 7])


@given(texts, seeds, st.sampled_from(sorted(MIXTURES)))
def test_each_example_is_what_the_denoiser_it_names_makes(
    rows: list[list[int]], seed: int, name: str
) -> None:
    by_name = {d.name: d for d in MIXTURES[name]}
    examples = mixed(rows, MIXTURES[name], seed)
    assert examples.kinds is not None
    for row, kind, (prefix, target) in zip(rows, examples.kinds, pairs_of(examples), strict=True):
        d = by_name[kind]
        mode, *shown = prefix
        assert mode == MODES[d.mode]
        if d.mean_span is not None:
            assert d.rate is not None
            noise, spans = span_counts(len(row), d.rate, d.mean_span)
            assert fill_in(shown, target) == row
            assert (len(shown), len(target)) == (len(row) - noise + spans, noise + spans)
        else:
            assert shown + target == row  # no sentinel
            assert 1 <= len(target) <= len(row) - 1
            if d.rate is not None:
                assert len(target) == max(round(len(row) * d.rate), 1)


def test_s_of_the_table_is_the_last_quarter_and_s_of_the_code_any_part() -> None:
    rows = [list(range(20))] * 4000
    quarter = mixed(rows, [d for d in UL2_TABLE if d.mode == "S"], seed=0)
    assert {len(target) for _, target in pairs_of(quarter)} == {5}
    uniform = mixed(rows, [d for d in UL2_CODE if d.mode == "S"], seed=0)
    times = Counter(len(target) for _, target in pairs_of(uniform))
    assert set(times) == set(range(1, 20))
    assert all(abs(n - 4000 / 19) < spread(4000, 1 / 19) for n in times.values())


@given(texts, seeds)
def test_s_is_span_corruption_with_one_span_at_the_end_and_no_sentinel(
    rows: list[list[int]], seed: int
) -> None:
    known = {"vocab_size": V, "end_id": END, "pad_id": PAD, "seed": seed}
    one_span = span_corruption(rows, rate=0.25, mean_span=1000.0, **known)
    s = mixed(rows, [Denoiser("S", 0.25, None)], seed, modes=None)
    for (prefix, target), (shown, asked) in zip(pairs_of(one_span), pairs_of(s), strict=True):
        assert (prefix, target) == ([*shown, V - 1], [V - 1, *asked])


def test_without_modes_the_texts_are_the_same_and_the_token_is_missing() -> None:
    rows = [list(range(30))] * 50
    with_modes, without = mixed(rows, UL2_TABLE, 3), mixed(rows, UL2_TABLE, 3, modes=None)
    assert with_modes.kinds == without.kinds
    for (prefix, target), (bare, same) in zip(pairs_of(with_modes), pairs_of(without), strict=True):
        assert (prefix[1:], target) == (bare, same)


@given(texts, seeds, st.data())
def test_what_is_drawn_for_a_row_does_not_depend_on_the_others(
    rows: list[list[int]], seed: int, data: st.DataObject
) -> None:
    i = data.draw(st.integers(0, len(rows) - 1))
    others = data.draw(st.lists(st.lists(st.integers(0, 35), min_size=4, max_size=9), max_size=3))
    before = mixed(rows, UL2_CODE, seed)
    after = mixed([[9, 9, 9, 9]] * i + [rows[i]] + others, UL2_CODE, seed)
    assert parts(before, i) == parts(after, i)
    assert before.kinds is not None
    assert after.kinds is not None
    assert before.kinds[i] == after.kinds[i]


def test_what_one_denoiser_cannot_do_is_refused_before_one_is_drawn() -> None:
    dense = Denoiser("X", 0.9, 1.0, share=1e-9)
    with pytest.raises(ValueError, match="ask for 9 spans in 10 tokens, but only 1 stay"):
        mixed([[1] * 10], [*UL2_TABLE, dense], seed=0)
    many = [[1] * 500]  # 83 spans of 3 at 50 %, though most draws need fewer
    for seed in range(5):
        with pytest.raises(ValueError, match="have to be free for 83 sentinels"):
            mixed(many, UL2_TABLE, seed)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"mode": 3}, "mode must be a string"),
        ({"mode": None}, "mode must be a string"),
        ({"mode": "Q"}, "mode must be one of R, S, X, not 'Q'"),
        ({"rate": 0}, "rate must be above 0 and below 1"),
        ({"rate": 1.0}, "rate must be above 0 and below 1"),
        ({"rate": True}, "rate must be a number"),
        ({"rate": "0.15"}, "rate must be a number"),
        ({"rate": float("nan")}, "rate must be above 0 and below 1"),
        ({"rate": None}, "rate is None, but only without a mean_span"),
        ({"mean_span": 0.5}, "mean_span must be at least 1"),
        ({"mean_span": float("inf")}, "mean_span must be at least 1"),
        ({"mean_span": float("nan")}, "mean_span must be at least 1"),
        ({"mean_span": True}, "mean_span must be a number"),
        ({"mean_span": "3"}, "mean_span must be a number"),
        ({"share": 0}, "share must be above 0"),
        ({"share": float("inf")}, "share must be above 0"),
        ({"share": True}, "share must be a number"),
        ({"share": None}, "share must be a number"),
    ],
)
def test_what_is_no_denoiser_is_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        Denoiser(**{"mode": "R", "rate": 0.15, "mean_span": 3.0, **wrong})


@pytest.mark.parametrize("kind", [TinyPrefixLM, TinyEncoderDecoder])
def test_both_kinds_of_model_run_on_it(kind: type[TinyPrefixLM] | type[TinyEncoderDecoder]) -> None:
    examples = mixed([list(range(12))] * 8, UL2_TABLE, seed=0)
    model = kind(V, 8, 2).eval()
    with torch.no_grad():
        assert examples.loss(examples.logits(model)).isfinite()
