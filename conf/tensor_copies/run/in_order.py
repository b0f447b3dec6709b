"""One handler of an event that calls several functions, in the order given."""

from __future__ import annotations

from collections.abc import Callable


def in_order(*functions: Callable[..., None]) -> Callable[..., None]:
    """Return a handler that calls each function with all that it is given."""

    def handler(*arguments: object) -> None:
        for function in functions:
            function(*arguments)

    return handler
