"""The built book in Chromium, opened from a disk: every page, light and dark, wide and narrow."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import toc
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

from book import open_page

PAGES = [page.stem for page in toc.pages()] + ["404", "search"]
CHAPTERS = [page.stem for page in toc.chapters()]
FORBID_STORAGE = """Object.defineProperty(window, "localStorage", {
  configurable: true, get() { throw new DOMException("Forbidden", "SecurityError"); },
})"""


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds wrong with a page, once its colours have come to rest."""
    page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished)).then(() => {})")
    # It would fetch the stylesheets, which the page's policy forbids and axe can do without.
    found = Axe().run(page, options={"preload": False}).response["violations"]
    return [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_and_reaches_for_nothing(
    reader: Page, book: Path, name: str, scheme: str
) -> None:
    reader.emulate_media(color_scheme=scheme)
    open_page(reader, book, name)
    assert reader.evaluate("document.documentElement.dataset.theme") == scheme
    assert violations(reader) == []


@pytest.mark.parametrize("level", ["knows-transformers", "knows-the-field"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_accessible_to_readers_who_know_more(
    reader: Page, book: Path, name: str, scheme: str, level: str
) -> None:
    reader.emulate_media(color_scheme=scheme)
    reader.add_init_script(f"localStorage.setItem('prefixlm.level', '{level}')")
    open_page(reader, book, name)
    assert reader.evaluate("document.documentElement.dataset.level") == level
    assert reader.locator("a.explained.known").count() > 0
    assert violations(reader) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone(reader: Page, book: Path, name: str) -> None:
    reader.set_viewport_size({"width": 390, "height": 844})
    open_page(reader, book, name)
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_policy_stops_whatever_would_fetch(chromium: Browser, book: Path) -> None:
    page = chromium.new_page()
    asked: list[str] = []
    page.route("https://**", lambda route: (asked.append(route.request.url), route.abort()))
    page.goto((book / "index.html").as_uri())
    stopped = page.evaluate("""async () => {
      const stopped = [];
      document.addEventListener("securitypolicyviolation", (event) => stopped.push(event.effectiveDirective));
      const there = "https://example.org/";
      await fetch(there).catch(() => {});
      for (const [tag, name] of [["img", "src"], ["script", "src"], ["iframe", "src"], ["link", "href"]]) {
        const element = document.createElement(tag);
        element.setAttribute(name, there);
        element.rel = "stylesheet";
        document.head.append(element);
      }
      await new Promise((done) => setTimeout(done, 300));
      return stopped.sort();
    }""")
    page.close()
    assert stopped == ["connect-src", "frame-src", "img-src", "script-src-elem", "style-src-elem"]
    assert asked == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_picture_of_a_chapter_is_shown_with_its_words(reader: Page, book: Path, name: str) -> None:
    open_page(reader, book, name)
    for image in reader.locator("article img").all():
        image.scroll_into_view_if_needed()
        assert image.evaluate("(image) => image.naturalWidth") > 100
        assert len(image.get_attribute("alt")) > 40


def test_formulas_grow_their_brackets_and_are_spoken(reader: Page, book: Path) -> None:
    open_page(reader, book, "02_attention")
    reader.evaluate("document.fonts.ready")
    formula = reader.locator(".formula math").first
    bracket = formula.locator("mo", has_text="(").nth(1)
    fraction = formula.locator("mfrac").first
    assert bracket.bounding_box()["height"] >= 0.9 * fraction.bounding_box()["height"]
    assert reader.evaluate("document.fonts.check('16px Formulas')")
    assert "math" in reader.locator(".formula").first.aria_snapshot()


def test_the_table_of_contents_goes_through_the_book_in_order(reader: Page, book: Path) -> None:
    open_page(reader, book, "index")
    seen = ["index"]
    while (link := reader.locator("a.right-next")).count():
        assert link.is_visible()
        seen.append(Path(link.get_attribute("href")).stem)
        open_page(reader, book, seen[-1])
    assert seen == [page.stem for page in toc.pages()]
    assert Path(reader.locator("a.left-prev").get_attribute("href")).stem == seen[-2]


def test_search_finds_a_page_without_a_server(reader: Page, book: Path) -> None:
    open_page(reader, book, "index")
    reader.keyboard.press("Control+k")
    reader.keyboard.type("greedy decoding")
    reader.keyboard.press("Enter")
    reader.locator("#search-results a", has_text="4. The loss").first.click()
    assert Path(reader.url.split("?")[0].split("#")[0]).stem == "04_loss"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_offers_its_notebook(reader: Page, book: Path, name: str) -> None:
    open_page(reader, book, name)
    reader.get_by_text("Open this page in JupyterLab").click()
    link = reader.get_by_role("link", name=f"Download the notebook {name}.ipynb")
    notebook = book / link.get_attribute("href")
    assert notebook.read_bytes() == (toc.PROJECT / f"chapters/{name}.ipynb").read_bytes()


def test_code_can_be_copied(chromium: Browser, book: Path) -> None:
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    open_page(page, book, "01_mask")
    page.locator(".cell_input .copybtn").first.click(force=True)
    copied = page.evaluate("navigator.clipboard.readText()")
    context.close()
    assert copied.startswith("import torch\n")
    assert copied.endswith("tokens = question + answer")


def test_paper_gets_the_text_and_none_of_the_tools(reader: Page, book: Path) -> None:
    reader.emulate_media(media="print")
    open_page(reader, book, "01_mask")
    assert reader.locator("h1:visible").all_text_contents() == ["1. The mask"]
    assert reader.locator(".plx-svg").first.is_visible()
    for tool in ("#reading-level", "#mark-as-read", ".copybtn", ".plx-presets", ".bd-sidebar-primary"):
        assert not reader.locator(tool).first.is_visible(), tool


@pytest.fixture
def without_scripts(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(java_script_enabled=False)
    yield context
    context.close()


def test_without_scripts_the_picture_and_a_sentence_stay(without_scripts: BrowserContext, book: Path) -> None:
    page = without_scripts.new_page()
    page.goto((book / "01_mask.html").as_uri())
    explorer = page.locator(".explorer").first
    assert explorer.locator("img").is_visible()
    assert explorer.locator("img").get_attribute("alt").startswith("9 tokens, prefix length 7.")
    assert explorer.get_by_text("This picture is alive where scripts run").is_visible()
    assert not page.locator("#reading-level").is_visible()
    assert page.get_by_role("link", name="2. Attention").first.is_visible()


def test_a_page_works_where_nothing_may_be_kept(reader: Page, book: Path) -> None:
    reader.add_init_script(FORBID_STORAGE)
    open_page(reader, book, "01_mask")
    reader.locator("#mark-as-read").click()
    assert reader.locator("#reading-progress").text_content() == f"Read: 1 of {len(CHAPTERS)} chapters"
    reader.locator("#reading-level").select_option("knows the field")
    assert reader.locator("a.explained.known").count() > 0
