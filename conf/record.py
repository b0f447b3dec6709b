"""Record what this machine sees when it runs the lessons.

``python conf/record.py [--only LESSON]`` lets the gallery run every lesson as a build
does and writes ``docs/recordings/<machine>/<lesson>.json`` for each one that passes,
``<page>.page.json`` for each page with recorded cells, and ``atlas.json``, the Atlas as
probed here. ``--stand-in`` does so on the stand-in device, a second device in host
memory, for all but the Atlas and lessons that ask for no device. It needs torch, numpy,
matplotlib, perfplot, sphinx, sphinx-gallery and joblib, no network and neither nox nor
the site's theme.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tensor_copies.run.fingerprint import (
    QUALITY,
    TO_RECORD,
    Fingerprint,
    UnfitMachine,
    check,
    fingerprint,
    lesson_seconds,
    today,
)

CONF = Path(__file__).resolve().parent
ROOT = CONF.parent
RECORDINGS = ROOT / "docs" / "recordings"
ATLAS = ROOT / "docs" / "atlas.md"


class CannotStart(UnfitMachine):
    """Nothing can be recorded; the message says why: no such lesson, no device."""


def second_device() -> Fingerprint:
    """Give the processes that this one starts the stand-in device; name the machine."""
    from tensor_copies import stand_in

    try:
        os.environ.update(stand_in.environment())
    except stand_in.NoStandIn as missing:
        raise CannotStart(str(missing)) from None
    os.environ.setdefault(QUALITY, "quick")  # what it times is not shown
    # A process for a page takes its search path from this one, not from PYTHONPATH.
    sys.path += os.environ["PYTHONPATH"].split(os.pathsep)
    return replace(fingerprint(), device_kind="stand-in", device_name="host memory")


def on(machine: Fingerprint, code: str) -> str:
    """Return code that asks the machine for the device that it has."""
    if machine.device_kind != "stand-in":
        return code
    from tensor_copies.stand_in import for_stand_in

    return for_stand_in(code)


def record_lessons(
    scripts: list[Path], recordings: Path, machine: Fingerprint
) -> dict[str, str]:
    """Let the gallery run lessons, write what was seen; return why some failed."""
    from tensor_copies.recordings.recorder import record

    if not scripts:
        return {}
    options = runpy.run_path(str(CONF / "conf.py"))["sphinx_gallery_conf"]
    return record(
        scripts, recordings / machine.name, machine, options, partial(on, machine)
    )


def record_page(page: Path, recordings: Path, machine: Fingerprint) -> None:
    """Run the recorded cells of a page in a process of their own, write what they saw.

    Of the Atlas, all operations are probed.
    """
    from tensor_copies.recordings import format as form

    about, folder = (machine, today()), recordings / machine.name
    if page == ATLAS:
        from tensor_copies.atlas.data import probe

        records = probe()["records"]
        columns, rows = list(records[0]), [list(one.values()) for one in records]
        atlas = form.AtlasRecording(*about, form.atlas_key(), columns, rows)
        form.save_atlas(atlas, folder)
        return
    from tensor_copies.recordings.recorder import MEGABYTES
    from tensor_copies.run.apart import run_apart

    limits: dict[str, Any] = {"seconds": lesson_seconds(), "megabytes": MEGABYTES}
    limits |= {"folder": ROOT / "examples"}
    observed = run_apart(page.name, _observed, page, machine, **limits)
    seen = form.PageRecording(
        form.page_name(page)[1], *about, form.page_key(page), observed
    )
    form.save_page(seen, folder)


def _observed(page: Path, machine: Fingerprint) -> Any:
    """Run the recorded cells of a page; return what they observed."""
    from tensor_copies.errors.messages import entries, observe_messages
    from tensor_copies.recordings.format import recorded_cells
    from tensor_copies.run import isolation

    isolation.prepare({}, page.name, "before")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        named = Path(folder, page.name)
        named.write_text(on(machine, page.read_text("utf-8")), "utf-8")
        if entries(named):
            return observe_messages(named)
        exec(compile(recorded_cells(named), page.name, "exec"), namespace)
    return namespace["observed"]


def chosen(names: list[str], machine: Fingerprint) -> tuple[list[Path], list[Path]]:
    """Return the scripts and the pages to record: those named, or else all."""
    from tensor_copies.errors.messages import families
    from tensor_copies.recordings.format import recorded_cells
    from tensor_copies.run.lesson_list import READING_ORDER

    scripts = {path.name: path for path in (ROOT / "examples").glob("*/*.py")}
    pages = [*(ROOT / "docs").glob("*.md"), *families(ROOT / "docs")]
    paths = [
        *(scripts[name] for name in READING_ORDER if name in scripts),
        *(page for page in sorted(pages) if page == ATLAS or recorded_cells(page)),
    ]
    if machine.device_kind == "stand-in":  # it says nothing of what asks for no device
        texts = [(path, path.read_text("utf-8", "replace")) for path in paths]
        paths = [path for path, text in texts if on(machine, text) != text]
        paths = [path for path in paths if path != ATLAS]
    known = {_name(path): path for path in paths}
    for name in names:
        if name not in known:
            raise CannotStart(f"no lesson {name!r}. There are: {', '.join(known)}")
    wanted = [path for name, path in known.items() if not names or name in names]
    lessons = [path for path in wanted if path.suffix == ".py"]
    return lessons, [path for path in wanted if path.suffix == ".md"]


def _name(path: Path) -> str:
    """Return how a lesson or a page is named on the command line."""
    from tensor_copies.recordings.format import page_name

    return path.stem if path.suffix == ".py" else page_name(path)[1]


def refuse(problem: Exception) -> int:
    """Say why nothing can be recorded; return the status of that."""
    print(f"record: {problem}", file=sys.stderr)
    return 2


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
        machine = second_device() if options.stand_in else fingerprint()
    except UnfitMachine as unfit:
        return refuse(unfit)
    from sphinx.errors import SphinxError

    try:
        lessons, pages = chosen(options.only, machine)
        print(f"Machine: {machine}\nWriting to docs/recordings/{machine.name}")
        failed = record_lessons(lessons, RECORDINGS, machine)
    except (UnfitMachine, SphinxError) as problem:
        return refuse(problem)
    for page in pages:
        try:
            record_page(page, RECORDINGS, machine)
        except SphinxError as error:
            failed[_name(page)] = str(error)
    for name, why in failed.items():
        print(f"{name}  FAILED, not recorded\n{why}", file=sys.stderr)
    if failed:
        print(f"record: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path[:0] = [str(CONF), str(CONF / "tensor_maps" / "src")]
    sys.exit(main())
