"""The training loop: it repeats itself, learns a small task, and says when it cannot go on."""

from __future__ import annotations

import re
from itertools import repeat

import pytest
import torch

from prefixlm_teach import Batch, TinyPrefixLM, compute_prefix_lm_loss, train

V = 8


def copy_task(seed: int = 0, batch: int = 32) -> Batch:
    """Three ids, then the same three again: the prefix tells the whole target."""
    generator = torch.Generator().manual_seed(seed)
    half = torch.randint(V, (batch, 3), generator=generator)
    tokens = torch.cat([half, half], dim=1)
    return Batch(tokens, torch.full((batch,), 3), torch.ones_like(tokens, dtype=torch.bool))


def fresh(seed: int = 0) -> TinyPrefixLM:
    torch.manual_seed(seed)
    return TinyPrefixLM(V, d_model=32, n_heads=4, n_layers=2, max_len=6, dropout=0.1)


def test_the_same_seed_gives_the_same_losses_and_weights() -> None:
    runs = []
    for _ in range(2):
        model = fresh()
        losses = train(model, map(copy_task, range(20)), steps=20, progress=False)
        runs.append((losses, model.state_dict()))
    assert runs[0][0] == runs[1][0]
    assert all(torch.equal(runs[0][1][name], runs[1][1][name]) for name in runs[0][1])
    assert train(fresh(1), map(copy_task, range(20)), steps=20, progress=False) != runs[0][0]


def test_the_first_loss_is_the_prefix_lm_loss_of_the_untrained_model() -> None:
    model, batch = fresh(), copy_task()
    model.dropout.p = 0.0
    for block in model.blocks:
        block.ff[-1].p = 0.0
    logits = model(batch.tokens, batch.prefix_len, valid=batch.valid)
    wanted = compute_prefix_lm_loss(logits, batch.tokens, batch.prefix_len, valid=batch.valid).item()
    assert train(model, repeat(batch), steps=20, progress=False)[0] == pytest.approx(wanted)


def test_it_learns_to_copy_from_the_prefix_ids_it_never_saw_together() -> None:
    """The ids are drawn anew each step and uniform, so nothing but looking them up brings the loss down."""
    model = fresh()
    losses = train(model, (copy_task(seed) for seed in range(400)), steps=400, lr=3e-3, progress=False)
    assert losses[0] > 1.8  # about log(8) = 2.08
    assert sum(losses[-20:]) / 20 < 0.7
    unseen = copy_task(10_000)
    right = model(unseen.tokens, 3)[:, 2:-1].argmax(-1) == unseen.tokens[:, 3:]
    assert right.float().mean() > 0.85


def test_what_cannot_be_predicted_is_not_learnt() -> None:
    """A loss below log(V) on random targets would mean that the labels leak."""

    def noise(seed: int) -> Batch:
        tokens = torch.randint(V, (32, 6), generator=torch.Generator().manual_seed(seed))
        return Batch(tokens, torch.full((32,), 3), torch.ones_like(tokens, dtype=torch.bool))

    losses = train(fresh(), map(noise, range(200)), steps=200, lr=3e-3, progress=False)
    assert sum(losses[-50:]) / 50 > 2.0


@pytest.mark.parametrize("steps", [20, 21, 29, 30, 33, 100])
def test_runs_of_any_allowed_length_end_and_move_the_weights(steps: int) -> None:
    model = fresh()
    before = model.output.weight.clone()
    losses = train(model, repeat(copy_task()), steps=steps, progress=False)
    assert len(losses) == steps
    assert (model.output.weight - before).abs().max() > 1e-5


def test_the_learning_rate_rises_over_the_first_tenth_and_falls_to_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates: list[float] = []
    step = torch.optim.AdamW.step

    def watched(self: torch.optim.AdamW, *args: object) -> object:
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    train(fresh(), repeat(copy_task(batch=2)), steps=100, lr=0.01, progress=False)
    top = rates.index(max(rates))
    assert 8 <= top <= 11
    assert max(rates) == pytest.approx(0.01, rel=0.05)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert rates[-1] < 0.0001


def test_each_step_follows_the_gradient_of_its_own_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = TinyPrefixLM(V, d_model=32, n_heads=4, max_len=6, dropout=0.0)
    batches = [copy_task(seed) for seed in range(20)]
    used: list[torch.Tensor] = []
    wanted: list[torch.Tensor] = []
    step = torch.optim.AdamW.step

    def watched(self: torch.optim.AdamW, *args: object) -> object:
        batch = batches[len(used)]
        loss = compute_prefix_lm_loss(model(batch.tokens, 3), batch.tokens, 3)
        wanted.append(torch.autograd.grad(loss, model.output.weight)[0].flatten())
        used.append(model.output.weight.grad.flatten().clone())
        return step(self, *args)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    train(model, batches, steps=20, progress=False)
    alike = torch.cosine_similarity(torch.stack(used), torch.stack(wanted))  # clipping keeps the direction
    torch.testing.assert_close(alike, torch.ones(20))


def test_the_bar_is_silent_when_it_is_off_and_speaks_of_the_loss_when_on(
    capfd: pytest.CaptureFixture[str],
) -> None:
    train(fresh(), repeat(copy_task()), steps=20, progress=False)
    assert capfd.readouterr() == ("", "")
    train(fresh(), repeat(copy_task()), steps=20)
    out, err = capfd.readouterr()
    assert out == ""
    assert "20/20" in err
    assert "loss=" in err


def test_it_leaves_the_model_in_eval_mode() -> None:
    model = fresh()
    train(model, repeat(copy_task()), steps=20, progress=False)
    assert not model.training


def test_it_takes_no_batch_more_than_it_needs() -> None:
    batches = iter([copy_task(seed) for seed in range(22)])
    train(fresh(), batches, steps=20, progress=False)
    assert len(list(batches)) == 2


@pytest.mark.parametrize("have", [0, 19])
def test_batches_that_run_out_are_an_error(have: int) -> None:
    with pytest.raises(ValueError, match=f"ran out after {have} of 20 steps"):
        train(fresh(), map(copy_task, range(have)), steps=20, progress=False)


def test_training_that_leaves_the_numbers_stops_and_says_so() -> None:
    with pytest.raises(ValueError, match=r"the loss of step \d+ is nan: use a smaller lr"):
        train(fresh(), repeat(copy_task()), steps=40, lr=1e6, progress=False)


def test_watch_is_called_after_each_step_with_the_losses_so_far() -> None:
    seen: list[list[float]] = []
    losses = train(
        fresh(), repeat(copy_task()), steps=20, watch=lambda so_far: seen.append(so_far[:]), progress=False
    )
    assert seen == [losses[:step] for step in range(1, 21)]


def test_a_watch_that_tries_the_model_does_not_switch_its_dropout_off() -> None:
    losses = train(fresh(), map(copy_task, range(20)), steps=20, progress=False)
    model = fresh()
    watched = train(
        model, map(copy_task, range(20)), steps=20, watch=lambda _: bool(model.eval()), progress=False
    )
    assert watched == losses


def test_the_bar_says_how_many_real_tokens_are_read_in_a_second(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seconds = iter(range(100))
    monkeypatch.setattr("prefixlm_teach.training.time.perf_counter", lambda: next(seconds))
    tokens = torch.ones(500, 6, dtype=torch.int64)
    valid = torch.arange(6).expand(500, 6) < 4  # 2,000 of 3,000 are real
    batch = Batch(tokens, torch.full((500,), 3), valid)
    train(fresh(), repeat(batch), steps=20, accumulate=2)  # a step a second, by this clock
    assert re.search(r"20/20 .*loss=\d\.\d\d, 4,000 tokens/s\]", capfd.readouterr().err)
