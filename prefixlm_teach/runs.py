"""What a training run keeps on disk, so that it can be killed at any moment and go on where it was."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from prefixlm_teach.files import written_whole
from prefixlm_teach.run_arguments import check_same_run


def save_run(
    path: Path,
    model: nn.Module,
    optimizer: Optimizer,
    schedule: LRScheduler,
    losses: list[float],
    asked: dict[str, Any],
) -> None:
    """Write all that the next step depends on: weights, optimizer, schedule, random numbers, losses so far.

    Args:
        path: the file, in a folder that is there.
        model: the model.
        optimizer: its optimizer.
        schedule: the optimizer's schedule.
        losses: one for each step taken.
        asked: what `train` was asked for; a run that is asked for something else does not go on from here.
    """
    state = {
        "asked": asked,
        "losses": losses,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "random": torch.get_rng_state(),
    }
    with written_whole(path) as part:
        torch.save(state, part)


def load_run(
    path: Path, model: nn.Module, optimizer: Optimizer, schedule: LRScheduler, asked: dict[str, Any]
) -> list[float]:
    """Put everything back as `save_run` found it, and return the losses so far.

    Raises:
        ValueError: the file is damaged or no run, or it holds a run that was asked for something else.
    """
    try:
        state = torch.load(path, weights_only=True)
        kept, losses = state["asked"], state["losses"]
    except (RuntimeError, KeyError, TypeError, EOFError, ValueError, pickle.UnpicklingError) as error:
        message = f"{path} is damaged, or it is no run that train kept: delete it to begin anew"
        raise ValueError(message) from error
    check_same_run(path, kept, asked)
    try:
        model.load_state_dict(state["model"])
    except RuntimeError as error:
        raise ValueError(f"{path} holds a run of another model: delete it to begin anew") from error
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    torch.set_rng_state(state["random"])
    return list(losses)
