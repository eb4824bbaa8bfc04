"""Which pages the book has, in which order, and which of them are chapters with code.

`_toc.yml` is the one place that knows the order (in sphinx-external-toc's format); everything else asks here.
A page is its text, `chapters/NAME.md`. It is a chapter if its front matter names the kernel that runs it; a
chapter is paired with a notebook beside it, `chapters/NAME.ipynb`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).resolve().parent.parent


def pages(project: Path = PROJECT) -> list[Path]:
    """Return the text (`.md`) of every page, in the book's order, the root page first.

    Raises:
        ValueError: `_toc.yml` has no root, names a page twice, or names one that does not exist.
    """
    toc = yaml.safe_load((project / "_toc.yml").read_text(encoding="utf-8"))
    if not isinstance(toc, dict) or "root" not in toc:
        raise ValueError("_toc.yml needs a root page: `root: chapters/index`.")
    names = [toc["root"], *_files(toc)]
    found = []
    for name in names:
        page = project / f"{name}.md"
        if names.count(name) > 1:
            raise ValueError(f"_toc.yml names {name} more than once.")
        if not page.is_file():
            raise ValueError(f"_toc.yml names {name}, but there is no {name}.md.")
        found.append(page)
    return found


def _files(entry: dict[str, Any]) -> Iterator[str]:
    for group in ("parts", "subtrees", "chapters", "entries", "sections"):
        for child in entry.get(group, ()):
            if "file" in child:
                yield child["file"]
            yield from _files(child)


def front_matter(page: Path) -> dict[str, Any]:
    """Return the YAML between the first two `---` lines of a page; empty if it has none."""
    lines = page.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0].strip() != "---" or "---" not in lines[1:]:
        return {}
    head = yaml.safe_load("\n".join(lines[1 : lines.index("---", 1)]))
    return head if isinstance(head, dict) else {}


def is_chapter(page: Path) -> bool:
    """Tell whether a page is run: its front matter names a kernel."""
    return "kernelspec" in front_matter(page)


def chapters(project: Path = PROJECT) -> list[Path]:
    """Return the text (`.md`) of every chapter with code, in the book's order."""
    return [page for page in pages(project) if is_chapter(page)]
