"""Other machines' outputs beside the live ones, block by block.

When Sphinx reads a lesson's page, each code block's output is compared with what the
recordings of other machines hold for the same code. Where all are the same, the
output stays as it is, with a line that says for whom else it holds. Where they
differ, each machine's output follows, labelled, with the parts that differ marked; a
switch (static/code.js) shows one machine at a time.

A recording of other code is not shown: the build names it, and what renews it. What
the stand-in device saw is shown where CUDA has not seen the same code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

from tensor_copies.machine import progress
from tensor_copies.machine.code_keys import hash_of, key_of
from tensor_copies.machine.fingerprint import Fingerprint, fingerprint
from tensor_copies.machine.freshness import in_words
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.outdated import depend_on
from tensor_copies.recordings.beside import (
    BESIDE,
    drawn_or_picture,
    offer_samples,
    put_beside,
    slug,
)
from tensor_copies.recordings.check import load, load_figure, load_page
from tensor_copies.recordings.format import (
    BadRecording,
    Block,
    PageRecording,
    Recording,
    cuda_first,
    keys,
    page_key,
)
from tensor_copies.recordings.live import LiveBlock, live_blocks

if TYPE_CHECKING:
    from collections.abc import Collection

    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)
# What tells one drawing of a page from the others: ids, and what refers to them.
IDS = re.compile(r'"#[^"]*"|url\(#[^)]*\)|id="[^"]*"')
TOKENS = re.compile(r"\s+|\w+|[^\w\s]")
# Above this share, nearly all differs (measured times, say) and marks only disturb.
MOST_MARKED = 0.5
# What a reader is told of the stand-in device where its output is shown.
STAND_IN = (
    "The stand-in device (no GPU) is host memory that PyTorch takes for a second "
    "device: what is copied, shared and refused there follows PyTorch's own rules; "
    "times and streams would say nothing, and are left out. "
)
# Comparing texts takes the square of their length.
LONGEST_MARKED = 10_000  # characters


@dataclass(frozen=True)
class Seen:
    """What one machine saw in one block.

    ``figures`` has the data of each figure by the name of its file: None for a
    picture, {} for a file that was refused. ``left_out`` says why there is no output,
    if there is none.
    """

    machine: Fingerprint
    day: str
    output: str
    figures: dict[str, dict[str, Any] | None]
    left_out: str = ""

    @property
    def alternatives(self) -> list[str]:
        """The figures that are shown in the place of the live ones, not beside them."""
        return [
            file for file, data in self.figures.items() if not BESIDE & set(data or {})
        ]


def recording_files(app: Sphinx, lesson: str) -> list[Path]:
    """Return the recordings of a lesson (``section/name``), one for each machine."""
    name = lesson.rpartition("/")[2]
    return sorted(Path(app.srcdir, "recordings").glob(f"*/{name}.json"))


def load_all(app: Sphinx, lesson: str) -> list[Recording]:
    """Return the recordings of a lesson by other machines; warn of refused ones."""
    found = []
    for path in recording_files(app, lesson):
        if path.parent.name == fingerprint().name:
            continue  # what this very machine saw is the live output
        try:
            recording = load(path)
        except BadRecording as bad:
            _refuse(app, bad)
            continue
        if recording.lesson == lesson:
            found.append(recording)
    return found


def _refuse(app: Sphinx, bad: BadRecording) -> None:
    """Warn of a refused file, once in a build."""
    if not hasattr(app, "refused_recordings"):
        app.refused_recordings = set()
    if str(bad) not in app.refused_recordings:
        app.refused_recordings.add(str(bad))
        logger.warning("%s", bad, type="recordings")


def current_blocks(recording: Recording, script: Path) -> tuple[int, int]:
    """Return how many blocks of a recording still match the script, and of how many."""
    wanted = list(keys(script).values())
    kept = [block.key for block in recording.blocks]
    same = sum(1 for one, other in zip(wanted, kept, strict=False) if one == other)
    return same, len(wanted)


def renewal(name: str) -> str:
    """Return the command that renews the recording of a lesson or page, there."""
    return f"nox -s record -- --only {name}"


def load_pages(app: Sphinx) -> list[tuple[PageRecording, bool]]:
    """Return the recordings of pages by other machines, and if each is current."""
    found = []
    for path in sorted(Path(app.srcdir, "recordings").glob("*/*.page.json")):
        if path.parent.name == fingerprint().name:
            continue
        try:
            recording = load_page(path)
        except BadRecording as bad:
            _refuse(app, bad)
            continue
        page = Path(app.srcdir, f"{recording.page}.md")
        found.append((recording, page.exists() and page_key(page) == recording.key))
    return found


def add_recordings(app: Sphinx, doctree: nodes.document) -> None:
    """Put the recorded outputs of a lesson beside its live ones."""
    page = app.env.docname
    script = lesson_scripts(app).get(page)
    if script is None:
        return
    lesson = page.partition("/")[2]
    depend_on(app, "recordings")
    recordings = [
        recording
        for recording in load_all(app, lesson)
        if not all(block.left_out for block in recording.blocks)
    ]
    wanted = keys(script)
    machines: dict[str, Fingerprint] = {}
    for live in live_blocks(doctree, set(wanted)):
        seen = cuda_first(
            [
                _seen(app, recording, block)
                for recording in recordings
                for block in recording.blocks
                if block.key == wanted[live.line]
            ]
        )
        for links in live.samples:
            offer_samples(app, links, seen)
        for other in _show(app, live, seen):
            machines[other.name] = other
    if machines:
        _add_switch(doctree, machines.values())


def _seen(app: Sphinx, recording: Recording, block: Block) -> Seen:
    """Load the figures of a recorded block, each once."""
    figures: dict[str, dict[str, Any] | None] = {}
    for file in block.figures:
        try:
            figures[file] = load_figure(
                Path(app.srcdir, "recordings", recording.machine.name, file)
            )
        except BadRecording as bad:
            _refuse(app, bad)
            figures[file] = {}
    machine, day = recording.machine, recording.day
    return Seen(machine, day, block.output, figures, block.left_out)


def _show(app: Sphinx, live: LiveBlock, seen: list[Seen]) -> list[Fingerprint]:
    """Show a block's recorded outputs; return the machines that saw another thing."""
    parent = live.code.parent
    # Charts stand beside each other, whatever the switch says.
    shown = [node for node in live.outputs if not put_beside(app, node, seen)]
    texts = [node for node in shown if isinstance(node, nodes.literal_block)]
    drawn = [node for node in shown if isinstance(node, nodes.raw)]
    text = "\n".join(_normal(node.astext()) for node in texts)
    same = [
        s
        for s in seen
        if not s.left_out and s.output == text and _same_figures(s, drawn)
    ]
    others = [s for s in seen if s not in same]
    if same and shown:
        names = "; ".join(s.machine.label for s in same)
        note = nodes.paragraph(text=f"Same on {names}", classes=["same-on"])
        parent.insert(parent.index(shown[-1]) + 1, note)
        shown.append(note)  # it goes where the live output goes
    if not others or not shown:
        return []
    place = parent.index(shown[0])
    for node in shown:
        parent.remove(node)
    note = shown[len(drawn) + len(texts) :]
    parent.insert(place, _side_by_side(drawn, text, note, others))
    return [s.machine for s in others]


def _side_by_side(
    drawn: list[nodes.raw], text: str, note: list[nodes.Element], others: list[Seen]
) -> nodes.container:
    """Return the live output of a block and those of others, each with its machine."""
    group = nodes.container(classes=["machines-outputs"])
    here = _variant(fingerprint(), f"This build: {fingerprint().label}", "live")
    here += drawn
    if text:
        here += _with_marks(text, [s.output for s in others if not s.left_out])
    here += note
    group += here
    for s in others:
        label = f"Recorded {in_words(s.day)}: {s.machine.label}"
        there = _variant(s.machine, label, "recorded")
        for file in s.alternatives:
            there += drawn_or_picture(s, file)
        if s.left_out:
            there += nodes.paragraph(text=f"Left out. {s.left_out}")
        elif s.output:
            there += _with_marks(s.output, [text])
        group += there
    return group


def _variant(machine: Fingerprint, label: str, kind: str) -> nodes.container:
    variant = nodes.container(classes=["variant", kind, f"machine-{slug(machine)}"])
    variant += nodes.paragraph(text=label, classes=["variant-label"])
    return variant


def _with_marks(text: str, others: list[str]) -> nodes.literal_block:
    """Return a text as a literal block with the parts marked that others lack."""
    tokens = TOKENS.findall(text)
    differs = [False] * len(tokens)
    for other in others:
        if len(text) + len(other) > LONGEST_MARKED:
            continue
        matcher = SequenceMatcher(a=tokens, b=TOKENS.findall(other), autojunk=False)
        for tag, start, stop, _, _ in matcher.get_opcodes():
            if tag in ("replace", "delete"):
                differs[start:stop] = [True] * (stop - start)
    for place in range(1, len(tokens) - 1):  # one mark for words side by side
        if tokens[place] == " " and differs[place - 1] and differs[place + 1]:
            differs[place] = True
    words = [d for token, d in zip(tokens, differs, strict=True) if not token.isspace()]
    if words and sum(words) / len(words) > MOST_MARKED:
        differs = [False] * len(tokens)
    # The raw source is left empty, so that Sphinx does not highlight the text as
    # code, and the language keeps the gallery from looking for names in it.
    block = nodes.literal_block(
        "", "", classes=["sphx-glr-script-out"], language="none"
    )
    runs = groupby(zip(tokens, differs, strict=True), key=itemgetter(1))
    for different, run in runs:
        piece = "".join(token for token, _ in run)
        if different and not piece.isspace():
            block += nodes.inline(text=piece, classes=["differs"])
        else:
            block += nodes.Text(piece)
    return block


def _same_figures(seen: Seen, drawn: list[nodes.raw]) -> bool:
    """Whether a machine's figures are the live ones, but for their ids."""
    if len(drawn) != len(seen.alternatives):
        return False
    for node, file in zip(drawn, seen.alternatives, strict=True):
        other = drawn_or_picture(seen, file)
        if not isinstance(other, nodes.raw):
            return False
        if IDS.sub("", node.astext()).split() != IDS.sub("", other.astext()).split():
            return False
    return True


def _add_switch(doctree: nodes.document, machines: Collection[Fingerprint]) -> None:
    """Add the choice of a machine under the lesson's actions; a script fills it."""
    title = next(doctree.findall(nodes.title))
    section = title.parent
    switch = nodes.container(classes=["machine-switch"])
    choices = [(fingerprint(), "this build"), *((b, "recorded") for b in machines)]
    listing = nodes.bullet_list()
    for machine, kind in choices:
        words = nodes.paragraph(text=f"{machine.label} ({kind})")
        listing += nodes.list_item("", words, classes=[f"machine-{slug(machine)}"])
    switch += nodes.paragraph(text="Where outputs differ, this page shows those of:")
    switch += listing
    place = section.index(title) + 1
    if "lesson-actions" in section[place].get("classes", []):
        place += 1
    section.insert(place, switch)
    if any(machine.device_kind == "stand-in" for machine in machines):
        note = nodes.paragraph(text=STAND_IN, classes=["stand-in-note"])
        note += more_on_stand_in()
        section.insert(place + 1, note)


def more_on_stand_in() -> addnodes.pending_xref:
    """Return a link to what the page of machines says of the stand-in device."""
    link = addnodes.pending_xref(
        "", refdomain="std", reftype="ref", reftarget="stand-in-device",
        refexplicit=True, refwarn=True,
    )  # fmt: skip
    link += nodes.inline(text="More of it")
    return link


def _normal(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def key(app: Sphinx, page: str) -> str:
    """Return the key of a lesson's recordings, with their figures, by all machines."""
    files = [
        part
        for path in recording_files(app, page.partition("/")[2])
        # What is no file is refused when it is loaded.
        for part in filter(Path.is_file, sorted(path.parent.glob(f"{path.stem}.*")))
    ]
    return key_of(*(f"{path} {hash_of(path)}" for path in files))


def report_stale(app: Sphinx, exception: Exception | None) -> None:
    """Name each recording that no longer matches its lesson, and what renews it."""
    if exception is not None:
        return
    for page, script in lesson_scripts(app).items():
        for recording in load_all(app, page.partition("/")[2]):
            same, of = current_blocks(recording, script)
            if same < of:
                matches = f"matches {same} of {of} blocks"
                _report(recording.machine, script.stem, matches)
    for recording, current in load_pages(app):
        if not current:
            _report(recording.machine, recording.page, "does not match the page")
    known = {Path(page).name for page in lesson_scripts(app)} | {"atlas"}
    for path in sorted(Path(app.srcdir, "recordings").glob("*/*.json")):
        name = path.name.removesuffix(".json").removesuffix(".page")
        if "." in name:  # a figure
            continue
        if name not in known and not Path(app.srcdir, f"{name}.md").exists():
            where = path.relative_to(app.srcdir).as_posix()
            progress.say(f"Orphan: {where} belongs to no lesson or page; remove it")


def _report(machine: Fingerprint, name: str, matches: str) -> None:
    where = f"recordings/{machine.name}, {name}"
    command = renewal(name)
    text = f"Stale: {where} {matches}; on that machine, run `{command}`"
    progress.say(text, lasting=True)
