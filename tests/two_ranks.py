"""What each of two processes does for test_ranks.py: it writes what it found to <folder>/<rank>.json."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch
from distributed import STEPS, batches, compare, furthest, gradients, make_model
from torch.distributed import get_rank
from torch.nn.parallel import DistributedDataParallel

from prefixlm_teach import Batch, compute_prefix_lm_loss, train
from prefixlm_teach.ranks import rank_count, sum_over_ranks
from prefixlm_teach.updates import loss_shares, mean_loss

folder = Path(sys.argv[1])
accumulated = make_model()
losses = train(accumulated, batches(), steps=STEPS, accumulate=4, progress=False)
first, second = islice(batches(), 2)
nothing = replace(second, prefix_len=second.valid.sum(-1))  # all of it is prefix

found = compare()
rank = get_rank()


def share() -> list[Batch]:
    return list(islice(batches(), rank, 4 * STEPS, 2))


model = DistributedDataParallel(make_model())
several = train(model, share(), steps=STEPS, accumulate=2, progress=False)
found["accumulated losses"] = max(abs(a - b) for a, b in zip(several, losses, strict=True))
found["accumulated weights"] = furthest(list(model.parameters()), list(accumulated.parameters()))

keep = folder / f"{rank}.pt"
model = DistributedDataParallel(make_model())
try:
    train(model, share()[:STEPS], steps=STEPS, accumulate=2, keep=keep, every=5, progress=False)
except ValueError as error:
    found["stopped"] = str(error)
with torch.no_grad():
    for weight in model.parameters():
        weight.zero_()  # what the file holds must be enough
again = train(model, share(), steps=STEPS, accumulate=2, keep=keep, progress=False)
found["resumed losses"] = max(abs(a - b) for a, b in zip(again, losses, strict=True))
found["resumed weights"] = furthest(list(model.parameters()), list(accumulated.parameters()))

plain = make_model()
loss = compute_prefix_lm_loss(
    plain(first.tokens, first.prefix_len, valid=first.valid),
    first.tokens,
    first.prefix_len,
    valid=first.valid,
)
wanted = gradients(plain, iter([loss]))
model = DistributedDataParallel(make_model())
mine = [nothing, first][rank]
found["a rank without targets"] = furthest(gradients(model, loss_shares(model, [mine])), wanted)
model = DistributedDataParallel(make_model())
shares = loss_shares(model, [mine], only_read=True)
found["a rank without rows that are read"] = furthest(gradients(model, shares), wanted)
found["its loss"] = abs(mean_loss(model, [mine]) - loss.item())

found["rank_count"] = rank_count()
found["sum_over_ranks"] = sum_over_ranks([40, 2][rank], torch.device("cpu"))
(folder / f"{rank}.json").write_text(json.dumps(found), encoding="utf-8")
