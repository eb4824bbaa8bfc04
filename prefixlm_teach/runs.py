"""What a training run keeps on disk, so that it can be killed at any moment and go on where it was."""

from __future__ import annotations

import copy
import hashlib
import pickle
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from prefixlm_teach.data import Batch
from prefixlm_teach.files import written_whole
from prefixlm_teach.run_arguments import check_archive, check_same_batches, check_same_loss, check_same_run
from prefixlm_teach.updates import mean_loss


def save_run(
    path: Path,
    model: nn.Module,
    optimizer: Optimizer,
    schedule: LRScheduler,
    losses: list[float],
    together: Sequence[Batch],
    asked: dict[str, Any],
) -> None:
    """Write all that the next step depends on: weights, optimizer, schedule, random numbers, losses so far.

    Args:
        path: the file, in a folder that is there.
        model: the model.
        optimizer: its optimizer.
        schedule: the optimizer's schedule.
        losses: one for each step taken.
        together: the batches of the last step; what they are, and the model's loss on them, is written down
            to know them again.
        asked: what `train` was asked for; a run that is asked for something else does not go on from here.
    """
    state = {
        "asked": asked,
        "losses": losses,
        "batches": fingerprint(together),
        "loss": mean_loss(model, together),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "random": torch.get_rng_state(),
    }
    with written_whole(path) as part:
        torch.save(state, part)


def load_run(
    path: Path,
    model: nn.Module,
    optimizer: Optimizer,
    schedule: LRScheduler,
    batches: Iterator[Batch],
    asked: dict[str, Any],
) -> list[float]:
    """Put everything back as `save_run` found it, and return the losses so far.

    Args:
        path: the file.
        model: the model, with whatever weights.
        optimizer: its optimizer, new.
        schedule: the optimizer's schedule, new.
        batches: those of the run from its first step on; what it has used is taken from them.
        asked: what `train` is asked for.

    Raises:
        ValueError: the file is damaged or no run, or it holds a run of another model, on other batches, or
            one that was asked for something else.
    """
    state = _read(path, asked)
    losses: list[float] = state["losses"]
    check_same_run(path, state["asked"], asked)
    used = len(losses) * asked["accumulate"]
    last = list(islice(batches, used - asked["accumulate"], used))
    check_same_batches(path, state["batches"], fingerprint(last), len(losses))
    twin = copy.deepcopy(model)  # a model that is refused stays as it was
    try:
        twin.load_state_dict(state["model"])
    except RuntimeError as error:
        raise ValueError(f"{path} holds a run of another model: delete it to begin anew") from error
    check_same_loss(path, state["loss"], mean_loss(twin, last))
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    torch.set_rng_state(state["random"])  # last of all: the batches may have drawn some
    return losses


def _read(path: Path, asked: dict[str, Any]) -> dict[str, Any]:
    wrong = (
        *(RuntimeError, LookupError, TypeError, ValueError, EOFError, OSError),
        *(pickle.UnpicklingError, zipfile.BadZipFile),
    )
    try:
        check_archive(path)
        state = torch.load(path, weights_only=True)
        parts = ("losses", "batches", "loss", "model", "optimizer", "schedule", "random")
        whole = {name: state[name] for name in parts}
        said = {"only_read": False, **state["asked"]}  # older files do not say it
        whole["asked"] = {name: said[name] for name in asked}
        whole["losses"] = [float(loss) for loss in state["losses"]]
    except wrong as error:
        message = f"{path} is damaged, or it is no run that train kept: delete it to begin anew"
        raise ValueError(message) from error
    return whole


def fingerprint(batches: Sequence[Batch]) -> str:
    """Return 64 letters that are others for any other batches: ids, prefixes, padding, order."""
    found = hashlib.sha256()
    for batch in batches:
        for part in (batch.tokens, batch.prefix_len, batch.valid):
            found.update(f"{part.dtype} {tuple(part.shape)} ".encode())
            found.update(part.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()
