"""Tell which machine runs the examples: its device, and its torch, NumPy and Python.

``python -m tensor_copies.gallery.machine`` (in conf/) prints its name for files.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """What runs the examples; ``device_kind`` is cpu, cuda or simulated."""

    device_kind: str
    device_name: str
    torch: str
    numpy: str
    python: str

    @property
    def name(self) -> str:
        """A name for files: device, torch, NumPy and Python, nothing else."""
        words = (
            f"{self.device_kind} {self.device_name} torch {self.torch} "
            f"numpy {self.numpy} py {_minor(self.python)}"
        )
        return re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")

    @property
    def label(self) -> str:
        """A short name for readers."""
        return f"{self._device}, torch {self._torch}, Python {_minor(self.python)}"

    @property
    def in_sentence(self) -> str:
        """What stands after "on" in a sentence."""
        if self.device_kind == "simulated":
            return f"a {self._device} (torch {self._torch})"
        return f"{self._device} with torch {self._torch}"

    @property
    def _device(self) -> str:
        if self.device_kind == "cuda":
            return f"CUDA ({self.device_name})"
        return "CPU" if self.device_kind == "cpu" else "simulated device"

    @property
    def _torch(self) -> str:
        return self.torch.partition("+")[0]

    def __str__(self) -> str:
        versions = f"torch {self.torch}, NumPy {self.numpy}, Python {self.python}"
        return f"{versions} on {self.device_name}"


@cache
def this_machine() -> Machine:
    """Return the machine that builds."""
    versions = version("torch"), version("numpy"), platform.python_version()
    return Machine(*_device(), *versions)


def _device() -> tuple[str, str]:
    if not version("torch").endswith("+cpu"):  # to import torch takes two seconds
        import torch

        if torch.cuda.is_available():
            return "cuda", torch.cuda.get_device_name()
    return "cpu", _cpu_name()


def _cpu_name() -> str:
    """Name the processor's model."""
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    info = Path("/proc/cpuinfo")
    said = info.read_text() if info.exists() else ""
    named = re.search(r"^model name\s*:\s*(.+)$", said, re.MULTILINE)
    return named[1].strip() if named else platform.machine()


def compiler() -> str | None:
    """Return the C++ compiler of this machine, or None: then nothing is simulated."""
    named = () if sys.platform == "win32" else (os.environ.get("CXX"), "g++", "c++")
    return next(filter(None, map(shutil.which, filter(None, named))), None)


def _minor(python: str) -> str:
    return ".".join(python.split(".")[:2])


if __name__ == "__main__":
    print(this_machine().name)
