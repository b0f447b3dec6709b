"""Build the site aside, publish it only when it is whole.

``python conf/build_site.py [options]`` is what ``nox -s docs`` runs. A child process
builds (:mod:`tensor_copies.machine.sphinx_process`), this one judges: whatever ends
the child, it says which lesson was running, and only a build that says itself that it
is whole is published. The HTML is built in ``build/staging`` and takes the place of
``build/html`` at the end, so that a build that fails leaves the last good site as it
was. The result of another builder of Sphinx (``-b linkcheck``) is ``build/<builder>``.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

from tensor_copies.machine.fingerprint import (
    VISIBLE,
    UnfitMachine,
    UnusableGPU,
    check,
    fingerprint,
)
from tensor_copies.machine.kept import KEPT, Kept, forget_all, prune
from tensor_copies.machine.processes import end_all, taken_by, with_our_packages
from tensor_copies.machine.progress import CHANNEL, MARK, NOISE

CONF = Path(__file__).resolve().parent
ROOT = CONF.parent
BUILD = ROOT / "build"
SPHINX = (sys.executable, "-m", "tensor_copies.machine.sphinx_process")
BUILDERS = ("html", "dirhtml", "linkcheck")
# A whole build with its caches takes about 30 MB.
NEEDED_BYTES = 100 * 2**20
# A lesson's own clock ends it at its limit. Where that cannot (a loop in C), the
# child ends itself a little later, and this process ends the child after that.
SECONDS_OF_GRACE = 20
# What runs longer is named again now and then, so that it does not look stuck.
SECONDS_OF_SILENCE = 10
SECONDS_TO_END = 10
# How often the memory is looked at: what grows faster is ended by the system.
SECONDS_OF_GROWTH = 1
# A line of what Python says of itself when it is ended; only one is the lesson's.
FRAME = re.compile(r'  File ".*?([^/\\]*)", line \d+ in ')
STANDS = f"The site stands. Open {(BUILD / 'html' / 'index.html').as_uri()}"
LAST_GOOD = "The build failed: build/html is still the last good site."


class BuildProblem(Exception):
    """The build cannot start, end or be published; the message says how to mend it."""


def build(options: argparse.Namespace) -> int:
    """Build in a child process and publish what is whole; return the exit status.

    It is 0 when the site stands and, for HTML, is published; 1 after warnings; 2 when
    the build ended early.

    Raises
    ------
    BuildProblem
        If a folder cannot be written, the disk is full or another build runs here.
    """
    from filelock import FileLock, Timeout  # torch brings it

    _require_room()
    lock = FileLock(BUILD / "lock")
    try:
        with lock.acquire(timeout=0):
            try:
                return _build(options)
            except UnusableGPU as gpu:
                print(f"build_site: {gpu.said}: this build runs on the CPU.")
                os.environ[VISIBLE] = ""
                fingerprint.cache_clear()
                return _build(options)
    except Timeout:
        raise BuildProblem(
            "Another build runs in this folder. Wait for it, or build in a copy."
        ) from None


def publish(built: Path, published: Path) -> None:
    """Put a copy of ``built`` in the place of ``published``, whole or not at all."""
    new, old = (published.with_name(published.name + end) for end in (".new", ".old"))
    try:
        if old.exists() and not published.exists():  # an earlier one was killed here
            old.rename(published)
        for leftover in (new, old):
            shutil.rmtree(leftover, ignore_errors=True)
        shutil.copytree(built, new)
        if published.exists():
            published.rename(old)
        new.rename(published)
    except (OSError, shutil.Error) as error:
        if old.exists() and not published.exists():
            old.rename(published)
        shutil.rmtree(new, ignore_errors=True)
        raise BuildProblem(f"The site was built but not published: {error}") from None
    shutil.rmtree(old, ignore_errors=True)


def _build(options: argparse.Namespace) -> int:
    builder = options.buildername
    html = builder == "html"
    out = BUILD / ("staging" if html else builder)
    for_sphinx = {
        **vars(options),
        "srcdir": str(ROOT / "docs"),
        "confdir": str(CONF),
        "outdir": str(out),
        # Each builder has a memory of its own of what it read and warned about.
        "doctreedir": str(BUILD / "doctrees" / builder),
        "confoverrides": {"nitpicky": True, **dict(options.confoverrides)},
        "warningiserror": True,
    }
    kept, published = Kept(builder, out, [repr(options)]), BUILD / "html"
    asked = options.write_all or options.freshenv
    if html and not asked and (said := kept.unchanged(published)) is not None:
        print("Nothing has changed since the last build.", *said, STANDS, sep="\n")
        return 0
    kept.begin()
    child = _Child(for_sphinx)
    verdict = child.watch()
    if "unusable_gpu" in verdict:
        raise UnusableGPU(verdict["unusable_gpu"])
    status = verdict["status"]
    if status == 0:
        if html:
            publish(out, published)
            print(STANDS)
        kept.trust(published if html else None, child.lasting)
        prune()
    else:
        if "text" in verdict:
            print(f"build_site: {verdict['text']}", file=sys.stderr)
        if not verdict.get("is_known", True) and kept.is_to_blame():
            forget_all()
            print("What was kept from earlier builds was removed: build again.")
        if html and published.exists():
            print(LAST_GOOD)
    return status


class _Child:
    """The process that builds, and what it is doing."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.running: tuple[str, str] | None = None
        self.since = self.spoken = self.weighed = monotonic()
        self.limit = self.most_bytes = float("inf")
        self.lasting: list[str] = []
        self.verdict: dict[str, Any] | None = None
        self.process = subprocess.Popen(
            (*SPHINX, json.dumps(options)),
            stdin=subprocess.PIPE,  # closes with this process, and ends the child
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                **with_our_packages(os.environ),
                CHANNEL: "1",
                # Pages are read as UTF-8, and so is what the child prints.
                "PYTHONIOENCODING": "utf-8:backslashreplace",
                "PYTHONUTF8": "1",
                "PYTHONUNBUFFERED": "1",
                # MyST-NB notes in UTC when cells ran, and reads it as local time.
                "TZ": "UTC",
            },
            start_new_session=True,  # so that what a lesson started ends with it
        )

    def watch(self) -> dict[str, Any]:
        """Pass on what the child says until it ends; return its verdict."""
        lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

        def read() -> None:
            for line in self.process.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        try:
            while not self._is_too_large():
                try:
                    line = lines.get(timeout=SECONDS_OF_GROWTH)
                except queue.Empty:
                    if self._is_over():
                        break
                else:
                    if line is None:
                        break
                    self._take(line.decode(errors="replace").rstrip("\r\n"))
            return self.verdict or self._judge()
        except KeyboardInterrupt:
            return _failed("interrupted" + self._doing())
        finally:
            end_all(self.process.pid)  # and all that it has started
            self.process.wait()

    def _take(self, line: str) -> None:
        text, mark, event = line.partition(MARK)
        frame = FRAME.match(text)
        if frame and not (self.running and frame[1] == self.running[1]):
            return
        if text.strip() and not NOISE.match(text):
            print(text, flush=True)
        if not mark:
            return
        facts = json.loads(event)
        match facts.pop("event"):
            case "said":
                print(facts["text"], flush=True)
                if facts["lasting"]:
                    self.lasting.append(facts["text"])
            case "limit":
                self.limit = facts["seconds"]
                self.most_bytes = facts["megabytes"] * 10**6
            case "begun":
                self.running = facts["kind"], facts["name"]
                self.since = self.spoken = monotonic()
            case "passed":
                self.running = None
            case "ended":
                self.running = None
                _print_time(facts["kind"], facts["name"], facts["seconds"])
            case "built":
                self.verdict = facts
            case "failed":
                self.verdict = facts | _failed(facts["text"] + self._doing())

    def _is_over(self) -> bool:
        """Whether there is nothing left to wait for; speak up now and then."""
        now = monotonic()
        if self.verdict is not None:  # a thread, or a child of its own, keeps it alive
            return now - self.since > SECONDS_TO_END
        if self.running is not None:
            seconds = now - self.since
            kind, name = self.running
            if kind == "lesson" and seconds > self.limit + SECONDS_OF_GRACE:
                self.verdict = _failed(
                    f"{name} did not end within {seconds:.0f} seconds, and its own "
                    "clock could not stop it."
                )
                return True
            if now - self.spoken > SECONDS_OF_SILENCE:
                self.spoken = now
                _print_time(kind, name, seconds, "so far")
        return self.process.poll() is not None

    def _is_too_large(self) -> bool:
        """Whether what runs takes more memory than it may."""
        now = monotonic()
        if self.verdict is not None or now - self.weighed < SECONDS_OF_GROWTH:
            return False
        self.weighed = now
        taken = sum(taken_by(self.process.pid).values())
        if taken <= self.most_bytes:
            return False
        what = self.running[1] if self.running else "the build"
        self.verdict = _failed(
            f"{what} takes {taken / 1e9:.1f} GB of memory, "
            f"{self.most_bytes / 1e9:.1f} GB at most (memory_limit)."
        )
        return True

    def _judge(self) -> dict[str, Any]:
        """Return the verdict on a child that ended without one."""
        try:
            status = self.process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            status = None
        kind, name = self.running or ("", "")
        if kind == "lesson" and monotonic() >= self.since + self.limit:
            return _failed(
                f"{name} ran longer than {self.limit} seconds, in code that Python "
                "cannot interrupt."
            )
        ended = f"ended with status {status}"
        if status is not None and status < 0:
            name = signal.Signals(-status).name
            often = ": often a lack of memory" if name == "SIGKILL" else ""
            ended = f"was ended by {name}{often}"
        said = f"The process that builds {ended}, before it was done"
        return _failed(said + self._doing())

    def _doing(self) -> str:
        return f" (while running {self.running[1]})" if self.running else ""


def _failed(text: str) -> dict[str, Any]:
    return {"status": 2, "text": text}


def _print_time(kind: str, name: str, seconds: float, end: str = "") -> None:
    print(f"{kind:6}  {name:30}  {seconds:6.1f} s {end}".rstrip(), flush=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options, under the names that Sphinx has for them."""

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise BuildProblem(f"{message}. `--help` lists the options.")

    parser = Parser(
        description="Build the site; the options are sphinx-build's.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "-b", "--builder", dest="buildername", choices=BUILDERS, default="html",
        help="what to make",
    )  # fmt: skip
    add("-a", "--write-all", action="store_true", help="write all pages")
    add(
        "-E", "--fresh-env", dest="freshenv", action="store_true",
        help="read all pages anew",
    )  # fmt: skip
    add(
        "-j", "--jobs", dest="parallel", type=_jobs, default=1, metavar="N",
        help="processes, or auto",
    )  # fmt: skip
    add(
        "-D", "--define", dest="confoverrides", type=_setting, action="append",
        default=[], metavar="NAME=VALUE", help="override an option of conf.py",
    )  # fmt: skip
    add(
        "-t", "--tag", dest="tags", action="append", default=[], metavar="TAG",
        help="define a tag",
    )  # fmt: skip
    add(
        "-v", "--verbose", dest="verbosity", action="count", default=0,
        help="more, twice: much more",
    )  # fmt: skip
    return parser.parse_args(arguments)


def _jobs(text: str) -> int:
    if text == "auto":
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _require_room() -> None:
    sections = (ROOT / "docs" / "auto_examples").glob("*/")
    kept = [folder for folder in (*KEPT, *sections) if folder.is_dir()]
    for folder in (ROOT / "docs", BUILD, *kept):
        try:
            folder.mkdir(exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"\0" * 4096)
        except OSError as error:
            name = folder.relative_to(ROOT).as_posix()
            raise BuildProblem(
                f"Cannot write to the folder {name}: {error.strerror}. "
                "Make it writable, or build in a copy of the repository."
            ) from None
    free = shutil.disk_usage(BUILD).free
    if free < NEEDED_BYTES:
        raise BuildProblem(
            f"Only {free // 2**20} MB are free on the disk: the build needs "
            f"{NEEDED_BYTES // 2**20} MB. Free some space."
        )


def main() -> int:
    """Build with the command line's arguments; say a problem in one line."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl+C does
    for stream in (sys.stdout, sys.stderr):  # whatever letters the locale has
        stream.reconfigure(errors="backslashreplace")
    try:
        check()
        return build(_parse(sys.argv[1:]))
    except (BuildProblem, UnfitMachine) as problem:
        print(f"build_site: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
