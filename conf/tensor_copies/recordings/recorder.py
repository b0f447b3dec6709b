"""Record lessons: the gallery runs them as in a build, with one scraper in its options.

The gallery's own run (a process for each lesson, see run/apart.py) is made of
copies of the scripts in a temporary folder, so that it keeps and changes nothing of the
site's. The scraper keeps what a block shows beside its text; the text is read where a
build reads it, on the page that the gallery wrote.
"""

from __future__ import annotations

import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable
from multiprocessing import set_forkserver_preload
from pathlib import Path
from typing import Any

from joblib import register_parallel_backend
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

from tensor_copies.figures.maps import requested_maps
from tensor_copies.figures.plots import open_charts
from tensor_copies.figures.samples import requested_samples
from tensor_copies.figures.tables import path_of, requested_table, without_table
from tensor_copies.recordings.format import (
    Block,
    Recording,
    keys,
    require_fitting,
    save_recording,
)
from tensor_copies.recordings.live import LiveBlock, read_blocks
from tensor_copies.run.apart import (
    COMPILER,
    FEW,
    PRELOADED,
    LessonLost,
    OneProcessEach,
)
from tensor_copies.run.clocks import takes_times
from tensor_copies.run.fingerprint import Fingerprint, lesson_seconds, today
from tensor_copies.run.lesson_list import lesson_scripts
from tensor_copies.run.markers import setup_line
from tensor_copies.run.sources import require_sound

MEGABYTES = 8000  # of a lesson
HEADER = "GALLERY_HEADER.rst"  # of a section, and of all
MEASURED = {"panels", "samples"}  # what a chart of times has, and its samples
TIMES = "It shows times, and the simulated device runs at the speed of the CPU."


def scrape_for_recording(
    block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]
) -> str:
    """Keep what a block shows, but for its text (an image scraper)."""
    figures: list[dict[str, Any]] = [
        {"map": kept["map"]} for kept in requested_maps(block, block_vars)
    ]
    figures += open_charts(block, block_vars)
    if (table := requested_table(block, block_vars)) is not None:
        figures.append({"table": table})
    if (samples := requested_samples(block, block_vars)) is not None:
        figures.append({"samples": samples})
    seen = pickle.dumps((figures, _left_out(block.content, figures)))
    path_of(block_vars, f"{block.lineno}.seen").write_bytes(seen)
    return ""


def _left_out(code: str, figures: list[dict[str, Any]]) -> str:
    """Return why what a block shows is not true of the stand-in, if this is one."""
    import torch

    if (device := getattr(torch, "standin", None)) is None:
        return ""
    shown = set().union(*figures)
    return device.untrue() or (TIMES if takes_times(code) or MEASURED & shown else "")


def record(
    scripts: list[Path],
    folder: Path,
    machine: Fingerprint,
    options: dict[str, Any],
    rename: Callable[[str], str],
) -> dict[str, str]:
    """Run lessons, write what was seen; return by its name why one is not recorded.

    Parameters
    ----------
    folder
        Where the recordings of the machine are kept.
    options
        Of the site's gallery.
    rename
        Returns code that asks the machine for the device that it has.
    """
    require_sound()
    with tempfile.TemporaryDirectory() as aside:
        docs, examples = Path(aside, "docs"), Path(aside, "examples")
        docs.mkdir()
        (docs / "index.rst").write_text("Lessons\n=======\n", encoding="utf-8")
        for script in scripts:
            section = examples / script.parent.name
            section.mkdir(parents=True, exist_ok=True)
            shutil.copy(script.with_name(HEADER), section)
            shutil.copy(script.parent.with_name(HEADER), examples)
            renamed = rename(script.read_text(encoding="utf-8"))
            (section / script.name).write_text(renamed, encoding="utf-8")
        app, failed = _run(docs, options)
        pages = {script.name: page for page, script in lesson_scripts(app).items()}
        for script in scripts:
            if script.stem not in failed:
                try:
                    _save(app, pages[script.name], script, machine, folder)
                except SphinxError as error:
                    failed[script.stem] = str(error)
    return failed


def _run(docs: Path, options: dict[str, Any]) -> tuple[Sphinx, dict[str, str]]:
    """Let the gallery run all lessons and Sphinx read them; return what failed too."""
    failed = {}

    class Recorder(OneProcessEach):
        seconds, megabytes = lesson_seconds(), MEGABYTES

        def run(self, generate: Callable[..., Any], asked: Any) -> list[Any]:
            try:
                return super().run(generate, asked)
            except LessonLost as lost:  # the others are recorded
                failed[Path(asked[0]).stem] = str(lost)
                not_run = asked[3] | {"plot_gallery": False, "reset_modules": ()}
                return [generate(*asked[:3], not_run)]

    register_parallel_backend("loky", Recorder)
    few = len([*docs.parent.glob("examples/*/*.py")]) <= FEW
    set_forkserver_preload([*PRELOADED, __name__, *([] if few else [COMPILER])])
    changed = {
        "image_scrapers": (f"{__name__}.scrape_for_recording",),
        "reset_modules": ("tensor_copies.run.isolation.prepare",),
    }
    settings = {
        "extensions": ["sphinx_gallery.gen_gallery"],
        "sphinx_gallery_conf": options | changed,
        "suppress_warnings": ["download"],  # the archive of all is made later
    }
    out = docs.with_name("out")
    app = Sphinx(docs, None, out, out, "dummy", settings, None, sys.stderr)
    for script, why in app.config.sphinx_gallery_conf["failing_examples"].items():
        failed.setdefault(Path(script).stem, why)
    app.builder.read()
    return app, failed


def _save(
    app: Sphinx, page: str, script: Path, machine: Fingerprint, folder: Path
) -> None:
    wanted, setup = keys(script), setup_line(script)
    blocks, files = [], {}
    for live in read_blocks(app.env.get_doctree(page), script):
        name = f"sphx_glr_{script.stem}_{live.line}.seen"
        kept = Path(app.srcdir, page).with_name("images") / name
        figures, left_out = pickle.loads(kept.read_bytes())
        if left_out or live.line == setup:  # no page shows what the setup prints
            why = "" if live.line == setup else left_out
            blocks.append(Block(wanted[live.line], left_out=why))
            continue
        text, names = _printed(live, figures), []
        require_fitting(f"{script.name}: the block on line {live.line}", text)
        for content in figures:
            names.append(f"{script.stem}.{len(files) + 1}.json")
            files[names[-1]] = content
        blocks.append(Block(wanted[live.line], text, names))
    lesson = f"{script.parent.name}/{script.stem}"
    save_recording(Recording(lesson, machine, today(), blocks), files, folder)


def _printed(live: LiveBlock, figures: list[dict[str, Any]]) -> str:
    """Return what a block printed, but for its tables."""
    text = "\n".join(one.astext() for one in live.texts).strip("\n")
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    for figure in figures:
        if "table" in figure:
            text = without_table(text, figure["table"])
    return text
