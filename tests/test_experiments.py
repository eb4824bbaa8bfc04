"""The experiments: a slice is run again and finds what was written down; their models, parts and order."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from again import first_loss
from g2p import EXPERIMENT, Run, learn, width
from g2p_models import make_model
from performing import Experiment

from prefixlm_teach import g2p_vocabulary

ROOT = Path(__file__).parent.parent
AGAIN = "causal-learned-l3-d128-lr0.001-t600-s0"


def written(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXPERIMENT.results / f"{name}.json").read_text(encoding="utf-8"))
    return found


def run_of(result: dict[str, Any]) -> Run:
    return Run(**{field: result[field] for field in Run._fields})


def test_the_first_steps_of_a_run_are_those_that_were_written_down() -> None:
    """Bit for bit on one machine; another kind of machine rounds otherwise, and by far less than this."""
    result = written(AGAIN)
    assert first_loss(learn, run_of(result)) == pytest.approx(result["loss_every_50"][0], abs=3e-4)


def test_what_was_written_down_is_complete_and_stands_under_its_name() -> None:
    paths = sorted(EXPERIMENT.results.glob("*.json"))
    assert f"{AGAIN}.json" in [path.name for path in paths]
    for path in paths:
        result = written(path.stem)
        assert path.stem == run_of(result).name
        assert len(result["loss_every_50"]) == result["steps"] // 50
        for split in ("validation", "test"):
            assert 0 < result[split]["phoneme"] < result[split]["word"] <= 1


@pytest.mark.parametrize(
    "kind",
    ["causal-learned", "prefix-restarting", "causal-rotary", "prefix-rotary", "encdec-2-1", "encdec-2-2"],
)
def test_the_models_have_about_as_many_parameters(kind: str) -> None:
    model = make_model(
        kind, vocab_size=len(g2p_vocabulary()), d_model=width(Run(kind, 0)), n_layers=3, max_len=64
    )
    count = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    assert count == pytest.approx(620_000, rel=0.03)


def test_the_mask_and_the_positions_of_a_model_are_those_of_its_name() -> None:
    """Which token moves which row: words of three letters, a separator, three phonemes."""
    torch.manual_seed(0)
    tokens, p = torch.randint(3, 69, (1, 7)), torch.tensor([4])
    valid = torch.ones_like(tokens, dtype=torch.bool)
    changed = tokens.clone()
    changed[0, 2] = (changed[0, 2] - 2) % 66 + 3
    for position in ("learned", "restarting", "rotary"):
        for mask in ("causal", "prefix"):
            model = make_model(f"{mask}-{position}", vocab_size=69, d_model=16, n_layers=2, max_len=64).eval()
            moved = (model(changed, p, valid=valid) != model(tokens, p, valid=valid)).any(-1)[0].tolist()
            assert moved == [mask == "prefix"] * 2 + [True] * 5
            used: list[list[int]] = []
            model.model.pos_emb.register_forward_hook(
                lambda _, given, out, used=used: used.append(given[0].flatten().tolist())
            )
            model(tokens, p, valid=valid)
            counted = [0, 1, 2, 3, 0, 1, 2] if position == "restarting" else list(range(7))
            assert used == [counted]
            assert bool(model.model.pos_emb.weight.any()) == (position != "rotary")


def test_a_result_is_written_whole_after_its_run_and_never_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    performed: list[Run] = []

    def perform(asked: Run, kept: Path) -> dict[str, Any]:
        performed.append(asked)
        kept.touch()
        return {"seed": asked.seed, "seconds": 1}

    monkeypatch.setattr("performing.HERE", tmp_path)
    run = Run("causal-learned", 0)
    experiment = Experiment("some", {}, perform)
    for _ in range(2):
        experiment.perform_and_write(run)
    assert performed == [run]
    assert not list((tmp_path / "kept" / "some").iterdir())
    assert list((tmp_path / "results" / "some").iterdir()) == [experiment.path(run)]
    about = {"script": "experiments/some.py", "torch": torch.__version__.partition("+")[0]}
    assert experiment.result(run) == {**about, "seed": 0, "seconds": 1}


def test_a_run_that_went_on_has_no_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("performing.HERE", tmp_path)
    run = Run("causal-learned", 0)
    experiment = Experiment("some", {}, lambda *_: {"seconds": 3})
    experiment.kept.mkdir(parents=True)
    (experiment.kept / f"{run.name}.pt").touch()
    experiment.perform_and_write(run)
    assert experiment.result(run)["seconds"] is None


def test_a_run_that_fails_leaves_no_result_but_what_it_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def perform(_: Run, kept: Path) -> dict[str, Any]:
        kept.write_text("half", encoding="utf-8")
        raise RuntimeError("out of memory")

    monkeypatch.setattr("performing.HERE", tmp_path)
    experiment, run = Experiment("some", {}, perform), Run("causal-learned", 0)
    with pytest.raises(RuntimeError, match="out of memory"):
        experiment.perform_and_write(run)
    assert not experiment.path(run).exists()
    assert [path.read_text(encoding="utf-8") for path in experiment.kept.iterdir()] == ["half"]


def test_all_parts_are_performed_in_their_order_and_what_is_there_is_left_alone(tmp_path: Path) -> None:
    """With every result there is nothing to run; the parts after the first one read those before."""
    assert list(EXPERIMENT.parts) == ["tune", "main", "sweep"]
    shutil.copytree(
        ROOT / "experiments", tmp_path / "experiments", ignore=shutil.ignore_patterns("kept", "results")
    )
    results = tmp_path / "experiments" / "results" / "g2p"
    results.mkdir(parents=True)
    script = tmp_path / "experiments" / "g2p.py"
    fill = (
        "import json, g2p\n"
        "for part in g2p.EXPERIMENT.parts.values():\n"
        "    for run in part():\n"
        "        error = abs(run.lr - 2e-3) + 0.1 + (run.kind == 'encdec-2-1')\n"
        "        text = json.dumps({'validation': {'phoneme': error}})\n"
        "        g2p.EXPERIMENT.path(run).write_text(text)\n"
    )
    subprocess.run([sys.executable, "-c", fill], cwd=script.parent, check=True)
    before = {path.name: path.read_text(encoding="utf-8") for path in results.iterdir()}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    said = [
        re.fullmatch(r"(\w+): (\d+) of (\d+) runs are there\.", line) for line in done.stdout.splitlines()
    ]
    assert [line[1] for line in said] == ["tune", "main", "sweep"]
    assert [line[2] for line in said] == [line[3] for line in said] == ["32", "35", "60"]
    names = " ".join(before)
    assert "encdec-2-2-lr0.002-t2400" in names  # the better of the two, at its best rate
    assert "encdec-2-1-lr0.002-t2400" not in names
    assert {path.name: path.read_text(encoding="utf-8") for path in results.iterdir()} == before
