"""Under which questions a section is to be found: readers' own words, docs/asked.toml.

The file stands beside the pages. Each of its keys names a page or a section of one, as
the address bar does (``errors#numpy-device``); a lesson is named by its script below
``examples/``, without its ending (``1_basics/detach#remember``). The search knows the
phrases, and no page shows them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.web.sections import Section

logger = logging.getLogger(__name__)
FILE = "asked.toml"


def asked(
    app: Sphinx, sections: Mapping[str, list[Section]]
) -> dict[tuple[str, str], list[str]]:
    """Return the phrases of each section, by its page and anchor.

    What names nothing, or is no list of phrases, is a warning, and so the end of a
    strict build.
    """
    path = Path(app.srcdir, FILE)
    if not path.is_file():
        return {}
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        logger.warning("%s: %s", FILE, error)
        return {}
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"][0]
    lessons = set(lesson_scripts(app))
    found: dict[tuple[str, str], list[str]] = {}
    for name, phrases in listed.items():
        page, _, anchor = name.partition("#")
        if (lesson := f"{gallery}/{page}") in lessons:
            page = lesson
        known = [section.anchor for section in sections.get(page, ())]
        if page not in sections:
            said = "%s: %s is no page; a lesson is named like 1_basics/detach"
            logger.warning(said, FILE, name)
        elif anchor not in known:
            there = ", ".join(filter(None, known))
            logger.warning("%s: %s is no section; there are %s", FILE, name, there)
        elif not _are_phrases(phrases):
            logger.warning('%s: write "%s" = ["a question", "another"]', FILE, name)
        else:
            found[page, anchor] = [" ".join(phrase.split()) for phrase in phrases]
    return found


def _are_phrases(phrases: object) -> bool:
    return (
        isinstance(phrases, list)
        and bool(phrases)
        and all(isinstance(phrase, str) and phrase.strip() for phrase in phrases)
        and len(set(phrases)) == len(phrases)
    )
