"""Other machines' outputs beside the live ones, block by block.

When Sphinx reads a lesson's page, each code block's output is compared with what the
recordings of other machines hold for the same code. Where all are the same, the
output stays as it is. Where they differ, tabs on the block show one machine at a time,
with the parts that differ marked. The foot of the page says how much of it is the same
elsewhere. The setup, which says the name of the device, is not compared.

A recording of other code is not shown: the build names it, and what renews it. What
the stand-in device saw is shown where CUDA has not seen the same code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging

from tensor_copies.machine import progress
from tensor_copies.machine.code_keys import hash_of, key_of
from tensor_copies.machine.fingerprint import Fingerprint, fingerprint
from tensor_copies.machine.freshness import in_words
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.markers import LEAD, lead_line, setup_line
from tensor_copies.recordings.beside import (
    BESIDE,
    drawn_or_picture,
    offer_samples,
    put_beside,
)
from tensor_copies.recordings.check import load, load_figure, load_page
from tensor_copies.recordings.comparing import (
    device_here,
    is_measured,
    map_on,
    on_one_device,
    with_marks,
)
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
from tensor_copies.recordings.provenance import (
    elsewhere,
    machine_tabs,
    names_of,
    output_head,
    slug,
    stand_in_note,
    variant,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)
# What tells one drawing of a page from the others: ids, and what refers to them.
IDS = re.compile(r'"#[^"]*"|url\(#[^)]*\)|id="[^"]*"')
# What opens the page, until lessons/opening.py takes it to the top.
LEAD_CLASS = "lesson-lead"


@dataclass(frozen=True)
class Seen:
    """What one machine saw in one block.

    ``figures`` has the data of each figure by the name of its file, {} for one that was
    refused. ``left_out`` says why there is no output, if there is none.
    """

    machine: Fingerprint
    day: str
    output: str
    figures: dict[str, dict[str, Any]]
    left_out: str = ""

    @property
    def alternatives(self) -> list[str]:
        """The figures that are shown in the place of the live ones, not beside them."""
        return [file for file, data in self.figures.items() if not BESIDE & set(data)]

    def with_figures(self, files: list[str]) -> Seen:
        """Return the same with these of the figures alone."""
        return replace(self, figures={file: self.figures[file] for file in files})


@dataclass(frozen=True)
class _Compared:
    """A part of a block's outputs: what is shown of it, and who saw the same."""

    made: list[nodes.Element]
    same: set[Fingerprint]
    measured: bool


def loaded(app: Sphinx, pattern: str, load: Callable[[Path], Any]) -> list[Any]:
    """Return the files of other machines, each as it is read; warn of refused ones."""
    found = []
    for path in sorted(Path(app.srcdir, "recordings").glob(f"*/{pattern}")):
        if path.parent.name != fingerprint().name:  # its own are live
            try:
                found.append(load(path))
            except BadRecording as bad:
                refuse(bad)
    return found


def load_all(app: Sphinx, lesson: str) -> list[Recording]:
    """Return the recordings of a lesson (``section/name``) by other machines."""
    name, found = lesson.rpartition("/")[2], []
    for recording in loaded(app, f"{name}.json", load):
        if recording.lesson == lesson:
            found.append(recording)
        else:
            where = f"recordings/{recording.machine.name}/{name}.json"
            gone = f"{where} is of {recording.lesson}, which is no lesson; remove it"
            refuse(BadRecording(gone))
    return found


def refuse(bad: BadRecording) -> None:
    """Warn of a refused file, once in a build."""
    logger.warning("%s", str(bad), type="recordings", once=True)


def current_blocks(recording: Recording, script: Path) -> tuple[int, int]:
    """Return how many blocks of a recording still match the script, and of how many."""
    wanted = list(keys(script).values())
    return sum(map(eq, wanted, (block.key for block in recording.blocks))), len(wanted)


def renewal(name: str) -> str:
    """Return the command that renews the recording of a lesson or page, there."""
    return f"nox -s record -- --only {name}"


def load_pages(app: Sphinx) -> list[tuple[PageRecording, bool]]:
    """Return the recordings of pages by other machines, and if each is current."""
    found = []
    for recording in loaded(app, "*.page.json", load_page):
        page = Path(app.srcdir, f"{recording.page}.md")
        found.append((recording, page.exists() and page_key(page) == recording.key))
    return found


def add_recordings(app: Sphinx, doctree: nodes.document) -> None:
    """Put the recorded outputs of a lesson beside its live ones."""
    page = app.env.docname
    script = lesson_scripts(app).get(page)
    if script is None:
        return
    recordings = [
        recording
        for recording in load_all(app, page.partition("/")[2])
        if not all(block.left_out for block in recording.blocks)
    ]
    wanted = keys(script)
    lead, setup = lead_line(script), setup_line(script)
    outputs = 0
    same: dict[Fingerprint, int] = {}
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
        seen = [] if live.line == setup else seen
        compared = _show_block(app, live, seen, live.line == lead)
        if compared and seen and not any(part.measured for part in compared):
            outputs += 1
            for s in seen:
                if not s.left_out:
                    same.setdefault(s.machine, 0)
            for machine in set.intersection(*(part.same for part in compared)):
                same[machine] += 1
    for place, tabs in enumerate(doctree.findall(machine_tabs), 1):
        tabs["name"] = f"machine-{place}"
    app.env.metadata[page]["elsewhere"] = elsewhere(outputs, same)


def _show_block(
    app: Sphinx, live: LiveBlock, seen: list[Seen], leads: bool
) -> list[_Compared]:
    """Put what others saw beside the outputs of a block; return what was compared."""
    parent, compared = live.code.parent, []
    for outputs, theirs, opens_page in _parts(live, seen, leads):
        # Charts stand beside each other, whatever the reader has chosen.
        beside = [(node, put_beside(app, node, seen)) for node in outputs]
        made = [one for _, shown in beside for one in shown]
        rest = [node for node, shown in beside if not shown]
        place = parent.index(outputs[0])
        for node in outputs:
            parent.remove(node)
        if rest:
            compared.append(_compare(live, rest, theirs))
            made += compared[-1].made
        if opens_page:
            made = [nodes.container("", *made, classes=[LEAD_CLASS])]
        parent.children[place:place] = made
        for node in made:
            parent.setup_child(node)
    return compared


def _parts(
    live: LiveBlock, seen: list[Seen], leads: bool
) -> list[tuple[list[nodes.Element], list[Seen], bool]]:
    """Return a block's outputs with what others saw; what opens the page is apart."""
    if not leads:
        return [(live.outputs, seen, False)] if live.outputs else []
    drawn = [node for node in live.outputs if isinstance(node, nodes.raw)]
    if not drawn:
        raise ExtensionError(
            f"{Path(live.code.source or '').stem}: the block on line {live.line} is "
            f"to open the page and draws nothing: put sphinx_gallery_{LEAD} into a "
            "block with a map or a chart"
        )
    first = [replace(s.with_figures(s.alternatives[:1]), output="") for s in seen]
    others = [s.with_figures(s.alternatives[1:]) for s in seen]
    rest = [node for node in live.outputs if node is not drawn[0]]
    found = [([drawn[0]], first, True)]
    return [*found, (rest, others, False)] if rest else found


def _seen(app: Sphinx, recording: Recording, block: Block) -> Seen:
    """Load the figures of a recorded block, each once."""
    figures: dict[str, dict[str, Any]] = {}
    for file in block.figures:
        try:
            figures[file] = load_figure(
                Path(app.srcdir, "recordings", recording.machine.name, file)
            )
        except BadRecording as bad:
            refuse(bad)
            figures[file] = {}
    machine, day = recording.machine, recording.day
    return Seen(machine, day, block.output, figures, block.left_out)


def _compare(
    live: LiveBlock, outputs: list[nodes.Element], seen: list[Seen]
) -> _Compared:
    """Compare a part of a block's outputs with those of others; make what is shown."""
    texts = [node for node in outputs if isinstance(node, nodes.literal_block)]
    drawn = [node for node in outputs if isinstance(node, nodes.raw)]
    text = "\n".join(_normal(node.astext()) for node in texts)
    measured = is_measured(live.code.astext(), text)
    seen = [s for s in seen if not s.left_out]
    same = {s.machine for s in seen if _is_same(s, text, drawn)}
    if others := [s for s in seen if s.machine not in same]:
        group = _side_by_side(drawn, text, others, measured)
        return _Compared([group], same, measured)
    heads = [output_head(label="Output")] if texts else []
    return _Compared([*drawn, *heads, *texts], same, measured)


def _is_same(seen: Seen, text: str, drawn: list[nodes.raw]) -> bool:
    """Whether a machine saw the same, but for the name of its only device."""
    if seen.output == text and _same_figures(seen, drawn):
        return True
    moved = dict(seen.figures)
    for file, data in moved.items():
        if "map" in data:
            moved[file] = {"map": map_on(device_here(), data["map"])}
    same_text = on_one_device(seen.output) == on_one_device(text)
    return same_text and _same_figures(replace(seen, figures=moved), drawn)


def _side_by_side(
    drawn: list[nodes.raw],
    text: str,
    others: list[Seen],
    measured: bool,
) -> nodes.container:
    """Return the live output of a block and those of others, each with its machine."""
    group = nodes.container(classes=["machines-outputs"])
    machines = [fingerprint(), *(s.machine for s in others)]
    choices = list(zip(map(slug, machines), names_of(machines), strict=True))
    group += machine_tabs(choices=choices)
    label = f"This build: {fingerprint().label}"
    here = variant(fingerprint(), label, "live")
    here += drawn
    if text:
        compared = [] if measured else [s.output for s in others]
        here += with_marks(text, compared)
    group += here
    for s in others:
        label = f"Recorded {in_words(s.day)}: {s.machine.label}"
        there = variant(s.machine, label, "recorded")
        if s.machine.device_kind == "stand-in":
            there += stand_in_note()
        for file in s.alternatives:
            there += drawn_or_picture(s, file)
        if s.output:
            there += with_marks(s.output, [] if measured else [text])
        group += there
    return group


def _same_figures(seen: Seen, drawn: list[nodes.raw]) -> bool:
    """Whether a machine's figures are the live ones, but for their ids."""
    others = [drawn_or_picture(seen, file) for file in seen.alternatives]
    return [*map(_drawing, drawn)] == [*map(_drawing, others)]


def _drawing(node: nodes.Node) -> Any:
    """Return what is the same where drawings are; a picture is like no other."""
    return IDS.sub("", node.astext()).split() if isinstance(node, nodes.raw) else node


def _normal(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def key(app: Sphinx, page: str) -> str:
    """Return the key of a lesson's recordings, with their figures, by all machines."""
    name = page.rpartition("/")[2]
    files = [
        part
        for path in sorted(Path(app.srcdir, "recordings").glob(f"*/{name}.json"))
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
                report(recording.machine, script.stem, matches)
    for recording, current in load_pages(app):
        if not current:
            report(recording.machine, recording.page, "does not match the page")
    for where in _orphans(app):
        logger.warning("Orphan: %s belongs to no lesson or page; remove it", where)


def _orphans(app: Sphinx) -> Iterator[str]:
    """Return the files beside the recordings that nothing is made from."""
    known = {Path(page).name for page in lesson_scripts(app)} | {"atlas"}
    for path in sorted(Path(app.srcdir, "recordings").glob("*/*")):
        name, _, ending = path.name.partition(".")
        page = Path(app.srcdir, f"{name}.md")
        is_known = {"json": name in known, "page.json": page.exists()}.get(ending)
        if is_known is None:  # a figure, which its recording names
            recording = path.with_name(f"{name}.json")
            is_known = recording.is_file() and f'"{path.name}"'.encode() in (
                recording.read_bytes()
            )
        if not is_known:
            yield path.relative_to(app.srcdir).as_posix()


def report(machine: Fingerprint, name: str, matches: str) -> None:
    """Say that a recording is stale, in what, and what renews it."""
    progress.say(
        f"Stale: recordings/{machine.name}, {name} {matches}; on that machine, run "
        f"`{renewal(name)}`",
    )
