"""The Atlas: complete, untyped, the same in all places, and true by other means."""

from __future__ import annotations

import copy
import csv
import gc
import json
import os
import re
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import two_devices
from reading import EVERYTHING, soup
from tensor_copies.atlas import data
from tensor_copies.atlas.words import meaning
from tensor_copies.explorer.signs import SIGNS
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.gallery.machine import Machine, this_machine
from tensor_copies.machines.recording import Recording
from tensor_maps.atlas import calls, probes
from tensor_maps.atlas.run import run
from torch import nn

Record = dict[str, Any]


@pytest.fixture(scope="module")
def observed() -> dict[tuple[str, str], Record]:
    """Return what the probes see now, with ``x`` on the CPU."""
    return {
        (record["operation"], record["state"]): record
        for record in in_fresh_process(run, ["cpu"])["records"]
    }


@pytest.fixture(scope="module")
def second(simulated_device: None) -> dict[tuple[str, str, str], Record]:
    """Return what the probes see now where the simulated device is a second one."""
    return {
        (record["operation"], record["state"], record["device"]): record
        for record in in_fresh_process(data.probe, True)["records"]
    }


@pytest.fixture(scope="module")
def published(site: Path) -> dict[str, Any]:
    return json.loads((site / "atlas.json").read_text(encoding="utf-8"))


# -- By other means ------------------------------------------------------------------


class Again:
    """One operation on an ``x`` made here, run here: nothing of the probes' code."""

    def __init__(self, operation: calls.Operation, state: str) -> None:
        self.leaf = None
        plain = {
            "constant": lambda: torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
            "view": lambda: torch.tensor([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]).mT,
            "slice": lambda: torch.arange(12.0).view(2, 6)[:, 1::2],
            "expanded": lambda: torch.tensor([1.0, 2.0, 3.0]).expand(2, -1),
        }
        if state in plain:
            x = plain[state]()
        else:
            x = self.leaf = torch.tensor(
                [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True
            )
            if state == "nonleaf":
                x = self.leaf.mul(3)
            if state == "leaf_view":
                x = self.leaf[...]
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


def values_of(x: Any) -> list:
    """Return the values of a tensor, an array, a data frame or an image."""
    if hasattr(x, "getpixel"):
        return list(x.tobytes())
    return x.to_numpy().tolist() if hasattr(x, "iloc") else x.tolist()


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
                total = (result * 2).sum()
                total = total.real if total.is_complex() else total
                (gradient,) = torch.autograd.grad(total, again.leaf, allow_unused=True)
                arrives = gradient is not None and bool(gradient.any())
        assert arrives is record["gradient_flows"], (operation.code, state)


def test_memory_by_writing_through_the_result(observed: dict) -> None:
    for operation, state, record in each(observed):
        again = Again(operation, state)
        result, x = again.run(), again.x
        before = values_of(x)
        if isinstance(result, np.ndarray) and not result.flags.writeable:
            shares = np.shares_memory(result, x.detach().numpy())
        elif isinstance(result, list):
            result[0][0] = 77.0
            shares = values_of(x) != before
        elif isinstance(result, float):
            shares = False
        else:
            where = (0,) * result.ndim
            tensor = isinstance(result, torch.Tensor)
            inference = tensor and result.is_inference()
            with torch.inference_mode() if inference else torch.no_grad():
                result[where] = 77.0
            shares = values_of(x) != before
        assert bool(shares) is record["shares_memory"], (operation.code, state)


def test_what_needs_no_grad_to_be_written_is_said(observed: dict) -> None:
    said = set()
    for operation, state, record in each(observed):
        if record["same_object"] or not record["shares_memory"]:
            continue
        result = Again(operation, state).run()
        if isinstance(result, torch.Tensor) and not result.is_inference():
            try:
                result.fill_(77.0)
                raises = False
            except RuntimeError:
                raises = True
            needs = "needs torch.no_grad()" in meaning(record, operation.subject)
            assert needs is raises, (operation.code, state)
            said.add(needs)
            with torch.no_grad():
                result.fill_(77.0)
                if "y.add_(1) raise" in meaning(record, operation.subject):
                    with pytest.raises(RuntimeError, match="single memory location"):
                        result.add_(1)
                elif state != "expanded":  # of which some views repeat elements
                    result.add_(1)
    assert said == {False, True}


def array_of(value: Any) -> np.ndarray:
    return value.detach().numpy() if isinstance(value, torch.Tensor) else value


def test_new_memory_holds_the_values_of_x_unless_the_row_says_so(
    observed: dict,
) -> None:
    """With negative values too, none of them 0."""
    seen = {"other": 0, "": 0}
    for operation, state, record in each(observed):
        made = record["new_bytes"] and not record["same_object"]
        if state != "constant" or not made or operation.subject not in ("x", "a"):
            continue
        again = Again(operation, state)
        again.names["x"].data.mul_(torch.tensor([[1.0, -1, 1], [-1, 1, -1]]))
        before = set(array_of(again.x).ravel().tolist())
        y = again.run()
        if not isinstance(y, torch.Tensor | np.ndarray) or y.dtype == torch.bfloat16:
            continue
        kept = set(array_of(y).ravel().tolist()) <= before
        assert kept is (operation.values == ""), operation.code
        seen[operation.values] += 1
    assert seen["other"] == 7
    assert seen[""] > 40


def alarmed(saved: torch.Tensor, write: Callable[[], Any]) -> bool:
    """Whether a backward pass that saved the values refuses to run after a write."""
    factor = torch.ones(1, requires_grad=True)
    with torch.enable_grad():
        total = (saved.detach() * factor).sum()
    write()
    try:
        (total.real if total.is_complex() else total).backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
        return True
    return False


def test_version_counters_by_an_alarm_in_the_backward_pass(observed: dict) -> None:
    """A write into x stops a backward pass that saved y, and the other way round."""
    checked = 0
    for operation, state, record in each(observed):
        if record["shares_version"] is None or not record["shares_memory"]:
            continue
        for saves_result in (True, False):
            again = Again(operation, state)
            result = again.run()
            pair = (result, again.x) if saves_result else (again.x, result)
            if pair[1].is_inference():
                continue

            def write(of: torch.Tensor = pair[1]) -> None:
                with torch.no_grad():
                    of[(0,) * of.ndim] = 2

            alarm = alarmed(pair[0], write)
            assert alarm is record["shares_version"], (operation.code, state)
            checked += 1
    assert checked > 80


def test_what_a_call_writes_by_an_alarm_in_the_backward_pass(observed: dict) -> None:
    """The call stops a backward pass that saved x if it raised the counter of x."""
    silent = set()
    for operation, state, record in each(observed):
        if record["version_raised"] is None:
            assert not isinstance(Again(operation, state).x, torch.Tensor)
            continue
        again = Again(operation, state)
        before = values_of(again.x)
        alarm = alarmed(again.x, again.run)
        assert alarm is (record["version_raised"] > 0), (operation.code, state)
        written = values_of(again.x) != before
        assert written is record["writes_x"], (operation.code, state)
        if written and not alarm:
            silent.add(operation.id)
    assert {"data-in-place", "numpy-write", "fused-step"} <= silent
    assert "detach-in-place-write" not in silent and "no-grad-in-place" not in silent


def test_earlier_views_move_with_x_only_where_the_atlas_says_so(observed: dict) -> None:
    said = {False: "keep the old memory", True: "move with it"}
    seen = set()
    for operation, state, record in each(observed):
        if record["same_object"] and record["new_bytes"]:
            again = Again(operation, state)
            x = again.names["x"]
            view = x.detach()
            again.run()
            after = x.untyped_storage().data_ptr()
            moved = view.untyped_storage().data_ptr() == after
            assert said[moved] in meaning(record), (operation.code, state)
            seen.add(moved)
    assert seen == {False, True}


def test_pinned_memory_is_not_pinned_again(observed: dict, second: dict) -> None:
    """To pin a pinned tensor gives its own memory; without a GPU none is pinned."""
    assert not any(record["pinned"] for record in observed.values())
    calls_of = {
        name: (calls.OPERATIONS[name].given, calls.OPERATIONS[name].code)
        for name in ("pin-memory", "pin-memory-to-device", "to-cpu", "clone", "detach")
    }
    for name, pinned in in_fresh_process(two_devices.pinned, calls_of).items():
        assert pinned is second[name, "constant", "cpu"]["pinned"], name
    assert second["pin-memory", "constant", "cpu"]["pinned"]


@pytest.mark.skipif(not EVERYTHING, reason="follows the inner workings of torch")
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
    # What a call frees, or leaves beside its result: a weight that the module had, the
    # frame's map of its columns, what is kept for the backward pass.
    beside = {
        "load-state-dict-assign": -24, "module-double": -24, "column-from-numpy": 32,
        "vector-to-parameters": -24,
    }  # fmt: skip
    for_backward = {
        "functional-call": 12, "index": 16, "mul-in-place": 8, "where": 6,
        "times-one": 8,
    }  # fmt: skip
    wrong: dict[tuple[str, str], tuple[int, int | None]] = {}
    for operation, state, record in each(observed):
        if record["result_device"] == "cuda" or operation.id in others:
            continue  # other allocators: a GPU's, the system's
        if (operation.id, state) == ("detach-in-place", "nonleaf"):
            continue  # the graph behind x is freed
        if operation.id == "data-assign":
            continue  # the old memory of x is freed, unless it is a view's
        bytes_left = left[f"probe {operation.id} {state}"]
        bytes_left -= beside.get(operation.id, 0)
        bytes_left -= for_backward.get(operation.id, 0) if record["grad_fn"] else 0
        if bytes_left != (record["new_bytes"] or 0):
            wrong[operation.code, state] = (bytes_left, record["new_bytes"])
    assert not wrong, wrong


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


def test_what_the_lessons_build_on(published: dict) -> None:
    """Gradient and memory of a leaf, on each machine; None: shared on the CPU alone."""
    expected = {
        "detach": (False, True), "detach-clone": (False, False),
        "clone": (True, False), "new-leaf": (False, False),
        "empty-like-copy": (True, False), "copy-copy": (False, True),
        "detach-to-cpu-copy": (False, False), "independent-array": (False, False),
        "state-dict": (False, True), "load-state-dict": (False, False),
        "parameter": (False, True), "to-cpu": (True, None), "cpu": (True, None),
        "numpy-force": (False, None),
    }  # fmt: skip
    seen = set()
    for record in published["records"]:
        name = record["operation"]
        if record["state"] == "leaf" and name in expected:
            flows, shares = expected[name]
            shares = record["device"] == "cpu" if shares is None else shares
            answer = record["gradient_flows"], record["shares_memory"]
            assert answer == (flows, shares), record
            seen.add(name)
        for text in filter(None, (record["error"], record["warning"])):
            assert not re.search(r"0x[0-9a-f]{4}|Triggered|/\w+/\w+/\w+\.", text)
    assert seen == set(expected)


# -- Published, and the same everywhere ----------------------------------------------


def facts_of(record: Record) -> Record:
    return {name: record[name] for name in calls.COLUMNS}


def test_new_runs_give_what_is_published(
    published: dict, observed: dict, second: dict
) -> None:
    """Live records come first; of two devices no cell is called CUDA."""
    by_source: dict[str, list[Record]] = {}
    for record in published["records"]:
        by_source.setdefault(record["source"], []).append(record)
    live = [facts_of(r) for r in by_source["live"] if r["device"] == "cpu"]
    assert live == list(observed.values()) and len(live) > 1100
    first = published["machines"][0]
    assert (first["name"], first["source"]) == (this_machine().name, "live")
    assert {r["machine"] for r in by_source["live"]} == {first["name"]}
    made = by_source["simulated"]
    for record in made:
        key = record["operation"], record["state"], record["device"]
        assert facts_of(record) == second[key]
        needs = calls.OPERATIONS[record["operation"]].needs
        assert record["device"] == "standin" or needs == data.ACCELERATOR, key
        assert "cuda" not in (record["device"], record["result_device"])
    assert {key for key in second if key[2] == "standin"} <= {
        (r["operation"], r["state"], r["device"]) for r in made
    }
    with_it = [m for m in published["machines"] if m["source"] == "simulated"]
    assert [m["label"].partition(",")[0] for m in with_it] == ["simulated device"]
    # A call that goes to no device gives the same whether there is one or not.
    for (name, state), record in observed.items():
        if calls.OPERATIONS[name].needs != data.ACCELERATOR:
            there = second[name, state, "cpu"] | {"cuda_bytes": None}
            assert there == record, (name, state)


def test_between_two_devices(second: dict) -> None:
    """The rules that the lessons teach, of an x that is on the other device."""
    copied, itself = (False, False), (True, True)
    expected = {
        # call: the same object, shares memory; where the result is
        "to-cpu": (*copied, "cpu"), "to-cpu-copy": (*copied, "cpu"),
        "to-cpu-non-blocking": (*copied, "cpu"), "cpu": (*copied, "cpu"),
        "numpy-force": (*copied, "cpu"), "to-device": (*itself, "standin"),
        "to-device-copy": (*copied, "standin"), "cuda": (*itself, "standin"),
        "detach": (False, True, "standin"), "module-to-cpu": (*itself, "cpu"),
        "module-to-device": (*itself, "standin"),
    }  # fmt: skip
    for name, facts in expected.items():
        record = second[name, "leaf", "standin"]
        seen = (record["same_object"], record["shares_memory"], record["result_device"])
        assert seen == facts, name
    there = second["to-device", "leaf", "cpu"]
    assert (there["result_device"], there["cuda_bytes"]) == ("standin", 24)
    moved = second["module-to-cpu", "leaf", "standin"]
    assert moved["changes_x"] and moved["new_bytes"] == 24
    assert second["module-to-cpu", "leaf", "cpu"]["changes_x"] is False
    for name, error in {
        "pin-memory": "RuntimeError: cannot pin 'standin",
        "numpy": "TypeError: can't convert standin:0 device type tensor",
    }.items():
        assert second[name, "constant", "standin"]["error"].startswith(error)


def test_json_and_csv_agree(published: dict, site: Path) -> None:
    with (site / "atlas.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, record in zip(rows, published["records"], strict=True):
        assert list(row) == list(published["columns"])
        for name, value in record.items():
            text = "" if value is None else str(value)
            assert row[name] == (text.lower() if isinstance(value, bool) else text)


# -- The page ------------------------------------------------------------------------


def sign_words(record: Record | None) -> list[str]:
    """Say what the sign of a record means, as a screen reader is to hear it."""
    if record is None:
        return []
    if record["error"] is not None:
        return ["raises", record["error"].partition(":")[0]]
    words = {True: "shares memory", False: "has its own memory"}
    said = words[record["shares_memory"]]
    if record["same_object"]:
        said = "is x itself, moved" if record["new_bytes"] else "is x itself"
    gradient = {True: ["gradient flows back"], False: ["gradient stops"], None: []}
    return [*said.split(", "), *gradient[record["gradient_flows"]]]


def test_the_page_and_home_show_the_published_records(
    published: dict, site: Path
) -> None:
    here: dict[tuple[str, str], Record] = {}
    there: dict[tuple[str, str], Record] = {}
    # Of an x on the CPU: live, or of whom has a second device to go to.
    for source in ("live", "simulated"):
        for record in published["records"]:
            if record["source"] == source:
                shown_in = here if record["device"] == "cpu" else there
                shown_in[record["operation"], record["state"]] = record
    page, states = soup(site / "atlas.html"), list(published["states"])
    for row in published["operations"]:
        drawn = page.find(id=row["id"])
        assert row["code"].split("\n")[0] in drawn.get_text()
        cells = drawn.find_all("td", recursive=False)
        if row["needs"] in calls.LIBRARIES:
            record = here[row["id"], "constant"]
            words = [*sign_words(record), *["warns"] * bool(record["warning"])]
            what = calls.SUBJECTS[row["subject"]]
            assert [cell.get_text() for cell in cells] == [what, ", ".join(words)]
            continue
        facts = drawn.select_one(".facts").get_text()
        for state, cell in zip(states, cells, strict=True):
            for seen, place in ((here, ".here"), (there, ".there")):
                of = state
                if row["subject"] == "a" and seen is here and of not in row["states"]:
                    of = row["states"][0]
                record = seen.get((row["id"], of))
                said = cell.select_one(place) or cell
                words = ", ".join(sign_words(record))
                assert said.get_text() == words, (row["code"], state, place)
                classes = [
                    SIGNS[name] for name in said.get("class", ()) if name in SIGNS
                ]
                failed = record and record["error"]
                assert ", ".join(classes) == ("raises" if failed else words)
                if record and record["error"]:
                    assert record["error"] in facts
                elif record:
                    assert meaning(record, row["subject"]) in facts
    by_code = {row["code"]: row["id"] for row in published["operations"]}
    rows = soup(site / "index.html").select("table.calls tbody tr")
    assert len(rows) >= 8
    for row in rows:
        if (code := row.select_one("code").get_text()) not in by_code:
            continue  # a chain of the explorer's, which its own tests run
        record = here[by_code[code], "leaf"]
        told = [
            span.get_text("\n").split("\n")[0]
            for span in row.select("td span[data-value]:not([hidden])")
        ]
        words = {True: "yes", False: "no"}
        flows, shares = record["gradient_flows"], record["shares_memory"]
        assert told[:2] == [words[flows], words[shares]], row


def test_where_machines_differ_both_answers_stand(published: dict, site: Path) -> None:
    """Every recorded answer that is not the live one is marked in its row's facts."""
    page, live = soup(site / "atlas.html"), {}
    labels = {machine["name"]: machine["label"] for machine in published["machines"]}
    told = "same_object", "shares_memory", "gradient_flows", "requires_grad", "error"
    for record in published["records"]:
        key = record["operation"], record["state"], record["device"]
        if record["source"] == "live":
            live[key] = record
        here = live.get(key, record) if record["source"] == "recorded" else record
        if any(record[name] != here[name] for name in told):
            notes = page.find(id=record["operation"]).select("details .elsewhere")
            text = " ".join(note.get_text() for note in notes)
            assert labels[record["machine"]] in text, record


def test_what_is_folded_opens_for_search_filter_address_and_paper(
    browser: Any, address: str
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}atlas.html")
    fold, rows = page.locator(".atlas-apart"), page.locator(".atlas-apart tr[id]")
    search = page.locator(".atlas-filter").get_by_role("searchbox")
    is_open = "one => one.open"
    assert not fold.evaluate(is_open) and rows.filter(visible=True).count() == 0
    for words, some in {
        "dataframe": {"column-from-numpy", "frame-alone", "mixed-from-numpy"},
        "PIL": {"image-as-tensor", "image-from-numpy"},
    }.items():
        search.fill(words)
        found = rows.filter(visible=True).evaluate_all("all => all.map(one => one.id)")
        assert some <= set(found) and len(found) < rows.count(), words
        search.fill("")
        assert not fold.evaluate(is_open), words
    search.fill("x.detach()")
    assert not fold.is_visible()
    search.fill("numpy")
    code = page.locator("table.atlas tr[id] summary").filter(visible=True)
    texts = {text.strip() for text in code.all_text_contents()}
    assert {"np.asarray(x)", "torch.from_numpy(a)"} <= texts and "x.T" not in texts
    search.fill("")
    for event, wanted in (("beforeprint", True), ("afterprint", False)):
        page.evaluate(f"dispatchEvent(new Event('{event}'))")
        assert fold.evaluate(is_open) is wanted
    page.goto(f"{address}atlas.html#frame-alone")
    page.locator("#frame-alone").wait_for()
    page.close()


def test_a_phone_shows_one_kind_of_x_and_a_filter_marks_its_hits(
    browser: Any, address: str, second: dict
) -> None:
    page = browser.new_page(viewport={"width": 320, "height": 844})
    page.goto(f"{address}atlas.html#numpy")
    page.locator("#numpy .facts").wait_for()
    cells = page.locator("#numpy > td").filter(visible=True)
    on, x = (page.get_by_label(f"{word} x is") for word in ("Where", "What"))
    shown = []
    for place, state in (("here", "leaf"), ("here", "constant"), ("there", "constant")):
        on.select_option(place)
        x.select_option(state)
        page.locator("#numpy").scroll_into_view_if_needed()
        assert cells.count() == 1
        shown.append(cells.inner_text())
    assert shown == ["raises, RuntimeError", "shares memory", "raises, TypeError"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    sign, facts = cells.bounding_box(), page.locator("#numpy .facts").bounding_box()
    assert sign["y"] < facts["y"] and facts["x"] + facts["width"] <= 320
    page.set_viewport_size({"width": 1280, "height": 900})
    on.select_option("here")
    assert cells.count() == len(calls.ALL_STATES)
    for name in ("shares memory", "gradient stops"):
        page.get_by_role("button", name=name).click()
    marked = page.locator("#detach > td").evaluate_all(
        "all => all.map(one => [one.matches('.hit'), getComputedStyle(one).opacity])"
    )
    hits = ["leaf", "nonleaf", "no_grad", "leaf_view"]
    assert marked == [
        [state in hits, "1" if state in hits else "0.25"] for state in calls.ALL_STATES
    ]
    assert not page.locator("#clone").is_visible()
    page.close()


# How tall the groups of rows are, those out of sight as the style guesses.
HEIGHTS = """[...document.querySelectorAll(".atlas-room > table.atlas > tbody")]
  .filter(one => !one.closest("details")).map(one => one.getBoundingClientRect().height)
"""


@pytest.mark.parametrize("width", [390, 412, 1280])
def test_a_group_out_of_sight_lies_below_no_other(
    width: int, browser: Any, address: str
) -> None:
    """Rows of a group that is guessed too low are covered by the next one."""
    page = browser.new_page(viewport={"width": width, "height": 823})
    page.goto(f"{address}atlas.html")
    guessed = page.evaluate(HEIGHTS)
    page.add_style_tag(content="tbody { content-visibility: visible !important }")
    pairs = zip(guessed, page.evaluate(HEIGHTS), strict=True)
    assert all(guess >= height for guess, height in pairs)
    page.close()


def test_an_open_row_can_be_copied_and_run(
    browser: Any, address: str, published: dict
) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    wanted = {row["id"]: row for row in published["operations"]}
    for row in ("mask", "no-grad"):
        page.goto(f"{address}atlas.html#{row}")
        page.locator(f"#{row}").get_by_role("button", name="Copy").click()
        page.locator(f"#{row}").get_by_text("Copied the call.").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        lines = f"{wanted[row]['given']}\n{wanted[row]['code']}\n"
        assert copied == lines.lstrip("\n")
        exec(copied, {"torch": torch, "x": torch.ones(2, 3, requires_grad=True)})
        page.goto("about:blank")
    context.close()


# -- Probes, and what is kept of them ------------------------------------------------


def test_probes_disagree_aloud_and_leave_no_trace() -> None:
    # Of a memory in common nothing is in sight.
    with pytest.raises(probes.Disagreement, match=r"storages say True, a write says"):
        probes.observe("x[:0]")
    filters = list(warnings.filters)
    probes.observe("torch.set_grad_enabled(False) or x")
    assert torch.is_grad_enabled()
    assert warnings.filters == filters
    assert probes.observe("x.nonsense")["error"].startswith("AttributeError: ")


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
    atlas = json.loads(done.stdout)
    known = {row["id"] for row in atlas["operations"]}
    assert {record["operation"] for record in atlas["records"]} == known
    assert "frame-copy" in calls.OPERATIONS and "frame-copy" not in known


def test_another_machines_records_are_told_from_live_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = Machine("cuda", "Test Card 9", "2.11.0", "2.4.0", "3.12.3")
    row = dict.fromkeys(calls.COLUMNS) | {"state": "leaf", "device": "cuda"}
    records = [{**row, "operation": "clone"}, {**row, "operation": "detach"}]
    kept = Recording(
        theirs, "2026-01-01", atlas={"key": data.probes_key(), "records": records}
    )
    monkeypatch.setattr(data, "recordings", lambda: (kept,))
    data.publish_atlas(
        SimpleNamespace(
            outdir=tmp_path,
            builder=SimpleNamespace(format="html"),
            env=SimpleNamespace(metadata={"atlas": {"atlas_probed": "today"}}),
        ),
        None,
    )
    whole = json.loads((tmp_path / "atlas.json").read_text())
    (machine,) = [m for m in whole["machines"] if m["name"] == theirs.name]
    assert (machine["source"], machine["day"]) == ("recorded", "2026-01-01")
    assert machine["label"].startswith("CUDA (Test Card 9), torch 2.11.0")
    mine = {"machine": theirs.name, "source": "recorded"}
    assert [r for r in whole["records"] if r["machine"] == theirs.name] == [
        mine | record for record in records
    ]
