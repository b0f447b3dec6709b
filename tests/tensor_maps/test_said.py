"""What steps say: each sentence, event and changed name of programs, as they stand."""

import doctest
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from running import ran, told
from tensor_maps import Steps
from tensor_maps.steps import look
from torch import nn

TOLD = Path(__file__).with_name("told.txt").read_text(encoding="utf-8")
PROGRAMS = dict(part.split("\n", 1) for part in TOLD.split("\n=== ")[1:])
TAG = re.compile(r'class="tm-tag" data-name="(.+?)"')
NOTHING = "None: No named tensor changes."


def written_of(step: dict) -> str:
    names = step["changed"]
    few = " ".join(names) if len(names) <= 8 else f"{len(names)} names"
    begin = f"{step['event']} {few}".strip()
    text = f"{begin}: {step['said']}"
    return "nothing" if text == NOTHING else text


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_is_told(program: str) -> None:
    wanted: dict[int, str] = {}
    at = 0
    for number, line in enumerate(program.split("\n"), 1):
        at = at if line.startswith("#: ") else number
        wanted[at] = f"{wanted.get(at, '')} {line[3:] if at < number else ''}".strip()
    steps_at: dict[int, list[str]] = {}
    data = ran(program).data()
    for step in data["steps"]:
        steps_at.setdefault(step["last"], []).append(written_of(step))
    for at, here in steps_at.items():
        said = " | ".join(here)
        if len(here) > 1 == len({*here}):
            said = f"{len(here)} times {here[0]}"
        new = re.fullmatch(r"appears (\S+): \1 is new, with its own memory\.", said)
        there = wanted.pop(at)
        assert said == there or (not there and new), (data["code"][at - 1], said)
        assert there or data["code"][at - 1].startswith(new[1])
    assert "".join(wanted.values()) == "", "of these there are no steps"


def test_steps_are_read_as_a_sequence_and_as_text() -> None:
    assert doctest.testfile("watched.txt").failed == 0


def changed(seen: Steps) -> list[set[str]]:
    return [set(step["changed"]) for step in seen.data()["steps"]]


def test_options_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        w, z = torch.ones(2), torch.ones(2)
        for i in range(6):
            w += 1
        big = torch.zeros(5000)
        big.data[17] = 1
    """
    assert changed(ran(source, turns=5)).count({"w"}) == 6
    monkeypatch.setattr(look, "MOST_BYTES", 0)
    assert ran(source)[-1].said.endswith("big (19.53 KiB) was not read in full.")


def test_what_is_left_out_is_said() -> None:
    net = nn.Sequential(*[nn.Linear(1, 1) for _ in range(1500)])
    seen = ran("net[49].bias.data.fill_(3)\na = 1\nb = torch.ones(1)", {"net": net})
    assert changed(seen) == [{"net.49.bias"}, set(), {"b"}]
    assert told(seen)[1] == "No named tensor changes."


def test_beside_many_names_what_a_statement_names_is_drawn_and_told() -> None:
    many = {f"c{number}": torch.ones(1) for number in range(60)}
    net = nn.Sequential(*[nn.Linear(8, 8) for _ in range(25)])
    source = "z = c0.view(1)\nc0 += 1\nout = net(torch.ones(4, 8)).sum()\n"
    seen = ran(f"{source}out.backward()", {**many, "net": net})
    parameters = {f"net.{name}" for name, _ in net.named_parameters()}
    assert changed(seen) == [{"z"}, {"c0", "z"}, {"out"}, parameters]
    assert told(seen)[0] == "z shares c0's memory."
    assert told(seen)[1] == "c0 and z now hold [2]. They share memory."
    said = "out is computed from net.0.weight, net.0.bias and 48 "
    assert told(seen)[2].startswith(said)
    data = seen.data()
    written = data["drawings"][data["steps"][1]["drawing"]]
    assert {"z", "c0"} <= {*", ".join(TAG.findall(written)).split(", ")}


@pytest.mark.parametrize(
    "tensor",
    [
        torch.eye(3).to_sparse(),
        torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
        torch.ones(2, dtype=torch.complex64).conj(),
        np.ma.masked_array([1.0, 2.0], [0, 1]),
        np.array(["2026-01-01"], dtype="M8[D]"),
        np.broadcast_to(np.float64(1), (10**6, 10**5)),
    ],
    ids=repr,
)
def test_any_tensor_is_new_once_and_then_as_before(tensor: Any) -> None:
    seen = ran("a = t\nk = 1\nlen('abc')", {"t": tensor})
    assert changed(seen) == [{"a"}, set(), set()]
    json.dumps(seen.data())


def test_same_program_same_data() -> None:
    one, other = (ran(PROGRAMS["copies and cuts"]).data() for _ in range(2))
    assert json.dumps(one) == json.dumps(other)
    assert not re.search(r"0x|\d{12,}", json.dumps(one))
