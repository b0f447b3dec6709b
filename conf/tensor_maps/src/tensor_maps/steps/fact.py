"""What is compared of one tensor or array, and how two such facts differ."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import torch

from tensor_maps.memory import array_address, array_reach
from tensor_maps.reading import (
    is_array,
    see_autograd,
    shape_of,
    storage_address,
    strides_of,
    tried,
)
from tensor_maps.ways import node_name


class Identity:
    """Tells one object from all others, and does not keep it alive.

    A tensor is known by its id and by the Python object of its storage, to which
    there is a weak reference; a weak reference to the tensor itself would make
    ``torch.utils.swap_tensors`` refuse, and one to an array ``ndarray.resize``. So an
    array is known by its id and its type. The limit: another tensor with the id of
    one that was freed during the same statement is taken for it if it is on the same
    storage, and another array always; all else that is compared of them differs then
    if anything does.
    """

    __slots__ = ("key", "storage")

    def __init__(self, value: object, storage: weakref.ref | None) -> None:
        self.key = (id(value), type(value))
        self.storage = storage

    def __eq__(self, other: object) -> bool:
        # Of one storage there is one reference.
        return (
            isinstance(other, Identity)
            and self.key == other.key
            and self.storage is other.storage
        )

    __hash__ = None

    def number(self) -> tuple:
        """Return what can be looked up while this identity lives."""
        return (*self.key, id(self.storage))


def storage_reference(value: Any) -> weakref.ref | None:
    """Return a weak reference to the storage of a tensor, of which there is one."""
    if is_array(value):
        return None
    return tried(lambda: weakref.ref(value.untyped_storage()))


class Place(NamedTuple):
    """Where the values of a tensor of the CPU are, one after another."""

    address: int
    bytes: int
    of_storage: int

    def is_still(self, tensor: torch.Tensor) -> bool:
        """Whether memory that was there is there still: a storage may be resized."""
        return (
            _address_of(tensor) == self.address
            and tensor.untyped_storage().nbytes() == self.of_storage
        )


def _address_of(tensor: torch.Tensor) -> int:
    """Return where the values of a tensor begin, or 0; a lazy copy stays lazy."""
    storage = torch._C._data_address(tensor)
    return storage and storage + tensor.storage_offset() * tensor.element_size()


class Gradient(NamedTuple):
    """What is compared of ``.grad``."""

    storage: weakref.ref | None
    version: int | None
    values: str | None
    place: Place | None = None


class Fact(NamedTuple):
    """What is compared of one named tensor or array from step to step.

    Nothing is kept alive by a fact. ``values`` is a checksum: of all bytes, or of
    samples if it begins with "~"; None if nothing was read. ``stamp`` is what is read
    each time: where it is the same, only the values may be others. ``reach`` is where
    in memory its storage begins and ends, and ``place`` where its values are, if they
    can be read without a copy.
    """

    other: Identity
    storage: tuple
    form: tuple
    values: str | None
    version: int | None = None
    gradient: Gradient | None = None
    requires_grad: bool = False
    retains_grad: bool = False
    graph: str | None = None
    stamp: tuple | None = None
    reach: tuple[int, int] = (0, 0)
    bytes: int = 0
    place: Place | None = None

    def reaches(self) -> list[tuple[int, int]]:
        """Return where in memory its storage is, and that of its gradient."""
        gradient = self.gradient
        if gradient is None or gradient.place is None:
            return [self.reach]
        address, size, _ = gradient.place
        return [self.reach, (address, address + size)]


_PLAIN = (torch.Tensor, torch.nn.Parameter)


class Stamp(NamedTuple):
    """What is read each time of a tensor of no subclass."""

    id: int
    storage: weakref.ref
    offset: int
    version: int
    shape: tuple
    strides: tuple
    dtype: torch.dtype
    requires_grad: bool
    retains_grad: bool
    function: type | None
    gradient: tuple | None


def stamp_of(value: Any) -> tuple | None:
    """Return what is quickly read of a tensor or an array; None: read it in full."""
    if type(value) not in _PLAIN:
        if not is_array(value):
            return None
        address = array_address(value)
        return (id(value), address, value.shape, value.strides, value.dtype)
    try:
        leaf = value.is_leaf
        gradient = value.grad if leaf or value.retains_grad else None
        function = value.grad_fn
        return Stamp(
            id(value),
            weakref.ref(value.untyped_storage()),
            value.storage_offset(),
            value._version,
            value.shape,
            value.stride(),
            value.dtype,
            value.requires_grad,
            not leaf and value.retains_grad,
            None if function is None else type(function),
            None
            if gradient is None
            else (weakref.ref(gradient.untyped_storage()), gradient._version),
        )
    except Exception:  # an inference tensor, a sparse one
        return None


def fact_of(value: Any, stamp: tuple | None) -> Fact:
    """Return the fact of a tensor or an array whose values were not read yet."""
    if is_array(value):
        return Fact(
            Identity(value, None),
            (array_address(value),),
            (value.shape, value.strides, value.dtype, "cpu"),
            None,
            stamp=stamp,
            reach=tried(lambda: array_reach(value), (0, 0)),
            bytes=value.nbytes,
        )
    if stamp is None:
        autograd = see_autograd(value)
        has_gradient = autograd["is_leaf"] or autograd["retains_grad"]
        storage, offset = storage_reference(value), tried(value.storage_offset)
        shape, strides = _tuple(shape_of(value)), _tuple(strides_of(value))
    else:
        autograd, has_gradient = stamp._asdict(), stamp.gradient is not None
        storage, offset = stamp.storage, stamp.offset
        shape, strides = stamp.shape, stamp.strides
    gradient = tried(lambda: value.grad) if has_gradient else None
    function = tried(lambda: value.grad_fn)
    address = tried(lambda: storage_address(value), 0)
    size = tried(lambda: value.untyped_storage().nbytes(), 0)
    return Fact(
        Identity(value, storage),
        (storage, address, offset),
        (shape, strides, value.dtype, value.device),
        None,
        autograd["version"],
        None if gradient is None else _gradient_of(gradient),
        autograd["requires_grad"],
        autograd["retains_grad"],
        None if function is None else node_name(function),
        stamp,
        (address, address + int(size)) if address else (0, 0),
        tried(lambda: value.numel() * value.element_size(), 0),
        tried(lambda: _place_of(value)),
    )


def _gradient_of(gradient: torch.Tensor) -> Gradient:
    return Gradient(
        storage_reference(gradient),
        tried(lambda: gradient._version),
        None,
        tried(lambda: _place_of(gradient)),
    )


def _tuple(numbers: list[int] | None) -> tuple[int, ...] | None:
    return None if numbers is None else tuple(numbers)


def _place_of(tensor: torch.Tensor) -> Place | None:
    """Return where a tensor is, if it is a plain one and its values are in order."""
    if type(tensor) not in _PLAIN or tensor.device.type != "cpu":
        return None
    size = tensor.numel() * tensor.element_size()
    of_storage = tensor.untyped_storage().nbytes()
    before = tensor.storage_offset() * tensor.element_size()
    address = _address_of(tensor)
    is_there = address and size and before + size <= of_storage
    if not is_there or not tensor.is_contiguous():
        return None
    return Place(address, size, of_storage)


def is_as(was: Fact, now: Fact) -> bool:
    """Whether two facts are the same, whatever was read to know it."""
    same = was.values == now.values and was.gradient == now.gradient
    return same and was.reach == now.reach and not kinds_of(was, now)


def is_on_other_storage(was: Fact, now: Fact) -> bool:
    """Whether a tensor's storage, or where an array begins, is another one."""
    return not _same(was.storage[:1], now.storage[:1])


def kinds_of(was: Fact, now: Fact) -> set[str]:
    """Return what differs of one name: see ``differences``."""
    kinds = {
        kind
        for kind in ("form", "version", "requires_grad", "retains_grad", "graph")
        if getattr(was, kind) != getattr(now, kind)
    }
    # The place of a tensor's storage is a reference: equal is what is the same.
    if was.other.key != now.other.key:
        kinds.add("other")
    if not _same(was.storage, now.storage):
        kinds.add("storage")
    if was.values is not None and now.values is not None:
        if was.values != now.values:
            kinds.add("values")
    elif "version" in kinds:
        kinds.add("values")
    if (was.gradient is None) != (now.gradient is None):
        kinds |= {"gradient", "arrived"} if now.gradient else {"gradient"}
    elif was.gradient is not None and now.gradient is not None:
        one, two = was.gradient, now.gradient
        if one.values is not None and two.values is not None:
            is_other = one.values != two.values
        else:
            is_other = one.storage is not two.storage or one.version != two.version
        if is_other:
            kinds.add("gradient")
    return kinds


def _same(one: tuple, other: tuple) -> bool:
    """Whether two tuples have the same parts; references by what they are."""
    return len(one) == len(other) and all(
        a is b if isinstance(a, weakref.ref) else a == b
        for a, b in zip(one, other, strict=True)
    )
