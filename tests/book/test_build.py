"""The book is made alike each time, from what is there now, and not at all when something is wrong."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import toc

MARK = "// changed after the notebook ran"
VIEW = "application/vnd.jupyter.widget-view+json"
HARD = ["<script>alert(1)</script>", '"quoted"', "&lt;", "</SCRIPT >", "<!--", "🙂", "שלום", "w" * 300, "\\n"]


def copy_of_the_handbook(folder: Path) -> Path:
    """Copy what the book is made from."""
    for name in ("book", "chapters", "prefixlm_teach", "tools"):
        ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        shutil.copytree(toc.PROJECT / name, folder / name, ignore=ignored)
    shutil.copy(toc.PROJECT / "_toc.yml", folder)
    return folder


def make_book(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "tools/build_book.py"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def with_hard_tokens(path: Path) -> None:
    """Put tokens that could break a page into a notebook's split explorer and its words."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    views = [output["data"] for output in outputs if VIEW in output.get("data", {})]
    shown = next(data for data in views if data[VIEW]["explorer"] == "split")
    shown[VIEW]["state"] = {"tokens": HARD, "prefix_len": 4}
    shown["text/plain"] = " ".join(HARD)
    path.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the handbook with its book made."""
    folder = copy_of_the_handbook(tmp_path_factory.mktemp("made"))
    ran = make_book(folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "01_mask.html" in ran.stdout, "it says what the pages weigh"
    return folder


def test_two_builds_in_two_places_are_alike_byte_for_byte(made: Path, tmp_path: Path) -> None:
    again = copy_of_the_handbook(tmp_path / "another place")
    assert make_book(again).returncode == 0
    first, second = files(made / "build/book"), files(again / "build/book")
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []


def test_changed_javascript_is_in_the_next_book_and_no_notebook_ran(made: Path, tmp_path: Path) -> None:
    changed = copy_of_the_handbook(tmp_path / "changed")
    with_hard_tokens(changed / "chapters/01_mask.ipynb")
    notebooks = files(changed / "chapters")
    shutil.copytree(made / "build/book", changed / "build/book")
    script = changed / "prefixlm_teach/widgets/grid.js"
    script.write_text(f"{MARK}\n{script.read_text(encoding='utf-8')}", encoding="utf-8")
    (changed / "build/book/left over.html").write_text("", encoding="utf-8")
    base = "https://handbook.example/book/"
    ran = make_book(changed, PREFIXLM_BOOK_URL=base)
    assert ran.returncode == 0, ran.stderr
    page = (changed / "build/book/01_mask.html").read_text(encoding="utf-8")
    assert MARK in page
    assert MARK not in (made / "build/book/01_mask.html").read_text(encoding="utf-8")
    assert files(changed / "chapters") == notebooks
    assert not (changed / "build/book/left over.html").exists()

    # Its explorer holds hard tokens.
    state = re.search(r'data-explorer="split">(.*?)</script>', page, re.DOTALL)
    assert state
    assert json.loads(state[1])["tokens"] == HARD
    assert page.count("alert(1)") == 2, "in the state and in the alternative text"
    assert "<script>alert(1)" not in page

    # This build also knows where it will stand.
    assert f'<meta property="og:image" content="{base}_static/card.png">' in page
    assert '<meta property="og:title" content="1. The mask">' in page
    assert (changed / "build/book/_static/card.png").read_bytes()[:4] == b"\x89PNG"
    sitemap = (changed / "build/book/sitemap.xml").read_text(encoding="utf-8")
    assert sitemap.count("<loc>") == len(toc.pages())
    assert f"<loc>{base}glossary.html</loc>" in sitemap
    assert f'<base href="{base}">' in (changed / "build/book/404.html").read_text(encoding="utf-8")


def test_the_book_has_the_exercises_and_their_solutions_only_when_they_are_asked_for(
    made: Path, tmp_path: Path
) -> None:
    page = (made / "build/book/01_mask.html").read_text(encoding="utf-8")
    assert 'id="exercise-1-1-what-the-target-sees"' in page
    assert not list((made / "build/book").rglob("solutions*"))

    asked = copy_of_the_handbook(tmp_path / "asked")
    ran = make_book(asked, SOLUTIONS="1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "It holds the solutions of the exercises." in ran.stdout
    solved = (asked / "build/book/solutions/01_mask.html").read_text(encoding="utf-8")
    assert "✓ Exercise 1.1: right." in solved
    assert 'href="../01_mask.html#the-rule"' in solved
    index = (asked / "build/book/index.html").read_text(encoding="utf-8")
    assert 'href="solutions/01_mask.html"' in index
    chapters = re.search(r'data-chapters="([^"]*)"', index)
    assert chapters
    assert chapters[1].split() == [page.stem for page in toc.chapters()], (
        "solutions are no chapters to be read"
    )


def test_a_solution_in_an_exercise_of_a_chapter_fails_the_book(tmp_path: Path) -> None:
    folder = copy_of_the_handbook(tmp_path / "told")
    path = folder / "chapters/01_mask.ipynb"
    text = path.read_text(encoding="utf-8")
    assert '"pairs = None"' in text
    path.write_text(
        text.replace('"pairs = None"', '"pairs = 6 + 7 + 8 + 9 + 10 + 11 + 12"'), encoding="utf-8"
    )
    ran = make_book(folder)
    assert ran.returncode != 0
    assert "The book would give solutions away:\n01_mask.html: " in ran.stderr
    assert "solutions/01_mask.md, mask-1-answer" in ran.stderr
    assert not (folder / "build/book").exists()


def test_a_book_without_an_address_has_no_sitemap_and_no_card(made: Path) -> None:
    assert not (made / "build/book/sitemap.xml").exists()
    assert "og:" not in (made / "build/book/01_mask.html").read_text(encoding="utf-8")


def test_whatever_is_wrong_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    folder = copy_of_the_handbook(tmp_path / "wrong")
    page = folder / "chapters/notation.md"
    wrong = """
[x](glossary.md#no-such-term) [y](references.md#nobody2099) [z](05_nothing.ipynb)

[a](01_mask.ipynb#the-rule "figure 2") [b](01_mask.ipynb#no-such-heading "equation")
[c](01_mask.ipynb#the-two-ends "equation") [d](01_mask.ipynb#1-the-mask "figure") [e](#letters "figure")

![](images/explorer.png)
"""
    page.write_text(page.read_text(encoding="utf-8") + wrong, encoding="utf-8")
    levels = folder / "book/levels.yml"
    levels.write_text(levels.read_text(encoding="utf-8") + "  - no such level term\n", encoding="utf-8")
    path = folder / "chapters/02_attention.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    pictures = [output["data"] for output in outputs if "image/png" in output.get("data", {})]
    del next(data for data in pictures if VIEW in data)[VIEW]["state"]["table"]
    pictures[0] |= {"text/plain": "<Figure size 640x480 with 1 Axes>"}
    pictures[1] |= {VIEW: {"model_id": "x"}}
    path.write_text(json.dumps(notebook), encoding="utf-8")
    ran = make_book(folder)
    assert ran.returncode != 0
    assert "The book was not made" in ran.stdout
    assert not (folder / "build/book").exists()
    for what in (
        "no-such-term",
        "nobody2099",
        "05_nothing.ipynb",
        "notation.md: WARNING: a picture has no alternative text: _images/explorer.png",
        "02_attention.ipynb: WARNING: a picture has no alternative text: _images/",
        "a widget that is no explorer",
        "the explorer has changed: run the chapter again",
        "levels.yml names 'no such level term'",
        """the title of a link can be "equation" or "figure", not 'figure 2'""",
        "local id not found in doc '01_mask': 'no-such-heading'",
        "the equation below #the-two-ends of 01_mask, where there is none",
        "the figure below #the-mask of 01_mask, where there is 1.1 and 1.2 and 1.3",
        "the figure below #letters of notation, where there is none",
    ):
        assert what in ran.stderr, what
