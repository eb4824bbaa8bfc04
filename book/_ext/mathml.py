"""Formulas become MathML when the book is made: browsers draw it, screen readers speak it, no script runs.

Parentheses and roots that grow need a font made for formulas, which many machines lack. matplotlib carries
one, DejaVu Serif; the book gets the few letters of it that its formulas use.
"""

import re
from html import unescape
from pathlib import Path
from typing import Any

import matplotlib as mpl
from docutils import nodes
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

FONT = Path(mpl.get_data_path()) / "fonts/ttf/DejaVuSerif.ttf"
# Browsers draw a letter that stands alone with the italic letters of mathematics; h came before the others.
ITALICS = {
    chr(first + i): chr(italic + i) for first, italic in ((65, 0x1D434), (97, 0x1D44E)) for i in range(26)
}
ITALICS["h"] = "\N{PLANCK CONSTANT}"
used: set[str] = set()


def mathml(formula: str, display: str) -> str:
    """Return the MathML of a formula in LaTeX; `display` is "inline" or "block"."""
    text = convert(formula, display=display)
    text = re.sub(r"<mo>([a-z]{2,})</mo>", r"<mi>\1</mi>", text)  # max is a name, not an operator
    text = re.sub(
        r"(<mi>[a-z]{2,}</mi>)(?=<m[in]>)", r'\1<mspace width="0.167em" />', text
    )  # log V, not logV
    used.update(unescape(re.sub(r"<[^>]*>", "", text)))
    return text


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula that stands in a line of text."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number; on a narrow page it scrolls, by keyboard too."""
    formula, number = mathml(node.astext(), "block"), node.get("number")
    name = f"Equation {number}" if number else "Formula"
    translator.body.append(translator.starttag(node, "div", CLASS="equation"))
    translator.body.append(
        f'<div class="formula" role="group" aria-label="{name}" tabindex="0">{formula}</div>\n'
    )
    if number:
        translator.body.append(f'<a class="equation-number" href="#{node["ids"][-1]}">({number})</a>\n')
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def write_font(app: Sphinx) -> list[Any]:
    """Write the letters that the formulas use, and the parts large brackets are built of; add no page."""
    letters = {"√"} | used | {ITALICS[letter] for letter in used & ITALICS.keys()}
    font = TTFont(FONT, recalcTimestamp=False)
    subsetter = Subsetter(Options(layout_features=[], drop_tables=["FFTM"]))
    subsetter.populate(text="".join(sorted(letters)))
    subsetter.subset(font)
    font.flavor = "woff"
    font.save(Path(app.outdir) / "_static/formulas.woff", reorderTables=True)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("html-collect-pages", write_font)  # all formulas are written, and no e-book packed yet
    return {"parallel_read_safe": True, "parallel_write_safe": False}
