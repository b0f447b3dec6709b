"""A witness of a call: an x of its own, a new run for each question, no probe's code.

It asks autograd for a derivative, writes through the result, and has a backward pass
refuse what was changed.
"""

import copy
import functools
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from tensor_copies import simulated
from tensor_copies.calls.facts import facts
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_maps.atlas.calls import ALL_STATES, TABLE, Call
from torch import nn

ROWS = [[2.0, -4.0, 12.0], [-8.0, 5.0, -9.0]]  # none is a value that a call writes


@dataclass(frozen=True)
class Heard:
    """What the site says of a call on one kind of x, and what a witness has seen."""

    call: Call
    state: str
    away: bool
    record: dict[str, Any]
    seen: dict[str, Any]

    @property
    def key(self) -> tuple[str, str, str]:
        """What a failed test names."""
        return self.call.code, self.state, "away" if self.away else "here"


def hear() -> list[Heard]:
    """Ask a witness about every record of rows and chains."""
    data, asked = facts(), []
    rows = {call.code: call for call in data.calls.values()}
    for code, state, away in product(data.codes, ALL_STATES, (False, True)):
        given = TABLE["given"]["device"] if "(device)" in code else ""
        call = rows.get(code, Call(code, code, given=given))
        record = data.record(code, state, away)
        if record and record["source"] != "recorded" and not call.ends_python:
            asked.append((call, state, away, record))
    cases = [(c.code, c.given, c.subject, *where) for c, *where, _ in asked]
    seen = in_fresh_process(ask_all, cases, simulated.is_wanted())
    return [Heard(*one, told) for one, told in zip(asked, seen, strict=True)]


def ask_all(cases: Iterable[tuple], simulate: bool) -> list[dict[str, Any]]:
    """Return the testimony of each (code, given, subject, state, away)."""
    if simulate:
        simulated.load_device()
    torch.set_warn_always(True)
    places = "cpu", str(torch.accelerator.current_accelerator() or "cpu")
    return [Witness(*case, places[away]).testimony() for *case, away in cases]


@functools.cache  # of a call each question runs it
def compiled(code: str) -> CodeType:
    return compile(code, "call", "exec")


def new_x(state: str, device: str) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return a new x, and the leaf that is behind it."""
    if state == "view":
        return torch.tensor([*zip(*ROWS, strict=True)]).to(device).mT, None
    if state == "slice":
        twice = [[value for value in row for _ in "12"] for row in ROWS]
        return torch.tensor(twice).to(device)[:, ::2], None
    if state == "expanded":
        return torch.tensor(ROWS[0]).to(device).expand(2, -1), None
    x = torch.tensor(ROWS).to(device)
    if state == "constant":
        return x, None
    x.requires_grad = True
    if state == "nonleaf":
        return x.mul(-3), x
    return x.view(2, -1) if state == "leaf_view" else x, x


def values_of(value: Any) -> list[float]:
    """Return the values of a tensor, an array, a data frame, an image or a number."""
    if hasattr(value, "getpixel"):
        return list(value.tobytes())
    if isinstance(value, list):
        return [one for part in value for one in values_of(part)]
    if isinstance(value, torch.Tensor):
        return value.detach().flatten().tolist()
    return np.ravel(value).tolist()


def tensor_of(value: Any) -> torch.Tensor | None:
    """Return a tensor in the same memory, None of what is no tensor and no array."""
    value = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
    return value.detach() if isinstance(value, torch.Tensor) else None


def whole_memory(value: Any) -> torch.Tensor:
    """Return all of the memory that a value is in; nothing of a number's."""
    while isinstance(getattr(value, "base", None), np.ndarray | torch.Tensor):
        value = value.base
    if (tensor := tensor_of(value)) is None:
        return torch.tensor([])
    cells = tensor.untyped_storage().nbytes() // tensor.itemsize
    return tensor.as_strided((cells,), (1,), 0)


def look(x: Any) -> tuple[list[float], Any, int]:
    """Return the values of x, what else it is to autograd, and its version."""
    if not isinstance(x, torch.Tensor):
        return values_of(x), None, 0
    flags = x.requires_grad, x.is_leaf, x.grad_fn is None, x.device, x.data_ptr()
    return values_of(x), flags, x._version


def steps(value: Any) -> list[int] | None:
    """Return how many elements lie between neighbours; None if some have none."""
    tensor = tensor_of(value)
    if tensor is None or 1 in tensor.shape:
        return None
    second = [tensor.select(at, 1).data_ptr() for at in range(tensor.ndim)]
    return [(there - tensor.data_ptr()) // tensor.itemsize for there in second]


def write(into: Any) -> None:
    """Write a number into the first place of a value, whatever autograd says."""
    inference = isinstance(into, torch.Tensor) and into.is_inference()
    with torch.inference_mode() if inference else torch.no_grad():
        if hasattr(into, "putpixel"):
            into.putpixel((0, 0), 77)
        elif isinstance(into, list):
            into[0][0] = 77.0
        else:
            (into.iloc if hasattr(into, "iloc") else into)[(0,) * into.ndim] = 77.0


def real_sum(value: torch.Tensor) -> torch.Tensor:
    return value.sum().real if value.is_complex() else value.sum()


def saving(value: torch.Tensor) -> Callable[[], bool]:
    """Have a backward pass save the values; return what says if it refuses by then."""
    factor = torch.ones(1, requires_grad=True, device=value.device)
    with torch.enable_grad():
        total = real_sum(value.detach() * factor)

    def alarm() -> bool:
        try:
            total.backward()
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
            return True
        return False

    return alarm


def raises(call: Callable[[Any], Any], argument: Any) -> bool:
    try:
        call(argument)
    except RuntimeError:
        return True
    return False


def is_written(value: Any) -> bool:
    """Whether a value lets itself be written to: some of NumPy's arrays do not."""
    of_numpy = isinstance(value, np.ndarray) and value.flags.writeable
    return isinstance(value, torch.Tensor | list) or of_numpy


def has_counter(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not value.is_inference()


@dataclass
class Witness:
    """One call on one kind of x; each question runs it anew."""

    code: str
    given: str
    subject: str
    state: str
    device: str

    def __post_init__(self) -> None:
        names = self.code, self.given
        if hasattr(torch, simulated.NAME) and self.device in ("cpu", simulated.NAME):
            self.code, self.given = map(simulated.with_its_name, names)
        if not re.search(r"^\s*y = ", self.code, re.MULTILINE):
            self.code = f"y = {self.code}"

    def run(self, before: Callable[[Any], Any] = lambda x: None) -> SimpleNamespace:
        """Make an x, look at it, run the call; return x, y, the leaf and the look."""
        made, leaf = new_x(self.state, self.device)
        names = {"x": made, "torch": torch, "np": np, "nn": nn, "copy": copy}
        exec(compiled(self.given), names)
        x = names[self.subject]
        ran = SimpleNamespace(x=x, before=before(x))
        is_parameter = names["x"] is not made
        with warnings.catch_warnings(record=True) as ran.warned:
            warnings.simplefilter("always")
            with torch.set_grad_enabled(self.state != "no_grad"):
                exec(compiled(self.code), names)
        if is_parameter or leaf is None:  # x is the leaf, perhaps by this call
            leaf = x if getattr(x, "requires_grad", False) else None
        ran.y, ran.leaf = names["y"], leaf
        return ran

    def testimony(self) -> dict[str, Any]:
        """Return what is seen of the call, by the names in COLUMNS and more."""
        try:
            ran = self.run(look)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
        x, y, (values, flags, version) = ran.x, ran.y, ran.before
        now, flags_now, version_now = look(x)
        said = [f"{one.category.__name__}: {one.message}" for one in ran.warned]
        seen = {
            "error": None,
            "warning": said[0] if said else None,
            "same_object": y is x,
            "shares_memory": (shares := self.shares()),
            "gradient_flows": self.gradient(),
            "result": type(y).__name__,
            "where": "cpu" if getattr(y, "is_cpu", True) else "device",
            "changes_x": flags != flags_now,
            "writes_x": values != now,
            "version_raised": version_now - version if has_counter(x) else None,
            "x_moved": flags is not None and flags[-1] != flags_now[-1],
            "bytes": None,
            "call_is_noticed": self.run(saving).before() if has_counter(x) else None,
            "shares_version": self.alarm("y", "x") if has_counter(x) else None,
            "write_is_noticed": self.alarm("x", "y"),
            "after": {name: self.after(name) for name in "xy"},
            **dict.fromkeys(("requires_grad", "is_leaf", "grad_fn", "pinned")),
        }
        if isinstance(y, torch.Tensor):
            seen |= {"bytes": y.untyped_storage().nbytes(), **in_autograd(y)}
        elif isinstance(y, np.ndarray):
            seen["bytes"] = y.size * y.itemsize
        if not shares:
            seen["other_values"] = not set(values_of(y)) <= set(values)
        if None not in (both := (steps(x), steps(y))) and len(both[0]) == len(both[1]):
            seen["strides_kept"] = both[0] == both[1]
        if shares and y is not x and has_counter(y):
            seen["needs_no_grad"] = raises(y.fill_, 77.0)
            with torch.no_grad():
                seen["repeats"] = raises(y.add_, 1)
        if isinstance(x, torch.Tensor):
            ran = self.run(torch.Tensor.detach)
            values = values_of(ran.before)
            write(ran.x)
            seen["earlier_views_follow"] = values_of(ran.before) != values
        return seen

    def gradient(self) -> bool | None:
        """Whether autograd has a derivative for the leaf; None where there is none."""
        ran = self.run()
        if ran.leaf is None:
            return None
        if not isinstance(ran.y, torch.Tensor) or not ran.y.requires_grad:
            return False
        with torch.enable_grad():
            total = real_sum(ran.y * 2)
        (gradient,) = torch.autograd.grad(total, ran.leaf, allow_unused=True)
        return gradient is not None and bool(gradient.any())

    def shares(self) -> bool:
        """Whether a write through y is in x; or one through x in y, if y refuses it."""
        ran = self.run()
        into, other = (ran.y, ran.x) if is_written(ran.y) else (ran.x, ran.y)
        before = values_of(other)
        write(into)
        return values_of(other) != before

    def alarm(self, saved: str, written: str) -> bool | None:
        """Whether a backward pass that saved one of x and y refuses a write to both."""
        ran = vars(self.run())
        if not has_counter(ran[saved]) or not is_written(ran[written]):
            return None
        alarm = saving(ran[saved])
        write(ran[written])
        return alarm()

    def after(self, name: str) -> dict[str, Any]:
        """Write as a reader would, under no_grad if that is refused; say what changed.

        ``changed`` are the places in the memory of x and in that of y.
        """
        refused = None
        for grad in (self.state != "no_grad", False):
            ran = self.run()
            into = getattr(ran, name)
            held = ran.x, ran.y, whole_memory(ran.x), whole_memory(ran.y)
            before = [*map(values_of, held)]
            try:
                with torch.set_grad_enabled(grad):
                    getattr(into, "iloc", into)[0] = 7
            except Exception as error:
                refused = refused or f"{type(error).__name__}: {error}"
                continue
            x, y, *memories = zip(before, map(values_of, held), strict=True)
            changed = [
                [at for at, value in enumerate(old) if value != new[at]]
                for old, new in memories
            ]
            some = [old != new for old, new in (x, y)]
            written = {"written": some["xy".index(name)], "both": all(some)}
            return {"refused": refused, "changed": changed, **written}
        return {"refused": refused, "changed": None, "both": None, "written": False}


def in_autograd(y: torch.Tensor) -> dict[str, Any]:
    """Return what a tensor is to autograd, by a product of it; and if it is pinned."""
    with torch.enable_grad():
        product = (y * 2).grad_fn
    node = product and product.next_functions[0][0]
    is_leaf = node is None or node.name().endswith("AccumulateGrad")
    memory, pinned = whole_memory(y), y.is_cpu and torch.accelerator.is_available()
    return {
        "requires_grad": product is not None,
        "is_leaf": is_leaf,
        "grad_fn": None if is_leaf else node.name().rpartition("::")[2],
        "pinned": pinned and memory.pin_memory().data_ptr() == memory.data_ptr(),
    }
