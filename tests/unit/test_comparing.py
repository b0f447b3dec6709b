"""What counts as a difference between two machines' outputs, and what is marked."""

from __future__ import annotations

import re

import pytest
from docutils import nodes
from reading import NAMES, SCRIPTS, page_of, parts_of, soup
from tensor_copies.recordings.comparing import (
    is_measured,
    map_on,
    on_one_device,
    with_marks,
)

CPU = "y tensor([5.], grad_fn=<AddBackward0>)\nw.grad tensor([2.])"
CUDA = (
    "y tensor([5.], device='cuda:0', grad_fn=<AddBackward0>)\n"
    "w.grad tensor([2.], device='cuda:0')"
)


def marked(text: str, other: str) -> list[str]:
    block = with_marks(text, [other])
    assert block.astext() == text
    return [node.astext() for node in block.findall(nodes.inline)]


@pytest.mark.parametrize(
    ("text", "other", "marks"),
    [
        ("a ratio of 1.5 here, as said", "a ratio of 1.7 here, as said", ["1.5"]),
        ("dtype torch.float32 of it", "dtype torch.int32 of it", ["torch.float32"]),
        ("on the device, but why", "on the host, but why", ["device"]),
        ("one two three four five", "one six seven four five", ["two three"]),
        ("is the same", "is the same", []),
        ("all 1 else 2", "no 3 word 4", []),  # nearly all differs
    ],
)
def test_whole_tokens_are_marked(text: str, other: str, marks: list[str]) -> None:
    assert marked(text, other) == marks


def test_the_name_of_the_only_device_is_no_difference() -> None:
    assert on_one_device(CUDA) == on_one_device(CPU) == CPU


@pytest.mark.parametrize(
    "text",
    [
        "y tensor([5.], device='cuda:0')\nz tensor([5.])",
        "y tensor([5.], device='cuda:0')\nz tensor([5.], device='cuda:1')",
        "device='cuda:0'",
        "device cuda:0",
    ],
)
def test_where_there_are_two_devices_their_names_stay(text: str) -> None:
    assert on_one_device(text) == text


def test_a_map_of_one_device_may_be_of_another() -> None:
    tensors = [{"name": "w", "device": "cuda:0"}, {"name": "cuda:0"}]
    one = {"tensors": tensors[:1], "storages": [{"device": "cuda:0", "bytes": 4}]}
    assert map_on("cpu", one) == {
        "tensors": [{"name": "w", "device": "cpu"}],
        "storages": [{"device": "cpu", "bytes": 4}],
    }
    two = {**one, "storages": [{"device": "cpu"}]}
    assert map_on("cpu", two) == two


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("start = time.perf_counter()", ""),
        ("Timer('x.clone()').blocked_autorange()", ""),
        ("perfplot.bench(...)", ""),
        ("print(seen)", "clone 43.4 ms"),
        ("print(seen)", "clone 12 \N{MICRO SIGN}s, 3 ns"),
        ("print(ratio)", "1.7 times as long"),
        ("print(seen)", "took 0.02 s"),
        ("print(seen)", "in microseconds: 4"),
    ],
)
def test_measured(code: str, output: str) -> None:
    assert is_measured(code, output)


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("x = torch.ones(2).repeat(2)", "x tensor([1., 1., 1., 1.])"),
        ("print(z.nbytes)", "4 bytes, 2 storages, sizes 4 MiB"),
        ("s[0] = 5.0", "s = tensor([5.])"),
        ("loss.backward()", "w.grad = 3"),
        ("loss.backward()", "through the graph a second time, second.grad = None"),
    ],
)
def test_not_measured(code: str, output: str) -> None:
    assert not is_measured(code, output)


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_no_measured_time_is_marked(script: object, site: object) -> None:
    """What prints times that no two runs share is known, and nothing in it marked."""
    page = page_of(site, script)
    for part in parts_of(page):
        number = re.search(r"\d+\.\d+ ?(ns|\N{MICRO SIGN}s|ms|s)\b", part.output)
        assert not number or is_measured(part.code, part.output)
    for group in soup(page).select(".machines-outputs:has(.differs)"):
        code = group.find_previous(class_="highlight-Python").get_text()
        assert not any(is_measured(code, pre.get_text()) for pre in group.select("pre"))
    assert not soup(page).select("p.same-on")
