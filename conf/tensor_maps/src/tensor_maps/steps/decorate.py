"""Watch a function at each call, and check the options of steps."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any


def watched_function(
    function: Callable[..., Any], made: Callable[[], Any]
) -> Callable[..., Any]:
    """Return a function that watches the body of another at each call.

    ``made`` returns new steps. Those of the last call that has ended, also by an
    exception, are its attribute ``steps``.
    """
    code_of(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        seen = made()
        try:
            with seen.calling(function, id(sys._getframe())):
                return function(*args, **kwargs)
        finally:
            watched.steps = seen

    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Any:
        seen = made()
        try:
            with seen.calling(function, id(sys._getframe())):
                return (yield from function(*args, **kwargs))
        finally:
            watched.steps = seen

    @functools.wraps(function)
    async def wait(*args: Any, **kwargs: Any) -> Any:
        seen = made()
        try:
            with seen.calling(function, id(sys._getframe())):
                return await function(*args, **kwargs)
        finally:
            watched.steps = seen

    if inspect.isasyncgenfunction(function):
        raise TypeError(
            f"steps watches functions, generators and coroutines; {function.__name__} "
            "is an asynchronous generator"
        )
    watched = call
    if inspect.iscoroutinefunction(function):
        watched = wait
    elif inspect.isgeneratorfunction(function):
        watched = generate
    watched.steps = None
    return watched


def code_of(function: Any) -> CodeType:
    """Return the code of a function that is written in Python, without decorators.

    Raises
    ------
    TypeError
        If it is something else.
    """
    plain = inspect.unwrap(function) if callable(function) else function
    code = getattr(plain, "__code__", None)
    if not isinstance(code, CodeType):
        kind = type(function).__name__
        raise TypeError(f"steps watches functions written in Python, not {kind}")
    return code


def names_of(names: Any) -> tuple[str, ...]:
    """Return the names that are to be looked at."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"names is a list of names, as ['w', 'z'], not {names!r}")
    found = tuple(names)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"names has names, as ['w', 'z'], not {name!r}")
    return found


def turns_of(turns: Any) -> tuple[int, ...]:
    """Return how many turns are shown of a loop, of one within it, and so on."""
    found = (turns,) if isinstance(turns, int) else turns
    found = tuple(found) if isinstance(found, Iterable) else ()
    if not found or not all(type(turn) is int and turn > 0 for turn in found):
        raise ValueError(
            f"turns is a number from 1, or several as in (3, 2, 1), not {turns!r}"
        )
    return found


async def at_once(value: Any) -> Any:
    """Return a value to ``await``."""
    return value


# Code that is run from a text has a file name of its own: its source is found by it.
file_names = (f"<steps-{number}>" for number in itertools.count(1))
