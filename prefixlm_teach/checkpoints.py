"""Trained models that come with the package: weights in safetensors, how they were made in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from prefixlm_teach.causal import TinyCausalLM
from prefixlm_teach.data import Vocabulary
from prefixlm_teach.files import written_whole
from prefixlm_teach.linear_model import LinearPrefixLM
from prefixlm_teach.model import TinyPrefixLM, config_of
from prefixlm_teach.pair_arguments import check_plain_blocks
from prefixlm_teach.rotary import RotaryPrefixLM
from prefixlm_teach.word_arguments import (
    check_file,
    check_float32,
    check_kind,
    check_known,
    check_new_file,
    check_vocabulary_fits,
)

FOLDER = Path(__file__).with_name("weights")
KINDS = {kind.__name__: kind for kind in (TinyPrefixLM, TinyCausalLM, RotaryPrefixLM, LinearPrefixLM)}


def save_checkpoint(path: Path, model: TinyPrefixLM, vocabulary: Vocabulary, *, made: dict[str, Any]) -> None:
    """Write a model's weights, its arguments and its vocabulary into one file, whole or not at all.

    Args:
        path: the file to write.
        model: a `TinyPrefixLM`, a `TinyCausalLM`, a `RotaryPrefixLM` or a `LinearPrefixLM`.
        vocabulary: its ids.
        made: how it was made: script, seed, steps, versions, what you like.

    Raises:
        TypeError: `path` is not a `pathlib.Path`, the model or one of its blocks is of another kind, or a
            weight is not float32.
        ValueError: the vocabulary has more or fewer symbols than the model has ids.
        FileNotFoundError, IsADirectoryError: the folder of `path` is not there, or `path` is one.
    """
    check_new_file("path", path)
    check_vocabulary_fits(len(vocabulary), model.vocab_size)
    check_float32(model)
    kind = type(model).__name__
    check_kind(kind, KINDS)
    check_plain_blocks("model", model)
    config = config_of(model)
    metadata = {"kind": kind, "config": config, "symbols": vocabulary.symbols, "made": made}
    with written_whole(path) as part:
        save_file(model.state_dict(), part, {key: json.dumps(value) for key, value in metadata.items()})


def load_checkpoint(name: str | Path = "g2p_prefix") -> tuple[TinyPrefixLM, Vocabulary]:
    """Load a trained model in eval mode, with its vocabulary.

    Args:
        name: the name of a checkpoint of the package, or the path of a file that `save_checkpoint` wrote.

    Raises:
        TypeError: `name` is neither a name nor a path.
        ValueError: the package has no checkpoint of that name, or the file is damaged or no checkpoint.
        FileNotFoundError: there is no file at that path.
    """
    if isinstance(name, str):
        shipped = {path.stem: path for path in sorted(FOLDER.glob("*.safetensors"))}
        hint = f"there are: {', '.join(shipped)}; for a file of your own, pass Path({name!r})"
        check_known("checkpoint", [name], shipped, hint)
        name = shipped[name]
    check_file("checkpoint", name)
    try:
        with safe_open(name, framework="pt") as file:
            metadata = {key: json.loads(value) for key, value in (file.metadata() or {}).items()}
            weights = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a mapping
        model = KINDS[metadata.get("kind", "TinyPrefixLM")](**metadata["config"])
        model.load_state_dict(weights)
        vocabulary = Vocabulary(metadata["symbols"])
        check_vocabulary_fits(len(vocabulary), model.vocab_size)
        return model.eval(), vocabulary
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        message = f"{name} is damaged, or it is no checkpoint that save_checkpoint wrote"
        raise ValueError(message) from error
