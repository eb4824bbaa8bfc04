"""Settings for every test: the same examples on every run, no clock, one thread."""

from __future__ import annotations

import torch
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, database=None)
settings.load_profile("steady")
torch.set_num_threads(1)
