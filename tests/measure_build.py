"""How long a build takes, and how much memory: what ``nox -s bench`` runs.

It builds copies in a temporary folder. Each figure is the median of several rounds; in
each round every case runs once, so that a machine that is busy for a while slows down
all of them. Beside the seconds on the clock stand those of the processors, which other
programs disturb less.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "conf"))
from reading import ROOT
from tensor_copies.run.fingerprint import fingerprint, quality

PAGE = ROOT / "docs" / "maintainers" / "speed.md"
MARKS = "<!-- nox -s bench -- --write -->\n", "<!-- end of nox -s bench -->\n"
# What is edited, and what is added to it.
EDITS = {
    "one lesson's prose edited": ("examples/1_basics/detach.py", "\n# %%\n# No {}.\n"),
    "one lesson's code edited": ("examples/1_basics/detach.py", "\nassert {} > 0\n"),
    "one page's prose edited": ("docs/glossary.md", "\nEdited {}.\n"),
    "one style edited": ("conf/static/site.css", "\n.edited-{} {{ top: 0; }}\n"),
}


@dataclass
class Case:
    """A row of the table: what is prepared, and what each build then took.

    That is the seconds on the clock, those of the processors, and the megabytes that a
    single one of the processes held at most.
    """

    name: str
    folder: Path
    prepare: Callable[[], None] = lambda: None
    took: list[tuple[float, float, float]] = field(default_factory=list)

    def run(self) -> None:
        """Measure a build, which must go well."""
        self.prepare()
        with tempfile.TemporaryFile("w+") as said:
            begun = perf_counter()
            process = subprocess.Popen(
                [sys.executable, "conf/build_site.py"],
                cwd=self.folder, stdout=said, stderr=subprocess.STDOUT,
            )  # fmt: skip
            _, status, used = os.wait4(process.pid, 0)
            wall = perf_counter() - begun
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                said.seek(0)
                raise SystemExit(f"measure_build: {self.name}\n{said.read()}")
        unit = 2**20 if sys.platform == "darwin" else 2**10
        self.took.append((wall, used.ru_utime + used.ru_stime, used.ru_maxrss / unit))
        print(self.row(self.took[-1]), flush=True)

    def row(self, took: tuple[float, ...] = ()) -> str:
        """Return a row of the table: of one build, or the median of all."""
        took = took or tuple(map(median, zip(*self.took, strict=True)))
        wall, processors, memory = took
        return f"| {self.name} | {wall:.1f} | {processors:.1f} | {memory:.0f} MB |"


def cases_of(folder: Path) -> list[Case]:
    """Copy the site; return what is measured of it, in this order."""
    ignored = shutil.ignore_patterns("__pycache__", "auto_examples", ".*")
    for name in ("conf", "docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)

    def forget() -> None:
        for left in ("build", "docs/auto_examples"):
            shutil.rmtree(folder / left, ignore_errors=True)

    cases = [Case("clean build", folder, forget), Case("nothing changed", folder)]
    for name, (path, what) in EDITS.items():

        def edit(path: Path = folder / path, what: str = what) -> None:
            text = path.read_text("utf-8")
            path.write_text(text + what.format(len(text)), encoding="utf-8")

        cases.append(Case(name, folder, edit))
    return cases


def main() -> None:
    """Measure, print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(description="Measure the build of the site.")
    parser.add_argument("--rounds", type=int, default=3, help="of all cases, 3")
    parser.add_argument(
        "--write", action="store_true", help="into docs/maintainers/speed.md"
    )
    options = parser.parse_args()
    if options.rounds < 1:
        raise SystemExit("measure_build: --rounds is 1 or more")
    with tempfile.TemporaryDirectory(prefix="measure-build-") as temporary:
        cases = cases_of(Path(temporary))
        for _ in range(options.rounds):
            for case in cases:
                case.run()
    text = (
        f"Measured on {date.today().isoformat()} with {fingerprint()}, "
        f"{os.cpu_count()} processors, {platform.system()}; benchmarks timed "
        f"{quality()}; the median of {options.rounds} interleaved rounds.\n\n"
        "| | seconds | of processors | memory |\n| --- | ---: | ---: | ---: |\n"
    ) + "".join(f"{case.row()}\n" for case in cases)
    print(text)
    if options.write:
        first, last = MARKS
        pattern = re.escape(first) + ".*?" + re.escape(last)
        page, new = PAGE.read_text(encoding="utf-8"), f"{first}\n{text}\n{last}"
        page = re.sub(pattern, lambda _: new, page, flags=re.DOTALL)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
