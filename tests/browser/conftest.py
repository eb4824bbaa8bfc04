"""A real Chromium and, where a test asks for it, a real JupyterLab in a folder of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlparse

import pytest
from browser import find_browser
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

pytest.register_assert_rewrite("drawn")

PROJECT = Path(__file__).resolve().parents[2]
TOKEN = "only-for-this-test"  # noqa: S105 (a server that lives as long as the test)
QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A Chromium or Chrome; without one, the tests fail and say so."""
    program = find_browser()
    if program is None:
        pytest.fail("no Chromium or Chrome was found: run `python tools/browser.py`, which installs one")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=[*QUIET, *(["--no-sandbox"] if root else [])]
        )
        yield browser
        browser.close()


def watched_page(context: BrowserContext, complaints: list[str]) -> Page:
    """A page that notes every console error, page error and attempt to reach another machine."""
    page = context.new_page()
    page.on("console", lambda m: m.type == "error" and complaints.append(f"console: {m.text}"))
    page.on("pageerror", lambda error: complaints.append(f"page: {error}"))

    def only_local(route: Any) -> None:
        address = urlparse(route.request.url)
        if address.scheme in ("data", "blob", "about") or address.hostname == "127.0.0.1":
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


@dataclass
class Lab:
    """A running JupyterLab: where it is, its folder, and where it notes its kernels."""

    url: str
    folder: Path
    runtime: Path


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab with the handbook's settings, on a free port of this machine, in a folder of its own."""
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {
        name: str(home / name.lower())
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    with (home / "log.txt").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                f"--ServerApp.port={port}",
                "--ServerApp.port_retries=0",
                "--ServerApp.ip=127.0.0.1",
                f"--ServerApp.root_dir={folder}",
                f"--IdentityProvider.token={TOKEN}",
                f"--LabApp.app_settings_dir={PROJECT / 'lab'}",
                f"--LabApp.workspaces_dir={home / 'workspaces'}",
                "--LabApp.expose_app_in_browser=True",
            ],
            env=os.environ | places | {"JUPYTER_PREFER_ENV_PATH": "1", "OMP_NUM_THREADS": "1"},
            cwd=folder,
            stdout=log,
            stderr=log,
        )
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_for(server, f"{url}/api/status?token={TOKEN}", home / "log.txt")
            yield Lab(url, folder, home / "jupyter_runtime_dir")
        finally:
            server.terminate()
            server.wait(timeout=20)


def _wait_for(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    for _ in range(120):
        try:
            with urllib.request.urlopen(url, timeout=2):  # noqa: S310 (our own server)
                return
        except (URLError, OSError):
            assert server.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.5)
    pytest.fail(f"JupyterLab did not start: {log.read_text(encoding='utf-8')}")
