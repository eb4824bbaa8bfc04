"""Make the book: `build/book/`, a folder of pages that needs no server, no kernel and no network.

    python tools/build_book.py

Sphinx reads the executed notebooks and runs none of them. Whatever it warns of fails the build: a link to
nowhere, a term or a source that does not exist, a picture without alternative text. The book is made afresh
each time, so that nothing old can stay in it. With PREFIXLM_BOOK_URL set to where the book will stand, it
gets a sitemap and social cards. With SOLUTIONS=1 the exercises' solutions are pages of it; without, all that
was made is searched for solutions, and a find fails the build.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import exercises
import toc
from find_solutions import search
from solution_traces import traces

OUT = toc.PROJECT / "build" / "book"
EPOCH = "946684800"  # a book is made alike on any day: whatever wants a date gets 2000-01-01
# What the theme brings along and no page uses.
UNUSED = (
    ".buildinfo",
    "_static/**/*.map",
    "_static/**/fa-brands-400.*",
    "_static/*.html",
    "_static/ebook.css",
    "_static/images",
    "_static/locales",
    "_static/scripts/fontawesome.js*",
)


def build(out: Path = OUT) -> int:
    """Make the book in `out`; return the exit status, 0 if nothing was wrong."""
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "book"
        if status := run_sphinx("html", made):
            return status
        for pattern in UNUSED:
            for path in made.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, out)
    return 0


def run_sphinx(builder: str, made: Path) -> int:
    """Make the book's pages in the folder `made` with one of Sphinx's builders.

    Returns:
        Sphinx's exit status; 1 if solutions stand where they should not.
    """
    with tempfile.TemporaryDirectory() as scratch:
        order = Path(scratch) / "toc.yml"
        order.write_text(order_within_chapters(), encoding="utf-8")
        finished = subprocess.run(
            [
                *(sys.executable, "-m", "sphinx", "-q", "--fail-on-warning", "-b", builder),
                *("-c", "book", "-d", str(Path(scratch) / "doctrees"), "-D", f"external_toc_path={order}"),
                *("chapters", str(made)),
            ],
            cwd=toc.PROJECT,
            env=os.environ | {"PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": EPOCH},
            check=False,
        )
    if finished.returncode == 0 and not with_solutions() and (found := search(made, traces())):
        print("\n".join(["The book would give solutions away:", *found]), file=sys.stderr)
        return 1
    return finished.returncode


def order_within_chapters() -> str:
    """Return `_toc.yml` with its pages named as seen from `chapters/`, where Sphinx reads them."""
    text = (toc.PROJECT / "_toc.yml").read_text(encoding="utf-8")
    if with_solutions():
        pages = (f"      - file: chapters/solutions/{page.stem}\n" for page in exercises.solution_pages())
        text += f"  - caption: Solutions\n    chapters:\n{''.join(pages)}"
    return re.sub(r"\b(root|file): chapters/", r"\1: ", text)


def with_solutions() -> bool:
    """Whether the book is to hold the solutions of the exercises: if it was asked for with SOLUTIONS=1."""
    return os.environ.get("SOLUTIONS") == "1"


def page_weights(out: Path) -> dict[str, tuple[int, int, int]]:
    """Return page -> bytes of the page, of it and all it loads, and of the latter when compressed."""
    weights = {}
    for page in sorted(out.glob("*.html")):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|link)[^>]*? (?:src|href)="([^"#:?]+)', text)
        files = {out / path for path in loaded if (out / path).is_file() and not path.endswith(".html")}
        files |= {page, *out.glob("_static/**/fa-*.woff2")}
        sizes = [
            (len(data), len(gzip.compress(data, mtime=0))) for data in (file.read_bytes() for file in files)
        ]
        weights[page.name] = (
            page.stat().st_size,
            sum(size for size, _ in sizes),
            sum(size for _, size in sizes),
        )
    return weights


def main() -> int:
    """Make the book and say what its pages weigh."""
    status = build()
    if status:
        print("The book was not made; what is wrong with it stands above.")
        return status
    print(f"{'page':20} {'page':>9} {'with all':>9} {'gzipped':>9}   kB")
    for name, sizes in page_weights(OUT).items():
        print(f"{name:20}", *(f"{size / 1000:9.0f}" for size in sizes))
    if with_solutions():
        print("It holds the solutions of the exercises.")
    print(f"The book is made: open {(OUT / 'index.html').relative_to(toc.PROJECT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
