"""Runs that are kept: killed at any moment they go on and end the same; what is another run is refused."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from test_training import V, copy_task, fresh
from torch import Tensor, nn

from prefixlm_teach import Batch, RotaryPrefixLM, TinyPrefixLM, train
from prefixlm_teach.runs import fingerprint

STEPS, EVERY, ACCUMULATE = 180, 9, 2

# Trains and says each step; writes losses and weights when it ends.
RUN = f"""
import sys
from pathlib import Path
import torch
sys.path.insert(0, sys.argv[1])
from test_training import copy_task, fresh
from prefixlm_teach import train
torch.set_num_threads(1)
model = fresh()
losses = train(
    model,
    map(copy_task, range({STEPS * ACCUMULATE})),
    steps={STEPS},
    accumulate={ACCUMULATE},
    keep=Path(sys.argv[2]),
    every={EVERY},
    watch=lambda losses: print(len(losses), flush=True),
)
torch.save([losses, model.state_dict()], sys.argv[3])
"""


def batches() -> Iterator[Batch]:
    return map(copy_task, range(STEPS * ACCUMULATE))


def start(keep: Path, end: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(Path(__file__).parent), str(keep), str(end)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_after(process: subprocess.Popen[str], step: int, moment: float) -> tuple[int, int]:
    """Kill a run some moment after it has said `step`; return the first and the last step that it said."""
    first = int(process.stdout.readline())
    while int(process.stdout.readline()) < step:
        pass
    time.sleep(moment)
    process.kill()
    rest = process.communicate()[0].split()
    assert process.returncode == -signal.SIGKILL, "it had ended before it was killed"
    return first, int(rest[-1]) if rest else step


def test_a_run_killed_again_and_again_ends_bit_for_bit_like_one_never_stopped(tmp_path: Path) -> None:
    keep, end = tmp_path / "run.pt", tmp_path / "end.pt"
    said = 0
    for step, moment in [(EVERY + 2, 0.0), (50, 0.0037), (95, 0.0111)]:
        first, last = kill_after(start(keep, end), step, moment)
        assert first > said - EVERY, "more was lost than the last interval"
        assert said == 0 or first > 1, "it began anew"
        said = last
    process = start(keep, end)
    out, err = process.communicate()
    steps = [int(line) for line in out.split()]
    assert process.returncode == 0, err
    assert steps == list(range(steps[0], STEPS + 1))
    assert max(said - EVERY, 1) < steps[0] <= said + 1
    began = re.search(rf"(\d+)/{STEPS} ", err)  # the bar as it is first shown
    assert int(began[1]) == steps[0] - 1

    model = fresh()
    losses = train(model, batches(), steps=STEPS, accumulate=ACCUMULATE, progress=False)
    found = torch.load(end, weights_only=True)
    assert found[0] == losses
    assert all(torch.equal(found[1][name], value) for name, value in model.state_dict().items())


def run(keep: Path | None = None, **changes: Any) -> tuple[nn.Module, list[float]]:
    """A short run; `model` and `batches` may be others."""
    model = changes.pop("model", None) or fresh()
    stream = changes.pop("batches", None) or map(copy_task, range(40))
    losses = train(model, stream, **{"steps": 20, "keep": keep, "every": 6, "progress": False, **changes})
    return model, losses


class Stop(Exception):  # noqa: N818 - no error
    pass


def stop_at(step: int) -> Callable[[list[float]], None]:
    def watch(losses: list[float]) -> None:
        if len(losses) == step:
            raise Stop

    return watch


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A run that was stopped after 15 of its 20 steps, and kept after 12."""
    path = tmp_path / "kept.pt"
    with pytest.raises(Stop):
        run(path, watch=stop_at(15))
    assert list(tmp_path.iterdir()) == [path]
    return path


def test_to_keep_a_run_changes_nothing_in_it(tmp_path: Path) -> None:
    model, losses = run()
    for every in (1, 7, 50):
        same, same_losses = run(tmp_path / f"{every}.pt", every=every)
        assert same_losses == losses
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), same.parameters(), strict=True))


def test_it_goes_on_after_the_last_step_kept_whatever_weights_the_model_has(kept: Path) -> None:
    steps: list[int] = []
    model, losses = run(kept, model=fresh(5), watch=lambda so_far: steps.append(len(so_far)))
    assert steps == list(range(13, 21))
    whole, whole_losses = run()
    assert losses == whole_losses
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), whole.parameters(), strict=True))


def test_a_run_that_has_ended_is_read_and_not_taken_again(kept: Path) -> None:
    model, losses = run(kept)
    again, same = run(kept, model=fresh(5), watch=stop_at(20))
    assert same == losses
    assert not again.training
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_how_often_it_is_kept_may_change(kept: Path) -> None:
    assert run(kept, every=1)[1] == run()[1]


def test_numbers_of_numpy_are_kept_as_numbers(tmp_path: Path) -> None:
    numbers = {"steps": np.int64(20), "lr": np.float64(0.002), "accumulate": np.int64(1)}
    losses = run(tmp_path / "run.pt", **numbers)[1]
    assert run(tmp_path / "run.pt")[1] == losses


def test_batches_that_draw_from_the_common_random_numbers_go_on_too(tmp_path: Path) -> None:
    def drawn() -> Iterator[Batch]:
        while True:
            tokens = torch.randint(V, (4, 6))
            yield Batch(tokens, torch.full((4,), 3), torch.ones_like(tokens, dtype=torch.bool))

    def still() -> TinyPrefixLM:
        torch.manual_seed(0)
        return TinyPrefixLM(V, d_model=8, n_heads=2, max_len=6, dropout=0.0)

    whole = run(model=still(), batches=drawn())[1]
    with pytest.raises(Stop):
        run(tmp_path / "run.pt", model=still(), batches=drawn(), watch=stop_at(15))
    assert run(tmp_path / "run.pt", model=still(), batches=drawn())[1] == whole


class Causal(TinyPrefixLM):
    """The same weights under another mask."""

    def forward(self, tokens: Tensor, prefix_len: Tensor, *, valid: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(tokens, torch.zeros_like(prefix_len), valid=valid)


def another(kind: type[TinyPrefixLM] = TinyPrefixLM, **changes: int) -> TinyPrefixLM:
    torch.manual_seed(0)
    return kind(V, **{"d_model": 32, "n_heads": 4, "n_layers": 2, "max_len": 6, "dropout": 0.1, **changes})


def last_example_changed(seed: int) -> Batch:
    batch = copy_task(seed)
    tokens = batch.tokens.clone()
    tokens[-1, -1] = (tokens[-1, -1] + 1) % V
    return Batch(tokens, batch.prefix_len, batch.valid)


OTHER_MODEL = "holds a run of another model"
OTHER_BATCHES = "holds a run on other batches: step 12 was not taken on those that are there now"
OTHERS: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "steps": (lambda: {"steps": 30}, "holds a run with steps=20, and this one has steps=30: delete it"),
    "lr": (lambda: {"lr": 1e-3}, r"holds a run with lr=0.002, and this one has lr=0.001: delete it"),
    "accumulate": (lambda: {"accumulate": 2}, "with accumulate=1, and this one has accumulate=2"),
    "another width": (lambda: {"model": another(d_model=16)}, OTHER_MODEL),
    "another depth": (lambda: {"model": another(n_layers=3)}, OTHER_MODEL),
    "fewer layers": (lambda: {"model": another(n_layers=1)}, OTHER_MODEL),
    "other heads, same weights": (lambda: {"model": another(n_heads=2)}, OTHER_MODEL),
    "another mask, same weights": (lambda: {"model": another(Causal)}, OTHER_MODEL),
    "other positions, same weights": (lambda: {"model": another(RotaryPrefixLM)}, OTHER_MODEL),
    "another seed of the batches": (lambda: {"batches": map(copy_task, range(1, 41))}, OTHER_BATCHES),
    "batches of another size": (lambda: {"batches": repeat(copy_task(11, batch=8))}, OTHER_BATCHES),
    "one id": (lambda: {"batches": map(last_example_changed, range(40))}, OTHER_BATCHES),
    "batches that are not from the first on": (
        lambda: {"batches": map(copy_task, range(12, 40))},
        OTHER_BATCHES,
    ),
    "too few batches": (lambda: {"batches": map(copy_task, range(11))}, OTHER_BATCHES),
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_run_is_refused_and_nothing_is_changed(kept: Path, other: str) -> None:
    make, says = OTHERS[other]
    changes, before = make(), kept.read_bytes()
    model = changes.setdefault("model", fresh())
    weights = [weight.clone() for weight in model.parameters()]
    with pytest.raises(ValueError, match=re.escape(str(kept)) + f".*{says}"):
        run(kept, **changes)
    assert kept.read_bytes() == before
    assert list(kept.parent.iterdir()) == [kept]
    assert all(torch.equal(a, b) for a, b in zip(weights, model.parameters(), strict=True))


def test_batches_have_a_fingerprint_of_all_that_they_are() -> None:
    batch = copy_task()
    other_p = Batch(batch.tokens, batch.prefix_len - 1, batch.valid)
    other_valid = Batch(
        batch.tokens, batch.prefix_len, batch.valid.clone().index_fill_(1, torch.tensor([5]), False)
    )
    other_shape = Batch(batch.tokens.view(16, 12), batch.prefix_len, batch.valid)
    found = [[batch], [batch, batch], [copy_task(1)], [batch, copy_task(1)], [copy_task(1), batch], []]
    found += [[other_p], [other_valid], [other_shape]]
    assert len({fingerprint(each) for each in found}) == len(found)
    assert fingerprint([batch]) == fingerprint([copy_task()])


DAMAGES: dict[str, Callable[[Path, bytes], object]] = {
    "empty": lambda path, _: path.write_bytes(b""),
    "text": lambda path, _: path.write_text("losses: 1, 2, 3\n", encoding="utf-8"),
    "its first byte": lambda path, whole: path.write_bytes(whole[:1]),
    "a third": lambda path, whole: path.write_bytes(whole[: len(whole) // 3]),
    "all but the end": lambda path, whole: path.write_bytes(whole[:-30]),
    "nothing but the end": lambda path, whole: path.write_bytes(whole[-len(whole) // 2 :]),
    "zeros in the middle": lambda path, whole: path.write_bytes(
        whole[: len(whole) // 2] + bytes(4000) + whole[len(whole) // 2 + 4000 :]
    ),
    "weights alone": lambda path, _: torch.save(fresh().state_dict(), path),
    "a tensor": lambda path, _: torch.save(torch.zeros(3), path),
    "a list": lambda path, _: torch.save([1.0, 2.0], path),
    "a number": lambda path, _: torch.save(3, path),
    "no losses": lambda path, _: torch.save({**torch.load(path), "losses": None}, path),
    "losses that are words": lambda path, _: torch.save({**torch.load(path), "losses": ["low"]}, path),
    "asked for nothing": lambda path, _: torch.save({**torch.load(path), "asked": {}}, path),
    "no random numbers": lambda path, _: torch.save({"asked": {"steps": 20}, "losses": [1.0]}, path),
    "a checkpoint": lambda path, _: save_file(fresh().state_dict(), path),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_damaged_or_no_run_is_refused_and_left_alone(kept: Path, damage: str) -> None:
    whole = kept.read_bytes()
    DAMAGES[damage](kept, whole)
    damaged = kept.read_bytes()
    assert damaged != whole
    with pytest.raises(ValueError, match=r"kept\.pt is damaged, or it is no run that train kept: delete it"):
        run(kept)
    assert kept.read_bytes() == damaged


class Bomb:
    """What a pickle can do when it is opened."""

    def __init__(self, crater: Path) -> None:
        self.crater = crater

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.crater),)


@pytest.mark.parametrize("form", ["a pickle", "a file of torch", "hidden among the losses"])
def test_a_file_that_would_run_code_is_refused_and_nothing_runs(kept: Path, form: str) -> None:
    crater = kept.parent / "crater"
    if form == "a pickle":
        kept.write_bytes(pickle.dumps(Bomb(crater)))
        pickle.loads(kept.read_bytes())  # noqa: S301 - to see that it would
    else:
        hidden = {**torch.load(kept), "losses": [1.0, Bomb(crater)]}
        torch.save(Bomb(crater) if form == "a file of torch" else hidden, kept)
        torch.load(kept, weights_only=False)
    assert crater.is_dir()
    crater.rmdir()
    with pytest.raises(ValueError, match="is damaged, or it is no run"):
        run(kept)
    assert not crater.exists()


def test_a_run_whose_loss_is_no_number_leaves_what_was_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="use a smaller lr"):
        run(tmp_path / "run.pt", steps=40, lr=1e6, every=1)
    losses = torch.load(tmp_path / "run.pt")["losses"]
    assert np.isfinite(losses).all()


def test_a_run_that_cannot_be_written_to_its_end_leaves_what_was_kept(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept.read_bytes()

    def full(state: object, path: Path) -> None:
        path.write_bytes(before[:1000])
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("prefixlm_teach.runs.torch.save", full)
        with pytest.raises(OSError, match="the disk is full"):
            run(kept)
    assert kept.read_bytes() == before
    assert list(kept.parent.iterdir()) == [kept]
    assert run(kept)[1] == run()[1]


def test_a_folder_in_its_place_is_named_before_a_step_is_taken(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"keep is .*, which is a folder: name a file in it"):
        run(tmp_path, batches=iter([]))
    with pytest.raises(FileNotFoundError, match=r"keep is .*nowhere.*, but there is no folder"):
        run(tmp_path / "nowhere" / "run.pt", batches=iter([]))
