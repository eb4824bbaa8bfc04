"""What gives a solution away: its lines, its statements, and what it puts out.

The traces of all pages of solutions, less all that a learner may read anyway: the chapters, README.md, the
package without its checks, and what is handed out. A line that one exercise gives may well be part of the
solution of another, but not a piece of several lines: that is a trace all the same.
"""

import ast
import base64
import builtins
import hashlib
import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import exercises
import toc
from nbformat import NotebookNode
from notebooks import read_text
from unpacking import parsed, unpack

# What neither a new layout nor Sphinx's typography can change.
LAYOUT = re.compile(r"[\s*_`\"'“”\u2018\u2019\\]+")
LINE = 16  # characters of a line that tells by itself
SHORTEST = 8  # of anything that is searched for
STATEMENT = 12  # nodes of a statement, or an expression, that tells by itself
TWO_STATEMENTS = 16
MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION", "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
BUILT_IN = set(dir(builtins))
NAMED_IN = {ast.Name: "id", ast.arg: "arg", ast.FunctionDef: "name", ast.ClassDef: "name"}
SEVERAL = re.compile(r" |^(FunctionDef|ClassDef|For|While|If|With|Try)$")  # kinds of several statements
UNNAMED = {"ctx", "type_comment", "annotation", "returns", "type_params", "kind", "decorator_list"}
Kind = tuple[str, int]  # what sort of node, and how many it is made of


@dataclass
class Traces:
    """What must not be found in a file that learners get; each trace with the place it comes from.

    Attributes:
        words: squeezed text -> place.
        shapes: the shape of a statement, or of two in a row -> place.
        kinds: of these shapes.
        pictures: SHA-256 of a picture -> place.
    """

    words: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)
    kinds: set[Kind] = field(default_factory=set)
    pictures: dict[str, str] = field(default_factory=dict)

    def add(self, other: "Traces") -> None:
        """Take in other traces."""
        self.words |= other.words
        self.shapes |= other.shapes
        self.kinds |= other.kinds
        self.pictures |= other.pictures

    def forget(self, texts: Iterable[str | bytes]) -> None:
        """Drop the traces of what stands in some texts, or is one of some pictures."""
        squeezed = []
        for text in texts:
            if isinstance(text, bytes):
                self.pictures.pop(_digest(text), None)
                continue
            squeezed.append(squeeze(text))
            if (code := parsed(text)) is not None:
                for _, shape in shapes(code, self.kinds):
                    self.shapes.pop(shape, None)
        known = "\n".join(squeezed)
        self.words = {word: place for word, place in self.words.items() if word not in known}


def traces(project: Path = toc.PROJECT) -> Traces:
    """Return the traces of all solutions of the handbook."""
    lines, pieces, handed_out = Traces(), Traces(), list[str]()
    for page in exercises.solution_pages(project):
        given = exercises.handed_out(page).cells
        for cell, own in zip(read_text(page).cells, given, strict=True):
            place = f"solutions/{page.name}, {cell.metadata.get('nbgrader', {}).get('grade_id', 'a cell')}"
            for of_page, of_cell in zip((lines, pieces), _of_cell(cell, place), strict=True):
                of_cell.forget([own.source])
                of_page.add(of_cell)
        handed_out += [cell.source for cell in given]
        lines.add(_of_outputs(page.with_suffix(".ipynb")))
    lines.forget(handed_out)
    lines.add(pieces)
    lines.forget(_known(project))
    lines.words |= {squeeze(marker): "a marker of solutions and hidden tests" for marker in MARKERS}
    return lines


def squeeze(text: str) -> str:
    """Return a text without anything that depends on how it is laid out."""
    return LAYOUT.sub("", text).casefold()


def shapes(code: ast.Module, kinds: Container[Kind] | None = None) -> Iterator[tuple[Kind, str]]:
    """Yield kind and shape of each statement and expression of some code, and of any two statements in a row.

    A shape is the syntax tree with its variables numbered in the order in which they come, so that code with
    other names, comments, annotations and docstrings has the same one. Small ones, which anybody might write,
    are left out. A kind is what shapes must have in common to be the same.

    Args:
        code: a syntax tree.
        kinds: leave out shapes that are of none of these.
    """
    sizes: dict[ast.AST, int] = {}
    _measure(code, sizes)
    for node, size in sizes.items():
        kind = (type(node).__name__, size)
        if isinstance(node, ast.stmt | ast.expr) and size >= STATEMENT and (kinds is None or kind in kinds):
            yield kind, _shape(node, {})
        body = getattr(node, "body", None)
        body = [each for each in body if not _is_text(each)] if isinstance(body, list) else []
        for pair in pairwise(body):
            kind = (" ".join(type(each).__name__ for each in pair), sum(sizes[each] for each in pair))
            if kind[1] >= TWO_STATEMENTS and (kinds is None or kind in kinds):
                names: dict[str, str] = {}
                yield kind, " then ".join(_shape(each, names) for each in pair)


def _measure(node: ast.AST, sizes: dict[ast.AST, int]) -> int:
    """Note for each node how many it is made of, and return that of this one."""
    size = int(isinstance(node, ast.stmt | ast.expr | ast.arg | ast.keyword))
    for name, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST) and name not in UNNAMED and not _is_text(each):
                size += _measure(each, sizes)
    sizes[node] = size
    return size


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a docstring, or `...`."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _shape(node: object, names: dict[str, str]) -> str:
    if isinstance(node, list):
        return "[" + ",".join(_shape(each, names) for each in node if not _is_text(each)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Name) and node.id in BUILT_IN:
        return node.id
    parts = []
    for name, value in ast.iter_fields(node):
        if NAMED_IN.get(type(node)) == name:
            parts.append(names.setdefault(value, f"v{len(names)}"))
        elif name not in UNNAMED:
            parts.append(_shape(value, names))
    return f"{type(node).__name__}({','.join(parts)})"


def _of_cell(cell: NotebookNode, place: str) -> tuple[Traces, Traces]:
    """Return the traces of a cell's lines and statements, and those of pieces of several."""
    lines, pieces = Traces(), Traces()
    if cell.cell_type == "markdown":
        if cell.metadata.get("nbgrader", {}).get("solution"):
            _add_words(lines, pieces, re.split(r"\n|(?<=[.:;!?])\s+", cell.source), place)
        return lines, pieces
    regions = [*exercises.SOLUTION.finditer(cell.source), *exercises.HIDDEN.finditer(cell.source)]
    for region in regions:
        _add_words(lines, pieces, region[0].splitlines()[1:-1], place)
    if regions:
        whole = "\n".join(line for line in cell.source.splitlines() if line.strip() not in MARKERS)
        pieces.words[squeeze(whole)] = place
        if (code := parsed(whole)) is not None:
            for kind, shape in shapes(code):
                traces = pieces if SEVERAL.search(kind[0]) else lines
                traces.shapes[shape] = place
                traces.kinds.add(kind)
    return lines, pieces


def _add_words(lines: Traces, pieces: Traces, text: list[str], place: str) -> None:
    """Add the lines that tell by themselves; any three in a row, and all of them."""
    text = [line.strip() for line in text if squeeze(line)]
    for line in text:
        for part in (line, *line.split("  # ")):  # with its comment, and without
            if len(word := squeeze(part)) >= LINE and not re.match(r"(from|import)\s", part):
                lines.words[word] = place
    runs = [text[start : start + 3] for start in range(len(text) - 2)]
    for run in [*runs, text]:
        if len(word := squeeze("".join(run))) >= SHORTEST:
            (pieces if len(run) > 1 else lines).words[word] = place


def _of_outputs(notebook: Path) -> Traces:
    """Return the traces of what a notebook shows."""
    found = Traces()
    for cell in _cells(notebook):
        grading = cell["metadata"].get("nbgrader", {})
        place = f"what solutions/{notebook.name} shows in {grading.get('grade_id', 'a cell')}"
        for piece in _shown(cell):
            if isinstance(piece, bytes):
                found.pictures[_digest(piece)] = place
            else:
                _add_words(found, found, piece.splitlines(), place)
    return found


def _cells(notebook: Path) -> list[dict[str, Any]]:
    return list(json.loads(notebook.read_text(encoding="utf-8"))["cells"]) if notebook.is_file() else []


def _shown(cell: dict[str, Any]) -> Iterator[str | bytes]:
    """Yield what a cell's outputs show: text, the state of explorers, and pictures."""
    for output in cell.get("outputs", ()):
        yield "".join(output.get("text", ""))
        for kind, content in output.get("data", {}).items():
            if kind == "image/png":
                yield base64.b64decode(content)
            elif kind.endswith("json"):
                yield json.dumps(content.get("state", content), ensure_ascii=False)
            elif kind != "text/html":  # which says what text/plain says, with the picture in it
                yield "".join(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _known(project: Path) -> Iterator[str | bytes]:
    """Yield what a learner may read anyway."""
    readme = project / "README.md"
    for page in [*(project / "chapters").glob("*.md"), *([readme] if readme.is_file() else [])]:
        text = page.read_text(encoding="utf-8")
        before, _, rest = text.partition(f"\n{exercises.BEGINS}")
        rest = rest.partition(exercises.ENDS)[2]
        for part in (before, rest):
            yield from unpack(part)
    for notebook in (project / "chapters").glob("*.ipynb"):
        for cell in _cells(notebook):
            yield from _shown(cell)
    for picture in (project / "chapters" / "images").glob("*.png"):
        yield picture.read_bytes()
    package = project / "prefixlm_teach"
    for module in package.rglob("*.py"):
        if not module.is_relative_to(package / "checks"):
            yield module.read_text(encoding="utf-8")
