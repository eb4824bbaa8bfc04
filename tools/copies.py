"""Working copies: the reader's own notebooks, made from `chapters/` and never overwritten once changed.

`update_copies()` lays the pages of `_toc.yml` (the notebook of a chapter, the text of any other page), their
images and the table of contents in a folder of the reader's own. A manifest in that folder holds the hash of
every file as it was laid there: a file that still has that hash is untouched and is renewed when the handbook
changes; any other is the reader's and stays as it is. A notebook counts as touched once a cell was edited,
tagged or run, or its metadata changed; what JupyterLab writes into a notebook that was only opened does not.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import toc
from notebooks import read_notebook

MANIFEST = ".handbook.json"
COUNTED = ("cell_type", "source", "outputs", "attachments")  # of a cell, beside its tags
WRITTEN_BY_JUPYTERLAB = {"kernelspec", "language_info", "widgets"}  # unasked, in a notebook's metadata


@dataclass
class Report:
    """What `update_copies()` did, as paths relative to the folder of the working copies.

    Attributes:
        made: Files that were not there.
        renewed: Untouched files that now hold the handbook's newer version.
        removed: Untouched files that the handbook no longer has.
        kept: Files the reader changed, and of which the handbook has a newer version.
    """

    made: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def sources(project: Path) -> dict[str, Path]:
    """Return what the working copies are made from: path in the copies -> file in the project.

    Raises:
        ValueError: A chapter has no notebook yet.
    """
    found = {"_toc.yml": project / "_toc.yml", "_config.yml": project / "lab" / "_config.yml"}
    for page in toc.pages(project):
        source = page.with_suffix(".ipynb") if toc.is_chapter(page) else page
        if not source.is_file():
            raise ValueError(f"{source.name} is missing: `make chapters` makes it from {page.name}.")
        found[source.relative_to(project).as_posix()] = source
    images = (project / "chapters" / "images").rglob("*")
    found |= {image.relative_to(project).as_posix(): image for image in images if image.is_file()}
    return found


def update_copies(project: Path, copies: Path) -> Report:
    """Bring the working copies up to date without touching what the reader changed.

    Args:
        project: The handbook's folder.
        copies: The folder of the working copies; it is created if need be.

    Returns:
        What was made, renewed, removed and kept.

    Raises:
        ValueError: A chapter has no notebook yet.
        OSError: The folder cannot be written.
    """
    report = Report()
    laid = _read_manifest(copies)
    now: dict[str, str] = {}
    current = sources(project)
    for name, source in current.items():
        target = copies / name
        new, started_from = _hash(source), laid.get(name, "")
        present = _hash(target) if target.exists() else None
        now[name] = new
        if present is None:
            _write(target, source.read_bytes())
            report.made.append(name)
        elif present not in (new, started_from):
            now[name] = started_from  # the reader's, and known as theirs by this next time
            if new != started_from:
                report.kept.append(name)
        elif present != new:
            _write(target, source.read_bytes())
            report.renewed.append(name)
    for name in laid.keys() - current.keys():
        target = copies / name
        if target.is_file() and _hash(target) == laid[name]:
            target.unlink()
            report.removed.append(name)
    _write(copies / MANIFEST, json.dumps(now, indent=1, sort_keys=True).encode())
    return report


def _read_manifest(copies: Path) -> dict[str, str]:
    # Without a readable manifest every file counts as the reader's, so nothing can be lost.
    try:
        laid = json.loads((copies / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return laid if isinstance(laid, dict) else {}


def _write(path: Path, content: bytes) -> None:
    # Whole or not at all: a reader may stop us at any moment.
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)


def _hash(path: Path) -> str:
    if path.is_dir():
        return "a folder"  # the reader's: no file of the handbook has this hash
    content = path.read_bytes()
    if path.suffix == ".ipynb":
        try:
            notebook = read_notebook(path)
        except ValueError:
            pass  # not a notebook any more: its bytes count
        else:
            cells = [
                [cell.metadata.get("tags"), *(cell.get(key) for key in COUNTED)] for cell in notebook.cells
            ]
            own = {key: value for key, value in notebook.metadata.items() if key not in WRITTEN_BY_JUPYTERLAB}
            content = json.dumps([cells, own], sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()
