"""Tensor maps: what live PyTorch tensors share, and where their gradients flow.

``tensor_map(w, y, z)`` draws tensors, or prints them as a table. With steps, a drawing
follows each statement of a block, in a notebook or in a file to share::

    with steps() as seen:
        z = w.detach()
    seen.save("steps.html")

``sharing(a, b)`` says why two tensors share memory, ``flows`` which a gradient
reaches, ``saved`` what a graph keeps for backward, and ``holders`` who keeps a memory
alive; :mod:`tensor_maps.testing` asserts it. Nothing of PyTorch is changed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Not later: the name of the folder would stand in the place of the function.
from tensor_maps.steps import steps

if TYPE_CHECKING:
    from tensor_maps.maps import TensorMap, tensor_map
    from tensor_maps.referrers import holders
    from tensor_maps.relations import flows, saved, sharing
    from tensor_maps.steps.watch import Steps, load_ipython_extension

__version__ = "0.1.0"
# Imported when first asked for: drawings and words need no torch, which takes seconds.
_HOMES = {
    "Steps": "steps.watch",
    "TensorMap": "maps",
    "flows": "relations",
    "holders": "referrers",
    "load_ipython_extension": "steps.watch",
    "saved": "relations",
    "sharing": "relations",
    "tensor_map": "maps",
}
__all__ = ["Steps", "TensorMap", "__version__", "flows", "holders", "saved", "steps"]
__all__ += ["load_ipython_extension", "sharing", "tensor_map"]


def __getattr__(name: str) -> Any:
    """Import what is asked for first now."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
