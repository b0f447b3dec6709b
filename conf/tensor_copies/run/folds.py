"""What a page folds: a native element of the browser, with a line always in sight.

The line is the fold's attribute ``words``, which the search does not find, or its first
child, a :class:`fold_words`, which may have code in it.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


class fold(nodes.General, nodes.Element):
    """What a reader can unfold; its attribute ``kind`` is a class for the style."""


class fold_words(nodes.General, nodes.TextElement):
    """The line of a fold that is always in sight."""


def add_to(app: Sphinx) -> None:
    """Let pages have folds."""
    app.add_node(fold, html=(_visit_fold, _depart_fold))
    app.add_node(fold_words, html=(_visit_fold_words, _depart_fold_words))


def is_fold(node: nodes.Node, kind: str) -> bool:
    """Whether a node is a fold of this kind."""
    return isinstance(node, fold) and node.get("kind") == kind


def _visit_fold(self: HTML5Translator, node: fold) -> None:
    kind = f' class="{node["kind"]}"' if "kind" in node else ""
    words = node.get("words")
    line = f"<summary>{self.encode(words)}</summary>" if words else ""
    self.body.append(f"<details{kind}>{line}\n")


def _depart_fold(self: HTML5Translator, node: fold) -> None:
    self.body.append("</details>\n")


def _visit_fold_words(self: HTML5Translator, node: fold_words) -> None:
    self.body.append("<summary>")


def _depart_fold_words(self: HTML5Translator, node: fold_words) -> None:
    self.body.append("</summary>\n")
