"""Put the explorer on a page; write what its script answers from; link to its lanes.

The page opens with one call drawn and said in full, so that nothing moves when the
script is there, which then answers to the reader. What it answers from is loaded with
the first touch. Without scripts the controls are hidden.
"""

import json
import re
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri
from sphinx.writers.html5 import HTML5Translator
from tensor_maps.atlas.calls import LONGEST, STATES, TABLE

from tensor_copies.calls.facts import DEVICE, LEAF, Record, facts, is_shown
from tensor_copies.calls.pictures import labelled
from tensor_copies.calls.words import after_write, facts_of, headline, signs
from tensor_copies.gallery.kept import CONF
from tensor_copies.markup import TEMPLATES, write_script

DATA, READER = "facts.js", "read_calls.js"  # loaded with the first touch
FIRST = "x.detach()"
# Of these pictures are put together: a cell, or a tag with the text behind it.
PIECE = re.compile(r'<g class="tm-cell">.*?</g>|<[^>]*>[^<]*')


class explorer(nodes.General, nodes.Element):
    """The explorer: no raw HTML, so that the search does not take its words."""


def visit_explorer(self: HTML5Translator, node: explorer) -> None:
    """Write the explorer as it opens, with the addresses of its data."""
    data, page = facts(), node["page"]
    record = data.record(FIRST)
    said = headline(record)
    html = TEMPLATES.get_template("calls/explorer.html").render(
        files=[address_of_file(self.builder, page, name) for name in (DATA, READER)],
        uri=partial(self.builder.get_relative_uri, page),
        devices=data.devices,
        states={name: TABLE["states"][name] for name in STATES},
        chips=data.chips,
        pairs=node["pairs"],
        state=LEAF,
        code=FIRST,
        said=said,
        picture=labelled(record["picture"], f"y = {FIRST}: {said}"),
        facts=facts_of(record)[:4],  # those of every call
    )
    self.body.append("".join(map(str.strip, html.splitlines())))
    raise nodes.SkipNode


def address_of_file(builder: Builder, page: str, name: str = DATA) -> str:
    """Return the address of a static file, with what tells its versions apart."""
    source = CONF / "static" / name
    path = source if source.exists() else Path(builder.outdir, "_static", name)
    version = sha256(path.read_bytes()).hexdigest()[:8] if path.exists() else ""
    return relative_uri(builder.get_target_uri(page), f"_static/{name}?v={version}")


class ExplorerDirective(SphinxDirective):
    """The explorer (``{explorer}``).

    Each line of the content is a comparison that is asked for often, as a link:
    ``words: one | other``, or ``words: one | other | kind of x``. What is compared is
    the code of two chains or rows.
    """

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the place of the explorer."""
        page = self.env.docname
        self.env.metadata[page]["loads_facts"] = True
        return [explorer(page=page, pairs=list(map(_pair, self.content)))]


def _pair(line: str) -> tuple[str, str]:
    """Return the words of a comparison and its address on the page."""
    words, _, rest = line.partition(": ")
    one, other, *state = rest.split(" | ")
    asked = {"y": one, "x": (state or [LEAF])[0], "vs": other}
    return words, f"?{urlencode(asked)}#explorer"


def address_of(
    app: Sphinx, page: str, code: str, state: str = "", *, away: bool = False
) -> str | None:
    """Return where a link on a page shows a row or chain, if home has the explorer.

    The ``state`` of ``x`` is a key of ``STATES``, empty for the first; ``away`` is an
    ``x`` that is not on the CPU. It is None for what was not run.
    """
    code = code.strip().removeprefix("y = ").replace("'", '"')
    is_asked = is_shown(app) and (state or LEAF) in STATES
    if not is_asked or facts().record(code, state or LEAF, away) is None:
        return None
    asked = {"y": code} | ({"x": state} if state else {})
    asked |= {"on": DEVICE} if away else {}
    at = app.builder.get_relative_uri(page, app.config.root_doc)
    return f"{at}?{urlencode(asked)}#explorer"


class _Numbers(dict):
    """Things that are written once, each with its number."""

    def of(self, thing: Any) -> int:
        return self.setdefault(thing, len(self))


def write_facts(app: Sphinx, _: BuildEnvironment) -> list[str]:
    """Write what the script reads: a script, so that it works from a file.

    Each text, picture and outcome is written once and named by its number; a picture
    is a list of numbers of ``pieces``, to be joined.

    Returns
    -------
    list
        The pages to write again: the address of a new file has another hash.
    """
    pages = [page for page, one in app.env.metadata.items() if "loads_facts" in one]
    if not pages:
        return []
    data = facts()
    texts, pieces, pictures, outcomes = (_Numbers() for _ in range(4))

    def number(record: Record | None, x: str) -> int:
        if record is None:
            return -1
        said: dict[str, Any] = {
            "said": texts.of(headline(record, x)),
            "sign": "-".join(signs(record)),
            "picture": pictures.of(record["picture"]),
        }
        if record["error"] is not None:
            said["error"] = texts.of(record["error"])
        else:
            said["facts"] = [list(map(texts.of, fact)) for fact in facts_of(record, x)]
            said["writes"] = {
                name: [texts.of(after_write(record, name, x)), write["changed"]]
                for name, write in record["writes"].items()
            }
        return outcomes.of(json.dumps(said))

    seen = {
        code: [
            [number(data.record(code, state, kind == DEVICE), x) for state in STATES]
            for kind in data.devices
        ]
        for code in data.codes
        for x in [data.by_code[code].subject if code in data.by_code else "x"]
    }
    whole = {
        "states": {
            state: [words, TABLE["states"][state]["means"]]
            for state, words in STATES.items()
        },
        "devices": data.devices,
        "chips": data.chips,
        "longest": LONGEST,
        "forms": data.forms,
        "rows": {
            code: {"id": call.id, "subject": call.subject, "given": call.given}
            | ({"says": call.says} if call.says else {})
            for code, call in data.by_code.items()
        },
        "texts": list(texts),
        "pictures": [[*map(pieces.of, PIECE.findall(one))] for one in pictures],
        "pieces": list(pieces),
        "outcomes": list(map(json.loads, outcomes)),
        "seen": seen,
    }
    return pages if write_script(app, DATA, "callFacts", whole) else []
