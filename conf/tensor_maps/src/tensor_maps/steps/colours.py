"""Give each storage of a program a colour that it keeps from picture to picture."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import count

from tensor_maps.pen import COLOURS
from tensor_maps.steps.pictures import names_on
from tensor_maps.steps.step import Step


def number_storages(steps: Iterable[Step]) -> dict[str, int]:
    """Note the number of each storage that was seen, in order of first appearance.

    From one look to the next a storage is known by the names that stay on it. Return
    the number of the one that each name is on in the end.
    """
    at: dict[str, int] = {}
    fresh = count()
    for step in steps:
        was, now = step.before.facts, step.after.facts
        at = {
            name: number
            for name, number in at.items()
            if name in now and name in was
            and was[name].is_on(now[name])
        }  # fmt: skip
        for storage in step.after.observed["storages"]:
            names = names_on(step.after.observed, storage)
            known = (at[name] for name in names if name in at)
            storage["number"] = next(known, None)
            if storage["number"] is None:
                storage["number"] = next(fresh)
            at |= dict.fromkeys(names, storage["number"])
    return at


class Colours(dict[int, int]):
    """The colours of numbered storages, in the order in which they are asked for."""

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
