"""A small run that is killed and goes on: exercise 5.3, and what can be forgotten."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection
from functools import cache, partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR

from prefixlm_teach.checks.functions import Mistake

STEPS = 6
KILLED_AFTER = (3, 1, 6)  # steps, one run each
LR = 0.05
Batches = list[tuple[Tensor, Tensor]]
Run = tuple[nn.Module, AdamW, OneCycleLR]

PARTS = {
    "optimizer": "what AdamW remembers of each weight",
    "schedule": "how far the schedule is",
    "random": "the state of the random numbers",
    "batches": "which batches were used up",
}


def new_run(steps: int) -> Run:
    """What the exercise's code begins with."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = AdamW(model.parameters(), lr=LR)
    return model, optimizer, OneCycleLR(optimizer, max_lr=LR, total_steps=steps)


def train_on(run: Run, batches: Batches) -> list[float]:
    """Take a step on each batch and return the losses."""
    model, optimizer, schedule = run
    losses = []
    for x, y in batches:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def weights_of(model: nn.Module) -> Tensor:
    """All weights in one row of numbers."""
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def batches_of(seed: int) -> Batches:
    """The batches of all steps."""
    draw = torch.Generator().manual_seed(seed)
    return [(torch.randn(6, 4, generator=draw), torch.randn(6, 1, generator=draw)) for _ in range(STEPS)]


@cache
def kept_run(seed: int, killed_after: int) -> bytes:
    """The file of a run that was killed. Its first weights are others than those of a new run."""
    with torch.random.fork_rng(devices=[]):
        run = new_run(STEPS)
        torch.manual_seed(100 + seed)
        for weight in run[0].parameters():
            nn.init.normal_(weight)
        losses = train_on(run, batches_of(seed)[:killed_after])
        model, optimizer, schedule = run
        state = {
            "losses": losses,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
            "random": torch.get_rng_state(),
        }
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


def read(kept: bytes) -> dict[str, Any]:
    """Read a file, as often as it is asked for."""
    state: dict[str, Any] = torch.load(io.BytesIO(kept), weights_only=True)
    return state


def run_inputs(seed: int) -> list[dict[str, Any]]:
    """Runs that were killed in the middle, soon, and after the last step."""
    return [
        {"load": partial(read, kept_run(seed, done)), "batches": batches_of(seed), "steps": STEPS}
        for done in KILLED_AFTER
    ]


def go_on(
    load: Callable[[], dict[str, Any]],
    batches: Batches,
    steps: int,
    *,
    forgets: Collection[str] = (),
    skips: int = 0,
    too_early: bool = False,
    dropout: bool = True,
) -> Tensor:
    """What is expected of exercise 5.3, or with some things forgotten.

    Args:
        load: returns what the file holds.
        batches: those of all steps.
        steps: of the whole run.
        forgets: which parts are not put back: "model" or some of `PARTS`.
        skips: so many batches that were not used yet are passed over.
        too_early: the random numbers are put back before the model is made.
        dropout: whether the model is in training mode.
    """
    state = load()
    done = len(state["losses"])
    with torch.random.fork_rng(devices=[]):
        run = model, optimizer, schedule = new_run(steps)
        if "model" not in forgets:
            model.load_state_dict(state["model"])
        if "optimizer" not in forgets:
            optimizer.load_state_dict(state["optimizer"])
        if "schedule" not in forgets:
            schedule.load_state_dict(state["schedule"])
        if "random" not in forgets:
            torch.set_rng_state(state["random"])
        if too_early:
            nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))  # draws as many numbers as the model's weights
        model.train(dropout)
        train_on(run, batches[: steps - done] if "batches" in forgets else batches[done + skips :])
    return weights_of(model)


def _forgotten(parts: Collection[str]) -> Mistake:
    names = [PARTS[part] for part in parts]
    begins = "one thing is" if len(parts) == 1 else f"{('two', 'three', 'four')[len(parts) - 2]} things are"
    return Mistake(
        f"{begins} still forgotten: {', and '.join(names)}",
        partial(go_on, forgets=parts),
        as_given=len(parts) == len(PARTS),
    )


RESUME_FAULTS = (
    *(_forgotten(parts) for n in range(1, len(PARTS) + 1) for parts in combinations(PARTS, n)),
    Mistake(
        "the random numbers are put back too early: making the model draws some of them",
        partial(go_on, too_early=True),
    ),
    Mistake(
        "the weights are those of a new model now: what the file holds has to be put back",
        partial(go_on, forgets=["model"]),
    ),
    Mistake(
        "a batch is passed over: the first that wasn't used has the number of losses as its place",
        partial(go_on, skips=1),
    ),
    Mistake("nothing is trained any more: the run isn't at its end", partial(go_on, skips=STEPS)),
    Mistake(
        "dropout is switched off: the run that was never killed has it on", partial(go_on, dropout=False)
    ),
)
