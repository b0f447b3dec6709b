"""Each lesson starts as a new Python would, whatever ran before it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE, ROOT, TinySite, keep_answers, lesson
from reading import (
    EVERYTHING,
    EXAMPLES,
    NAMES,
    SCRIPTS,
    page_of,
    parts_of,
    soup,
    subjects,
    without_numbers,
)

CHANGE_EVERYTHING = """import decimal
import gc
import logging
import os
import random
import signal
import sys
import time
import warnings
import matplotlib.pyplot as plt
import numpy as np
import perfplot
import torch
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_grad_enabled(False)
torch.autograd.set_detect_anomaly(True, check_nan=False)
torch.use_deterministic_algorithms(True)
torch.set_num_threads(torch.get_num_threads() + 1)
torch.set_printoptions(precision=1, sci_mode=True)
torch.set_float32_matmul_precision("medium")
torch.manual_seed(1)
random.seed(1)
np.random.seed(1)
np.set_printoptions(precision=1)
np.seterr(all="raise")
warnings.simplefilter("ignore")
os.environ["LEFT_BEHIND"] = "1"
plt.rcParams["lines.linewidth"] = 9
plt.plot([1, 2])
(torch.ones(1, requires_grad=True) * 2).grad
torch.set_flush_denormal(True)
torch.backends.mkldnn.enabled = False
torch.backends.cudnn.benchmark = True
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.enabled = False
decimal.getcontext().prec = 3
gc.disable()
gc.set_threshold(7)
logging.basicConfig(level=logging.DEBUG)
logging.disable(logging.ERROR)
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.setrecursionlimit(2000)
os.umask(0o077)
os.environ["TZ"] = "Etc/GMT+5"
if hasattr(time, "tzset"):
    time.tzset()
    assert time.timezone == 5 * 3600
print("all changed")"""
SHOW_EVERYTHING = """import decimal
import gc
import logging
import os
import random
import signal
import sys
import time
import warnings
import numpy as np
import torch
print(torch.get_default_dtype(), torch.empty(0).device)
print(torch.is_grad_enabled(), torch.is_anomaly_enabled())
print(torch.are_deterministic_algorithms_enabled())
print(torch.get_num_threads(), torch.get_float32_matmul_precision())
print(torch.initial_seed() == 1, torch.tensor([1 / 3, 1e6]))
print(np.array([1 / 3]), np.geterr())
print(random.getstate() == random.Random(1).getstate())
print(np.random.get_state()[1][0] == 1)
print("LEFT_BEHIND" in os.environ, time.timezone)
print(torch.tensor([1e-40]) * 1)
print(torch.backends.mkldnn.enabled, torch.backends.cudnn.enabled)
print(torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic)
print(decimal.Decimal(1) / 3, gc.isenabled(), gc.get_threshold())
print(logging.root, logging.root.handlers, logging.root.manager.disable)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(sys.getrecursionlimit(), oct(os.umask(0o022)))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    (torch.ones(1, requires_grad=True) * 2).grad
print(len(caught))"""
DRAW = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint(1)"


def umask() -> int:
    """Return the mask of new files, which can be read only by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def test_a_lesson_finds_what_a_new_python_finds(
    tiny_site: TinySite, tmp_path: Path
) -> None:
    show = lesson("Show", SHOW_EVERYTHING)
    tiny_site.write_lessons(
        {"change.py": lesson("Change", CHANGE_EVERYTHING), "show.py": show}
    )
    built = tiny_site.build()
    assert built.status == 0, built.output
    home = tiny_site.html / "index.html"
    assert home.stat().st_mode & 0o777 == 0o666 & ~umask()
    (tmp_path / "show.py").write_text(show)
    alone = subprocess.run(
        [sys.executable, tmp_path / "show.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    shown = "".join(part.output for part in parts_of(tiny_site.page("show")))
    assert shown == alone.stdout


def looks(page: Path) -> list[list[str]]:
    """Return the tags and styles of each live figure."""
    return [
        sorted(
            f"{tag.name} {tag.get('style')} {tag.get('viewbox')} {tag.get('fill')}"
            for tag in figure.find_all()
        )
        for figure in soup(page).select("figure.lesson-figure > svg:first-child")
        if figure.find_parent(class_="recorded") is None
    ]


def test_a_figure_looks_the_same_before_and_after_perfplot(tiny_site: TinySite) -> None:
    benchmark = "import perfplot\nprint('imported')"
    lessons = {"draw.py": lesson("Draw", DRAW), "bench.py": lesson("Bench", benchmark)}
    tiny_site.write_lessons(lessons)
    # With a display, matplotlib warns that it shows nothing; that is no failure.
    built = tiny_site.build(env={**os.environ, "DISPLAY": ":0"})
    assert built.status == 0, built.output
    first = soup(tiny_site.page("draw")).select_one("svg[role=img]")
    tiny_site.order(["bench.py", "draw.py"])
    shutil.rmtree(tiny_site.folder / "docs" / "auto_examples")  # all runs again
    built = tiny_site.build()
    assert "2 of 2 ran" in built.lessons
    assert str(soup(tiny_site.page("draw")).select_one("svg[role=img]")) == str(first)


# What a lesson leaves, and what is said of it.
LEAVES = {
    "thread": (
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=[9], daemon=True, name='T').start()",
        "thread.py left the thread 'T' running",
    ),
    "process": (
        "import subprocess, sys\n"
        "code = 'import time; time.sleep(99)'\n"
        "held = subprocess.Popen([sys.executable, '-c', code])",
        "import time; time.sleep(99)' running",
    ),
    "file": (
        "open('left.txt', 'w').close()",
        "file.py left the file 1_first/left.txt",
    ),
    "the same file": (
        "import time\ntime.sleep(0.01)\nopen('left.txt', 'w').close()",
        "the same file.py left the file 1_first/left.txt",
    ),
    "script": (
        "open('left.py', 'w').close()",
        "script.py left the file 1_first/left.py",
    ),
    "nothing": (
        "import pathlib, tempfile, subprocess, sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from multiprocessing import Pool\n"
        "with ThreadPoolExecutor() as pool: pool.submit(sum, [1]).result()\n"
        "with Pool(1) as pool: pool.map(abs, [1])\n"
        "subprocess.run([sys.executable, '-c', ''])\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    pathlib.Path(folder, 'a').touch()\n"
        "pathlib.Path('.hidden').touch()",
        "",
    ),
    "named_as_failed": (
        "open('more.txt', 'w').close()\nfailing['named_as_failed.py'] = ''",
        "",
    ),
    "not_noted": ("open('even_more.txt', 'w').close()", ""),
}
RUN_AND_LEAVE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from tensor_copies.machine import isolation
gallery = {"src_dir": "docs", "examples_dirs": ["../examples"], "gallery_dirs": ["g"]}
isolation.set_time_limit(60)
said = {}
if __name__ == "__main__":
    for name, (code, _) in json.load(sys.stdin).items():
        failing = gallery["failing_examples"] = {}
        isolation.reset(gallery, f"{name}.py", "before")
        os.chdir("examples/1_first")
        exec(code, {"__name__": "__main__", "failing": failing})
        os.chdir("../..")
        said[name] = ""
        try:
            isolation.reset(gallery, f"{name}.py", "after")
        except isolation.LessonLeft as left:
            said[name] = str(left)
    print(json.dumps(said))
"""


@pytest.mark.slow
def test_a_lesson_that_leaves_something_is_named(tmp_path: Path) -> None:
    (tmp_path / "examples" / "1_first").mkdir(parents=True)
    notes = tmp_path / "docs" / "g" / "1_first"
    notes.mkdir(parents=True)
    for name in {*LEAVES} - {"not_noted"}:  # the gallery notes what passed
        (notes / f"{name}.py.md5").touch()
    done = subprocess.run(
        [sys.executable, "-c", RUN_AND_LEAVE, str(ROOT / "conf")],
        input=json.dumps(LEAVES),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    for name, (_, expected) in LEAVES.items():
        assert said[name].endswith(expected), said[name]
        assert bool(said[name]) == bool(expected), said[name]
        noted = (notes / f"{name}.py.md5").exists()
        # What left something runs again, though its text is the same.
        assert noted is (not expected and name != "not_noted"), name


ASKED_AT_ITS_LIMIT = """
import signal, sys
sys.path.insert(0, sys.argv[1])
from types import SimpleNamespace
from tensor_copies.machine import isolation

def frames(*files):
    frame = None
    for file in reversed(files):
        name = "tensor_maps.steps.watch" if file == "watch.py" else "other"
        code = SimpleNamespace(co_filename=file)
        frame = SimpleNamespace(f_code=code, f_globals={"__name__": name}, f_back=frame)
    return frame

isolation.set_time_limit(60)
isolation.set_up("lesson.py")
ask_to_stop = signal.getsignal(signal.SIGALRM)
for files in "gallery.py", "torch.py lesson.py", "watch.py lesson.py":
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        ask_to_stop(signal.SIGALRM, frames(*files.split(), "gallery.py"))
        print("goes on, asked again in less than a second:", end=" ")
        print(signal.getitimer(signal.ITIMER_REAL)[0] < 1)
    except isolation.LessonTimeout as late:
        print(late)
isolation.stop_clock()
"""


def test_a_lesson_at_its_limit_is_ended_and_not_its_watcher() -> None:
    """The watcher would take the exception for one of its own, and go on."""
    done = subprocess.run(
        [sys.executable, "-c", ASKED_AT_ITS_LIMIT, str(ROOT / "conf")],
        capture_output=True, text=True, check=True, timeout=PATIENCE,
    )  # fmt: skip
    gallery, lesson_itself, watcher = done.stdout.splitlines()
    assert gallery == "goes on, asked again in less than a second: False"
    assert lesson_itself == "lesson.py ran longer than 60 seconds"
    assert watcher == "goes on, asked again in less than a second: True"


# What a lesson may leave to the next: settings, seeds, threads, figures, memory.
LEAVING = re.compile(
    r"manual_seed|set_num_threads|simplefilter|filterwarnings|os\.environ|DataLoader"
    r"|subprocess|tempfile|gc\.|set_grad_enabled|\bplt\.|optim\.|no_grad|inference_mode"
)


def some_lessons() -> list[Path]:
    """Return of each section the first, the last, and of each thing left the first."""
    if EVERYTHING:
        return SCRIPTS
    taken = {(path.parent, "first"): path for path in reversed(SCRIPTS)}
    taken |= {(path.parent, "last"): path for path in SCRIPTS}
    for path in reversed(SCRIPTS):
        taken |= {word: path for word in LEAVING.findall(path.read_text())}
    return [path for path in SCRIPTS if path in taken.values()]


def test_the_order_of_the_lessons_changes_nothing(
    site: Path, tiny_site: TinySite
) -> None:
    """Some lessons, in the other order, with what the built site shows of them.

    Each lesson that does not time is run alone in test_downloads.py, which no order can
    change. Here is seen that one after another is like that, with what they draw.
    """
    lessons = some_lessons()
    shutil.copytree(EXAMPLES, tiny_site.folder / "examples")
    for script in {*SCRIPTS} - {*lessons}:  # they are linked to
        stub = tiny_site.folder / script.relative_to(ROOT)
        stub.write_text(lesson(script.stem, "print('a stub')"))
    keep_answers(tiny_site)
    # The lessons link to these pages, and to places on them.
    linked = ("self_check", "glossary", "changes", "errors", "silent_mistakes", "atlas")
    for page in linked:
        there = (ROOT / "docs" / f"{page}.md").read_text()
        places = re.findall(r"(?m)^\(([\w-]+)\)=$", there)
        if page == "atlas":  # its groups are headings of a table
            places.append("from-pandas-and-pillow")
        text = [f"# {page}", *(f"({place})=\n## {place}" for place in places)]
        (tiny_site.folder / "docs" / f"{page}.md").write_text("\n\n".join(text) + "\n")
    index = tiny_site.folder / "docs" / "index.md"
    all_pages = "\n".join(("/index", *linked, ""))
    index.write_text(index.read_text().replace("/index\n", all_pages))
    tiny_site.order([script.name for script in reversed(SCRIPTS)])
    built = tiny_site.build(env={**os.environ, "BENCHMARK_QUALITY": "quick"})
    assert built.status == 0, built.output
    ran = re.findall(r"^lesson  (\w+)\.py +[\d.]+ s$", built.output, re.MULTILINE)
    assert sorted(ran) == sorted(NAMES)
    assert ran.index(lessons[1].stem) < ran.index(lessons[0].stem)
    for script in lessons:
        forwards = page_of(site, script)
        backwards = page_of(tiny_site.html, script)
        for one, other in zip(parts_of(forwards), parts_of(backwards), strict=True):
            if one.is_timed:
                assert subjects(one.output) == subjects(other.output)
            else:
                assert one == other
        assert len(looks(forwards)) == len(looks(backwards))
        for one, other in zip(looks(forwards), looks(backwards), strict=True):
            assert set(map(without_numbers, one)) == set(map(without_numbers, other))
