"""What is compared of each named tensor from one statement to the next."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import torch

from tensor_maps.compare import MOST_STEP_NODES
from tensor_maps.graph import node_name
from tensor_maps.memory import array_address
from tensor_maps.observe import observe
from tensor_maps.reading import (
    array_digest,
    digest_of,
    has_gradient,
    is_array,
    is_drawn,
    readable,
    see_autograd,
    shape_of,
    storage_address,
    strides_of,
    tried,
)

# Names that are looked at; of these, how many a picture has, and of a list or a dict,
# how many of its tensors have a name.
MOST_NAMES, MOST_DRAWN, MOST_ITEMS = 40, 6, 4
# A larger tensor is not read: its version says whether it was written to.
MOST_READ_BYTES = 2**12
HISTORY = ("In", "Out")  # of IPython


class Identity:
    """Tells one object from all others, also when it is gone; does not keep it alive.

    The id of an object that is gone may be that of another one.
    """

    __slots__ = ("reference",)

    def __init__(self, value: object) -> None:
        self.reference = weakref.ref(value)

    def __eq__(self, other: object) -> bool:
        # Of one object there is one reference.
        return isinstance(other, Identity) and self.reference is other.reference

    __hash__ = None


class Fact(NamedTuple):
    """What is compared of one named tensor or array from step to step.

    The names are the kinds of :func:`differences`. ``storage`` has numbers only:
    nothing is kept alive by a fact.
    """

    other: Identity
    storage: tuple
    form: tuple
    values: str | None
    version: int | None = None
    gradient: tuple | None = None
    requires_grad: bool = False
    retains_grad: bool = False
    graph: str | None = None


class Look(NamedTuple):
    """One look: what is compared, what can be drawn, and how many names there are."""

    facts: dict[str, Fact]
    observed: dict
    names: int


def look(
    namespace: Any, was: Look | None = None, old: dict[str, Fact] | None = None
) -> Look:
    """Look at the tensors of a namespace, as if nobody had looked.

    What is one of the ``old`` objects, under its old name, is passed over.
    """
    if _capturing():
        return was or Look({}, observe({}), 0)
    collects = gc.isenabled()
    gc.disable()  # what a collection frees, the program itself must free
    try:
        with _unseen():
            found, number = _named_in(namespace, old or {})
            facts = {name: _fact(value) for name, value in found.items()}
            if was is not None and (was.facts, was.names) == (facts, number):
                return was
            observed = observe(found, MOST_STEP_NODES, MOST_READ_BYTES)
    finally:
        if collects:
            gc.enable()
    return Look(facts, observed, number)


def _capturing() -> bool:
    """Whether CUDA records a graph, which reading a value would break."""
    cuda = torch.cuda
    return cuda.is_initialized() and tried(cuda.is_current_stream_capturing, False)


@contextmanager
def _unseen() -> Iterator[None]:
    """Keep what we call from the modes that the program has switched on."""
    python_modes = torch.utils._python_dispatch._disable_current_modes
    active = torch._C._len_torch_dispatch_stack() > 0
    with torch._C.DisableTorchFunction(), python_modes() if active else nullcontext():
        yield


def _named_in(namespace: Any, old: dict[str, Fact]) -> tuple[dict[str, Any], int]:
    """Return tensors and arrays by name, at most 40, and how many there are in all."""
    found: dict[str, Any] = {}
    for name, value in list(namespace.items()):
        if name in HISTORY and not is_drawn(value):
            continue
        if isinstance(name, str) and not name.startswith("_"):
            found.update(tried(lambda n=name, v=value: _parts(n, v), {}))
    new = {
        name: value
        for name, value in found.items()
        if name not in old or old[name].other != Identity(value)
    }
    return dict(itertools.islice(new.items(), MOST_NAMES)), len(new)


def _parts(name: str, value: Any) -> dict[str, Any]:
    kind = type(value)
    if is_drawn(value):
        return {name: value}
    if issubclass(kind, torch.nn.Module):
        both = (torch.nn.Module.named_parameters, torch.nn.Module.named_buffers)
        return {
            f"{name}.{part}": tensor
            for named in both
            for part, tensor in named(value, remove_duplicate=False)
        }
    if kind in (list, tuple):
        items = [(str(at), item) for at, item in enumerate(value[:MOST_ITEMS])]
    elif kind in (dict, OrderedDict):
        first = list(itertools.islice(value.items(), MOST_ITEMS))
        items = [(repr(key), item) for key, item in first if type(key) in (str, int)]
    else:
        items = []
    return {f"{name}[{at}]": item for at, item in items if is_drawn(item)}


def _fact(value: Any) -> Fact:
    if is_array(value):
        form = (value.shape, value.strides, str(value.dtype))
        digest = array_digest(value, MOST_READ_BYTES)
        return Fact(Identity(value), (array_address(value),), form, digest)
    autograd, function = see_autograd(value), tried(lambda: value.grad_fn)
    gradient = tried(lambda: value.grad) if has_gradient(autograd) else None
    return Fact(
        Identity(value),
        _place(value),
        (shape_of(value), strides_of(value), str(value.dtype), str(value.device)),
        digest_of(readable(value), MOST_READ_BYTES),
        autograd["version"],
        None if gradient is None else _gradient_fact(gradient),
        autograd["requires_grad"],
        autograd["retains_grad"],
        None if function is None else node_name(function),
    )


def _gradient_fact(gradient: torch.Tensor) -> tuple:
    digest = digest_of(readable(gradient), MOST_READ_BYTES)
    # A small one is what its values are; a large one what its memory and version are.
    if digest is not None:
        return (digest,)
    return (_place(gradient), tried(lambda: gradient._version))


def _place(tensor: torch.Tensor) -> tuple:
    """Return the storage of a tensor as a number, its address, and where it begins."""
    storage = tried(tensor.untyped_storage)
    if storage is None:
        return ()
    return (storage._cdata, storage_address(tensor), tried(tensor.storage_offset))


def differences(
    before: dict[str, Fact], after: dict[str, Fact]
) -> dict[str, frozenset[str]]:
    """Return by name what differs.

    That is "new", "gone", "other" (another object), "values", "version", "gradient",
    "storage", "form" (shape, strides, dtype, device), "requires_grad", "retains_grad"
    or "graph" (the operation that it comes from).
    """
    found = {}
    for name, now in after.items():
        was = before.get(name)
        if was == now:
            continue
        kinds = {"new"}
        if was is not None:
            kinds = {
                kind
                for kind, one, other in zip(Fact.__annotations__, was, now, strict=True)
                if one != other
            }
        if now.values is None and "version" in kinds:
            kinds.add("values")
        found[name] = frozenset(kinds)
    return found | {name: frozenset({"gone"}) for name in before if name not in after}
