"""The faults that a build is known to meet, each planted on a small copy of the site.

A :class:`Build` meets one fault or many, and says of each which line the user must
see. The builds of a :class:`Chain` follow each other in one folder; at its end all is
taken back, and one more build must make the good site again, byte for byte.
``measure_faults.py`` runs them all and prints a table.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conftest import GOOD, Built, TinySite, computing_page, lesson, new_tiny_site
from reading import parts_of
from test_freshness import DAMAGED, garble, halve, pages, recording_of
from test_freshness import A as DRAWN
from test_isolation import CHANGE_EVERYTHING, SHOW_EVERYTHING

EXAMPLES = Path("examples", "1_first")
FOLDER = "with a space, it's ü 日本 50%20#"  # where all that follows is built
Plant = Callable[[TinySite], None]


@dataclass(frozen=True)
class Build:
    """A build with faults: what is planted, how it is started, what must be seen.

    ``faults`` has, for each fault, the words (a regular expression) of the line that
    the user sees; nothing, if there is nothing to say. A build that ``publishes`` meets
    what does no harm: it ends well, and ``wrong`` returns what is wrong with the site.
    """

    faults: dict[str, str]
    plant: Plant = lambda site: None
    arguments: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)
    publishes: bool = False
    same: bool = False  # what is published is the good site, byte for byte
    wrong: Callable[[TinySite, Built], str] = lambda site, built: ""
    run: Callable[[TinySite], Built] | None = None
    needs_root: bool = False
    after: Plant = lambda site: None


@dataclass(frozen=True)
class Chain:
    """Builds in one folder, one after the other."""

    about: str
    builds: Sequence[Build]


def new_good_site(folder: Path) -> TinySite:
    """Build a site of two lessons, two pages and a recording."""
    site = new_tiny_site(folder / FOLDER)
    site.write_lessons({"good.py": GOOD, "drawn.py": DRAWN})
    docs = site.folder / "docs"
    pages(site, "computes", "prose")
    (docs / "computes.md").write_text(
        computing_page("Computes", "print('the page ran')")
    )
    (docs / "prose.md").write_text("# Prose\n\nSome words.\n")
    recording_of(site, "good")
    built = site.build()
    if built.status != 0:
        raise SystemExit(f"The site without a fault cannot be built:\n{built.output}")
    return site


def lessons(**codes: str) -> Plant:
    """Plant lessons beside the good ones, by name."""

    def plant(site: TinySite) -> None:
        added = {f"{name}.py": lesson(name, code) for name, code in codes.items()}
        site.write_lessons({"good.py": GOOD, "drawn.py": DRAWN, **added})

    return plant


def ending(fault: str, code: str, words: str, *arguments: str) -> Build:
    """Return a build with a lesson that ends the process."""
    seen = f"build_site: (?=.*planted.py).*{words}"
    return Build({fault: seen}, lessons(planted=code), arguments)


def cell(fault: str, code: str, words: str, *arguments: str) -> Build:
    """Return a build with a page whose cell goes wrong."""

    def plant(site: TinySite) -> None:
        (site.folder / "docs" / "computes.md").write_text(
            computing_page("Computes", code)
        )

    return Build({fault: words}, plant, arguments)


def process(
    site: TinySite, *command: str, env: dict[str, str] | None = None, **options: Any
) -> Built:
    """Build in a new Python, as the arguments of another command."""
    done = subprocess.run(
        [*command, sys.executable, "conf/build_site.py"],
        cwd=site.folder,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    return Built(done.returncode, done.stdout)


# -- Lessons that fail, that end the process, that leave something ---------------------

FAIL = {
    "raises": "raise RuntimeError('boom')",
    "asserts": "assert 1 + 1 == 3, 'sums'",
    "no_python": "one two",
    "warns": "import warnings\nwarnings.warn('mind this')",
    "too_large": "import torch\ntorch.ones(2**50)",
    "too_many": "bytearray(2**60)",
    "loops": "while True:\n    pass",
    "sleeps": "import time\ntime.sleep(10**6)",
    "matches": "import re\nre.match('(a*)*b', 'a' * 40)",
    "waits": "import subprocess\nsubprocess.run(['sleep', '1000'])",
    "raises_and_leaves": "import threading, time\n"
    "threading.Thread(target=time.sleep, args=[600], daemon=True).start()\n"
    "raise RuntimeError('beside a thread')",
    "surrogate_aside": "import sys\nsys.stdout.nothing",
}
FAILING = Build(
    {
        "a lesson raises": "RuntimeError: boom",
        "a lesson asserts what is false": "AssertionError: sums",
        "a lesson is no Python": "SyntaxError",
        "a lesson warns": "UserWarning: mind this",
        "a lesson asks torch for a petabyte": "RuntimeError: .*(memory|allocate)",
        "a lesson asks Python for an exabyte": "MemoryError",
        "a lesson loops for ever": "loops.py ran longer than 2 seconds",
        "a lesson sleeps for ever": "sleeps.py ran longer than 2 seconds",
        "a lesson is lost in a regular expression": "matches.py ran longer than 2 sec",
        "a lesson waits for a process that does not end": "waits.py ran longer than 2",
        "a lesson raises while its thread goes on": "RuntimeError: beside a thread",
    },
    lessons(**FAIL),
    ("-D", "lesson_time_limit=2"),
)
SHORT = ("-D", "lesson_time_limit=1")
ENDING = [
    ending("a lesson calls sys.exit(0)", "import sys\nsys.exit(0)", "sys.exit"),
    ending("a lesson raises SystemExit", "raise SystemExit('bye')", "sys.exit"),
    ending("a lesson is interrupted", "raise KeyboardInterrupt", "interrupted"),
    ending("a lesson calls os._exit(0)", "import os\nos._exit(0)", "status 0, before"),
    ending("a lesson calls os._exit(3)", "import os\nos._exit(3)", "status 3, before"),
    ending(
        "a lesson ends in a segmentation fault",
        "import ctypes\nctypes.string_at(0)",
        "ended by SIGSEGV",
    ),
    ending(
        "the system ends a lesson (SIGKILL)",
        "import os\nos.kill(os.getpid(), 9)",
        "SIGKILL: often a lack of memory",
    ),
    ending(
        "a lesson multiplies for hours in C",
        "import torch\nx = torch.empty(40_000, 40_000)\nwhile True: torch.mm(x, x)",
        "planted.py ran longer than 1 seconds, in code that Python cannot",
        *SHORT,
    ),
    ending(
        "a lesson stops its own clock and loops",
        "import faulthandler, signal\nsignal.alarm(0)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "faulthandler.cancel_dump_traceback_later()\nwhile True:\n    pass",
        "its own clock could not stop it",
        *SHORT,
    ),
    ending(
        "a lesson prints what is no character",
        "print('\\ud800')",
        "surrogates not allowed",
    ),
]
GROW = "held = []\nfor _ in range(400):\n    held.append(b'x' * 10**7)\n"
GROW += "import time\ntime.sleep(60)"
LITTLE = ("-D", "memory_limit=1500")
GROWING = [
    ending(
        "a lesson takes memory past the limit",
        GROW,
        r"planted.py takes [\d.]+ GB of memory",
        *LITTLE,
    ),
    cell(
        "a page's cell takes memory past the limit",
        GROW,
        r"build_site: computes takes [\d.]+ GB of memory",
        *LITTLE,
    ),
]
ORPHAN = "orphan of a test"  # what tells the process from all others
LEAVE = f"""import builtins, os, subprocess, sys, threading, time, torch
threading.Thread(target=time.sleep, args=[30], daemon=True, name='T').start()
code = 'import time; time.sleep(300)  # '
held = subprocess.Popen([sys.executable, '-c', code + 'child'])
start = 'import subprocess as s, sys; s.Popen([sys.executable, "-c", sys.argv[1]], '
start += 'start_new_session=True)'
subprocess.run([sys.executable, '-c', start, code + '{ORPHAN}'])
open('left.txt', 'w').close()
open('left.py', 'w').close()
torch.Tensor.detach = torch.Tensor.clone
builtins.print, shown = (lambda *words: None), print
shown('shown')
os.write(1, b'aside')"""


def orphan_lives(site: TinySite, built: Built) -> str:
    """Say whether the process is there that a lesson's process has started."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            said = path.read_bytes()
        except OSError:
            continue
        if f"# {ORPHAN}".encode() in said and b"subprocess" not in said:
            return "a process that a lesson started outlives the build"
    return ""


LEAVING = Build(
    {
        "a lesson leaves a thread running": "planted.py left .*thread 'T' running",
        "a lesson leaves a process running": "planted.py left .*# child' running",
        "a lesson's process leaves one of its own": f"planted.py left .*# {ORPHAN}'",
        "a lesson leaves a file": "planted.py left .*the file 1_first/left.txt",
        "a lesson leaves a script": "planted.py left .*the file 1_first/left.py",
        "a lesson replaces a method of torch": "planted.py left .*torch.Tensor.detach",
        "a lesson replaces a function of Python": "planted.py left .*builtins.print",
        "a lesson writes past sys.stdout": "planted.py left .*'aside' past sys.stdout",
    },
    lessons(planted=LEAVE),
    wrong=orphan_lives,
)


def sees_what_was_changed(site: TinySite, built: Built) -> str:
    """Say whether a lesson sees what the one before it has changed."""
    alone = site.folder / "alone.py"
    alone.write_text(lesson("show", SHOW_EVERYTHING))
    command = [sys.executable, alone.name]
    done = subprocess.run(command, cwd=site.folder, capture_output=True, text=True)
    alone.unlink()
    shown = "".join(part.output for part in parts_of(site.page("show")))
    return "" if shown == done.stdout else "the next lesson sees what was changed"


CHANGING = Build(
    {
        "a lesson changes all settings of torch, NumPy, matplotlib, warnings, "
        "the environment and Python": ""
    },
    lessons(change=CHANGE_EVERYTHING, show=SHOW_EVERYTHING),
    publishes=True,
    wrong=sees_what_was_changed,
)

# -- What must not be silent -----------------------------------------------------------

MUCH = "print('y' * 199_999)"


def plant_silence(site: TinySite) -> None:
    """Plant what a build would pass over, if nothing looked."""
    lessons(much=MUCH, mute="x = 1")(site)
    mute = site.folder / EXAMPLES / "mute.py"
    mute.write_text(mute.read_text().replace("print('end')", "y = 1"))
    site.order(["good.py", "drawn.py", "much.py", "mute.py", "gone.py"])
    docs = site.folder / "docs"
    skipped = computing_page("Computes", ":tags: [skip-execution]\n\nprint('not run')")
    more = f"\n```{{code-cell}} ipython3\n{MUCH}\n```\n"
    (docs / "computes.md").write_text(skipped + more)
    machine = next((docs / "recordings").iterdir())
    shutil.copy(machine / "good.json", machine / "gone.json")
    (machine / "drawn.9.png").write_bytes(b"")
    text = (machine / "good.json").read_text().replace("1_first/good", "2_old/drawn")
    (machine / "drawn.json").write_text(text)
    options = site.folder / "conf" / "conf.py"
    linked = "every_inventory_name_is_linked = "
    options.write_text(options.read_text().replace(f"{linked}False", f"{linked}True"))


SILENT = Build(
    {
        "a lesson prints 200 kB": "much.py: the block on line 7 prints 199999",
        "a page's cell prints 200 kB": "computes: the cell with .* prints 199999 char",
        "a lesson shows nothing": "WARNING: .*mute.py shows nothing",
        "a page's cell does not run": "WARNING: .*computes: the cell with .* not run",
        "the reading order names what is no lesson": "examples/order.txt names gone.py",
        "a recording belongs to no lesson": "WARNING: Orphan: .*/gone.json belongs to",
        "a recording is of a lesson's old place": "WARNING: .*is of 2_old/drawn, which",
        "a recorded figure belongs to nothing": "WARNING: Orphan: .*/drawn.9.png belo",
        "an inventory has a name that no page links to": "WARNING: conf/inventories/",
    },
    plant_silence,
)


FLOOD = Build(
    {"a lesson prints 100 MB": "build_site: .*much.py prints so much that its page"},
    lessons(much="for _ in range(50):\n    print('y' * 2_000_000)"),
)


def plant_unplaced(site: TinySite) -> None:
    """Plant a lesson that the reading order does not have."""
    (site.folder / EXAMPLES / "extra.py").write_text(GOOD)


def plant_space(site: TinySite) -> None:
    """Plant a lesson with a space in its name."""
    (site.folder / EXAMPLES / "an extra.py").write_text(GOOD)


def plant_mark(site: TinySite) -> None:
    """Save a lesson as some editors do, with a mark before its text."""
    (site.folder / EXAMPLES / "good.py").write_text(GOOD, encoding="utf-8-sig")


def plant_latin(site: TinySite) -> None:
    """Save a lesson in an encoding of the past."""
    script = site.folder / EXAMPLES / "good.py"
    script.write_bytes(GOOD.replace("'good'", "'gööd'").encode("latin-1"))


def plant_unexecuted(site: TinySite) -> None:
    """Leave out the lines that make a page run."""
    prose = computing_page("Prose", "print(1)").partition("---\n\n")[2]
    (site.folder / "docs" / "prose.md").write_text(prose)


NAMED = [
    Build({"a lesson has no place in the order": "extra.py has no"}, plant_unplaced),
    Build({"a lesson's name has a space": "an extra.py: give .* without"}, plant_space),
    Build({"a lesson begins with a byte order mark": "good.py begins"}, plant_mark),
    Build({"a lesson is not UTF-8": "good.py, line 7: byte 0xf6 is not"}, plant_latin),
    Build(
        {"a page has cells and no line that makes them run": "unexpected `code-cell`"},
        plant_unexecuted,
    ),
]  # fmt: skip
CELLS = [
    cell("a page's cell raises", "assert False, 'on page'", "AssertionError: on page"),
    cell("a page's cell warns", "import warnings\nwarnings.warn('m')", "stderr was fo"),
    cell("a page's cell calls sys.exit(0)", "import sys\nsys.exit(0)", "page failed"),
    cell("a page's kernel dies", "import os\nos._exit(0)", "DeadKernelError: "),
    cell(
        "a page's cell hangs",
        "import time\ntime.sleep(600)",
        "CellTimeoutError",
        *("-D", "nb_execution_timeout=3"),
    ),
]

# -- Text that must stay text ----------------------------------------------------------

HOSTILE = (
    "print('<script>alert(1)</script>', 'one\\u202etwo', '\\x1b[1mbold')\n"
    "print('\\0\\a', 'w' * 5000, '\\U0001f642')"
)
BYTES = "\nimport sys\nsys.stdout.buffer.write(b'bytes\\n')"


def plant_hostile(site: TinySite) -> None:
    """Plant outputs and a title with markup, escapes and marks."""
    lessons(planted=HOSTILE + BYTES)(site)
    script = site.folder / EXAMPLES / "planted.py"
    title = "Turns <script>alert(1)</script>"
    text = script.read_text().replace("planted\n=======", f"{title}\n{'=' * 40}")
    script.write_text(text)
    (site.folder / "docs" / "computes.md").write_text(
        computing_page("Computes", HOSTILE)
    )
    (recording,) = (site.folder / "docs" / "recordings").glob("*/good.json")
    seen = "<script>alert(1)</script> \\u202e \\u001b[1m </pre>"
    recording.write_text(recording.read_text().replace("seen elsewhere", seen))


def is_markup(site: TinySite, built: Built) -> str:
    """Say which page, or file for machines, has taken a text for markup."""
    for path in [*site.html.rglob("*.html"), site.html / "llms.txt"]:
        text = path.read_text()
        if "<script>alert" in text or "\x1b" in text or "\u202e" in text:
            return f"{path.name} takes a text for markup"
    shown = site.page("planted").read_text()
    return "" if "bytes" in shown else "what was written as bytes is not on the page"


def plant_line_ends(site: TinySite) -> None:
    """Save a lesson as on Windows, with tabs."""
    script = site.folder / EXAMPLES / "good.py"
    text = GOOD.replace("print('good')", "if True:\n\tprint('good')")
    script.write_bytes(text.replace("\n", "\r\n").encode())


TEXTS = [
    Build(
        {
            "a lesson prints markup, escapes and marks": "",
            "a lesson writes bytes": "",
            "a lesson's title has markup": "",
            "a page's cell prints markup, escapes and marks": "",
            "a recording has markup, escapes and marks": "",
        },
        plant_hostile,
        publishes=True,
        wrong=is_markup,
    ),
    Build(
        {"a lesson has Windows' line ends, and tabs": ""},
        plant_line_ends,
        publishes=True,
    ),
]

# -- Recordings from elsewhere ---------------------------------------------------------


def plant_recordings(site: TinySite) -> None:
    """Plant, for machines of several names, recordings that are wrong."""
    folder = site.folder / "docs" / "recordings"
    (good,) = folder.glob("*/good.json")
    text = good.read_text()
    day = '"2026-01-02"'
    wrong = {
        "m01-truncated": text[: len(text) // 2],
        "m02-large": text + " " * 500_000,
        "m03-nan": text.replace("1.0", "NaN"),
        "m04-deep": "[" * 10_000,
        "m05-extra": text.replace('"schema"', '"more": 1, "schema"', 1),
        "m06-day": text.replace(day, '"yesterday"'),
        "m07-lesson": text.replace("1_first/good", "1_first/../good"),
        "m08-figure": text.replace('"figures": []', '"figures": ["../../x.json"]', 1),
    }
    for machine, content in wrong.items():
        (folder / machine).mkdir()
        (folder / machine / "good.json").write_text(content)
    raw = {"m09-bytes": b"\xff" + text.encode(), "m10-mark": b"\xef\xbb\xbf{}"}
    for machine, content in raw.items():
        (folder / machine).mkdir()
        (folder / machine / "good.json").write_bytes(content)
    for machine in ("m11-link", "m12-folder", "m13-pipe"):
        (folder / machine).mkdir()
    (folder / "m11-link" / "good.json").symlink_to(good)
    (folder / "m12-folder" / "good.json").mkdir()
    os.mkfifo(folder / "m13-pipe" / "good.json")
    (good.parent / "good.1.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"junk" * 99)
    good.write_text(text.replace('"figures": []', '"figures": ["good.1.png"]', 1))


def refused(machine: str) -> str:
    """Return what must be said of a recording."""
    return f"WARNING: .*{machine}/good.json is refused"


RECORDINGS = Build(
    {
        "a recording is truncated": refused("m01-truncated"),
        "a recording has 500 kB": refused("m02-large"),
        "a recording has a number that is none": refused("m03-nan"),
        "a recording is nested ten thousand times": refused("m04-deep"),
        "a recording has a field too many": refused("m05-extra"),
        "a recording's day is none": refused("m06-day"),
        "a recording's lesson leads out of its folder": refused("m07-lesson"),
        "a recording's figure leads out of its folder": refused("m08-figure"),
        "a recording is not UTF-8": refused("m09-bytes"),
        "a recording begins with a byte order mark": refused("m10-mark"),
        "a recording is a link": refused("m11-link"),
        "a recording is a folder": refused("m12-folder"),
        "a recording is a pipe": refused("m13-pipe"),
        "a recorded picture is junk": "WARNING: .*good.1.png is refused",
    },
    plant_recordings,
)


def plant_stale(site: TinySite) -> None:
    """Change the code of which there is a recording."""
    script = site.folder / EXAMPLES / "good.py"
    script.write_text(GOOD.replace("print('good')", "print('better')"))


STALE = Build(
    {"a recording is of other code": r"Stale: .*good matches \d of \d blocks; .*run"},
    plant_stale,
    publishes=True,
)

# -- Damage to what is kept ------------------------------------------------------------


def damage(patterns: Sequence[str]) -> Plant:
    """Halve the first of the files, garble the next, and so on."""

    def plant(site: TinySite) -> None:
        names = {"/a.": "/drawn.", "/b.": "/good.", "glr_a": "glr_drawn"}
        for number, pattern in enumerate(patterns):
            for old, new in names.items():
                pattern = pattern.replace(old, new)
            (path,) = site.folder.glob(pattern)
            (halve, garble)[number % 2](path)

    return plant


DAMAGE = [
    Build(
        {f"damaged on the disk: {what}": ""}, damage(files), publishes=True, same=True
    )
    for what, files in DAMAGED.items()
]  # fmt: skip


def plant_killed_publishing(site: TinySite) -> None:
    """Leave what a build leaves that was killed while it published."""
    site.html.rename(site.html.with_name("html.old"))
    (site.folder / "build" / "html.new").mkdir()


def plant_old_date(site: TinySite) -> None:
    """Edit a page and give it an old date, as cp -p and rsync -t do."""
    prose = site.folder / "docs" / "prose.md"
    prose.write_text("# Prose\n\nOther words.\n")
    os.utime(prose, (1e9, 1e9))


def plant_clock(site: TinySite) -> None:
    """Date all that there is a month ahead, then edit a page and a lesson."""
    ahead = time.time() + 30 * 86_400
    for path in site.folder.rglob("*"):
        os.utime(path, (ahead, ahead))
    (site.folder / "docs" / "prose.md").write_text("# Prose\n\nOther words.\n")
    plant_stale(site)


def misses_edit(site: TinySite, built: Built) -> str:
    """Say whether an edit is not on its page."""
    seen = "Other words" in (site.html / "prose.html").read_text()
    return "" if seen else "the edit is not on the page"


def plant_edits(site: TinySite) -> None:
    """Add, delete and rename pages and lessons."""
    docs = site.folder / "docs"
    (docs / "prose.md").unlink()
    (docs / "added.md").write_text("# Added\n\nWords.\n")
    (docs / "computes.md").write_text(
        computing_page("Calculates", "print('the page ran')")
    )
    pages(site, "computes", "added")
    new = DRAWN.replace("A\n=", "Renamed\n=======", 1)
    site.write_lessons({"renamed.py": new, "more.py": lesson("More", "print(1)")})
    shutil.rmtree(docs / "recordings")


def differs_from_clean(site: TinySite, built: Built) -> str:
    """Say whether a build of all makes another site than the last one did."""
    before = site.published()
    for folder in ("doctrees", "staging", "html", "kept"):
        shutil.rmtree(site.folder / "build" / folder)
    again = site.build()
    same = again.status == 0 and site.published() == before
    return "" if same else "a build of all makes another site"


KEPT = [
    Build(
        {"nothing has changed": "Nothing has changed"}, publishes=True, same=True
    ),
    Build(
        {"an earlier build was killed while it published": ""},
        plant_killed_publishing, publishes=True, same=True,
    ),
    Build(
        {"a page is edited and has an old date": ""},
        plant_old_date, publishes=True, wrong=misses_edit,
    ),
    Build(
        {
            "a page is deleted": "", "a page is added": "", "a page is retitled": "",
            "a lesson is deleted": "removing what is left of the lesson",
            "a lesson is renamed": "", "a lesson is added": "",
            "a recording is deleted": "",
        },
        plant_edits, publishes=True, wrong=differs_from_clean,
    ),
]  # fmt: skip
CLOCK = Build(
    {"the clock goes back a month": ""}, plant_clock, publishes=True, wrong=misses_edit
)

# -- The machine -----------------------------------------------------------------------


def unmount(site: TinySite) -> None:
    """Take back what was mounted."""
    for path in ("build/html", "build", "."):
        where = site.folder / path
        while os.path.ismount(where):
            subprocess.run(["umount", "-l", where], check=True)


def small_disk(site: TinySite) -> Built:
    """Build on a disk of 60 MB."""
    aside = site.folder.with_name("aside")
    shutil.move(site.folder / "build", aside)
    (site.folder / "build").mkdir()
    mount(site.folder / "build", "60m")
    shutil.copytree(aside, site.folder / "build", dirs_exist_ok=True)
    built = process(site)
    unmount(site)
    shutil.rmtree(site.folder / "build")
    shutil.move(aside, site.folder / "build")
    return built


def full_disk(site: TinySite) -> Built:
    """Build on a disk that a lesson fills."""
    aside = site.folder.with_name("aside")
    shutil.move(site.folder / "build", aside)
    (site.folder / "build").mkdir()
    mount(site.folder / "build", "250m")
    shutil.copytree(aside, site.folder / "build", dirs_exist_ok=True)
    fill = "try:\n    with open('../../build/fill', 'wb') as f:\n"
    fill += "        while True: f.write(b'x' * 10**4)\nexcept OSError as error:\n"
    fill += "    print(type(error))"
    lessons(planted=fill)(site)
    built = process(site)
    good = TinySite(site.folder).published()
    unmount(site)
    shutil.rmtree(site.folder / "build")
    shutil.move(aside, site.folder / "build")
    lost = good != site.published()
    return Built(0, "the published site is lost") if lost else built


def little_files(site: TinySite) -> Built:
    """Build where a file may have 20 kB."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    (site.folder / "docs" / "prose.md").write_text("# Prose\n\nOther words.\n")
    return process(site, preexec_fn=limit)


def mount(where: Path, size: str) -> None:
    """Mount a disk in memory."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", where]
    subprocess.run(command, check=True)


def drop_capability() -> None:
    """Take from root the right to write where the mode forbids it (Linux)."""
    ctypes.CDLL(None).prctl(24, 1)  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE


def read_only(name: str) -> Callable[[TinySite], Built]:
    """Return a build that must not write to a folder, nor to those in it."""

    def run(site: TinySite) -> Built:
        top = site.folder / name
        folders = [top, *(path for path in top.rglob("*") if path.is_dir())]
        for folder in folders:
            folder.chmod(0o555)
        try:
            return process(site, preexec_fn=drop_capability)
        finally:
            for folder in folders:
                folder.chmod(0o755)

    return run


def html_is_mounted(site: TinySite) -> Built:
    """Build where build/html cannot be replaced."""
    (site.folder / "docs" / "prose.md").write_text("# Prose\n\nOther words.\n")
    subprocess.run(["mount", "--bind", site.html, site.html], check=True)
    try:
        return process(site)
    finally:  # Python takes such a folder for no mount
        subprocess.run(["umount", "-l", site.html], check=True)


def no_network(site: TinySite) -> Built:
    """Build in a namespace of the network that has nothing, not even a loopback."""
    for name in ("pages", "html", "staging", "doctrees", "kept"):
        shutil.rmtree(site.folder / "build" / name)
    return process(site, "unshare", "-n")


# A torch that says it is built for CUDA, on a machine that cannot use it.
CUSTOMIZE = """
import os, sys, pathlib
from importlib.machinery import PathFinder

read = pathlib.Path.read_text
def read_text(self, *rest, **more):
    text = read(self, *rest, **more)
    return text + "\\ncuda = '12.6'\\n" if self.parts[-2:] == ("torch", "version.py") else text
pathlib.Path.read_text = read_text

class Finder:
    def find_spec(name, path=None, target=None):
        if name != "torch":
            return None
        spec = PathFinder.find_spec(name, path)
        load = spec.loader.exec_module
        def exec_module(module):
            load(module)
            def name_it(*_):
                if "FAILS_AT_ONCE" in os.environ:
                    raise RuntimeError("no driver\\nmore words")
                return "Broken 9"
            module.cuda.is_available = lambda: os.environ.get("CUDA_VISIBLE_DEVICES") != ""
            module.cuda.get_device_name = name_it
        spec.loader.exec_module = exec_module
        return spec
sys.meta_path.insert(0, Finder)
"""  # noqa: E501


def broken_driver(**environment: str) -> Callable[[TinySite], Built]:
    """Return a build with such a torch, of all lessons and pages."""

    def run(site: TinySite) -> Built:
        place = site.folder.with_name("customize")
        place.mkdir(exist_ok=True)
        (place / "sitecustomize.py").write_text(CUSTOMIZE)
        shutil.rmtree(site.folder / "docs" / "auto_examples")
        search = os.pathsep.join(
            filter(None, (str(place), os.environ.get("PYTHONPATH")))
        )
        return process(site, env={"PYTHONPATH": search, **environment})

    return run


def other_settings(site: TinySite) -> Built:
    """Build all with another hash seed, locale and time zone."""
    shutil.rmtree(site.folder / "docs" / "auto_examples")
    shutil.rmtree(site.folder / "build")
    unset = {name: "" for name in ("LANG", "LANGUAGE", "LC_CTYPE")}
    return process(
        site,
        env={
            **unset,
            **{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            # Where it is another day now.
            "TZ": "Etc/GMT-14" if datetime.now(UTC).hour >= 10 else "Etc/GMT+12",
            "PYTHONHASHSEED": "1",
        },
    )


def clean(site: TinySite) -> Built:
    """Build all again."""
    shutil.rmtree(site.folder / "docs" / "auto_examples")
    shutil.rmtree(site.folder / "build")
    return site.build()


SAID = "build_site: torch says that it has CUDA .*: this build runs on the CPU"
DISK = [
    Build(
        {"the disk has 60 MB": r"build_site: Only \d+ MB are free"},
        run=small_disk, needs_root=True,
    ),
    Build(
        {"the disk is full in the middle": "build_site: .*No space left on device"},
        run=full_disk, needs_root=True,
    ),
    Build(
        {"a file cannot grow": "build_site: .*File too large"}, run=little_files
    ),
    Build(
        {"docs is read-only": "Cannot write to the folder docs:"},
        run=read_only("docs"),
    ),
    Build(
        {"docs/auto_examples is read-only": "to the folder docs/auto_examples:"},
        run=read_only("docs/auto_examples"),
    ),
    Build(
        {"build is read-only": "Cannot write to the folder build:"},
        run=read_only("build"),
    ),
    Build(
        {"build/html cannot be replaced": "build_site: The site was built but not"},
        run=html_is_mounted, needs_root=True,
    ),
]  # fmt: skip
MACHINE = [
    Build(
        {"a GPU whose driver does not fit": SAID},
        publishes=True, same=True, run=broken_driver(FAILS_AT_ONCE="1"),
    ),
    Build(
        {"a GPU whose first use fails": SAID},
        publishes=True, same=True, run=broken_driver(),
    ),
    Build(
        {"no network, not even a loopback": ""},
        publishes=True, same=True, run=no_network, needs_root=True,
    ),
    Build(
        {"another hash seed, locale and time zone": ""},
        publishes=True, same=True, run=other_settings,
    ),
    Build(
        {"two clean builds": "",
         "a folder with a space, an apostrophe, %20, # and letters of two alphabets":
         ""},
        publishes=True, same=True, run=clean,
    ),
]  # fmt: skip


# -- Other ways to build ---------------------------------------------------------------


def with_sphinx(site: TinySite) -> Built:
    """Build with sphinx-build itself, in two processes."""
    command = [sys.executable, "-m", "sphinx", "-j", "2", "-c", "conf", "docs", "out"]
    done = subprocess.run(
        command, cwd=site.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    made = (site.folder / "out" / "index.html").exists()
    shutil.rmtree(site.folder / "out", ignore_errors=True)
    return Built(done.returncode if made else 9, done.stdout)


def plant_link(site: TinySite) -> None:
    """Link to a page of a host that does not exist."""
    prose = site.folder / "docs" / "prose.md"
    prose.write_text("# Prose\n\n[there](https://nowhere.invalid/)\n")


OTHERS = [
    Build({"sphinx-build alone, two processes": ""}, publishes=True, run=with_sphinx),
    Build(
        {"a page in a folder of its own (dirhtml)": ""},
        arguments=("-b", "dirhtml"), publishes=True, same=True,
    ),
    Build({"a builder that cannot be": "choice: 'epub'"}, arguments=("-b", "epub")),
    Build(
        {"a link of the web leads nowhere": r"prose.*broken.*nowhere\.invalid"},
        plant_link, ("-b", "linkcheck"),
    ),
]  # fmt: skip

CHAINS = [
    Chain("Lessons that fail", [FAILING]),
    Chain("Lessons that end the build", ENDING),
    Chain("Lessons that take too much", GROWING),
    Chain("Lessons that leave something", [LEAVING]),
    Chain("Lessons that change settings", [CHANGING]),
    Chain("What must not be silent", [SILENT, FLOOD, *NAMED]),
    Chain("Pages that fail", CELLS),
    Chain("Texts that are no markup", TEXTS),
    Chain("Recordings from elsewhere", [RECORDINGS]),
    Chain("Recordings of other code", [STALE]),
    *(Chain("What is kept, damaged", [build]) for build in DAMAGE),
    *(Chain("What is kept, and changes", [build]) for build in (*KEPT, CLOCK)),
    Chain("The disk", DISK),
    *(Chain("The machine", [build]) for build in MACHINE),
    Chain("Other builders", OTHERS),
]
