"""A student's zip, unpacked: its notebooks run from top to bottom, and bring the package along."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import exercises
import nbclient
import nbformat
import pytest
from classroom_zips import FOR_STUDENTS, make_zips
from notebooks import KERNEL_ENVIRONMENT, code_cells


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("student")
    make_zips(exercises.solution_pages(), folder / "zips")
    with zipfile.ZipFile(folder / "zips" / FOR_STUDENTS) as archive:
        archive.extractall(folder)
    return folder / Path(FOR_STUDENTS).stem


@pytest.mark.parametrize("name", [page.stem for page in exercises.solution_pages()])
def test_a_notebook_runs_as_it_is_handed_out(
    unpacked: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in KERNEL_ENVIRONMENT.items():
        monkeypatch.setenv(variable, value)
    notebook = nbformat.read(unpacked / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(unpacked)}}).execute()
    said = [
        output.data["text/plain"]
        for cell in code_cells(notebook)
        if cell.source.startswith("check.")
        for output in cell.outputs
    ]
    assert len(said) >= 3
    assert all(text.startswith("○ ") for text in said), said


def test_the_first_cell_installs_the_package_from_the_zip_without_a_network(unpacked: Path) -> None:
    bare = unpacked.parent / "bare"
    subprocess.run([sys.executable, "-m", "venv", str(bare)], check=True)
    python = bare / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    first = code_cells(nbformat.read(next(unpacked.glob("*.ipynb")), as_version=4))[0]

    def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        kept |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull} | environment
        command = [str(python), "-c", code]
        return subprocess.run(command, cwd=unpacked, env=kept, capture_output=True, text=True, check=False)

    alone = run(first.source)
    assert "pip could not install prefixlm_teach; it says why above. Without a network" in alone.stderr
    there = run(first.source, PIP_NO_DEPS="1")  # as where everything else is installed already
    assert there.returncode == 0, there.stderr
    found = run("import importlib.util; print(importlib.util.find_spec('prefixlm_teach').origin)")
    assert Path(found.stdout.strip()).is_relative_to(bare)
