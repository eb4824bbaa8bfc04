"""`_toc.yml` gives the pages in order, and front matter tells chapters from other pages."""

from pathlib import Path

import pytest
import toc

CHAPTER = "---\njupytext:\n  formats: ipynb,md:myst\nkernelspec:\n  name: python3\n---\n\n# A chapter\n"


def make(project: Path, order: str, **texts: str) -> None:
    (project / "_toc.yml").write_text(order, encoding="utf-8")
    for name, text in texts.items():
        (project / f"{name}.md").write_text(text, encoding="utf-8")


def test_pages_come_in_the_books_order_and_chapters_have_a_kernel(tmp_path: Path) -> None:
    order = """
root: index
parts:
  - caption: First
    chapters:
      - file: b
        sections:
          - file: c
  - caption: Then
    chapters:
      - file: a
      - url: https://example.org
        title: Elsewhere
"""
    plain = "Text\n\n---\nkernelspec: no front matter\n---\n"
    make(tmp_path, order, index="---\ntitle: I\n---\n", a=CHAPTER, b=plain, c=CHAPTER)
    assert [page.stem for page in toc.pages(tmp_path)] == ["index", "b", "c", "a"]
    assert [page.stem for page in toc.chapters(tmp_path)] == ["c", "a"]


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ("chapters:\n  - file: a\n", "needs a root page"),
        ("root: a\nchapters:\n  - file: b\n", "names b, but there is no b.md"),
        ("root: a\nchapters:\n  - file: a\n", "names a more than once"),
    ],
)
def test_a_wrong_order_is_named(tmp_path: Path, order: str, why: str) -> None:
    make(tmp_path, order, a="# A\n")
    with pytest.raises(ValueError, match=why):
        toc.pages(tmp_path)


def test_the_handbooks_own_order_starts_at_the_index_and_chapter_one() -> None:
    assert toc.pages()[0].stem == "index"
    assert toc.chapters()[0].stem == "01_mask"


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (None, "_toc.yml, which gives the order of the book, is missing"),
        ("root: a\nchapters:\n", "_toc.yml: `chapters:` needs a list below it"),
        ("root: a\nchapters:\n  - b\n", "_toc.yml: `chapters:` needs a list below it"),
        ("root: a\nchapters: [\n", "_toc.yml is not YAML that can be read: "),
        ("root: b\n", "_toc.yml names no chapter"),
    ],
)
def test_an_order_that_cannot_be_read_is_told_in_a_sentence(
    tmp_path: Path, order: str | None, why: str
) -> None:
    make(tmp_path, order or "", a=CHAPTER, b="# B\n")
    if order is None:
        (tmp_path / "_toc.yml").unlink()
    with pytest.raises(ValueError, match=f"^{why}"):
        toc.chapters(tmp_path)


@pytest.mark.parametrize(
    "head", ["---\nkernelspec: [\n---\n", "---\n- kernelspec\n---\n", "---\nkernelspec:\n"]
)
def test_front_matter_that_cannot_be_read_is_told_with_its_page(tmp_path: Path, head: str) -> None:
    make(tmp_path, "root: a\n", a=head)
    with pytest.raises(ValueError, match=r"\ba\.md") as raised:
        toc.chapters(tmp_path)
    assert "\n" not in str(raised.value)
