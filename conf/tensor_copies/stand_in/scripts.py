"""Run a script that asks for CUDA on the stand-in device.

A script chooses its device in the usual way, ``device = "cuda" if
torch.cuda.is_available() else "cpu"``, and compares with that name later. Nothing in
torch is made to lie about it: the script's own text gets the other name, everywhere.
``torch.cuda`` becomes ``torch.standin``, ``x.cuda()`` becomes ``x.standin()``, and
what it prints as its device is ``standin``.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import ModuleType

AUTOLOAD = Path(__file__).with_name("autoload")
CONF = Path(__file__).parents[2]
# Where a new Python finds what is ours.
PACKAGES = (CONF, CONF / "tensor_maps" / "src")
CACHE_VARIABLE = "TENSOR_COPIES_STAND_IN"
# Lessons that say nothing about a second device, with the reason.
LEFT_OUT = {
    "pages_of_a_copy": "It counts the pages of host memory: its device is the CPU, "
    "on every machine.",
}

TIMES = "It shows times. Those of the stand-in device are times of this host."
STREAMS = (
    "It shows what happens while the device is busy. Calls to the stand-in device "
    "return when its work is done."
)
# Blocks that run, and show what cannot be true of the stand-in, with the reason. A
# block is told by a piece of its code; it stands in one block of its lesson.
BLOCKS_LEFT_OUT = {
    "copy_a_tensor": {"axes.errorbar(": TIMES},
    "cost_of_an_ndarray": {"perfplot.bench(": TIMES},
    "copy_between_devices": {
        "median_of_ten(": TIMES,
        "pinned.fill_(": STREAMS,
        "result.is_pinned()": STREAMS,
    },
    "lists_into_a_tensor": {"Timer(": TIMES},
    "measure_a_copy": {"Compare(": TIMES, "axes.errorbar(": TIMES},
    "memory_of_a_copy": {
        "gaps = ": "CUDA packs a slice with gaps on the device before it copies. The "
        "stand-in device does not.",
    },
    "out_of_memory": {
        "memory_reserved()": "CUDA's allocator keeps what is deleted for its next "
        "tensors. The stand-in device keeps nothing.",
    },
    "what_waits": {"event.query()": STREAMS, "perf_counter()": TIMES},
    "why_a_copy_costs": {"quarters_of = ": TIMES},
}


def left_out(lesson: str, code: str) -> str:
    """Return why the stand-in's output of a block is not shown, or nothing."""
    if lesson in LEFT_OUT:
        return LEFT_OUT[lesson]
    pieces = BLOCKS_LEFT_OUT.get(lesson, {})
    return next((why for piece, why in pieces.items() if piece in code), "")


def for_stand_in(source: str) -> str:
    """Return Python code with the stand-in's name where it names CUDA.

    ``cuda`` is replaced as a word and as a part of a name between underscores, in
    code and in strings. ``CUDA`` in prose stays, and so does every line's number.
    """
    return re.sub(r"(?<![A-Za-z])cuda(?![A-Za-z])", "standin", source)


def environment(cache: Path) -> dict[str, str]:
    """Return variables with which a new Python has the device once it imports torch.

    torch itself loads what is registered under ``torch.backends``; the folder
    ``autoload`` registers it. For child processes, and for a notebook's kernel;
    ``cache`` is the folder that :func:`tensor_copies.stand_in.load` was given.
    """
    return search_path(*PACKAGES, AUTOLOAD) | {CACHE_VARIABLE: str(cache.resolve())}


def search_path(*folders: Path) -> dict[str, str]:
    """Return the variable with which a new Python finds packages in these folders."""
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = dict.fromkeys([*map(str, folders), *filter(None, before)])
    return {"PYTHONPATH": os.pathsep.join(paths)}


def run(script: Path, arguments: list[str]) -> None:
    """Run a script as ``python script`` does, on the stand-in device.

    The device is loaded, here and for child processes, before this is called.
    """
    source = for_stand_in(script.read_text(encoding="utf-8"))
    module = ModuleType("__main__")
    module.__file__ = str(script)
    sys.modules["__main__"] = module
    sys.argv = [str(script), *arguments]
    sys.path[0] = str(script.parent.resolve())
    exec(compile(source, str(script), "exec"), module.__dict__)
