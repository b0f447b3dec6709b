"""The list of machines: whose output is on the site, and what has gone stale."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from tensor_copies.atlas.data import recorded as recorded_atlases
from tensor_copies.recordings.format import (
    Recording,
    atlas_key,
)
from tensor_copies.recordings.others import (
    current_blocks,
    load_all,
    load_pages,
    renewal,
)
from tensor_copies.run.fingerprint import Fingerprint, fingerprint
from tensor_copies.run.freshness import in_words
from tensor_copies.run.lesson_list import lesson_scripts
from tensor_copies.run.outdated import depend_on_lessons

# A sentence: words, and links or code between them.
Fact = list[str | nodes.Node]


class Machines(SphinxDirective):
    """List this machine and every machine of a recording (``{machines}``)."""

    def run(self) -> list[nodes.Node]:
        """Return one entry per machine: fingerprint, dates, lessons, what is stale."""
        app = self.env.app
        pages = lesson_scripts(app)
        depend_on_lessons(app)
        for source in Path(app.srcdir).glob("*.md"):  # some have recordings
            self.env.note_dependency(str(source))
        recorded: dict[Fingerprint, dict[str, Recording]] = defaultdict(dict)
        for page in pages:
            for recording in load_all(app, page.partition("/")[2]):
                recorded[recording.machine][page] = recording
        here = f"The machine of this build: {fingerprint()}."
        listing = nodes.definition_list()
        listing += _entry(fingerprint(), [[here], ["Live on every page."]])
        atlases = {atlas.machine.name: atlas for atlas in recorded_atlases(app)}
        for machine, recordings in recorded.items():
            facts = _facts(machine, recordings, pages)
            for page, current in load_pages(app):
                if page.machine.name == machine.name:
                    facts.append(_page_fact(page.page, current))
            if atlas := atlases.pop(machine.name, None):
                facts.append(_page_fact("atlas", atlas.key == atlas_key()))
            listing += _entry(machine, facts)
        for atlas in atlases.values():
            when = f"Recorded {in_words(atlas.day)} with {atlas.machine}."
            fact = _page_fact("atlas", atlas.key == atlas_key())
            listing += _entry(atlas.machine, [[when], fact])
        return [listing]


def _facts(
    machine: Fingerprint, recordings: dict[str, Recording], pages: dict[str, Path]
) -> list[Fact]:
    left_out = _reasons(recordings)
    recordings = {
        page: recording
        for page, recording in recordings.items()
        if not all(block.left_out for block in recording.blocks)
    }
    days = sorted({recording.day for recording in recordings.values()})
    when = " to ".join(in_words(day) for day in dict.fromkeys((days[0], days[-1])))
    whole = len(recordings) == len(pages)
    count = f"all {len(pages)}" if whole else f"{len(recordings)} of {len(pages)}"
    covered: Fact = [f"Covers {count} lessons{'.' if whole else ': '}"]
    facts: list[Fact] = [[f"Recorded {when} with {machine}."], covered]
    for number, (page, recording) in enumerate(recordings.items()):
        if not whole:
            covered += [", " if number else "", _link(page)]
        same, of = current_blocks(recording, pages[page])
        if same < of:
            shown = f"{same} of {of} blocks are shown, since the code has changed"
            facts.append(_stale(page, shown))
    return facts + left_out


def _reasons(recordings: dict[str, Recording]) -> list[Fact]:
    """Say for each reason of which lessons, and how much of them, is left out."""
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for page, recording in recordings.items():
        for block in recording.blocks:
            if block.left_out:
                reasons[block.left_out][page] += 1
    facts = []
    for why, pages in reasons.items():
        fact: Fact = ["Left out: "]
        for number, (page, count) in enumerate(pages.items()):
            of = len(recordings[page].blocks)
            parts = "all" if count == of else f"{count} of {of}"
            fact += [", " if number else "", _link(page), f" ({parts} blocks)"]
        facts.append([*fact, f". {why}"])
    return facts


def _page_fact(page: str, current: bool) -> Fact:
    if current:
        return ["Also seen on the page ", _link(page), "."]
    return _stale(page, "its code has changed")


def _stale(page: str, why: str) -> Fact:
    command = nodes.literal(text=renewal(Path(page).name))
    return ["Stale, ", _link(page), f": {why}. Renew with ", command, " there."]


def _entry(machine: Fingerprint, facts: list[Fact]) -> nodes.definition_list_item:
    said = nodes.definition()
    for fact in facts:
        parts = (nodes.Text(one) if isinstance(one, str) else one for one in fact)
        said += nodes.paragraph("", "", *parts)
    return nodes.definition_list_item("", nodes.term(text=machine.label), said)


def _link(page: str) -> addnodes.pending_xref:
    link = addnodes.pending_xref(
        "", refdomain="std", reftype="doc", reftarget=f"/{page}", refexplicit=False,
        refwarn=True,
    )  # fmt: skip
    link += nodes.inline(text=page, classes=["doc"])
    return link
