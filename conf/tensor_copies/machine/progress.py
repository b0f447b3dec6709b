"""Say how a build goes: to the process that started it, else to Sphinx's log.

``build_site.py`` builds in a child process and reads what that prints. A line that
begins with a mark is an event, as JSON; every other line is passed on. So the parent
knows at any moment which lesson or page is running, also when the child is gone.
"""

from __future__ import annotations

import json
import os
import re
import sys
from time import perf_counter, time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

# Set by the parent; a build without one (plain sphinx-build) logs as Sphinx does.
CHANNEL = "TENSOR_COPIES_PROGRESS"
MARK = "\x1e"  # ASCII's "record separator": no text of ours has it
# What libraries print past Python's logging, and past any setting of theirs.
NOISE = re.compile(r"USDT:|\[W?.*ProfilerHandler|computation time summary:")

_started: dict[str, float] = {}
# How long pages ran before they were read, in seconds (kernels.py).
ran_ahead: dict[str, float] = {}
_channel: int | None = None


def tell(event: str, **facts: Any) -> None:
    """Send an event to the parent, if there is one."""
    global _channel
    if CHANNEL in os.environ:
        if _channel is None:
            # The gallery takes sys.stdout for itself while a lesson runs, and
            # isolation.py the process's own output.
            _channel = os.dup(1)
        line = f"{MARK}{json.dumps({'event': event, **facts})}\n"
        sys.__stdout__.flush()
        os.write(_channel, line.encode())


def say(text: str, *, lasting: bool = False) -> None:
    """Say a line to the person who builds; again if nothing changes, if it lasts."""
    from sphinx.util import logging  # not needed by who only reads what is told

    logging.getLogger(__name__).info(text)
    tell("said", text=text, lasting=lasting)


def tell_limit(app: Sphinx, config: Config) -> None:
    """Tell how long a lesson may run, and how much memory all may take."""
    tell("limit", seconds=config.lesson_time_limit, megabytes=config.memory_limit)


def note_lesson(gallery_conf: dict[str, Any], lesson: str, when: str) -> None:
    """Note that a lesson begins or has ended (a ``reset_modules`` hook)."""
    if when == "before":
        _started["lesson"] = perf_counter()
        tell("begun", kind="lesson", name=lesson)
    else:
        _ended("lesson", lesson)


def begin_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Note that a page is read, which runs its code if it has any."""
    _started["page"], _started["since"] = perf_counter(), time()
    tell("begun", kind="page", name=docname)


def end_page(app: Sphinx, doctree: object) -> None:
    """Note that a page is read, and how long it took if its code ran just now."""
    facts = getattr(app.env, "nb_metadata", {}).get(app.env.docname, {})
    ran_at = facts.get("exec_data", {}).get("mtime", 0)
    if "page" in _started and ran_at >= _started["since"]:
        _ended("page", app.env.docname)
    else:
        tell("passed", kind="page", name=app.env.docname)


def _ended(kind: str, name: str) -> None:
    seconds = perf_counter() - _started.pop(kind) + ran_ahead.pop(name, 0)
    tell("ended", kind=kind, name=name, seconds=seconds)
