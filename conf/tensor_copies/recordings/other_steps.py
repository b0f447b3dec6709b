"""The steps of a lesson on other machines, where they differ from those of this build.

A reader who steps through a lesson is told at a step that another machine did
otherwise, and how; choosing that machine loads its steps, in which those that are the
same as here are the numbers of the steps here. Of a machine that did the same at each
step nothing is published. As on the page, the name of a device is no difference where
all is on one device, nor is what the setup prints; steps of other code are not shown.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensor_copies.figures.steps import shown_lines
from tensor_copies.machine.code_keys import key_of
from tensor_copies.machine.fingerprint import fingerprint
from tensor_copies.machine.markers import setup_line
from tensor_copies.recordings.check import load_steps
from tensor_copies.recordings.comparing import map_on, on_one_device
from tensor_copies.recordings.format import BadRecording, Recording, cuda_first, keys
from tensor_copies.recordings.provenance import short, slug
from tensor_copies.recordings.shown import current_blocks, load_all, refuse

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HALVES = ("graph", "memory")
# Where a reader is told nothing else, this differs.
DIFFERS = {"picture": "the picture differs", "printed": "the output differs"}


@dataclass(frozen=True)
class OtherSteps:
    """What one machine did otherwise.

    ``differs`` says it for a reader, by the number of the step here, from 0. ``data``
    are its steps, a number for one that is the same here, and what is drawn in them
    and not here.
    """

    name: str
    slug: str
    differs: dict[int, str]
    data: dict[str, Any]


def other_steps(app: Sphinx, script: Path, own: dict[str, Any]) -> list[OtherSteps]:
    """Return what other machines did otherwise at the steps of a lesson.

    Parameters
    ----------
    app
        The application.
    script
        The lesson.
    own
        Its steps here, as figures/steps.py keeps them.
    """
    lesson = f"{script.parent.name}/{script.stem}"
    current = []
    for recording in load_all(app, lesson):
        same, of = current_blocks(recording, script)
        if recording.steps and same == of == len(recording.blocks):
            current.append(recording)
    found = []
    for recording in cuda_first(current):
        try:
            other = _other(app, recording, script, own)
        except BadRecording as bad:
            refuse(app, bad)
            continue
        if other is not None:
            found.append(other)
    return found


def _other(
    app: Sphinx, recording: Recording, script: Path, own: dict[str, Any]
) -> OtherSteps | None:
    folder = Path(app.srcdir, "recordings", recording.machine.name)
    code = "\n".join(own["code"])
    drawn = own["drawn"][0], own["drawn"][1]
    facts, theirs = load_steps(folder / recording.steps, code, drawn)
    here = "cuda:0" if fingerprint().device_kind == "cuda" else "cpu"
    alike = drawn_on(here, code, facts, drawn)
    left_out = {
        line
        for line, block in zip(keys(script), recording.blocks, strict=True)
        if block.left_out
    }
    not_compared = lines_of(script, left_out | {setup_line(script)})
    compared = compare(own, theirs, alike, not_compared)
    if compared is None:
        return None
    name = short(recording.machine)
    return OtherSteps(name[0].upper() + name[1:], slug(recording.machine), *compared)


def drawn_on(
    device: str, code: str, facts: list[dict[str, Any]], drawn: tuple[int, int]
) -> dict[str, Any]:
    """Return the steps as if of this device, as long as all is on one."""
    from standalone.tensor_maps import Steps

    moved = [fact | {"seen": map_on(device, fact["seen"])} for fact in facts]
    return Steps.from_facts(code, moved).data(*drawn)


def lines_of(script: Path, blocks: set[int | None]) -> set[int]:
    """Return the lines, as a reader sees them, of the blocks that begin on these."""
    starts = list(keys(script))
    return {
        shown
        for line, shown in shown_lines(script)[1].items()
        if starts[bisect_right(starts, line) - 1] in blocks
    }


def compare(
    own: dict[str, Any],
    theirs: dict[str, Any],
    alike: dict[str, Any],
    not_compared: set[int],
) -> tuple[dict[int, str], dict[str, Any]] | None:
    """Return how another machine's steps differ, and what is shown of them.

    Parameters
    ----------
    own, theirs
        The steps here and there, as ``Steps.data()`` gives them.
    alike
        Theirs, as if they were of a device here.
    not_compared
        Lines of which a difference says nothing.

    Returns
    -------
    tuple or None
        See :class:`OtherSteps`; nothing if nothing differs.
    """
    place_of = {key: place for place, key in enumerate(_places(own))}
    drawings = list(zip(own["drawings"], own["captions"], strict=True))
    differs: dict[int, str] = {}
    shown: list[int | dict[str, Any]] = []
    last = 0
    for number, key in enumerate(_places(theirs)):
        step, place = theirs["steps"][number], place_of.pop(key, None)
        if place is not None:
            last = place
            if _seen(own, place) == _seen(theirs, number):
                shown.append(place)
                continue
        if step["first"] not in not_compared:
            if place is None:
                where = f"line {step['first']} runs there, and not here"
                differs.setdefault(last, f"{where}: {step['said']}")
            elif said := _difference(_seen(own, place), _seen(alike, number), step):
                differs[place] = said
        pictures = {}
        for half in HALVES:
            if step[half] is not None:
                both = theirs["drawings"][step[half]], theirs["captions"][step[half]]
                if both not in drawings:
                    drawings.append(both)
                pictures[half] = drawings.index(both)
        shown.append(step | pictures | {"here": last})
    for place in place_of.values():  # what ran here alone
        if own["steps"][place]["first"] not in not_compared:
            differs[place] = "this does not run there."
    if not differs:
        return None
    more = drawings[len(own["drawings"]) :]
    return dict(sorted(differs.items())), {
        "steps": shown,
        "drawings": [drawing for drawing, _ in more],
        "captions": [caption for _, caption in more],
    }


def _places(data: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return what tells a step from the others: lines, turns, and how often before."""
    found: list[tuple[Any, ...]] = []
    count: dict[tuple[Any, ...], int] = {}
    for step in data["steps"]:
        key = step["first"], step["last"], *(turn for turn, _ in step["turn"])
        count[key] = count.get(key, 0) + 1
        found.append((key, count[key]))
    return found


def _seen(data: dict[str, Any], number: int) -> dict[str, Any]:
    """Return what a reader sees of a step."""
    step = data["steps"][number]
    pictures = [
        None
        if step[half] is None
        else (data["drawings"][step[half]], data["captions"][step[half]])
        for half in HALVES
    ]
    words = {name: step.get(name, "") for name in ("said", "raised", "printed")}
    return {**words, "picture": pictures}


def _difference(here: dict[str, Any], there: dict[str, Any], step: dict) -> str:
    """Return in words what differs, or nothing; ``step`` is theirs as it is shown."""
    there = there | {"printed": on_one_device(there["printed"])}
    here = here | {"printed": on_one_device(here["printed"])}
    if (here["said"], here["raised"]) != (there["said"], there["raised"]):
        return step["said"]
    found = [words for name, words in DIFFERS.items() if here[name] != there[name]]
    return f"{' and '.join(found)}." if found else ""


def as_published(others: list[OtherSteps], name: str) -> dict[str, Any]:
    """Return what a lesson's steps have of other machines.

    Parameters
    ----------
    others
        What they did otherwise.
    name
        The name of the lesson.

    Returns
    -------
    dict
        ``own``, which goes with the lesson's own steps (``here``, the name of this
        machine, and ``machines``; nothing if there are none), and ``files`` by name,
        each with the steps of one machine.
    """
    files, machines = {}, []
    for one in others:
        file, text = f"{name}.{one.slug}.js", _as_script(one.data)
        files[file] = text
        address = f"{file}?v={key_of(text)[:8]}"  # a browser keeps what it has loaded
        machines.append({"name": one.name, "file": address, "differs": one.differs})
    here = f"This build: {short(fingerprint())}"
    own = {"here": here, "machines": machines} if machines else {}
    return {"own": own, "files": files}


def _as_script(data: dict[str, Any]) -> str:
    """Return a machine's steps as a script that hands them to who loads it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"document.currentScript.steps={text};\n"
