"""What the site says of each call, against a witness that runs it again."""

from __future__ import annotations

import csv
import gc
import json
import os
import random
import re
import subprocess
import sys
import tracemalloc
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from forms import GIVEN, concrete
from reading import EVERYTHING
from tensor_copies import simulated
from tensor_copies.calls.facts import facts
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.gallery.machine import Machine
from tensor_copies.machines.recording import Recording
from tensor_maps.atlas import calls, probe
from witness import Heard, Witness, ask_all

# What a witness says by the same name, and of how many records at least.
FACTS = {
    "same_object": 20000, "shares_memory": 20000, "shares_version": 20000,
    "gradient_flows": 20000, "requires_grad": 20000, "is_leaf": 20000,
    "grad_fn": 20000, "result": 20000, "where": 20000, "strides_kept": 9000,
    "changes_x": 20000, "writes_x": 20000, "version_raised": 20000, "pinned": 20000,
    "other_values": 12000, "error": 25000, "warning": 20000,
}  # fmt: skip
TEXTS = ("error", "warning")
CHIPS = {calls.code_of((key,)): chip for key, chip in calls.CHIPS.items()}


def ran(heard: list[Heard]) -> list[Heard]:
    return [one for one in heard if one.seen["error"] is None]


def agree(said: Any, seen: Any, is_text: bool = False) -> bool:
    """Whether both say the same; of a text its beginning, without the addresses."""
    if not is_text or None in (said, seen):
        return said == seen
    return " ".join(seen.split()).startswith(said[:60])


@pytest.mark.parametrize("fact", FACTS)
def test_a_witness_sees_the_same(heard: list[Heard], fact: str) -> None:
    told = [one for one in heard if fact in one.seen]
    wrong = [
        (one.key, one.record[fact], one.seen[fact])
        for one in told
        if not agree(one.record[fact], one.seen[fact], fact in TEXTS)
    ]
    assert wrong == []
    assert len(told) >= FACTS[fact]


def test_a_write_changes_the_cells_that_it_changes_here(heard: list[Heard]) -> None:
    """As a reader types it, x[0] = 7 and y[0] = 7, and under no_grad if refused."""
    counted = 0
    for one in ran(heard):
        for name, seen in one.seen["after"].items():
            said = one.record["writes"][name]
            assert agree(said["refused"], seen["refused"], True), (one.key, name)
            assert said["both"] is seen["both"], (one.key, name)
            cells = seen["changed"]
            if cells and one.seen["shares_memory"]:
                cells = cells[:1]  # that is all the memory that there is
            small = (one.seen["bytes"] or 0) <= 48  # of a large one no cell is drawn
            if one.call.subject in ("x", "a") and small:
                assert said["changed"] == cells, (one.key, name)
                counted += 1
    assert counted > 40000


def test_what_a_backward_pass_notices_of_a_call_is_counted(heard: list[Heard]) -> None:
    """The call stops a backward pass that saved x if it raised the counter of x."""
    silent = set()
    for one in ran(heard):
        raised = one.record["version_raised"]
        assert one.seen["call_is_noticed"] == (raised and raised > 0), one.key
        if one.seen["writes_x"] and one.seen["call_is_noticed"] is False:
            silent.add(one.call.id)
    assert {"data-in-place", "numpy-write", "fused-step"} <= silent
    assert "detach-in-place-write" not in silent and "no-grad-in-place" not in silent


def test_new_bytes_are_of_memory_that_was_not_there(heard: list[Heard]) -> None:
    for one in ran(heard):
        said, least = one.record["new_bytes"], one.seen["bytes"]
        shares = one.seen["shares_memory"] and not one.seen["x_moved"]
        if least is None or shares:
            assert said == (None if least is None else 0), one.key
        elif not re.search(r"load_state_dict|vector_to", one.call.code):  # a module's
            assert said >= least, one.key


@pytest.mark.skipif(not EVERYTHING, reason="follows the inner workings of torch")
def test_bytes_by_the_allocators_own_events(heard: list[Heard]) -> None:
    """Torch's profiler and NumPy's tracemalloc count what each call left behind."""
    from torch.profiler import ProfilerActivity, profile, record_function

    held, by_numpy = {}, {}
    numpy_only = [tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)]
    # Other allocators: the system's, the device's; of an image they are Python's. And
    # calls that free something, or leave more than their result.
    others = {
        "pin-memory", "share-memory", "image-as-tensor", "data-assign", "module-double",
        "load-state-dict-assign", "vector-to-parameters", "column-from-numpy",
    }  # fmt: skip
    for_backward = {"functional-call", "index", "mul-in-place", "where", "times-one"}
    counted = [
        one
        for one in ran(heard)
        if one.call.id
        not in (others | for_backward if one.record["grad_fn"] else others)
        if not facts().is_there(one.call.code, one.away)
        if one.call.lesson or one.call.code.count(".") + one.call.code.count("[") < 3
        if (one.call.id, one.state) != ("detach-in-place", "nonleaf")  # frees a graph
    ]
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        with profile(
            activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True
        ) as profiler:
            for one in counted:
                again = Witness(
                    one.call.code, one.call.given, one.call.subject, one.state
                )
                start = again.start()
                tracemalloc.clear_traces()
                with record_function(str(one.key)), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    held[one.key] = start, again.call(start)
                traces = tracemalloc.take_snapshot().filter_traces(numpy_only).traces
                by_numpy[str(one.key)] = sum(trace.size for trace in traces)
    finally:
        tracemalloc.stop()
        gc.enable()
    left = {
        event.name: event.cpu_memory_usage + by_numpy[event.name]
        for event in profiler.events()
        if event.name in by_numpy
    }
    wrong = {}
    for one in counted:
        if left[str(one.key)] != (one.record["new_bytes"] or 0):
            wrong[one.key] = left[str(one.key)], one.record["new_bytes"]
    assert not wrong
    assert len(counted) > 1500


# -- What the lessons teach ----------------------------------------------------------


def test_what_the_lessons_build_on(simulated_device: None) -> None:
    """Gradient and memory of a leaf on each device; None: shared on the CPU alone."""
    expected = {
        "x.detach()": (False, True), "x.detach().clone()": (False, False),
        "x.clone()": (True, False), "torch.empty_like(x).copy_(x)": (True, False),
        "x.detach().clone().requires_grad_()": (False, False),
        "copy.copy(x)": (False, True), "nn.Parameter(x)": (False, True),
        'x.detach().to("cpu", copy=True)': (False, False),
        'x.detach().to("cpu", copy=True).numpy()': (False, False),
        'module.state_dict()["weight"]': (False, True), 'x.to("cpu")': (True, None),
        "x.cpu()": (True, None), "x.numpy(force=True)": (False, None),
    }  # fmt: skip
    for (code, (flows, shares)), away in product(expected.items(), (False, True)):
        record = facts().record(code, away=away)
        said = record["gradient_flows"], record["shares_memory"]
        assert said == (flows, not away if shares is None else shares), (code, away)
    assert facts().record("x.pin_memory()", "constant")["pinned"]


# -- Other ways to write a call ------------------------------------------------------

SAID_OF_A_ROW = (
    *("same_object", "shares_memory", "shares_version", "gradient_flows", "where"),
    *("requires_grad", "is_leaf", "changes_x", "writes_x", "other_values"),
)


def test_other_ways_to_write_a_call_do_what_it_does(simulated_device: None) -> None:
    """On the kinds of x that the explorer has, on both devices."""
    forms = [(call, call.also) for call in facts().calls.values()]
    forms += [(calls.Call(code, code), chip.also) for code, chip in CHIPS.items()]
    asked = [
        (form, line, call, state, away)
        for call, also in forms
        for form in also
        for line in concrete(form, call)
        for state in set(calls.STATES).intersection(call.states)
        for away in (False, True)
        if facts().record(call.code, state, away) is not None
    ]
    cases = [
        (line, call.given + GIVEN, call.subject, state, away)
        for _, line, call, state, away in asked
    ]
    wrong = []
    seen = in_fresh_process(ask_all, cases, simulated.is_wanted())
    for (form, line, call, *where), told in zip(asked, seen, strict=True):
        record = facts().record(call.code, *where)
        names = [name for name in SAID_OF_A_ROW if name in told]
        said = {name: (record[name], told[name]) for name in names}
        said["error"] = tuple(
            (one["error"] or "").partition(":")[0] for one in (record, told)
        )
        said["noticed"] = (
            bool(record["version_raised"]),
            bool(told.get("call_is_noticed")),
        )
        differ = {name: both for name, both in said.items() if both[0] != both[1]}
        if differ:
            wrong.append((form, line, *where, differ))
    assert wrong == []


# -- Published, and the same when run again ------------------------------------------


def probe_again(cases: list[tuple[calls.Call, str, str]], simulate: bool) -> list[dict]:
    if simulate:
        simulated.load_device()
    torch.set_warn_always(True)
    return [probe.probe(*case) for case in cases]


def test_new_runs_give_what_is_published(heard: list[Heard], site: Path) -> None:
    """A row is published with its records; of two devices no cell is called CUDA."""
    published = json.loads((site / "atlas.json").read_text(encoding="utf-8"))
    rows = [one for one in heard if one.call.id in facts().calls]
    records = {
        (one["operation"], one["state"], one["device"]): one
        for one in published["records"]
    }
    assert len(records) == len(published["records"])
    for one in rows:
        key = one.call.id, one.state, one.record["device"]
        assert (
            records.pop(key).items()
            >= {name: one.record[name] for name in calls.COLUMNS}.items()
        ), one.key
        if facts().source == "simulated":
            assert "cuda" not in (one.record["device"], one.record["result_device"])
    assert {calls.CALLS[name].ends_python for name, *_ in records} <= {True}
    some = heard if EVERYTHING else random.Random(7).sample(heard, 500)
    cases = [(one.call, one.state, one.record["device"]) for one in some]
    again = in_fresh_process(probe_again, cases, simulated.is_wanted())
    for one, record in zip(some, again, strict=True):
        assert {name: one.record[name] for name in calls.COLUMNS} == record, one.key


def test_what_ends_python_does(site: Path) -> None:
    (call,) = [one for one in facts().calls.values() if one.ends_python]
    lines = "import numpy as np, torch", "x = torch.ones(2, 3)", call.given, call.code
    command = [sys.executable, "-c", "\n".join(lines)]
    assert subprocess.run(command, capture_output=True).returncode < 0
    assert facts().record(call.code, "constant")["error"].startswith("Python ended")


def test_no_text_has_an_address_or_a_file(heard: list[Heard]) -> None:
    for text in {one.record[name] or "" for one in heard for name in TEXTS}:
        assert not re.search(r"0x[0-9a-f]{4}|Triggered|/\w+/\w+/\w+\.", text), text


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_recorded_gpu_takes_the_place_of_the_simulated_one(
    heard: list[Heard], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = Machine("cuda", "Test Card 9", "2.11.0", "2.4.0", "3.12.3")
    for code, source in ((facts().here["code"], "recorded"), ("other", "simulated")):
        kept = Recording(theirs, "2026-01-01", calls={**facts().here, "code": code})
        monkeypatch.setattr(
            "tensor_copies.calls.facts.recordings", lambda kept=kept: (kept,)
        )
        data = facts.__wrapped__()
        assert (data.source, data.machine == theirs) == (source, code != "other")


def test_json_and_csv_agree(site: Path) -> None:
    published = json.loads((site / "atlas.json").read_text(encoding="utf-8"))
    with (site / "atlas.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, record in zip(rows, published["records"], strict=True):
        assert list(row) == list(published["columns"])
        for name, value in record.items():
            text = "" if value is None else str(value)
            assert row[name] == (text.lower() if isinstance(value, bool) else text)


def test_probes_disagree_aloud_and_leave_no_trace() -> None:
    # Of a memory in common nothing is in sight.
    with pytest.raises(probe.Disagreement, match=r"storages say True, a write says"):
        probe.probe("x[:0]")
    filters = list(warnings.filters)
    probe.probe("torch.set_grad_enabled(False) or x")
    assert torch.is_grad_enabled()
    assert warnings.filters == filters
    assert probe.probe("x.nonsense")["error"].startswith("AttributeError: ")


def test_a_machine_without_libraries_leaves_their_calls_out(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("""import importlib.metadata as metadata
version = metadata.version
def hidden(name):
    if name in ("pandas", "pillow"):
        raise metadata.PackageNotFoundError(name)
    return version(name)
metadata.version = hidden
""")
    done = subprocess.run(
        [sys.executable, "-m", "tensor_maps.atlas", "--json", "--device", "cpu"],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    said = "Left out: 8 calls that need pandas and pillow, not installed."
    assert said in done.stderr.splitlines()
    known = {record["operation"] for record in json.loads(done.stdout)["records"]}
    assert "frame-copy" in calls.CALLS and "frame-copy" not in known
