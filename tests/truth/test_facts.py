"""What the site says of each call, in facts and words, and what a witness sees."""

import csv
import json
import operator
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from forms import GIVEN, leaving_y, written
from reading import EVERYTHING
from tensor_copies import simulated
from tensor_copies.calls import words
from tensor_copies.calls.facts import facts
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.gallery.machine import Machine
from tensor_copies.machines.recording import Recording
from tensor_maps.atlas import calls, probe
from witness import Heard, ask_all, hear

# What a witness says by the same name; the first of them are said of all ways to write
# a call.
SAID_OF_A_ROW = (
    *("same_object", "shares_memory", "shares_version", "gradient_flows", "where"),
    *("requires_grad", "is_leaf", "changes_x", "writes_x", "other_values"),
)
TEXTS = ("error", "warning")
FACTS = (
    *(*SAID_OF_A_ROW, *TEXTS),
    *("grad_fn", "result", "version_raised", "pinned", "strides_kept"),
)


@pytest.fixture(scope="module")
def witnessed(site: Path, simulated_device: None) -> list[Heard]:
    """Return each record of a call with what a witness has seen of that call."""
    return hear()


def ran(witnessed: list[Heard]) -> list[Heard]:
    return [one for one in witnessed if one.seen["error"] is None]


def begins_alike(said: str | None, seen: str | None) -> bool:
    """Whether two texts have the same beginning, where no address is yet."""
    if None in (said, seen):
        return said == seen
    return " ".join(seen.split()).startswith(said[:60])


@pytest.mark.parametrize("fact", FACTS)
def test_a_witness_sees_the_same(witnessed: list[Heard], fact: str) -> None:
    told = [(one, one.seen[fact]) for one in witnessed if fact in one.seen]
    agree = begins_alike if fact in TEXTS else operator.eq
    wrong = [
        (one.key, one.record[fact], seen)
        for one, seen in told
        if not agree(one.record[fact], seen)
    ]
    assert wrong == []
    assert len(told) >= 9000 and len(witnessed) >= 25000


def test_a_write_changes_the_cells_that_it_changes_here(witnessed: list[Heard]) -> None:
    """As a reader types it, x[0] = 7 and y[0] = 7, and under no_grad if refused."""
    counted = 0
    for one in ran(witnessed):
        for name, seen in one.seen["after"].items():
            said = one.record["writes"][name]
            assert begins_alike(said["refused"], seen["refused"]), (one.key, name)
            assert said["both"] is seen["both"], (one.key, name)
            cells = seen["changed"]
            if cells and one.seen["shares_memory"]:
                cells = cells[:1]  # that is all the memory that there is
            small = (one.seen["bytes"] or 0) <= 48  # of a large one no cell is drawn
            if one.call.subject in ("x", "a") and small:
                assert said["changed"] == cells, (one.key, name)
                counted += 1
    assert counted > 40000


def test_what_a_backward_pass_notices_of_a_call_is_counted(
    witnessed: list[Heard],
) -> None:
    """The call stops a backward pass that saved x if it raised the counter of x."""
    for one in ran(witnessed):
        raised = one.record["version_raised"]
        assert one.seen["call_is_noticed"] == (raised and raised > 0), one.key
    (adds,) = [one for one in facts().calls.values() if one.code == "x += 1\ny = x"]
    assert ("version", "increments x's version counter") in words.card(facts(), adds)[0]


def test_new_bytes_are_of_memory_that_was_not_there(witnessed: list[Heard]) -> None:
    for one in ran(witnessed):
        said, size = one.record["new_bytes"], one.seen["bytes"]
        if size is None or (one.seen["shares_memory"] and not one.seen["x_moved"]):
            assert said == (None if size is None else 0), one.key
        elif not re.search(r"load_state_dict|vector_to", one.call.code):  # a module's
            is_array = one.seen["result"] == "ndarray"  # it may have gaps
            assert said >= size if is_array else said == size, one.key


def test_other_ways_to_write_a_call_do_what_it_does(simulated_device: None) -> None:
    """On the kinds of x that the explorer has, on both devices."""
    rows = {call.code: call for call in facts().calls.values()}
    asked = [
        (leaving_y(line, call), call, state, away)
        for code, also in facts().forms.items()
        for call in [rows.get(code, calls.Call(code, code))]
        for form in also
        for line in written(form, call.subject)
        for state in set(calls.STATES).intersection(call.states)
        for away in (False, True)
        if facts().record(code, state, away) is not None
    ]
    cases = [
        (line, call.given + GIVEN, call.subject, *where) for line, call, *where in asked
    ]
    wrong = []
    seen = in_fresh_process(ask_all, cases, simulated.is_wanted())
    for (line, call, *where), told in zip(asked, seen, strict=True):
        record = facts().record(call.code, *where)
        names = [name for name in SAID_OF_A_ROW if name in told]
        said = [(name, record[name], told[name]) for name in names]
        classes = [(one["error"] or "").split(":")[0] for one in (record, told)]
        noticed = bool(record["version_raised"]), bool(told.get("call_is_noticed"))
        said += [("error", *classes), ("noticed", *noticed)]
        wrong += [(line, *where, *one) for one in said if one[1] != one[2]]
    assert wrong == []


def probe_again(cases: list[tuple[calls.Call, str, str]], simulate: bool) -> list[dict]:
    if simulate:
        simulated.load_device()
    torch.set_warn_always(True)
    return [probe.probe(*case) for case in cases]


def test_new_runs_give_what_is_published(witnessed: list[Heard], site: Path) -> None:
    """A row is published with its records; of two devices no cell is called CUDA."""
    published = json.loads((site / "atlas.json").read_text(encoding="utf-8"))
    rows = [one for one in witnessed if one.call.id in facts().calls]
    keys = "operation", "state", "device"
    records = {tuple(map(one.get, keys)): one for one in published["records"]}
    assert len(records) == len(published["records"])
    for one in rows:
        there = records.pop(tuple(map(one.record.get, keys)))
        assert all(there[name] == one.record[name] for name in calls.COLUMNS), one.key
        if facts().source == "simulated":
            assert "cuda" not in (one.record["device"], one.record["result_device"])
    assert {calls.CALLS[name].ends_python for name, *_ in records} <= {True}
    some = witnessed if EVERYTHING else random.Random(7).sample(witnessed, 500)
    cases = [(one.call, one.state, one.record["device"]) for one in some]
    again = in_fresh_process(probe_again, cases, simulated.is_wanted())
    for one, record in zip(some, again, strict=True):
        assert {name: one.record[name] for name in calls.COLUMNS} == record, one.key


def test_what_ends_python_does(site: Path) -> None:
    (call,) = [one for one in facts().calls.values() if one.ends_python]
    lines = "import numpy as np, torch", "x = torch.ones(2, 3)", call.given, call.code
    command = [sys.executable, "-c", "\n".join(lines)]
    ends = subprocess.run(command, capture_output=True).returncode < 0  # 2.14 raises
    error = facts().record(call.code, "constant")["error"]
    assert error.startswith("Python ended" if ends else "RuntimeError")


def test_no_text_has_an_address_or_a_file(witnessed: list[Heard]) -> None:
    for text in {one.record[name] or "" for one in witnessed for name in TEXTS}:
        assert not re.search(r"0x[0-9a-f]{4}|Triggered|/\w+/\w+/\w+\.", text), text


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_recorded_gpu_takes_the_place_of_the_simulated_one(
    witnessed: list[Heard], monkeypatch: pytest.MonkeyPatch
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


# -- Sentences -------------------------------------------------------------------------

# Of each kind of sentence the words that it may have, and when they are to be said.
TABLES = tomllib.loads(Path(__file__).with_name("said.toml").read_text("utf-8"))
CLAIMS = {
    kind: {claim: compile(when, claim, "eval") for claim, when in table.items()}
    for kind, table in TABLES.items()
}
SENTENCES = {
    "signs": lambda record, x: " ".join(words.signs(record)),
    "headline": words.headline,
    "meaning": words.meaning,
    "facts": lambda record, x: "; ".join(
        f"{what}: {answer} ({detail})"
        for what, answer, detail in words.facts_of(record, x)
    ),
}


def seen_of(one: Heard) -> SimpleNamespace:
    """Return what was seen, and what follows from it, by short names."""
    s = SimpleNamespace(**{"needs_no_grad": False, "repeats": False} | one.seen)
    s.other_values = getattr(s, "other_values", False)
    s.tensor = one.call.subject in ("x", "z", "h")
    s.is_number = s.bytes is None
    s.other_name = s.shares_memory and not s.same_object
    s.alone = not s.shares_memory and not s.is_number
    s.crossed = (s.where == "device") is not one.away and not s.is_number
    s.moves, s.stays = (s.same_object and s.x_moved is it for it in (True, False))
    s.flagged = s.stays and s.changes_x and not s.writes_x
    s.target = None
    if s.needs_no_grad:
        view = "view of a leaf" if one.state in ("leaf", "leaf_view") else "view"
        s.target = "leaf" if s.is_leaf else view
    s.noticed = bool(s.write_is_noticed) if s.other_name and s.tensor else None
    if s.stays and s.writes_x:
        s.noticed = bool(s.call_is_noticed)
    # Of an expanded x most views repeat elements: it is said of the call that does.
    s.repeats = s.repeats and one.call.id == "expand"
    return s


def hold(text: str, kind: str, seen: SimpleNamespace, one: Heard) -> list[str]:
    """Refuse words that are said and not so, or so and not said; return what is."""
    names = {"X": one.call.subject, "RESULT": one.record["result"]}
    said = []
    for claim, when in CLAIMS[kind].items():
        words = re.sub(r"\b(X|RESULT)\b", lambda found: names[found[0]], claim)
        is_so = bool(eval(when, {}, vars(seen)))
        assert (words in text) is is_so, (one.key, claim, text)
        said += [claim] * is_so
    assert said, text
    return said


@pytest.mark.parametrize("kind", SENTENCES)
def test_is_said_where_it_is_so(witnessed: list[Heard], kind: str) -> None:
    said = {
        claim
        for one in witnessed
        if one.seen["error"] is None
        and (kind != "meaning" or one.call.lesson)  # it is of a row, not of a chain
        for text in [SENTENCES[kind](one.record, one.call.subject)]
        for claim in hold(text, kind, seen_of(one), one)
    }
    assert said == {*CLAIMS[kind]}


def test_after_a_write_is_said_what_it_changed(witnessed: list[Heard]) -> None:
    for one in witnessed:
        for name, after in one.seen.get("after", {}).items():
            s = SimpleNamespace(**after, same_object=one.seen["same_object"])
            said = words.after_write(one.record, name, one.call.subject)
            hold(said, "after", s, one)


def test_an_error_is_said_by_its_class(witnessed: list[Heard]) -> None:
    for one in witnessed:
        if one.seen["error"] is not None:
            raised = one.seen["error"].partition(":")[0]
            assert words.headline(one.record) == f"It raises {raised}."
            assert words.signs(one.record) == ["raises"]
