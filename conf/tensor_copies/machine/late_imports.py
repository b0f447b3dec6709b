"""What torch imports only when it is used, and takes longer than most programs take.

A Python that runs or forks several programs imports it before, once.
"""

from __future__ import annotations

# An optimizer and an operator on the meta device import torch's compiler.
LATE = {"optim": "torch._dynamo", "meta": "torch._dynamo"}


def imported_late(code: str) -> list[str]:
    """Return the modules that torch will import when such code runs."""
    return sorted({module for word, module in LATE.items() if word in code})
