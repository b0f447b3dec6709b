"""What the explorer's probes saw on this machine, kept for the builds to come."""

from __future__ import annotations

from functools import cache
from typing import Any

from tensor_copies import simulated
from tensor_copies.explorer.data import Explorer, pack
from tensor_copies.gallery.kept import MAPS, Kept

CODE = (*MAPS, "tensor_copies/explorer/*.py", "tensor_copies/simulated/*")


def made(second_device: bool) -> dict[str, Any]:
    """Run all chains, with the simulated device or not; draw them.

    Returns
    -------
    dict
        ``packed``, what was seen (data.py), and its ``pictures`` (scenes.py).
    """
    # Imported here: they import torch, which a build that probes nothing does not.
    from tensor_copies.explorer.probing import probe_chains
    from tensor_copies.explorer.scenes import pack_pictures

    if second_device:
        simulated.load_device()
    packed = pack(*probe_chains())
    return {"packed": packed, "pictures": pack_pictures(Explorer(packed))}


# A machine without a GPU has the simulated device.
EXPLORER = Kept("explorer", CODE, made, (simulated.is_wanted(),))


@cache
def live_explorer() -> Explorer:
    """Return what this machine sees of every chain."""
    return Explorer(EXPLORER.value()["packed"])


def pictures() -> dict[str, Any]:
    """Return the pictures of all chains."""
    return EXPLORER.value()["pictures"]
