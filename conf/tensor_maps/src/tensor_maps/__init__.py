"""Tensor maps: what live PyTorch tensors share, and where their gradients flow.

In a notebook::

    from tensor_maps import tensor_map

    tensor_map(w, y, z)

and for a map after each statement of a block, in a notebook or in a file to share::

    from tensor_maps import steps

    with steps() as seen:
        z = w.detach()
    seen.save("steps.html")

``sharing(a, b)`` says why two tensors share memory, ``flows`` which a gradient
reaches, ``saved`` what a graph keeps for backward, and ``holders`` who keeps a memory
alive; :mod:`tensor_maps.testing` asserts it.

A picture is made in two stages. :func:`tensor_maps.observe.observe` looks at the
tensors and returns plain data; :mod:`tensor_maps.draw` and :mod:`tensor_maps.words`
turn the data into drawings and into words. Nothing of PyTorch is changed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Not later: the name of the folder would stand in the place of the function.
from tensor_maps.steps import steps

if TYPE_CHECKING:
    from tensor_maps.backward import saved
    from tensor_maps.maps import TensorMap, tensor_map
    from tensor_maps.notebook import load_ipython_extension
    from tensor_maps.referrers import holders
    from tensor_maps.relations import flows, sharing
    from tensor_maps.steps.watch import Steps

__version__ = "0.1.0"
# Imported when first asked for: drawings and words need no torch, which takes seconds.
_HOMES = {
    "Steps": "steps.watch",
    "TensorMap": "maps",
    "flows": "relations",
    "holders": "referrers",
    "load_ipython_extension": "notebook",
    "saved": "backward",
    "sharing": "relations",
    "tensor_map": "maps",
}
__all__ = [
    "Steps",
    "TensorMap",
    "__version__",
    "flows",
    "holders",
    "load_ipython_extension",
    "saved",
    "sharing",
    "steps",
    "tensor_map",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for first now."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
