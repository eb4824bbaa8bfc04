"""Rows that nobody reads: without them the logits, the loss and the gradients are the same, to rounding."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from bad_values import Watch
from hypothesis import given, settings
from hypothesis import strategies as st
from sights import can
from strategies import Padded, padded_batches
from test_accumulation import alike, cut, large, model
from test_model import ids
from test_training import copy_task
from torch import Tensor
from torch.optim.lr_scheduler import ConstantLR

from prefixlm_teach import (
    BalancedEncoderDecoder,
    ExpertBlock,
    LinearPrefixLM,
    MixtureOfExperts,
    RotaryPrefixLM,
    Sight,
    TinyCausalLM,
    TinyPrefixLM,
    compute_prefix_lm_loss,
    expert_choice,
    label_loss,
    prefix_lm_labels,
    read_loss,
    read_rows,
    train,
)
from prefixlm_teach.updates import update

V = 11


def with_experts(**config: Any) -> TinyPrefixLM:
    made = TinyPrefixLM(**config)
    made.blocks[1] = ExpertBlock(8, 2, MixtureOfExperts(8, 2, expert_choice))
    return made


KINDS: list[Callable[..., TinyPrefixLM]] = [
    *(TinyPrefixLM, TinyCausalLM, RotaryPrefixLM, LinearPrefixLM, with_experts)
]


@cache
def tiny(kind: Callable[..., TinyPrefixLM]) -> TinyPrefixLM:
    torch.manual_seed(0)
    return kind(vocab_size=V, d_model=8, n_heads=2, max_len=9, dropout=0.0).double()


def both_ways(
    made: TinyPrefixLM, tokens: Tensor, labels: Tensor, **call: Any
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Logits of the rows that are read, loss and gradients: by all rows, and by these alone."""
    weights = [weight for weight in made.parameters() if weight.requires_grad]
    outcomes = []
    read = read_rows(labels)
    for only in (False, True):
        logits = made(tokens, **call, **({"read": read} if only else {}))
        loss = read_loss(logits, labels) if only else label_loss(logits, labels)
        gradients = torch.autograd.grad(loss, weights)
        outcomes.append((logits if only else logits[read], loss, *gradients))
    return outcomes[0], outcomes[1]


def same(all_rows: tuple[Tensor, ...], only_read: tuple[Tensor, ...]) -> None:
    for one, other in zip(all_rows, only_read, strict=True):
        assert torch.allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(padded_batches(), st.integers(0, 2**20))
@settings(max_examples=30)
def test_loss_and_gradients_are_those_of_all_rows(
    kind: Callable[..., TinyPrefixLM], batch: Padded, seed: int
) -> None:
    tokens = ids(*batch.valid.shape, seed)
    labels = prefix_lm_labels(tokens, batch.p, valid=batch.valid)
    if bool((labels[:, 1:] != -100).any()):
        made = tiny(kind)
        all_rows, only_read = both_ways(made, tokens, labels, prefix_len=batch.p, valid=batch.valid)
        same(all_rows, only_read)
        logits = made(tokens, batch.p, valid=batch.valid)
        wanted = compute_prefix_lm_loss(logits, tokens, batch.p, valid=batch.valid)
        torch.testing.assert_close(only_read[1], wanted)


@pytest.mark.parametrize("name", ["plain", "dense", "cut", "mend", "auto"])
@pytest.mark.parametrize("p", [0, 1, 3, 5, torch.tensor([4, 0, 5])])
@pytest.mark.parametrize("side", [None, "left", "right"])
def test_it_is_the_same_over_each_kernel(name: str, p: int | Tensor, side: str | None) -> None:
    lengths = torch.tensor([6, 5, 6])[:, None]
    real = {None: None, "left": torch.arange(6) >= 6 - lengths, "right": torch.arange(6) < lengths}[side]
    if can(name, Sight(6, p, real)):
        made, tokens = tiny(TinyPrefixLM), ids(3, 6)
        made.kernel = name
        same(*both_ways(made, tokens, prefix_lm_labels(tokens, p, valid=real), prefix_len=p, valid=real))


def test_any_labels_and_any_mask_will_do() -> None:
    tokens, labels = ids(2, 6), torch.full((2, 6), -100)
    labels[0, [0, 2, 5]] = tokens[0, [0, 2, 5]]  # the first is never scored
    mask = torch.ones(6, 6).tril(2).triu(-3).bool()
    at = torch.tensor([3, 4, 5, 0, 1, 2])
    same(*both_ways(tiny(TinyPrefixLM), tokens, labels, mask=mask, positions=at))
    assert read_rows(labels).nonzero().tolist() == [[0, 1], [0, 4]]


def test_only_the_rows_that_are_read_go_through_the_end_of_the_model() -> None:
    made, tokens, p = tiny(TinyPrefixLM), ids(3, 6), torch.tensor([4, 0, 6])
    sizes: list[tuple[int, ...]] = []
    layers = [made.blocks[0].ff, made.blocks[1].ff, made.output]
    hooks = [
        layer.register_forward_hook(lambda _, given, out: sizes.append(given[0].shape)) for layer in layers
    ]
    labels = prefix_lm_labels(tokens, p)
    made(tokens, p, read=read_rows(labels))
    for hook in hooks:
        hook.remove()
    assert read_rows(labels).sum() == 2 + 5 + 0
    assert sizes == [(3, 6, 8), (7, 8), (7, 8)]


def test_no_row_at_all_leaves_every_weight_a_gradient_of_0() -> None:
    """Where one of several processes has no target, the others wait for its gradients."""
    made = tiny(TinyPrefixLM)
    made.zero_grad()
    (made(ids(2, 4), 4, read=torch.zeros(2, 4, dtype=torch.bool)).sum() * 0.0).backward()
    assert all(weight.grad is not None and not weight.grad.any() for weight in made.parameters())


def test_no_loss_is_made_of_no_label() -> None:
    labels = torch.full((2, 4), -100)
    with pytest.raises(ValueError, match="nothing to score: no example has a target token"):
        read_loss(tiny(TinyPrefixLM)(ids(2, 4), 4, read=read_rows(labels)), labels)


@pytest.mark.parametrize("places", [[], [1], [2, 4], [1, 2, 3, 4, 5, 6, 7]])
def test_an_update_by_several_batches_is_the_same(places: list[int]) -> None:
    weights, losses = [], []
    for only_read in (False, True):
        trained = model()
        optimizer = torch.optim.SGD(trained.parameters(), lr=1.0)
        schedule = ConstantLR(optimizer, factor=1.0)
        losses.append(update(trained, cut(large(), places), optimizer, schedule, only_read=only_read))
        weights.append(trained.state_dict())
    assert alike(*weights)
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def trained(only_read: bool, **how: Any) -> tuple[list[float], dict[str, Tensor]]:
    torch.manual_seed(0)
    made = TinyPrefixLM(8, d_model=16, n_heads=2, max_len=6, dropout=0.0).double()
    batches = (copy_task(seed) for seed in range(40))
    losses = train(made, batches, steps=20, progress=False, only_read=only_read, **how)
    return losses, made.state_dict()


def test_training_takes_the_same_way_without_dropout() -> None:
    (losses, weights), (same_losses, same_weights) = trained(False), trained(True)
    assert same_losses == pytest.approx(losses, rel=1e-9)
    for name, weight in weights.items():
        torch.testing.assert_close(same_weights[name], weight, rtol=1e-6, atol=1e-9)


def test_a_run_that_is_kept_goes_on_only_as_it_was_begun(tmp_path: Path) -> None:
    trained(True, keep=tmp_path / "run.pt")
    assert trained(True, keep=tmp_path / "run.pt")[0] == trained(True)[0]
    with pytest.raises(ValueError, match="holds a run with only_read=True, and this one has only_read=False"):
        trained(False, keep=tmp_path / "run.pt")


def test_a_run_kept_before_there_was_a_choice_goes_on_with_all_rows(tmp_path: Path) -> None:
    wanted, _ = trained(False, keep=tmp_path / "run.pt")
    kept = torch.load(tmp_path / "run.pt")
    del kept["asked"]["only_read"]
    torch.save(kept, tmp_path / "run.pt")
    assert trained(False, keep=tmp_path / "run.pt")[0] == wanted
    with pytest.raises(ValueError, match="holds a run with only_read=False"):
        trained(True, keep=tmp_path / "run.pt")


def test_a_model_that_cannot_be_told_what_is_read_is_refused_before_a_step() -> None:
    made = BalancedEncoderDecoder(8, d_model=16, n_heads=2, max_len=6)
    says = "only_read needs a model that is called with read, .* not BalancedEncoderDecoder"
    with Watch() as watch, pytest.raises(TypeError, match=says):
        train(made, [copy_task()] * 20, steps=20, progress=False, only_read=True)
    assert not watch.called & {"embedding", "linear"}
