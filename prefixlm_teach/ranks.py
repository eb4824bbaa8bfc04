"""Several processes that train one model, each on batches of its own, as `torchrun` starts them.

PyTorch numbers such processes and calls each a rank. Where none were started, there is one.

Source: Li et al. 2020 (PyTorch Distributed, arXiv:2006.15704).
"""

from __future__ import annotations

import torch
from torch import distributed


def rank_count() -> int:
    """Return how many processes train together: 1, unless `torch.distributed` has been started."""
    return distributed.get_world_size() if _started() else 1


def sum_over_ranks(number: float, device: torch.device) -> float:
    """Return the sum of a number that each process has; every one of them has to ask.

    Args:
        number: this process's, at most 2 ** 53 where it is whole.
        device: where the model is, since only there can some processes exchange numbers.
    """
    if not _started():
        return number
    total = torch.tensor(number, dtype=torch.float64, device=device)
    distributed.all_reduce(total)
    return total.item()


def _started() -> bool:
    return distributed.is_available() and distributed.is_initialized()
