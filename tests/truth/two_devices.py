"""What tests run with the simulated device, each function in a fresh process.

There are two more accounts of a second device, which run none of our code:
``FakeTensorMode`` follows PyTorch's rules for CUDA with tensors that have no data, and
the ``meta`` device refuses what all devices refuse that are not the CPU.
"""

import io
import linecache
import os
import re
import tempfile
import traceback
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import torch
from IPython.core.interactiveshell import InteractiveShell
from tensor_copies.figures import figures_of
from tensor_copies.gallery.isolation import prepare
from tensor_copies.gallery.pages import cells_in
from tensor_copies.machines import runner
from tensor_copies.simulated import NAME, load_device, with_its_name
from tensor_maps.atlas import calls
from torch._subclasses.fake_tensor import FakeTensorMode
from traitlets.config import Config
from witness import Witness

# By these words a device says that it cannot tell what another would do.
CANNOT_TELL = re.compile(
    r"not supported for tensor subclasses|on meta tensors|out of meta tensor"  # no data
    r"|^aten\.|aten::nonzero|nonzero\(\) raises unimpl|masked_select"  # it asks data
    "|compiled with CUDA|NVIDIA driver|the 'CUDA' backend"  # CUDA itself is asked
    "|pickle local object|aten._pin_memory|_share_fd_|Couldn't swap"  # no fake can
    "|Cannot view a tensor with shape"  # a fake's words for a RuntimeError
    "|more than one element of the written-to"  # that a fake takes
    "|meta for Dlpack|pack tensors on meta|Tensors of supported devices"  # not meta
)
# Facts that FakeTensorMode gets wrong on every device: it makes a fake anew.
WRONG_IN_FAKES = {"copy.copy(x)": "shares_memory"}
if torch.__version__ < "2.7":  # the data of a fake Parameter is set, its device stays
    WRONG_IN_FAKES['module.to("cpu").weight'] = "device"


def run_page(page: Path) -> None:
    """Run the cells of a page in a shell of its own; raise what one should not."""
    load_device()
    prepare({}, page.name)
    quiet = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell.instance(config=quiet)
    with tempfile.TemporaryDirectory() as there, redirect_stdout(io.StringIO()):
        os.chdir(there)
        for cell in cells_in(with_its_name(page.read_text("utf-8"))):
            done = shell.run_cell(cell.code, store_history=True)
            error = done.error_before_exec or done.error_in_exec
            if error is not None and "raises-exception" not in cell.tags:
                last = "".join(traceback.format_exception(error)[-6:])
                raise AssertionError(f"the cell on line {cell.line}:\n{last}")


def run_to_its_end(script: Path) -> None:
    """Run a lesson, also what takes times, of which a build runs nothing there."""
    runner.takes_times = lambda code: False
    runner.run_lesson(script, figures_of, simulated=True)


def hold(rule: str, code: str) -> None:
    """Run the code of a rule, whose lines a traceback shows."""
    linecache.cache[rule] = len(code), None, code.splitlines(keepends=True), rule
    load_device()
    warnings.simplefilter("error")
    exec(compile(code, rule, "exec"), {"torch": torch, "d": NAME})


def compare_all() -> list[tuple[str, int, list[str]]]:
    """Of each call and kind of x say how much others confirm, and what they deny."""
    load_device()
    torch.ops.standin.let_cuda_be_faked()
    return [
        (call.id, *compare(call, state))
        for call in calls.CALLS.values()
        for state in (call.states if call.subject == "x" else ())
    ]


def compare(call: calls.Call, state: str) -> tuple[int, list[str]]:
    """Run a call on the device, on a fake of CUDA and on ``meta``."""
    here = facts_on(NAME, call, state)
    with FakeTensorMode():
        fake = facts_on("cuda", call, state)
    fake.pop(WRONG_IN_FAKES.get(call.code), None)
    # The meta device knows no result that is a copy on the CPU: only what it refuses.
    refused = facts_on("meta", call, state).get("raises")
    meta = {"raises": refused} if refused else {}
    told = [
        (fact, other[fact]) for other in (fake, meta) for fact in here.keys() & other
    ]
    denied = [f"{call.id}, {state}: {fact} is {there} elsewhere"
              for fact, there in told if there != here[fact]]  # fmt: skip
    return len(told) - len(denied), denied


def facts_on(place: str, call: calls.Call, state: str) -> dict[str, Any]:
    """Return what a call does there; nothing where that cannot be told."""
    try:
        ran = Witness(call.code, call.given, "x", state, place).run()
    except Exception as error:
        cannot = CANNOT_TELL.search(str(error))
        return {} if cannot else {"raises": type(error).__name__}
    facts: dict[str, Any] = {"raises": "nothing", "same_object": ran.y is ran.x}
    if isinstance(result := ran.y, torch.Tensor):
        facts |= {
            "is_a_parameter": isinstance(result, torch.nn.Parameter),
            "device": "the CPU" if result.device.type == "cpu" else "that of x",
            "shares_memory": _memory(result) == _memory(ran.x),
            "requires_grad": result.requires_grad,
            "is_leaf": result.is_leaf,
        }
    return facts


def _memory(tensor: torch.Tensor) -> tuple[str, int]:
    """Return what tells a tensor's memory from any other; a fake has no address."""
    storage = tensor.untyped_storage()
    real = tensor.device.type == NAME or type(tensor) is torch.Tensor
    return tensor.device.type, storage.data_ptr() if real else storage._cdata
