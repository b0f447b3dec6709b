"""The explorer on a page, its data for the script, and links to its chains.

The page opens with one chain drawn and said in full, so that nothing moves when the
script is there, which then answers to the reader. What it answers from is loaded with
the first touch. Without scripts the controls are hidden and two more pictures stand
below the first.
"""

from __future__ import annotations

import json
import re
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri
from sphinx.writers.html5 import HTML5Translator

from tensor_copies.explorer.chains import Chain, chain_of, expression_of
from tensor_copies.explorer.data import Explorer
from tensor_copies.explorer.kept import EXPLORER, live_explorer, pictures
from tensor_copies.explorer.scenes import framed, picture
from tensor_copies.explorer.words import facts_shown, headline
from tensor_copies.gallery.kept import CONF
from tensor_copies.markup import TEMPLATES

DATA = "explorer_data.js"
# What the script loads with the first touch; the Atlas writes the calls.
CALLS_DATA, LOADED = "explorer_calls.js", ("search/names.js", "explorer_line.js")
PLACE_OF_DATA = "DATA_FILES"
STILLS: tuple[Chain, ...] = (("detach",), ("clone",), ("detach", "clone"))
STATE, DEVICE = "leaf", "cpu"
MEANS = {  # what a kind of x is, for a reader who does not know the word
    "leaf": "You created it; it isn't a result. Its gradient goes to x.grad.",
    "constant": "Its requires_grad is False, so autograd doesn't follow it.",
    "nonleaf": "Autograd remembers which operation made it.",
    "view": "Its rows are columns in memory. Its requires_grad is False.",
    "no_grad": "The call runs under torch.no_grad(), so autograd doesn't record it.",
}
DEVICE_NAMES = re.compile(r"\b(cuda|cpu|meta|standin|privateuseone)\b(:\d+)?")
RUN = 4  # words in a row


class explorer(nodes.General, nodes.Element):
    """The explorer: no raw HTML, so that the search does not take its words."""


def visit_explorer(self: HTML5Translator, node: explorer) -> None:
    """Write the explorer as it opens, with the addresses of its data."""
    builder = self.builder
    page = builder.get_target_uri(node["page"])
    files = [
        relative_uri(page, f"_static/{name}?v={short_hash(Path(builder.outdir), name)}")
        for name in (DATA, CALLS_DATA, *LOADED)
    ]
    self.body.append(node["markup"].replace(PLACE_OF_DATA, " ".join(files), 1))
    raise nodes.SkipNode


def short_hash(outdir: Path, name: str) -> str:
    """Return what tells versions of a static file apart, in its address."""
    written, source = outdir / "_static" / name, CONF / "static" / name
    path = source if source.exists() else written
    return sha256(path.read_bytes()).hexdigest()[:8] if path.exists() else ""


class ExplorerDirective(SphinxDirective):
    """The explorer (``{explorer}``); its script and style come with the page.

    Each line of the content is a comparison that is asked for often, as a link:
    ``words: one | other``, or ``words: one | other | kind of x``. What is compared are
    chains of the explorer's calls, or codes of rows of the Atlas.
    """

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the explorer as it opens."""
        app, page = self.env.app, self.env.docname
        self.env.metadata[page]["has_explorer"] = True
        data, stills = live_explorer(), []
        for chain in STILLS:
            drawing, said = still(data, chain)
            stills.append(
                {"code": expression_of(chain), "picture": drawing, "said": said}
            )
        html = TEMPLATES.get_template("explorer/explorer.html").render(
            data=data,
            search=app.builder.get_relative_uri(page, "search"),
            links={
                name: app.builder.get_relative_uri(page, name)
                for name in ("glossary", "machines")
                if name in self.env.found_docs
            },
            means=dict.fromkeys(data.states, "") | MEANS,
            pairs=list(map(pair_of, self.content)),
            state=STATE,
            first=stills[0],
            below=stills[1:],
            facts=facts_shown(data.seen(DEVICE, STATE, STILLS[0]), (DEVICE, DEVICE)),
        )
        markup = "".join(map(str.strip, html.splitlines()))
        return [explorer(markup=markup, page=page)]


def pair_of(line: str) -> tuple[str, str]:
    """Return the words of a comparison and its address on the page."""
    words, _, rest = line.partition(": ")
    one, other, *state = rest.split(" | ")
    asked = {"y": lane_of(one), "x": (state or [STATE])[0], "vs": lane_of(other)}
    return words, f"?{urlencode(asked)}#explorer"


def lane_of(code: str) -> str:
    """Return how an address names what a lane shows: a chain, or a row of the Atlas."""
    chain = chain_of(code)
    return ".".join(chain) if chain else code


def still(data: Explorer, chain: Chain, write: str = "") -> tuple[str, str]:
    """Return the picture of a chain for the first x, and its answer in words.

    The chain is one that does not raise; ``write`` is ``"x"`` or ``"y"`` for the
    picture after the write through that name.
    """
    seen = data.seen(DEVICE, STATE, chain)
    places = (DEVICE, DEVICE if not seen["moved"] else "device")
    said = headline(seen, places)
    name = f"y = {expression_of(chain)}: {said}"
    frame = pictures()["frame"]
    return framed(frame, picture(seen, [], places, write), name), said


def address_of(
    app: Sphinx, page: str, code: str, state: str = "", *, away: bool = False
) -> str | None:
    """Return where a link on a page shows a chain, if home has the explorer.

    The ``code`` is an expression such as ``x.detach().clone()``, the ``state`` of ``x``
    a key of the Atlas's ``STATES``, empty for the first; ``away`` is an ``x`` that is
    not on the CPU. It is None for what is no chain of the explorer's calls, for one
    that is not there since a beginning of it raises, and if there is no such device.
    """
    chain = chain_of(code)
    if chain is None or not is_at_home(app):
        return None
    for kind in live_explorer().devices:
        if (kind != DEVICE) == away and (
            kind,
            state or STATE,
            chain,
        ) in live_explorer():
            asked = {"y": ".".join(chain)} | ({"x": state} if state else {})
            asked |= {"on": kind} if away else {}
            at = app.builder.get_relative_uri(page, app.config.root_doc)
            return f"{at}?{urlencode(asked)}#explorer"
    return None


def want_probes(app: Sphinx) -> None:
    """Have the build run the chains, if home has the explorer."""
    if is_at_home(app):
        EXPLORER.want()


def is_at_home(app: Sphinx) -> bool:
    """Whether the home page has the explorer."""
    home = Path(app.srcdir, f"{app.config.root_doc}.md")
    return "```{explorer}" in home.read_text(encoding="utf-8")


def write_data(app: Sphinx, _: BuildEnvironment) -> list[str]:
    """Write what the script reads: a script, so that it works from a file.

    Returns
    -------
    list
        The pages to write again: the address of a new file has another hash.
    """
    metadata = app.env.metadata
    pages = [page for page in metadata if "has_explorer" in metadata[page]]
    if app.builder.format != "html" or not pages:
        return []
    data = live_explorer().packed
    known = [
        {"page": page, **entry}
        for page, facts in metadata.items()
        for entry in facts.get("messages", ())
    ]
    uri = partial(app.builder.get_relative_uri, pages[0])
    found = {at: entry_of(text, known) for at, text in enumerate(data["texts"]) if text}
    whole = {
        **data,
        # Of the memories on the way the script shows the picture alone.
        "scenes": [scene[:-1] for scene in data["scenes"]],
        **pictures(),
        "errors": uri("errors") if "errors" in app.env.found_docs else "",
        "cures": {
            at: f"{uri(entry['page'])}#{entry['anchor']}"
            for at, entry in found.items()
            if entry is not None
        },
    }
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    return pages if renew_script(app, DATA, f"window.explorerData={text};\n") else []


def renew_script(app: Sphinx, name: str, text: str) -> bool:
    """Write a script of the site; return whether it is another than it was."""
    file = Path(app.outdir, "_static", name)
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return True


def entry_of(message: str, known: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the entry of the error index that a message belongs to.

    The kind of error must be the same, and of the runs of four words more than half;
    of more than one entry that with the most of them is taken. What differs from
    reader to reader, numbers and names of devices, does not count.
    """
    asked, kind = _runs_of_words(message), message.partition(":")[0]
    best, found = len(asked) // 2, None
    for entry in known:
        for line in "\n".join(entry["texts"]).splitlines():
            common = len(asked & _runs_of_words(line))
            if common > best and line.partition(":")[0] == kind:
                best, found = common, entry
    return found


def _runs_of_words(message: str) -> set[tuple[str, ...]]:
    text = DEVICE_NAMES.sub("device", message).partition(":")[2]
    words = re.findall(r"[a-z_]+", text.lower())
    return {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}


def load_explorer(app: Sphinx, page: str, *_: object) -> None:
    """Load script and style on the page that has the explorer."""
    if "has_explorer" in app.env.metadata.get(page, {}):
        app.add_js_file("explorer.js", loading_method="defer")
        app.add_css_file("explorer.css")
