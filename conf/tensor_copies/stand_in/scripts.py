"""Run a script that asks for CUDA on the stand-in device: its text, its environment.

A script chooses its device in the usual way, ``device = "cuda" if
torch.cuda.is_available() else "cpu"``, and compares with that name later. Nothing in
torch is made to lie about it: the script's own text gets the other name, everywhere.
``torch.cuda`` becomes ``torch.standin``, ``x.cuda()`` becomes ``x.standin()``, and
what it prints as its device is ``standin``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tensor_copies.stand_in.compiling import CACHE, compiled

AUTOLOAD = Path(__file__).with_name("autoload")
CONF = Path(__file__).parents[2]
# Where a new Python finds what is ours.
PACKAGES = (CONF, CONF / "tensor_maps" / "src")
CACHE_VARIABLE = "TENSOR_COPIES_STAND_IN"
# These two would change what a probe sees.
CHANGING = ("PYTHONWARNINGS", "CUDA_LAUNCH_BLOCKING")


def for_stand_in(source: str) -> str:
    """Return Python code with the stand-in's name where it names CUDA.

    ``cuda`` is replaced as a word and as a part of a name between underscores, in
    code and in strings. ``CUDA`` in prose stays, and so does every line's number.
    ``torch.version.cuda`` stays too: it tells of the build, which is as it is.
    """
    return re.sub(r"(?<![A-Za-z])(?<!version\.)cuda(?![A-Za-z])", "standin", source)


def environment(cache: Path = CACHE) -> dict[str, str]:
    """Return variables with which a new Python has the device once it imports torch.

    torch itself loads what is registered under ``torch.backends``; the folder
    ``autoload`` registers it. The device is compiled now if ``cache`` does not keep it.
    """
    compiled(cache)
    return _search_path(*PACKAGES, AUTOLOAD) | {CACHE_VARIABLE: str(cache.resolve())}


def new_python(
    *arguments: str,
    with_device: bool = True,
    text: str = "",
    seconds: float | None = None,
    cache: Path = CACHE,
) -> subprocess.CompletedProcess[str]:
    """Run a script, or ``-m`` and a module of ours; return how it ended, and its words.

    A build's own process never has the device: a second one changes what torch says in
    some messages. So whatever is probed in a build runs in a Python of its own, whose
    standard input is ``text``.

    Raises
    ------
    NoStandIn
        If it should have the device and there is none here: nothing was run.
    subprocess.TimeoutExpired
        If it takes longer.
    """
    kept = {key: value for key, value in os.environ.items() if key not in CHANGING}
    kept |= environment(cache) if with_device else _search_path(*PACKAGES)
    return subprocess.run(
        [sys.executable, *arguments],
        input=text, capture_output=True, text=True, timeout=seconds, cwd=CONF, env=kept,
    )  # fmt: skip


def _search_path(*folders: Path) -> dict[str, str]:
    """Return the variable with which a new Python finds packages in these folders."""
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = dict.fromkeys([*map(str, folders), *filter(None, before)])
    return {"PYTHONPATH": os.pathsep.join(paths)}
