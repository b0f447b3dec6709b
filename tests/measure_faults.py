"""Meet every known fault of a build: ``python tests/measure_faults.py``.

Plants the faults of planted_faults.py on small copies of the site, and prints for each
what the user sees, how the build exits, what is left of the last good site, and whether
the next build, with the fault taken back, makes that site again, byte for byte. The
table is written to ``docs/maintainers/faults.md``. ``--only WORD`` meets again those
that have the word in their name or heading; the other rows stay.

What needs rights that the user does not have (a mounted disk, a namespace without a
network) is named as not tried.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, sleep

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "conf"), str(HERE)]

from conftest import GOOD, ROOT, Built, TinySite, computing_page, lesson, plain  # noqa: E402
from planted_faults import (  # noqa: E402
    CHAINS,
    FOLDER,
    Build,
    Chain,
    lessons,
    new_good_site,
)
from tensor_copies.machine.fingerprint import fingerprint  # noqa: E402

TABLE = ROOT / "docs" / "maintainers" / "faults.md"
SEED, KILLS = 7, 10
LONGEST = 150  # characters of what the user sees
# What no user should be sent: how Sphinx talks of what it does not expect.
UNKIND = ("Handler <function", "bug report", "please report")
HEAD = """# Faults of a build

Made by `nox -s faults` with {machine}: do not edit.

Each fault is planted on a small copy of the site, in a folder that is called
`{folder}`. A build that must fail says so in a line and leaves `build/html` as it was,
byte for byte; then the fault is taken back, and the next build must make the good site
again, byte for byte. What does no harm is built.

{counts}.
"""


@dataclass(frozen=True)
class Row:
    """One fault: what was seen of it, and what is wrong with that, if anything is."""

    fault: str
    seen: str
    status: int | str
    site: str
    after: str
    wrong: str

    @property
    def verdict(self) -> str:
        """The last column."""
        return f"FAIL: {self.wrong}" if self.wrong else "pass"


class Workshop:
    """A folder with a good site, which is spoilt and put back."""

    def __init__(self, folder: Path) -> None:
        self.site = new_good_site(folder)
        self.good = TinySite(folder / "good")
        shutil.copytree(self.site.folder, self.good.folder)
        self.published = self.site.published()

    def put_back(self) -> None:
        """Put back all, also what was kept from earlier builds."""
        shutil.rmtree(self.site.folder)
        shutil.copytree(self.good.folder, self.site.folder, symlinks=True)

    def take_back(self) -> None:
        """Take the faults back, as a person would: in the sources."""
        for name in ("examples", "conf", "docs"):
            there, good = self.site.folder / name, self.good.folder / name
            for path in sorted(there.rglob("*"), reverse=True):
                inside = path.relative_to(there)
                if inside.parts[0] == "auto_examples":
                    continue
                if path.is_dir() and not path.is_symlink():
                    if not (good / inside).is_dir():
                        shutil.rmtree(path)
                elif not (good / inside).is_file():
                    path.unlink()
            for path in good.rglob("*"):
                inside = path.relative_to(good)
                if inside.parts[0] == "auto_examples":
                    continue
                if path.is_dir():
                    (there / inside).mkdir(exist_ok=True)
                elif not (there / inside).is_file() or (
                    (there / inside).read_bytes() != path.read_bytes()
                ):
                    shutil.copyfile(path, there / inside)

    def next_build(self) -> str:
        """Build with the faults taken back; say what is wrong, or ``right``."""
        self.take_back()
        built = self.site.build()
        if built.status != 0:
            return f"exit {built.status}: {built.output[-LONGEST:]}"
        files = self.site.published()
        names = sorted({*files, *self.published})
        other = [n for n in names if files.get(n) != self.published.get(n)]
        return f"differs in {', '.join(other[:3])}" if other else "right"


def meet(workshop: Workshop, chain: Chain) -> list[Row]:
    """Make the builds of a chain, then the next one; judge each fault."""
    workshop.put_back()
    made = [row for build in chain.builds for row in attempt(workshop, build)]
    after = workshop.next_build()
    ran = [row for row in made if row.verdict != "not tried"]
    return [
        row
        if row not in ran
        else Row(
            row.fault, row.seen, row.status, row.site, after.partition(":")[0],
            row.wrong or ("" if after == "right" else f"the next build: {after}"),
        )
        for row in made
    ]  # fmt: skip


class NotTried(Row):
    """A fault that cannot be planted here."""

    @property
    def verdict(self) -> str:
        """The last column."""
        return "not tried"


def attempt(workshop: Workshop, build: Build) -> list[Row]:
    """Make one build; judge what is seen of each of its faults."""
    if build.needs_root and not (sys.platform == "linux" and os.geteuid() == 0):
        why = "not tried here: it needs Linux and root"
        return [NotTried(fault, why, "", "", "", "") for fault in build.faults]
    site = workshop.site
    workshop.take_back()
    before = site.published()
    build.plant(site)
    if build.run is None:
        built = site.build(*build.arguments, env={**os.environ, **build.environment})
    else:
        built = build.run(site)
    output = plain(built.output).replace(str(site.folder), "...")
    wrong = ""
    if (built.status == 0) != build.publishes:
        wrong = "the build went well" if built.status == 0 else "the build failed"
        if build.publishes:
            wrong += f": {output[-300:]}"
    same = site.html.exists() and site.published() == before
    if not same and (build.same or not build.publishes):
        wrong = wrong or "the published site is another"
    wrong = wrong or next((f"it says {x!r}" for x in UNKIND if x in output), "")
    wrong = wrong or build.wrong(site, built)
    rows = []
    for fault, words in build.faults.items():
        lines = [line for line in output.splitlines() if re.search(words, line)]
        missing = "" if lines else "it does not say so"
        seen = shortened(lines[0], words) if words and lines else "-"
        left = "same bytes" if same else "built anew"
        rows.append(Row(fault, seen, built.status, left, "", wrong or missing))
    return rows


def shortened(line: str, words: str) -> str:
    """Return a line, without what all such lines begin with, up to what it must say."""
    line = " ".join(re.sub("^(build_site|WARNING): ", "", line).split())
    found = re.search(re.sub("^(build_site|WARNING): ", "", words), line)
    end = max(LONGEST, found.end() if found else 0)
    before, after = "... " * (end > LONGEST), " ..." * (end < len(line))
    return f"{before}{line[end - LONGEST : end]}{after}"


# -- Builds that are stopped from outside ----------------------------------------------


def killed(workshop: Workshop | None) -> Build:
    """Return a build that is killed at ten moments, drawn with a seed."""
    draw = random.Random(SEED)

    def edit(site: TinySite, number: int) -> None:
        site.write_lessons({"good.py": GOOD.replace("'good'", f"'good {number}'")})
        prose = f"# Prose\n\nWords {number}.\n"
        (site.folder / "docs" / "prose.md").write_text(prose)
        cell = computing_page("Computes", f"print({number})")
        (site.folder / "docs" / "computes.md").write_text(cell)

    def run(site: TinySite) -> Built:
        edit(site, 0)
        before = monotonic()
        last = site.build_alone()
        seconds = monotonic() - before
        whole, early, stands = last.status == 0, 0, site.published()
        for number in range(1, KILLS + 1):
            edit(site, number)
            build = site.start(start_new_session=True)
            sleep(draw.uniform(0.2, seconds))
            os.kill(build.pid, signal.SIGKILL)
            build.communicate()  # until all that it has started is gone too
            early += site.published() == stands
            if site.published() != stands:  # it was published, and is it whole?
                stands = site.published()
                whole &= site.build().status == 0 and site.published() == stands
        last = site.build()
        whole &= last.status == 0 and "Words 10" in (
            site.html / "prose.html"
        ).read_text(encoding="utf-8")
        workshop.take_back()
        site.build()
        said = f"{KILLS} killed, {early} of them before they published"
        return Built(0 if whole else 1, said)

    fault = f"a build is killed (kill -9) at {KILLS} random moments"
    return Build({fault: "killed, "}, publishes=True, same=True, run=run)


def stopped(number: signal.Signals) -> Build:
    """Return a build that a person or the system stops."""

    def run(site: TinySite) -> Built:
        lessons(planted="import time\ntime.sleep(600)")(site)
        build = site.start(start_new_session=True)
        while "planted.py" not in (line := build.stdout.readline()) and line:
            pass
        os.kill(build.pid, number)
        output = build.communicate()[0]
        return Built(build.returncode, output)

    said = r"build_site: interrupted \(while running planted.py\)"
    return Build({f"a build is stopped ({number.name})": said}, run=run)


def two_at_once(site: TinySite) -> Built:
    """Start a build while another one runs."""
    code = "import time\ntime.sleep(600)"
    site.write_lessons({"good.py": GOOD, "planted.py": lesson("Planted", code)})
    first = site.start(start_new_session=True)
    while "planted.py" not in (line := first.stdout.readline()) and line:
        pass
    second = site.build_alone()
    first.terminate()
    first.communicate()
    return second


def stops(workshop: Workshop | None) -> list[Chain]:
    """Return the builds that are stopped from outside."""
    said = "build_site: Another build runs in this folder"
    return [
        Chain("Builds that are stopped", [killed(workshop)]),
        Chain("Builds that are stopped", [
            stopped(signal.SIGINT), stopped(signal.SIGTERM),
            Build({"two builds at once": said}, run=two_at_once),
        ]),
    ]  # fmt: skip


# -- The table -------------------------------------------------------------------------


COLUMNS = (
    *("fault", "what the user sees", "exit", "last good site", "next build"),
    "verdict",
)


def table(rows: dict[str, list[str]]) -> str:
    """Return the table as Markdown, under its headings."""
    lines, heading = [], ""
    for chain in chains():
        if chain.about != heading:
            heading = chain.about
            rule = "| --- " * len(COLUMNS) + "|"
            lines += ["", f"## {heading}", "", f"| {' | '.join(COLUMNS)} |", rule]
        for fault in faults_of(chain):
            lines.append(f"| {' | '.join(rows[fault])} |")
    return "\n".join(lines) + "\n"


def cells_of(row: Row) -> list[str]:
    """Return a row as it is written."""
    cells = (row.fault, row.seen, row.status, row.site, row.after, row.verdict)
    texts = (str(cell).replace("|", "\\|").replace("<", "&lt;") for cell in cells)
    return [" ".join(text.split()) for text in texts]


def written() -> dict[str, list[str]]:
    """Return the rows of the table that there is, by the fault."""
    if not TABLE.exists():
        return {}
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    rows = [re.split(r" (?<!\\)\| ", line[2:-2]) for line in lines if line[:2] == "| "]
    return {row[0]: row for row in rows if len(row) == len(COLUMNS)}


def named(chain: Chain) -> list[str]:
    """Return the heading of a chain, and the names of its faults."""
    return [chain.about, *faults_of(chain)]


def faults_of(chain: Chain) -> list[str]:
    """Return the names of the faults of a chain."""
    return [fault for build in chain.builds for fault in build.faults]


def chains(workshop: Workshop | None = None) -> list[Chain]:
    """Return all builds; the longest first."""
    return [*stops(workshop), *CHAINS]


def work(place: int, folder: Path) -> list[Row]:
    """Meet the faults of one chain, in this process's own workshop."""
    if not _workshops:
        own = folder / str(os.getpid())
        own.mkdir()
        _workshops.append(Workshop(own))
    rows = meet(_workshops[0], chains(_workshops[0])[place])
    for row in rows:
        print(f"{row.verdict:9}  {row.fault}: {row.seen}", flush=True)
    return rows


_workshops: list[Workshop] = []


def main() -> int:
    """Meet the faults; return 1 if one is not met as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only", metavar="WORD", action="append", default=[], help="meet those alone"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="how many builds at a time"
    )
    options = parser.parse_args()
    places = [
        place
        for place, chain in enumerate(chains())
        if not options.only
        or any(word in text for text in named(chain) for word in options.only)
    ]
    # Lessons are timed in no table here; and nothing is coloured.
    os.environ.setdefault("BENCHMARK_QUALITY", "quick")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        ProcessPoolExecutor(options.jobs) as pool,
    ):
        made = list(pool.map(partial(work, folder=Path(folder)), places))
    met = [row for rows in made for row in rows]
    rows = written() | {row.fault: cells_of(row) for row in met}
    wanted = [fault for chain in chains() for fault in faults_of(chain)]
    if missing := [fault for fault in wanted if fault not in rows]:
        print(f"No table yet: {len(missing)} faults were never met, {missing[0]}")
    else:
        verdicts = [rows[fault][-1].partition(":")[0] for fault in wanted]
        counts = f"{len(wanted)} faults: " + ", ".join(
            f"{verdicts.count(verdict)} {verdict}"
            for verdict in ("pass", "FAIL", "not tried")
        )
        TABLE.parent.mkdir(exist_ok=True)
        head = HEAD.format(machine=fingerprint(), folder=FOLDER, counts=counts)
        TABLE.write_text(head + table(rows), encoding="utf-8")
        print(f"{counts}. Written to {TABLE.relative_to(ROOT)}")
    return 1 if any(row.wrong for row in met) else 0


if __name__ == "__main__":
    sys.exit(main())
