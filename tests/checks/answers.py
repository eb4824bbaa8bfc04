"""Answers to all exercises, by chapter, and what makes one of its source."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import exercises

import prefixlm_teach

PAGES = {page.stem: page for page in exercises.solution_pages()}
CHECKED = re.compile(r"^check\.(\w+)\((\w+)\)$", re.MULTILINE)


def of(chapter: str) -> ModuleType:
    """The answers to a chapter's exercises: tests/checks/answers_<name>.py for chapters/NN_<name>.md."""
    return importlib.import_module(f"answers_{chapter.partition('_')[2]}")


def variables(chapter: str) -> dict[str, str]:
    """Which variable of the page each check of a chapter reads."""
    return dict(CHECKED.findall(PAGES[chapter].read_text(encoding="utf-8")))


def make(source: str, variable: str) -> Any:
    """Run an answer's source, with what every page of exercises has imported, and return the answer."""
    namespace: dict[str, Any] = {name: getattr(prefixlm_teach, name) for name in prefixlm_teach.__all__}
    exec("import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F", namespace)
    exec(compile(source, "<an answer>", "exec"), namespace)
    return namespace[variable]


def exercise_cells(page: Path) -> list[str]:
    """The headings of the exercises of a page."""
    return re.findall(r"^### Exercise (\S+): ", page.read_text(encoding="utf-8"), re.MULTILINE)
