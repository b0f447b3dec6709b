"""The list of machines: whose output is on the site, and what has gone stale."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sized
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from tensor_copies.atlas.data import recorded as recorded_atlases
from tensor_copies.recordings.format import (
    MESSAGES,
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
from tensor_copies.run.folds import fold
from tensor_copies.run.freshness import in_words
from tensor_copies.run.lesson_list import lesson_scripts
from tensor_copies.run.outdated import depend_on_lessons

TITLES = ("Machine", "What it ran", "Lessons", "Other pages")
CONTRIBUTORS = "For contributors: what is stale or left out"
CHANGED = "its code has changed"
# A sentence: words, and links or code between them.
Fact = list[str | nodes.Node]


class Machines(SphinxDirective):
    """List this machine and every machine of a recording (``{machines}``)."""

    def run(self) -> list[nodes.Node]:
        """Return a table of the machines, and folded what is stale or left out."""
        app = self.env.app
        pages = lesson_scripts(app)
        depend_on_lessons(app)
        for source in Path(app.srcdir).rglob("[!.]*.md"):  # some have recordings
            self.env.note_dependency(str(source))
        recorded: dict[Fingerprint, dict[str, Recording]] = defaultdict(dict)
        for page in pages:
            for recording in load_all(app, page.partition("/")[2]):
                recorded[recording.machine][page] = recording
        here = fingerprint()
        said = f"The machine of this build: {here}"
        rows: list[list[Fact]] = [[[here.label], [said], [_of(pages, pages)], ["all"]]]
        listing = nodes.definition_list()
        atlases = {atlas.machine: atlas for atlas in recorded_atlases(app)}
        for machine in {**recorded, **atlases}:
            days, other, facts = set(), [], []
            if recordings := recorded.get(machine):
                facts += _facts(recordings, pages)
                days |= {recording.day for recording in recordings.values()}
            shown = _whole(recordings or {})
            for page, current in load_pages(app):
                if page.machine.name == machine.name:
                    other.append(page.page)
                    facts += [] if current else [_stale(page.page, CHANGED)]
            if atlas := atlases.get(machine):
                days.add(atlas.day)
                other.append("atlas")
                facts += [] if atlas.key == atlas_key() else [_stale("atlas", CHANGED)]
            first, last = (in_words(day) for day in (min(days), max(days)))
            when = first if first == last else f"{first} to {last}"
            rows.append([
                [machine.label], [f"Recorded {when} with {machine}"],
                [_of(shown, pages)], _listed(other),
            ])  # fmt: skip
            if facts:
                listing += _entry(machine, facts)
        folded = fold("", listing, words=CONTRIBUTORS)
        return [_table(rows), *([folded] if listing.children else [])]


def _of(some: Sized, pages: Sized) -> str:
    return (
        f"all {len(pages)}"
        if len(some) == len(pages)
        else f"{len(some)} of {len(pages)}"
    )


def _whole(recordings: dict[str, Recording]) -> dict[str, Recording]:
    """Return the recordings that show something."""
    return {
        page: recording
        for page, recording in recordings.items()
        if not all(block.left_out for block in recording.blocks)
    }


def _listed(pages: list[str]) -> Fact:
    links = [[", " if number else "", _link(page)] for number, page in enumerate(pages)]
    return [part for link in links for part in link]


def _table(rows: list[list[Fact]]) -> nodes.table:
    head, body = nodes.thead(), nodes.tbody()
    for part, lines in ((head, [[[title] for title in TITLES]]), (body, rows)):
        for cells in lines:
            row = nodes.row()
            for fact in cells:
                row += nodes.entry("", _paragraph(fact))
            part += row
    columns = [nodes.colspec(colwidth=width) for width in (20, 45, 10, 25)]
    return nodes.table("", nodes.tgroup("", *columns, head, body, cols=len(columns)))


def _facts(recordings: dict[str, Recording], pages: dict[str, Path]) -> list[Fact]:
    left_out = _reasons(recordings)
    recordings = _whole(recordings)
    facts: list[Fact] = []
    if len(recordings) < len(pages):
        covers = f"Covers {_of(recordings, pages)} lessons: "
        facts.append([covers, *_listed(list(recordings))])
    for page, recording in recordings.items():
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


def _stale(page: str, why: str) -> Fact:
    command = nodes.literal(
        text=renewal(page if page.startswith(MESSAGES) else Path(page).name)
    )
    return ["Stale, ", _link(page), f": {why}. Renew with ", command, " there."]


def _entry(machine: Fingerprint, facts: list[Fact]) -> nodes.definition_list_item:
    said = nodes.definition("", *map(_paragraph, facts))
    return nodes.definition_list_item("", nodes.term(text=machine.label), said)


def _paragraph(fact: Fact) -> nodes.paragraph:
    parts = (nodes.Text(one) if isinstance(one, str) else one for one in fact)
    return nodes.paragraph("", "", *parts)


def _link(page: str) -> addnodes.pending_xref:
    link = addnodes.pending_xref(
        "", refdomain="std", reftype="doc", reftarget=f"/{page}", refexplicit=False,
        refwarn=True,
    )  # fmt: skip
    link += nodes.inline(text=page, classes=["doc"])
    return link
