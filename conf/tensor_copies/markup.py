"""What all rooms make HTML with: templates that escape what they show, and folds."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape


def prose(text: str) -> Markup:
    """Return prose as HTML, with what stands between backticks as code."""
    pieces = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if place % 2 else escape(piece)
        for place, piece in enumerate(pieces)
    )


# A template stands beside the module that knows its facts: "errors/cures.html".
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters["prose"] = prose


def fold(words: str | nodes.title, *folded: nodes.Node, kind: str) -> nodes.admonition:
    """Return what a reader can unfold, under words that are always in sight.

    The ``kind`` is a class for the style, or several.
    """
    title = words if isinstance(words, nodes.title) else nodes.title(text=words)
    classes = ["fold", *kind.split()]
    return nodes.admonition("", title, *folded, collapsible="closed", classes=classes)


def is_fold(node: nodes.Node, kind: str) -> bool:
    """Whether a node is a fold of this kind."""
    return isinstance(node, nodes.admonition) and kind in node["classes"]
