"""The README says what is so: its picture, its links, its commands."""

import re
import subprocess
import sys
from pathlib import Path

import make_readme_picture
import pytest
import toc
import yaml

from prefixlm_teach import SplitExplorer

RUN_WITHOUT_CHECKS = """
import sys, types
sys.path.insert(0, sys.argv.pop())
sys.modules["toc"] = types.ModuleType("toc")
import run_tests
sys.exit(run_tests.main())
"""
README = (toc.PROJECT / "README.md").read_text(encoding="utf-8")


def test_the_pictures_words_are_those_made_from_its_data() -> None:
    picture = SplitExplorer(make_readme_picture.TOKENS, prefix_len=7).picture()
    assert f"![{picture.alt}](chapters/images/explorer.png)" in README


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_link_leads_somewhere(name: str) -> None:
    text = (toc.PROJECT / name).read_text(encoding="utf-8")
    anchors = {re.sub(r"\W+", "-", title.lower()) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    prose = re.sub(r"`[^`]*`", "", text)  # code may show how a link is written
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        assert target[1:] in anchors if target.startswith("#") else (toc.PROJECT / target).is_file(), target


def test_every_command_exists() -> None:
    makefile = (toc.PROJECT / "Makefile").read_text(encoding="utf-8")
    text = README + (toc.PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
        assert f"\n{target}:" in makefile, target
    for script in re.findall(r"python (tools/\w+\.py)", text):
        assert (toc.PROJECT / script).is_file(), script


def test_the_citation_has_the_packages_version() -> None:
    citation = yaml.safe_load((toc.PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    project = (toc.PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{citation["version"]}"' in project
    assert citation["authors"] == [{"name": "The Prefix LM Handbook authors"}]


def test_checks_that_are_not_installed_are_named(tmp_path: Path) -> None:
    # An interpreter without site-packages stands for one where only reading was installed.
    done = subprocess.run(
        [sys.executable, "-S", "-c", RUN_WITHOUT_CHECKS, str(toc.PROJECT / "tools")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 1
    assert "ruff, mypy, pytest, nbval cannot be found" in done.stderr
    assert "make test" in done.stderr
