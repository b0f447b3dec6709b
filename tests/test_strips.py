"""Strips: the small form of a map says of live tensors what an observation says."""

from __future__ import annotations

import itertools
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_copies.figures.strips import WIDTH, Strip, strip
from tensor_maps.observe import observe

COLUMN = 0.602 * 12  # of a letter of DejaVu Sans Mono, 12 pixels high


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def strip_of(**named: Any) -> Strip:
    drawn = strip(observe(named))
    check(drawn)
    return drawn


def texts_of(drawn: Strip) -> list[str]:
    return [text.text for text in ElementTree.fromstring(drawn.marks).iter("text")]


def check(drawn: Strip) -> None:
    """Nothing leaves the drawing, and no text is on another."""
    marks, places = ElementTree.fromstring(drawn.marks), []
    assert round(drawn.width, 6) <= WIDTH
    for rect in marks.iter("rect"):
        x, width = float(rect.get("x", "")), float(rect.get("width", ""))
        assert x >= 0 and x + width <= drawn.width
    for text in marks.iter("text"):
        half = len(text.text or "") * COLUMN / 2
        x, y = float(text.get("x", "")), float(text.get("y", ""))
        assert text.get("text-anchor") == "middle"
        assert x - half >= 0 and x + half <= drawn.width, (text.text, drawn)
        assert y - 9.5 >= 0 and y + 2.5 <= drawn.height
        places.append((x - half, x + half, y))
    for a, b in itertools.combinations(places, 2):
        assert a[1] <= b[0] or b[1] <= a[0] or abs(a[2] - b[2]) >= 12, texts_of(drawn)


def test_shared_memory_and_where_the_gradient_stops() -> None:
    w = leaf(1.0)
    drawn = strip_of(x=torch.ones(1), w=w, y=(w * 2), z=w.detach())
    assert drawn.shows == "shared"
    assert texts_of(drawn) == ["1", "w", "z", "no gradient"]
    said = "w and z are on one memory. No gradient flows from z to w."
    assert drawn.words == said


def test_a_copy_and_the_way_of_the_gradient() -> None:
    w = leaf(1.0)
    drawn = strip_of(v=w.clone(), w=w)
    assert drawn.shows == "copied"
    assert texts_of(drawn) == ["1", "w", "1", "v", "copied", "gradient"]
    assert "v was copied from w. A gradient flows from v to w." in drawn.words


def test_what_the_graph_does_not_say_is_not_drawn() -> None:
    x = torch.ones(2)
    drawn = strip_of(x=x, copy=x.clone())
    assert drawn.shows == ""
    assert "copied" not in drawn.words and "gradient" not in drawn.words
    assert "stroke-dasharray" not in drawn.marks


def test_one_object_with_two_names_has_one_tag() -> None:
    x = torch.ones(2)
    drawn = strip_of(x=x, other=torch.ones(1), last=torch.ones(1), same=x)
    assert texts_of(drawn) == ["1", "1", "x, same"]


def test_arrays_share_too() -> None:
    array = np.zeros(2, dtype=np.float32)
    drawn = strip_of(array=array, shared=torch.from_numpy(array), own=torch.ones(1))
    assert "array and shared are on one memory." in drawn.words
    assert "--line-1" in drawn.marks and "--line-2" in drawn.marks


def test_memories_that_share_nothing_have_no_colour_if_there_are_many() -> None:
    w, b = leaf(1.0), leaf(3.0)
    drawn = strip_of(x=torch.ones(1), w=w, b=b, y=torch.ones(1) * w + b)
    assert "--line-" not in drawn.marks
    assert "A gradient flows from y to w." in drawn.words
    assert "A gradient flows from y to b." in drawn.words


@pytest.mark.parametrize("named", [{}, {"s": torch.eye(2).to_sparse()}])
def test_without_a_memory_there_is_nothing_to_draw(named: dict[str, Any]) -> None:
    drawn = strip(observe(named))
    assert (drawn.shows, texts_of(drawn)) == ("", [])


NAMES = st.text("abcdefghij_", min_size=1, max_size=24)
STEPS = st.sampled_from(["clone", "detach", "exp", "numpy", "slice", "alone"])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(NAMES, STEPS, st.integers(0, 9)), max_size=9))
def test_strips_of_random_programs(steps: list[tuple[str, str, int]]) -> None:
    named: dict[str, Any] = {"w": leaf(1.5, 22.25, -3.0)}
    for name, step, place in steps:
        one = list(named.values())[place % len(named)]
        if isinstance(one, np.ndarray):
            named[name] = torch.from_numpy(one)
            continue
        named[name] = {
            "clone": lambda one=one: one.clone(),
            "detach": lambda one=one: one.detach(),
            "exp": lambda one=one: one.exp(),
            "numpy": lambda one=one: one.detach().numpy(),
            "slice": lambda one=one: one[1:] if len(one) > 1 else one,
            "alone": lambda: torch.zeros(1000),
        }[step]()
    check(strip(observe(named)))
