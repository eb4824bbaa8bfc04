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
        ValueError: `_toc.yml` is missing, malformed or without a root, or a page comes twice or is missing.
    """
    path = project / "_toc.yml"
    if not path.is_file():
        raise ValueError(f"_toc.yml, which gives the order of the book, is missing from {project}.")
    toc = _parse(path.read_text(encoding="utf-8"), "_toc.yml")
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
        children = entry.get(group, [])
        if not isinstance(children, list) or not all(isinstance(child, dict) for child in children):
            raise ValueError(f"_toc.yml: `{group}:` needs a list below it, as in `- file: chapters/01_mask`.")
        for child in children:
            if "file" in child:
                yield child["file"]
            yield from _files(child)


def front_matter(page: Path) -> dict[str, Any]:
    """Return the YAML between the first two `---` lines of a page; empty if it has none.

    Raises:
        ValueError: It is not YAML that names things, or no second `---` ends it.
    """
    lines = page.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0].strip() != "---":
        return {}
    if "---" not in lines[1:]:
        raise ValueError(f"{page.name}: no second `---` line ends its front matter.")
    head = _parse("\n".join(lines[1 : lines.index("---", 1)]), f"the front matter of {page.name}")
    if not isinstance(head, dict | None):
        raise ValueError(f"the front matter of {page.name} needs lines like `title: The mask`.")
    return head or {}


def _parse(text: str, what: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        why = " ".join(str(error).split())
        raise ValueError(f"{what} is not YAML that can be read: {why}") from error


def is_chapter(page: Path) -> bool:
    """Tell whether a page is run: its front matter names a kernel."""
    return "kernelspec" in front_matter(page)


def chapters(project: Path = PROJECT) -> list[Path]:
    """Return the text (`.md`) of every chapter with code, in the book's order.

    Raises:
        ValueError: As in `pages` and `front_matter`, or there is no chapter.
    """
    found = [page for page in pages(project) if is_chapter(page)]
    if not found:
        raise ValueError(
            "_toc.yml names no chapter: no page in it names its `kernelspec` in its front matter."
        )
    return found
