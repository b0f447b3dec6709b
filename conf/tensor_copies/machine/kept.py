"""What is kept between two builds is trusted only as a good build left it.

A build may be killed at any moment, and a disk may lose what was written. So the hash
of every kept file is noted when a build has ended well. What is not, byte for byte, as
the note has it is removed before anything reads it, and made again:

- the pages that Sphinx has read and written: at the start of a build, by ``Kept``;
- the cells that MyST-NB has run: when Sphinx starts, by ``drop_damaged_pages``;
- the results of a lesson: file by file, beside the lesson's run (freshness.py).

A build of which nothing has changed need not be made at all: ``Kept.unchanged``.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensor_copies.machine import kept_json, progress
from tensor_copies.machine.code_keys import key_of
from tensor_copies.machine.fingerprint import CONF, fingerprint, quality

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = CONF.parent
BUILD = ROOT / "build"
# What a build leaves, but for the site itself.
KEPT = (
    BUILD / "kept",
    BUILD / "doctrees",
    BUILD / "staging",
    BUILD / "jupyter_execute",
    BUILD / "pages",
    BUILD / "atlas",
    BUILD / "explorer",
    BUILD / "predictions",
    ROOT / "docs" / "auto_examples",
)
# These keep something for each state of the code, named by its key. The newest few are
# enough to go back and forth between branches.
KEYED = ("pages", "atlas", "explorer")
NEWEST = 8
# What hosts say of the site's address (web/address.py), and the day of a build.
ENVIRONMENT = ("SITE_", "READTHEDOCS", "SOURCE_DATE_EPOCH")
DRESS = ("static/", "templates/")  # of conf/


class Kept:
    """What the last good build with one of Sphinx's builders has left.

    ``written`` is the folder that the builder writes to; ``arguments`` are those of
    the build's command.
    """

    def __init__(
        self, builder: str, written: Path, arguments: Iterable[str] = ()
    ) -> None:
        self._written = written
        self._note = BUILD / "kept" / f"{builder}.json"
        doctrees = BUILD / "doctrees" / builder
        self._folders = (doctrees, written, BUILD / "jupyter_execute")
        self._look, self._dress = _look_and_dress()
        sources = _hashes(ROOT / "docs", "auto_examples") | _hashes(ROOT / "examples")
        self._inputs = key_of(
            self._look,
            self._dress,
            json.dumps(sources),
            fingerprint().signature,
            quality(),
            *(
                f"{name}={value}"
                for name, value in sorted(os.environ.items())
                if name.startswith(ENVIRONMENT)
            ),
            *arguments,
        )

    def unchanged(self, published: Path) -> list[str] | None:
        """Return what there is to say of a site that stands as it is, or None.

        It stands if nothing that it is made from has changed since the last good
        build, and each published file is still what that build has written.
        """
        noted = self._noted()
        if noted.get("inputs") != self._inputs:
            return None
        if noted.get("published") != _hashes(published):
            return None
        lessons = len(list((ROOT / "examples").rglob("*.py")))
        none = f"Lessons: 0 of {lessons} ran, {lessons} kept from earlier builds."
        return [none, *noted.get("said", [])]

    def begin(self) -> None:
        """Remove what was read and written, unless it is what a good build left.

        So a build that failed is also read anew: Sphinx warns about a page when it
        reads it, and would keep silent about the same page in the next build.
        """
        noted = self._noted()
        if noted.get("look") != self._look or noted.get("files") != self._files():
            for folder in self._folders:
                shutil.rmtree(folder, ignore_errors=True)
        elif noted.get("dress") != self._dress:  # all pages are written, none is read
            shutil.rmtree(self._written, ignore_errors=True)

    def trust(self, published: Path | None, said: list[str]) -> None:
        """Note what this build has left: it has ended well.

        What it has ``said`` holds as long as nothing changes.
        """
        noted = {
            "look": self._look,
            "dress": self._dress,
            "inputs": self._inputs,
            "files": self._files(),
            "published": _hashes(published) if published else None,
            "said": said,
        }
        kept_json.save(self._note, noted)

    def is_to_blame(self) -> bool:
        """Whether a build that failed was made from the same as the last good one."""
        return self._noted().get("inputs") == self._inputs

    def _noted(self) -> dict[str, Any]:
        return kept_json.load(self._note) or {}

    def _files(self) -> dict[str, dict[str, str]]:
        return {folder.name: _hashes(folder) for folder in self._folders}


def forget_all() -> None:
    """Remove all that was kept: it may be what made a build fail."""
    for folder in KEPT:
        shutil.rmtree(folder, ignore_errors=True)


def prune() -> None:
    """Remove what was kept for states of the code that are long gone."""
    for name in KEYED:
        folder = BUILD / name
        ages: dict[str, float] = {}  # a folder and the note beside it are one
        for path in folder.glob("*"):
            key = path.name.removesuffix(".json")
            ages[key] = max(ages.get(key, 0), path.stat().st_mtime)
        for key in sorted(ages, key=ages.get, reverse=True)[NEWEST:]:
            shutil.rmtree(folder / key, ignore_errors=True)
            (folder / f"{key}.json").unlink(missing_ok=True)


def drop_damaged_pages(app: Sphinx) -> None:
    """Remove what the cells of pages gave, unless it is what a build noted."""
    cache = Path(app.config.nb_execution_cache_path)
    note = cache.with_name(f"{cache.name}.json")
    if cache.exists() and kept_json.load(note) != _hashes(cache):
        progress.say("removing what the cells of pages gave: it is not whole")
        shutil.rmtree(cache)


def trust_pages(app: Sphinx, exception: Exception | None) -> None:
    """Note what the cells of pages gave, also in a build that has failed later."""
    cache = Path(app.config.nb_execution_cache_path)
    if cache.exists():
        kept_json.save(cache.with_name(f"{cache.name}.json"), _hashes(cache))


def _look_and_dress() -> tuple[str, str]:
    """Return the keys of what reads pages, and of what these are only dressed in.

    The first is of our code and the packages, the other of styles, scripts, templates.
    """
    packages = {
        place.name for folder in sys.path for place in Path(folder).glob("*.dist-info")
    }
    code = _hashes(CONF)
    dress = {name: code.pop(name) for name in list(code) if name.startswith(DRESS)}
    look = key_of(platform.python_version(), json.dumps(code), *sorted(packages))
    return look, key_of(json.dumps(dress))


def _hashes(folder: Path, but: str = "") -> dict[str, str]:
    """Return a hash of each file below a folder, by its path from there."""
    found = {}
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - {but, "__pycache__"})
        for name in sorted(files):
            path = Path(parent, name)
            if not path.is_file():  # a pipe would have us wait
                continue
            with suppress(OSError), path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                found[path.relative_to(folder).as_posix()] = digest
    return found
