"""The experiment that adapts a causal model: its models and runs, and a slice of what was written down."""

from __future__ import annotations

import json
from pathlib import Path

import adaptation
import pytest
import torch
from adaptation import EXPERIMENT, KINDS, MODELS, RATES, SEEDS, STEPS, Run, comparison, make_model, tuning
from again import first_loss
from torch import nn

from prefixlm_teach import BalancedEncoderDecoder, TinyCausalLM, TinyPrefixLM, load_checkpoint

CLASSES = dict(zip(KINDS, [TinyCausalLM, TinyPrefixLM, *[BalancedEncoderDecoder] * 2], strict=True))


@pytest.mark.parametrize(("kind", "begun"), MODELS)
def test_a_model_is_of_the_kind_and_the_origin_of_its_name(kind: str, begun: str) -> None:
    torch.manual_seed(0)
    model, (causal, _) = make_model(kind, begun), load_checkpoint("g2p_causal")
    assert type(model) is CLASSES[kind]
    assert getattr(model, "causal_encoder", None) == (
        None if kind in ("causal", "prefix") else kind == "causal-encoder"
    )
    kept = {
        name: torch.equal(weight, model.state_dict()[name])
        for name, weight in causal.state_dict().items()
        if name in model.state_dict()
    }
    assert kept["output.weight"] == kept["token_emb.weight"] == (begun == "checkpoint")
    assert model.max_len == causal.max_len


@pytest.mark.parametrize("kind", KINDS[1:])
def test_twins_have_the_same_parameters(kind: str) -> None:
    def shapes(model: nn.Module) -> dict[str, torch.Size]:
        return {name: weight.shape for name, weight in model.named_parameters()}

    assert shapes(make_model(kind, "checkpoint")) == shapes(make_model(kind, "scratch"))


def test_each_model_is_compared_at_the_rate_that_did_best_over_all_seeds_and_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EXPERIMENT, "results", tmp_path)
    best = {model: RATES[i % len(RATES)] for i, model in enumerate(MODELS)}
    runs = list(tuning())
    assert len(runs) == len({run.name for run in runs}) == len(MODELS) * len(RATES)
    for run in runs:
        error = 0.2 if run.lr == best[run.kind, run.begun] else 0.3
        EXPERIMENT.path(run).write_text(json.dumps({"validation": {"phoneme": error}}), encoding="utf-8")
    compared = list(comparison())
    assert [run.name for run in compared[:4]] == [f"{kind}-checkpoint-t0-lr0-s1" for kind in KINDS]
    wanted = {(*model, steps, seed, best[model]) for model in MODELS for steps in STEPS for seed in SEEDS}
    assert {tuple(run) for run in compared[4:]} == wanted
    assert len(compared) == 4 + len(wanted)


def test_a_run_without_steps_is_the_checkpoint_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[nn.Module] = []

    def measure(model: nn.Module, split: str) -> dict[str, float]:
        asked.append(model)
        return {"word": 0.5}

    monkeypatch.setattr("performing.HERE", tmp_path)
    monkeypatch.setattr(adaptation, "measure", measure)
    experiment = adaptation.Experiment("adaptation", {}, adaptation.perform)
    run = Run("prefix", "checkpoint", 0, 1, 0.0)
    experiment.perform_and_write(run)
    result = experiment.result(run)
    assert (result["loss_every_50"], result["test"]) == ([], {"word": 0.5})
    weights = load_checkpoint("g2p_causal")[0].state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in asked[0].state_dict().items())


def test_the_first_steps_of_a_run_are_those_that_were_written_down() -> None:
    """Of the first run that has any."""
    results = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted(EXPERIMENT.results.glob("*.json"))
    ]
    for result in [result for result in results if result["steps"]][:1]:
        run = Run(**{field: result[field] for field in Run._fields})
        assert first_loss(adaptation.learn, run) == pytest.approx(result["loss_every_50"][0], abs=3e-4)


def test_what_was_written_down_is_complete_and_stands_under_its_name() -> None:
    for path in sorted(EXPERIMENT.results.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        assert path.stem == Run(**{field: result[field] for field in Run._fields}).name
        assert len(result["loss_every_50"]) == result["steps"] // 50
        for split in ("validation", "test"):
            assert 0 < result[split]["phoneme"] < result[split]["word"]
