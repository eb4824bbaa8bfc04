"""A real Chromium and, where a test asks for it, a real JupyterLab in a folder of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import build_book
import pytest
from jupyter_client import BlockingKernelClient
from notebook import Notebook
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
from servers import Lab, running_chromium, running_lab

pytest.register_assert_rewrite("drawn")

# JupyterLab 4.6's cell toolbar trips over a Markdown cell that is active but scrolled out of its window.
NOT_OURS = "_markdownOverlapsToolbar"
# jupyterlab-myst would have a label put before a heading that is linked to, which a code host shows as text.
ADVICE = "to an implicit heading reference, best practice is to create an explicit reference."


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A Chromium or Chrome; without one, the tests fail and say so."""
    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab that the tests share."""
    with running_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


def watched_page(context: BrowserContext, complaints: list[str]) -> Page:
    """A page that notes every console error, page error and attempt to reach another machine."""
    page = context.new_page()

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.endswith(ADVICE):
            complaints.append(f"console: {message.text}")

    page.on("console", note)
    page.on("pageerror", lambda error: NOT_OURS in error.stack or complaints.append(f"page: {error.stack}"))

    def only_local(route: Any) -> None:
        address = urlparse(route.request.url)
        if address.scheme in ("data", "blob", "about", "file") or address.hostname == "127.0.0.1":
            route.continue_()
        else:
            complaints.append(f"network: {route.request.url}")
            route.abort()

    page.route("**/*", only_local)
    return page


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """An empty page; the test fails if it complains of anything."""
    context = chromium.new_context(viewport={"width": 1000, "height": 900})
    complaints: list[str] = []
    yield watched_page(context, complaints)
    context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book, made from the chapters as they are."""
    out = tmp_path_factory.mktemp("book") / "book"
    assert build_book.build(out) == 0
    return out


@pytest.fixture
def reader(page: Page) -> Iterator[Page]:
    """A page whose warnings count as complaints too."""
    warned: list[str] = []
    page.on("console", lambda m: m.type == "warning" and warned.append(m.text))
    yield page
    assert warned == []


@pytest.fixture(scope="module")
def long_page(chromium: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page that the tests of a module share, and what it has complained of."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    complaints: list[str] = []
    yield watched_page(context, complaints), complaints
    context.close()


@pytest.fixture
def kernel(notebook: Notebook) -> Iterator[BlockingKernelClient]:
    """A client of the kernel behind the module's own notebook."""
    client = notebook.kernel()
    yield client
    client.stop_channels()
