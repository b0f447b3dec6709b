"""Watches code statement by statement, and shows what became of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensor_maps.steps.watch import Steps


def steps(
    title: str | None = None,
    *,
    turns: int | Iterable[int] = (3, 2, 1),
    follow: Iterable[Callable[..., Any]] = (),
) -> Steps:
    """Watch a block of code, and see what each statement did to its tensors.

    Write ``with steps() as seen:``. Afterwards, ``print(seen)`` lists what happened,
    ``seen[3].said`` says what step 3 did, and ``seen.save("steps.html")`` writes the
    player. With ``follow=[train]``, the statements of the function ``train`` are steps
    too. The parameters are those of :class:`Steps`.
    """
    from tensor_maps.steps.watch import Steps  # not before: with it comes torch

    return Steps(title, turns=turns, follow=follow)
