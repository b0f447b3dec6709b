"""The Atlas: what each operation does to memory, graph and device, observed.

This file needs torch and NumPy. Calls on what pandas and Pillow hold are left out
where these are not installed. ``python atlas.py`` prints a table,
``python atlas.py --json`` every record, ``python atlas.py "x.detach()"`` what one
expression does; :func:`observe` does the same for your own code. ``--device cpu``
says where ``x`` is; without it, ``x`` is on each device that is here.

Code that names ``cuda`` is run with the name of the accelerator that is here, if
that is another one.

A probe makes a new ``x``, runs the code as it stands below, and looks: at the tensor
that comes out, at where a real backward pass arrives, and at what a write into
``x`` changes. Whether memory is shared is decided by the addresses of the live
storages and, independently, by that write. If the two disagree, the probe raises.
"""

from __future__ import annotations

import argparse
import copy
import json
import multiprocessing
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from multiprocessing.connection import Connection
from types import CodeType
from typing import Any

import numpy as np
import torch
from torch import nn

STATES = {
    "leaf": "a leaf that requires grad",
    "constant": "a constant: it does not require grad",
    "nonleaf": "a non-leaf: the result of an operation in the graph",
    "view": "a transposed view of a constant",
    "no_grad": "under torch.no_grad(), a leaf that requires grad",
}
COLUMNS = {
    "operation": "which operation, the id of its row",
    "state": "what x is before the call",
    "device": "the kind of device that x is on",
    "same_object": "the result is x itself",
    "shares_memory": "a write into x is seen in the result",
    "shares_version": "the result has the version counter of x, which in-place writes "
    "raise and a backward pass checks; null if the result has none",
    "requires_grad": "requires_grad of the result; null if it is no tensor",
    "is_leaf": "is_leaf of the result; null if it is no tensor",
    "grad_fn": "the class of the result's grad_fn; null if there is none",
    "gradient_flows": "a backward pass from the result gives the leaf behind x a "
    "gradient that is not zero; null if x does not require grad",
    "result": "the class of the result",
    "result_device": "the kind of device that the result is on",
    "strides_kept": "the result has the strides of x; null if it has not as many",
    "new_bytes": "the size of the result's memory if it was not there before the call, "
    "else 0; null for Python numbers",
    "cuda_bytes": "what the call asked of the allocator of CUDA, or of the device "
    "that stands in for it, temporary tensors included; null where there is neither",
    "waits": "the call returned only after a kernel that was in the queue before it "
    "had ended; null where there is no CUDA",
    "changes_x": "the call changed requires_grad, is_leaf, grad_fn, device or memory "
    "of x itself",
    "warning": "the text of the first warning",
    "error": "the class and the text of the error; what was not seen is then null",
}
# What plays the part of x, by its name, where that is no tensor.
SUBJECTS = {
    "a": "NumPy array",
    "df": "pandas DataFrame",
    "mixed": "pandas DataFrame of two dtypes",
    "image": "Pillow (PIL) image",
}
LIBRARIES = ("pandas", "pillow")  # what some rows need, as it is installed
SLEEP = 100_000_000  # cycles that the device is kept busy: about 50 ms
LONGEST_TEXT = 600  # characters of a warning or an error

ARRAY = "a = x.numpy()"
MODULE = """x = nn.Parameter(x, requires_grad=x.requires_grad)
module = nn.Linear(3, 2, bias=False)
module.weight = x"""
FILE = "import io\nfile = io.BytesIO()"
DEVICE = 'device = torch.device("cuda")'
FRAME = """import pandas as pd
df = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})"""
MIXED = """import pandas as pd
mixed = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})"""
IMAGE = """from PIL import Image
image = Image.new("L", (3, 2), 5)"""
TARGET = "module = nn.Linear(3, 2, bias=False, device=x.device)"
CAN_BE_ARRAY = ("constant", "view")
CAN_BE_PARAMETER = ("leaf", "constant", "no_grad")


class Disagreement(AssertionError):
    """Two ways to observe the same thing gave different answers."""


@dataclass(frozen=True)
class Operation:
    """One row: the code that runs, where it is taught and where it is documented.

    ``code`` is an expression, or statements that leave ``y``. ``given`` runs before
    and is not observed; ``subject`` is the name that plays the part of ``x``.
    ``needs`` is ``"accelerator"`` if the code can do its work only where there is one,
    also for an ``x`` on the CPU, or the one of ``LIBRARIES`` that it uses. ``message``
    is the label of an entry of the error index: what the subject itself raises.
    """

    id: str
    code: str
    group: str
    lesson: str
    api: str
    given: str = ""
    subject: str = "x"
    needs: str = ""
    states: tuple[str, ...] = tuple(STATES)
    message: str = ""


# What owns the function or the method that a code begins with.
OWNERS = {"x": "torch.Tensor", "module": "torch.nn.Module", "np": "numpy"}


def _operations() -> dict[str, Operation]:
    basics, numpy, tips = "1_basics", "2_numpy_and_devices", "3_tips"
    detach, clone = f"{basics}/detach", f"{basics}/clone"
    copies, devices = f"{tips}/copy_a_tensor", f"{numpy}/cpu_and_to"
    bridge, memory = f"{numpy}/numpy_bridge", f"{tips}/memory_of_a_copy"
    arrays, frozen = f"{tips}/tensor_to_ndarray", "4_patterns/frozen_network"
    between = f"{tips}/copy_between_devices"
    leaves, detach_clone = f"{basics}/leaf_tensors", f"{basics}/detach_clone"
    found: dict[str, Operation] = {}

    def row(id: str, code: str, lesson: str, api: str = "", **more: Any) -> Operation:
        called, *_ = code.partition("(")
        owner, _, name = called.partition(".")
        api = api or f"{OWNERS.get(owner, owner)}.{name}"
        api = f"torch.Tensor{api}" if api.startswith(".") else api
        return found.setdefault(id, Operation(id, code, group, lesson, api, **more))

    group = "Graph"
    row("assignment", "y = x", copies, "copy")
    row("detach", "x.detach()", detach)
    row("detach-in-place", "x.detach_()", detach)
    row("data", "x.data", detach, ".detach")
    row("requires-grad-false", "x.requires_grad_(False)", leaves)
    row("no-grad", "with torch.no_grad():\n    y = x * 2", frozen, "torch.no_grad")
    row(
        "inference-mode",
        "with torch.inference_mode():\n    y = x * 2",
        frozen,
        "torch.autograd.grad_mode.inference_mode",
    )

    group = "Copies"
    row("clone", "x.clone()", clone)
    row("clone-contiguous", "x.clone(memory_format=torch.contiguous_format)", clone)
    row("detach-clone", "x.detach().clone()", detach_clone, ".clone")
    row("clone-detach", "x.clone().detach()", f"{basics}/clone_detach", ".detach")
    row(
        "new-leaf",
        "x.detach().clone().requires_grad_()",
        detach_clone,
        ".requires_grad_",
    )
    row("copy-copy", "copy.copy(x)", copies)
    row("deepcopy", "copy.deepcopy(x)", copies)
    row("detached-leaf", "x.detach().requires_grad_()", leaves, ".requires_grad_")
    row("pickle", "pickle.loads(pickle.dumps(x))", copies, given="import pickle")
    row("new-tensor", "x.new_tensor(x)", copies)
    row("tensor", "torch.tensor(x)", copies)
    row("as-tensor", "torch.as_tensor(x)", copies)
    row("asarray", "torch.asarray(x)", copies)
    row("asarray-copy", "torch.asarray(x, copy=True)", copies)
    row("asarray-no-copy", "torch.asarray(x, copy=False)", copies)
    row("empty-like-copy", "torch.empty_like(x).copy_(x)", copies, ".copy_")

    group = "Devices and dtypes"
    row("to-same", "x.to(x.device)", devices)
    row("to-copy", "x.to(x.device, copy=True)", devices)
    row("to-dtype", "x.to(torch.float64)", devices)
    row("float", "x.float()", devices)
    row("double", "x.double()", devices)
    row("half", "x.half()", devices)
    row("to-cpu", 'x.to("cpu")', devices)
    row("to-cpu-copy", 'x.to("cpu", copy=True)', devices)
    row("to-cpu-non-blocking", 'x.to("cpu", non_blocking=True)', between)
    row("cpu", "x.cpu()", devices)
    second = {"needs": "accelerator"}
    row("to-cuda", 'x.to("cuda")', devices, **second)
    row("cuda", "x.cuda()", devices, **second)
    device = {"given": DEVICE, **second}
    row("to-device", "x.to(device)", devices, **device)
    row("to-device-copy", "x.to(device, copy=True)", between, **device)
    row("to-device-non-blocking", "x.to(device, non_blocking=True)", between, **device)
    row("pin-memory", "x.pin_memory()", between, **second)
    row(
        "pin-memory-to-device",
        "x.pin_memory().to(device, non_blocking=True)",
        between,
        **device,
    )
    row("detach-to-cpu-copy", 'x.detach().to("cpu", copy=True)', devices, ".to")

    group = "Shapes and views"
    row("view", "x.view(6)", memory)
    row("reshape", "x.reshape(6)", memory)
    row("contiguous", "x.contiguous()", memory)
    row("property-t", "x.T", memory)
    row("transpose", "x.transpose(0, 1)", memory)
    row("permute", "x.permute(1, 0)", memory)
    row("flatten", "x.flatten()", memory)
    row("squeeze", "x.squeeze()", memory)
    row("unsqueeze", "x.unsqueeze(0)", memory)
    row("split", "x.split(1)[0]", memory)
    row("chunk", "x.chunk(2)[0]", memory)
    row("unbind", "x.unbind()[0]", memory)
    row("first-row", "x[0]", memory, "tensor_view.html")
    row("slice", "x[:, :2]", memory, "tensor_view.html")
    row("index", "x[:, [0, 1]]", memory, "tensor_view.html")
    row(
        "mask",
        "x[mask]",
        memory,
        "tensor_view.html",
        given="mask = x.detach() > x.detach().mean()",
    )
    row("expand", "x.expand(4, 2, 3)", memory)
    row("repeat", "x.repeat(2, 1)", memory)
    row("repeat-interleave", "x.repeat_interleave(2)", memory)
    row("cat", "torch.cat([x, x])", memory)
    row("stack", "torch.stack([x, x])", memory)
    row("vmap", "torch.vmap(lambda row: row[:2])(x)", memory)

    group = "In place"
    row("add-assign", "x += 1\ny = x", leaves, ".add_")
    row("add-in-place", "x.add_(1)", leaves)
    row("copy-in-place", "x.copy_(torch.ones(2, 3))", leaves)
    row("lerp-in-place", "x.lerp_(torch.ones_like(x), 0.5)", leaves)
    row("mul-in-place", "x.mul_(2)", leaves)
    row("set-item", "x[0] = 7\ny = x", leaves, "tensor_view.html")
    row(
        "no-grad-in-place",
        "with torch.no_grad():\n    y = x.add_(1)",
        leaves,
        "torch.no_grad",
    )
    row("data-in-place", "x.data.add_(1)\ny = x", leaves, ".add_")

    group = "NumPy and Python"
    row("numpy", "x.numpy()", bridge)
    row("numpy-force", "x.numpy(force=True)", bridge)
    row("detach-numpy", "x.detach().numpy()", bridge, ".numpy")
    row("detach-cpu-numpy", "x.detach().cpu().numpy()", arrays, ".numpy")
    row("independent-array", 'x.detach().to("cpu", copy=True).numpy()', arrays, ".to")
    row("np-asarray", "np.asarray(x)", bridge)
    row("np-array", "np.array(x)", arrays)
    row("dunder-array", "x.__array__()", bridge, ".numpy")
    row("numpy-copy", "x.numpy(force=True).copy()", arrays, "numpy.ndarray.copy")
    row("np-from-dlpack", "np.from_dlpack(x)", bridge)
    row("from-dlpack", "torch.from_dlpack(x)", bridge)
    row("tolist", "x.tolist()", arrays)
    row("list", "list(x)[0]", arrays, ".unbind")
    row("item", "x[0, 0].item()", arrays, ".item")

    group = "From a NumPy array"
    array = {"given": ARRAY, "subject": "a", "states": CAN_BE_ARRAY}
    only_constant = array | {"states": ("constant",)}
    row("from-numpy", "torch.from_numpy(a)", bridge, **array)
    row("array-from-dlpack", "torch.from_dlpack(a)", bridge, **array)
    row(
        "array-from-dlpack-reversed",
        "torch.from_dlpack(a[::-1])",
        bridge,
        **only_constant,
    )
    row("array-as-tensor", "torch.as_tensor(a)", bridge, **array)
    row("array-asarray", "torch.asarray(a)", bridge, **array)
    row("array-tensor", "torch.tensor(a)", bridge, **array)
    row("array-tensor-class", "torch.Tensor(a)", bridge, **array)
    row(
        "array-frombuffer",
        "torch.frombuffer(a, dtype=torch.float32)",
        bridge,
        **only_constant,
    )

    group = "From pandas and Pillow"
    arrays_in = f"{numpy}/array_to_tensor"
    frame = {
        "given": FRAME,
        "subject": "df",
        "needs": "pandas",
        "states": ("constant",),
        "message": "tensor-of-series",
    }
    mixed = frame | {"given": MIXED, "subject": "mixed"}
    image = frame | {
        "given": IMAGE,
        "subject": "image",
        "needs": "pillow",
        "message": "tensor-of-image",
    }
    row("column-from-numpy", 'torch.from_numpy(df["a"].to_numpy())', arrays_in, **frame)
    row("frame-as-tensor", "torch.as_tensor(df.values)", arrays_in, **frame)
    row("frame-tensor", "torch.tensor(df.to_numpy())", arrays_in, **frame)
    row("frame-copy", "torch.from_numpy(df.to_numpy(copy=True))", arrays_in, **frame)
    row("mixed-from-numpy", "torch.from_numpy(mixed.to_numpy())", arrays_in, **mixed)
    row("frame-alone", "torch.tensor(df)", arrays_in, **frame)
    row("image-from-numpy", "torch.from_numpy(np.array(image))", arrays_in, **image)
    row("image-as-tensor", "torch.as_tensor(np.asarray(image))", arrays_in, **image)

    group = "Files, workers and batches"
    file = {"given": FILE}
    save = "torch.save(x, file)\nfile.seek(0)\n"
    row("save-and-load", save + "y = torch.load(file)", copies, "torch.load", **file)
    row(
        "load-map-location",
        save + 'y = torch.load(file, map_location="cpu")',
        devices,
        "torch.load",
        **file,
    )
    row("share-memory", "x.share_memory_()", memory)
    row(
        "default-collate",
        "default_collate([x, x])",
        copies,
        "torch.utils.data.default_collate",
        given="from torch.utils.data import default_collate",
    )

    group = "Modules"
    module = {"given": MODULE, "states": CAN_BE_PARAMETER}
    target = {"given": TARGET}
    row("parameter", "nn.Parameter(x)", leaves, "torch.nn.parameter.Parameter")
    row("state-dict", 'module.state_dict()["weight"]', frozen, **module)
    row(
        "load-state-dict",
        'module.load_state_dict({"weight": x})\ny = module.weight',
        frozen,
        **target,
    )
    row(
        "load-state-dict-assign",
        'module.load_state_dict({"weight": x}, assign=True)\ny = module.weight',
        frozen,
        **target,
    )
    row("deepcopy-module", "copy.deepcopy(module).weight", frozen, **module)
    row(
        "parameters",
        "list(module.parameters())[0]",
        leaves,
        "torch.nn.Module.parameters",
        **module,
    )
    row(
        "functional-call",
        'torch.func.functional_call(module, {"weight": x}, x.new_ones(1, 3))',
        frozen,
        **target,
    )
    row("module-double", "module.double().weight", devices, **module)
    row("module-to-cpu", 'module.to("cpu").weight', devices, **module)
    row(
        "module-to-device",
        "module.to(device).weight",
        devices,
        given=f"{DEVICE}\n{MODULE}",
        states=CAN_BE_PARAMETER,
        **second,
    )
    return found


OPERATIONS = _operations()


def accelerator() -> str | None:
    """Return the kind of device that is not the CPU, None if there is none.

    It is CUDA, or a backend from elsewhere that is registered with torch.
    """
    for kind in ("cuda", torch._C._get_privateuse1_backend_name()):
        module = getattr(torch, kind, None)
        if module is not None and module.is_available():
            return kind
    return None


def devices() -> list[str]:
    """Return the kinds of devices that ``x`` can be on here, this machine's first."""
    return [kind for kind in (accelerator(), "cpu") if kind is not None]


def libraries() -> dict[str, str]:
    """Return the versions of those libraries of ``LIBRARIES`` that are here."""
    found = {}
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def available() -> list[Operation]:
    """Return the operations that can be probed with the libraries that are here."""
    missing = set(LIBRARIES) - set(libraries())
    return [one for one in OPERATIONS.values() if one.needs not in missing]


def left_out() -> str | None:
    """Say in a line which operations cannot be probed here; None if all can."""
    missing = [name for name in LIBRARIES if name not in libraries()]
    if not missing:
        return None
    calls = len(OPERATIONS) - len(available())
    return f"Left out: {calls} calls that need {' and '.join(missing)}, not installed."


def plan(kinds: list[str] | None = None) -> list[tuple[Operation, str, str]]:
    """Return operation, state and device of every probe.

    ``x`` is on one of these kinds of devices, or on any that is here. Operations that
    need a library that is not here are left out.
    """
    return [
        (operation, state, device)
        for operation in available()
        for state in operation.states
        for device in (devices() if kinds is None else kinds)
        if device == "cpu" or operation.subject == "x"  # others are in host memory
    ]


def observe(code: str | Operation, state: str = "leaf", device: str = "cpu") -> dict:
    """Run an operation on a new ``x``; return what was seen, by the names in COLUMNS.

    Parameters
    ----------
    code
        A row of the Atlas, or any code that uses ``x``: an expression, or statements
        that leave ``y``.
    state
        What ``x`` is, a key of ``STATES``.
    device
        Where ``x`` is: the kind of a device, such as ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    Disagreement
        If storages and the write through ``x`` say different things on sharing.
    """
    operation = code
    if isinstance(code, str):
        operation = Operation(code, code, "", "", "")
    record = {**dict.fromkeys(COLUMNS), "operation": operation.id}
    record |= {"state": state, "device": device}
    if torch.cuda.is_available():
        record["waits"] = _waits(operation, state, device)
    probe = Probe(operation, state, device)
    before = _requested()
    try:
        result = probe.run()
    except Exception as error:
        record["waits"] = None
        record["error"] = f"{type(error).__name__}: {first_paragraph(str(error))}"
    else:
        if before is not None:
            record["cuda_bytes"] = _requested() - before
        record |= probe.look(result)
    record["warning"] = probe.warning
    return record


class Probe:
    """One run of one operation on an ``x`` made for it."""

    def __init__(self, operation: Operation, state: str, device: str) -> None:
        self.operation, self.state = operation, state
        self.warning: str | None = None
        x, self.source = _new_x(state, device)
        self.names = {"x": x, "torch": torch, "np": np, "nn": nn, "copy": copy}
        exec(_compiled(operation.given)[0], self.names)
        self.x = self.names[operation.subject]
        if self.names["x"] is not x:  # it became a parameter
            self.source = self.x if self.x.requires_grad else None
        self.there_before = [
            memory for value in self._held() for memory in _memories(value)
        ]
        self.marks_before = self._marks()

    def _held(self) -> Iterator[Any]:
        yield self.x
        if "module" in self.names:
            yield from self.names["module"].parameters()

    def run(self) -> Any:
        """Return the result; keep the first warning."""
        names = self.names
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with torch.set_grad_enabled(self.state != "no_grad"):
                    code, is_expression = _compiled(self.operation.code)
                    if is_expression:
                        return eval(code, names)
                    exec(code, names)
                    return names["y"]
            finally:
                if caught:
                    name = caught[0].category.__name__
                    self.warning = f"{name}: {first_paragraph(str(caught[0].message))}"

    def look(self, result: Any) -> dict[str, Any]:
        """Return what can be seen of the result; ``x`` is written to at the end."""
        x, tensor = self.x, isinstance(result, torch.Tensor)
        seen: dict[str, Any] = {
            "same_object": result is x,
            "result": type(result).__name__,
            "changes_x": self._marks() != self.marks_before,
            "result_device": result.device.type if tensor else "cpu",
            "strides_kept": _same_length_and_equal(_strides(result), _strides(x)),
            "new_bytes": self._new_bytes(result),
        }
        if tensor:
            function = result.grad_fn
            seen["requires_grad"] = result.requires_grad
            seen["is_leaf"] = result.is_leaf
            seen["grad_fn"] = None if function is None else type(function).__name__
        if self.source is not None:
            seen["gradient_flows"] = self._gradient_arrives(result)
        return seen | self._write(result)

    def _marks(self) -> tuple[Any, ...] | None:
        if not isinstance(self.x, torch.Tensor):
            return None
        x = self.x
        return x.requires_grad, x.is_leaf, x.grad_fn is None, x.device, _memory(x)

    def _new_bytes(self, result: Any) -> int | None:
        memory = _memory(result)
        if memory is None:
            return None
        if any(_overlap(memory, other) for other in self.there_before):
            return 0
        return memory[1] - memory[0]

    def _gradient_arrives(self, result: Any) -> bool:
        if isinstance(result, torch.Tensor) and result.requires_grad:
            result.sum().backward()
        return self.source.grad is not None and bool(self.source.grad.any())

    def _write(self, result: Any) -> dict[str, bool | None]:
        """Write into ``x``: see if values and version counter of the result follow."""
        values, version = _values(result), _version(result)
        written = _memory(result)
        by_storage = any(_overlap(written, memory) for memory in _memories(self.x))
        with torch.no_grad():
            _change(self.x)
        by_write = _values(result) != values
        if by_write != by_storage:
            raise Disagreement(
                f"{self.operation.code} ({self.state}): the storages say "
                f"{by_storage}, a write says {by_write}"
            )
        follows = None
        if version is not None and isinstance(self.x, torch.Tensor):
            follows = _version(result) > version
        return {"shares_memory": by_write, "shares_version": follows}


def _named(code: str) -> str:
    """Return code with the accelerator's name where it names CUDA."""
    kind = accelerator()
    return code if kind is None else re.sub(r"\bcuda\b", kind, code)


@cache
def _compiled(code: str) -> tuple[CodeType, bool]:
    """Return code to run, and whether it is an expression, whose value is asked for."""
    named = _named(code)
    try:
        return compile(named, "<atlas>", "eval"), True
    except SyntaxError:
        return compile(named, "<atlas>", "exec"), False


def _new_x(state: str, device: str) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return a new ``x`` of shape (2, 3), and the leaf that its gradient reaches."""
    values = torch.arange(6.0, device=device).reshape(2, 3).clone()
    if state == "constant":
        return values, None
    if state == "view":
        return values.t().clone(memory_format=torch.contiguous_format).t(), None
    leaf = values.requires_grad_()
    return (leaf * 2 if state == "nonleaf" else leaf), leaf


def _memory(value: Any) -> tuple[int, int] | None:
    """Return the first address of a value's memory and the one after its last."""
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    if isinstance(value, np.ndarray):
        start = value.__array_interface__["data"][0]
        steps = zip(value.shape, value.strides, strict=True)
        return start, start + sum((n - 1) * s for n, s in steps) + value.itemsize
    return None


def _memories(value: Any) -> list[tuple[int, int]]:
    """Return where a value's memory is, in parts: a data frame has its columns'.

    An image of Pillow tells no address: of what it shares, a write alone would tell.
    """
    parts = [value]
    if hasattr(value, "columns"):
        parts = [value[name].to_numpy() for name in value.columns]
    found = (_memory(part) for part in parts)
    return [memory for memory in found if memory is not None]


def _change(x: Any) -> None:
    """Write into ``x`` in place: to all of a tensor or an array, to the first value."""
    if isinstance(x, torch.Tensor | np.ndarray):
        x += 1
    elif hasattr(x, "putpixel"):
        x.putpixel((0, 0), x.getpixel((0, 0)) + 1)
    else:
        x.iloc[0, 0] += 1


def _overlap(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    if one is None or other is None:
        return False
    return one[0] < other[1] and other[0] < one[1]


def _values(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        value = value.detach()
    return str(value.tolist() if hasattr(value, "tolist") else value)


def _version(value: Any) -> int | None:
    """Return the version counter; None where there is none."""
    if not isinstance(value, torch.Tensor) or value.is_inference():
        return None
    return value._version


def _strides(value: Any) -> tuple[int, ...] | None:
    """Return the strides in elements."""
    if isinstance(value, torch.Tensor):
        return value.stride()
    if isinstance(value, np.ndarray):
        return tuple(stride // value.itemsize for stride in value.strides)
    return None


def _same_length_and_equal(one: tuple | None, other: tuple | None) -> bool | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return one == other


def _requested() -> int | None:
    """Return how many bytes were ever asked of the accelerator's allocator."""
    statistics = getattr(
        getattr(torch, accelerator() or "", None), "memory_stats", dict
    )
    return statistics().get("requested_bytes.all.allocated")


def _waits(operation: Operation, state: str, device: str) -> bool | None:
    """Queue a kernel that only passes time; see if the call outlasts it."""
    try:
        Probe(operation, state, device).run()  # the allocators keep what it needs
        probe = Probe(operation, state, device)
        torch.cuda.synchronize()
        torch.cuda._sleep(SLEEP)
        passed = torch.cuda.Event()
        passed.record()
        result = probe.run()
        waited = passed.query()
        del result
    except Exception:
        return None
    finally:
        torch.cuda.synchronize()
    return waited


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a message, without places and addresses."""
    text = text.split("\n\n")[0].partition("(Triggered internally at")[0]
    text = re.sub(r"\b0x[0-9a-f]+", "an address", text)
    text = re.sub(r"(?<![\w:/])/(?:[\w.+-]+/)+[\w.+-]*", "a file", text)
    return " ".join(text.split())[:LONGEST_TEXT]


def probe_all(
    first: int = 0, kinds: list[str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run the probes from number ``first`` on: announce each, then give its record."""
    torch.set_warn_always(True)  # or a warning would show in one record alone
    for operation, state, device in plan(kinds)[first:]:
        blank = dict.fromkeys(COLUMNS)
        key = {"operation": operation.id, "state": state, "device": device}
        yield "probing", blank | key
        yield "record", observe(operation, state, device)


def run(kinds: list[str] | None = None) -> dict[str, Any]:
    """Run every probe beside this process; return all there is to know.

    ``x`` is on these kinds of devices, or on all that are here. An operation that ends
    its process is recorded as one that does, and the probes go on behind it in another.

    Raises
    ------
    SystemExit
        If a probe itself failed; the message says what it raised.
    """
    records: list[dict[str, Any]] = []
    atlas = {"states": STATES, "columns": COLUMNS, "subjects": SUBJECTS}
    atlas |= {"libraries": libraries(), "records": records}
    atlas["operations"] = [asdict(operation) for operation in available()]
    # A fork has imported torch already, but torch built for a GPU refuses it in forks.
    built = any(vars(torch.version).get(name) for name in ("cuda", "hip", "xpu"))
    forks = sys.platform == "linux" and not built
    context = multiprocessing.get_context("fork" if forks else "spawn")
    while True:
        answers, told = context.Pipe(duplex=False)
        arguments = (len(records), kinds, told)
        child = context.Process(target=_tell_all, args=arguments)
        child.start()
        told.close()
        current = None
        with suppress(EOFError):
            while True:
                kind, content = answers.recv()
                current = content if kind == "probing" else None
                if kind == "record":
                    records.append(content)
                elif kind == "failed":
                    sys.exit(content)
        child.join()
        if child.exitcode == 0:
            return atlas
        if current is None:  # it has ended before the first probe
            sys.exit(f"no probe could run: {_ending(child.exitcode)}")
        current["error"] = f"Python ended: {_ending(child.exitcode)}"
        records.append(current)


def _tell_all(first: int, kinds: list[str] | None, told: Connection) -> None:
    """Run the probes from number ``first`` on; tell each step to who waits for it."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what libraries print, above all when they end the process
        os.dup2(nothing, stream)
    with suppress(ImportError):  # a crash that is expected leaves no core file
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        for step in probe_all(first, kinds):
            told.send(step)
    except Exception as error:
        told.send(("failed", f"{type(error).__name__}: {error}"))


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def _table(records: list[dict[str, Any]]) -> str:
    """Return the records as text, one line each."""
    lines = [f"{'operation':27} {'x':9} {'on':7} gradients  shared  result"]
    for record in records:
        flows, shares = (
            {True: "yes", False: "no", None: "-"}[record[column]]
            for column in ("gradient_flows", "shares_memory")
        )
        end = record["error"] or f"{record['result']}, {record['result_device']}"
        lines.append(
            f"{record['operation']:27} {record['state']:9} {record['device']:7} "
            f"{flows:10} {shares:7} {end}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the Atlas, or what one expression does."""
    parser = argparse.ArgumentParser(description="What operations do to a tensor x.")
    parser.add_argument("code", nargs="?", help="one expression that uses x")
    parser.add_argument("--state", choices=STATES, default="leaf", help="what x is")
    parser.add_argument(
        "--device", action="append", choices=devices(), help="the device that x is on"
    )
    parser.add_argument("--json", action="store_true", help="print all as JSON")
    options = parser.parse_args()
    if options.code is not None:
        for device in options.device or devices()[:1]:
            print(json.dumps(observe(options.code, options.state, device), indent=1))
    else:
        # An operation that ends the process must not end this one.
        atlas = run(options.device)
        print(json.dumps(atlas) if options.json else _table(atlas["records"]))
        if (said := left_out()) is not None:
            print(said, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
