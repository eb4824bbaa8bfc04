"""Formulas become MathML when the book is made: browsers draw it, screen readers speak it, nothing is fetched."""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula that stands in a line of text."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own; on a narrow page it scrolls, by keyboard too."""
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula" role="group" aria-label="Formula" tabindex="0">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
