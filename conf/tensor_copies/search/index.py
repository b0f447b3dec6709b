"""Write what the search knows: every section of every page, in one small script.

``_static/search_index.js`` is loaded when a reader begins to search, and not before. It
has words, not an index of them: MiniSearch makes that in the browser, which takes less
time than an index takes to load. Each word of a section stands once, in the part that
counts most: heading, sentence, readers' phrases, code, prose. Of the prose only words
of few sections stand there. Beside them it has the answer cards of calls.

The phrases stand in ``docs/asked.toml``, in readers' own words, and on no page. Each
of its keys names a page or a section of one, as the address bar does
(``errors/to_numpy#numpy-device``).
"""

import re
import tomllib
from collections import Counter
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from tensor_copies.calls.facts import facts
from tensor_copies.calls.pictures import sheet
from tensor_copies.calls.words import SIGNS, card
from tensor_copies.markup import write_script
from tensor_copies.search.sections import ATLAS, KINDS, OF, Section, all_sections

logger = logging.getLogger(__name__)
ASKED = "asked.toml"
WORD = re.compile(r"[^\W\d_](?:[\w-]*\w)?")
# What code calls or takes from something; names of tensors are chance.
CALLED = re.compile(r"\.\s*(\w+)|(\w+)(?=\s*\()|(\w+)(?==)")
# Names that code takes wherever it runs.
COMMON = "assert def import int len list print range shares_memory str sum tolist"
OFTEN = 3  # a word of the prose of more sections than these is left out
PROSE = 5  # its place in what is told of a section


def write_index(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the script when all pages have been read (``env-updated``).

    A phrase of no section is a warning, and so the end of a strict build.
    """
    titles = [(page, own[0].heading) for page, own in all_sections(app).items()]
    app.config.html_context["all_pages"] = titles  # for templates/search.html
    path = Path(app.srcdir, ASKED)
    asked = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    pages, names = [], []
    for page, own in all_sections(app).items():
        told = []
        for one in own:
            names.append(f"{page}#{one.anchor}".rstrip("#"))
            told.append(_entry(one, asked.get(names[-1], [])))
        pages.append([app.builder.get_target_uri(page), told])
    for name in asked.keys() - names:
        near = ", ".join(get_close_matches(name, names))
        logger.warning("%s: %s is no section. Near to it: %s", ASKED, name, near)
    entries = [one for _, told in pages for one in told]
    often = Counter(word for one in entries for word in one[PROSE])
    for one in entries:
        one[PROSE] = " ".join(word for word in one[PROSE] if often[word] <= OFTEN)
    known = {"kinds": KINDS, "pages": pages}
    known |= _cards(app) if ATLAS in env.found_docs else {}
    write_script(app, "search_index.js", "searchIndex", known)


def _entry(section: Section, phrases: list[str]) -> list[Any]:
    """Return what is told of a section: as few bytes as will do."""
    seen = set(COMMON.split())
    _new(" ".join([section.heading, section.sentence, *phrases]), seen)
    code = _new(" ".join(map("".join, CALLED.findall(section.code))), seen)
    usual = section.anchor and section.anchor == _slug(section.heading)
    return [
        1 if usual else section.anchor, KINDS.index(section.kind), section.heading,
        section.sentence, " ".join(code), _new(section.prose, seen), phrases,
    ]  # fmt: skip


def _cards(app: Sphinx) -> dict[str, Any]:
    """Return the answer card of each call by its code, and what finds it in a query."""
    data, made = facts(), {}
    for call in data.calls.values():
        said, notes = card(data, call)
        made[call.code] = {
            "id": call.id,
            "subject": call.subject,
            "of": f"{call.subject} is a {OF[call.subject]}.",
            "facts": [*said, *(("note", note) for note in notes)],
            "lesson": app.builder.get_target_uri(f"auto_examples/{call.lesson}"),
        }
    drawn = str(sheet({f"card-{sign}": [sign] for sign in SIGNS}))
    return {"cards": made, "chips": data.chips, "forms": data.forms, "signs": drawn}


def _slug(heading: str) -> str:
    """Return the anchor that most headings have; ``rank.js`` makes it again."""
    return re.sub(r"^[-\d]+|-+$", "", re.sub(r"[^a-z\d]+", "-", heading.lower()))


def _new(text: str, seen: set[str]) -> list[str]:
    """Return the words not seen yet, in the order of the alphabet, and see them.

    A letter alone is the name of some tensor.
    """
    words = {word.lower() for word in WORD.findall(text) if len(word) > 1}
    found = sorted(words - seen)
    seen.update(found)
    return found
