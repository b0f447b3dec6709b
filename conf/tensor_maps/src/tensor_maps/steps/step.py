"""One step: which statement ran, and what was seen before and after."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tensor_maps.steps.facts import Look
from tensor_maps.steps.syntax import Unit

# Of a loop, the first turns are steps, and all later ones together are one more; of a
# loop within a loop, fewer are.
MOST_TURNS = (3, 2, 1)


@dataclass(eq=False)
class Loop:
    """One run of a loop: where in the code a turn begins, its depth and its turn."""

    node: ast.stmt
    begins: int
    depth: int
    turn: int = 1
    collapsed: bool = False

    @property
    def shown(self) -> int:
        """How many of its turns are steps."""
        return MOST_TURNS[min(self.depth, len(MOST_TURNS) - 1)]


@dataclass
class Step:
    """One step, before it is drawn: where, and what was seen before and after."""

    unit: Unit
    turns: list[tuple[Loop, int]]
    printed: str
    raised: str
    differ: dict[str, frozenset[str]]
    before: Look
    after: Look
    collapsed: bool

    def place(self, shift: int) -> dict:
        """Return the lines of the statement, and the turn of each loop around it."""
        return {
            "first": self.unit.first + shift,
            "last": self.unit.last + shift,
            "turn": [[turn, loop.turn] for loop, turn in self.turns],
        }

    @property
    def changed(self) -> list[str]:
        """The names that are there and whose facts changed."""
        return [name for name, kinds in self.differ.items() if "gone" not in kinds]
