"""Keep results between builds; throw them away when what made them changes.

sphinx-gallery runs a lesson again when its text changes, jupyter-cache a page when its
code does. Both know nothing of torch, the device or our own code. So a hash of these
lies beside what they keep; when it changes, what is kept is thrown away. What other
rooms keep (:class:`Kept`) has such a hash in the name of its file.
"""

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

from jupyter_cache import get_cache
from sphinx.addnodes import toctree
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from tensor_copies.gallery.isolation import begin, cancel
from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.gallery.machine import compiler, this_machine

CONF = Path(__file__).resolve().parents[2]
KEPT = CONF.parent / "build" / "kept"
PACKAGES = ("matplotlib", "perfplot", "pandas", "pillow", "sphinx-gallery", "myst-nb")
MAPS = ("tensor_maps/src/**/*.*",)
# What runs in the process of a lesson, and in the kernel of a page.
GALLERY = "tensor_copies/gallery/*.py"
PAGE, LINKS = (f"tensor_copies/lessons/{name}.py" for name in ("page", "code_links"))
BY_LESSONS = (*MAPS, GALLERY, PAGE, LINKS, "tensor_copies/figures/*.*")
BY_PAGES = (*MAPS, GALLERY, "tensor_copies/errors/*.py", "tensor_copies/simulated/*")
# What other pages show of a page, by its names among the facts of that page.
ELSEWHERE = ("questions", "path")


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


@cache
def made_by() -> str:
    """Return what all results hang on: the machine, its compiler, some packages."""
    return repr((this_machine(), compiler(), [version(one) for one in PACKAGES]))


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
    wanted: ClassVar[list["Kept"]] = []

    @cached_property
    def path(self) -> Path:
        """The file, whose name has the hash."""
        key = hash_of(*self.code, extra=(made_by(), self.arguments))
        return KEPT / f"{self.name}-{key}.json"

    def want(self) -> None:
        """Have it made beside the lessons of this build, if it is not kept."""
        if not self.path.exists():
            self.wanted.append(self)

    def value(self) -> Any:
        """Return it as read from JSON.

        Raises ``ExtensionError`` if no room has wanted it before pages are read.
        """
        if not self.path.exists():
            raise ExtensionError(f"{self.name} was not made: call want() for its page")
        return _read(self.path)

    def keep(self, made: Any) -> None:
        """Write what was made, in the place of what other code or machines made."""
        KEPT.mkdir(parents=True, exist_ok=True)
        for old in KEPT.glob(f"{self.name}-{'?' * 16}.json"):
            old.unlink(missing_ok=True)
        aside = self.path.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(made), encoding="utf-8")
        aside.replace(self.path)


@cache
def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


_making: list[tuple[Kept, Future[Any]]] = []


def begin_what_is_wanted() -> None:
    """Begin to make what rooms want in this build."""
    while Kept.wanted:
        one = Kept.wanted.pop(0)
        _making.append((one, begin(one.function, *one.arguments)))


def finish_what_was_begun() -> None:
    """Wait for all of it: the processes in which Sphinx reads find it as files."""
    try:
        for one, making in _making:
            try:
                one.keep(making.result())
            except Exception as error:
                said = f"{one.name}: {error!r}\n{error.__cause__ or ''}"
                raise ExtensionError(said) from None
    finally:
        cancel()


def forget_what_is_stale(app: Sphinx, config: Config) -> None:
    """Throw away what lessons and pages gave to another torch, device or code."""
    gallery = Path(app.srcdir, config.sphinx_gallery_conf["gallery_dirs"][0])
    for folder, code in (
        (gallery, BY_LESSONS),
        (Path(config.nb_execution_cache_path), BY_PAGES),
    ):
        now, note = hash_of(*code, extra=made_by()), folder / "made_by.txt"
        if not note.exists() or note.read_text() != now:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            note.write_text(now)
            if code == BY_PAGES:  # else two processes may make its database at once
                get_cache(folder).list_cache_records()
    pages = {Path(app.srcdir, page) for page in lesson_scripts(app)}
    for page in gallery.glob("*/*.rst"):  # also of lessons that are gone or renamed
        if page.stem != "index" and page.with_suffix("") not in pages:
            page.unlink()
            page.with_suffix(".py.md5").unlink(missing_ok=True)


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
    shown = (
        env.titles.items(),
        # The menu: short titles, their order, and headings as its groups.
        [(page, one) for page, one in env.tocs.items() if one.next_node(toctree)],
        env.get_domain("std").labels.items(),
        [(page, [*map(one.get, ELSEWHERE)]) for page, one in env.metadata.items()],
    )
    now = key_of(*(repr(sorted((of, str(one)) for of, one in part)) for part in shown))
    before, env.shown_of_others = getattr(env, "shown_of_others", now), now
    return sorted(env.found_docs) if before != now else []
