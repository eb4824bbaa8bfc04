"""A PyTorch that a reader has written over is noticed; one that changes itself is not taken for that."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import functools
import torch
from prefixlm_teach.checks.original_torch import overwritten

torch.optim.AdamW(torch.nn.Linear(2, 2).parameters())  # the first optimizer wraps manual_seed
print(hasattr(torch.manual_seed, "__wrapped__"), overwritten())
torchs_own = torch.manual_seed
torch.manual_seed = functools.wraps(torchs_own.__wrapped__)(lambda seed: None)
print(overwritten())
torch.manual_seed = torchs_own
torch.manual_seed = functools.wraps(torchs_own)(lambda seed: None)
print(overwritten())
torch.manual_seed = lambda seed: None
print(overwritten())
"""


def test_only_what_a_reader_has_written_over_is_named() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["True", "None", *["torch.manual_seed"] * 3]
