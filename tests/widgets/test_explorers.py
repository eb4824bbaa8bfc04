"""What every explorer must be without a browser: a module, a style, a picture, a stable id."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys

import pytest
import torch
from shown import NAMES, kind_of, names_with_tokens, restore

from prefixlm_teach.widgets.base import FOLDER, VIEW, Explorer

EXPLORERS = {explorer.name: explorer for explorer in Explorer.__subclasses__()}
MAKE = """
import json, sys
sys.path[:0] = {path!r}
from shown import kind_of
made = [kind_of({name!r}).make() for _ in range(2)]
print(json.dumps([[each._repr_mimebundle_(), repr(each), each.layout.model_id] for each in made]))
"""


@pytest.mark.parametrize("name", NAMES)
def test_two_explorers_have_ids_of_their_own(name: str) -> None:
    one, two = kind_of(name).make(), kind_of(name).make()
    assert len({one.model_id, two.model_id, one.layout.model_id, two.layout.model_id}) == 4


@pytest.mark.parametrize("name", NAMES)
def test_a_fresh_session_changes_no_byte(name: str) -> None:
    script = MAKE.format(path=sys.path, name=name)
    runs = [
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1] != b""


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_shows_the_live_view_a_picture_and_a_sentence(name: str) -> None:
    explorer = kind_of(name).make()
    data, metadata = explorer._repr_mimebundle_()
    view = data[VIEW]
    assert view == json.loads(json.dumps(view))
    assert (view["explorer"], view["model_id"]) == (name, explorer.model_id)
    assert view["state"] == explorer.state()  # no source text: that may change without running the notebook
    assert not [trait for trait in view["state"] if trait.startswith("_")]
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert metadata["image/png"]["alt"] == data["text/plain"]
    assert data["text/html"].count("<img ") == 1  # what JupyterLab shows, with its words, if nothing can run
    assert len(data["text/plain"]) > 100


@pytest.mark.parametrize("name", names_with_tokens())
def test_half_a_character_is_drawn_as_a_control_character_is(name: str) -> None:
    pictures = [kind_of(name).make_hard(["k", odd, *"abcdefgh"]).picture() for odd in ("\ud800", "·")]
    assert pictures[0].png == pictures[1].png


@pytest.mark.parametrize("name", NAMES)
def test_the_readers_default_device_is_not_asked(name: str) -> None:
    explorer = kind_of(name).make()
    words, said = explorer.picture(), explorer.description
    torch.set_default_device("meta")
    try:
        again = explorer.picture()
        assert (again.png, again.alt, explorer.description) == (words.png, words.alt, said)
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_follows_every_slider_and_every_button(name: str) -> None:
    kind = kind_of(name)
    explorer = kind.make()
    for slider in kind.sliders(explorer):
        shown = set()
        for value in {slider.first, slider.first + 1, slider.last(explorer)}:
            slider.move(explorer, value)
            assert slider.value(explorer) == value
            shown.add((explorer.picture().png, explorer.picture().alt))
        assert len(shown) > 1, slider.label
    for choice in kind.choices:
        choice.choose(explorer)
        assert explorer.picture().png


@pytest.mark.parametrize("name", NAMES)
def test_a_state_as_json_makes_the_same_explorer(name: str) -> None:
    explorer = kind_of(name).make()
    again = restore(name, json.loads(json.dumps(explorer.state())))
    assert again.state() == explorer.state()
    assert again.picture().png == explorer.picture().png


@pytest.mark.parametrize("name", NAMES)
def test_the_module_is_one_plain_es_module(name: str) -> None:
    source = EXPLORERS[name]._esm
    assert source.count("export default { render };") == 1
    for outside in ("import ", "import(", "require(", "fetch(", "innerHTML", "insertAdjacentHTML", "eval("):
        assert outside not in source
    assert "Function(" not in source
    addresses = {line for line in source.splitlines() if "http" in line}
    assert addresses == {'const SVG = "http://www.w3.org/2000/svg";'}


@pytest.mark.parametrize("name", NAMES)
def test_every_class_is_our_own(name: str) -> None:
    style = re.sub(r"/\*.*?\*/", "", EXPLORERS[name]._css, flags=re.DOTALL)
    in_style = set(re.findall(r"\.([a-zA-Z][\w-]*)", style))
    in_module = {
        name for names in re.findall(r"class: [\"`]([^\"`]*)", EXPLORERS[name]._esm) for name in names.split()
    }
    assert in_style
    assert in_module
    assert [name for name in in_style | in_module if not name.startswith("plx-")] == []


def test_every_file_of_the_folder_belongs_to_an_explorer() -> None:
    used = {file for explorer in EXPLORERS.values() for file in explorer.files()}
    assert used == {path.stem for path in FOLDER.glob("*.js")}
    assert used >= {path.stem for path in FOLDER.glob("*.css")}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_only_cannot_be_changed_from_the_page(name: str) -> None:
    explorer = kind_of(name).make()
    before = explorer.state()
    explorer.set_state({"tokens": ["z"], "examples": [["z"]], "table": "", "unknown": 1})
    assert explorer.state() == before


def test_another_sequence_has_another_id_even_as_the_first_of_its_session() -> None:
    """A cell that was not run again must not show the explorer of another cell."""
    script = "from prefixlm_teach import SplitExplorer; print(SplitExplorer({tokens!r}, 1).model_id)"
    ids = {
        subprocess.run(
            [sys.executable, "-c", script.format(tokens=tokens)], check=True, capture_output=True
        ).stdout
        for tokens in (["a", "b"], ["a", "c"])
    }
    assert len(ids) == 2
