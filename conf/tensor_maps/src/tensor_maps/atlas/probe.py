"""Probe what a call does to memory, graph and device.

A probe makes a new ``x``, runs the code as it stands, and looks: at the tensor
that comes out, at where a real backward pass arrives, and at what a write into
``x`` changes. Whether memory is shared is decided by the addresses of the live
storages and, independently, by that write. If the two disagree, the probe raises.

Code that names ``cuda`` is run with the name of the accelerator that is here, if
that is another one.
"""

import copy
import re
import signal
import subprocess
import sys
import warnings
from functools import cache
from types import CodeType
from typing import Any

import torch
from torch import nn

from tensor_maps.atlas.calls import COLUMNS, Call, available
from tensor_maps.memory import array_reach
from tensor_maps.observe import observe
from tensor_maps.reading import is_array, is_drawn

try:
    import numpy as np
except ImportError:  # the calls that need it are left out
    np = None

LONGEST_TEXT = 600  # characters of a warning or an error
# What is drawn of other kinds than tensors and arrays, by the name of their class.
OTHERS = {"list": "a Python list", "DataFrame": "a data frame", "Image": "an image"}
Record = dict[str, Any]


class Disagreement(AssertionError):
    """Two ways to observe the same thing gave different answers."""


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


def plan() -> list[tuple[Call, str, str]]:
    """Return call, state and device of every probe that can run here."""
    return [
        (call, state, device)
        for call in available()
        for state in call.states
        for device in devices()
        if device == "cpu" or call.is_of_a_tensor
    ]


def probe(call: str | Call, state: str = "leaf", device: str = "cpu") -> Record:
    """Run a call on a new ``x``; return what was seen, by the names in COLUMNS.

    Parameters
    ----------
    call
        A row of the Atlas, or any code that uses ``x``: an expression, or statements
        that leave ``y``.
    state
        What ``x`` is, a key of ``ALL_STATES``.
    device
        Where ``x`` is: the kind of a device, such as ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    Disagreement
        If storages and the write through ``x`` say different things on sharing.
    """
    if isinstance(call, str):
        call = Call(call, call)
    record = {**dict.fromkeys(COLUMNS), "operation": call.id}
    record |= {"state": state, "device": device}
    if call.ends_python and (ending := _ending(call)) is not None:
        return record | {"error": f"Python ended: {ending}"}
    run = Run(call, state, device)
    try:
        result = run.result()
    except Exception as error:
        record["error"] = _said(error)
    else:
        record |= run.look(result)
    return record | {"warning": run.warning}


def observation(call: Call, state: str, device: str) -> dict[str, Any]:
    """Run a call again; return what there is to draw of it, and of two writes.

    Returns
    -------
    dict
        ``observed``: what :func:`tensor_maps.observe.observe` sees of ``x`` and ``y``.
        ``writes``: by these names, what a write as a reader would type it does, such
        as ``y[0] = 7`` (to a data frame: ``x.iloc[0] = 7``). ``refused`` is what it
        raises as it stands, ``changed`` are the cells of each memory that it changes,
        under ``torch.no_grad()`` if only autograd refuses it, and ``both`` tells if
        ``x`` and ``y`` have other values then. The last two are null if nothing could
        be written.
    """
    pair = _pair(call, state, device)
    seen = observed(pair)
    cells = [storage["cells"] for storage in seen["storages"]]
    writes = {name: _written(name, call, state, device, cells) for name in pair}
    return {"observed": seen, "writes": writes}


def _pair(call: Call, state: str, device: str) -> dict[str, Any]:
    run = Run(call, state, device)
    y = run.result()
    return {"x": run.x, "y": y}


def observed(pair: dict[str, Any]) -> dict[str, Any]:
    """Return what there is to draw of ``x`` and ``y``, whatever they are.

    Numbers, also those in a list, are drawn as cells that are no tensor's memory.
    """
    arrays = {name: _as_array(value) for name, value in pair.items()}
    seen = observe(arrays)
    for tensor in seen["tensors"]:
        for name in tensor["names"]:
            if arrays[name] is not pair[name]:
                tensor["kind"] = OTHERS.get(type(pair[name]).__name__, "a number")
                if tensor["kind"] in ("a number", "a Python list"):
                    seen["storages"][tensor["storage"]]["dashed"] = True
    return seen


def _as_array(value: Any) -> Any:
    if is_drawn(value):
        return value
    return value.to_numpy() if hasattr(value, "iloc") else np.asarray(value)


def _written(
    name: str, call: Call, state: str, device: str, before: list[list[str] | None]
) -> dict[str, Any]:
    """Write through one name of a new pair; say what that changed or raised."""
    refused = None
    for guarded in (state == "no_grad", True):
        pair = _pair(call, state, device)
        values = {key: _values(value) for key, value in pair.items()}
        try:
            with torch.set_grad_enabled(not guarded):
                getattr(pair[name], "iloc", pair[name])[0] = 7
        except Exception as error:
            refused = refused or _said(error)
        else:
            cells: list[list[int]] = [[] for _ in before]
            if name == "x" or not isinstance(pair["y"], list):  # or its rows are uneven
                storages = zip(before, observed(pair)["storages"], strict=True)
                cells = [_changed(old or [], storage) for old, storage in storages]
            both = all(_values(pair[key]) != values[key] for key in pair)
            return {"refused": refused, "changed": cells, "both": both}
    return {"refused": refused, "changed": None, "both": None}


def _changed(before: list[str], storage: dict[str, Any]) -> list[int]:
    """Return the cells with other values, of those that a tensor holds.

    What is in between was never written, and holds something else in each run.
    """
    changed = [at for at, one in enumerate(before) if one != storage["cells"][at]]
    size = storage["bytes"] // max(len(before), 1)
    runs = [run for window in storage["windows"] for run in window["runs"]]
    return [at for at in changed if any(a <= at * size < b for a, b in runs)]


def _ending(call: Call) -> str | None:
    """Run a call in a process of its own; say how that ended, None if as it should."""
    lines = ["import numpy as np, torch", "x = torch.ones(2, 3)", call.given, call.code]
    command = [sys.executable, "-c", "\n".join(lines)]
    status = subprocess.run(command, capture_output=True, check=False).returncode
    return signal.Signals(-status).name if status < 0 else None


class Run:
    """One run of one call on an ``x`` made for it."""

    def __init__(self, call: Call, state: str, device: str) -> None:
        self.call, self.state = call, state
        self.warning: str | None = None
        x, self.source = _new_x(state, device)
        self.names = {"x": x, "torch": torch, "np": np, "nn": nn, "copy": copy}
        exec(_compiled(call.given)[0], self.names)
        self.x = self.names[call.subject]
        if self.names["x"] is not x:  # it became a parameter
            self.source = self.x if self.x.requires_grad else None
        module = self.names.get("module")
        held = [self.x, *(() if module is None else module.parameters())]
        self.there_before = [memory for value in held for memory in _memories(value)]
        self.marks_before = self._marks()
        self.version_before, self.values_before = _version(self.x), _values(self.x)

    def result(self) -> Any:
        """Return the result; keep the first warning."""
        names = self.names
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with torch.set_grad_enabled(self.state != "no_grad"):
                    code, is_expression = _compiled(self.call.code)
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
        version, before, strides = _version(x), _strides(x), _strides(result)
        seen: dict[str, Any] = {
            "same_object": result is x,
            "result": type(result).__name__,
            "changes_x": self._marks() != self.marks_before,
            "result_device": result.device.type if tensor else "cpu",
            "strides_kept": None,
            "new_bytes": self._new_bytes(result),
            "writes_x": _values(x) != self.values_before,
            "pinned": result.is_pinned() if tensor else None,
        }
        if strides and before and len(strides) == len(before):
            seen["strides_kept"] = strides == before
        if version is not None:
            seen["version_raised"] = version - self.version_before
        if tensor:
            function = result.grad_fn
            seen["requires_grad"] = result.requires_grad
            seen["is_leaf"] = result.is_leaf
            seen["grad_fn"] = None if function is None else type(function).__name__
        if self.source is None and getattr(x, "requires_grad", False) and x.is_leaf:
            self.source = x  # the call has made it require grad
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
        self.source.grad = None  # an optimizer's step needs one
        if isinstance(result, torch.Tensor) and result.requires_grad:
            total = result.sum()
            (total.real if total.is_complex() else total).backward()
        return self.source.grad is not None and bool(self.source.grad.any())

    def _write(self, result: Any) -> dict[str, bool | None]:
        """Write into ``x``: see if values and version counter of the result follow."""
        values, version = _values(result), _version(result)
        written = _memory(result)
        by_storage = written is not None and any(
            _overlap(written, memory) for memory in _memories(self.x)
        )
        with torch.no_grad():
            _change(self.x)
        by_write = _values(result) != values
        if by_write != by_storage:
            raise Disagreement(
                f"{self.call.code} ({self.state}): the storages say "
                f"{by_storage}, a write says {by_write}"
            )
        follows = None
        if version is not None and isinstance(self.x, torch.Tensor):
            follows = _version(result) > version
        return {"shares_memory": by_write, "shares_version": follows}


@cache
def _compiled(code: str) -> tuple[CodeType, bool]:
    """Return code to run, and whether it is an expression, whose value is asked for."""
    named = re.sub(r"\bcuda\b", accelerator() or "cuda", code)
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
    if state == "slice":
        return values.repeat_interleave(2, dim=1)[:, ::2], None
    if state == "expanded":
        return values[0].clone().expand(2, 3), None
    leaf = values.requires_grad_()
    if state == "leaf_view":
        return leaf.view(2, 3), leaf
    return (leaf * 2 if state == "nonleaf" else leaf), leaf


def _memory(value: Any) -> tuple[int, int] | None:
    """Return the first address of a value's memory and the one after its last."""
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    if is_array(value):
        return array_reach(value)
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
    """Write into ``x`` in place: to all of a tensor or an array, to the first value.

    ``x += 1`` refuses a tensor whose elements are at one place.
    """
    if isinstance(x, torch.Tensor) and 0 in x.stride():  # its rows are one memory
        x[0].add_(1)
    elif is_drawn(x):
        x += 1 + 1j if isinstance(x, torch.Tensor) and x.is_complex() else 1
    elif hasattr(x, "putpixel"):
        x.putpixel((0, 0), x.getpixel((0, 0)) + 1)
    else:
        x.iloc[0, 0] += 1


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
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
    if is_array(value):
        return tuple(stride // value.itemsize for stride in value.strides)
    return None


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {first_paragraph(str(error))}"


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a message, without places and addresses."""
    text = text.split("\n\n")[0].partition("(Triggered internally at")[0]
    text = re.sub(r"\b0x[0-9a-f]+", "an address", text)
    text = re.sub(r"(?<![\w:/])/(?:[\w.+-]+/)+[\w.+-]*", "a file", text)
    return " ".join(text.split())[:LONGEST_TEXT]
