"""No figure in prose is older than its code: a cell of its section shows it, or its sentence cites it."""

from __future__ import annotations

from pathlib import Path

import pytest
from figures import Claim, claims_in, sections

CHAPTERS = sorted((Path(__file__).parents[2] / "chapters").glob("[0-9]*.ipynb"))
SOURCE = "([Raffel et al. 2020](references.md#raffel2020t5))"


@pytest.mark.parametrize("notebook", CHAPTERS, ids=lambda path: path.stem)
def test_every_figure_in_prose_comes_from_a_cell_or_a_source(notebook: Path) -> None:
    unfounded = [
        f"{claim.figure!r} in: {claim.sentence}"
        for prose, shown in sections(notebook)
        for claim in claims_in(prose, shown)
        if not claim.founded
    ]
    assert not unfounded, "\n".join(unfounded)


@pytest.mark.parametrize(
    ("sentence", "figures"),
    [
        ("It is 12 % wrong.", ["12 %"]),
        ("It is 12% wrong, or 3.5 points.", ["12%", "3.5 points"]),
        ("That is ten times faster, and 1,991 times on paper.", ["ten times", "1,991 times"]),
        ("A tenfold gain, a 2-fold one.", ["tenfold", "2-fold"]),
        ("4\u00d7 as long; six percent.", ["4\u00d7", "six percent"]),
        ("The model has 3 layers, and 100 words.", []),
        ("Several times, many points of view, 0 pointers.", []),
        ("`x % 5` and $10 %$ are code; so is 3.5.1.", []),
    ],
)
def test_what_counts_as_a_figure(sentence: str, figures: list[str]) -> None:
    assert [claim.figure for claim in claims_in([sentence], "")] == figures


@pytest.mark.parametrize(
    ("sentence", "shown", "founded"),
    [
        ("It is 12 % wrong.", "word error 12", True),
        ("It is 12 % wrong.", "word error 12.4, 112, 1.12", False),
        ("It is 12.4 % wrong.", "12.4%", True),
        ("It is 1,991 times faster.", "ratio 1,991", True),
        ("It is ten times faster.", "ratio 10", True),
        ("It is ten times faster.", "ratio 9.8", False),
        (f"It is 12 % wrong {SOURCE}.", "", True),
        ("It is 12 % wrong. A source says so.", "", False),
    ],
)
def test_what_a_figure_needs(sentence: str, shown: str, founded: bool) -> None:
    assert [claim.founded for claim in claims_in([sentence], shown)] == [founded]


def test_a_source_in_another_sentence_and_a_cell_in_another_section_do_not_count() -> None:
    claims = list(claims_in([f"It is 12 % wrong. They say so {SOURCE}."], ""))
    assert [claim.founded for claim in claims] == [False]
    assert claims == [Claim("12 %", "It is 12 % wrong.", "")]


def test_sections_end_where_the_next_heading_begins(tmp_path: Path) -> None:
    path = tmp_path / "c.ipynb"
    text = """{"cells": [
        {"cell_type": "markdown", "source": ["# One\\n", "\\n", "It is 12 %."]},
        {"cell_type": "code", "source": [], "outputs": [{"text": ["12\\n"]}]},
        {"cell_type": "markdown", "source": ["So 12 %.\\n", "\\n", "## Two\\n", "\\n", "Here 12 %."]}]}"""
    path.write_text(text, encoding="utf-8")
    found = [claim.founded for prose, shown in sections(path) for claim in claims_in(prose, shown)]
    assert found == [True, True, False]
