"""Watch code statement by statement, and show what became of its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensor_maps.steps.watch import Steps


def steps(title: str | None = None) -> Steps:
    """Watch a block of code, and see after each statement what became of its tensors.

    To be used as ``with steps() as seen:``. Afterwards ``seen.data()`` has it all.
    """
    from tensor_maps.steps.watch import Steps  # not before: with it comes torch

    return Steps(title)
