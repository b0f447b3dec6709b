"""How long a build takes, and how much memory, beside what nobody can do without.

``nox -s bench`` runs this on copies in a temporary folder. Each figure is the median of
several rounds; in each round every case runs once, so that a machine that is busy for a
while slows down all of them. Beside the seconds on the clock stand those of the
processors, which other programs disturb less.

The *floor* is what no build of these pages can be without: all scripts and the code of
all pages, run bare in one process, and Sphinx with Furo over the same pages, of which
it runs none. This site runs more programs than stand on its pages: the wrong answers to
its questions, the probes of the Atlas and the explorer. They are measured alone too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "maintainers" / "speed.md"
MARKS = "<!-- nox -s bench -- --write -->\n", "<!-- end of nox -s bench -->\n"
BUILD = (sys.executable, "conf/build_site.py")
BARE, SPHINX, SPHINX_AGAIN = "scripts and pages, bare", "Sphinx, Furo", "the same again"
ASIDE = "wrong answers and probes"
CLEAN, NOTHING = "clean build", "nothing changed"
PROSE, CODE = "one lesson's prose edited", "one lesson's code edited"
PAGE_PROSE, LOOK = "one page's prose edited", "one style edited"
EDITED = Path("examples", "1_basics", "detach.py")
SCALE = (10, 50, 200)
FLOOR_CONF = """
project = "Floor"
extensions = ["sphinx.ext.intersphinx", "myst_nb"]
exclude_patterns = ["auto_examples/**.ipynb"]
html_theme = "furo"
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "deflist"]
intersphinx_mapping = {{
    name: (f"https://example.org/{{name}}", f"../conf/inventories/{{name}}.inv")
    for name in ("python", "numpy", "torch")
}}
"""
# A lesson as they are: two steps, numbers that are compared, a picture.
LESSON = '''"""
Lesson {number}
===========

It adds {number} to a tensor and looks at the memory.
"""

import torch

x = torch.zeros({number} + 2)
y = x.detach()
print(x.shape)
# sphinx_gallery_tensor_map = "x, y"
# %%
# A write arrives in both
# -----------------------
y += {number}
print(x[0].item())
assert x[0] == {number}
'''


@dataclass
class Cost:
    """What one process with all its children took: seconds and megabytes.

    ``memory`` is the most that a single one of the processes held.
    """

    wall: float
    processor: float
    memory: float


@dataclass
class Case:
    """What is measured: a row of the table, how to prepare it, and what to run."""

    name: str
    command: Iterable[str]
    prepare: Callable[[], None] = lambda: None
    costs: list[Cost] = field(default_factory=list)

    def run(self, folder: Path) -> None:
        """Measure it once more."""
        self.prepare()
        cost = measure(self.command, folder)
        self.costs.append(cost)
        said = f"{cost.wall:6.1f} s, of processors {cost.processor:6.1f} s"
        print(f"{self.name:30}  {said}, {cost.memory:5.0f} MB", flush=True)

    def median(self, what: str) -> float:
        """Return the median of one figure."""
        return median(getattr(cost, what) for cost in self.costs)


def measure(command: Iterable[str], folder: Path) -> Cost:
    """Run a command in a folder, which must go well; return what it took."""
    with tempfile.TemporaryFile("w+") as said:
        begun = perf_counter()
        process = subprocess.Popen(
            list(command), cwd=folder, stdout=said, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            raise SystemExit(f"measure_build: {' '.join(command)}\n{said.read()}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / unit)


def copy_of_the_site(folder: Path) -> None:
    """Copy what a build is made from."""
    ignored = shutil.ignore_patterns("__pycache__", "auto_examples", ".*")
    for name in ("conf", "docs", "examples", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)


def run_bare() -> None:
    """Run all scripts and the cells of all pages of this folder in this process."""
    sys.path.insert(0, str(Path("conf").resolve()))
    os.environ["MPLBACKEND"] = "agg"
    from IPython.core.interactiveshell import InteractiveShell
    from tensor_copies.machine.reading_order import READING_ORDER
    from tensor_copies.recordings.cells import cells

    root, failed = Path.cwd(), []
    scripts = sorted(
        root.glob("examples/*/*.py"), key=lambda path: READING_ORDER.index(path.name)
    )
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        for script in scripts:
            os.chdir(script.parent)
            space = {"__name__": "__main__", "__file__": str(script)}
            try:
                exec(compile(script.read_text("utf-8"), str(script), "exec"), space)
            except Exception as error:
                failed.append(f"{script.name}: {error!r}")
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")
        shell = InteractiveShell.instance()
        for page in sorted(root.glob("docs/*.md")):
            os.chdir(page.parent)
            shell.reset()
            for cell in cells(page):
                # What it raises is not asked: some cells expect a warning that torch
                # gives once in a process, and scripts have had it.
                shell.run_cell(cell.code)
    if failed:
        raise SystemExit("measure_build: bare, these failed: " + "; ".join(failed))


def run_aside() -> None:
    """Run the wrong answers and all probes of this folder, as a build does."""
    sys.path.insert(0, str(Path("conf").resolve()))
    from tensor_copies.atlas import data
    from tensor_copies.explorer import kept
    from tensor_copies.lessons import answers, questions

    scripts = sorted(Path("examples").resolve().glob("*/*.py"))
    asked = [questions.of_lesson(script) for script in scripts]
    pages = [[one for one in page if one.exchanges] for page in asked]
    answers.run([page for page in pages if page])
    kept.live()
    data.live()
    data.on_stand_in()


class Site:
    """A copy of the site, the cases that build it, and the floor."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.floor, self.edits = folder, folder / "floor", 0
        copy_of_the_site(folder)
        bare = (sys.executable, "tests/measure_build.py", "--bare")
        aside = (sys.executable, "tests/measure_build.py", "--aside")
        sphinx = (sys.executable, "-m", "sphinx", "-Q", "floor", "floor-html")
        self.cases = [
            Case(CLEAN, BUILD, self._forget),
            Case(NOTHING, BUILD),
            Case(PROSE, BUILD, lambda: self._edit(EDITED, "\n# %%\n# Edited {}.\n")),
            Case(CODE, BUILD, lambda: self._edit(EDITED, "\nassert {} > 0\n")),
            Case(
                PAGE_PROSE, BUILD,
                lambda: self._edit(Path("docs", "glossary.md"), "\nEdited {}.\n"),
            ),
            Case(
                LOOK, BUILD,
                lambda: self._edit(
                    Path("conf", "static", "site.css"), "\n.edited-{} {{ top: 0; }}\n"
                ),
            ),
            Case(BARE, bare),
            Case(SPHINX, sphinx, self._floor),
            Case(SPHINX_AGAIN, sphinx),
            Case(ASIDE, aside, lambda: shutil.rmtree(self.folder / "build")),
        ]  # fmt: skip

    def _forget(self) -> None:
        for left in ("build", "docs/auto_examples"):
            shutil.rmtree(self.folder / left, ignore_errors=True)
        for path in (EDITED, Path("docs", "glossary.md"), "conf/static/site.css"):
            shutil.copyfile(ROOT / path, self.folder / path)

    def _edit(self, path: Path, what: str) -> None:
        self.edits += 1
        with (self.folder / path).open("a", encoding="utf-8") as file:
            file.write(what.format(self.edits))

    def _floor(self) -> None:
        """Give Sphinx the pages as the gallery made them, and none of our conf."""
        for left in (self.floor, self.folder / "floor-html"):
            shutil.rmtree(left, ignore_errors=True)
        shutil.copytree(
            self.folder / "docs", self.floor,
            ignore=shutil.ignore_patterns("*.json", "recordings"),
        )  # fmt: skip
        (self.floor / "conf.py").write_text(FLOOR_CONF.format(), encoding="utf-8")


def scale(number: int, folder: Path) -> list[Case]:
    """Return the cases of a site of so many generated lessons."""
    sys.path.insert(0, str(ROOT / "conf"))
    from conftest import new_tiny_site

    site = new_tiny_site(folder)
    site.write_lessons(
        {f"lesson_{n:03}.py": LESSON.format(number=n) for n in range(1, number + 1)}
    )

    def forget() -> None:
        for left in ("build", "docs/auto_examples"):
            shutil.rmtree(folder / left, ignore_errors=True)

    return [
        Case(f"{number} lessons, clean", BUILD, forget),
        Case(f"{number} lessons, nothing changed", BUILD),
    ]


def table(site: list[Case], grown: dict[int, list[Case]], rounds: int) -> str:
    """Return what was measured as Markdown, with the machine and the day."""
    sys.path.insert(0, str(ROOT / "conf"))
    from tensor_copies.machine.fingerprint import fingerprint, quality

    by_name = {case.name: case for case in site}
    lines = [
        f"Measured on {date.today().isoformat()} with {fingerprint()}, "
        f"{os.cpu_count()} processors, {platform.system()}; benchmarks timed "
        f"{quality()}; the median of {rounds} interleaved rounds.",
        "",
        "| | seconds | of processors | to the floor | memory |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]

    def add(case: Case, below: list[str], note: str = "") -> None:
        figures = [case.median(what) for what in ("wall", "processor")]
        ratios = ""
        if below:
            floors = [
                sum(by_name[name].median(what) for name in below)
                for what in ("wall", "processor")
            ]
            ratios = " / ".join(
                f"{figure / floor:.2f}"
                for figure, floor in zip(figures, floors, strict=True)
            )
        lines.append(
            f"| {case.name}{note} | {figures[0]:.1f} | {figures[1]:.1f} "
            f"| {ratios} | {case.median('memory'):.0f} MB |"
        )

    floors = {CLEAN: [BARE, SPHINX], NOTHING: [SPHINX_AGAIN]}
    for case in site:
        add(case, floors.get(case.name, []))
    before: tuple[int, float] | None = None
    for number, cases in sorted(grown.items()):
        seconds, note = cases[0].median("processor"), ""
        if before is not None:
            each = 1000 * (seconds - before[1]) / (number - before[0])
            note = f" ({each:.0f} ms of processors for each more than {before[0]})"
        add(cases[0], [], note)
        add(cases[1], [])
        before = number, seconds
    if site:
        below = (BARE, SPHINX, ASIDE)
        ratios = [
            by_name[CLEAN].median(what)
            / sum(by_name[one].median(what) for one in below)
            for what in ("wall", "processor")
        ]
        lines += [
            "",
            f"With the {ASIDE} the clean build is {ratios[0]:.2f} times the floor, of "
            f"processors {ratios[1]:.2f} times.",
        ]
    return "\n".join(lines) + "\n"


def write(text: str) -> None:
    """Put the table in its place."""
    page = PAGE.read_text(encoding="utf-8")
    first, last = MARKS
    pattern = re.escape(first) + ".*?" + re.escape(last)
    changed = re.sub(pattern, lambda _: f"{first}\n{text}\n{last}", page, flags=re.S)
    PAGE.write_text(changed, encoding="utf-8")


def main() -> None:
    """Measure, print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(description="Measure the build of the site.")
    parser.add_argument("--rounds", type=int, default=3, help="of all cases, 3")
    parser.add_argument("--no-site", action="store_true", help="only the scale")
    parser.add_argument(
        "--scale", type=int, nargs="*", default=SCALE, help="numbers of lessons"
    )
    parser.add_argument(
        "--write", action="store_true", help="into docs/maintainers/speed.md"
    )
    parser.add_argument("--json", type=Path, help="keep every figure in this file")
    for one in ("--bare", "--aside"):
        parser.add_argument(one, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        run_bare()
        return
    if options.aside:
        run_aside()
        return
    if options.rounds < 1:
        raise SystemExit("measure_build: --rounds is 1 or more")
    with tempfile.TemporaryDirectory(prefix="measure-build-") as temporary:
        folder = Path(temporary)
        site = Site(folder / "site")
        cases = [] if options.no_site else site.cases
        grown = {
            number: scale(number, folder / str(number)) for number in options.scale
        }
        for _ in range(options.rounds):
            for case in cases:
                case.run(site.folder)
            for number, more in grown.items():
                for case in more:
                    case.run(folder / str(number))
    text = table(cases, grown, options.rounds)
    print(text)
    if options.json:
        kept = {
            case.name: [vars(cost) for cost in case.costs]
            for case in [*cases, *(case for more in grown.values() for case in more)]
        }
        options.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    if options.write:
        write(text)


if __name__ == "__main__":
    main()
