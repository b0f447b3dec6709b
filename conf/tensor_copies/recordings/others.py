"""The recordings of other machines: loaded for pages, named where they are stale.

A recording of other code is not shown: the build names it, and what renews it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import eq
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

from tensor_copies.recordings.check import load_page, load_recording
from tensor_copies.recordings.format import (
    BadRecording,
    PageRecording,
    Recording,
    keys,
    page_key,
)
from tensor_copies.run import progress
from tensor_copies.run.fingerprint import Fingerprint, fingerprint
from tensor_copies.run.lesson_list import lesson_scripts

logger = logging.getLogger(__name__)


def loaded(app: Sphinx, pattern: str, load: Callable[[Path], Any]) -> list[Any]:
    """Return the files of other machines, each as it is read; warn of refused ones."""
    found = []
    for path in sorted(Path(app.srcdir, "recordings").glob(f"*/{pattern}")):
        if path.parent.name != fingerprint().name:  # its own are live
            try:
                found.append(load(path))
            except BadRecording as bad:
                refuse(bad)
    return found


def load_all(app: Sphinx, lesson: str) -> list[Recording]:
    """Return the recordings of a lesson (``section/name``) by other machines."""
    return loaded(app, f"{lesson.rpartition('/')[2]}.json", load_recording)


def load_pages(app: Sphinx) -> list[tuple[PageRecording, bool]]:
    """Return the recordings of pages by other machines, and if each is current."""
    found = []
    for recording in loaded(app, "*.page.json", load_page):
        page = Path(app.srcdir, f"{recording.page}.md")
        found.append((recording, page.exists() and page_key(page) == recording.key))
    return found


def refuse(bad: BadRecording) -> None:
    """Warn of a refused file, once in a build."""
    logger.warning("%s", str(bad), type="recordings", once=True)


def current_blocks(recording: Recording, script: Path) -> tuple[int, int]:
    """Return how many blocks of a recording still match the script, and of how many."""
    wanted = list(keys(script).values())
    return sum(map(eq, wanted, (block.key for block in recording.blocks))), len(wanted)


def renewal(name: str) -> str:
    """Return the command that renews the recording of a lesson or page, there."""
    return f"nox -s record -- --only {name}"


def report_stale(app: Sphinx, exception: Exception | None) -> None:
    """Name each recording that no longer matches its lesson, and what renews it."""
    if exception is not None:
        return
    for page, script in lesson_scripts(app).items():
        for recording in load_all(app, page.partition("/")[2]):
            same, of = current_blocks(recording, script)
            if same < of:
                matches = f"matches {same} of {of} blocks"
                report_problems(recording.machine, script.stem, matches)
    for recording, current in load_pages(app):
        if not current:
            report_problems(
                recording.machine, recording.page, "does not match the page"
            )
    for where in _orphans(app):
        logger.warning("Orphan: %s belongs to no lesson or page; remove it", where)


def report_problems(machine: Fingerprint, name: str, matches: str) -> None:
    """Say that a recording is stale, in what, and what renews it."""
    progress.say(
        f"Stale: recordings/{machine.name}, {name} {matches}; on that machine, run "
        f"`{renewal(name)}`",
    )


def _orphans(app: Sphinx) -> Iterator[str]:
    """Return the files beside the recordings that nothing is made from."""
    known = {Path(page).name for page in lesson_scripts(app)} | {"atlas"}
    for path in sorted(Path(app.srcdir, "recordings").glob("*/*")):
        if path.name.startswith("."):  # a system's
            continue
        name, _, ending = path.name.partition(".")
        if ending == "json":
            is_known = name in known
        elif ending == "page.json":
            is_known = Path(app.srcdir, f"{name.replace('-', '/')}.md").exists()
        else:  # a figure, which its recording names
            recording = path.with_name(f"{name}.json")
            named = recording.read_text("utf-8") if recording.is_file() else ""
            is_known = f'"{path.name}"' in named
        if not is_known:
            yield path.relative_to(app.srcdir).as_posix()
