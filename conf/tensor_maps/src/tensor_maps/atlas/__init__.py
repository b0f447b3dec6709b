"""The Atlas: what each call does to memory, graph and device, observed by probes.

``python -m tensor_maps.atlas`` prints what all calls of ``calls.toml`` do. Calls
that need NumPy, pandas or Pillow are left out where these are not installed.
"""

from __future__ import annotations


def observe(code: str, state: str = "leaf", device: str = "cpu") -> dict:
    """Run code on a new ``x`` and return what was seen: see :mod:`.probes`."""
    from tensor_maps.atlas import probes  # not before: the calls need no torch

    return probes.observe(code, state, device)
