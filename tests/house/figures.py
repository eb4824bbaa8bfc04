"""Figures in prose that claim something: shares, factors and points, and where each of them comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SPELT = {
    **{"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10},
    **{"eleven": 11, "twelve": 12, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100},
}
UNITS = "%|\u00d7|(?:percent|per cent|points?|times|fold)\\b"  # \u00d7 is the sign for times
FIGURE = re.compile(
    rf"(?<![\w.,])(?P<number>\d[\d,]*(?:\.\d+)?|(?:{'|'.join(SPELT)}))[\s-]?(?:{UNITS})", re.IGNORECASE
)
SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z*(\[“`])")
CODE = re.compile(r"`[^`]*`|\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
CITED = re.compile(r"\]\(references\.md#[\w-]+\)")


class Claim(NamedTuple):
    """A figure in a sentence of prose, and what cells of its section have put out."""

    figure: str
    sentence: str
    shown: str

    @property
    def number(self) -> str:
        """Its number as digits."""
        number = FIGURE.match(self.figure)["number"].lower()  # type: ignore[index]
        return str(SPELT[number]) if number in SPELT else number.replace(",", "")

    @property
    def founded(self) -> bool:
        """Whether the sentence cites a source, or a cell of the section puts out the number."""
        pattern = rf"(?<![\d.]){re.escape(self.number)}(?![\d]|\.\d)"
        return bool(CITED.search(self.sentence) or re.search(pattern, self.shown.replace(",", "")))


def output_of(cell: dict[str, Any]) -> str:
    """What a code cell printed, or the words of what it showed."""
    texts = []
    for output in cell.get("outputs", []):
        texts.append("".join(output.get("text", [])))
        texts.append("".join(output.get("data", {}).get("text/plain", [])))
    return "\n".join(texts)


def sections(notebook: Path) -> Iterator[tuple[list[str], str]]:
    """Yield the prose of each section, paragraph by paragraph, and all that its cells put out."""
    prose: list[str] = []
    shown = ""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            shown += output_of(cell) + "\n"
            continue
        for paragraph in re.split(r"\n\s*\n", "".join(cell["source"])):
            if paragraph.startswith("#") and prose:
                yield prose, shown
                prose, shown = [], ""
            prose.append(paragraph)
    yield prose, shown


def claims_in(prose: list[str], shown: str) -> Iterator[Claim]:
    """Yield every figure of a section with its sentence; a table's row is a sentence, code is none."""
    for paragraph in prose:
        is_table = paragraph.lstrip().startswith("|")
        text = CODE.sub("", paragraph)
        for sentence in text.splitlines() if is_table else SENTENCE.split(" ".join(text.split())):
            for found in FIGURE.finditer(sentence):
                yield Claim(found[0], sentence, shown)
