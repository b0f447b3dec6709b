"""Who runs the examples: the fingerprint of the machine and its packages.

A *machine* is what runs the examples. Every stamp on a page, every recording and
everything that is kept between two builds goes back to the one fingerprint made here.
``python -m tensor_copies.run.fingerprint`` prints it, in conf/: first the
signature, then what it stands for.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata, util
from pathlib import Path
from time import time

CONF = Path(__file__).resolve().parents[2]
# Where a new Python finds what is ours.
PACKAGES = (CONF, CONF / "tensor_maps" / "src")
OLDEST_PYTHON = (3, 11)
OLDEST_TORCH = (2, 6)
# Packages whose version shapes what a lesson prints or draws, or how it is captured.
SHAPING = ("matplotlib", "perfplot", "sphinx-gallery", "myst-nb", "ipykernel")
TO_RECORD = (
    *("torch", "numpy", "matplotlib", "perfplot"),
    *("sphinx", "sphinx-gallery", "joblib", "psutil"),
)
# A machine without the last two can record all but the page of errors.
TO_BUILD = (*TO_RECORD, *SHAPING, "furo", "pandas", "pillow", "hatchling")
# What an environment variable asks of the benchmarks. Most of the long one's time
# goes into counting instructions, a minute for each method.
QUALITY = "BENCHMARK_QUALITY"
# Which GPUs CUDA sees; set to nothing, it sees none.
VISIBLE = "CUDA_VISIBLE_DEVICES"
# The day of a run, in seconds since 1970, for who builds a site twice and compares
# (https://reproducible-builds.org/specs/source-date-epoch/).
EPOCH = "SOURCE_DATE_EPOCH"
LESSON_SECONDS = {"quick": 600, "normal": 600, "long": 3600}
INSTALL = "run `nox -s docs`, or `python -m pip install --group docs` with pip 25.1"
# What a device is called in a sentence, and in a label, by its kind.
DEVICES = {
    "cpu": ("the CPU ({})", "CPU"),
    "cuda": ("CUDA ({})", "CUDA ({})"),
    "stand-in": ("the simulated device (in CPU memory)", "simulated device"),
}


class UnfitMachine(Exception):
    """The machine cannot build the site; the message says why and how to mend it."""


class UnusableGPU(UnfitMachine):
    """torch sees a GPU, and its first use fails; ``said`` is that alone."""

    def __init__(self, why: str) -> None:
        self.why = why.partition("\n")[0]
        self.said = f"torch says that it has CUDA and cannot use it ({self.why})"
        super().__init__(f"{self.said}. To run on the CPU, set {VISIBLE} to nothing.")


@dataclass(frozen=True)
class Fingerprint:
    """What a machine is: equal fingerprints are the same machine for the reader.

    ``device_kind`` is one of :data:`DEVICES`. What the results of a machine hang on
    besides (our code, the packages that draw) is a matter of keys, not of identity:
    see freshness.py.
    """

    device_kind: str
    device_name: str
    torch: str
    numpy: str
    python: str

    @property
    def signature(self) -> str:
        """Sixteen hexadecimal digits that differ when any field differs."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """A name for files: device, torch, NumPy and Python, nothing else."""
        python = _minor(self.python)
        words = (
            f"{self.device_kind} {self.device_name} torch {self.torch} "
            f"numpy {self.numpy} py {python}"
        )
        return re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")

    @property
    def label(self) -> str:
        """A short name of the machine for readers."""
        return f"{self._device}, torch {self._torch}, Python {_minor(self.python)}"

    @property
    def in_sentence(self) -> str:
        """What a reader tells the machine by, after "on"."""
        if self.device_kind == "stand-in":
            return f"a {self._device} (torch {self._torch})"
        return f"{self._device} with torch {self._torch}"

    @property
    def _device(self) -> str:
        return DEVICES[self.device_kind][1].format(self.device_name)

    @property
    def _torch(self) -> str:
        return self.torch.partition("+")[0]

    def __str__(self) -> str:
        device = DEVICES[self.device_kind][0].format(self.device_name)
        return (
            f"torch {self.torch}, NumPy {self.numpy}, Python {self.python} on {device}"
        )


def check(needed: tuple[str, ...] = TO_BUILD) -> None:
    """Raise :class:`UnfitMachine` if Python, a package or the environment is unfit."""
    if sys.version_info < OLDEST_PYTHON:
        oldest, here = ".".join(map(str, OLDEST_PYTHON)), platform.python_version()
        raise UnfitMachine(f"Python {here} is too old: use Python {oldest} or newer.")
    if missing := [one for one in dict.fromkeys(needed) if version_of(one) is None]:
        raise UnfitMachine(f"Not installed: {', '.join(missing)}. First, {INSTALL}.")
    lesson_seconds()
    today()
    torch = version_of("torch")
    if tuple(map(int, re.findall(r"\d+", torch)[:2])) < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        raise UnfitMachine(f"torch {torch} is too old: install torch>={oldest}.")


def lesson_seconds() -> int:
    """Return how long a lesson may run, in seconds: longer where it times longer.

    Raises ``UnfitMachine`` if ``BENCHMARK_QUALITY`` is none that the lessons know.
    """
    if quality() not in LESSON_SECONDS:
        known = ", ".join(LESSON_SECONDS)
        raise UnfitMachine(f"{QUALITY} is {quality()!r}: set one of {known}, or none.")
    return LESSON_SECONDS[quality()]


def quality() -> str:
    """Return what ``BENCHMARK_QUALITY`` asks for; unset and normal are one."""
    return os.environ.get(QUALITY, "normal")


def today() -> str:
    """Return the ISO date of a run that ends now."""
    return day_of(time())


def day_of(moment: float) -> str:
    """Return the ISO date of a run that ended then, in seconds since 1970.

    Raises ``UnfitMachine`` if ``SOURCE_DATE_EPOCH`` is no such number.
    """
    said = os.environ.get(EPOCH)
    try:
        ended = datetime.fromtimestamp(int(said) if said else moment, UTC)
    except (ValueError, OverflowError, OSError):
        raise UnfitMachine(
            f"{EPOCH} is {said!r}: set a number of seconds since 1970, or nothing."
        ) from None
    return ended.date().isoformat()


@cache
def fingerprint() -> Fingerprint:
    """Return the fingerprint of this machine; raise :class:`UnfitMachine` if unfit.

    A CPU build of torch is recognised without importing it (which takes two
    seconds); only a build for a GPU is asked whether it sees one.
    """
    check(("torch", "numpy"))
    torch, numpy = version_of("torch"), version_of("numpy")
    return Fingerprint(*_device(), torch, numpy, platform.python_version())


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def version_of(package: str) -> str | None:
    """Return the version of an installed package, None if it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _device() -> tuple[str, str]:
    folder = Path(util.find_spec("torch").origin).parent
    build: dict[str, object] = {}
    exec((folder / "version.py").read_text(encoding="utf-8"), build)
    for_gpu = build.get("cuda") or build.get("hip")
    if for_gpu and os.environ.get(VISIBLE) not in ("", "-1"):
        import torch

        try:
            if torch.cuda.is_available():
                return "cuda", torch.cuda.get_device_name()
        except Exception as error:  # a driver that does not fit, of whatever type
            raise UnusableGPU(str(error)) from None
    return "cpu", _cpu_name()


def _cpu_name() -> str:
    """Name the processor's model, never the machine."""
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    info = Path("/proc/cpuinfo")
    said = info.read_text() if info.exists() else ""
    named = re.search(r"^model name\s*:\s*(.+)$", said, re.MULTILINE)
    return named[1].strip() if named else platform.machine()


def main() -> int:
    """Print the signature and what it stands for, on one line."""
    try:
        print(fingerprint().signature, fingerprint())
    except UnfitMachine as unfit:
        print(f"machine: {unfit}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
