"""Look for solutions in files that learners get: `python tools/find_solutions.py PATH ...`, files or folders.

Each file is taken apart (`unpacking`: archives, pages, notebooks, and whatever is compressed or encoded in
them), and every piece is searched for the traces of all solutions (`solution_traces`): by text, however it is
laid out, by syntax tree, whatever its variables are called, and by pictures. `make classroom` and `make book`
stop at a find.
"""

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from solution_traces import Traces, shapes, squeeze, traces
from unpacking import members, parsed, unpack

# The checks must know what is right. They come with the package, which is public.
KNOWING = re.compile(r"(^|/)prefixlm_teach/checks/\w+\.py$")


def search(path: Path, secret: Traces) -> list[str]:
    """Return what was found in a file, or in a folder with all that is in it, as sentences."""
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"there is nothing to search in {path}.")
    return [found for file in files for found in search_content(file.name, file.read_bytes(), secret)]


def search_content(name: str, content: bytes, secret: Traces) -> list[str]:
    """Return what was found in the content of a file of this name."""
    if inner := list(members(content)):  # so that what is found is named by the file in the archive
        return [found for each, part in inner for found in search_content(f"{name}/{each}", part, secret)]
    if KNOWING.search(name):
        return []
    places = dict.fromkeys(place for piece in unpack(content) for place in _places(piece, secret))
    return [f"{name}: {place}" for place in places]


def _places(piece: str | bytes, secret: Traces) -> Iterator[str]:
    """Yield the places that the traces in a piece come from."""
    if isinstance(piece, bytes):
        if place := secret.pictures.get(hashlib.sha256(piece).hexdigest()):
            yield f"a picture: {place}"
        piece = piece.decode("latin-1")
    text = squeeze(piece)
    yield from (f"text: {place} ({word[:40]!r})" for word, place in secret.words.items() if word in text)
    codes = [whole] if (whole := parsed(piece)) else map(parsed, re.split(r"\n\s*\n", piece))
    for code in codes:
        found = (secret.shapes.get(shape) for _, shape in shapes(code, secret.kinds)) if code else ()
        yield from (f"code: {place}" for place in found if place)


def main() -> int:
    """Search what the command line names; return the exit status."""
    if not sys.argv[1:]:
        print("Name the files or folders to search.", file=sys.stderr)
        return 2
    secret = traces()
    found = [each for path in sys.argv[1:] for each in search(Path(path), secret)]
    print("\n".join(found) or "No solution was found.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
