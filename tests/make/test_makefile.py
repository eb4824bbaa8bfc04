"""`make` picks a Python, installs only when need be, and says in a sentence what is wrong."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import toc


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    """Return a copy of what `make` needs before anything is installed."""
    folder = tmp_path / "hand bók"
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "tools/install.sh"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(toc.PROJECT / name, folder / name)
    return folder


def make(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def path_with(folder: Path, **scripts: str) -> str:
    """Return a PATH that has the tools `make` uses, and these scripts, but no Python."""
    folder.mkdir()
    for tool in ("sh", "grep", "uname", "touch"):
        (folder / tool).symlink_to(shutil.which(tool) or tool)
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return str(folder)


def test_a_python_that_is_named_and_wrong_is_refused(handbook: Path) -> None:
    ran = make(handbook, "lab", "PYTHON=/no/such/python")
    assert ran.returncode != 0
    assert "PYTHON=/no/such/python is not a Python 3.11 or newer" in ran.stderr
    assert not (handbook / ".venv").exists()


def test_without_a_new_enough_python_it_says_which_is_needed(handbook: Path, tmp_path: Path) -> None:
    make_itself = shutil.which("make")
    old = path_with(tmp_path / "bin", python3="exit 1  # what an older Python answers to the question")
    ran = subprocess.run(
        [make_itself, "lab"], cwd=handbook, env={"PATH": old}, capture_output=True, text=True, check=False
    )
    assert ran.returncode != 0
    assert "The handbook needs Python 3.11 or newer, and none was found." in ran.stderr


def test_when_no_environment_can_be_made_it_names_the_missing_package(handbook: Path, tmp_path: Path) -> None:
    # Debian's python3 without python3-venv passes the version check and cannot make environments.
    bare = path_with(tmp_path / "bin", python3='[ "$1" = -c ] || [ "$1" = --version ]')
    ran = subprocess.run(
        [shutil.which("make"), "lab"],
        cwd=handbook,
        env={"PATH": bare},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode != 0
    assert "install the package python3-venv first" in ran.stderr


def test_an_install_that_fails_is_not_taken_for_done(handbook: Path) -> None:
    nowhere = {"PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    ran = make(handbook, "lab", PIP_NO_INDEX="1", **nowhere)
    assert ran.returncode != 0
    assert "Making .venv with Python 3." in ran.stdout
    assert "The install failed; pip says why above." in ran.stderr
    assert not (handbook / ".venv/read.stamp").exists()

    ran = make(handbook, "lab", f"TORCH_INDEX={handbook.as_uri()}", **nowhere)
    assert ran.returncode != 0
    assert "Making .venv" not in ran.stdout, "the environment is there already"
    assert f"Installing PyTorch from {handbook.as_uri()}." in ran.stdout
    assert "PyTorch could not be installed from TORCH_INDEX=" in ran.stderr


@pytest.mark.parametrize("changed", ["pyproject.toml", "requirements.lock"])
def test_it_installs_again_only_when_what_is_needed_changed(handbook: Path, changed: str) -> None:
    assert "install.sh read" in make(handbook, "-n", "lab").stdout
    (handbook / ".venv").mkdir()
    (handbook / ".venv/read.stamp").touch()
    assert "install.sh" not in make(handbook, "-n", "lab").stdout
    assert "install.sh test" in make(handbook, "-n", "test").stdout
    later = (handbook / ".venv/read.stamp").stat().st_mtime + 10
    os.utime(handbook / changed, (later, later))
    assert "install.sh read" in make(handbook, "-n", "lab").stdout


def test_every_target_is_real(handbook: Path) -> None:
    for target in ("lab", "test", "test-all", "chapters", "classroom", "book", "bench", "experiments"):
        assert make(handbook, "-n", target).returncode == 0
