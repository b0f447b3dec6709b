"""The day of a run, in UTC on every machine.

``SOURCE_DATE_EPOCH`` says it for who builds a site twice and compares
(https://reproducible-builds.org/specs/source-date-epoch/): seconds since 1970.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from time import time

from tensor_copies.machine.fingerprint import UnfitMachine

EPOCH = "SOURCE_DATE_EPOCH"


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
