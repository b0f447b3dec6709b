"""Start a Python of its own for what is probed in a build, most often with the device.

A build's own process never has it: a second device changes what torch says in some
messages. The rooms that look at what happens between two devices start their probes
here, and learn from one exception that there is no device.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tensor_copies.stand_in.compiling import compiled
from tensor_copies.stand_in.loading import CACHE
from tensor_copies.stand_in.scripts import CONF, PACKAGES, environment, search_path

# These two would change what a probe sees.
CHANGING = ("PYTHONWARNINGS", "CUDA_LAUNCH_BLOCKING")


def new_python(
    *arguments: str,
    with_device: bool = True,
    text: str = "",
    seconds: float | None = None,
    cache: Path = CACHE,
) -> subprocess.CompletedProcess[str]:
    """Run a script, or ``-m`` and a module of ours; return how it ended, and its words.

    ``text`` is its standard input. With the device, torch has it there from its import
    on; it is compiled now if ``cache`` does not keep it.

    Raises
    ------
    NoStandIn
        If it should have the device and there is none here: nothing was run.
    subprocess.TimeoutExpired
        If it takes longer.
    """
    kept = {key: value for key, value in os.environ.items() if key not in CHANGING}
    kept |= search_path(*PACKAGES)
    if with_device:
        compiled(cache)
        kept |= environment(cache)
    return subprocess.run(
        [sys.executable, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=seconds,
        cwd=CONF,
        env=kept,
    )
