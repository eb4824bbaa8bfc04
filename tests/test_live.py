"""The live curve: in a real notebook one picture, replaced in place; elsewhere nothing."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from prefixlm_teach import LiveCurve, live, plot_loss_curve

TRAINING = """
import time
from itertools import repeat
import torch
from prefixlm_teach import Batch, LiveCurve, TinyPrefixLM, train

torch.manual_seed(0)
tokens = torch.randint(8, (4, 6))
batch = Batch(tokens, torch.full((4,), 3), torch.ones_like(tokens, dtype=torch.bool))
curve = LiveCurve(30, smooth=5)

def slowly(losses):
    curve(losses)
    time.sleep(0.1)  # the run takes more than three seconds

model = TinyPrefixLM(8, d_model=8, n_heads=2, max_len=6)
losses = train(model, repeat(batch), steps=30, watch=slowly, progress=False)
"""


@pytest.fixture(scope="module")
def ran() -> tuple[NotebookNode, list[dict[str, Any]]]:
    """A notebook that was run, and each picture that was sent meanwhile, with how it was sent."""
    notebook = new_notebook(cells=[new_code_cell(TRAINING), new_code_cell("print(losses)")])
    sent: list[dict[str, Any]] = []

    class Client(nbclient.NotebookClient):
        def process_message(self, msg: Any, cell: NotebookNode, cell_index: int) -> Any:
            if msg["msg_type"] in ("display_data", "update_display_data"):
                sent.append({"kind": msg["msg_type"], "moment": msg["header"]["date"], **msg["content"]})
            return super().process_message(msg, cell, cell_index)

    Client(notebook, timeout=120, kernel_name="python3").execute()
    return notebook, sent


def test_the_notebook_keeps_one_picture_of_the_whole_run_with_its_words(
    ran: tuple[NotebookNode, list[dict[str, Any]]],
) -> None:
    notebook, _ = ran
    nbformat.validate(notebook)
    (output,) = notebook.cells[0].outputs
    losses = [float(x) for x in notebook.cells[1].outputs[0].text.strip("[]\n").split(",")]
    assert len(losses) == 30
    wanted = plot_loss_curve(losses, smooth=5)
    assert output.data["text/plain"] == wanted.alt
    assert output.metadata["image/png"]["alt"] == wanted.alt
    assert base64.b64decode(output.data["image/png"]) == wanted.png
    assert f'alt="{wanted.alt}"' in output.data["text/html"]


def test_pictures_replace_each_other_in_place_at_most_once_a_second(
    ran: tuple[NotebookNode, list[dict[str, Any]]],
) -> None:
    _, sent = ran
    assert [each["kind"] for each in sent] == ["display_data"] + ["update_display_data"] * (len(sent) - 1)
    assert len({each["transient"]["display_id"] for each in sent}) == 1
    steps = [int(each["data"]["text/plain"].partition(" over ")[2].split()[0]) for each in sent]
    assert steps == sorted(set(steps))
    assert steps[0] == 1
    assert steps[-1] == 30
    assert len(steps) > 3
    *moments, _ = [each["moment"] for each in sent]  # the last step is drawn whenever it comes
    assert all((after - before).total_seconds() >= 1 for before, after in pairwise(moments))


class Place:
    """Stands for the output that is replaced."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, picture: Any) -> None:
        self.shown.append(picture.alt)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A notebook without a notebook, in which a second passes only when the test says so."""
    place = Place()

    def display(picture: Any, *, display_id: bool) -> Place:
        assert display_id
        place.update(picture)
        return place

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(live, "in_notebook", lambda: True)
    return place


def test_within_a_second_only_the_first_and_the_last_step_are_drawn(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1e6]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    curve, losses = LiveCurve(9), []
    for step, moment in enumerate([0, 0.3, 0.9, 1.1, 1.2, 2.0, 2.2, 2.3, 2.4], start=1):
        now[0] = 1e6 + moment
        losses.append(1.0)
        curve(losses)
        last = len(place.shown)
        assert last == {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 3, 8: 3, 9: 4}[step]
    assert "over 9 steps" in place.shown[-1]


def test_a_new_curve_has_a_place_of_its_own(place: Place) -> None:
    for _ in range(2):
        LiveCurve(2)([1.0])
    assert len(place.shown) == 2


OUTSIDE = """
import sys
from prefixlm_teach import LiveCurve
LiveCurve(1)([1.0])
print("IPython" in sys.modules)

import IPython
LiveCurve(1)([1.0])

from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance()
assert IPython.get_ipython() is not None
LiveCurve(1)([1.0])
"""


def test_outside_of_a_notebook_it_shows_nothing_and_imports_nothing(tmp_path: Path) -> None:
    """In a script, where IPython happens to be imported, and in IPython's own terminal."""
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", OUTSIDE], capture_output=True, text=True, check=True, env=environment
    )
    assert (done.stdout, done.stderr) == ("False\n", "")
