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
    ABI, the command. Any number of processes may ask at once: one of them compiles,
    and the others wait.

    Raises
    ------
    NoCompiler
        If there is none and no C++ compiler to make one: neither what the
        variable ``CXX`` names, nor ``g++``, nor ``c++``.
    NoStandIn
        If the compiler refuses the source, with what it said.
    """
    command = _command()
    library = cache / f"device-{_key(command)}.so"
    if library.exists():
        return library
    compiler = _compiler()
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache.with_name(f"{cache.name}.lock")):
        if not library.exists():
            _compile(compiler, command, library)
    return library


def _compile(compiler: str, command: list[str], library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="compiling-") as folder:
        fresh = Path(folder, library.name)
        done = subprocess.run(
            [compiler, *command, "-o", str(fresh)], capture_output=True, text=True
        )
        if done.returncode:
            report = done.stderr.strip()[:LONGEST_REPORT]
            raise NoStandIn(
                "The stand-in device is left out: "
                f"{compiler} cannot compile it for torch {torch.__version__}.\n{report}"
            )
        fresh.replace(library)


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


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "g++", "c++"):
        if name and (found := shutil.which(name)):
            return found
    raise NoCompiler


def _key(command: list[str]) -> str:
    made_from = [torch.__version__, platform.machine(), *command, SOURCE.read_text()]
    return hashlib.sha256("\n".join(made_from).encode()).hexdigest()[:16]
