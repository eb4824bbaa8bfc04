"""Several batches make one update: the one that a single large batch would make, token for token."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import loss_terms
from torch import nn
from torch.optim.lr_scheduler import ConstantLR

from prefixlm_teach import Batch, TinyPrefixLM, compute_prefix_lm_loss, train
from prefixlm_teach.updates import mean_loss, target_count, update

V, T = 8, 7
# (real tokens, prefix): target counts from 0 to 6, a prefix of 0 and an example of no token at all among them
EXAMPLES = [(7, 1), (7, 6), (3, 3), (5, 5), (6, 2), (4, 3), (7, 0), (0, 0), (2, 1)]


def large(seed: int = 0) -> Batch:
    tokens = torch.randint(V, (len(EXAMPLES), T), generator=torch.Generator().manual_seed(seed))
    valid = torch.arange(T) < torch.tensor([real for real, _ in EXAMPLES])[:, None]
    return Batch(tokens, torch.tensor([p for _, p in EXAMPLES]), valid)


def cut(batch: Batch, places: list[int]) -> list[Batch]:
    """The batch as several, cut before these rows."""
    ends = [0, *sorted(places), len(batch.tokens)]
    return [Batch(batch.tokens[a:b], batch.prefix_len[a:b], batch.valid[a:b]) for a, b in pairwise(ends)]


def model() -> TinyPrefixLM:
    torch.manual_seed(0)
    return TinyPrefixLM(V, d_model=8, n_heads=2, max_len=T, dropout=0.0).double()


def after_one_step(together: list[Batch]) -> tuple[dict[str, torch.Tensor], float]:
    """The weights after one step of plain gradient descent, which hides no factor as AdamW does."""
    trained = model()
    optimizer = torch.optim.SGD(trained.parameters(), lr=1.0)
    loss = update(trained, together, optimizer, ConstantLR(optimizer, factor=1.0))
    return trained.state_dict(), loss


def after_a_mean_of_means(together: list[Batch]) -> dict[str, torch.Tensor]:
    """The usual mistake: each batch counts the same, however few targets it has."""
    trained = model()
    scored = [batch for batch in together if target_count(batch)]
    for batch in scored:
        logits = trained(batch.tokens, batch.prefix_len, valid=batch.valid)
        loss = compute_prefix_lm_loss(logits, batch.tokens, batch.prefix_len, valid=batch.valid)
        (loss / len(scored)).backward()
    nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
    torch.optim.SGD(trained.parameters(), lr=1.0).step()
    return trained.state_dict()


def alike(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.allclose(a[name], b[name], rtol=1e-9, atol=1e-12) for name in a)


cuts = st.lists(st.integers(1, len(EXAMPLES) - 1), unique=True, max_size=len(EXAMPLES) - 1)


@given(cuts, st.integers(0, 2**20))
@settings(max_examples=40)
def test_the_update_of_any_cut_is_that_of_one_large_batch(places: list[int], seed: int) -> None:
    whole, loss = after_one_step([large(seed)])
    parts, same_loss = after_one_step(cut(large(seed), places))
    assert alike(parts, whole)
    assert same_loss == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("places", [[1], [4], [2, 4], [1, 2, 3, 4, 5, 6, 7]])
def test_a_mean_of_means_would_be_told_apart(places: list[int]) -> None:
    together = cut(large(), places)
    assert not alike(after_a_mean_of_means(together), after_one_step([large()])[0])
    assert alike(after_a_mean_of_means([large()]), after_one_step([large()])[0])  # it differs in nothing else


def test_whole_runs_agree_too_losses_and_weights() -> None:
    one, several = model(), model()
    losses = train(one, map(large, range(20)), steps=20, progress=False)
    pieces = (piece for seed in range(20) for piece in cut(large(seed), [2, 4]))
    same = train(several, pieces, steps=20, accumulate=3, progress=False)
    assert same == pytest.approx(losses, rel=1e-9)
    assert alike(one.state_dict(), several.state_dict())


def test_the_targets_of_a_batch_are_counted_as_the_loss_counts_them() -> None:
    batch, trained = large(), model()
    logits = trained(batch.tokens, batch.prefix_len, valid=batch.valid).tolist()
    terms = [
        loss_terms(logits[b], batch.tokens[b].tolist(), p, batch.valid[b].tolist())
        for b, (_, p) in enumerate(EXAMPLES)
    ]
    for b, one in enumerate(cut(batch, list(range(1, len(EXAMPLES))))):
        assert target_count(one) == len(terms[b])
    assert target_count(batch) == sum(map(len, terms))
    wanted = sum(map(sum, terms)) / target_count(batch)
    assert mean_loss(trained, cut(batch, [2, 4])) == pytest.approx(wanted)


def test_batches_without_any_target_are_refused() -> None:
    none = cut(large(), [2, 4])[1]
    assert target_count(none) == 0
    with pytest.raises(ValueError, match="nothing to score"):
        after_one_step([none, none])


def test_batches_that_run_out_within_a_step_are_an_error() -> None:
    pieces = [piece for seed in range(20) for piece in cut(large(seed), [4])]
    with pytest.raises(ValueError, match="the batches ran out after 19 of 20 steps"):
        train(model(), pieces[:-1], steps=20, accumulate=2, progress=False)


def test_it_takes_no_batch_more_than_it_needs() -> None:
    batches = map(large, range(43))
    train(model(), batches, steps=20, accumulate=2, progress=False)
    assert len(list(batches)) == 3
