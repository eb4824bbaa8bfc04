"""Which exercises a reader has solved or tried: one small file each, on this machine and nowhere else."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from prefixlm_teach.files import written_whole

RIGHT, TRIED = "right", "tried"
_in_memory: dict[str, str] = {}


def home() -> Path:
    """The folder in which progress is kept: PREFIXLM_HOME, or .prefixlm in the reader's own folder."""
    named = os.environ.get("PREFIXLM_HOME")
    return (Path(named).expanduser() if named else Path.home() / ".prefixlm") / "progress"


def keep(number: str, *, right: bool) -> None:
    """Note that an exercise was tried, and whether it was solved; once solved, it stays so.

    Where nothing can be written, it is remembered until the kernel ends.
    """
    if state_of(number) == RIGHT:
        return
    _in_memory[number] = RIGHT if right else TRIED
    try:
        home().mkdir(parents=True, exist_ok=True)
        with written_whole(home() / number) as part:
            part.write_text(_in_memory[number], encoding="utf-8")
    except (OSError, RuntimeError):  # the second: this reader has no folder of their own
        return


def state_of(number: str) -> str:
    """Return "right", "tried" or, for an exercise that nobody has touched here, nothing."""
    known = {_in_memory.get(number, "")}
    with suppress(OSError, RuntimeError, UnicodeDecodeError):  # nothing kept, or nothing that can be read
        file = home() / number
        known.add(file.read_text(encoding="utf-8").strip() if file.is_file() else "")
    return next((state for state in (RIGHT, TRIED) if state in known), "")
