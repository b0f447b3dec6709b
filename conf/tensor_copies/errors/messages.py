"""Keep the message of each entry, for all that leads to one.

An entry is a section of a page ``docs/errors/<family>.md`` with a label. Its first cell
is the smallest code that raises the message, tagged with what it does and with the types
that it may raise, ``[raises-exception, RuntimeError]`` or ``[warning, UserWarning]``, and
with ``since-2.8`` where older torch is silent. The message is never typed: it is what
that cell gave. The boxes and the search find an entry by it (``_static/messages.js``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from tensor_copies.markup import SENTENCE

FACT = "messages"  # a page's entries, among its facts
DATA = "messages.js"
RAISING = {"tag_raises-exception", "tag_warning"}
TYPE, SINCE = re.compile(r"tag_([A-Z]\w*)"), re.compile(r"tag_since-(\d+)\.(\d+)")
logger = logging.getLogger(__name__)


def entries_in(
    doctree: nodes.document,
) -> Iterator[tuple[nodes.section, nodes.container]]:
    """Yield the sections that are entries, each with the cell that raises its message."""
    for section in [*doctree.findall(nodes.section)]:
        for cell in section.children:
            if RAISING & {*cell.get("classes", ())}:
                yield section, cell


def keep_message(
    env: BuildEnvironment,
    doctree: nodes.document,
    section: nodes.section,
    cell: nodes.container,
) -> None:
    """Check what the cell of an entry gave; keep it with the page's facts.

    The entry's label, which is stable, becomes the only address of its section.
    """
    anchor = next(one for one in section["ids"] if doctree.nametypes.get(one))
    for link in doctree.findall(nodes.reference):
        if link.get("refid") in section["ids"]:
            link["refid"] = anchor
    section["ids"] = [anchor]
    blocks = cell.findall(nodes.literal_block)
    live = "\n".join(b.astext().strip() for b in blocks if "stream" in b["classes"])
    tags = " ".join(cell["classes"])
    types, since = TYPE.findall(tags), SINCE.search(tags)
    torch = version("torch")
    if (
        not live
        and since
        and (*map(int, torch.split(".")[:2]),) < (*map(int, since.groups()),)
    ):
        live = f"(no message with torch {torch})"
        cell += nodes.literal_block(text=live, classes=["output", "stream"])
    elif not re.search(rf"^({'|'.join(types)}):", live, re.MULTILINE):
        said = f"its code should give {' or '.join(types)}, torch {torch} gives {live}"
        logger.warning("%s: %s", anchor, said, location=cell)
    raws = [*section.findall(nodes.raw)]
    typed = {one["met"]: one["texts"] for one in raws if one.hasattr("met")}
    why = next(one for one in section.children if isinstance(one, nodes.paragraph))
    env.metadata[env.docname].setdefault(FACT, []).append(
        {
            "anchor": anchor,
            "title": section.next_node(nodes.title).astext(),
            "texts": [*typed.get(True, ()), live, *typed.get(False, ())],
            "cause": SENTENCE.match(_with_code(why)).group(),
            "cure": next(one["cures"][0][0] for one in raws if one.hasattr("cures")),
        }
    )


def _with_code(paragraph: nodes.paragraph) -> str:
    parts = (
        f"`{text}`" if isinstance(text.parent, nodes.literal) else text
        for text in paragraph.findall(nodes.Text)
    )
    return " ".join("".join(parts).split())


def known_messages(env: BuildEnvironment) -> list[dict[str, Any]]:
    """Return the entries of all pages, each with its page."""
    return [
        {"page": page, **entry}
        for page, facts in sorted(env.metadata.items())
        for entry in facts.get(FACT, ())
    ]


def write_messages(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the list for the boxes and the search: a script works from a file, too."""
    if app.builder.format != "html":
        return
    uri = app.builder.get_target_uri
    known = [
        {"address": f"{uri(one.pop('page'))}#{one['anchor']}", **one}
        for one in known_messages(env)
    ]
    file = Path(app.outdir, "_static", DATA)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(known, ensure_ascii=False, separators=(",", ":"))
    file.write_text(f"window.knownMessages={text};\n", encoding="utf-8")
