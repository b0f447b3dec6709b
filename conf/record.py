"""Record what this machine sees when it runs the lessons.

``python conf/record.py [--only LESSON]`` runs every lesson exactly as the gallery
runs it and writes ``docs/recordings/<machine>/<lesson>.json`` for each one that
passes, ``<page>.page.json`` for each page with recorded cells, and ``atlas.json``,
the Atlas as probed here. ``--stand-in`` does so on the stand-in device, a second
device in host memory, for all but the Atlas. It needs torch, numpy, matplotlib,
perfplot, sphinx and sphinx-gallery, no network and neither nox nor the site's theme.
"""

from __future__ import annotations

import argparse
import os
import runpy
import shutil
import sys
import tempfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import Any

from tensor_copies.machine.days import today
from tensor_copies.machine.fingerprint import (
    QUALITY,
    TO_RECORD,
    Fingerprint,
    UnfitMachine,
    check,
    fingerprint,
)

CONF = Path(__file__).resolve().parent
ROOT = CONF.parent
RECORDINGS = ROOT / "docs" / "recordings"
ATLAS = ROOT / "docs" / "atlas.md"
MEGABYTES = 8000  # of a lesson
OUTPUT = ".. code-block:: none\n\n"  # what the gallery puts before a block's text


class LessonFailed(Exception):
    """A lesson or page is not recorded; the message is its traceback."""


class CannotStart(Exception):
    """Nothing can be recorded; the message says why: no such lesson, no device."""


def give_stand_in() -> Fingerprint:
    """Give this process, and those it starts, the stand-in device; name the machine.

    It is called before anything is recorded.

    Raises
    ------
    CannotStart
        If there is none, with what to install.
    """
    from tensor_copies import stand_in

    try:
        stand_in.load()
    except stand_in.NoStandIn as missing:
        raise CannotStart(str(missing)) from None
    os.environ.update(stand_in.environment(stand_in.CACHE))
    os.environ.setdefault(QUALITY, "quick")  # what it times is not shown
    return replace(fingerprint(), device_kind="stand-in", device_name="host memory")


def record(script: Path, recordings: Path, machine: Fingerprint) -> float:
    """Run a lesson as the gallery does, write its recording, return its seconds.

    ``recordings`` is the folder that has one folder for each machine; ``machine`` is
    what runs it: this machine, or what :func:`give_stand_in` returned.

    Raises
    ------
    LessonFailed, sphinx.errors.SphinxError
        If the lesson cannot be read, raises, warns or hangs, leaves something running,
        or prints or draws more than a build takes; nothing is written.
    """
    from tensor_copies.machine.lesson_list import require_utf8
    from tensor_copies.recordings import format as form

    require_utf8(script)
    reasons = _left_out(script, machine)
    outputs, drawn, seconds = [""] * len(reasons), [[]] * len(reasons), 0.0
    if not all(reasons):
        seen = _apart(script, _run, script, machine)
        if isinstance(seen, str):
            raise LessonFailed(seen)
        outputs, drawn, seconds = seen
    blocks, files = [], {}
    for (line, key), output, figures, reason in zip(
        form.keys(script).items(), outputs, drawn, reasons, strict=True
    ):
        if reason:
            blocks.append(form.Block(key, left_out=reason))
            continue
        form.require_fitting(f"{script.name}: the block on line {line}", output)
        names = []
        for content in figures:
            ending = "png" if isinstance(content, bytes) else "json"
            names.append(f"{script.stem}.{len(files) + 1}.{ending}")
            files[names[-1]] = content
        blocks.append(form.Block(key, output, names))
    lesson = f"{script.parent.name}/{script.stem}"
    whole = form.Recording(lesson, machine, today(), round(seconds, 2), blocks)
    form.save(whole, files, recordings / machine.name)
    return seconds


def record_page(page: Path, recordings: Path, machine: Fingerprint) -> float:
    """Run the recorded cells of a page and write what they observed.

    It is called as :func:`record`, and returns and raises the same.
    """
    from tensor_copies.recordings import format as form

    start = perf_counter()
    observed = _apart(page, _observed, page, machine)
    seconds = perf_counter() - start
    whole = form.PageRecording(
        page.stem, machine, today(), form.page_key(page), observed
    )
    form.save_page(whole, recordings / machine.name)
    return seconds


def _observed(page: Path, machine: Fingerprint) -> Any:
    """Run the recorded cells of a page; return what they observed."""
    from tensor_copies.errors.messages import entries, observe_messages
    from tensor_copies.machine import isolation
    from tensor_copies.recordings import format as form

    isolation.prepare({}, page.name, "before")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        named = Path(folder, page.name)
        named.write_text(_renamed(page.read_text("utf-8"), machine), "utf-8")
        if entries(named):
            return observe_messages(named)
        exec(compile(form.recorded_cells(named), page.name, "exec"), namespace)
    return namespace["observed"]


def _apart(script: Path, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns in a process of its own."""
    from tensor_copies.machine.apart import run_apart

    limits = {
        "seconds": _options()["lesson_time_limit"],
        "megabytes": MEGABYTES,
        "folder": ROOT / "examples",
    }
    return run_apart(script.name, function, *arguments, **limits)


def record_atlas(page: Path, recordings: Path, machine: Fingerprint) -> float:
    """Probe every operation of the Atlas and write what was observed.

    It is called as :func:`record`, and returns and raises the same.
    """
    from tensor_copies.atlas.data import probe
    from tensor_copies.recordings import format as form

    start = perf_counter()
    seen = probe()["records"]
    seconds = perf_counter() - start
    rows = [[record[name] for name in form.ATLAS_COLUMNS] for record in seen]
    whole = form.AtlasRecording(
        machine, today(), form.atlas_key(), list(form.ATLAS_COLUMNS), rows
    )
    form.save_atlas(whole, recordings / machine.name)
    return seconds


def _options() -> dict[str, Any]:
    return runpy.run_path(str(CONF / "conf.py"))


def _is_stand_in(machine: Fingerprint) -> bool:
    return machine.device_kind == "stand-in"


def _renamed(code: str, machine: Fingerprint) -> str:
    """Return code that asks the machine for the device that it has."""
    if not _is_stand_in(machine):
        return code
    from tensor_copies.stand_in import for_stand_in

    return for_stand_in(code)


def _left_out(script: Path, machine: Fingerprint) -> list[str]:
    """Return for each code block why it is not recorded, or nothing."""
    from tensor_copies.machine.blocks import blocks_of

    code = [block.content for block in blocks_of(script) if block.type == "code"]
    if not _is_stand_in(machine):
        return [""] * len(code)
    from tensor_copies.stand_in import left_out

    return [left_out(script.stem, block) for block in code]


def _run(
    script: Path, machine: Fingerprint
) -> str | tuple[list[str], list[list[Any]], float]:
    """Run a script block by block; return texts, figures and the time it took.

    Of a lesson that fails return the traceback.
    """
    from sphinx_gallery import gen_rst
    from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
    from sphinx_gallery.py_source_parser import split_code_and_text_blocks
    from tensor_copies.figures.maps import requested_maps
    from tensor_copies.figures.samples import requested_samples
    from tensor_copies.figures.tables import requested_table, without_table
    from tensor_copies.machine import isolation

    options = _options()
    figures: list[list[Any]] = []

    def scrape(block: Any, block_vars: Any, gallery_conf: Any) -> str:
        seen = [{"map": one} for one in requested_maps(block, block_vars)] + _figures()
        if (table := requested_table(block, block_vars)) is not None:
            seen.append({"table": table})
        if (samples := requested_samples(block, block_vars)) is not None:
            seen.append({"samples": samples})
        figures.append(seen)
        return ""

    gallery = {
        **deepcopy(DEFAULT_GALLERY_CONF),
        **options["sphinx_gallery_conf"],
        "plot_gallery": True,
        "src_dir": str(ROOT / "docs"),
        "gallery_dirs": [],  # nothing is noted there
        "image_scrapers": (scrape,),
    }
    settings, blocks = split_code_and_text_blocks(str(script))
    blocks = [
        type(block)(block.type, _renamed(block.content, machine), block.lineno)
        for block in blocks
    ]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, script.name)
        shutil.copyfile(script, copy)
        run = {
            "execute_script": True,
            "src_file": str(script),
            "target_file": str(copy),
            "image_path_iterator": gen_rst.ImagePathIterator(f"{folder}/{{0}}.png"),
        }
        isolation.prepare(gallery, script.name, "before")
        shown, seconds = gen_rst.execute_script(blocks, run, gallery, settings)
    if "formatted_exception" in run:
        return run["formatted_exception"]
    outputs = [
        _printed(rst)
        for block, rst in zip(blocks, shown, strict=True)
        if block.type == "code"
    ]
    for place, data in enumerate(figures):
        for figure in data:
            if isinstance(figure, dict) and "table" in figure:
                outputs[place] = without_table(outputs[place], figure["table"])
    return outputs, figures, seconds


def _printed(rst: str) -> str:
    """Take the text out of what the gallery makes of a block's output."""
    lines = rst.partition(OUTPUT)[2].strip("\n").split("\n")
    return "\n".join(line.removeprefix(" " * 4).rstrip() for line in lines)


def _figures() -> list[Any]:
    """Return the data, or else the picture, of each open figure; close them."""
    import matplotlib.pyplot as plt
    from tensor_copies.figures.plots import data_of

    contents = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        content: Any = data_of(figure)
        if content is None:
            buffer = BytesIO()
            figure.savefig(buffer, format="png", metadata={"Software": None})
            content = buffer.getvalue()
        contents.append(content)
    plt.close("all")
    return contents


def _chosen(names: list[str], machine: Fingerprint) -> list[Path]:
    """Return the scripts and pages to record: those named, or else all."""
    from tensor_copies.machine.reading_order import READING_ORDER
    from tensor_copies.recordings.format import recorded_cells

    found = {path.name: path for path in (ROOT / "examples").glob("*/*.py")}
    scripts = [found[name] for name in READING_ORDER if name in found]
    pages = sorted((ROOT / "docs").glob("*.md"))
    computing = [page for page in pages if page == ATLAS or recorded_cells(page)]
    known = {path.stem: path for path in [*scripts, *computing]}
    if _is_stand_in(machine):
        known.pop(ATLAS.stem, None)
    for name in names:
        if name not in known:
            raise CannotStart(f"no lesson {name!r}. There are: {', '.join(known)}")
    return [path for name, path in known.items() if not names or name in names]


def main(arguments: list[str] | None = None) -> int:
    """Record the lessons asked for; return 1 if one failed, 2 if none could start."""
    parser = argparse.ArgumentParser(prog="record", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--only", metavar="LESSON", action="append", default=[],
        help="the name of a lesson, such as detach; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--stand-in", action="store_true",
        help="record on the stand-in device, which needs g++ and no GPU",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    try:
        check(TO_RECORD)
    except UnfitMachine as problem:
        print(f"record: {problem}", file=sys.stderr)
        return 2
    from sphinx.errors import SphinxError

    try:
        machine = give_stand_in() if options.stand_in else fingerprint()
        scripts = _chosen(options.only, machine)
        print(f"Machine: {machine}")
    except (UnfitMachine, CannotStart, SphinxError) as problem:
        print(f"record: {problem}", file=sys.stderr)
        return 2
    print(f"Writing to docs/recordings/{machine.name}")
    failed = []
    for number, script in enumerate(scripts, 1):
        place = f"[{number}/{len(scripts)}] {script.parent.name}/{script.stem}"
        run = record_page if script.suffix == ".md" else record
        run = record_atlas if script == ATLAS else run
        try:
            seconds = run(script, RECORDINGS, machine)
            print(f"{place}  {seconds:.2f} s", flush=True)
        except (LessonFailed, SphinxError, OSError, SystemExit) as error:
            failed.append(script.stem)
            why = f"it ended Python: {error!r}" if type(error) is SystemExit else error
            print(f"{place}  FAILED, not recorded\n{why}", file=sys.stderr)
    if failed:
        print(f"record: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path[:0] = [str(CONF), str(CONF / "tensor_maps" / "src")]
    sys.exit(main())
