"""Open the handbook in JupyterLab: working copies, `lab/`'s settings, chapter 1.

`make lab` calls this after the install; where there is no make, `python tools/lab.py` does the same in any
environment that has the handbook's package with its `read` extra. Options given to it go to JupyterLab
(`--no-browser`, `--port=9000`). A reader's own settings of JupyterLab stay in force; they are copied, since
some extensions write to them unasked.
"""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

MISSING = [name for name in ("jupyterlab", "prefixlm_teach") if not importlib.util.find_spec(name)]
if MISSING:
    sys.exit(
        f"{' and '.join(MISSING)} cannot be found by {sys.executable}. Activate the environment that has the "
        "handbook, or install it first: README.md says how. If you moved the handbook's folder, delete .venv "
        "in it and run `make lab` again."
    )

import toc  # noqa: E402 (this and the next need what was just looked for)
from copies import Report, update_copies  # noqa: E402
from jupyterlab.commands import get_user_settings_dir  # noqa: E402
from jupyterlab.labapp import LabApp  # noqa: E402

COPIES = toc.PROJECT / "work"
LAYOUT = COPIES / ".lab/layout"
SETTINGS = COPIES / ".lab/settings"


def _say(report: Report) -> None:
    """Print what happened to the working copies."""
    if report.made:
        print(f"Made {len(report.made)} working copies in {COPIES.name}/: change them as you like.")
    for name in report.renewed:
        print(f"Renewed {COPIES.name}/{name}: the handbook has a newer version, and you had not changed it.")
    for name in report.removed:
        print(f"Removed {COPIES.name}/{name}: the handbook no longer has it, and you had not changed it.")
    for name in report.kept:
        print(
            f"Kept your {COPIES.name}/{name}. The handbook has a newer version, {name}; "
            "to take that one, rename or delete yours and start again."
        )


def copy_own_settings(own: Path) -> None:
    """Copy the reader's settings of JupyterLab to those of the working copies, where these have none yet."""
    for setting in own.rglob("*.jupyterlab-settings"):
        target = SETTINGS / setting.relative_to(own)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(setting, target)


def lab_arguments(first: Path) -> list[str]:
    """Return JupyterLab's command line for opening a chapter, given its text in the project."""
    notebook = first.relative_to(toc.PROJECT).with_suffix(".ipynb").as_posix()
    arguments = [
        f"--ServerApp.root_dir={COPIES}",
        "--ServerApp.ip=127.0.0.1",
        f"--LabApp.default_url=/lab/tree/{notebook}",
        f"--LabApp.app_settings_dir={toc.PROJECT / 'lab'}",
        # Layout and settings belong to these copies, so they are kept with them and not in the reader's home.
        f"--LabApp.workspaces_dir={LAYOUT}",
        f"--LabApp.user_settings_dir={SETTINGS}",
        # Pages without code are text here, not notebooks; and nothing is paired.
        "--JupytextConfiguration.notebook_extensions=ipynb",
        "--KernelManager.transport_encryption=auto",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")
    return arguments


def main() -> int:
    """Make or renew the working copies, start JupyterLab, and return the exit status."""
    try:
        _say(update_copies(toc.PROJECT, COPIES))
        first = toc.chapters()[0]
    except (OSError, ValueError) as error:
        print(f"The working copies could not be made: {error}", file=sys.stderr)
        return 1
    print(f"Starting JupyterLab at {first.stem}. Stop it with Ctrl-C, twice.", flush=True)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    copy_own_settings(Path(get_user_settings_dir()))
    LabApp.launch_instance([*lab_arguments(first), *sys.argv[1:]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
