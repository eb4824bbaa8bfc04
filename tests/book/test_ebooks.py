"""The book as an EPUB and as a PDF: every page, picture and formula is there, and no script is needed."""

import re
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import build_epub
import build_pdf
import pytest
import toc

XHTML = "{http://www.w3.org/1999/xhtml}"
MATH = "{http://www.w3.org/1998/Math/MathML}math"
PACKAGE = "{http://www.idpf.org/2007/opf}"
PAGES = [page.stem for page in toc.pages()]
TITLES = [page.read_text(encoding="utf-8").split("\n# ")[-1].split("\n")[0] for page in toc.chapters()]


def parse(text: bytes) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 (made by us)


@pytest.fixture(scope="module")
def epub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("epub") / "prefix-lm-handbook.epub"
    assert build_epub.build(out) == 0
    return out


@pytest.fixture(scope="module")
def pages(epub: Path) -> dict[str, ET.Element]:
    with zipfile.ZipFile(epub) as book:
        return {name: parse(book.read(f"{name}.xhtml")) for name in PAGES}


def test_an_epub_begins_with_its_type_bare(epub: Path) -> None:
    with zipfile.ZipFile(epub) as book:
        assert book.testzip() is None
        first = book.infolist()[0]
        assert first.filename == "mimetype"
        assert first.compress_type == zipfile.ZIP_STORED
        assert book.read(first) == b"application/epub+zip"


def test_an_epub_lists_its_files_and_has_every_page_in_order(
    epub: Path, pages: dict[str, ET.Element]
) -> None:
    with zipfile.ZipFile(epub) as book:
        package = parse(book.read("content.opf"))
        items = {item.get("id"): item for item in package.iter(f"{PACKAGE}item")}
        listed = {item.get("href") for item in items.values()}
        apart = {"mimetype", "META-INF/container.xml", "content.opf"}
        assert listed == set(book.namelist()) - apart
        contents = parse(book.read("nav.xhtml"))
    spine = [str(items[entry.get("idref")].get("href")) for entry in package.iter(f"{PACKAGE}itemref")]
    assert spine == [f"{name}.xhtml" for name in PAGES]
    assert [link.get("href") for link in contents.iter(f"{XHTML}a")] == spine
    for item in items.values():
        name = str(item.get("href")).removesuffix(".xhtml")
        if name in pages:
            assert (item.get("properties") == "mathml") == any(pages[name].iter(MATH)), name


def test_an_epub_has_pictures_with_words_and_formulas_and_no_script(
    epub: Path, pages: dict[str, ET.Element]
) -> None:
    with zipfile.ZipFile(epub) as book:
        names = set(book.namelist())
    for name, page in pages.items():
        assert not any(page.iter(f"{XHTML}script")), name
        for image in page.iter(f"{XHTML}img"):
            assert image.get("src") in names
            assert len(image.get("alt") or "") > 40
        for style in page.iter(f"{XHTML}link"):
            assert style.get("href") in names
        numbered = [div for div in page.iter(f"{XHTML}div") if div.get("class") == "equation"]
        assert all(any(div.iter(MATH)) for div in numbered)
    captions = ["".join(caption.itertext()) for caption in pages["01_mask"].iter(f"{XHTML}figcaption")]
    assert [re.match(r"\s*Figure (1\.\d+)", caption)[1] for caption in captions] == [
        f"1.{i + 1}" for i in range(len(captions))
    ]
    assert any(
        "9 tokens, prefix length 7" in str(image.get("alt")) for image in pages["01_mask"].iter(f"{XHTML}img")
    )


def test_every_link_within_an_epub_leads_somewhere(pages: dict[str, ET.Element]) -> None:
    places = {
        f"{name}.xhtml#{element.get('id')}"
        for name, page in pages.items()
        for element in page.iter()
        if "id" in element.attrib
    } | {f"{name}.xhtml" for name in pages}
    for name, page in pages.items():
        for link in page.iter(f"{XHTML}a"):
            target = link.get("href", "")
            if "://" not in target:
                assert (f"{name}.xhtml{target}" if target.startswith("#") else target) in places, target


def test_two_epubs_are_alike_byte_for_byte(epub: Path, tmp_path: Path) -> None:
    again = tmp_path / epub.name
    assert build_epub.build(again) == 0
    assert again.read_bytes() == epub.read_bytes()


def test_with_something_wrong_neither_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module, what in ((build_epub, "The e-book"), (build_pdf, "The PDF")):
        monkeypatch.setattr("build_book.run_sphinx", lambda *_: 1)
        monkeypatch.setattr(module, "build", lambda build=module.build: build(tmp_path / "nothing"))
        assert module.main() == 1
        assert f"{what} was not made" in capsys.readouterr().out
    assert not (tmp_path / "nothing").exists()


def test_joined_pages_have_anchors_of_their_own_and_links_reach_them(
    pages: dict[str, ET.Element], tmp_path: Path
) -> None:
    for name, page in pages.items():
        ET.ElementTree(page).write(tmp_path / f"{name}.xhtml", encoding="utf-8")
    book = parse(build_pdf.join(tmp_path, PAGES).read_bytes())
    ids = [element.get("id") for element in book.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
    assert {"01_mask.figure-1", "02_attention.figure-1", "04_loss"} <= set(ids)
    for link in book.iter(f"{XHTML}a"):
        target = link.get("href", "")
        assert "://" in target or target.removeprefix("#") in ids, target


def test_a_pdf_is_tagged_and_has_an_outline_of_the_chapters(tmp_path: Path) -> None:
    out = tmp_path / "prefix-lm-handbook.pdf"
    assert build_pdf.build(out) == 0
    written = out.read_bytes()
    assert written.startswith(b"%PDF-")
    assert b"/StructTreeRoot" in written
    assert b"/Marked true" in written
    assert b"/Lang (en)" in written
    for title in TITLES:
        assert f"/Title ({title})".encode() in written, title
    assert not re.search(rb"/URI \(file:", written)
