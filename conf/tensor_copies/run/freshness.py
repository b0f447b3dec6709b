"""What may be kept from the last build, and what this build ran.

sphinx-gallery keeps a lesson's results while the text of the script is unchanged.
That is not enough: another torch, another device or an edited module that observes
changes the results too. So beside each result lies a *run*: its key, the machine, the
date and the seconds. A result without a run of this key is thrown away before the
gallery looks at it.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from babel.dates import format_date
from sphinx.errors import ExtensionError

from tensor_copies.run import kept_json, progress
from tensor_copies.run.code_keys import (
    SHAPES_LESSONS,
    SHAPES_PAGES,
    digest_of,
    hash_of,
    key_of,
)
from tensor_copies.run.fingerprint import (
    SHAPING,
    Fingerprint,
    day_of,
    fingerprint,
    quality,
    today,
    version_of,
)
from tensor_copies.run.lesson_list import lesson_scripts

if TYPE_CHECKING:
    from docutils.nodes import document
    from sphinx.application import Sphinx

NOTEBOOK, NOTEBOOK_AS_MADE = ".ipynb", ".notebook.json"
# Of the gallery's options those that say what a lesson leaves.
OPTIONS = ("reset_modules", "image_scrapers", "capture_repr", "remove_config_comments")


def lessons_key(app: Sphinx) -> str:
    """Return the key of what lessons leave: the machine, and all that shapes it."""
    conf = app.config.sphinx_gallery_conf
    return key_of(
        fingerprint().signature,
        quality(),
        *(f"{package} {version_of(package)}" for package in SHAPING),
        *(repr(conf[name]) for name in OPTIONS),
        digest_of(*SHAPES_LESSONS),
    )


def pages_key() -> str:
    """Return the key of what the cells of all pages leave (but for their own code)."""
    packages = (*SHAPING, "jupyter-cache", "nbclient")
    shaping = (f"{package} {version_of(package)}" for package in packages)
    return key_of(fingerprint().signature, *shaping, digest_of(*SHAPES_PAGES))


@dataclass(frozen=True)
class Run:
    """One run of one lesson: of what, by whom, when, how long, and what it left."""

    key: str
    fingerprint: Fingerprint
    day: str
    seconds: float
    hashes: dict[str, str]  # of its files

    def save(self, path: Path) -> None:
        """Write the run as JSON, whole or not at all."""
        kept_json.save(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> Run | None:
        """Read a run; return None where there is none or it cannot be read."""
        try:
            data = kept_json.load(path)
            return cls(**{**data, "fingerprint": Fingerprint(**data["fingerprint"])})
        except (TypeError, KeyError):
            return None


def run_path(app: Sphinx, docname: str) -> Path:
    """Return where the run of the lesson on the page ``docname`` is kept."""
    return Path(app.srcdir, f"{docname}.run.json")


def drop_what_is_stale(app: Sphinx) -> None:
    """Make the gallery run what this machine has not run, forget deleted lessons."""
    lessons = lesson_scripts(app)
    app.run_keys = {
        page: key_of(lessons_key(app), hash_of(script))
        for page, script in lessons.items()
    }
    for page, key in app.run_keys.items():
        run = Run.load(run_path(app, page))
        left = run.hashes if run and run.key == key else None
        # The system may have lost one, and somebody may have put an older one back.
        if left is None or any(
            hash_of(Path(app.srcdir, name)) != was for name, was in left.items()
        ):
            _remove_result(app, page)
    sections = {Path(app.srcdir, page).parent for page in lessons}
    for gallery in app.config.sphinx_gallery_conf["gallery_dirs"]:
        for left in sorted(Path(app.srcdir, gallery).rglob("*.rst")):
            page = left.relative_to(app.srcdir).with_suffix("").as_posix()
            if left.name != "index.rst" and page not in lessons:
                progress.say(f"removing what is left of the lesson {page}")
                _remove_result(app, page)
        for folder in sorted(Path(app.srcdir, gallery).glob("*/")):
            if folder not in sections and folder.name != "images":
                shutil.rmtree(folder)


def settle(app: Sphinx) -> None:
    """Note what ran; stop before any page is written if a lesson failed."""
    conf = app.config.sphinx_gallery_conf
    scripts = lesson_scripts(app).items()
    pages = {str(script.resolve()): page for page, script in scripts}
    app.lessons_run = [
        pages[str(Path(script).resolve())] for script in conf["passing_examples"]
    ]
    for page in app.lessons_run:
        _note_run(app, page)
    # A page that holds a traceback must not count as a result, not even when the
    # script is put back as it was.
    problems = []
    for script, failed in conf["failing_examples"].items():
        _remove_result(app, pages[str(Path(script).resolve())])
        problems.append(f"{Path(script).name} failed:\n{failed.rstrip()}")
    if problems:
        raise ExtensionError("\n".join(problems))


def _note_run(app: Sphinx, page: str) -> None:
    lesson = Path(app.srcdir, page)
    cost = kept_json.load(lesson.with_name(f"{lesson.name}.cost.json"))
    # The notebook is finished in each build, from what the gallery made (notebooks.py).
    made = lesson.with_name(f"{lesson.name}{NOTEBOOK}")
    shutil.copyfile(made, lesson.with_name(f"{lesson.name}{NOTEBOOK_AS_MADE}"))
    left = {
        path.relative_to(app.srcdir).as_posix(): hash_of(path)
        for path in _results(app, page)
        if not path.match("*_steps.*.json")  # drawn again when its code changes
        and path not in (made, run_path(app, page))
    }
    run = Run(app.run_keys[page], fingerprint(), today(), round(cost["time"], 2), left)
    run.save(run_path(app, page))


def depend_on_run(app: Sphinx, doctree: document) -> None:
    """Read a lesson's page again when its run is new, for the stamp at its foot."""
    path = run_path(app, app.env.docname)
    if path.exists():
        app.env.note_dependency(path)


def stamp(app: Sphinx, docname: str) -> str:
    """Return the line that says where the outputs of a page come from."""
    run = Run.load(run_path(app, docname))
    if run is not None:
        return _ran(run.fingerprint, run.day)
    metadata = getattr(app.env, "nb_metadata", {}).get(docname, {})
    if "exec_data" in metadata:
        return _ran(fingerprint(), day_of(metadata["exec_data"]["mtime"]))
    probed = app.env.metadata.get(docname, {}).get("atlas_probed")
    if probed is not None:
        return _ran(fingerprint(), probed)
    return f"No code runs on this page. The lessons ran on {fingerprint().in_sentence}."


def _ran(machine: Fingerprint, day: str) -> str:
    return f"Ran on {machine.in_sentence} on {in_words(day)}."


def in_words(day: str) -> str:
    """Return an ISO date as a reader writes it, such as 21 November 2026.

    In English, whatever the locale of the machine that builds: Sphinx sets it, and
    ``strftime`` would follow.
    """
    return format_date(date.fromisoformat(day), "d MMMM y", locale="en")


def report(app: Sphinx, exception: Exception | None) -> None:
    """Say who built the site, and how many lessons ran."""
    if exception is not None:
        return
    lessons = lesson_scripts(app)
    ran = set(app.lessons_run)
    progress.say(f"Machine: {fingerprint()} [{fingerprint().signature}]")
    kept = len(lessons) - len(ran)
    progress.say(
        f"Lessons: {len(ran)} of {len(lessons)} ran, {kept} kept from earlier builds."
    )


def _remove_result(app: Sphinx, page: str) -> None:
    for path in _results(app, page):
        path.unlink()


def _results(app: Sphinx, page: str) -> list[Path]:
    """Return all files that the gallery and we have made for a lesson, its run too."""
    folder, name = Path(app.srcdir, page).parent, Path(page).name
    # sphx_glr_clone_detach_001.svg is no picture of the lesson clone.
    others = (path.stem for path in folder.glob(f"{name}_*.rst"))
    longer = tuple(f"sphx_glr_{other}_" for other in others)
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.name.startswith((f"{name}.", f"sphx_glr_{name}_"))
        and not path.name.startswith(longer)
        and path.is_file()
    ]
