"""Draw what steps show, each storage in a colour of its own; return all as data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import count
from typing import NamedTuple

import torch

from tensor_maps.pen import COLOURS, printable
from tensor_maps.scene import Drawing, draw_scene
from tensor_maps.steps.course import Step
from tensor_maps.steps.look import MOST_DRAWN
from tensor_maps.steps.news import NEW, entries_of, news_of
from tensor_maps.steps.syntax import names_in, root_of
from tensor_maps.steps.tell import event_of, step_words
from tensor_maps.words import count_of

WIDTH = 336.0  # pixels: a phone shows it whole, with letters of 12 pixels


class Shown(NamedTuple):
    """A step with what is said of it, what there is to note, and its picture."""

    step: Step
    said: str
    notes: list[str]
    picture: Drawing | None


def data_of(steps: list[Step], title: str, code: list[str], not_shown: int = 0) -> dict:
    """Return all steps and their drawings, as ``Steps.data`` says.

    ``not_shown`` is how many more steps there were.
    """
    drawn: list[list[str]] = []
    for step in steps:
        drawn.append(names_to_draw(step, drawn[-1] if drawn else []))
    number_storages(steps)
    colours = Colours()
    colours.meet(map(numbers_in, steps, drawn))
    shown = []
    for step, names in zip(steps, drawn, strict=True):
        said, notes = step_words(step)
        if names and (more := len(step.after.facts) - len(names)):
            notes.append(f"{count_of(more, 'more tensor')} not drawn")
        shown.append(Shown(step, said, notes, picture_of(step, names, colours)))
    if shown and not_shown:
        shown[-1].notes.append(f"{not_shown} more steps are not shown")
    return as_data(shown, title, code)


def as_data(shown: list[Shown], title: str, code: list[str]) -> dict:
    """Return steps as :func:`data_of` does; the same drawing is there once."""
    drawings: dict[tuple[str, str], int] = {}
    steps = []
    for step, said, notes, picture in shown:
        event, names = event_of(step)
        told = {"said": said, "printed": step.printed, "changed": step.changed}
        told |= {"event": event, "names": names, "drawing": None}
        if picture is not None:
            drawn = picture.svg(), printable(picture.caption)
            told["drawing"] = drawings.setdefault(drawn, len(drawings))
        if step.raised:
            told["raised"] = step.raised
        if step.left_out:
            notes = [*notes, f"{step.left_out:,} more characters were printed"]
        if note := "; ".join(notes):  # it stands after the caption
            told["note"] = f"{note[0].upper()}{note[1:]}."
        steps.append(step.place() | told)
    return {
        "format": 2,  # it changes when what is there already changes its meaning
        "title": title,
        "torch": torch.__version__,
        "code": code,
        "steps": steps,
        "drawings": [drawing for drawing, _ in drawings],
        "captions": [caption for _, caption in drawings],
    }


def names_to_draw(step: Step, last: list[str], most: int = MOST_DRAWN) -> list[str]:
    """Return the names to draw, at most so many.

    These are what the event concerns, what changed, what the statement names and
    what shares memory with that; then, as room is left, those of the ``last`` picture.
    """
    seen, entry, asked = step.after.observed, entries_of(step), names_in(step.unit)
    # A plain name says more than one of many parameters.
    said = sorted(entry, key=lambda name: name != root_of(name))
    said = [name for name in said if root_of(name) in asked]
    wanted = dict.fromkeys([*event_of(step)[1], *step.changed, *said])
    wanted = [name for name in wanted if name in entry][:most]
    last = [name for name in last if name in entry]
    if len(last) <= most and set(wanted) <= set(last):
        return last
    for storage in seen["storages"]:
        if not set(on_it := names_on(seen, storage)).isdisjoint(wanted):
            wanted += on_it
    return list(dict.fromkeys([*wanted, *last]))[:most]


def picture_of(
    step: Step,
    names: list[str],
    colours: Colours,
    raises: Mapping[str, str] | None = None,
    copies: Iterable[tuple[str, str]] = (),
    steady: bool = True,
    only: bool = False,
) -> Drawing | None:
    """Return the drawing of these names after a step.

    ``raises`` and ``copies`` are drawn too; tags have these names ``only``, or all of
    an object. Pictures that follow each other are ``steady``.
    """
    if not names:
        return None
    kind, concerned = event_of(step)
    if kind == "raises" and not raises:
        raises = dict.fromkeys(concerned[:1], step.raised.partition(":")[0])
    observed = marked_of(step)
    if only:
        for seen in observed["tensors"]:
            seen["names"] = [name for name in seen["names"] if name in names]
    colours.paint(observed["storages"])
    named = {name for seen in observed["tensors"] for name in seen["names"]}
    made = [(new.others[0], new.name) for new in news_of(step) if new.how == "copy"]
    return draw_scene(
        observed,
        names=names,
        width=WIDTH,
        raises=raises,
        copies=[pair for pair in dict.fromkeys([*made, *copies])
                if named.issuperset(pair)],
        steady=steady,
        ringed=[name for name in concerned if name in names],
    )  # fmt: skip


def marked_of(step: Step) -> dict:
    """Return what was observed after a step, with marks on what the step changed."""
    observed, was = step.after.observed, step.before.observed
    there = {n: kinds for n, kinds in step.differ.items() if not kinds & NEW}
    fresh = step.differ.keys() - there.keys()
    before = {n: one["cells"] for one in was["storages"] for n in names_on(was, one)}

    def kinds_of(names: list[str]) -> set[str]:
        return {kind for name in names for kind in there.get(name, ())}

    tensors = []
    for seen in observed["tensors"]:
        kinds = kinds_of(seen["names"])
        tensors.append(seen | {"changed": sorted(kinds), "arrived": "arrived" in kinds})
    storages = []
    for storage in observed["storages"]:
        names = [n for n in names_on(observed, storage) if n not in fresh]
        both = next((before[n] for n in names if n in before), None), storage["cells"]
        changed = []
        if all(both) and len(both[0]) == len(both[1]):
            changed = [
                at for at, (a, b) in enumerate(zip(*both, strict=True)) if a != b
            ]
        is_changed = bool(changed or kinds_of(names) & {"values", "version"})
        storages.append(storage | {"changed_cells": changed, "changed": is_changed})
    return observed | {"tensors": tensors, "storages": storages}


def names_on(observed: dict, storage: dict) -> list[str]:
    """Return the names of all that is on a storage."""
    tensors = [observed["tensors"][window["tensor"]] for window in storage["windows"]]
    return [name for seen in tensors for name in seen["names"]]


def number_storages(steps: Iterable[Step]) -> dict[str, int]:
    """Note the number of each storage that was seen, in order of first appearance.

    From one look to the next a storage is known by the names that stay on it. Return
    the number of the one that each name is on in the end.
    """
    at: dict[str, int] = {}
    fresh = count()
    for step in steps:
        was, now = step.before.facts, step.after.facts
        stay = (n for n in at if n in now and n in was and was[n].is_on(now[n]))
        at = {name: at[name] for name in stay}
        for storage in step.after.observed["storages"]:
            names = names_on(step.after.observed, storage)
            number = next((at[name] for name in names if name in at), None)
            storage["number"] = next(fresh) if number is None else number
            at |= dict.fromkeys(names, storage["number"])
    return at


def numbers_in(step: Step, names: list[str]) -> list[int]:
    """Return the numbers of the storages that these names are on after a step."""
    seen = step.after.observed
    on = [one for one in seen["storages"] if {*names} & {*names_on(seen, one)}]
    return [storage["number"] for storage in on]


class Colours(dict[int, int]):
    """The colours of numbered storages, in the order in which they are asked for."""

    def meet(self, pictures: Iterable[list[int]]) -> None:
        """Colour the storages of pictures: each unlike those that it is drawn with."""
        pictures = list(pictures)
        for picture in pictures:
            for number in picture:
                beside = {n for one in pictures if number in one for n in one}
                self.give(number, beside, picture)

    def give(self, number: int, *others: Collection[int]) -> None:
        """Colour a storage unlike some ``others``, or else unlike the next ones."""
        for taken in () if number in self else others:
            used = {self.get(one) for one in taken}
            if free := [at for at in range(len(COLOURS)) if at not in used]:
                self[number] = free[0]
                return

    def paint(self, storages: list[dict]) -> None:
        """Note in storages the colours of their numbers."""
        for storage in storages:
            if (colour := self.get(storage.pop("number", None))) is not None:
                storage["colour"] = colour
