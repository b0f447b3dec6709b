"""Choose what a step shows, and draw it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from tensor_maps.compare import changed
from tensor_maps.pen import printable
from tensor_maps.scene import draw_scene
from tensor_maps.steps.step import Step
from tensor_maps.steps.syntax import names_in, paths_in, root_of
from tensor_maps.steps.tell import entries_of, event_of, news_of

if TYPE_CHECKING:
    from tensor_maps.steps.about import About

# So many names are drawn where a story has them; a picture of what is said is higher.
LEAST_DRAWN, MORE = 3, 1.2
WIDTH = 336.0  # pixels: a phone shows it whole, with letters of 12 pixels
# Marks of what changed, and the kinds of difference that are marked.
MARKED = ("values", "version", "gradient", "storage")


def names_to_draw(
    step: Step,
    last: list[str],
    most: int,
    about: About | None = None,
    said: str = "",
) -> list[str]:
    """Return the names to draw, at most so many.

    These are what the event concerns, what changed, what the statement names and
    what shares memory with that; then, as room is left, those of the ``last`` picture.
    Of a step that a story ``about`` some names tells, these follow what is ``said``,
    what the statement names and the event concerns; where it leads, they come first.
    """
    seen = step.after.observed
    looked = {name: None for one in seen["tensors"] for name in one["names"]}
    asked = names_in(step.unit)
    if about is not None and about.tells(step):
        told, used, entry = (
            names_told(step, said),
            about.names_at(step),
            entries_of(step),
        )
        # A plain name says more than one of many parameters.
        concerned = sorted(event_of(step)[1], key=lambda name: name != root_of(name))
        near = [*told, *(n for n in looked if n in paths_in(step.unit)), *concerned]
        if step is about.lead:
            told, near = [], used or near
        found: dict[str, int] = {}
        for name in filter(entry.get, [*near, *used]):
            # Of what is not told, one name.
            is_other = name in told or id(entry[name]) not in found.values()
            if is_other and (name in near or len(found) < LEAST_DRAWN):
                found[name] = id(entry[name])
        if found:
            return [*found][: max(most, len(told))]
    said = [name for name in looked if root_of(name) in asked]
    # A plain name says more than one of many parameters.
    said.sort(key=lambda name: name != root_of(name))
    concerned = event_of(step)[1]
    wanted = [name for name in (*concerned, *step.changed, *said) if name in looked]
    wanted = list(dict.fromkeys(wanted))[:most]
    last = [name for name in last if name in looked]
    if len(last) <= most and set(wanted) <= set(last):
        return last
    for storage in seen["storages"]:
        on_it = names_on(seen, storage)
        if set(on_it) & set(wanted):
            wanted += [name for name in on_it if name not in wanted]
    wanted += [name for name in last if name not in wanted]
    return wanted[:most]


def names_told(step: Step, said: str) -> list[str]:
    """Return the names that a sentence of a step has, in its order."""
    may_be = {*step.differ, *event_of(step)[1]}
    for new in news_of(step):
        may_be |= {*new.others, *new.leaves}
    found = {}
    for name in may_be & {*entries_of(step)}:
        whole = rf"(?<![\w.\]]){re.escape(name)}(?![\w\[]|\.(?!grad\b)\w)"
        if place := re.search(whole, said):
            found[name] = place.start()
    return sorted(found, key=found.get)


def picture_of(
    step: Step,
    names: list[str],
    paint: Callable[[list[dict]], None],
    about: About | None = None,
    high: float = math.inf,
    said: str = "",
) -> tuple[str, str] | None:
    """Return the drawing of these names after a step, and its caption.

    ``paint`` gives storages their colours. In a story ``about`` some names no tag has
    others. Of more than two names the last that are not ``said`` are left out until the
    drawing is not higher than ``high``; where it leads, it is drawn closer instead.
    """
    if not names:
        return None
    kind, concerned = event_of(step)
    raises = concerned[:1] if kind == "raises" else []
    raises = dict.fromkeys(raises, step.raised.partition(":")[0])
    copies = [(new.others[0], new.name) for new in news_of(step) if new.how == "copy"]
    marked = marked_of(step)
    parts = {
        part: [{**one} for one in marked[part]] for part in ("tensors", "storages")
    }
    shown = marked | parts
    if about is not None:
        for seen in shown["tensors"]:
            seen["names"] = [name for name in seen["names"] if name in names]
        if step is about.lead:
            raises = about.raises or raises
            copies = list(dict.fromkeys([*copies, *map(tuple, about.copies)]))
    paint(shown["storages"])
    ringed = [name for name in concerned if name in names]
    asked = [shown, names, raises, copies, ringed]
    height, *drawn = _drawn_once(json.dumps([True, *asked]))
    if height > high and names[2:]:
        if about is not None and step is about.lead:
            _, *drawn = _drawn_once(json.dumps([False, *asked]))
        elif height > MORE * high or names[len(names_told(step, said)) :]:
            return picture_of(step, names[:-1], paint, about, high, said)
    return tuple(drawn)


def numbers_in(step: Step, names: list[str]) -> list[int]:
    """Return the numbers of the storages that these names are on after a step."""
    seen = step.after.observed
    return [
        storage["number"]
        for storage in seen["storages"]
        if not set(names).isdisjoint(names_on(seen, storage))
    ]


def marked_of(step: Step) -> dict:
    """Return what was observed after a step, with marks on what the step changed."""
    before, after = step.before.observed, step.after.observed
    if before is after and not step.differ:
        return after
    marked = changed(before, after)
    # What could not be drawn before, or was not read, is marked as it was compared.
    for seen in marked["tensors"]:
        if seen["names"]:
            kinds = set().union(*(step.differ.get(n, ()) for n in seen["names"]))
            is_known = not kinds & {"new", "other"}
            seen["changed"] = [k for k in MARKED if is_known and k in kinds]
    fresh = {name for name, kinds in step.differ.items() if kinds & {"new", "other"}}
    for storage in marked["storages"]:
        on_it = [marked["tensors"][window["tensor"]] for window in storage["windows"]]
        if fresh.issuperset(names_on(marked, storage)):
            # A name is bound to another tensor: its cells are new, nothing is written.
            storage["changed_cells"] = []
        storage["changed"] = bool(storage["changed_cells"]) or any(
            {"values", "version"} & set(seen.get("changed", ())) for seen in on_it
        )
    return marked


def names_on(observed: dict, storage: dict) -> list[str]:
    """Return the names of all that is on a storage."""
    tensors = [observed["tensors"][window["tensor"]] for window in storage["windows"]]
    return [name for seen in tensors for name in seen["names"]]


@lru_cache(maxsize=4096)
def _drawn_once(asked: str) -> tuple[float, str, str]:
    """Draw a scene: many steps have the same."""
    steady, observed, names, raises, copies, ringed = json.loads(asked)
    named = {name for seen in observed["tensors"] for name in seen["names"]}
    made = draw_scene(
        observed,
        names=names,
        width=WIDTH,
        raises=raises,
        copies=[pair for pair in copies if named.issuperset(pair)],
        steady=steady,
        ringed=ringed,
    )
    return made.height, made.svg(), printable(made.caption)
