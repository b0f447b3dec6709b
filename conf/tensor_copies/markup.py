"""What all rooms make HTML with: templates that escape what they show, code, folds."""

import json
import re
from pathlib import Path
from textwrap import shorten

from docutils import nodes
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from sphinx.application import Sphinx

LONGEST = 160  # characters; what a search engine shows of a description
SENTENCE = re.compile(r".*?[.?!](?=\s|$)")
CODE = re.compile(r"``?(.+?)``?")  # between backticks, single or double


def prose(text: str) -> Markup:
    """Return prose as HTML, with what stands between backticks as code."""
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if place % 2 else escape(piece)
        for place, piece in enumerate(CODE.split(text))
    )


def code_in(words: str) -> list[nodes.Node]:
    """Return words as nodes, with what stands between backticks as code."""
    return [
        nodes.literal(text=piece) if place % 2 else nodes.Text(piece)
        for place, piece in enumerate(CODE.split(words))
        if piece
    ]


def with_code(node: nodes.Element) -> str:
    """Return the text of a node on one line, its code between backticks."""
    parts = (
        f"`{text}`" if isinstance(text.parent, nodes.literal) else text
        for text in node.findall(nodes.Text)
    )
    return " ".join("".join(parts).split())


# A template stands in the room that knows its facts: "errors/cures.html".
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters["prose"] = prose


def fold(words: str, *folded: nodes.Node, kind: str) -> nodes.admonition:
    """Return what a reader can unfold, under words that are always in sight.

    The ``kind`` is a class for the style.
    """
    title = nodes.title("", "", *code_in(words))
    classes = ["fold", kind]
    return nodes.admonition("", title, *folded, collapsible="closed", classes=classes)


def is_fold(node: nodes.Node, kind: str) -> bool:
    """Whether a node is a fold of this kind."""
    return isinstance(node, nodes.admonition) and kind in node["classes"]


def beginning(text: str) -> str:
    """Return the beginning of a text on one line: whole sentences if they fit."""
    text, whole = " ".join(text.split()), ""
    for sentence in SENTENCE.findall(text[: 2 * LONGEST]):  # it reads each letter often
        if len(whole + sentence) > LONGEST:
            break
        whole += sentence
    return whole or shorten(text, LONGEST, placeholder=" ...")


def write_script(app: Sphinx, name: str, variable: str, data: object) -> bool:
    """Write data as a script of the site, so that it also works from a file.

    Returns whether it is another than it was.
    """
    file = Path(app.outdir, "_static", name)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = f"window.{variable}={text};\n"
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return True
