"""Holds one step: which statement ran, and what was seen before and after."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tensor_maps.steps.look import Look
from tensor_maps.steps.syntax import Unit

# Of a loop, the first turns are steps, and all later ones together are one more; of a
# loop within a loop, fewer are.
MOST_TURNS = (3, 2, 1)


@dataclass(eq=False)
class Loop:
    """One run of a loop: where in the code a turn begins, its depth and its turn.

    So many of its turns are ``shown`` as steps.
    """

    node: ast.stmt
    begins: int
    depth: int
    shown: int
    turn: int = 1


@dataclass(eq=False)
class Step:
    """One step, before it is drawn: where, and what was seen before and after.

    Its lines in the code shown are ``shift`` after those of its statement, and
    ``left_out`` counts the letters of what it printed that were not kept.
    """

    unit: Unit
    turns: list[tuple[Loop, int]]
    printed: str
    raised: str
    differ: dict[str, frozenset[str]]
    before: Look
    after: Look
    collapsed: bool
    shift: int
    left_out: int

    def place(self) -> dict:
        """Return the lines of the statement, and the turn of each loop around it."""
        return {
            "first": self.unit.first + self.shift,
            "last": self.unit.last + self.shift,
            "turn": [[turn, loop.turn] for loop, turn in self.turns],
        }

    @property
    def changed(self) -> list[str]:
        """The names that are there and whose facts changed."""
        return [name for name, kinds in self.differ.items() if "gone" not in kinds]


@dataclass(frozen=True)
class Told:
    """One step, as it is told: ``seen[3]`` returns the third.

    ``lines`` are the first and the last line of the statement in the code shown, from
    1; ``event`` is what happened ("appears", "shares", "written", "cut", "gradient",
    "raises" or "changes"), or None; ``printed`` is the text that it printed, and
    ``raised`` the exception, or nothing; ``turn`` has, for each loop around it, the
    iteration and how many there were.
    """

    said: str
    code: str
    event: str | None
    printed: str
    raised: str
    lines: tuple[int, int]
    turn: tuple[tuple[int, int], ...] = ()
