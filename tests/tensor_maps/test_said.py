"""What steps say: each sentence, event and changed name of programs, as they stand."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from running import ran, told
from tensor_maps import Steps, steps
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


def test_the_turns_that_are_told() -> None:
    data = ran(PROGRAMS["loops"]).data()
    found = [(data["code"][s["first"] - 1].strip(), s["turn"]) for s in data["steps"]]
    inner = [turn for code, turn in found if code == "x += 1"]
    assert inner == [
        [[1, 2], [1, 3]],
        [[1, 2], [2, 3]],
        [[2, 2], [1, 3]],
        [[2, 2], [2, 3]],
    ]
    rest = [turn for code, turn in found if code == "for j in range(3):"]
    assert rest == [[[k, 2], [3, 3]] for k in (1, 2)]
    collapsed = next(step for step in data["steps"] if step["turn"] == [[6, 6]])
    assert collapsed["note"].startswith("Iterations 4–6 in one step")
    assert collapsed["printed"] == "3\n4\n5\n"
    assert [turn for code, turn in found if code == "x.add_("] == [[[1, 2]], [[2, 2]]]


def drawn_of(seen: Steps) -> list[list[str]]:
    data = seen.data()
    drawn = [[], *map(TAG.findall, data["drawings"])]
    at = [-1 if one["drawing"] is None else one["drawing"] for one in data["steps"]]
    return [", ".join(drawn[one + 1]).split(", ") for one in at]


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
    assert set().union(*changed(ran(source, names=["w"]))) == {"w"}
    for turns in (1, 3, 5):
        assert changed(ran(source, turns=turns)).count({"w"}) == turns + 1
    monkeypatch.setattr(look, "MOST_BYTES", 0)
    monkeypatch.setattr(look, "SAMPLES", 8)
    assert ran(source)[-1].said.endswith("big (19.53 KiB) was not read in full.")


def test_what_is_left_out_is_said() -> None:
    net = nn.Sequential(*[nn.Linear(1, 1) for _ in range(1500)])
    seen = ran("net[49].bias.data.fill_(3)\na = 1\nb = torch.ones(1)", {"net": net})
    assert changed(seen) == [{"net.49.bias"}, set(), {"b"}]
    assert told(seen)[1] == "No named tensor changes."
    long = ran("\n".join(f"a{n} = {n}" for n in range(400)))
    assert "100 more steps are not shown" in long.data()["steps"][-1]["note"]
    assert repr(long).endswith("\n100 more steps not shown")


def test_beside_many_names_what_a_statement_names_is_drawn_and_told() -> None:
    many = {f"c{number}": torch.ones(1) for number in range(60)}
    net = nn.Sequential(*[nn.Linear(8, 8) for _ in range(25)])
    seen = ran(
        """
        z = c0.view(1)
        c0 += 1
        x = torch.ones(4, 8)
        out = net(x).sum()
        out.backward()
        """,
        {**many, "net": net},
    )
    parameters = {f"net.{name}" for name, _ in net.named_parameters()}
    assert changed(seen) == [{"z"}, {"c0", "z"}, {"x"}, {"out"}, parameters]
    assert told(seen)[:2] == ["z shares c0's memory.", "c0 and z now hold [2]. "
                              "They share memory."]  # fmt: skip
    said = "out is computed from net.0.weight, net.0.bias and 48 "
    assert told(seen)[3].startswith(said)
    for step, names in zip(seen.data()["steps"], drawn_of(seen), strict=True):
        assert set(step["changed"]) <= set(names) or len(step["changed"]) > 5
    # What shares with what is written is in the picture too.
    assert {"z", "c0"} <= set(drawn_of(seen)[1])


def test_a_picture_shows_who_shares_and_marks_what_was_there() -> None:
    seen = ran("""
        w = torch.ones(2, requires_grad=True)
        other = w.detach()
        third = torch.ones(3)
        third = third[1:]
        other.mul_(2)
        w = torch.zeros(2)
    """)
    data = seen.data()
    drawn = drawn_of(seen)
    assert {"w", "other"} <= set(drawn[4]) and set(drawn[1]) == {"w", "other"}
    pictures = [data["drawings"][step["drawing"]] for step in data["steps"]]
    assert ["tm-cell changed" in one for one in pictures] == [0, 0, 0, 0, 1, 0]
    captions = [data["captions"][step["drawing"]] for step in data["steps"]]
    assert captions[1] == (
        "w and other share memory. No gradient flows back through other."
    )
    same = ran("a = torch.ones(1)\nb = a").data()
    assert same["captions"][-1] == "a and b are the same object."


# What there is to look at -------------------------------------------------------------


class Pair(NamedTuple):
    """A named tuple."""

    a: Any
    b: Any


@dataclass(slots=True)
class Slots:
    """A data class without a dict."""

    w: Any


class Model:
    """Refers to itself, and holds what has no public name."""

    def __init__(self, x: torch.Tensor) -> None:
        self.w, self._m, self.me = x, x, self


class Net(nn.Module):
    """Holds a tensor that is neither a parameter nor a buffer."""

    def __init__(self, x: torch.Tensor) -> None:
        super().__init__()
        self.norm, self.hidden = nn.BatchNorm1d(1, affine=False), x


def test_tensors_are_found_by_their_path_and_no_code_is_run() -> None:
    class Loud(list):
        def __iter__(self) -> Any:
            raise AssertionError

        __len__ = __getitem__ = __getattribute__ = __str__ = __repr__ = __iter__

    class Property:
        @property
        def w(self) -> Any:
            raise AssertionError

    x = torch.arange(6.0).reshape(2, 3)
    namespace = {
        "p": Pair(x, x), "m": x.max(0), "pair": (1, (2, x)), "slots": Slots(x),
        "nested": {"a": {"b": x}}, "model": Model(x), "net": Net(x), "many": [x] * 7,
        "ds": torch.utils.data.TensorDataset(x), "_x": x, "_1": x, "loud": Loud([x]),
        "prop": Property(), "objects": np.empty(1, dtype=object),
    }  # fmt: skip
    namespace["objects"][0] = Loud()
    seen = ran("k = x * 2\nmodel.w.data += 1", {"x": x, **namespace})
    assert changed(seen)[1] == {
        *("x", "p.a", "p.b", "_x", "nested['a']['b']", "pair[1][1]", "slots.w"),
        *("model.w", "model._m", "net.hidden", "ds.tensors[0]", "loud[0]"),
        *(f"many[{n}]" for n in range(7)),
    }
    namespace["net"].norm.running_mean.add_(1)
    with steps() as within:
        namespace["net"].norm.running_var.add_(1)
    assert changed(within) == [{"namespace['net'].norm.running_var"}]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.eye(3).to_sparse(),
        torch.ones(2, device="meta"),
        torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
        torch.ones(2, dtype=torch.complex64).conj(),
        torch.ones(2).to(torch.float8_e4m3fn),
        np.ma.masked_array([1.0, 2.0], [0, 1]),
        np.array(["2026-01-01"], dtype="M8[D]"),
        np.broadcast_to(np.float64(1), (10**6, 10**5)),
        np.lib.stride_tricks.sliding_window_view(np.arange(5.0), 3),
    ],
    ids=repr,
)
def test_any_tensor_is_new_once_and_then_as_before(tensor: Any) -> None:
    seen = ran("a = t\nk = 1\nlen('abc')", {"t": tensor})
    assert changed(seen) == [{"a"}, set(), set()]
    json.dumps(seen.data())


def test_steps_are_a_sequence_that_is_read_as_text() -> None:
    with steps("a title") as seen:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        z = w.detach()
        print("hello")
    assert len(seen) == 3 and told(seen) == [s["said"] for s in seen.data()["steps"]]
    assert seen[2].code == "z = w.detach()" and seen[2].lines == (2, 2)
    assert seen[-1].printed == "hello\n" and [*seen][2] == seen[3]
    rows = repr(seen).split("\n")
    assert rows[1].startswith("2  z = w.detach() ") and str(seen) == repr(seen)
    assert rows[1].endswith("z shares w's memory. No gradient flows back through z")
    for number in (0, 4, -4):
        with pytest.raises(IndexError, match=f"no step {number}: there are 3, counted"):
            seen[number]
    assert z[0] == 1
    data = seen.data()
    assert (data["format"], data["title"]) == (2, "a title")
    assert data == json.loads(json.dumps(data))


def test_same_program_same_data() -> None:
    one, other = (ran(PROGRAMS["copies and cuts"]).data() for _ in range(2))
    assert json.dumps(one) == json.dumps(other)
    assert not re.search(r"0x|\d{12,}", json.dumps(one))


def test_code_of_a_block_is_shown_as_it_stands() -> None:
    with steps("mine") as seen:
        x = torch.ones(2)

        y = x[
            :1
        ]  # fmt: skip
    data = seen.data()
    assert data["code"][:2] == ["x = torch.ones(2)", ""]
    assert [(s["first"], s["last"]) for s in data["steps"]] == [(1, 1), (3, 5)]
    assert y.item() == 1
