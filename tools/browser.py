"""Find a Chromium, Chrome or Edge for the browser tests, and install Chromium where there is none.

`find_browser()` looks, in this order, at the variable PREFIXLM_BROWSER, at the names these browsers go by
on PATH, at the places where macOS and Windows keep applications, and at Playwright's own downloads. Run as a
script (`python tools/browser.py`) it prints what it found, or installs one: Debian's `chromium` when root on
Debian, Playwright's otherwise. It rests on nothing but the standard library.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")

MAC_APPLICATIONS = (
    "Chromium.app/Contents/MacOS/Chromium",
    "Google Chrome.app/Contents/MacOS/Google Chrome",
    "Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)

WINDOWS_PROGRAMS = (
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "Microsoft/Edge/Application/msedge.exe",
)

PLAYWRIGHT_DOWNLOADS = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-win*/chrome.exe",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)


def find_browser() -> Path | None:
    """Return the path of a Chromium or Chrome on this machine, or None.

    Raises:
        FileNotFoundError: PREFIXLM_BROWSER is set, and nothing is there.
    """
    if chosen := os.environ.get("PREFIXLM_BROWSER"):
        if found := shutil.which(chosen):
            return Path(found)
        raise FileNotFoundError(f"PREFIXLM_BROWSER is {chosen!r}, but there is no program there.")
    return next(_candidates(), None)


def _candidates() -> Iterator[Path]:
    for name in NAMES:
        if found := shutil.which(name):
            yield Path(found)
    for folder in (Path("/Applications"), Path.home() / "Applications"):
        yield from filter(Path.is_file, (folder / name for name in MAC_APPLICATIONS))
    for variable in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
        if variable in os.environ:
            yield from filter(Path.is_file, (Path(os.environ[variable]) / name for name in WINDOWS_PROGRAMS))
    for pattern in PLAYWRIGHT_DOWNLOADS:
        yield from sorted(filter(Path.is_file, _playwright_folder().glob(pattern)), reverse=True)


def _playwright_folder() -> Path:
    if chosen := os.environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path.home() / "AppData/Local/ms-playwright"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/ms-playwright"
    return Path.home() / ".cache/ms-playwright"


def _install() -> None:
    """Install a browser. Raises CalledProcessError if that fails."""
    if Path("/etc/debian_version").exists() and os.geteuid() == 0 and shutil.which("apt-get"):
        print("No Chromium or Chrome here: installing Debian's chromium.", flush=True)
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-q"], check=True, env=environment)
        command = [
            "apt-get",
            "install",
            "-q",
            "-y",
            "--no-install-recommends",
            "chromium",
            "fonts-dejavu-core",
        ]
        subprocess.run(command, check=True, env=environment)
    else:
        print("No Chromium or Chrome here: asking Playwright to download its own.", flush=True)
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


def main() -> int:
    """Print the browser's path, installing one first if need be; return the exit status."""
    try:
        browser = find_browser()
        if browser is None:
            _install()
            browser = find_browser()
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"Installing a browser failed ({error}).", file=sys.stderr)
        browser = None
    if browser is None:
        print(
            "The browser tests need Chromium or Chrome. Install either one, or set PREFIXLM_BROWSER to the "
            "full path of one you have, and try again.",
            file=sys.stderr,
        )
        return 1
    print(f"Browser: {browser}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
