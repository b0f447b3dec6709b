"""Give each storage of a program a colour that it keeps from picture to picture."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, count

from tensor_maps.pen import COLOURS
from tensor_maps.steps.fact import is_on_other_storage
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
        was, now, here = step.before.facts, step.after.facts, {}
        for storage in step.after.observed["storages"]:
            names = names_on(step.after.observed, storage)
            known = [
                at[name]
                for name in names
                if name in at
                and name in was
                and not is_on_other_storage(was[name], now[name])
            ]
            storage["number"] = known[0] if known else next(fresh)
            here |= dict.fromkeys(names, storage["number"])
        at = {name: number for name, number in at.items() if name in now} | here
    return at


class Colours:
    """The colours of numbered storages, in the order in which they are asked for."""

    def __init__(self, of: dict[int, int] | None = None) -> None:
        self.of = dict(of or {})

    def give(self, numbers: list[int], beside: Iterable[int] = ()) -> None:
        """Colour what is in one picture, if it can be unlike what is ``beside`` it."""
        for number in numbers:
            if number not in self.of:
                near = {self.of.get(one) for one in numbers}
                far = near | {self.of.get(one) for one in beside}
                free = [[at for at in range(len(COLOURS)) if at not in taken]
                        for taken in (far, near)]  # fmt: skip
                if colours := free[0] or free[1]:
                    self.of[number] = colours[0]

    def paint(self, storages: list[dict]) -> None:
        """Note in storages the colours of their numbers, each once."""
        met: set[int] = set()
        for storage in storages:
            colour = self.of.get(storage.pop("number", None))
            if colour is not None and colour not in met:
                storage["colour"] = colour
                met.add(colour)

    def give_all(self, pictures: list[list[int]]) -> None:
        """Colour the storages of many pictures, those of one picture differently."""
        pairs = [pair for one in pictures for pair in combinations(one, 2)]
        beside: dict[int, set[int]] = {}
        for one, other in pairs:
            beside.setdefault(one, set()).add(other)
            beside.setdefault(other, set()).add(one)
        for picture in pictures:
            for number in picture:
                self.give([number], beside.get(number, ()))
