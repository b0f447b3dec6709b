"""What a build says of itself, whatever level of Sphinx's own log is shown."""

from __future__ import annotations

import errno
import shutil

CURES = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room")
CURES |= {errno.ENOENT: "build again", errno.EBUSY: "mount its parent instead"}


def say(text: str) -> None:
    """Say a line to the person who builds."""
    print(text, flush=True)


def say_time(kind: str, name: str, seconds: float) -> None:
    """Say how long a lesson or a page ran."""
    say(f"{kind:6}  {name:30}  {seconds:6.1f} s")


def of_file(error: OSError) -> str:
    """Say what the system did not let us do with a file, and how to mend it."""
    if isinstance(error, shutil.Error):  # of many files, each with its reason
        return error.args[0][0][-1]
    if error.filename is None:
        return str(error)
    cure = CURES.get(error.errno, "remove it, or change its permissions")
    return f"{error.filename}: {error.strerror}: {cure}"
