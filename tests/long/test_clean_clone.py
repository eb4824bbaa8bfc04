"""`make lab` in a clean clone on this machine: a fresh install, a real JupyterLab, a real browser.

What is committed is what gets cloned. The folder's name has a space and an accent in it.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote

import pytest
import toc
from browser import find_browser
from playwright.sync_api import sync_playwright

FIRST = "chapters/01_mask.ipynb"
# What a reader who likes the dark theme has at home.
OWN_SETTING = Path("lab/user-settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clean") / "le préfixe livre"
    own = folder.parent / "home/.jupyter" / OWN_SETTING
    own.parent.mkdir(parents=True)
    own.write_text('{"theme": "JupyterLab Dark"}', encoding="utf-8")
    subprocess.run(["git", "clone", "--quiet", str(toc.PROJECT), str(folder)], check=True)
    return folder


@contextmanager
def running_lab(clone: Path) -> Iterator[tuple[str, str, str]]:
    """Start `make lab` as a reader would, and yield its address, its token and what it said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = clone.parent / "log.txt"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    # A home of its own shows what is written there.
    environment |= {"HOME": str(clone.parent / "home"), "PYTHON": sys.executable}
    with log.open("w", encoding="utf-8") as written:
        lab = subprocess.Popen(
            ["make", "lab", f"LAB_OPTIONS=--no-browser --port={port} --ServerApp.port_retries=0"],
            cwd=clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 1800
        while not (found := re.search(r"(http://\S+?)/lab\S*\?token=(\w+)", log.read_text(encoding="utf-8"))):
            assert lab.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
            time.sleep(0.2)
        yield found[1], found[2], log.read_text(encoding="utf-8")
    finally:
        os.killpg(lab.pid, signal.SIGTERM)
        lab.wait(timeout=60)


def get(url: str, token: str) -> bytes:
    request = urllib.request.Request(url, headers={"Authorization": f"token {token}"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 (our own server)
        return answer.read()


def look_around(address: str, token: str, picture: Path) -> None:
    """Open chapter 1 in a browser, and the glossary by the navigation panel; nothing is fetched elsewhere."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=["--disable-gpu", *(["--no-sandbox"] if root else [])]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        elsewhere: list[str] = []
        page.on("request", lambda request: elsewhere.append(request.url))
        page.goto(f"{address}/lab/tree/{FIRST}?token={token}")
        page.locator(".jp-NotebookPanel h1").first.wait_for(timeout=120_000)
        assert "mask" in page.locator(".jp-NotebookPanel h1").first.inner_text()
        page.locator("[data-id='@jupyterlab-sidepanel/jupyterbook-toc']").click()
        for title in ("The mask", "Attention", "The model", "The loss"):
            page.locator("button.toc-button", has_text=title).first.wait_for(timeout=60_000)
        page.locator("button.toc-button", has_text="Glossary").click()
        page.locator(".jp-MarkdownViewer h1", has_text="Glossary").wait_for(timeout=60_000)
        page.wait_for_timeout(2000)  # a pop-up would have come by now
        page.screenshot(path=picture)
        assert page.locator(".jp-Dialog, .Toastify__toast").count() == 0
        assert page.locator("body").get_attribute("data-jp-theme-name") == "JupyterLab Dark"
        assert [url for url in elsewhere if not url.startswith((address, "data:", "blob:"))] == []
        browser.close()


def test_make_lab_opens_chapter_one_and_the_second_time_starts_in_seconds(clone: Path) -> None:
    started = time.monotonic()
    with running_lab(clone) as (address, token, said):
        print(f"\nfirst make lab: {time.monotonic() - started:.0f} s")
        assert "Making .venv" in said
        assert "working copies in work/" in said
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        assert json.loads(get(f"{address}/api/contents/{FIRST}", token))["type"] == "notebook"
        with pytest.raises(HTTPError, match="403"):
            get(f"{address}/api/contents/{FIRST}", "guessed")
        with pytest.raises(ConnectionRefusedError):  # it listens at this address only, not at all of them
            socket.create_connection(("127.0.0.2", int(address.rpartition(":")[2])), timeout=10)
        for plugin, name, value in [
            ("@jupyterlab/apputils-extension:notification", "fetchNews", "false"),
            ("@jupyter-widgets/jupyterlab-manager:plugin", "saveState", True),
        ]:
            settings = json.loads(get(f"{address}/lab/api/settings/{quote(plugin)}", token))
            assert settings["schema"]["properties"][name]["default"] == value
        look_around(address, token, clone.parent / "lab.png")

    changed = clone / "work" / FIRST
    changed.write_text(changed.read_text(encoding="utf-8").replace("# 1. ", "# Mine: "), encoding="utf-8")
    shutil.rmtree(clone / "work/chapters/images", ignore_errors=True)
    started = time.monotonic()
    with running_lab(clone) as (address, token, said):
        seconds = time.monotonic() - started
        print(f"second make lab: {seconds:.0f} s")
        assert seconds < 60
        assert "Installing" not in said
        assert b"# Mine: " in get(f"{address}/api/contents/{FIRST}", token)

    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True
    )
    assert status.stdout == "", "a reader's work leaves the checkout clean"
    own = clone.parent / "home/.jupyter/lab"
    assert [path.name for path in own.rglob("*.*")] == [OWN_SETTING.name], "nothing is written to them"
