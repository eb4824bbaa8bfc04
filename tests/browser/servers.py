"""Start what the browser tests and the slider benchmark need: a Chromium, and a JupyterLab of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

from browser import find_browser
from playwright.sync_api import Browser, sync_playwright

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


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """A Chromium or Chrome without a window.

    Raises:
        FileNotFoundError: there is none on this machine.
    """
    program = find_browser()
    if program is None:
        raise FileNotFoundError(
            "no Chromium or Chrome was found: run `python tools/browser.py`, which installs one"
        )
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=[*QUIET, *(["--no-sandbox"] if root else [])]
        )
        yield browser
        browser.close()


@dataclass
class Lab:
    """A running JupyterLab: where it is, its folder, and where it notes its kernels."""

    url: str
    folder: Path
    runtime: Path


@contextmanager
def running_lab(home: Path) -> Iterator[Lab]:
    """JupyterLab with the handbook's settings, on a free port of this machine; all it writes is in `home`."""
    folder = home / "notebooks"
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {
        name: str(home / name.lower())
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    log = home / "log.txt"
    with log.open("w", encoding="utf-8") as written:
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
            stdout=written,
            stderr=written,
        )
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_for(server, f"{url}/api/status?token={TOKEN}", log)
            yield Lab(url, folder, home / "jupyter_runtime_dir")
        finally:
            server.terminate()  # it ends its kernels first
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait_for(server: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    for _ in range(240):
        try:
            with urllib.request.urlopen(url, timeout=2):  # noqa: S310 (our own server)
                return
        except (URLError, OSError):
            if server.poll() is not None:
                break
            time.sleep(0.5)
    raise RuntimeError(f"JupyterLab did not start: {log.read_text(encoding='utf-8')}")
