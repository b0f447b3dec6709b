"""Keep the message of each entry, for all that leads to one.

An entry is a section of a page ``docs/errors/<family>.md`` with a label. Its first cell
is the smallest code that raises the message, with the tags of what it does and of the
types that it may raise, ``[raises-exception, RuntimeError]`` or ``[warning,
UserWarning]``, and ``since-2.8`` where older torch is silent.
"""

import re
from importlib.metadata import version

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from tensor_copies.markup import beginning, with_code, write_script

TYPE, SINCE = re.compile(r"tag_([A-Z]\w*)"), re.compile(r"tag_since-(\d+)\.(\d+)")
logger = logging.getLogger(__name__)


def keep_message(
    env: BuildEnvironment, section: nodes.section, cell: nodes.container
) -> None:
    """Keep what an entry's cell gave, with the entry's cause and first cure."""
    raws = [*section.findall(nodes.raw)]
    typed = {one["met"]: one["texts"] for one in raws if one.hasattr("met")}
    live = _message(cell)
    why = next(one for one in section.children if isinstance(one, nodes.paragraph))
    env.metadata[env.docname].setdefault("messages", []).append(
        {
            "anchor": section["ids"][0],
            "title": section.next_node(nodes.title).astext(),
            "texts": [*typed.get(True, ()), live, *typed.get(False, ())],
            "cause": beginning(with_code(why)),
            "cure": next(one["cures"][0][0] for one in raws if one.hasattr("cures")),
        }
    )


def _message(cell: nodes.container) -> str:
    """Return what a cell gave; warn unless it is what the cell's tags say."""
    blocks = cell.findall(nodes.literal_block)
    live = "\n".join(b.astext().strip() for b in blocks if "stream" in b["classes"])
    tags, torch = " ".join(cell["classes"]), version("torch")
    types, since = TYPE.findall(tags), SINCE.search(tags)
    release = tuple(map(int, torch.split(".")[:2]))
    if not live and since and release < tuple(map(int, since.groups())):
        live = f"(no message with torch {torch})"
        cell += nodes.literal_block(text=live, classes=["output", "stream"])
    elif not re.search(rf"^({'|'.join(types)}):", live, re.MULTILINE):
        said = "an entry's code should give %s, torch %s gives %s"
        kinds = " or ".join(types)
        logger.warning(said, kinds, torch, live or "nothing", location=cell)
    return live


def write_messages(app: Sphinx, env: BuildEnvironment) -> None:
    """Write all messages for the boxes and the search: a script works from a file."""
    known = [
        {"address": f"{app.builder.get_target_uri(page)}#{entry['anchor']}", **entry}
        for page, facts in sorted(env.metadata.items())
        for entry in facts.get("messages", ())
    ]
    write_script(app, "messages.js", "knownMessages", known)
