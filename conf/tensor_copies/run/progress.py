"""What a build says of itself, whatever level of Sphinx's own log is shown."""

from __future__ import annotations


def say(text: str) -> None:
    """Say a line to the person who builds."""
    print(text, flush=True)


def say_time(kind: str, name: str, seconds: float) -> None:
    """Say how long a lesson or a page ran."""
    say(f"{kind:6}  {name:30}  {seconds:6.1f} s")
