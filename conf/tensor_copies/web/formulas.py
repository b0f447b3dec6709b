"""Formulas as MathML, made while the site is built.

Every browser of today draws MathML by itself. Sphinx's own ways load a script and
fonts from another host, or need TeX where the site is built.
"""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def mathml(node: nodes.math | nodes.math_block) -> str:
    """Return a formula's MathML on one line; one that is no TeX gives a warning."""
    block = isinstance(node, nodes.math_block)
    try:
        lines = tex2mathml(node.astext(), as_block=block).splitlines()
    except MathError as wrong:
        logger.warning("not a formula: %s", wrong, location=node)
        return ""
    return "".join(line.strip() for line in lines)


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    self.body.append(mathml(node))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula in a line of its own, which scrolls where it is too wide."""
    self.body.append(self.starttag(node, "div", CLASS="formula", tabindex="0"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this formula")
        self.body.append("</span>")
    self.body.append(f"{mathml(node)}</div>\n")
    raise nodes.SkipNode
