"""Make the book as one PDF, for paper: `build/prefix-lm-handbook.pdf`.

    python tools/build_pdf.py

The pages of the e-book, joined in the book's order, are printed by a Chromium or Chrome: with an outline,
with tags for screen readers, and with links that lead to pages of the PDF.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import browser
import build_book
import toc

OUT = toc.PROJECT / "build" / "prefix-lm-handbook.pdf"
XHTML = "http://www.w3.org/1999/xhtml"
STYLE = """
@page { size: A4; margin: 20mm 18mm; @bottom-center { content: counter(page); font: 9pt serif; } }
html { font-size: 10.5pt; }
body { margin: 0; }
.page { break-before: page; }
h1, h2, h3 { break-after: avoid; }
p { orphans: 2; widows: 2; }
.cell { break-inside: auto !important; }
.cell_input { break-after: avoid; }
.cell_input pre, .cell_output pre { font-size: 8.5pt; }
figure img { max-height: 150mm; }
"""


def join(folder: Path, names: list[str]) -> Path:
    """Write the pages `names` of an unpacked e-book as one, `book.xhtml` beside them; return its path."""
    ET.register_namespace("", XHTML)
    book = ET.parse(folder / f"{names[0]}.xhtml").getroot()  # noqa: S314 (made a moment ago, by us)
    head, body = book[0], book[1]
    book.set("lang", "en")
    ET.SubElement(head, f"{{{XHTML}}}style").text = STYLE
    body.clear()
    for name in names:
        page = ET.parse(folder / f"{name}.xhtml").getroot()  # noqa: S314
        section = ET.SubElement(body, f"{{{XHTML}}}div", {"class": "page", "id": name})
        section.extend(page.iterfind(f".//{{{XHTML}}}div[@role='main']/*"))
        lead_within(section, name, names)
    path = folder / "book.xhtml"
    ET.ElementTree(book).write(path, encoding="utf-8", xml_declaration=True)
    return path


def lead_within(section: ET.Element, name: str, names: list[str]) -> None:
    """Make the anchors of a page unlike those of every other page, and its links lead to them."""
    for element in list(section.iter())[1:]:
        if "id" in element.attrib:
            element.set("id", f"{name}.{element.get('id')}")
        page, _, anchor = element.get("href", "").partition("#")
        target = page.removesuffix(".xhtml") or name
        if "href" in element.attrib and target in names:
            element.set("href", f"#{target}.{anchor}" if anchor else f"#{target}")


def print_page(page: Path, out: Path) -> None:
    """Print a page into the file `out`.

    Raises:
        FileNotFoundError: there is no Chromium or Chrome.
        CalledProcessError: it could not print.
    """
    program = browser.find_browser()
    if program is None:
        raise FileNotFoundError("no Chromium or Chrome was found: `python tools/browser.py` installs one.")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    command = [
        *(str(program), "--headless", "--disable-gpu", *(["--no-sandbox"] if root else [])),
        *(f"--user-data-dir={page.parent / 'browser'}", "--no-pdf-header-footer"),
        *("--generate-pdf-document-outline", f"--print-to-pdf={out}", page.as_uri()),
    ]
    subprocess.run(command, check=True, capture_output=True)


def build(out: Path = OUT) -> int:
    """Make the PDF `out`; return Sphinx's exit status, 0 if nothing was wrong."""
    out.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "pages"
        if status := build_book.run_sphinx("epub", made):
            return status
        printed = Path(scratch) / out.name
        print_page(join(made, [page.stem for page in toc.pages()]), printed)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(printed, out)
    return 0


def main() -> int:
    """Make the PDF and say where it is."""
    status = build()
    if status:
        print("The PDF was not made; what is wrong with the book stands above.")
        return status
    print(f"The PDF is {OUT.relative_to(toc.PROJECT)}, {OUT.stat().st_size / 1000:.0f} kB.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
