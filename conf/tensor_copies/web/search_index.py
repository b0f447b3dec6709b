"""What the search knows: every section of every page, in one small script.

``_static/search_index.js`` is loaded when a reader begins to search, and not before. It
has words, not an index of them: MiniSearch makes that in the browser, which takes less
time than an index takes to load. Each word of a section stands once, in the part that
counts most: heading, sentence, readers' questions, code, prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tensor_copies.lessons.steps import FOLDER
from tensor_copies.lessons.steps import write as write_file
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.web.asked import asked
from tensor_copies.web.sections import ERROR, KINDS, RAISED, Section, sections_of

DATA = "search_index.js"
WORD = re.compile(r"[^\W\d_](?:[\w-]*\w)?")
# Words of every page, which tell no section from another.
COMMON = """
    a about above after again all also an and another any are as assert at be
    because been before below both but by can cannot def device do does each
    else even except false first follows for from had has have here how if
    import in into is it item its itself len lesson let like many may more
    most needs nn nor not now of on one ones only or other others out over own
    print pytorch range return same see shares_memory should show shown shows
    so some such takes than that the their them then there these they this
    those though to tolist torch true try two under until up use used uses
    values want was what when where which while who whose why will with would
    you your
"""


def pages_in_order(app: Sphinx) -> list[str]:
    """Return home, the lessons in reading order, and the other pages by name."""
    first = [app.config.root_doc, *lesson_scripts(app)]
    return first + sorted(app.env.found_docs - set(first))


def write(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the script when all pages have been read."""
    if app.builder.format != "html":
        return
    sections = {page: sections_of(app, page) for page in pages_in_order(app)}
    phrases = asked(app, sections)
    listed = [
        [app.builder.get_target_uri(page), [
            _entry(section, phrases.get((page, section.anchor), []))
            for section in found
        ]]
        for page, found in sections.items()
    ]  # fmt: skip
    data = json.dumps(
        {"kinds": KINDS, "pages": listed}, ensure_ascii=False, separators=(",", ":")
    )
    write_file(app, f"{FOLDER}/{DATA}", f"window.searchIndex={data};\n")


def _entry(section: Section, phrases: list[str]) -> list[object]:
    """Return what is told of a section: as few bytes as will do."""
    seen = {*COMMON.split(), *_words(f"{section.heading} {section.sentence}")}
    code = _new(_words(section.code), seen)
    said = section.prose
    if section.kind == ERROR:  # its messages are in the list of messages
        said = "\n".join(line for line in said.splitlines() if not RAISED.search(line))
    prose = _new(_words(said), seen)
    return [
        1 if section.anchor and section.anchor == _slug(section.heading)
        else section.anchor,
        KINDS.index(section.kind), section.heading, section.sentence,
        " ".join(code), " ".join(prose), phrases,
    ]  # fmt: skip


def _slug(heading: str) -> str:
    """Return the anchor that most headings have; ``rank.js`` makes it again."""
    return re.sub(r"^[-\d]+|-+$", "", re.sub(r"[^a-z\d]+", "-", heading.lower()))


def _words(text: str) -> Iterable[str]:
    return (word.lower() for word in WORD.findall(text))


def _new(words: Iterable[str], seen: set[str]) -> list[str]:
    """Return the words not seen yet, in the order of the alphabet, and see them.

    A letter alone is the name of some tensor.
    """
    found = sorted({word for word in words if len(word) > 1} - seen)
    seen.update(found)
    return found
