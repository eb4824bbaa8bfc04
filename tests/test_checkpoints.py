"""Checkpoints: what is written comes back, and a file that cannot be read says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from prefixlm_teach import (
    ExpertBlock,
    MixtureOfExperts,
    RotaryPrefixLM,
    TinyCausalLM,
    TinyEncoderDecoder,
    TinyPrefixLM,
    Vocabulary,
    error_rates,
    g2p_vocabulary,
    load_checkpoint,
    pronounce,
    save_checkpoint,
    words_of,
)
from prefixlm_teach.checkpoints import FOLDER

VOCABULARY = Vocabulary("abc")
ROOT = Path(__file__).parent.parent
SHIPPED = {"g2p_prefix": TinyPrefixLM, "g2p_causal": TinyCausalLM}


def model_of(**changes: int | float) -> TinyPrefixLM:
    torch.manual_seed(0)
    return TinyPrefixLM(
        **{"vocab_size": 3, "d_model": 8, "n_heads": 2, "n_layers": 1, "max_len": 6, **changes}
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "modèle.safetensors"
    save_checkpoint(path, model_of(), VOCABULARY, made={"seed": 0})
    return path


@pytest.mark.parametrize(
    "changes", [{}, {"n_heads": 4}, {"n_layers": 3}, {"max_len": 9}, {"d_model": 16}, {"dropout": 0.5}]
)
def test_a_model_comes_back_as_it_was(tmp_path: Path, changes: dict[str, int | float]) -> None:
    model = model_of(**changes)
    save_checkpoint(tmp_path / "m.safetensors", model, VOCABULARY, made={})
    loaded, vocabulary = load_checkpoint(tmp_path / "m.safetensors")
    tokens = torch.tensor([[0, 1, 2, 1]])
    assert torch.equal(loaded(tokens, 2), model.eval()(tokens, 2))
    assert loaded.max_len == model.max_len
    assert loaded.dropout.p == model.dropout.p
    assert vocabulary.symbols == VOCABULARY.symbols


def test_a_loaded_model_is_in_eval_mode(saved: Path) -> None:
    assert not load_checkpoint(saved)[0].training


def test_the_file_holds_weights_and_nothing_that_runs(saved: Path) -> None:
    assert load_file(saved).keys() == model_of().state_dict().keys()


def test_an_unknown_name_says_which_there_are_and_how_to_load_a_file() -> None:
    with pytest.raises(ValueError, match=r"unknown checkpoint 'nobody' \(there are: .*Path\('nobody'\)"):
        load_checkpoint("nobody")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no checkpoint at .*gone\.safetensors"):
        load_checkpoint(tmp_path / "gone.safetensors")
    with pytest.raises(FileNotFoundError, match="there is no checkpoint at"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("wrong", [None, 3, b"g2p_prefix"])
def test_what_is_neither_name_nor_path_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="checkpoint must be a name or a pathlib"):
        load_checkpoint(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "damage", ["empty", "garbage", "cut short", "no metadata", "a weight missing", "other sizes"]
)
def test_a_damaged_file_is_called_damaged(saved: Path, damage: str) -> None:
    whole = saved.read_bytes()
    damaged = saved.with_name("abîmé.safetensors")
    if damage == "no metadata":
        save_file(model_of().state_dict(), damaged)
    else:
        header = 8 + int.from_bytes(whole[:8], "little")
        changed = {
            "empty": b"",
            "garbage": b"version https://git-lfs.example/spec\n" * 9,
            "cut short": whole[:-40],
            "a weight missing": whole[:header].replace(b'"output.bias"', b'"output.bios"') + whole[header:],
            "other sizes": whole.replace(b'\\"max_len\\": 6', b'\\"max_len\\": 7'),
        }
        damaged.write_bytes(changed[damage])
    assert damaged.read_bytes() != whole
    with pytest.raises(ValueError, match=r"abîmé\.safetensors is damaged, or it is no checkpoint"):
        load_checkpoint(damaged)


def test_a_vocabulary_of_another_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the vocabulary has 2 symbols, but the model has 3 ids"):
        save_checkpoint(tmp_path / "m.safetensors", model_of(), Vocabulary("ab"), made={})
    assert not (tmp_path / "m.safetensors").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere: make it first"):
        save_checkpoint(tmp_path / "nowhere" / "m.safetensors", model_of(), VOCABULARY, made={})
    with pytest.raises(TypeError, match="path must be a pathlib"):
        save_checkpoint("m.safetensors", model_of(), VOCABULARY, made={})  # type: ignore[arg-type]


def test_the_package_brings_two_checkpoints_under_3_mb_that_are_of_their_kind() -> None:
    assert {path.stem for path in FOLDER.glob("*.safetensors")} == set(SHIPPED)
    for name, kind in SHIPPED.items():
        assert (FOLDER / f"{name}.safetensors").stat().st_size < 3_000_000
        model, vocabulary = load_checkpoint(name)
        assert type(model) is kind
        assert vocabulary.symbols == g2p_vocabulary().symbols
    assert type(load_checkpoint()[0]) is TinyPrefixLM


@pytest.mark.parametrize("name", SHIPPED)
def test_their_error_rates_are_those_that_were_written_down(name: str) -> None:
    """On all test words: another machine may round one of them otherwise, but not many."""
    path = ROOT / "experiments" / "results" / f"{name}.json"
    written = json.loads(path.read_text(encoding="utf-8"))
    model, vocabulary = load_checkpoint(name)
    words = sorted(words_of("test"), key=len)
    answers = []
    for start in range(0, len(words), 512):
        answers += pronounce(model, vocabulary, words[start : start + 512])
    assert error_rates(words, answers)._asdict() == pytest.approx(written["test"], abs=1e-3)
    assert 0.2 < written["test"]["word"] < 0.45
    assert written["parameters"] == sum(weight.numel() for weight in model.parameters())
    assert written["steps"] == len(written["loss_every_100"]) * 100


def test_a_rotary_model_comes_back_as_one(tmp_path: Path) -> None:
    """Its weights have the names of TinyPrefixLM's, which would compute something else with them."""
    torch.manual_seed(0)
    model = RotaryPrefixLM(3, d_model=8, n_heads=2, n_layers=1, max_len=6).eval()
    save_checkpoint(tmp_path / "m.safetensors", model, VOCABULARY, made={})
    loaded, _ = load_checkpoint(tmp_path / "m.safetensors")
    tokens = torch.tensor([[0, 1, 2, 1]])
    assert torch.equal(loaded(tokens, 2), model(tokens, 2))
    plain = model_of().eval()
    plain.load_state_dict(model.state_dict())
    assert not torch.allclose(loaded(tokens, 2), plain(tokens, 2), atol=1e-3)


def test_a_model_that_could_not_be_built_again_is_refused(tmp_path: Path) -> None:
    class Causal(TinyPrefixLM):
        pass

    for model in (Causal(3, d_model=8, max_len=6), TinyEncoderDecoder(3, d_model=8, max_len=6)):
        with pytest.raises(
            TypeError, match=f"model is a {type(model).__name__}, but a checkpoint holds a Tiny"
        ):
            save_checkpoint(tmp_path / "m.safetensors", model, VOCABULARY, made={})  # type: ignore[arg-type]
    experts = TinyPrefixLM(3, d_model=8, max_len=6)
    experts.blocks[1] = ExpertBlock(8, 4, MixtureOfExperts(8, 2))
    with pytest.raises(TypeError, match="model has a block of another kind, ExpertBlock"):
        save_checkpoint(tmp_path / "m.safetensors", experts, VOCABULARY, made={})
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_is_written_whole_or_not_at_all(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = saved.read_bytes(), []

    def full(weights: dict[str, torch.Tensor], path: Path, metadata: dict[str, str]) -> None:
        Path(path).write_bytes(before[:100])
        seen.append(saved.read_bytes())
        raise OSError("the disk is full")

    monkeypatch.setattr("prefixlm_teach.checkpoints.save_file", full)
    with pytest.raises(OSError, match="the disk is full"):
        save_checkpoint(saved, model_of(n_layers=3), VOCABULARY, made={})
    assert seen == [before]
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"path is .*, which is a folder: name a file in it"):
        save_checkpoint(tmp_path, model_of(), VOCABULARY, made={})


def test_a_model_in_another_precision_is_refused(tmp_path: Path) -> None:
    model, vocabulary = load_checkpoint()
    with pytest.raises(TypeError, match=r"in torch.float64, but a file holds float32: use model.float\(\)"):
        save_checkpoint(tmp_path / "double.safetensors", model.double(), vocabulary, made={})
    assert not list(tmp_path.iterdir())
