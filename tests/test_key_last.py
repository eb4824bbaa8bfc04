"""The experiment with a key that comes last: its graphs, its masks, and a slice of it run again."""

from __future__ import annotations

import json
from typing import Any

import key_last
import pytest
import torch
from again import first_loss
from hypothesis import given
from hypothesis import strategies as st
from key_last import ANSWERS, EXPERIMENT, HOPS, KEYS, MASKS, NODES, PREFIX_LEN, STARTS, Run, draw, make_mask

from prefixlm_teach import visibility

AGAIN = Run("prefix", 0, 2e-3)


@given(
    st.sampled_from(["first", "last"]),
    st.integers(1, NODES),
    st.integers(0, 2**20),
    st.one_of(st.none(), st.integers(1, HOPS)),
)
def test_the_answer_is_where_a_walk_ends(key: str, keys: int, seed: int, hops: int | None) -> None:
    """Walked edge by edge on what the tokens say, as a reader would do it with a finger."""
    batch = draw(Run("causal", 0, 1e-3, key=key, keys=keys), 8, torch.Generator().manual_seed(seed), hops)
    for row in batch.tokens.tolist():
        *prefix, wanted, start, answer = row
        edge_tokens = prefix[1:] if key == "first" else prefix[:-1]
        k = (prefix[0] if key == "first" else prefix[-1]) - KEYS
        assert 0 <= k < keys
        edges = {(a + k) % NODES: b for a, b in (divmod(token, NODES) for token in edge_tokens)}
        assert len(edges) == NODES
        asked = wanted - KEYS - NODES + 1
        assert asked == hops or (hops is None and 1 <= asked <= HOPS)
        node = start - STARTS
        for _ in range(asked):
            node = edges[node]
        assert answer == ANSWERS + node
    assert batch.prefix_len.tolist() == [PREFIX_LEN] * 8
    assert batch.tokens.shape == (8, PREFIX_LEN + 1)


def test_the_order_of_the_edges_and_the_hops_are_drawn_evenly() -> None:
    tokens = draw(Run("causal", 0, 1e-3), 20_000, torch.Generator().manual_seed(0)).tokens
    first = (tokens[:, 0] // NODES).bincount(minlength=NODES) / 20_000
    hops = (tokens[:, NODES + 1] - KEYS - NODES).bincount(minlength=HOPS) / 20_000
    assert first.tolist() == pytest.approx([1 / NODES] * NODES, abs=0.015)
    assert hops.tolist() == pytest.approx([1 / HOPS] * HOPS, abs=0.015)


@pytest.mark.parametrize("key", ["first", "last"])
def test_each_mask_opens_what_its_name_says(key: str) -> None:
    column = NODES if key == "last" else 0
    edge = 0 if key == "last" else 1
    masks = {mask: make_mask(Run(mask, 0, 1e-3, key=key)) for mask in MASKS}
    seen = {mask: found[edge].nonzero().flatten().tolist() for mask, found in masks.items()}
    assert seen["causal"] == list(range(edge + 1))
    assert seen["prefix"] == list(range(PREFIX_LEN))
    assert seen["key opened"] == sorted({*range(edge + 1), column})
    allowed = {k for k in range(PREFIX_LEN) if k != column or column <= edge}
    assert seen["key closed"] == sorted(allowed)
    for found in masks.values():
        assert found[PREFIX_LEN - 1].tolist() == [True] * PREFIX_LEN + [False]  # the row that is scored
        assert found.diagonal().all()


def test_what_the_model_sees_is_its_mask() -> None:
    """With one layer, so that nothing is seen through others."""
    tokens = draw(Run("causal", 0, 1e-3), 1, torch.Generator().manual_seed(0)).tokens
    for mask in MASKS:
        run = Run(mask, 0, 1e-3, n_layers=1)
        model = key_last.make_model(run).eval()

        def call(ids: torch.Tensor, p: Any, model: torch.nn.Module = model) -> torch.Tensor:
            return model(ids, p, valid=torch.ones_like(ids, dtype=torch.bool))

        assert visibility(call, tokens, PREFIX_LEN).equal(make_mask(run))


def test_the_first_steps_of_a_run_are_those_that_were_written_down() -> None:
    """Bit for bit on one machine; another kind of machine rounds otherwise, and by far less than this."""
    assert first_loss(key_last.learn, AGAIN) == pytest.approx(
        EXPERIMENT.result(AGAIN)["loss_every_50"][0], abs=3e-4
    )


def test_what_was_written_down_is_complete_and_stands_under_its_name() -> None:
    paths = sorted(EXPERIMENT.results.glob("*.json"))
    assert EXPERIMENT.path(AGAIN) in paths
    for path in paths:
        result = json.loads(path.read_text(encoding="utf-8"))
        assert path.stem == Run(**{field: result[field] for field in Run._fields}).name
        assert len(result["loss_every_50"]) == result["steps"] // 50
        assert len(result["right"]) == HOPS
        assert all(1 / NODES - 0.05 < share <= 1 for share in result["right"])
