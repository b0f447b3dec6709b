"""Record lessons: the gallery runs them as in a build, with one scraper in its options.

The gallery's own run (a process for each lesson, see machine/apart.py) is made of
copies of the scripts in a temporary folder, so that it keeps and changes nothing of the
site's. The scraper keeps what a block shows beside its text; the text is read where a
build reads it, on the page that the gallery wrote.
"""

from __future__ import annotations

import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from multiprocessing import set_forkserver_preload
from pathlib import Path
from typing import Any

from docutils import nodes
from joblib import register_parallel_backend
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

from tensor_copies.figures.handed_out import path_of
from tensor_copies.figures.maps import requested_maps
from tensor_copies.figures.plots import data_of
from tensor_copies.figures.samples import requested_samples
from tensor_copies.figures.tables import requested_table, without_table
from tensor_copies.machine.apart import COMPILER, PRELOADED, LessonLost, OneProcessEach
from tensor_copies.machine.clocks import takes_times
from tensor_copies.machine.days import today
from tensor_copies.machine.fingerprint import Fingerprint, lesson_seconds
from tensor_copies.machine.lesson_list import lesson_scripts, require_utf8
from tensor_copies.machine.markers import setup_line
from tensor_copies.recordings.format import Block, Recording, keys, require_fitting, save
from tensor_copies.recordings.live import LiveBlock, live_blocks
from tensor_copies.stand_in import NAME, untrue

MEGABYTES = 8000  # of a lesson
MEASURED = {"panels", "samples"}  # what a chart of times has, and its samples
TIMES = "It shows times. Those of the stand-in device are times of this host."


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Keep what a block shows, but for its text (an image scraper)."""
    figures: list[Any] = [{"map": one} for one in requested_maps(block, block_vars)]
    figures += _drawn()
    if (table := requested_table(block, block_vars)) is not None:
        figures.append({"table": table})
    if (samples := requested_samples(block, block_vars)) is not None:
        figures.append({"samples": samples})
    seen = pickle.dumps((figures, _left_out(block.content, figures)))
    path_of(block_vars, f"{block.lineno}.seen").write_bytes(seen)
    return ""


def _drawn() -> Iterator[Any]:
    """Yield the data, or else the picture, of each open figure; close them."""
    import matplotlib.pyplot as plt

    for figure in map(plt.figure, plt.get_fignums()):
        if (content := data_of(figure)) is None:
            buffer = BytesIO()
            figure.savefig(buffer, format="png", metadata={"Software": None})
            content = buffer.getvalue()
        yield content
    plt.close("all")


def _left_out(code: str, figures: list[Any]) -> str:
    """Return why what a block shows is not true of the stand-in, if this is one."""
    import torch

    if not hasattr(torch, NAME):
        return ""
    shown = set().union(*(figure for figure in figures if isinstance(figure, dict)))
    return untrue() or (TIMES if takes_times(code) or MEASURED & shown else "")


@dataclass
class Lessons:
    """Lessons to be recorded, each in the folder of the machine in ``recordings``.

    ``options`` are those of the site's gallery; ``rename`` returns code that asks the
    machine for the device that it has.
    """

    scripts: list[Path]
    machine: Fingerprint
    recordings: Path
    options: dict[str, Any]
    rename: Callable[[str], str]
    failed: dict[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, str]:
        """Run the lessons and write what was seen; return why some are not recorded."""
        with tempfile.TemporaryDirectory() as folder:
            self._copy(Path(folder))
            app = self._run(Path(folder))
            pages = {script.name: page for page, script in lesson_scripts(app).items()}
            for script in self.scripts:
                if script.stem not in self.failed:
                    try:
                        self._save(app, pages[script.name], script)
                    except SphinxError as error:
                        self.failed[script.stem] = str(error)
        return self.failed

    def _copy(self, folder: Path) -> None:
        docs = folder / "docs"
        docs.mkdir()
        (docs / "index.rst").write_text("Lessons\n=======\n", encoding="utf-8")
        for script in self.scripts:
            require_utf8(script)
            section = folder / "examples" / script.parent.name
            section.mkdir(parents=True, exist_ok=True)
            for place, copy in (
                (script.parent, section),
                (script.parents[1], section.parent),
            ):
                shutil.copy(place / "GALLERY_HEADER.rst", copy)
            text = self.rename(script.read_text(encoding="utf-8"))
            (section / script.name).write_text(text, encoding="utf-8")

    def _run(self, folder: Path) -> Sphinx:
        """Let the gallery run the copies, and Sphinx read the pages."""
        failed = self.failed

        class Recorder(OneProcessEach):
            seconds, megabytes = lesson_seconds(), MEGABYTES

            def _run(self, generate: Callable[..., Any], asked: Any) -> list[Any]:
                try:
                    return super()._run(generate, asked)
                except LessonLost as lost:
                    failed[Path(asked[0]).stem] = str(lost)
                    not_run = asked[3] | {"plot_gallery": False, "reset_modules": ()}
                    return [generate(*asked[:3], not_run)]

        register_parallel_backend("loky", Recorder)
        set_forkserver_preload([*PRELOADED, COMPILER, __name__])
        gallery = self.options | {
            "image_scrapers": (f"{__name__}.scrape",),
            "reset_modules": ("tensor_copies.machine.isolation.prepare",),
        }
        app = Sphinx(
            folder / "docs", None, folder / "out", folder / "doctrees", "dummy",
            {"extensions": ["sphinx_gallery.gen_gallery"],
             "sphinx_gallery_conf": gallery,
             "suppress_warnings": ["download"]},
            status=None, warning=sys.stderr,
        )  # fmt: skip
        for script, why in app.config.sphinx_gallery_conf["failing_examples"].items():
            failed.setdefault(Path(script).stem, why)
        app.builder.read()
        return app

    def _save(self, app: Sphinx, page: str, script: Path) -> None:
        wanted, blocks, files = keys(script), [], {}
        images = Path(app.srcdir, page).parent / "images"
        setup = setup_line(script)
        for live in live_blocks(app.env.get_doctree(page), set(wanted)):
            seen = images / f"sphx_glr_{script.stem}_{live.line}.seen"
            figures, left_out = pickle.loads(seen.read_bytes())
            if live.line == setup:  # no page shows what it says
                figures, left_out, live.outputs[:] = [], "", []
            if left_out:
                blocks.append(Block(wanted[live.line], left_out=left_out))
                continue
            text, names = _printed(live, figures), []
            require_fitting(f"{script.name}: the block on line {live.line}", text)
            for content in figures:
                ending = "png" if isinstance(content, bytes) else "json"
                names.append(f"{script.stem}.{len(files) + 1}.{ending}")
                files[names[-1]] = content
            blocks.append(Block(wanted[live.line], text, names))
        lesson = f"{script.parent.name}/{script.stem}"
        save(
            Recording(lesson, self.machine, today(), blocks),
            files,
            self.recordings / self.machine.name,
        )


def _printed(live: LiveBlock, figures: list[Any]) -> str:
    """Return what a block printed, but for its table."""
    texts = [one for one in live.outputs if isinstance(one, nodes.literal_block)]
    text = "\n".join(one.astext() for one in texts).strip("\n")
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    for figure in figures:
        if isinstance(figure, dict) and "table" in figure:
            text = without_table(text, figure["table"])
    return text
