"""Take apart whatever a file holds: archives, what is compressed or encoded, pages, notebooks, inner strings.

`unpack()` yields every text that it comes to, the whole first, and binary content (pictures) as it is.
"""

import ast
import base64
import binascii
import bz2
import gzip
import html
import io
import json
import lzma
import re
import textwrap
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

DEEPEST = 8  # how many wrappings around a text are taken off
LONG = 400  # characters at least, of one that is taken out of its text
PACKED = 24  # characters at least, of an encoded piece worth looking into
BASE64 = re.compile(rf"(?:[A-Za-z0-9+/_-]{{{PACKED},}}\s*\n\s*)*[A-Za-z0-9+/_-]{{{PACKED},}}={{0,2}}")
HEX = re.compile(rf"(?:[0-9a-fA-F]{{2}}[\s:]?){{{PACKED // 2},}}|(?:\\x[0-9a-fA-F]{{2}}){{8,}}")
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
TAG = re.compile(r"<!--|-->|</?[a-zA-Z][^<>]*>")
PRE = re.compile(r"<pre\b[^>]*>(.*?)</pre>", re.DOTALL)
APART = re.compile(r"<script\b[^>]*>(.*?)</script>|<!--(.*?)-->", re.DOTALL)
ATTRIBUTE = re.compile(r"""=\s*(?:"([^"]{24,})"|'([^']{24,})')""")
QUOTED = re.compile(r""""((?:[^"\\\n]|\\.){24,})"|'((?:[^'\\\n]|\\.){24,})'""")
FENCED = re.compile(
    r"^[ \t>]*(?:`{3,}|~{3,})[^\n]*\n(.*?)^[ \t>]*(?:`{3,}|~{3,})[ \t]*$", re.DOTALL | re.MULTILINE
)
OPTIONS = re.compile(r"\A(?:---\n.*?^---\n|(?::[\w-]+:.*\n)+)", re.DOTALL | re.MULTILINE)  # of a MyST cell
ANY_CODE = re.compile(r"[=(\[]|\breturn\b")
MAGIC = re.compile(r"^\s*[%!].*$", re.MULTILINE)
OPENERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
    b"x\x01": zlib.decompress,
    b"x\x5e": zlib.decompress,
    b"x\x9c": zlib.decompress,
    b"x\xda": zlib.decompress,
}
BROKEN = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


def unpack(content: bytes | str) -> Iterator[str | bytes]:
    """Yield the texts and the binary pieces in some content, each once."""
    seen, todo = set(), [(content, 0)]
    while todo:
        piece, depth = todo.pop()
        if piece in seen or len(piece) < 3:
            continue
        seen.add(piece)
        if isinstance(piece, str):
            piece, inner = _without_blobs(piece)
            yield piece
            inner += _inside_text(piece)
        else:
            inner = list(_inside_bytes(piece))
            if not any(isinstance(each, str) for each in inner):
                yield piece
        if depth < DEEPEST:
            todo += [(each, depth + 1) for each in inner]


def members(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of what a zip archive holds; nothing if it is none."""
    if content[:2] == b"PK":
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                yield from [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
        except BROKEN:
            return


def _inside_bytes(content: bytes) -> Iterator[bytes | str]:
    yield from (inner for _, inner in members(content))
    for start, opened in OPENERS.items():
        if content.startswith(start):
            try:
                yield opened(content)
            except BROKEN:
                continue
    if (text := _text_of(content)) is not None:
        yield text


def _text_of(content: bytes) -> str | None:
    """Bytes as text, if that is what they are."""
    for encoding in ("utf-16", "utf-8") if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8",):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        start = text[:2000]
        if sum(char.isprintable() or char.isspace() for char in start) >= 0.9 * len(start):
            return text
    return None


def _without_blobs(text: str) -> tuple[str, list[bytes | str]]:
    """Return a text without long encoded pieces, and what these hold."""
    held: list[bytes | str] = []

    def take(match: re.Match[str]) -> str:
        decoded = list(_from_base64(match[0])) if len(match[0]) >= LONG else []
        held.extend(decoded)
        return "" if decoded else match[0]

    return BASE64.sub(take, text), held


def _inside_text(text: str) -> Iterator[bytes | str]:
    if text.lstrip()[:1] in ("{", "[", '"'):
        try:
            yield from _strings(json.loads(text))
            return  # of JSON, the strings are all there is
        except (ValueError, RecursionError):
            pass
    if "\\" in text:
        yield ESCAPE.sub(_unescape, text)
    yield from (inner for pair in QUOTED.findall(text) for inner in pair)
    if TAG.search(text):
        yield from (html.unescape(TAG.sub("", inner)) for inner in PRE.findall(text))
        yield from (inner for pair in APART.findall(text) for inner in pair)
        yield from (html.unescape(inner) for pair in ATTRIBUTE.findall(text) for inner in pair)
        yield html.unescape(TAG.sub("", text))
    elif "&" in text:
        yield html.unescape(text)
    if re.search(r"%[0-9a-fA-F]{2}", text):
        yield urllib.parse.unquote(text)
    yield from (OPTIONS.sub("", block) for block in FENCED.findall(text))
    for match in BASE64.finditer(text):
        yield from _from_base64(match[0])
    for match in HEX.finditer(text):
        with_less = re.sub(r"[^0-9a-fA-F]", "", match[0].replace("\\x", ""))
        yield bytes.fromhex(with_less[: len(with_less) // 2 * 2])
    if (code := parsed(text)) is not None:
        constants = (node.value for node in ast.walk(code) if isinstance(node, ast.Constant))
        yield from (value for value in constants if isinstance(value, str | bytes) and len(value) >= 8)


def _unescape(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2]
    return chr(int(digits, 16)) if digits else ESCAPED.get(escape[3], escape[3])


def _from_base64(text: str) -> Iterator[bytes]:
    """Decode a piece from each place where it may begin: a name before it may look like part of it."""
    letters = re.sub(r"\s", "", text).rstrip("=")
    words = (match.end() for match in re.finditer("[/_-]", letters))
    starts = sorted({0, 1, 2, 3, *islice(words, 8)}) if len(letters) < 100_000 else [0]
    letters = letters.replace("-", "+").replace("_", "/")
    for start in starts:
        part = letters[start:]
        part = part[: len(part) - (len(part) % 4 == 1)]
        try:
            decoded = base64.b64decode(part + "=" * (-len(part) % 4))
        except (binascii.Error, ValueError):
            continue
        if decoded.startswith((b"PK", b"\x89PNG", *OPENERS)) or _text_of(decoded) is not None:
            yield decoded


def _strings(value: Any) -> Iterator[str]:
    """Yield all texts in what was JSON; lists of lines (a notebook's cells) joined too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        if value and all(isinstance(line, str) for line in value):
            yield "".join(value)
        for inner in value:
            yield from _strings(inner)


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of a text that is Python, or would be without IPython's own lines."""
    if not ANY_CODE.search(text):
        return None
    try:
        return ast.parse(textwrap.dedent(MAGIC.sub("", text)).strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
