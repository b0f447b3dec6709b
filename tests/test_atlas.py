"""The Atlas: complete, untyped, the same in all places, and true by other means."""

from __future__ import annotations

import ast
import copy
import csv
import gc
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import tracemalloc
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import PATIENCE, ROOT, TinySite, lesson
from reading import pages_in, soup
from recording import OTHER, OTHER_NAME
from tensor_copies import stand_in
from tensor_copies.atlas import data
from tensor_copies.machine.fingerprint import Fingerprint, fingerprint
from tensor_copies.recordings import check
from tensor_copies.recordings import format as recordings
from tensor_maps.atlas import calls, probes
from torch import nn

Record = dict[str, Any]
DASH = "\N{EN DASH}"
REQUIRED = """
y = x | x.detach() | x.detach_() | x.data | x.clone() | x.detach().clone()
x.clone(memory_format=torch.contiguous_format) | x.clone().detach() | copy.copy(x)
copy.deepcopy(x) | x.new_tensor(x) | torch.tensor(x) | torch.as_tensor(x)
torch.asarray(x) | torch.asarray(x, copy=True) | torch.asarray(x, copy=False)
torch.empty_like(x).copy_(x) | x.to(x.device) | x.to(x.device, copy=True)
x.to(torch.float64) | x.to("cpu") | x.to("cuda") | x.cpu() | x.cuda() | x.pin_memory()
x.to("cpu", copy=True) | x.to("cpu", non_blocking=True) | x.to(device)
x.to(device, copy=True) | x.to(device, non_blocking=True)
x.pin_memory().to(device, non_blocking=True) | module.to(device).weight
module.to("cpu").weight
x.T | x.transpose(0, 1) | x.permute(1, 0) | x.flatten() | x.squeeze() | x.unsqueeze(0)
x.split(1)[0] | x.chunk(2)[0] | x[mask] | x.repeat(2, 1) | x.repeat_interleave(2)
torch.cat([x, x]) | torch.stack([x, x]) | x.float() | x.half()
x.copy_(torch.ones(2, 3))
x.lerp_(torch.ones_like(x), 0.5) | x.share_memory_() | default_collate([x, x])
torch.Tensor(a) | x.__array__() | torch.vmap(lambda row: row[:2])(x)
torch.func.functional_call(module, {"weight": x}, x.new_ones(1, 3))
x.contiguous() | x.view(6) | x.reshape(6) | x[:, :2] | x[:, [0, 1]] | x.expand(4, 2, 3)
x.numpy() | x.numpy(force=True) | np.asarray(x) | np.array(x) | torch.from_numpy(a)
np.from_dlpack(x) | torch.from_dlpack(x) | x.tolist() | x[0, 0].item()
x.requires_grad_(False) | nn.Parameter(x) | module.state_dict()["weight"]
copy.deepcopy(module).weight | x.detach().clone().requires_grad_()
x.detach().to("cpu", copy=True) | x.detach().to("cpu", copy=True).numpy()
torch.from_numpy(df["a"].to_numpy()) | torch.as_tensor(df.values)
torch.tensor(df.to_numpy()) | torch.from_numpy(df.to_numpy(copy=True))
torch.from_numpy(mixed.to_numpy()) | torch.tensor(df)
torch.from_numpy(np.array(image)) | torch.as_tensor(np.asarray(image))
"""


@pytest.fixture(scope="module")
def observed() -> dict[tuple[str, str], Record]:
    """Return what the probes see now, with ``x`` on the CPU.

    In a new Python: this one has threads, which are not forked in their work, and says
    of a probe that ends its process that a test did.
    """
    command = [sys.executable, *data.PROBES, "--device", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return {
        (record["operation"], record["state"]): record
        for record in json.loads(done.stdout)["records"]
    }


@pytest.fixture(scope="module")
def second() -> dict[tuple[str, str, str], Record]:
    """Return what the probes see now where the stand-in is a second device."""
    try:
        done = stand_in.new_python(*data.PROBES)
    except stand_in.NoStandIn as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(missing).partition("\n")[0])
    assert done.returncode == 0, done.stderr
    return {
        (record["operation"], record["state"], record["device"]): record
        for record in json.loads(done.stdout)["records"]
    }


@pytest.fixture(scope="module")
def published(site: Path) -> dict[str, Any]:
    return json.loads((site / "atlas.json").read_text(encoding="utf-8"))


# -- By other means ------------------------------------------------------------------


class Again:
    """One operation on an ``x`` made here, run here: nothing of the probes' code."""

    def __init__(self, operation: calls.Operation, state: str) -> None:
        self.leaf = None
        if state in ("constant", "view"):
            x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
            if state == "view":
                x = torch.tensor([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]).mT
        else:
            x = self.leaf = torch.tensor(
                [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True
            )
            if state == "nonleaf":
                x = self.leaf.mul(3)
        names: dict[str, Any] = {"x": x, "torch": torch, "np": np}
        names |= {"nn": nn, "copy": copy}
        exec(operation.given, names)
        self.x = names[operation.subject]
        if "nn.Parameter(x" in operation.given:
            self.leaf = self.x if self.leaf is not None else None
        code = operation.code
        self.code = (
            code if re.search(r"^\s*y = ", code, re.MULTILINE) else f"y = {code}"
        )
        self.names, self.state = names, state

    def run(self) -> Any:
        """Return the result."""
        grad = torch.no_grad() if self.state == "no_grad" else nullcontext()
        with warnings.catch_warnings(), grad:
            warnings.simplefilter("ignore")
            exec(self.code, self.names)
        return self.names["y"]


def value_of(x: Any) -> float:
    """Return the first value of a tensor, an array, a data frame or an image."""
    if hasattr(x, "iloc"):
        return float(x.iloc[0, 0])
    return x.getpixel((0, 0)) if hasattr(x, "getpixel") else x[0, 0].item()


def each(
    observed: dict[tuple[str, str], Record],
) -> list[tuple[calls.Operation, str, Record]]:
    """Return the probes that ended with a result."""
    return [
        (calls.OPERATIONS[name], state, record)
        for (name, state), record in observed.items()
        if record["error"] is None
    ]


def test_gradients_by_asking_autograd_for_the_derivative(observed: dict) -> None:
    for operation, state, record in each(observed):
        again = Again(operation, state)
        result = again.run()
        arrives = None
        if again.leaf is not None:
            arrives = False
            if isinstance(result, torch.Tensor) and result.requires_grad:
                (gradient,) = torch.autograd.grad(
                    (result * 2).sum(), again.leaf, allow_unused=True
                )
                arrives = gradient is not None and bool(gradient.any())
        assert arrives is record["gradient_flows"], (operation.code, state)


def test_memory_by_writing_through_the_result(observed: dict) -> None:
    for operation, state, record in each(observed):
        again = Again(operation, state)
        result, x = again.run(), again.x
        if isinstance(result, np.ndarray) and not result.flags.writeable:
            shares = np.shares_memory(result, x.detach().numpy())
        elif isinstance(result, list):
            result[0][0] = 77.0
            shares = x[0, 0].item() == 77.0
        elif isinstance(result, float):
            shares = False
        else:
            where = (0,) * result.ndim
            tensor = isinstance(result, torch.Tensor)
            inference = tensor and result.is_inference()
            with torch.inference_mode() if inference else torch.no_grad():
                result[where] = 77.0
            shares = value_of(x) == 77.0
        assert bool(shares) is record["shares_memory"], (operation.code, state)


def test_the_memory_of_frames_and_images_by_their_own_libraries(
    observed: dict[tuple[str, str], Record],
) -> None:
    """What pandas and Pillow write shows in the tensor, or it does not."""
    counted = {True: 0, False: 0}
    for operation, state, record in each(observed):
        if operation.needs not in calls.LIBRARIES:
            continue
        again = Again(operation, state)
        result, x = again.run(), again.x
        before = result.clone()
        if operation.needs == "pillow":
            x.paste(200, (0, 0, *x.size))
        else:
            x.loc[:, "a"] = 200.0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shares = np.shares_memory(result.numpy(), x["a"].to_numpy())
            assert shares is record["shares_memory"], operation.code
        assert value_of(x) == 200
        follows = not torch.equal(result, before)
        assert follows is record["shares_memory"], operation.code
        counted[follows] += 1
    assert counted[True] >= 2 and counted[False] >= 4


def test_version_counters_by_an_alarm_in_the_backward_pass(observed: dict) -> None:
    """A write into x stops a backward pass through the result's saved values."""
    checked = 0
    for operation, state, record in each(observed):
        if record["shares_version"] is None or not record["shares_memory"]:
            continue
        again = Again(operation, state)
        result, factor = again.run(), torch.ones(1, requires_grad=True)
        product = (result.detach() * factor).sum()  # saves the result's values
        with torch.no_grad():
            again.x.mul_(2)
        try:
            product.backward()
            alarm = False
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
            alarm = True
        assert alarm is record["shares_version"], (operation.code, state)
        checked += 1
    assert checked > 40


@pytest.mark.slow
def test_bytes_by_the_allocators_own_events(observed: dict) -> None:
    """Torch's profiler and NumPy's tracemalloc count what each call left behind."""
    from torch.profiler import ProfilerActivity, profile, record_function

    held, by_numpy = [], {}
    numpy_only = [tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)]
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        with profile(
            activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True
        ) as profiler:
            for operation, state, _ in each(observed):
                again = Again(operation, state)
                name = f"probe {operation.id} {state}"
                tracemalloc.clear_traces()
                with record_function(name):
                    result = again.run()
                traces = tracemalloc.take_snapshot().filter_traces(numpy_only).traces
                by_numpy[name] = sum(trace.size for trace in traces)
                held.append((again, result))
    finally:
        tracemalloc.stop()
        gc.enable()
    left = {
        event.name: event.cpu_memory_usage + by_numpy[event.name]
        for event in profiler.events()
        if event.name in by_numpy
    }
    assert len(left) == len(held)
    # The bytes behind np.asarray(image) are an object of Python's.
    others = ("pin-memory", "share-memory", "image-as-tensor")
    wrong: dict[tuple[str, str], tuple[int, int | None]] = {}
    for operation, state, record in each(observed):
        if record["result_device"] == "cuda" or operation.id in others:
            continue  # other allocators: a GPU's, the system's
        bytes_left = left[f"probe {operation.id} {state}"]
        if operation.id in ("load-state-dict-assign", "module-double"):
            bytes_left += 24  # the weight that the module had is freed
        if operation.id == "column-from-numpy":
            bytes_left -= 32  # the frame's map of its columns, made at a first look
        if operation.id == "functional-call" and record["grad_fn"]:
            bytes_left -= 12  # what the module was called with, kept for backward
        if (operation.id, state) == ("detach-in-place", "nonleaf"):
            bytes_left = 0  # the graph behind x is freed
        if operation.id == "index" and record["grad_fn"]:
            bytes_left -= 16  # the two indices, kept for the backward pass
        if operation.id == "mul-in-place" and record["grad_fn"]:
            bytes_left -= 8  # the factor, kept for the backward pass
        if bytes_left != (record["new_bytes"] or 0):
            wrong[operation.code, state] = (bytes_left, record["new_bytes"])
    assert wrong == {}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_cuda_the_queue_and_the_allocator_say_the_same() -> None:
    for code, waits in (("x.clone()", False), ("x.cpu()", True), ("x.detach()", False)):
        record = probes.observe(code, "leaf", "cuda")
        assert record["waits"] is waits, code
        on_device = record["result_device"] == "cuda"
        assert record["cuda_bytes"] == (record["new_bytes"] if on_device else 0), code


def test_errors_and_warnings_come_from_the_code_itself(observed: dict) -> None:
    for (name, state), record in observed.items():
        if record["error"] is None or record["error"].startswith("Python ended"):
            continue
        kind, _, message = record["error"].partition(": ")
        with pytest.raises(Exception) as raised:
            Again(calls.OPERATIONS[name], state).run()
        assert type(raised.value).__name__ == kind
        assert " ".join(str(raised.value).split()).startswith(message[:60])


# -- Invariants over every record ----------------------------------------------------


def every(record: Record) -> None:
    """Assert what no record may contradict."""
    if record["error"] is not None:
        unseen = set(record) - {
            *("operation", "state", "device", "warning", "error"),
            *("machine", "source"),
        }
        assert all(record[name] is None for name in unseen)
        return
    if record["same_object"]:
        assert record["shares_memory"]
        assert record["shares_version"] in (True, None)
    if record["shares_memory"] and not record["changes_x"]:
        assert record["new_bytes"] == 0
    if record["shares_version"]:
        assert record["shares_memory"]
    if record["gradient_flows"]:
        assert record["requires_grad"]
        assert record["same_object"] or not record["is_leaf"]
    if record["grad_fn"] is not None:
        assert record["requires_grad"] and record["is_leaf"] is False
    if record["state"] in ("constant", "view"):
        assert record["gradient_flows"] is None
    else:
        assert record["gradient_flows"] is not None
    if record["requires_grad"] is False:
        assert record["is_leaf"] and not record["gradient_flows"]
    if record["result"] in ("list", "float"):
        assert record["requires_grad"] is None and record["new_bytes"] is None
    for name in ("warning", "error"):
        assert not re.search(
            r"0x[0-9a-f]{4}|Triggered|/\w+/\w+/\w+\.", record[name] or ""
        )


def test_no_record_contradicts_itself(published: dict, observed: dict) -> None:
    for record in [*published["records"], *observed.values()]:
        try:
            every(record)
        except AssertionError as error:
            pytest.fail(f"{record}: {error}")


def test_what_the_lessons_build_on(published: dict) -> None:
    """Each machine's answers for a leaf: gradients, memory."""
    expected = {
        "detach": (False, True),
        "detach-clone": (False, False),
        "clone": (True, False),
        "new-leaf": (False, False),
        "empty-like-copy": (True, False),
        "copy-copy": (False, True),
        "detach-to-cpu-copy": (False, False),
        "independent-array": (False, False),
        "state-dict": (False, True),
        "load-state-dict": (False, False),
        "parameter": (False, True),
    }
    on_cpu = {"to-cpu": True, "cpu": True, "numpy-force": True}
    seen = 0
    for record in published["records"]:
        name = record["operation"]
        if record["state"] == "leaf" and name in expected:
            answer = (record["gradient_flows"], record["shares_memory"])
            assert answer == expected[name], record
            seen += 1
        if record["state"] == "leaf" and name in on_cpu:
            assert record["shares_memory"] == (record["device"] == "cpu"), record
    assert seen >= len(expected)


# -- Complete, and the same everywhere -----------------------------------------------


def test_every_required_row_is_there(published: dict, site: Path) -> None:
    codes = {row["code"] for row in published["operations"]}
    wanted = {code.strip() for code in re.split(r"[|\n]", REQUIRED) if code.strip()}
    assert len(codes) >= 100
    assert {"x += 1\ny = x", "x[0] = 7\ny = x"} <= codes
    assert sum("torch.load(file" in code for code in codes) == 2
    assert wanted - codes == set()
    assert any("no_grad()" in code for code in codes)
    assert any("inference_mode()" in code for code in codes)
    assert sum("load_state_dict(" in code for code in codes) == 2
    assert any("assign=True" in code for code in codes)
    home = soup(site / "index.html").select("table.calls code")
    assert {code.get_text() for code in home} <= codes
    assert set(published["states"]) == {
        "leaf", "constant", "nonleaf", "view", "no_grad",
    }  # fmt: skip


def test_one_record_for_each_operation_state_and_device(published: dict) -> None:
    wanted = {
        (row["id"], state) for row in published["operations"] for state in row["states"]
    }
    for machine in published["machines"]:
        mine = [r for r in published["records"] if r["machine"] == machine["name"]]
        keys = [(r["operation"], r["state"], r["device"]) for r in mine]
        assert len(keys) == len(set(keys))
        on_cpu = {key[:2] for key in keys if key[2] == "cpu"}
        if machine["source"] == "stand-in":
            needs = {
                row["id"]
                for row in published["operations"]
                if row["needs"] == data.ACCELERATOR
            }
            assert on_cpu == {key for key in wanted if key[0] in needs}
            own = {
                row["id"] for row in published["operations"] if row["subject"] != "x"
            }
            on_device = {key[:2] for key in keys if key[2] == "standin"}
            assert on_device == {key for key in wanted if key[0] not in own}
        elif machine["source"] == "live":
            assert on_cpu == wanted
        else:  # where a library is missing, all of its calls are
            missing = {one for one, _ in wanted - on_cpu}
            assert on_cpu <= wanted
            assert missing in [
                {row["id"] for row in published["operations"] if row["needs"] in names}
                for names in ((), ("pandas",), ("pillow",), ("pandas", "pillow"))
            ]
    names = [machine["name"] for machine in published["machines"]]
    assert names[0] == fingerprint().name
    assert [machine["source"] for machine in published["machines"]].count("live") == 1
    recorded = {path.parent.name for path in ROOT.glob("docs/recordings/*/atlas.json")}
    made = [machine["source"] for machine in published["machines"]].count("stand-in")
    assert (
        set(names[: len(names) - made]) == {fingerprint().name} | recorded
    )  # no stale


def test_the_columns_are_those_that_recordings_check() -> None:
    assert list(recordings.ATLAS_COLUMNS) == list(calls.COLUMNS)


def test_what_is_kept_hangs_on_the_libraries_that_probes_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert data.USED == calls.LIBRARIES
    keys = {data.live_key()}
    for name in data.USED:
        monkeypatch.setattr(
            data, "version_of", lambda asked, name=name: str(asked == name)
        )
        keys.add(data.live_key())
    assert len(keys) == 1 + len(data.USED)


def test_a_new_run_gives_what_is_published(published: dict, observed: dict) -> None:
    live = {
        (r["operation"], r["state"]): {name: r[name] for name in calls.COLUMNS}
        for r in published["records"]
        if r["source"] == "live" and r["device"] == "cpu"
    }
    assert live == observed


def test_a_new_run_on_the_stand_in_gives_what_is_published(
    published: dict, second: dict
) -> None:
    """Two devices: the same cells, of which none is called CUDA."""
    made = [record for record in published["records"] if record["source"] == "stand-in"]
    assert len(made) > 200
    for record in made:
        seen = second[record["operation"], record["state"], record["device"]]
        assert {name: record[name] for name in calls.COLUMNS} == seen
        assert record["waits"] is None
        assert "cuda" not in (record["device"], record["result_device"])
    (machine,) = [m for m in published["machines"] if m["source"] == "stand-in"]
    assert machine["label"].startswith("stand-in device (no GPU), torch ")
    assert "CUDA" not in machine["label"] and "cuda" not in machine["name"]


def test_on_the_cpu_the_second_device_changes_nothing(
    observed: dict, second: dict
) -> None:
    """A call that goes to no device gives the same whether there is one or not."""
    for (name, state), record in observed.items():
        if calls.OPERATIONS[name].needs != data.ACCELERATOR:
            there = second[name, state, "cpu"] | {"cuda_bytes": None}
            assert there == record, (name, state)


def test_between_two_devices(second: dict) -> None:
    """The rules that the lessons teach, of an x that is on the other device."""
    expected = {
        # call: the same object, shares memory, where the result is
        "to-cpu": (False, False, "cpu"),
        "to-cpu-copy": (False, False, "cpu"),
        "to-cpu-non-blocking": (False, False, "cpu"),
        "cpu": (False, False, "cpu"),
        "numpy-force": (False, False, "cpu"),
        "to-device": (True, True, "standin"),
        "to-device-copy": (False, False, "standin"),
        "to-device-non-blocking": (True, True, "standin"),
        "to-cuda": (True, True, "standin"),
        "cuda": (True, True, "standin"),
        "detach": (False, True, "standin"),
        "module-to-device": (True, True, "standin"),
        "module-to-cpu": (True, True, "cpu"),
    }
    for name, facts in expected.items():
        record = second[name, "leaf", "standin"]
        seen = (record["same_object"], record["shares_memory"], record["result_device"])
        assert seen == facts, name
    assert second["to-device", "leaf", "cpu"]["result_device"] == "standin"
    assert second["to-device", "leaf", "cpu"]["cuda_bytes"] == 24
    moved = second["module-to-cpu", "leaf", "standin"]
    assert moved["changes_x"] and moved["new_bytes"] == 24
    assert second["module-to-cpu", "leaf", "cpu"]["changes_x"] is False
    pinned = second["pin-memory", "constant", "standin"]["error"]
    assert pinned.startswith("RuntimeError: cannot pin 'standin")
    refused = second["numpy", "constant", "standin"]["error"]
    assert refused.startswith("TypeError: can't convert standin:0 device type tensor")


def test_without_a_compiler_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if fingerprint().device_kind != "cpu":
        pytest.skip("a GPU needs no stand-in")

    def refuse(*arguments: str, **options: object) -> None:
        raise stand_in.NoCompiler

    monkeypatch.setattr(stand_in, "new_python", refuse)
    monkeypatch.setattr(data, "KEPT", tmp_path)
    lines: list[str] = []
    monkeypatch.setattr(data.progress, "say", lines.append)
    data.on_stand_in.forget()
    try:
        assert data.on_stand_in() is None
    finally:
        data.on_stand_in.forget()
    assert lines == [f"Atlas: x on the CPU alone. {stand_in.NoCompiler()}"]
    assert list(tmp_path.iterdir()) == []


def test_json_and_csv_agree(published: dict, site: Path) -> None:
    with (site / "atlas.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(published["columns"])
    words = {None: "", True: "true", False: "false"}
    texts = [
        {
            name: words[value]
            if value is None or isinstance(value, bool)
            else str(value)
            for name, value in record.items()
        }
        for record in published["records"]
    ]
    assert rows == texts


def shown(record: Record) -> list[str]:
    """Say a record as a reader of the page expects it."""
    if record["error"]:
        kind = record["error"].partition(": ")[0]
        ended = kind == "Python ended"
        return [DASH, DASH, record["error"] if ended else f"raises {kind}", DASH]
    words = {True: "yes", False: "no", None: DASH}
    kind = {"ndarray": "array, CPU", "list": "Python list", "float": "Python float"}
    device = {"cpu": "CPU", "cuda": "CUDA", "standin": "stand-in"}
    result = kind.get(record["result"], f"tensor, {device[record['result_device']]}")
    size = record["new_bytes"]
    new = DASH if size is None else "none" if size == 0 else f"{size} bytes"
    return [
        words[record["gradient_flows"]],
        words[record["shares_memory"]],
        result,
        new,
    ]


def on_cpu(published: dict[str, Any]) -> dict[tuple[str, str], Record]:
    """Return the records of an x on the CPU: live, or of whom has a second device."""
    sources = ("live", "stand-in")
    return {
        (r["operation"], r["state"]): r
        for source in sources
        for r in published["records"]
        if r["device"] == "cpu" and r["source"] == source
    }


def on_another(published: dict[str, Any]) -> dict[tuple[str, str], Record]:
    """Return the records of an x on another device, as long as none is recorded."""
    return {
        (r["operation"], r["state"]): r
        for r in published["records"]
        if r["device"] != "cpu"
    }


def sign_words(record: Record | None) -> list[str]:
    """Say what the sign of a record means, as a screen reader is to hear it."""
    if record is None:
        return []
    if record["error"] is not None:
        return ["raises", record["error"].partition(":")[0]]
    words = {True: "shares memory", False: "has its own memory"}[
        record["shares_memory"]
    ]
    if record["same_object"]:
        words = "is x itself, moved" if record["new_bytes"] else "is x itself"
    gradient = {True: ["gradient flows back"], False: ["gradient stops"], None: []}
    return [*words.split(", "), *gradient[record["gradient_flows"]]]


def words_of(cell: Any) -> list[str]:
    """Return the words of a cell's sign; none where the cell is empty."""
    sign = cell.select_one("svg[role=img]")
    return [] if sign is None else sign["aria-label"].split(", ")


def own_text(cell: Any) -> str:
    """Return what this build saw, without what others saw, where it is not hidden."""
    (span,) = [
        span for span in cell.select("span[data-value]") if not span.has_attr("hidden")
    ]
    return span.get_text("\n").split("\n")[0]


def test_the_page_and_home_show_the_published_records(
    published: dict, site: Path
) -> None:
    here = on_cpu(published)
    there = on_another(published)
    page = soup(site / "atlas.html")
    heads = [
        head.get_text()
        for head in page.select_one("table.atlas").select("thead > tr > th[scope=col]")
        if head.find_parent("tr", id=True) is None
    ]
    states = list(published["states"])
    assert len(heads) == 1 + 2 * len(states)
    for row in published["operations"]:
        drawn = page.find(id=row["id"])
        cells = drawn.find_all("td", recursive=False)
        if row["needs"] in calls.LIBRARIES:
            record = here[row["id"], "constant"]
            words = [*sign_words(record), *["warns"] * bool(record["warning"])]
            what = calls.SUBJECTS[row["subject"]]
            assert [cell.get_text() for cell in cells] == [what, ", ".join(words)]
            cells = []
        else:
            assert len(cells) == 2 * len(states)
        for number, cell in enumerate(cells):
            on_device, state = divmod(number, len(states))
            state = states[state]
            if row["subject"] == "a" and not on_device and state not in row["states"]:
                state = row["states"][0]
            record = (there if on_device else here).get((row["id"], state))
            assert words_of(cell) == sign_words(record), (row["code"], number)
        text = drawn.select_one(".facts").get_text()
        for record in (*here.values(), *there.values()):
            if record["operation"] == row["id"] and record["error"]:
                assert record["error"] in text
        assert row["code"].split("\n")[0] in drawn.get_text()
    by_code = {row["code"]: row["id"] for row in published["operations"]}
    rows = soup(site / "index.html").select("table.calls tbody tr")
    assert len(rows) >= 8
    for row in rows:
        name = by_code[row.select_one("code").get_text()]
        cells = row.select("td")[2:]
        assert [own_text(cell) for cell in cells] == shown(here[name, "leaf"])[:3]


def test_where_machines_differ_both_answers_stand(published: dict, site: Path) -> None:
    """Every recorded answer that is not the live one is marked in its row's facts."""
    page = soup(site / "atlas.html")
    live = {
        (r["operation"], r["state"], r["device"]): r
        for r in published["records"]
        if r["source"] == "live"
    }
    labels = {machine["name"]: machine["label"] for machine in published["machines"]}
    for record in published["records"]:
        here = live.get((record["operation"], record["state"], record["device"]))
        if here is None or record["source"] != "recorded":
            continue
        told = (
            "same_object",
            "shares_memory",
            "gradient_flows",
            "requires_grad",
            "error",
        )
        if any(record[name] != here[name] for name in told):
            facts = page.find(id=record["operation"]).select_one("details")
            notes = [note.get_text() for note in facts.select(".elsewhere")]
            assert any(labels[record["machine"]] in note for note in notes), record


# -- The page ------------------------------------------------------------------------


def test_each_row_leads_to_its_lesson_and_its_reference(site: Path) -> None:
    page = soup(site / "atlas.html")
    rows = page.select("table.atlas tr[id]")
    hosts = {"docs.pytorch.org", "numpy.org", "docs.python.org"}
    for row in rows:
        links = row.select(".links a:not(.in-explorer, .message)")
        own, lesson, reference = (link["href"] for link in links)
        assert own == f"#{row['id']}"
        assert (site / lesson).exists()
        assert reference.split("/")[2] in hosts


def test_rows_of_frames_and_images_and_the_error_index_lead_to_each_other(
    site: Path,
) -> None:
    fold = soup(site / "atlas.html").select_one("details.atlas-apart")
    errors = soup(site / "errors.html")
    links = fold.select("tr[id] a.message")
    assert len(links) == len(fold.select("tr[id]"))
    for link in links:
        page, _, entry = link["href"].partition("#")
        assert page == "errors.html"
        back = errors.find(id=entry).select('a[href^="atlas.html#"]')
        place = fold.find(id=back[0]["href"].partition("#")[2])
        assert place.select("tr[id]") == fold.select("tr[id]")


@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        (("pandas", "pillow"), "8 calls that need pandas and pillow"),
        (
            ("numpy", "pandas", "pillow"),
            "26 calls that need numpy, pandas and pillow",
        ),
    ],
)
def test_a_machine_without_libraries_leaves_their_calls_out(
    hidden: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    assert calls.left_out() is None and len(calls.available()) == len(calls.OPERATIONS)
    hides = f"""import importlib.metadata as metadata, sys
version = metadata.version
if "numpy" in {hidden}:
    sys.modules["numpy"] = None
def hidden(name):
    if name in {hidden}:
        raise metadata.PackageNotFoundError(name)
    return version(name)
metadata.version = hidden
"""
    (tmp_path / "sitecustomize.py").write_text(hides)
    done = subprocess.run(
        [sys.executable, *data.PROBES, "--device", "cpu"],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # PyTorch itself warns where there is no NumPy.
    assert f"Left out: {said}, not installed." in done.stderr.splitlines()
    atlas = json.loads(done.stdout)
    codes = {row["code"] for row in atlas["operations"]}
    assert ("torch.from_numpy(a)" in codes) == ("numpy" not in hidden)
    assert "torch.tensor(df)" not in codes and "x.tolist()" in codes
    assert {record["operation"] for record in atlas["records"]} == {
        row["id"] for row in atlas["operations"]
    }


def test_the_search_knows_each_row(site: Path, published: dict) -> None:
    text = (site / "_static" / "search_index.js").read_text(encoding="utf-8")
    pages = dict(json.loads(text[text.index("=") + 1 : text.rindex(";")])["pages"])
    listed = {anchor: heading for anchor, _, heading, *_ in pages["atlas.html"]}
    assert {row["id"] for row in published["operations"]} <= set(listed)
    assert listed["detach"] == "x.detach()"


def test_the_page_is_small_labelled_and_whole_without_its_script(site: Path) -> None:
    page = soup(site / "atlas.html")
    rows = page.select("table.atlas tr[id]")
    # As many for a row of ten answers as there were for one of four.
    whole = gzip.compress((site / "atlas.html").read_bytes())
    assert len(whole) < 25_000 and len(page.select("*")) < 100 * len(rows)
    form = page.select_one("form.atlas-filter")
    assert form.has_attr("hidden")  # the script shows it
    assert form.select_one("input[name=q]")["aria-label"] == "Search"
    chips = form.select("button[data-has]")
    assert {chip["aria-pressed"] for chip in chips} == {"false"}
    named = {chip["data-has"]: chip.get_text() for chip in chips}
    assert set(named) >= {"shares", "copies", "raises", "flows", "stops"}
    assert all(named.values())
    symbols = {f"#{symbol['id']}" for symbol in page.select("symbol")}
    used = {use["href"] for use in page.select("use")}
    assert used and used <= symbols
    legend = page.select_one(".atlas-legend").get_text(" ")
    for words in ("shares memory", "is x itself", "raises", "gradient stops"):
        assert words in legend
    assert form.select_one("[aria-live]")
    assert not page.select("table.atlas tr[hidden], table.atlas tbody[hidden]")
    with_script = [
        path.name
        for path in pages_in(site)
        if soup(path).select("script[src*='atlas.js']")
    ]
    assert with_script == ["atlas.html"]


def test_a_search_for_numpy_finds_its_calls(site: Path) -> None:
    """The search looks at code, reference, group and lesson of a row."""
    page = soup(site / "atlas.html")
    found = {
        row.select_one("summary").get_text()
        for row in page.select("table.atlas tr[data-find*=numpy]")
    }
    assert {"np.asarray(x)", "np.array(x)", "np.from_dlpack(x)", "x.numpy()"} <= found
    assert "torch.from_numpy(a)" in found and "x.T" not in found


def test_what_is_folded_opens_for_search_filter_address_and_paper(
    browser: Any, address: str, site: Path
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}atlas.html")
    fold, rows = page.locator(".atlas-apart"), page.locator(".atlas-apart tr[id]")
    search = page.locator(".atlas-filter").get_by_role("searchbox")
    raises = page.locator(".atlas-filter [data-has=raises]")
    is_open = "one => one.open"
    found = {
        "np.array(image)": {"image-from-numpy"},
        "dataframe": {"column-from-numpy", "frame-alone", "mixed-from-numpy"},
        "series": {"column-from-numpy"},
        "pandas": {"frame-as-tensor", "frame-copy"},
        "PIL": {"image-as-tensor", "image-from-numpy"},
        "pillow": {"image-as-tensor", "image-from-numpy"},
    }
    assert not fold.evaluate(is_open) and rows.filter(visible=True).count() == 0
    for words, some in found.items():
        search.fill(words)
        shown = rows.filter(visible=True).evaluate_all("all => all.map(one => one.id)")
        assert some <= set(shown) and len(shown) < rows.count(), words
        search.fill("")
        assert not fold.evaluate(is_open), words
    search.fill("x.detach()")
    assert not fold.is_visible()
    search.fill("")
    raises.click()
    assert rows.filter(visible=True).count() == 1
    raises.click()
    for event, wanted in (("beforeprint", True), ("afterprint", False)):
        page.evaluate(f"dispatchEvent(new Event('{event}'))")
        assert fold.evaluate(is_open) is wanted
    fold.locator("> summary").focus()
    page.keyboard.press("Enter")  # opened by hand, it stays open
    search.fill("pandas")
    search.fill("")
    assert fold.evaluate(is_open)
    page.close()
    for scripts in (True, False):
        for place in ("frame-alone", "from-pandas-and-pillow"):
            context = browser.new_context(java_script_enabled=scripts)
            page = context.new_page()
            page.goto(f"{(site / 'atlas.html').as_uri()}#{place}")
            page.locator("#frame-alone").wait_for()
            context.close()


def test_one_expression_is_probed(site: Path, tmp_path: Path) -> None:
    links = soup(site / "atlas_probes.html").select("a[download]")
    files = {Path(link["href"].partition("?")[0]).name for link in links}
    assert {"atlas.json", "atlas.csv"} <= files
    command = [sys.executable, "-m", "tensor_maps.atlas", "x.detach()[:1]"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert json.loads(done.stdout)["shares_memory"] is True, done.stderr


# -- Not typed -----------------------------------------------------------------------


def test_no_cell_is_typed() -> None:
    """The rows hold code and links; nothing that draws them knows a row's answer."""
    groups = tomllib.loads(calls.CALLS.read_text(encoding="utf-8"))
    rows = [row for group, rows in groups.items() if group != "given" for row in rows]
    answers = set(calls.COLUMNS) - {"operation", "state", "device"} | {"yes", "no"}
    assert len(rows) == len(calls.OPERATIONS)
    assert not answers & {name for row in rows for name in row}
    assert not answers & {str(value) for row in rows for value in row.values()}
    fields = set(calls.Operation.__dataclass_fields__)
    assert fields == {
        "id", "code", "group", "lesson", "api", "given", "subject", "needs", "states",
        "message",
    }  # fmt: skip
    other_names = {*calls.STATES, "cpu", "cuda"}  # of a state, of a device
    rows_named = {op.id for op in calls.OPERATIONS.values()} - other_names
    codes = {op.code for op in calls.OPERATIONS.values()}
    for module in ("page", "data"):
        tree = ast.parse(
            (ROOT / "conf/tensor_copies/atlas" / f"{module}.py").read_text(
                encoding="utf-8"
            )
        )
        texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
        assert not texts & (rows_named | codes), module
    for page in ("atlas", "atlas_probes", "index"):
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        assert not re.search(
            r"^\s*\||<t[dr]\b|list-table|csv-table", text, re.MULTILINE
        )
        assert not re.search(r"\b\d+ bytes\b|: (yes|no)\b", text)


# -- Probes that fail, crash or disagree ---------------------------------------------


def test_a_disagreement_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probes.observe("x.clone()")["shares_memory"] is False
    monkeypatch.setattr(probes, "_overlap", lambda one, other: True)
    with pytest.raises(probes.Disagreement, match=r"x.clone\(\).*storages say True"):
        probes.observe("x.clone()")


def test_probes_leave_no_trace() -> None:
    filters = list(warnings.filters)
    probes.observe("torch.set_grad_enabled(False) or x")
    assert torch.is_grad_enabled()
    assert warnings.filters == filters
    assert probes.observe("x.nonsense")["error"].startswith("AttributeError: ")


@pytest.mark.slow
def test_a_crash_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    package = tmp_path / "tensor_maps"
    shutil.copytree(calls.CALLS.parents[1], package)
    (package / "atlas" / "calls.toml").write_text("""[[Group]]
id = "crash"
code = "__import__('os').abort()"
states = ["leaf"]
lesson = ""
api = ""

[[Group]]
id = "clone"
code = "x.clone()"
states = ["leaf"]
lesson = ""
api = ""
""")
    before = sorted(tmp_path.rglob("*"))
    command = [sys.executable, "-B", "-m", "tensor_maps.atlas", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    crash, clone = json.loads(done.stdout)["records"]
    assert crash["error"] == "Python ended: SIGABRT"
    assert clone["error"] is None and clone["new_bytes"] == 24
    assert sorted(tmp_path.rglob("*")) == before  # no core


def test_a_failed_probe_fails_the_build_with_one_line(tiny_site: TinySite) -> None:
    index = tiny_site.folder / "docs" / "index.md"
    index.write_text(
        "# Tiny\n\n```{toctree}\nauto_examples/index\n```\n\n```{atlas-columns}\n```\n"
    )
    tiny_site.write_lessons({})
    module = tiny_site.folder / "conf/tensor_maps/src/tensor_maps/atlas/probes.py"
    broken = "raise Disagreement('broken on purpose')\n    operation = code"
    text = module.read_text()
    assert "    operation = code\n" in text
    module.write_text(text.replace("operation = code", broken, 1))
    built = tiny_site.build()
    assert built.status != 0
    said = [
        line for line in built.output.splitlines() if line.startswith("build_site: ")
    ]
    assert len(said) == 1, built.output
    assert (
        "The Atlas: a probe failed (`python -m tensor_maps.atlas` shows it): "
        in said[0]
    )
    assert "broken on purpose" in said[0]
    assert "Traceback" not in built.output
    assert not tiny_site.html.exists()


def test_what_is_kept_is_read_without_torch(site: Path) -> None:
    if fingerprint().device_kind != "cpu" or "cu" in fingerprint().torch:
        pytest.skip("a build for a GPU is asked whether it sees one")
    code = (
        "import sys; from tensor_copies.atlas import data; data.live(); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "conf"
    )
    assert done.stdout == "False\n", done.stderr


# -- Recordings ----------------------------------------------------------------------


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Return the file of another machine's Atlas of two records."""
    rows = [[None] * len(calls.COLUMNS) for _ in range(2)]
    rows[0][:3] = ["clone", "leaf", "cuda"]
    rows[1][:3] = ["detach", "leaf", "cuda"]
    saved = recordings.AtlasRecording(
        Fingerprint(**OTHER), "2026-01-01", recordings.atlas_key(),
        list(calls.COLUMNS), rows,
    )  # fmt: skip
    recordings.save_atlas(saved, tmp_path / OTHER_NAME)
    assert check.load_atlas(tmp_path / OTHER_NAME / "atlas.json") == saved
    return tmp_path / OTHER_NAME / "atlas.json"


def place(row: int, column: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        data["records"][row][list(calls.COLUMNS).index(column)] = value

    return change


REFUSED = {
    "other columns": (lambda d: d["columns"].reverse(), "its columns are not those"),
    "another machine": (lambda d: d["machine"].update(torch="9"), "not the one"),
    "no key": (lambda d: d.pop("key"), "its properties are not those"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_recording_that_is_no_atlas_is_refused(kind: str, recording: Path) -> None:
    change, reason = REFUSED[kind]
    data = json.loads(recording.read_text())
    change(data)
    recording.write_text(json.dumps(data))
    with pytest.raises(recordings.BadRecording, match=reason) as refused:
        check.load_atlas(recording)
    message = str(refused.value)
    assert message.startswith(f"{recording.parent.parent.name}/{OTHER_NAME}/atlas.json")
    assert "\n" not in message


def test_a_recorded_text_is_inert(recording: Path) -> None:
    data = json.loads(recording.read_text())
    place(0, "error", "\x1b[31mred \u202ereversed")(data)
    recording.write_text(json.dumps(data))
    (first, _) = check.load_atlas(recording).records
    assert first[-1] == "\ufffd[31mred \ufffdreversed"


def test_records_of_other_probes_are_not_looked_at(recording: Path) -> None:
    data = json.loads(recording.read_text())
    data |= {"key": "0123456789abcdef", "columns": ["old"], "records": [["<script>"]]}
    recording.write_text(json.dumps(data))
    loaded = check.load_atlas(recording)
    assert (loaded.columns, loaded.records) == ([], [])


ATLAS_PAGE = """# The table

```{atlas}
```
"""


@pytest.mark.slow
def test_another_machines_atlas_on_the_page(tmp_path: Path, recording: Path) -> None:
    """A whole build: CUDA beside CPU, hostile text inert, unknown and stale probes."""
    site = TinySite(tmp_path / "copy")
    for room in ("conf", "docs", "build/atlas"):
        made = shutil.ignore_patterns("auto_examples", "__pycache__")
        shutil.copytree(ROOT / room, site.folder / room, ignore=made)
    lessons = {operation.lesson for operation in calls.OPERATIONS.values()}
    for name in lessons:
        path = site.folder / "examples" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(lesson(path.stem, "print('here')"))
    for folder in (site.folder / "examples", *(site.folder / "examples").iterdir()):
        header = f"{folder.name}\n{'=' * 30}\n"
        (folder / "GALLERY_HEADER.rst").write_text(header)
    site.order([f"{Path(name).name}.py" for name in sorted(lessons)])
    shutil.rmtree(site.folder / "docs" / "recordings")
    site.forward({})
    (site.folder / "docs" / "asked.toml").unlink()  # it names pages that go
    for page in (site.folder / "docs").glob("*.md"):
        if page.stem not in ("index", "atlas"):
            page.unlink()
    (site.folder / "docs" / "index.md").write_text(
        "# Tiny\n\n```{toctree}\nauto_examples/index\natlas\narticle\n"
        "self_check\nchanges\n```\n\n"
        "```{atlas-calls}\nto-cpu: <b>what</b> you want\nclone: a copy\n```\n"
    )
    (site.folder / "docs" / "atlas.md").write_text(ATLAS_PAGE)
    for name in ("article", "self_check", "changes"):
        (site.folder / "docs" / f"{name}.md").write_text("# A lesson links to this\n")
    script = "<script>alert(1)</script>"
    there = {"result": "Tensor", "result_device": "cpu", "requires_grad": True}
    there |= {"gradient_flows": True, "shares_memory": False, "new_bytes": 24}
    there |= {"waits": True, "same_object": False, "changes_x": False}
    data = json.loads(recording.read_text())
    place(0, "operation", "to-cpu")(data)
    for name, value in {**there, "warning": script}.items():
        place(0, name, value)(data)
    for name, value in {**there, "error": f"{script}: {script}"}.items():
        place(1, name, value)(data)
    target = site.folder / "docs" / "recordings" / OTHER_NAME / "atlas.json"
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(data))

    built = site.build()
    assert built.status == 0, built.output
    page, home = soup(site.html / "atlas.html"), soup(site.html / "index.html")
    head = page.select("table.atlas > thead th[colspan]")[1].get_text()
    assert head == "x on another device (CUDA)"
    cells = page.find(id="to-cpu").find_all("td", recursive=False)
    assert words_of(cells[0]) == ["is x itself", "gradient flows back"]
    assert words_of(cells[5]) == ["has its own memory", "gradient flows back"]
    assert (
        "on another device" in page.find(id="to-cpu").select_one("details").get_text()
    )
    assert "seen by CUDA (Test Card 9), torch 2.11.0, Python 3.12" in page.get_text()
    assert script in page.find(id="detach").get_text()
    scripts = page.select("script") + home.select("script")
    assert not [s for s in scripts if "alert" in s.get_text()]
    assert "<b>what</b> you want" in home.select_one("table.calls").get_text()
    assert "no" in [away.get_text() for away in home.select("table.calls .away")]
    whole = json.loads((site.html / "atlas.json").read_text())
    assert [machine["name"] for machine in whole["machines"]][1] == OTHER_NAME

    unknown = json.loads(json.dumps(data))
    place(1, "operation", "rm")(unknown)
    target.write_text(json.dumps(unknown))
    built = site.build()
    assert built.status != 0
    assert (
        f"recordings/{OTHER_NAME}/atlas.json is refused: it has unknown" in built.output
    )

    target.write_text(json.dumps({**data, "key": "0"}))
    built = site.build()
    assert built.status == 0, built.output
    assert (
        f"Stale: recordings/{OTHER_NAME}, atlas does not match "
        "tensor_maps.atlas; on that machine, run `nox -s record -- --only atlas`"
    ) in built.output
    assert "Test Card 9" not in (site.html / "atlas.html").read_text()


def test_an_open_row_can_be_copied_and_run(
    browser: object, address: str, published: dict
) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    for row in ("detach", "mask", "no-grad"):
        page.goto(f"{address}atlas.html#{row}")
        page.locator(f"#{row}").get_by_role("button", name="Copy").click()
        page.locator(f"#{row}").get_by_text("Copied the call.").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        (wanted,) = [one for one in published["operations"] if one["id"] == row]
        assert copied == f"{wanted['given']}\n{wanted['code']}\n".lstrip("\n")
        exec(copied, {"torch": torch, "x": torch.ones(2, 3, requires_grad=True)})
        page.goto("about:blank")
    context.close()


def test_little_stands_beside_the_rows(browser: object, site: Path) -> None:
    """Each row has its 24 pixels; groups take no line while all rows are in sight."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((site / "atlas.html").as_uri())
    rows = page.locator("table.atlas tr[id]")
    height = page.evaluate("document.documentElement.scrollHeight")
    beside = height - 24 * rows.filter(visible=True).count()
    assert height <= 3000 and beside < 540
    names = page.locator("table.atlas tr.group > th")
    for name in names.all():
        box = name.bounding_box()
        assert box["height"] > box["width"], name.inner_text()
    fits = "all => all.every(e => e.scrollHeight <= e.clientHeight + 1)"
    assert names.evaluate_all(fits)
    page.get_by_role("searchbox", name="Search", exact=True).last.fill("numpy")
    box = names.filter(visible=True).first.bounding_box()
    assert box["width"] > box["height"], "beside few rows a name has no room"
    page.close()
