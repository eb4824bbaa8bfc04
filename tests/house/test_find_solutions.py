"""A solution is found in whatever a learner may get, in every form; and what is no solution is left alone."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import io
import json
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace

import exercises
import pytest
import toc
from find_solutions import search, search_content
from notebooks import read_text
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from solution_traces import Traces, traces

BODY = """    piece = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    place = torch.arange(len(piece))
    prompt = piece < len(lengths) - 1
    return (place <= place[:, None]) | (prompt & (piece <= piece[:, None]))
"""
OTHER_NAMES = '''
def answer(sizes: list[int]) -> torch.Tensor:
    """Mine."""
    group = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))  # one number a token
    where = torch.arange(len(group))

    question = group < len(sizes) - 1
    return (where <= where[:, None]) | (question & (group <= group[:, None]))
'''
SAID = "Two inputs that differ in one late target token tell: with the right mask no earlier row may change."


@pytest.fixture(scope="module")
def secret() -> Traces:
    return traces()


def notebook(*cells: dict[str, object]) -> bytes:
    return json.dumps({"cells": [{"metadata": {}, **cell} for cell in cells], "nbformat": 4}).encode()


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def within(text: str) -> bytes:
    """An encoded piece, somewhere in a page."""
    return f"<p>See <a href='x.html'>there</a>.</p>\n<script>const held = '{text}';</script>\n".encode()


HIDDEN_IN: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda leak: leak,
    "UTF-16": lambda leak: leak.decode().encode("utf-16"),
    "base64": lambda leak: within(b64(leak)),
    "base64 in lines": base64.encodebytes,
    "base64 for addresses": lambda leak: within(base64.urlsafe_b64encode(leak).decode().rstrip("=")),
    "base64 after a word": lambda leak: within("payload/" + b64(leak)),
    "a data address": lambda leak: within("data:text/plain;base64," + b64(leak)),
    "base64 of base64": lambda leak: within(b64(b64(leak).encode())),
    "hex": lambda leak: within(leak.hex()),
    "hex with spaces": lambda leak: within(leak.hex(" ")),
    "bytes with backslashes": lambda leak: within("".join(f"\\x{byte:02x}" for byte in leak)),
    "letters with backslashes": lambda leak: within("".join(f"\\u{ord(char):04x}" for char in leak.decode())),
    "zlib": zlib.compress,
    "zlib in base64": lambda leak: within(b64(zlib.compress(leak, 9))),
    "zlib in Python": lambda leak: f"import zlib\nheld = zlib.decompress({zlib.compress(leak)!r})\n".encode(),
    "gzip": gzip.compress,
    "gzip in hex": lambda leak: within(gzip.compress(leak).hex()),
    "JSON": lambda leak: json.dumps({"a": [1, {"b": leak.decode()}]}).encode(),
    "JSON in JSON in JSON": lambda leak: json.dumps([json.dumps({"a": json.dumps(leak.decode())})]).encode(),
    "JSON in base64 in JSON": lambda leak: json.dumps(
        {"state": b64(json.dumps([leak.decode()]).encode())}
    ).encode(),
    "JSON in a page": lambda leak: within(json.dumps({"code": leak.decode()})),
    "percent signs": lambda leak: within(urllib.parse.quote(leak, safe="")),
    "entities": lambda leak: f"<p title='{html.escape(leak.decode())}'>a &lt; b</p>".encode(),
    "a coloured page": lambda leak: highlight(leak.decode(), PythonLexer(), HtmlFormatter()).encode(),
    "a zip": lambda leak: zipped(read=b"me", file=leak),
    "a zip in a zip": lambda leak: zipped(inner=zipped(file=leak)),
    "a zip in base64": lambda leak: within(b64(zipped(file=leak))),
    "a fenced block": lambda leak: b"Text.\n\n```{code-cell} ipython3\n:tags: [x]\n\n" + leak + b"\n```\n",
    "a cell's source": lambda leak: notebook(
        {"cell_type": "code", "source": ["%matplotlib inline\n", *leak.decode().splitlines(keepends=True)]}
    ),
    "a cell's metadata": lambda leak: notebook(
        {"cell_type": "code", "metadata": {"hint": leak.decode()}, "source": "1"}
    ),
    "an attachment": lambda leak: notebook(
        {"cell_type": "markdown", "source": "a", "attachments": {"a.txt": {"text/plain": b64(leak)}}}
    ),
    "an output": lambda leak: notebook(
        {
            "cell_type": "code",
            "source": "1",
            "outputs": [{"output_type": "stream", "text": leak.decode().splitlines(keepends=True)}],
        }
    ),
}


@pytest.mark.parametrize("form", HIDDEN_IN)
@pytest.mark.parametrize("leak", [BODY, OTHER_NAMES], ids=["the lines", "other names"])
def test_a_solution_is_found_in_every_wrapping(secret: Traces, form: str, leak: str) -> None:
    found = search_content("a file", HIDDEN_IN[form](leak.encode()), secret)
    assert any("solutions/01_mask.md, mask-3-answer" in each for each in found), found
    kind = "code" if leak == OTHER_NAMES else "text"
    assert any(f"a file: {kind}: " in each or f"/file: {kind}: " in each for each in found), found


@pytest.mark.parametrize(
    ("leak", "where"),
    [
        ("pairs = 6 + 7 + 8 + 9 + 10 + 11 + 12", "mask-1-answer"),
        ("print(6 + 7 + 8 + 9\n      + 10 + 11 + 12)", "mask-1-answer"),
        ("##....\n##....\n####..\n####..\n#####.\n######\n", "mask-2-answer"),
        ("for x in y:\n    z = x & ~y\n    n = torch.cat([torch.tensor([False]), x[:-1]])", "mask-4-answer"),
        ("#  which picture it is, counted from 1", "mask-4-answer"),
        ("split.prefix_len=6", "mask-5-answer"),
        ("<p>too good a <em>loss</em>\nis the warning.</p>", "mask-6-answer"),
        (SAID.replace(" ", "\n"), "mask-6-answer"),
        ("assert check.pieces_mask(mine, seed = 1)", ""),
        ("assert check.pieces_mask(pieces_mask, seed = 1)", "mask-3-check"),
        ("✓ Exercise 1.2: right.", "shows in mask-2-check"),
        ("### BEGIN SOLUTION", "a marker"),
        ("    ### END HIDDEN TESTS", "a marker"),
    ],
)
def test_lines_statements_sentences_and_outputs_tell(secret: Traces, leak: str, where: str) -> None:
    found = search_content("a file", leak.encode(), secret)
    assert any(where in each for each in found) if where else not found, found


def test_a_picture_that_a_solution_shows_is_found_by_itself_and_in_a_notebook(secret: Traces) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
    shown = replace(secret, pictures={hashlib.sha256(picture).hexdigest(): "the place"})
    output = {"output_type": "display_data", "data": {"image/png": b64(picture)}}
    for content in (picture, notebook({"cell_type": "code", "source": "1", "outputs": [output]})):
        assert search_content("a file", content, shown) == ["a file: a picture: the place"]


def test_every_solution_and_every_hidden_test_leaves_a_trace(secret: Traces) -> None:
    for page in exercises.solution_pages():
        for cell in read_text(page).cells:
            grading = cell.metadata.get("nbgrader", {})
            if grading.get("solution") or exercises.HIDDEN.search(cell.source):
                bare = "\n".join(
                    line for line in cell.source.splitlines() if not line.strip().startswith("### ")
                )
                found = search_content("a file", bare.encode(), secret)
                assert any(grading["grade_id"] in each for each in found), (page.name, grading["grade_id"])


def test_what_learners_may_read_is_no_find(secret: Traces) -> None:
    pages = exercises.solution_pages()
    for page in [*toc.pages(), toc.PROJECT / "README.md"]:
        assert search(page, secret) == []
    for page in pages:
        assert search(page.parent.parent / f"{page.stem}.ipynb", secret) == []


def test_the_checks_of_the_package_may_know_and_nothing_beside_them(secret: Traces) -> None:
    leak = BODY.encode()
    packed = zipped(**{"prefixlm_teach/checks/mask.py": leak, "prefixlm_teach/mask.py": leak})
    found = search_content("package.whl", packed, secret)
    assert {each.partition(": ")[0] for each in found} == {"package.whl/prefixlm_teach/mask.py"}


def test_an_empty_folder_is_not_taken_for_a_clean_one(secret: Traces, tmp_path: object) -> None:
    with pytest.raises(ValueError, match="nothing to search"):
        search(tmp_path, secret)
