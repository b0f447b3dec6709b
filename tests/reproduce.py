"""Build the whole site twice from nothing, and list what differs: ``nox -s reproduce``.

The second build has another folder, seed of hashes, time zone and language. Both take
the day of the run from ``SOURCE_DATE_EPOCH``. What is timed differs, and which of two
calls is said to be the faster: on pages that time, on their cards, and where a list of
pages speaks of them. Anything else ends the command with status 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "conf"))
from reading import ROOT, TIMED

DAY = "1000000000"  # 9 September 2001
TIMED_THERE, OTHER = "timed", "not explained"
# What calls a timer, in a page of docs/; lessons may also take seconds by hand.
TIMER = r"perfplot\.bench|timeit|Timer\("
# Lists of pages, and where what they say of a page begins: a card of an overview, a
# section of llms-full.txt, a page of the search's index.
LISTS = re.compile(r"(?:.*/)?index\.html|llms-full\.txt|_static/search_index\.js")
PAGES = re.compile(r'(?=<li\b)|(?m:(?=^##))|(?=\["[\w/]+\.html",)')
FIRST = {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
SECOND = {"PYTHONHASHSEED": "2", "TZ": "Pacific/Kiritimati", "LC_ALL": "de_DE.UTF-8"}
SHOWN = 100  # characters of a line


@dataclass(frozen=True)
class Difference:
    """A file that differs between two builds: its path, why, and the first place."""

    file: str
    why: str
    place: str

    def __str__(self) -> str:
        return f"{self.why:13}  {self.file}\n{self.place}".rstrip()


def differences(first: Path, second: Path, timed: Iterable[str]) -> list[Difference]:
    """Return the files that differ between two built sites, the worst first.

    Parameters
    ----------
    first, second
        The folders of the sites.
    timed
        The names of the pages that time something. What they say, and what lists of
        pages say of them, may differ.
    """
    files = [
        {
            path.relative_to(site).as_posix()
            for path in site.rglob("*")
            if path.is_file()
        }
        for site in (first, second)
    ]
    found = [
        Difference(name, OTHER, f"  is in the {place} only")
        for place, name in (
            *(("first", name) for name in files[0] - files[1]),
            *(("second", name) for name in files[1] - files[0]),
        )
    ]
    for name in files[0] & files[1]:
        texts = [(site / name).read_bytes() for site in (first, second)]
        if texts[0] != texts[1]:
            in_list = LISTS.fullmatch(name) and _only_of(timed, *texts)
            is_timed = in_list or _is_of(name, timed)
            why = TIMED_THERE if is_timed else OTHER
            found.append(Difference(name, why, _first_place(*texts)))
    order = (OTHER, TIMED_THERE)
    return sorted(found, key=lambda one: (order.index(one.why), one.file))


def _is_of(name: str, pages: Iterable[str]) -> bool:
    """Whether a file is one of the pages, its card or its samples."""
    stem = Path(name).stem.removeprefix("sphx_glr_")
    return any(re.fullmatch(rf"{page}(_card|_samples|_\d+)?", stem) for page in pages)


def _only_of(pages: Iterable[str], *texts: bytes) -> bool:
    """Whether two states of a list of pages differ only in what they say of these."""
    first, second = (PAGES.split(text.decode(errors="replace")) for text in texts)
    names = {f"{page}.html" for page in pages}
    return len(first) == len(second) and all(
        one == other or any(name in one and name in other for name in names)
        for one, other in zip(first, second, strict=True)
    )


def _first_place(*texts: bytes) -> str:
    """Return the first lines that differ, from a little before they do."""
    try:
        first, second = (text.decode() for text in texts)
    except UnicodeDecodeError:
        return f"  {len(texts[0])} and {len(texts[1])} bytes"
    lines = unified_diff(first.splitlines(), second.splitlines(), n=0, lineterm="")
    changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    signs = {line[0]: line[1:] for line in reversed(changed)}
    pairs = enumerate(zip(*signs.values(), strict=False))
    same = next((place for place, pair in pairs if len({*pair}) == 2), 0)
    begins = max(0, same - SHOWN // 2)
    return "\n".join(
        f"  {sign} {signs[sign][begins : begins + SHOWN]}"
        for sign in "-+"
        if sign in signs
    )


def timed_pages(root: Path) -> set[str]:
    """Return the names of the lessons and other pages that time something."""
    sources = dict.fromkeys((root / "examples").glob("*/*.py"), TIMED)
    sources |= dict.fromkeys((root / "docs").glob("*.md"), TIMER)
    return {
        path.stem
        for path, timer in sources.items()
        if re.search(timer, path.read_text(encoding="utf-8"))
    }


def build(folder: Path, variables: dict[str, str]) -> Path:
    """Build a clean copy of this repository's files; return the site's folder."""
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others"]
    listed = subprocess.run(
        [*git, "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():  # not what was deleted and not committed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": DAY, **variables}
    command = [sys.executable, "conf/build_site.py"]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    return folder / "build" / "html"


def main() -> int:
    """Build twice and print the list; 1 if it has more than what is timed."""
    parser = argparse.ArgumentParser(prog="reproduce", description=__doc__)
    parser.add_argument(
        "sites", nargs="*", type=Path, help="compare these two built sites instead"
    )
    options = parser.parse_args()
    if len(options.sites) not in (0, 2):
        parser.error("name two built sites, or none")
    with tempfile.TemporaryDirectory() as folder:
        sites = options.sites or [
            build(Path(folder, "first"), FIRST),
            build(Path(folder, "the second, where it's another"), SECOND),
        ]
        found = differences(*sites, timed_pages(ROOT))
    print(*found, sep="\n")
    unexplained = sum(one.why == OTHER for one in found)
    print(
        f"{len(found)} files differ, {unexplained} of them in more than what is timed."
    )
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
