"""`python tools/lab.py` says in a sentence what keeps it from starting."""

import shutil
import subprocess
import sys
from pathlib import Path

import toc


def start(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "tools/lab.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_python_without_the_handbook_is_named() -> None:
    ran = start(toc.PROJECT, "-S")  # -S: without what is installed, as outside the environment
    assert ran.returncode != 0
    assert ran.stderr.startswith("jupyterlab and prefixlm_teach cannot be found by ")
    assert "Traceback" not in ran.stderr


def test_a_chapter_never_run_keeps_it_from_starting(tmp_path: Path) -> None:
    for folder in ("tools", "lab"):
        shutil.copytree(toc.PROJECT / folder, tmp_path / folder)
    (tmp_path / "chapters").mkdir()
    (tmp_path / "_toc.yml").write_text("root: chapters/one\n", encoding="utf-8")
    (tmp_path / "chapters/one.md").write_text("---\nkernelspec:\n  name: python3\n---\n", encoding="utf-8")
    ran = start(tmp_path)
    assert ran.returncode != 0
    assert ran.stderr == (
        "The working copies could not be made: one.ipynb is missing: `make chapters` makes it from one.md.\n"
    )
