"""What a map is given, and what it says it was given."""

from __future__ import annotations

import json
from collections import namedtuple
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from tensor_maps.maps import TensorMap, tensor_map


def names(shown: TensorMap) -> list[str]:
    return [name for seen in shown.observed["tensors"] for name in seen["names"]]


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def test_names_are_those_of_the_source() -> None:
    w, x = leaf(1.0), torch.ones(2)
    y = w * x
    # fmt: off
    shown = tensor_map(w, y,
                       x[1:], w.detach(  ))
    # fmt: on
    assert names(shown) == ["w", "y", "x[1:]", "w.detach( )"]
    assert names(tensor_map(*[w, y])) == ["tensor 1", "tensor 2"]
    scope = {"tensor_map": tensor_map, "w": w}
    exec("shown = tensor_map(w)", scope)
    assert names(scope["shown"]) == ["tensor 1"]


def test_modules_and_containers_are_looked_into() -> None:
    w = leaf(1.0)
    net = torch.nn.Sequential(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    pair = namedtuple("Pair", "first second")(w, [torch.ones(1)])
    batch = {"x": torch.ones(1), "deep": {"y": torch.ones(1)}}
    assert names(tensor_map(net)) == ["net.0.weight", "net.0.bias"]
    assert names(tensor_map(batch)) == ["batch['x']", "batch['deep']['y']"]
    assert names(tensor_map(pair)) == ["pair.first", "pair.second[0]"]
    assert names(tensor_map(best=torch.ones(2, 2).max(0))) == [
        "best.values",
        "best.indices",
    ]
    assert names(tensor_map(optimizer))[0] == "optimizer.state[0]['momentum_buffer']"
    assert names(tensor_map({"width": w})) == ["width"]
    assert set(names(tensor_map(locals()))) >= {"w", "net.0.weight", "batch['x']"}


def test_what_is_left_out_is_said() -> None:
    many = [torch.ones(1) for _ in range(50)]
    shown = tensor_map(many)
    assert len(names(shown)) == 40
    assert "40 of 50 names are shown" in str(shown)
    assert len(names(tensor_map(many, max_names=50))) == 50
    assert "n is not drawn: int is neither tensor nor array" in str(tensor_map(n=3))
    assert "there is no tensor in this list" in str(tensor_map(empty=[]))


def test_a_map_of_nothing_says_so() -> None:
    assert repr(tensor_map()) == "Nothing to draw: there is no tensor and no array."
    assert tensor_map().line == "no tensor"


@pytest.mark.parametrize("option", ["width", "max_names", "max_nodes"])
def test_options_are_numbers(option: str) -> None:
    with pytest.raises(TypeError, match=f"whole number as {option}, not Tensor"):
        tensor_map(**{option: torch.ones(1)})
    with pytest.raises(ValueError, match=f"a number from 1 as {option}, not 0"):
        tensor_map(**{option: 0})


def test_graph_is_a_choice() -> None:
    with pytest.raises(TypeError, match="True, False or None as graph, not Tensor"):
        tensor_map(graph=torch.ones(1))


def test_a_map_is_saved(tmp_path: Path) -> None:
    w = leaf(1.0)
    shown = tensor_map(w, z=w.detach())
    shown.save(tmp_path / "map.svg")
    picture = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme" in picture
    shown.save(str(tmp_path / "map.html"))
    assert repr(shown) in (tmp_path / "map.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"a file .svg or .html, not 'map.png'"):
        shown.save(tmp_path / "map.png")


def test_data_are_a_copy_with_a_version() -> None:
    shown = tensor_map(w=leaf(1.0))
    data = shown.to_dict()
    assert data["format"] == 2 and json.loads(json.dumps(data)) == data
    data["tensors"].clear()
    assert names(shown) == ["w"]


def test_a_map_in_one_line() -> None:
    x, w, b = torch.tensor([2.0]), leaf(1.0), leaf(3.0)
    y, z = x * w + b, w.detach()
    assert tensor_map(x, w, b, y, z).line == (
        "w + z share 4 B; y=[5] <- w, b; x 4 B; b 4 B"
    )
    assert tensor_map(y=y).line == "y=[5] <- 2 unnamed"
