"""What may be kept between two builds: nothing, once what made it has changed.

sphinx-gallery runs a lesson again when its text changes, jupyter-cache a page when its
code does. Both know nothing of torch, the device or our own code. So a hash of these
lies beside what they keep; when it changes, what is kept is thrown away. What other
rooms keep (:class:`Kept`) has such a hash in the name of its file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from tensor_copies.gallery.isolation import begin, cancel, in_fresh_process
from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.gallery.machine import this_machine

CONF = Path(__file__).resolve().parents[2]
KEPT = CONF.parent / "build" / "kept"
PACKAGES = ("matplotlib", "perfplot", "sphinx-gallery", "myst-nb", "ipykernel")
MAPS = ("tensor_maps/src/**/*.py", "tensor_maps/src/**/*.toml")
ISOLATION = "tensor_copies/gallery/isolation.py"
# What runs in the process of a lesson, and in the kernel of a page.
BY_LESSONS = (*MAPS, "tensor_copies/figures/*.py", "tensor_copies/gallery/*.py")
BY_PAGES = (*MAPS, "tensor_copies/errors/*.py", "tensor_copies/simulated/*", ISOLATION)
# What other pages show of a page, by its name among the facts of that page.
ELSEWHERE = "shown_elsewhere"


def hash_of(*patterns: str, extra: object = ()) -> str:
    """Return a hash of the files of conf/ with these paths, and of what else counts."""
    return key_of(_code(patterns), repr(extra))


@cache
def _code(patterns: tuple[str, ...]) -> str:
    paths = {path for one in patterns for path in CONF.glob(one) if path.is_file()}
    found = hashlib.sha256()
    for path in sorted(paths):
        if path.parent.name != "__pycache__":
            found.update(path.relative_to(CONF).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def key_of(*parts: str) -> str:
    """Return sixteen hexadecimal digits that differ when any of the texts differs."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Kept:
    """What a function gives in a fresh process, kept as JSON for the builds to come.

    ``code`` are the files of conf/ on which it hangs, beside the machine and the
    arguments.
    """

    name: str
    code: tuple[str, ...]
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    wanted: ClassVar[list[Kept]] = []

    @cached_property
    def path(self) -> Path:
        """The file, whose name has the hash."""
        key = hash_of(*self.code, extra=(this_machine(), self.arguments))
        return KEPT / f"{self.name}-{key}.json"

    def want(self) -> None:
        """Have it made beside the lessons of this build, if it is not kept."""
        if not self.path.exists():
            self.wanted.append(self)

    def value(self) -> Any:
        """Return it as read from JSON; make it now, if nobody wanted it before."""
        if not self.path.exists():
            self.keep(in_fresh_process(self.function, *self.arguments))
        return _read(self.path)

    def keep(self, made: Any) -> None:
        """Write what was made, in the place of what other code or machines made."""
        KEPT.mkdir(parents=True, exist_ok=True)
        for old in KEPT.glob(f"{self.name}-{'?' * 16}.json"):
            old.unlink()
        aside = self.path.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(made), encoding="utf-8")
        aside.replace(self.path)


@cache
def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def begin_what_is_wanted() -> None:
    """Begin to make what rooms want in this build."""
    global _begun
    _begun = [(one, begin(one.function, *one.arguments)) for one in Kept.wanted]
    Kept.wanted.clear()


def finish_what_was_begun() -> None:
    """Wait for all of it: the processes in which Sphinx reads find it as files."""
    try:
        for one, begun in _begun:
            one.keep(begun.result())
    except BaseException:
        cancel()
        raise


_begun: list[tuple[Kept, Future[Any]]] = []


def forget_what_is_stale(app: Sphinx, config: Config) -> None:
    """Throw away what lessons and pages gave to another torch, device or code."""
    ran_by = this_machine(), [version(package) for package in PACKAGES]
    gallery = Path(app.srcdir, config.sphinx_gallery_conf["gallery_dirs"][0])
    for folder, code in (
        (gallery, BY_LESSONS),
        (Path(config.nb_execution_cache_path), BY_PAGES),
    ):
        now, note = hash_of(*code, extra=ran_by), folder / "made_by.txt"
        if not note.exists() or note.read_text() != now:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            note.write_text(now)
    pages = {Path(app.srcdir, page) for page in lesson_scripts(app)}
    for page in gallery.glob("*/*.rst"):  # also of lessons that are gone or renamed
        if page.stem != "index" and page.with_suffix("") not in pages:
            page.unlink()


def remove_pages_that_are_gone(
    app: Sphinx, env: BuildEnvironment, added: set, changed: set, removed: set
) -> list[str]:
    """Remove the files of a page that is gone: Sphinx leaves them on the site."""
    for page in removed:
        named = f"{Path(page).name}.*"
        for place in (f"{Path(page).parent}/{named}", f"_*/**/{named}"):
            for left in Path(app.outdir).glob(place):
                left.unlink()
    return []


def write_all_if_titles_changed(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return all pages if what they show of each other changed, such as a title."""
    now = key_of(
        repr(sorted((page, str(title)) for page, title in env.titles.items())),
        repr(sorted(env.toctree_includes.items())),
        repr(sorted(env.get_domain("std").labels.items())),
        repr(sorted((page, one.get(ELSEWHERE)) for page, one in env.metadata.items())),
    )
    before, env.shown_of_others = getattr(env, "shown_of_others", now), now
    return sorted(env.found_docs) if before != now else []
