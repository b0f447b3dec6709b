"""What may be kept from the last build, and what this build ran.

sphinx-gallery keeps a lesson's results while the text of the script is unchanged.
That is not enough: another torch, another device or an edited module of this folder
changes the results too. So beside each result lies a *run*: the fingerprint of
the machine, the date and the seconds. A result without a run of this very
machine is thrown away before the gallery looks at it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx_gallery.gen_gallery import summarize_failing_examples

from tensor_copies.machine import progress
from tensor_copies.machine.fingerprint import Fingerprint, fingerprint
from tensor_copies.machine.lesson_list import lesson_scripts

if TYPE_CHECKING:
    from docutils.nodes import document
    from sphinx.application import Sphinx

# What the gallery writes for the lesson NAME: these, and images/sphx_glr_NAME_*.
GENERATED = (
    ".rst",
    ".py",
    ".ipynb",
    ".zip",
    ".py.md5",
    ".cost.json",
    ".codeobj.json",
    ".run.json",
)


@dataclass(frozen=True)
class Run:
    """One run of one lesson: who ran it, on which day, and how long it took."""

    fingerprint: Fingerprint
    day: str
    seconds: float

    def save(self, path: Path) -> None:
        """Write the run as JSON, whole or not at all."""
        aside = path.with_suffix(".tmp")
        aside.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        aside.replace(path)

    @classmethod
    def load(cls, path: Path) -> Run | None:
        """Read a run; return None where there is none or it cannot be read."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{**data, "fingerprint": Fingerprint(**data["fingerprint"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None


def run_path(app: Sphinx, docname: str) -> Path:
    """Return where the run of the lesson on the page ``docname`` is kept."""
    return Path(app.srcdir, f"{docname}.run.json")


def drop_what_is_stale(app: Sphinx) -> None:
    """Make the gallery run what this machine has not run, forget deleted lessons."""
    lessons = lesson_scripts(app)
    for page in lessons:
        kept = Run.load(run_path(app, page))
        if kept is None or kept.fingerprint != fingerprint():
            _forget_result(app, page)
    for gallery in app.config.sphinx_gallery_conf["gallery_dirs"]:
        for script in Path(app.srcdir, gallery).rglob("*.py"):
            page = script.relative_to(app.srcdir).with_suffix("").as_posix()
            if page not in lessons:
                progress.say(f"removing what is left of the lesson {page}")
                _remove_generated(app, page)


def settle(app: Sphinx) -> None:
    """Note what ran; stop before any page is written if a lesson failed."""
    conf = app.config.sphinx_gallery_conf
    pages = {str(script): page for page, script in lesson_scripts(app).items()}
    today = date.today().isoformat()
    app.lessons_run = []
    for script in conf["passing_examples"]:
        page = pages[str(Path(script).resolve())]
        cost = Path(app.srcdir, f"{page}.cost.json")
        seconds = json.loads(cost.read_text(encoding="utf-8"))["time"]
        Run(fingerprint(), today, round(seconds, 2)).save(run_path(app, page))
        app.lessons_run.append(page)
    for script in conf["failing_examples"]:
        # The page now holds the traceback: it must not count as a result, not
        # even when the script is put back as it was.
        _forget_result(app, pages[str(Path(script).resolve())])
    if conf["failing_examples"]:
        summarize_failing_examples(app, None)


def depend_on_run(app: Sphinx, doctree: document) -> None:
    """Read a lesson's page again when its run is new, for the stamp at its foot."""
    path = run_path(app, app.env.docname)
    if path.exists():
        app.env.note_dependency(path)


def stamp(app: Sphinx, docname: str) -> str:
    """Return the line that says where the outputs of a page come from."""
    run = Run.load(run_path(app, docname))
    if run is not None:
        return f"Run with {run.fingerprint} on {in_words(run.day)}."
    metadata = getattr(app.env, "nb_metadata", {}).get(docname, {})
    if "exec_data" in metadata:
        day = datetime.fromtimestamp(metadata["exec_data"]["mtime"], UTC).date()
        return f"Run with {fingerprint()} on {in_words(day.isoformat())}."
    probed = app.env.metadata.get(docname, {}).get("atlas_probed")
    if probed is not None:
        return f"Run with {fingerprint()} on {in_words(probed)}."
    return f"No code runs on this page. The lessons ran with {fingerprint()}."


def in_words(day: str) -> str:
    """Return an ISO date as a reader writes it, such as 21 November 2026."""
    when = date.fromisoformat(day)
    return f"{when.day} {when:%B %Y}"


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


def remove_orphans(app: Sphinx, exception: Exception | None) -> None:
    """Delete built pages and downloads of lessons that are gone."""
    if exception is not None or app.builder.name not in ("html", "dirhtml"):
        return
    wanted = {
        Path(app.outdir, app.builder.get_target_uri(d)) for d in app.env.found_docs
    }
    for gallery in app.config.sphinx_gallery_conf["gallery_dirs"]:
        for page in Path(app.outdir, gallery).rglob("*.html"):
            if page not in wanted:
                page.unlink()
    offered = {
        Path(app.outdir, "_downloads", name) for _, name in app.env.dlfiles.values()
    }
    for file in Path(app.outdir, "_downloads").rglob("*"):
        if file.is_file() and file not in offered:
            file.unlink()


def _forget_result(app: Sphinx, page: str) -> None:
    for suffix in (".py.md5", ".run.json"):
        Path(app.srcdir, page + suffix).unlink(missing_ok=True)


def _remove_generated(app: Sphinx, page: str) -> None:
    for suffix in GENERATED:
        Path(app.srcdir, page + suffix).unlink(missing_ok=True)
    folder, name = Path(app.srcdir, page).parent, Path(page).name
    for number in ("[0-9][0-9][0-9]", "thumb"):
        for image in (folder / "images").rglob(f"sphx_glr_{name}_{number}.*"):
            image.unlink()
