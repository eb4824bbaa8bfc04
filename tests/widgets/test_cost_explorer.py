"""The cost explorer without a browser: its counts, its areas, its errors, its words."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from shown_cost import WAYS, calls_of, expected_kinds, kind_at, png_kinds
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention.bias import CausalBias

from prefixlm_teach import CostExplorer, Sight, create_prefix_lm_mask, make_ready
from prefixlm_teach.widgets.cost_pairs import AREAS, STEPPED, outline_areas

SIZES = st.integers(16, 40).flatmap(lambda T: st.tuples(st.just(T), st.integers(0, T)))


@given(SIZES, st.sampled_from(WAYS))
def test_every_count_is_what_a_loop_over_the_pairs_finds(sizes: tuple[int, int], way: str) -> None:
    T, p = sizes
    explorer = CostExplorer(T, p, way=way)
    places = list(product(range(T), repeat=2))
    kinds = Counter(AREAS[kind_at(way, T, p, q, k)] for q, k in places)
    assert {words: n for words, n in explorer.areas.items() if n} == kinds
    assert explorer.pairs[way] == sum(calls_of(way, T, p, q, k) for q, k in places)
    visible = create_prefix_lm_mask(T, p)
    assert explorer.pairs["cut on a GPU"] == int(visible.sum())
    for q, k in places:
        seen = kind_at(way, T, p, q, k) not in ("lost", "blocked")
        assert seen == bool(visible[q, k])


def area_of(corners: list[tuple[int, int]]) -> float:
    """The area within some corners."""
    return abs(sum(x * v - u * y for (x, y), (u, v) in pairwise([*corners, corners[0]]))) / 2


@given(SIZES, st.sampled_from(WAYS))
def test_each_area_is_as_large_as_its_count(sizes: tuple[int, int], way: str) -> None:
    counts = CostExplorer(*sizes, way=way).areas
    drawn = outline_areas(way, *sizes)
    assert {AREAS[kind]: area_of(corners) for kind, corners in drawn.items()} == {
        words: n for words, n in counts.items() if n and words != "not computed"
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("p", [0, 1, 2, 7, 2**16, 2**17])
def test_a_long_text_is_drawn_with_few_corners_less_than_a_pixel_off(way: str, p: int) -> None:
    explorer = CostExplorer(2**17, p, way=way)
    for kind, corners in outline_areas(way, *explorer.sizes).items():
        assert len(corners) <= 5
        wanted = explorer.areas[AREAS[kind]]
        assert abs(area_of(corners) - wanted) <= 2 * explorer.seq_len  # the diagonal's own cells, and a row
    assert explorer.seq_len > STEPPED


@pytest.mark.parametrize(
    ("kernel", "way"), [("dense", "dense mask"), ("cut", "cut on a CPU"), ("mend", "mend")]
)
@pytest.mark.parametrize("p", [0, 1, 2, 9, 15, 16])
def test_its_counts_are_those_of_the_calls_that_the_kernels_make(
    monkeypatch: pytest.MonkeyPatch, kernel: str, way: str, p: int
) -> None:
    counted: list[int] = []
    real = F.scaled_dot_product_attention

    def watched(q: Tensor, k: Tensor, v: Tensor, attn_mask: Any = None, is_causal: bool = False) -> Any:
        rows, columns = q.size(-2), k.size(-2)
        counted.append(rows * (rows + 1) // 2 if is_causal else rows * columns)
        if isinstance(attn_mask, CausalBias):
            attn_mask = attn_mask._materialize()  # what PyTorch does on a CPU
        return real(q, k, v, attn_mask=attn_mask, is_causal=is_causal)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    q = torch.randn(1, 1, 16, 4)
    ready = make_ready(kernel, Sight(16, p))
    if isinstance(ready, Tensor):
        F.scaled_dot_product_attention(q, q, q, attn_mask=ready)
    else:
        ready(q, q, q)
    assert sum(counted) == CostExplorer(16, p).pairs[way]


@given(st.integers(16, 2**17).flatmap(lambda T: st.tuples(st.just(T), st.integers(0, T))))
def test_mend_computes_more_than_a_dense_mask_from_about_seven_tenths_on(sizes: tuple[int, int]) -> None:
    T, p = sizes
    pairs = CostExplorer(T, p).pairs
    more = pairs["mend"] > pairs["dense mask"]
    assert more == (p * (p - 1) > T * (T - 1) // 2)
    assert more == ("more than a dense mask" in CostExplorer(T, p).description)


def test_attention_is_half_of_a_layer_when_a_token_has_six_pairs_for_each_unit_of_width() -> None:
    (dense, *_) = CostExplorer(768, 0, d_model=128).bars
    assert (dense.way, dense.of_square, dense.of_layer) == ("dense mask", 1000, 500)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("seq_len", "p"), [(16, 0), (16, 9), (32, 14), (64, 64), (2048, 1536), (4096, 256)])
def test_the_picture_shows_every_area(seq_len: int, p: int, way: str) -> None:
    explorer = CostExplorer(seq_len, p, way=way)
    assert png_kinds(explorer) == expected_kinds(explorer)


def test_its_words() -> None:
    explorer = CostExplorer(2048, 1536)
    assert explorer.description == (
        "T = 2,048, p = 1,536: 3,277,056 of 4,194,304 pairs are visible, 78.1%; the prefix opens 1,178,880 "
        "of them, 56.2% more than a causal mask has. “mend” computes 4,455,936, 106.2% of the square, more "
        "than a dense mask: 1,178,880 of them twice. With d = 768, attention is then 32.1% of a layer’s "
        "operations."
    )
    explorer.way = "dense mask"
    assert (
        "computes 4,194,304, 100.0% of the square, and throws 917,248 of them away." in explorer.description
    )
    explorer.way = "causal call"
    assert ", and leaves out the 1,178,880 that the prefix opens." in explorer.description
    explorer.way = "cut on a GPU"
    assert "78.1% of the square: the visible ones and no other." in explorer.description
    explorer.sizes = (16, 1)
    assert "; the prefix opens none. " in explorer.description
    explorer.sizes = (16, 4)
    assert explorer.picture().alt.startswith(
        f"{explorer.description} All pairs as a square, queries down, keys across, by cut on a GPU: past 136 "
        "(53.1%); opened by the prefix 6 (2.3%); not computed 114 (44.5%). Pairs computed, share of the "
        "square, share of attention in a layer: dense mask: 256, 100.0%, 0.3%; "
    )
    assert repr(explorer) == "CostExplorer(seq_len=16, prefix_len=4, d_model=768, way='cut on a GPU')"
    assert (explorer.seq_len, explorer.prefix_len) == (16, 4)
    assert CostExplorer(301).sizes == (301, 150)
    assert CostExplorer(np.int64(64), np.int64(3)).state()["sizes"] == [64, 3]


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"prefix_len": 65}, ValueError, "prefix_len 65 is longer than the sequence (64 tokens)"),
    ({"prefix_len": 10**30}, ValueError, f"prefix_len {10**30} is longer than the sequence (64 tokens)"),
    ({"prefix_len": -1}, ValueError, "prefix_len must be at least 0, not -1"),
    ({"prefix_len": True}, TypeError, "prefix_len must be a whole number, not bool (True)"),
    ({"prefix_len": 3.0}, TypeError, "prefix_len must be a whole number, not float (3.0)"),
    ({"prefix_len": torch.tensor([3])}, TypeError, "prefix_len must be one whole number here, not a tensor"),
    ({"seq_len": 15, "prefix_len": None}, ValueError, "seq_len must be at least 16, not 15"),
    (
        {"seq_len": 2**17 + 1, "prefix_len": None},
        ValueError,
        "seq_len 131,073 is too long: this explorer counts up to 131,072",
    ),
    ({"seq_len": 10**30}, ValueError, "is too long: this explorer counts up to 131,072"),
    ({"seq_len": 64.0}, TypeError, "seq_len must be a whole number, not float (64.0)"),
    ({"seq_len": True, "prefix_len": None}, TypeError, "seq_len must be a whole number, not bool (True)"),
    ({"seq_len": float("nan")}, TypeError, "seq_len must be a whole number, not float (nan)"),
    ({"seq_len": "64"}, TypeError, "seq_len must be a whole number, not str ('64')"),
    ({"d_model": 0}, ValueError, "d_model must be at least 1, not 0"),
    ({"d_model": 2**16 + 1}, ValueError, "d_model 65,537 is too wide: this explorer counts up to 65,536"),
    ({"d_model": None}, TypeError, "d_model must be a whole number, not NoneType"),
    (
        {"way": "flex"},
        ValueError,
        "way 'flex' is not one of dense mask, cut on a CPU, mend, cut on a GPU, causal call",
    ),
    ({"way": 2}, TypeError, "way must be a string, not int (2)"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD)
def test_bad_input_is_named(change: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        CostExplorer(**{"seq_len": 64, "prefix_len": 3} | change)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("trait", "value", "error", "words"),
    [
        ("sizes", (64, 65), ValueError, "prefix_len 65 is longer than the sequence"),
        ("sizes", [32, 1.5], TypeError, "prefix_len must be a whole number"),
        ("sizes", 64, TypeError, r"sizes must be a pair \(seq_len, prefix_len\), not int \(64\)"),
        ("sizes", (64,), TypeError, "sizes must be a pair .*, not tuple of 1"),
        ("sizes", None, TypeError, "sizes must be a pair .*, not NoneType"),
        ("d_model", 1.5, TypeError, "d_model must be a whole number"),
        ("way", None, TypeError, "way must be a string"),
    ],
)
def test_a_bad_value_raises_and_the_old_one_stays(
    trait: str, value: Any, error: type[Exception], words: str
) -> None:
    explorer = CostExplorer(64, 3)
    before = explorer.state()
    for set_it in (lambda: setattr(explorer, trait, value), lambda: explorer.set_state({trait: value})):
        with pytest.raises(error, match=words):
            set_it()
        assert explorer.state() == before


def test_both_sizes_change_at_once() -> None:
    explorer = CostExplorer(4096, 4096)
    explorer.set_state({"sizes": [16, 16]})
    assert explorer.sizes == (16, 16)
    explorer.set_state({"sizes": [4096, 4000]})
    assert explorer.sizes == (4096, 4000)
