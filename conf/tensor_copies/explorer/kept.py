"""What the explorer's probes saw on this machine, kept for the builds to come."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from sphinx.errors import SphinxError
from sphinx.util import logging

from tensor_copies.explorer.data import Explorer, Seen, pack
from tensor_copies.run import kept_json
from tensor_copies.run.ahead import once
from tensor_copies.run.code_keys import SHAPES_EXPLORER, digest_of, key_of
from tensor_copies.run.fingerprint import CONF, fingerprint

logger = logging.getLogger(__name__)
KEPT = CONF.parent / "build" / "explorer"
PROBES = ("-m", "tensor_copies.explorer.probing")
TIME_LIMIT = 600  # seconds


class ProbesFailed(SphinxError):
    """The probes ``of`` a page did not end well; the message is one line."""

    def __init__(self, of: str, said: str) -> None:
        super().__init__(said)
        self.category = of


def printed_by(
    *command: str, of: str, shown_by: str = "", with_device: bool, seconds: float
) -> str:
    """Run probes in a new Python, with the stand-in or not; return what they print.

    Raises
    ------
    ProbesFailed
        If they fail or do not end: the message names ``of`` whom they are, and the
        command that shows more.
    NoStandIn
        If there is no stand-in here.
    """
    # Imported late: it imports torch, which a build that probes nothing does not.
    from tensor_copies.stand_in import new_python

    try:
        done = new_python(*command, with_device=with_device, seconds=seconds)
    except subprocess.TimeoutExpired:
        raise ProbesFailed(of, f"the probes took more than {seconds} s") from None
    if done.returncode != 0:
        said = done.stderr.strip().rpartition("\n")[2]
        raise ProbesFailed(of, f"a probe failed{shown_by}: {said}")
    return done.stdout


def probe_chains() -> tuple[dict[str, Any], Seen]:
    """Run all chains, with the stand-in where this machine has no second device.

    Return the devices and the kinds of x, each by its key; and what was seen, by
    device, kind of x and chain.
    """
    from tensor_copies.stand_in import NoStandIn

    options = {"of": "The explorer", "seconds": TIME_LIMIT}
    second = fingerprint().device_kind == "cpu"
    try:
        said = printed_by(*PROBES, with_device=second, **options)
    except NoStandIn as missing:
        logger.info("Explorer: %s", str(missing).partition("\n")[0])
        said = printed_by(*PROBES, with_device=False, **options)
    head, *rows = map(json.loads, said.splitlines())
    return head, {(on, state, tuple(keys)): one for on, state, keys, one in rows}


@once
def live_explorer() -> Explorer:
    """Return what this machine sees, from the last time it looked if it did."""
    kept = _kept_chains()
    if (packed := kept_json.load(kept)) is None:
        head, seen = probe_chains()
        logger.info("Explorer: probed %d chains", len(seen))
        packed = pack(head, seen)
        kept_json.save(kept, packed)
    return Explorer(packed)


def _kept_chains() -> Path:
    """Return the file of what was seen here by these sources."""
    # Where a compiler comes or goes, so does the stand-in.
    named = filter(None, (os.environ.get("CXX"), "g++", "c++"))
    compiles = str(any(map(shutil.which, named)))
    sources = digest_of(*SHAPES_EXPLORER)
    return KEPT / f"{key_of(fingerprint().signature, sources, compiles)}.json"
