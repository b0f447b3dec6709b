"""Watch code statement by statement, and show what became of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensor_maps.steps.watch import Steps


def steps(
    title: str | Callable[..., Any] | None = None,
    *,
    names: Iterable[str] | None = None,
    turns: int | Iterable[int] = (3, 2, 1),
    follow: Iterable[Callable[..., Any]] = (),
) -> Steps | Callable[..., Any]:
    """Watch a block of code, and see what each statement did to its tensors.

    Use ``with steps() as seen:``, ``async with``, or the decorator ``@steps`` or
    ``@steps("title")``. The decorator watches the body of a function at each call, and
    keeps the steps of the last call in ``function.steps``. Afterwards, ``print(seen)``
    lists what happened, ``seen[3].said`` says what step 3 did, and
    ``seen.save("steps.html")`` writes the player. The parameters are those of
    :class:`Steps`.
    """
    from tensor_maps.steps.watch import Steps  # not before: with it comes torch

    plain = None if callable(title) else title
    made = Steps(plain, names=names, turns=turns, follow=follow)
    return made(title) if callable(title) else made
