"""Compile the device for the torch that is installed; keep it for the next time.

``torch.utils.cpp_extension`` does the same with ninja and setuptools, which a torch
of its own does not need: one file, no Python in it, is one call of the compiler.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch
from filelock import FileLock  # torch brings it

SOURCE = Path(__file__).with_name("device.cpp")
CACHE = Path(__file__).parents[3] / "build" / "stand_in"
LONGEST_REPORT = 4000  # characters of a compiler's report


class NoStandIn(Exception):
    """There is no stand-in device here; the message is the line to print."""


class NoCompiler(NoStandIn):
    """Nothing here can compile C++."""

    def __init__(self) -> None:
        super().__init__(
            "No C++ compiler: the stand-in device is left out. "
            "Install g++ (Debian: apt-get install g++)"
        )


def compiled(cache: Path) -> Path:
    """Return the compiled device, made now if the folder ``cache`` has none that fits.

    Its name has a hash of all that goes into it: the source, torch's version and
    ABI, the command. Any number of processes may ask at once: one of them compiles.

    Raises
    ------
    NoStandIn
        If there is no compiler, or it refuses the source.
    """
    command = _command()
    library = cache / f"device-{_key(command)}.so"
    if library.exists():
        return library
    named = (os.environ.get("CXX"), "g++", "c++")
    compiler = next(filter(None, map(shutil.which, filter(None, named))), None)
    if compiler is None:
        raise NoCompiler
    cache.mkdir(parents=True, exist_ok=True)
    aside = tempfile.TemporaryDirectory(dir=cache, prefix="compiling-")
    with FileLock(cache.with_name(f"{cache.name}.lock")), aside as folder:
        if not library.exists():
            fresh = Path(folder, library.name)
            command = [compiler, *command, "-o", str(fresh)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise NoStandIn(
                    f"The stand-in device is left out: {compiler} cannot compile it "
                    f"for torch {torch.__version__}.\n"
                    + done.stderr.strip()[:LONGEST_REPORT]
                )
            fresh.replace(library)
    return library


def _command() -> list[str]:
    torch_folder = Path(torch.__file__).parent
    headers = torch_folder / "include"
    return [
        *("-std=c++20", "-O0", "-fPIC", "-shared"),
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        "-DAT_PER_OPERATOR_HEADERS",  # else torch's headers include all operators
        *(f"-I{headers}", f"-I{headers}/torch/csrc/api/include"),
        str(SOURCE),
        # Both are in the process already: the names let the loader find them there.
        *(f"-L{torch_folder}/lib", "-ltorch_cpu", "-lc10"),
    ]


def _key(command: list[str]) -> str:
    made_from = [torch.__version__, platform.machine(), *command, SOURCE.read_text()]
    return hashlib.sha256("\n".join(made_from).encode()).hexdigest()[:16]
