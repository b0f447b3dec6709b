"""Pictures: nothing is cut or overlaps in any font; each sign says what was seen."""

import itertools
import random
import re
import warnings
import weakref
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import functions_behind
from programs import named_by
from running import named_in
from tensor_maps import tensor_map
from tensor_maps.block import PILL
from tensor_maps.graph import draw_graph, see_graph
from tensor_maps.observe import observe
from tensor_maps.pen import COLOURS, safe_width
from tensor_maps.scene import Drawing, draw_scene

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "g", "rect", "text", "path"}
# What a drawing has in a page, and parts of names that would break out of it.
SAFE = {*DRAWN, "figure", "figcaption", "style", "title", "desc", "div", "p", "span"}
EVIL = ('"><script>', "</svg>", "]]>", "&lt;", "onload='x'", "\x00", "\ud800", "\u202e")
WIDTHS = (216, 280, 360, 720)

MAPPED = Path(__file__).with_name("mapped.txt").read_text(encoding="utf-8")
PARTS = (part.split("\n", 1) for part in MAPPED.split("\n=== ")[1:])
PROGRAMS = {name: text.split("\n---\n") for name, text in PARTS}
Element = ElementTree.Element
Box = tuple[float, float, float, float]


def article() -> dict[str, Any]:
    return named_in(PROGRAMS["a leaf, a result and a cut"][0])


def drawn(named: dict[str, Any], **more: Any) -> Element:
    return ElementTree.fromstring(draw_scene(observe(named), **more).svg())


def with_class(picture: Element, name: str) -> list[Element]:
    return [one for one in picture.iter() if name in one.get("class", "").split()]


def tags_of(picture: Element) -> dict[str, Element]:
    return {one.get("data-name", ""): one for one in with_class(picture, "tm-tag")}


def colours_of(picture: Element) -> dict[str, str]:
    """Return the colour of each name's tag."""
    return {
        name: next(rect.get("fill", "") for rect in tag.iter(f"{SVG}rect"))
        for names, tag in tags_of(picture).items()
        for name in names.split(", ")
    }


def boxes_of(one: Element, right: float = 0, down: float = 0) -> list[tuple]:
    """Return each rectangle and text with its place, in the widest common font."""
    if moved := re.match(r"translate\((\S+) (\S+)\)", one.get("transform", "")):
        right, down = right + float(moved[1]), down + float(moved[2])
    found = []
    if one.tag in (f"{SVG}rect", f"{SVG}text"):
        x, y = float(one.get("x", "")) + right, float(one.get("y", "")) + down
        if one.tag == f"{SVG}rect":
            size = float(one.get("width", "")), float(one.get("height", ""))
            box = x, y, x + size[0], y + size[1]
        else:
            size, bold = float(one.get("font-size", "13")), "font-weight" in one.attrib
            long = safe_width(one.text or "", size, bold)
            long = float(one.get("textLength", long))
            left = x - long / 2 if one.get("text-anchor") == "middle" else x
            box = left, y - 0.78 * size, left + long, y + 0.22 * size
        found.append((one, box))
    return found + [box for child in one for box in boxes_of(child, right, down)]


def apart(a: Box, b: Box) -> bool:
    both = (a, b), (b, a)
    return any(p[at + 2] <= q[at] + 0.1 for p, q in both for at in (0, 1))


def points_on(commands: str) -> list[tuple[float, float]]:
    """Return points on the curves that a path begins with."""
    start = re.match(r"M(\S+) (\S+?)((?:C[^MVHCql]*)+)", commands)
    points = []
    here = (float(start[1]), float(start[2])) if start else ()
    for curve in start[3].split("C")[1:] if start else ():
        x1, y1, x2, y2, *end = map(float, curve.split())
        for step in range(1, 25):
            t = step / 24
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            x = a * here[0] + b * x1 + c * x2 + d * end[0]
            points.append((x, a * here[1] + b * y1 + c * y2 + d * end[1]))
        here = end
    return points


def check(drawing: Drawing, room: float) -> None:
    """Nothing leaves the drawing, no text or tag is on another, no arc on a label."""
    picture = ElementTree.fromstring(drawing.svg())
    width, top = drawing.width + 0.2, drawing.top
    assert drawing.width <= room + 0.2
    assert {one.tag.removeprefix(SVG) for one in picture.iter()} <= DRAWN
    tags, texts = [], []
    for one, box in boxes_of(picture):
        assert box[0] >= -0.1 and box[1] >= top, (one.text, one.attrib, box)
        assert box[2] <= width, (one.text, one.attrib, box, width)
        assert box[3] <= top + drawing.height + 0.1, (one.text, one.attrib, box)
        if one.tag == f"{SVG}text":
            texts.append((box, one.text))
        elif one.get("height") == f"{PILL:g}":
            tags.append((box, ""))
    for both in (texts, tags):
        for (a, said), (b, other) in itertools.combinations(both, 2):
            assert apart(a, b), (said, other, a, b)
    arcs = with_class(picture, "tm-arc")
    arcs += [group[0] for group in with_class(picture, "tm-cut")]
    for x, y in (point for arc in arcs for point in points_on(arc.get("d", ""))):
        for (left, top, right, bottom), said in texts:
            assert not (left < x < right and top < y < bottom), (said, x, y)


def check_widths(named: dict[str, Any]) -> None:
    observed = observe(named, graph=True)
    for width in WIDTHS:
        check(draw_scene(observed, width=width), width)
    check(draw_graph(observed, width=280), 720)


# Sound in every font, and whole -------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_has_its_table_and_a_sound_picture(
    program: str, tmp_path: Path
) -> None:
    source, table = PROGRAMS[program]
    named = named_in(source)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no gradient is read that would warn
        shown = tensor_map(**named)
        shown._repr_html_()
    assert str(shown) == repr(shown) == table.strip()
    check_widths(named)
    picture = drawn(named)
    for name in named:
        assert name in colours_of(picture) and name in picture.get("aria-label", "")
    shown.width = 280
    shown.save(tmp_path / "map.SVG")  # which needs no page
    saved = (tmp_path / "map.SVG").read_text(encoding="utf-8")
    for variable in set(re.findall(r"var\((--[\w-]+)", saved)):
        assert saved.count(f"{variable}:") == 2, variable
    assert float(ElementTree.fromstring(saved).get("width", "")) <= 280


@pytest.mark.parametrize("batch", range(4))
def test_pictures_and_graphs_of_random_programs(batch: int) -> None:
    for seed in range(2 * batch, 160, 8):
        named, chance = named_by(seed), random.Random(seed)
        if seed % 3 == 0:  # as long as readers' names are
            named = {f"{n}_{'name' * chance.randint(0, 5)}": named[n] for n in named}
        check_widths(named)
        observed, colours = observe(named), colours_of(drawn(named))
        on = {n: s["storage"] for s in observed["tensors"] for n in s["names"]}
        assert set(named) == set(colours), seed
        for a, b in itertools.combinations(named, 2):
            if colours[a] in COLOURS:
                assert (colours[a] == colours[b]) == (on[a] == on[b])
        # The walk has all nodes and edges that autograd has.
        tensors = {id(v): v for v in named.values() if isinstance(v, torch.Tensor)}
        graph, met = see_graph([*tensors.values()]), functions_behind(*named.values())
        shown = [one for one in graph["nodes"] if one["kind"] == "operation"]
        assert len(shown) == sum(not hasattr(one, "variable") for one in met)
        inputs = [one for node in met for one, _ in node.next_functions if one]
        results = [one for one in tensors.values() if one.grad_fn]
        assert len(graph["edges"]) == len(inputs) + len(results)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(EVIL) | st.text(max_size=9), max_size=4).map("".join))
def test_what_is_drawn_cannot_run(name: str) -> None:
    whole = torch.ones(4, requires_grad=True)
    named = {name: whole, "y": (2 * whole)[:2], f"{name}2": torch.ones(0)}
    for graph in (False, True):
        shown = tensor_map(named, graph=graph)
        picture = ElementTree.fromstring(shown._repr_html_())
        assert {one.tag.removeprefix(SVG) for one in picture.iter()} <= SAFE


def test_a_map_without_arguments_has_the_tensors_of_the_caller() -> None:
    x, pair = torch.ones(2), [torch.zeros(1), torch.ones(1)]
    names = [line.split()[0] for line in str(tensor_map()).splitlines()]
    assert names == ["x", "pair[0]", "pair[1]"] and pair
    storage = weakref.ref(x.untyped_storage())
    del x
    assert storage() is None  # the frame keeps no copy of its names
