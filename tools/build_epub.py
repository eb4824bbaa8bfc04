"""Make the book as an EPUB, for e-book readers: `build/prefix-lm-handbook.epub`.

    python tools/build_epub.py

It has the pages of the published book, with the picture of each explorer in its place and the formulas as
MathML. Like the book, it is made from the executed notebooks, fails on any warning, and is alike each time.
"""

import sys
import tempfile
import zipfile
from pathlib import Path

import build_book
import toc

OUT = toc.PROJECT / "build" / "prefix-lm-handbook.epub"


def build(out: Path = OUT) -> int:
    """Make the e-book `out`; return Sphinx's exit status, 0 if nothing was wrong."""
    out.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "epub"
        if status := build_book.run_sphinx("epub", made):
            return status
        out.parent.mkdir(parents=True, exist_ok=True)
        pack_again(made / out.name, out)
    return 0


def pack_again(packed: Path, out: Path) -> None:
    """Copy an e-book without the time it was made, and say in its list which files hold formulas."""
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():  # its type comes first, and bare
            plain = zipfile.ZipInfo(entry.filename)
            plain.compress_type = entry.compress_type
            content = old.read(entry)
            if entry.filename == "content.opf":
                for page in old.namelist():
                    if b"<math" in old.read(page):
                        at = f'href="{page}"'.encode()
                        content = content.replace(at + b" media", at + b' properties="mathml" media')
            new.writestr(plain, content)


def main() -> int:
    """Make the e-book and say where it is."""
    status = build()
    if status:
        print("The e-book was not made; what is wrong with it stands above.")
        return status
    print(f"The e-book is {OUT.relative_to(toc.PROJECT)}, {OUT.stat().st_size / 1000:.0f} kB.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
