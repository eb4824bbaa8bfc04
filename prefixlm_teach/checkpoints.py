"""Trained models that come with the package: weights in safetensors, how they were made in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load_file, save_file

from prefixlm_teach.arguments import check_known
from prefixlm_teach.data import Vocabulary
from prefixlm_teach.model import TinyPrefixLM

FOLDER = Path(__file__).with_name("weights")


def save_checkpoint(
    path: Path, model: TinyPrefixLM, vocabulary: Vocabulary, *, config: dict[str, Any], made: dict[str, Any]
) -> None:
    """Write a model's weights, its arguments and its vocabulary into one file.

    Args:
        path: the file to write.
        model: the model.
        vocabulary: its ids.
        config: the arguments that build it, `TinyPrefixLM(**config)`.
        made: how it was made: script, seed, steps, versions, what you like.
    """
    metadata = {"config": config, "symbols": vocabulary.symbols, "made": made}
    save_file(model.state_dict(), path, metadata={key: json.dumps(value) for key, value in metadata.items()})


def load_checkpoint(name: str | Path = "g2p_prefix") -> tuple[TinyPrefixLM, Vocabulary]:
    """Load a trained model in eval mode, with its vocabulary.

    Args:
        name: the name of a checkpoint of the package, or the path of a file that `save_checkpoint` wrote.

    Raises:
        ValueError: the package has no checkpoint of that name.
        FileNotFoundError: there is no file at that path.
    """
    if isinstance(name, str):
        shipped = {path.stem: path for path in sorted(FOLDER.glob("*.safetensors"))}
        check_known(f"checkpoint (there are {', '.join(shipped)}):", [name], shipped)
        name = shipped[name]
    with safe_open(name, framework="pt") as file:
        metadata = {key: json.loads(value) for key, value in file.metadata().items()}
    model = TinyPrefixLM(**metadata["config"])
    model.load_state_dict(load_file(name))
    return model.eval(), Vocabulary(metadata["symbols"])
