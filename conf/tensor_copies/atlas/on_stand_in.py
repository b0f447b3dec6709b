"""``python -m tensor_copies.atlas.on_stand_in``: probe with the stand-in device.

It prints what ``atlas.py --json`` prints where the stand-in is a second device. A
Python of its own compiles the device if need be, since that imports torch.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tensor_copies.machine.fingerprint import CONF
from tensor_copies.stand_in import CACHE, NoStandIn, environment
from tensor_copies.stand_in.compiling import compiled

NO_DEVICE = 2  # the exit status if there is no stand-in here


def main() -> int:
    """Return the exit status of the probes, ``NO_DEVICE`` if there is no device."""
    try:
        compiled(CACHE)
    except NoStandIn as missing:
        print(str(missing).partition("\n")[0], file=sys.stderr)
        return NO_DEVICE
    command = [sys.executable, str(CONF / "standalone" / "atlas.py"), "--json"]
    return subprocess.run(command, env=os.environ | environment(CACHE)).returncode


if __name__ == "__main__":
    sys.exit(main())
