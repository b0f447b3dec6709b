"""The explorer on a page, its data for the script, and links to its chains.

The page opens with one chain drawn and said in full, so that nothing moves when the
script is there, which then answers to the reader. Without scripts the controls are
hidden and two more pictures stand below the first.
"""

from __future__ import annotations

import json
import re
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tensor_copies.explorer.chains import chain_of, code_of
from tensor_copies.explorer.data import Chain, Explorer
from tensor_copies.explorer.kept import live
from tensor_copies.explorer.scenes import framed, pack_pictures, picture
from tensor_copies.explorer.signs import STYLE
from tensor_copies.explorer.words import facts, headline
from tensor_copies.machine.templates import TEMPLATES

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.writers.html5 import HTML5Translator

DATA = "explorer_data.js"
ERRORS = "errors"
STILLS: tuple[Chain, ...] = (("detach",), ("clone",), ("detach", "clone"))
STATE, DEVICE = "leaf", "cpu"
MEANS = {  # what a kind of x is, for a reader who does not know the word
    "leaf": "Leaf: you made it, no operation did. Its gradient is put into x.grad.",
    "constant": "Constant: autograd does not follow it.",
    "nonleaf": "Non-leaf: an operation made it, and autograd remembers which.",
    "view": "View: the memory of another tensor, read in another order.",
    "no_grad": "Under torch.no_grad(): autograd does not remember the call.",
}
RUN = 4  # words in a row


class explorer(nodes.General, nodes.Element):
    """The explorer: no raw HTML, so that the search does not take its words."""


def visit_explorer(self: HTML5Translator, node: explorer) -> None:
    """Write the explorer as it opens."""
    self.body.append(node["markup"])
    raise nodes.SkipNode


class ExplorerDirective(SphinxDirective):
    """The explorer (``{explorer}``); its script and style come with the page."""

    def run(self) -> list[nodes.Node]:
        """Return the explorer as it opens."""
        self.env.metadata[self.env.docname]["has_explorer"] = True
        app, page = self.env.app, self.env.docname
        links = {
            name: app.builder.get_relative_uri(page, name)
            for name in ("glossary", "machines")
            if name in self.env.found_docs
        }
        return [explorer(markup=markup(live(), links))]


def still(data: Explorer, chain: Chain, write: str = "") -> tuple[str, str]:
    """Return the picture of a chain for the first x, and its answer in words.

    The chain is one that does not raise; ``write`` is ``"x"`` or ``"y"`` for the
    picture after the write through that name.
    """
    seen = data.seen(DEVICE, STATE, chain)
    places = (DEVICE, DEVICE if not seen["moved"] else "device")
    said = headline(seen, places)
    name = f"y = {code_of(chain)}: {said}"
    return framed(data, picture(seen, [], places, write), name), said


def markup(data: Explorer, links: dict[str, str]) -> str:
    """Return the explorer's HTML in the state that it opens with.

    ``links`` has the addresses of the pages "glossary" and "machines", as far as they
    exist.
    """
    stills = []
    for chain in STILLS:
        drawing, said = still(data, chain)
        stills.append({"code": code_of(chain), "picture": drawing, "said": said})
    html = TEMPLATES.get_template("explorer/explorer.html").render(
        data=data,
        links=links,
        means=MEANS,
        state=STATE,
        first=stills[0],
        below=stills[1:],
        facts=facts(data.seen(DEVICE, STATE, STILLS[0]), (DEVICE, DEVICE)),
    )
    return "".join(map(str.strip, html.splitlines()))


def address_of(
    app: Sphinx, page: str, code: str, state: str = "", *, away: bool = False
) -> str | None:
    """Return where a link on a page shows a chain, if home has the explorer.

    The ``code`` is an expression such as ``x.detach().clone()``, the ``state`` of ``x``
    a key of the
    Atlas's ``STATES``, empty for the first; ``away`` is an ``x`` that is not on the
    CPU. It is None for what is no chain of the explorer's calls, for one that is not
    there since a beginning of it raises, and if there is no such device.
    """
    if not _is_at_home(app) or (chain := chain_of(code)) is None:
        return None
    kinds = [kind for kind in live().devices if (kind != DEVICE) == away]
    if not kinds or (kinds[0], state or STATE, chain) not in live():
        return None
    asked = {"y": ".".join(chain)} | ({"x": state} if state else {})
    asked |= {"on": kinds[0]} if away else {}
    home = app.builder.get_relative_uri(page, app.config.root_doc)
    return f"{home}?{urlencode(asked)}#explorer"


def _is_at_home(app: Sphinx) -> bool:
    home = Path(app.env.doc2path(app.config.root_doc))
    return "```{explorer}" in home.read_text(encoding="utf-8")


def _shown(app: Sphinx) -> list[str]:
    metadata = app.env.metadata
    return [page for page in metadata if "has_explorer" in metadata[page]]


def write_data(app: Sphinx, _: BuildEnvironment) -> list[str]:
    """Write what the script reads: a script, so that it works from a file.

    Returns
    -------
    list
        The pages to write again: the address of a new file has another hash.
    """
    pages = _shown(app)
    if app.builder.format != "html" or not pages:
        return []
    data = live().packed
    drawn = pack_pictures(live())
    known = json.loads(app.env.metadata.get(ERRORS, {}).get("messages", "[]"))
    cures = {
        number: anchor
        for number, text in enumerate(data["texts"])
        if text is not None and (anchor := entry_of(text, known)) is not None
    }
    errors = ""
    if ERRORS in app.env.found_docs:
        errors = app.builder.get_relative_uri(pages[0], ERRORS)
    whole = json.dumps(
        {**data, **drawn, "cures": cures, "errors": errors},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    file, text = static / DATA, f"window.explorerData={whole};\n"
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return []
    file.write_text(text, encoding="utf-8")
    return pages


def entry_of(message: str, known: list[dict[str, Any]]) -> str | None:
    """Return the anchor of the entry of the error index that a message belongs to.

    The kind of error must be the same, and of the runs of four words more than half;
    of more than one entry that with the most of them is taken. What differs from
    reader to reader, numbers and names of devices, does not count.
    """
    asked, kind = _runs(message), message.partition(":")[0]
    found = [
        (len(asked & _runs(line)), entry["anchor"])
        for entry in known
        for text in entry["texts"]
        for line in text.splitlines()
        if line.partition(":")[0] == kind
    ]
    common, anchor = max(found, key=itemgetter(0), default=(0, None))
    return anchor if 2 * common > len(asked) else None


def _runs(message: str) -> set[tuple[str, ...]]:
    text = re.sub(
        r"\b(cuda|cpu|meta|standin|privateuseone)\b(:\d+)?", "device", message
    )
    words = re.findall(r"[a-z_]+", text.partition(":")[2].lower())
    places = range(len(words) - RUN + 1)
    return {tuple(words[n : n + RUN]) for n in places}


def add_files(app: Sphinx, page: str, *_: object) -> None:
    """Load script, data and style on the page that has the explorer."""
    if page in _shown(app):
        app.add_js_file(DATA, loading_method="defer")
        app.add_js_file("explorer.js", loading_method="defer")
        app.add_css_file(STYLE)
        app.add_css_file("explorer.css")
