"""The steps of a lesson on other machines, where they differ from those of this build.

A reader who steps through a lesson is told at a step that another machine did
otherwise, and how; choosing that machine loads its steps, in which those that are the
same as here are the numbers of the steps here. Of a machine that did the same at each
step nothing is published. As on the page, the name of a device is no difference where
all is on one device, nor is what the setup prints; steps of other code are not shown.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensor_copies.figures.steps import DRAWN, MOST_BYTES, digest_of, shown_lines
from tensor_copies.machine.code_keys import key_of
from tensor_copies.machine.fingerprint import fingerprint
from tensor_copies.machine.markers import setup_line
from tensor_copies.recordings.check import drawn_steps, load_steps
from tensor_copies.recordings.comparing import (
    PLACED,
    device_here,
    map_on,
    moved,
    on_one_device,
)
from tensor_copies.recordings.format import BadRecording, Recording, cuda_first, keys
from tensor_copies.recordings.provenance import names_of, short, slug
from tensor_copies.recordings.shown import load_all, refuse

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HALVES = ("graph", "memory")
LONGEST_QUOTED = 100  # characters of what is printed there
Data = dict[str, Any]  # what Steps.data() returns


@dataclass(frozen=True)
class OtherSteps:
    """What one machine did otherwise.

    ``differs`` says it for a reader, by the number of the step here, from 0. ``script``
    is the file with its steps, a number for one that is the same here, and with what
    is drawn in them and not here.
    """

    name: str
    slug: str
    differs: dict[int, str]
    script: str


def other_steps(app: Sphinx, script: Path, own: Data) -> list[OtherSteps]:
    """Return what other machines did otherwise at the steps of a lesson.

    ``own`` are its steps here, as figures/steps.py keeps them.
    """
    wanted = [*keys(script).values()]
    current = cuda_first(
        [
            recording
            for recording in load_all(app, f"{script.parent.name}/{script.stem}")
            if recording.steps and [block.key for block in recording.blocks] == wanted
        ]
    )
    machines = [fingerprint(), *(recording.machine for recording in current)]
    found = []
    for name, recording in zip(names_of(machines)[1:], current, strict=True):
        try:
            found.append(_other(app, name, recording, script, own))
        except BadRecording as bad:
            refuse(bad)
    return [other for other in found if other is not None]


def _other(
    app: Sphinx, name: str, recording: Recording, script: Path, own: Data
) -> OtherSteps | None:
    machine, code = recording.machine, "\n".join(own["code"])
    path = Path(app.srcdir, "recordings", machine.name, recording.steps)
    drawn = tuple(own["drawn"])
    facts = load_steps(path)
    left_out = {
        line
        for line, block in zip(keys(script), recording.blocks, strict=True)
        if block.left_out
    }
    not_compared = _lines_of(script, left_out | {setup_line(script)})
    renamed = facts
    if machine.device_kind == "stand-in":  # its code names it where ours names CUDA
        renamed = json.loads(json.dumps(facts).replace("standin", "cuda"))
    told = [one | {"seen": map_on(device_here(), one["seen"])} for one in renamed]
    if _are_told_alike(own, told, not_compared):
        return None
    pictured = [one | {"seen": _all_on(device_here(), one["seen"])} for one in renamed]
    known: list[tuple[list[Any], Data]] = []
    for one in (facts, told, pictured):
        same = next((data for other, data in known if other == one), None)
        known.append((one, same or drawn_steps(path, one, code, drawn)))
    theirs, *alike = [data for _, data in known]
    differs = differences(own, theirs, *alike, not_compared)
    if not differs:
        return None
    for fewer in (one for one in DRAWN if one <= drawn):
        shown = theirs if fewer == drawn else drawn_steps(path, facts, code, fewer)
        text = _as_script(shown_steps(own, theirs, shown))
        if weight_of(text) <= MOST_BYTES:
            break
    return OtherSteps(name[0].upper() + name[1:], slug(machine), differs, text)


def _are_told_alike(
    own: Data, facts: list[dict[str, Any]], not_compared: set[int]
) -> bool:
    """Whether the facts of all steps are those of this build: nothing is drawn."""
    return [*map(digest_of, facts)] == own["digests"] and all(
        all(step[name] == one[name] for name in ("first", "last", "turn"))
        and (
            on_one_device(step["printed"]) == on_one_device(one["printed"])
            or step["first"] in not_compared
        )
        for step, one in zip(own["steps"], facts, strict=True)
    )


def weight_of(text: str) -> int:
    """Return how many bytes of a text a reader loads: compressed."""
    return len(gzip.compress(text.encode(), 9, mtime=0))


def _all_on(device: str, seen: dict[str, Any]) -> dict[str, Any]:
    """Return a map as if all that it has on a GPU were on this device."""
    devices = {entry["device"] for part in PLACED for entry in seen[part]}
    return moved(seen, devices - {"cpu", "meta"}, device)


def _lines_of(script: Path, blocks: set[int | None]) -> set[int]:
    """Return the lines, as a reader sees them, of the blocks that begin on these."""
    starts = list(keys(script))
    return {
        shown
        for line, shown in shown_lines(script)[1].items()
        if starts[bisect_right(starts, line) - 1] in blocks
    }


def differences(
    own: Data, theirs: Data, told: Data, pictured: Data, not_compared: set[int]
) -> dict[int, str]:
    """Say how another machine's steps differ, by the number of the step here.

    A step differs in its sentence, in what it raises or prints, or in a picture. Where
    pictures differ in one step after the other, only the first says so. Nothing is said
    of lines that are ``not_compared``.

    Of the steps there ``told`` and ``pictured`` are as if all had been on a device of
    this machine: as long as all is on one, to compare the words, and in any case, to
    compare the pictures.
    """
    place_of = {key: place for place, key in enumerate(_keys(own))}
    found: dict[int, str] = {}
    last, was_other = 0, False
    for number, key in enumerate(_keys(told)):
        step, place = theirs["steps"][number], place_of.pop(key, None)
        counts = step["first"] not in not_compared
        if place is None:
            if counts:
                words = f"line {step['first']} runs there, and not here: {step['said']}"
                found.setdefault(last, words)
            continue
        last = place
        here, there = _seen(own, place), _seen(told, number)
        pictures = (there["picture"], _seen(pictured, number)["picture"])
        is_other = here["picture"] not in pictures
        words = ""
        if here["said"] != there["said"]:
            words = step["said"]
        elif here["raised"] != there["raised"]:
            words = step.get("raised") or "nothing is raised."
        elif here["printed"] != there["printed"]:
            words = _prints(step["printed"])
        elif is_other and not was_other:
            words = "the picture differs."
        was_other = is_other
        if words and counts:
            found[place] = words
    for place in place_of.values():  # what ran here alone
        if own["steps"][place]["first"] not in not_compared:
            found[place] = "this does not run there."
    return dict(sorted(found.items()))


def _prints(text: str) -> str:
    """Return in words what is printed there."""
    line = text.strip("\n")
    if not line:
        return "nothing is printed."
    if "\n" in line or len(line) > LONGEST_QUOTED:
        return "the output differs."
    return f"it prints {line}"


def shown_steps(own: Data, theirs: Data, shown: Data) -> Data:
    """Return another machine's steps as a file has them, drawn as in ``shown``."""
    place_of = {key: place for place, key in enumerate(_keys(own))}
    drawings, last = _pictures(own), 0
    known = len(drawings)
    steps: list[int | dict[str, Any]] = []
    for number, key in enumerate(_keys(theirs)):
        place = place_of.get(key)
        last = last if place is None else place
        if place is not None and _seen(own, place) == _seen(theirs, number):
            steps.append(place)
            continue
        step, pictures = shown["steps"][number], {}
        for half in HALVES:
            if step[half] is not None:
                both = _pictures(shown)[step[half]]
                if both not in drawings:
                    drawings.append(both)
                pictures[half] = drawings.index(both)
        steps.append(step | pictures | {"here": last})
    return {
        "steps": steps,
        "drawings": [drawing for drawing, _ in drawings[known:]],
        "captions": [caption for _, caption in drawings[known:]],
    }


def _pictures(data: Data) -> list[tuple[str, str]]:
    """Return each drawing with its caption."""
    return list(zip(data["drawings"], data["captions"], strict=True))


def _keys(data: Data) -> list[tuple[Any, ...]]:
    """Return what tells a step from the others: lines, turns, and how often before."""
    found: list[tuple[Any, ...]] = []
    count: Counter[tuple[Any, ...]] = Counter()
    for step in data["steps"]:
        key = step["first"], step["last"], *(turn for turn, _ in step["turn"])
        count[key] += 1
        found.append((key, count[key]))
    return found


def _seen(data: Data, number: int) -> dict[str, Any]:
    """Return what a reader sees of a step."""
    step, pictures = data["steps"][number], _pictures(data)
    return {
        "said": step.get("said", ""),
        "raised": step.get("raised", ""),
        "printed": on_one_device(step["printed"]),
        "picture": [
            None if step[half] is None else pictures[step[half]] for half in HALVES
        ],
    }


def as_published(others: list[OtherSteps], name: str) -> dict[str, Any]:
    """Return what the steps of the lesson ``name`` have of other machines.

    ``own`` goes with the lesson's own steps (``here``, the name of this machine, and
    ``machines``; nothing if there are none); ``files`` are the others' by name.
    """
    files, machines = {}, []
    for one in others:
        file = f"{name}.{one.slug}.js"
        files[file] = one.script
        address = f"{file}?v={key_of(one.script)[:8]}"  # a browser keeps what it has
        machines.append({"name": one.name, "file": address, "differs": one.differs})
    own = {"here": f"This build ({short(fingerprint())})", "machines": machines}
    return {"own": own if machines else {}, "files": files}


def in_few_words(own: dict[str, Any]) -> dict[str, Any]:
    """Return what goes with a lesson's own steps, without how the others differ."""
    return own | {
        "machines": [
            machine | {"differs": dict.fromkeys(machine["differs"], "it differs.")}
            for machine in own["machines"]
        ]
    }


def _as_script(data: dict[str, Any]) -> str:
    """Return a machine's steps as a script that hands them to who loads it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"document.currentScript.steps={text};\n"
