"""What runs beside lessons and pages: stopped where times are taken, ended with all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from conftest import PATIENCE
from nbclient import execute
from nbclient.exceptions import DeadKernelError
from tensor_copies.machine import background, forked_kernels
from tensor_copies.machine.fingerprint import CONF
from tensor_copies.machine.late_imports import LATE, imported_late
from traitlets.config import Config

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no fork, no signals")
SELDOM = "xml.dom.minidom"  # what no kernel imports by itself
WAITS = "import sys; print(flush=True); sys.stdin.read()"


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[psutil.Process]:
    """Give a process that is beside the lessons, and that ends with its input."""
    pipe = subprocess.PIPE
    begun = subprocess.Popen(
        [sys.executable, "-c", WAITS], stdin=pipe, stdout=pipe, process_group=0
    )
    begun.stdout.readline()
    monkeypatch.setattr(background, "_process", begun)
    yield psutil.Process(begun.pid)
    background.stop(SimpleNamespace(), None)
    begun.stdout.close()


def is_soon(process: psutil.Process, *, stopped: bool) -> bool:
    """Whether a process gets into a state: a signal takes its time to arrive."""
    until = monotonic() + PATIENCE
    while (process.status() == psutil.STATUS_STOPPED) is not stopped:
        if monotonic() > until:
            return False
        sleep(0.01)
    return True


def lesson(folder: Path, code: str) -> dict:
    """Write a lesson; return what the gallery tells its hooks."""
    (folder / "docs").mkdir()
    (folder / "examples").mkdir()
    (folder / "examples" / "one.py").write_text(code, encoding="utf-8")
    return {"src_dir": str(folder / "docs"), "examples_dirs": ["../examples"]}


def test_nothing_runs_beside_a_lesson_that_takes_times(
    process: psutil.Process, tmp_path: Path
) -> None:
    conf = lesson(tmp_path, "from torch.utils.benchmark import Timer\nTimer('1')\n")
    background.make_room(conf, "one.py", "before")
    assert is_soon(process, stopped=True)
    background.make_room(conf, "one.py", "after")
    assert is_soon(process, stopped=False)


def test_it_runs_beside_other_lessons(process: psutil.Process, tmp_path: Path) -> None:
    conf = lesson(tmp_path, "print(1)\n")
    background.make_room(conf, "one.py", "before")
    assert is_soon(process, stopped=False)


@pytest.mark.parametrize(("code", "waits"), [("Timer('1')", True), ("print(1)", False)])
def test_what_is_soon_over_ends_before_times_are_taken(
    code: str, waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []
    monkeypatch.setattr(background, "soon_over", [lambda: ended.append("imports")])
    background.make_room(lesson(tmp_path, code), "one.py", "before")
    assert bool(ended) is waits


def test_nothing_runs_beside_a_page_that_takes_times(process: psutil.Process) -> None:
    with background.stopped():
        assert is_soon(process, stopped=True)
    assert is_soon(process, stopped=False)


def test_what_is_stopped_ends_with_the_build(process: psutil.Process) -> None:
    os.killpg(process.pid, signal.SIGSTOP)
    background.stop(SimpleNamespace(), RuntimeError("the build has failed"))
    assert not process.is_running()


WORK = """
import subprocess, sys, time
from pathlib import Path

def keep_ready():
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path("others").write_text(str(other.pid))
    time.sleep(600)
"""
# A build that ends without a word, as by os._exit in a lesson.
BUILDS = """
import os, time
from pathlib import Path
from tensor_copies.machine import background, early_work

early_work.keep_ready(["slow_work"])
while not Path("others").exists() or not Path("others").read_text():
    time.sleep(0.01)
print(background._process.pid, Path("others").read_text(), flush=True)
if {stopped}:
    background._send(19)
    time.sleep(0.2)
os._exit(1)
"""


@pytest.mark.parametrize("stopped", [True, False])
def test_nothing_is_left_of_a_build_that_ends_without_a_word(
    stopped: bool, tmp_path: Path
) -> None:
    (tmp_path / "slow_work.py").write_text(WORK, encoding="utf-8")
    paths = os.pathsep.join([str(CONF), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "-c", BUILDS.format(stopped=stopped)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1, done.stderr
    until = monotonic() + PATIENCE
    while left := [pid for pid in map(int, done.stdout.split()) if runs(pid)]:
        assert monotonic() < until, left
        sleep(0.05)


def runs(pid: int) -> bool:
    """Whether there is a process that has not ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def forks() -> Iterator[None]:
    """Fork all kernels of a test."""
    forked_kernels.begin([SELDOM])
    yield
    forked_kernels.end()


def run(*cells: str, cwd: Path) -> list[str]:
    """Return what the cells of a notebook print."""
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]
    notebook = nbformat.v4.new_notebook(cells=made)
    # The name of a socket is short, and pytest's folders are deep.
    with tempfile.TemporaryDirectory(prefix="kernel-", dir="/tmp") as folder:
        traits = {"transport": "ipc", "ip": f"{folder}/socket"}
        config = Config({"KernelManager": traits})
        execute(notebook, cwd=str(cwd), timeout=PATIENCE, config=config)
    return ["".join(o.get("text", "") for o in cell.outputs) for cell in notebook.cells]


ABOUT = f"""
import os, sys
SELDOM = {SELDOM!r}
print(os.getppid())
print(os.getcwd())
print("torch" in sys.modules, SELDOM in sys.modules)
print("ipykernel_launcher" in sys.argv[0], __name__)
print(os.environ.get("SAID_LATE"))
"""


@pytest.mark.slow
def test_kernels_are_forks_of_one_python(
    forks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAID_LATE", "after the first Python began")
    first, second = (run("shared = 1", ABOUT, cwd=tmp_path)[1] for _ in range(2))
    parent, *rest = first.splitlines()
    assert int(parent) in {c.pid for c in psutil.Process().children()}
    folder = str(tmp_path.resolve())
    imported, is_kernel = "True True", "True __main__"
    late = "after the first Python began"
    assert rest == [folder, imported, is_kernel, late]
    assert second == first
    [nothing] = run("print('shared' in globals())", cwd=tmp_path)
    assert nothing == "False\n"


@pytest.mark.slow
def test_a_kernel_has_what_a_new_one_has(forks: None, tmp_path: Path) -> None:
    path = "import sys; print(sys.path, sys.flags, sys.stdin)"
    [forked] = run(path, cwd=tmp_path)
    forked_kernels.end()
    [new] = run(path, cwd=tmp_path)
    assert forked == new


SAYS = "print(LATE in sys.modules)"


@pytest.mark.slow
@pytest.mark.parametrize("word", LATE)
def test_torch_imports_late_what_is_said(word: str) -> None:
    uses = {
        "optim": "torch.optim.SGD([torch.ones(1, requires_grad=True)])",
        "meta": "torch.ones(1, device='meta') + 1",
    }
    assert imported_late(uses[word]) == [LATE[word]]
    lines = ("import sys, torch", SAYS, uses[word], SAYS)
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines).replace("LATE", repr(LATE[word]))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted({*LATE.values()}))
def test_what_is_imported_before_forks_asks_for_no_gpu(module: str) -> None:
    """A process that has asked for CUDA cannot be forked any more."""
    ask = ("is_available", "device_count", "_lazy_init")
    lines = ("import torch", *(f"torch.cuda.{name} = None" for name in ask))
    code = "\n".join([*lines, f"import {module}"])
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_a_forked_kernel_that_dies_is_noticed(forks: None, tmp_path: Path) -> None:
    with pytest.raises(DeadKernelError):
        run("import os; os._exit(3)", cwd=tmp_path)
    assert run("print(2)", cwd=tmp_path) == ["2\n"]


@pytest.mark.slow
def test_without_forks_kernels_start_as_always(forks: None, tmp_path: Path) -> None:
    forked_kernels._forks._process.kill()
    forked_kernels._forks._process.wait()
    [parent] = run("import os; print(os.getppid())", cwd=tmp_path)
    assert int(parent) == os.getpid()
