"""Pictures: nothing is cut or overlaps in any font; each sign says what was seen."""

from __future__ import annotations

import itertools
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_maps.compare import changed
from tensor_maps.draw import MOST_IN_SCENE, draw, draw_svg, scene
from tensor_maps.observe import observe
from tensor_maps.pen import COLOURS, PILL, TROUBLE, safe_width, shorten, text_width
from tensor_maps.scene import Drawing
from tensor_maps.words import describe
from test_maps import PROGRAMS, article, leaf, random_programs

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "g", "rect", "text", "path"}
WIDTHS = (216, 280, 360, 720)
NARROWEST_GRAPH = 280
HIGH, LOW = 0.78, 0.22  # of letters above and below their line, by their size
PLAIN_STEPS = ["clone", "detach", "exp", "numpy", "slice", "alone"]

Box = tuple[float, float, float, float]


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.__name__)
def named(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param()


def parsed(drawing: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(drawing.svg())


def texts_of(picture: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


def with_class(picture: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in picture.iter() if name in one.get("class", "").split()]


def parts_of(picture: ElementTree.Element) -> list[tuple[float, float, Any]]:
    """Return every mark with how far groups have moved it."""
    found = []

    def walk(one: ElementTree.Element, right: float, down: float) -> None:
        if moved := re.match(r"translate\((\S+) (\S+)\)", one.get("transform", "")):
            right, down = right + float(moved[1]), down + float(moved[2])
        found.append((right, down, one))
        for child in one:
            walk(child, right, down)

    walk(picture, 0.0, 0.0)
    return found


def corners(rect: ElementTree.Element, right: float, down: float) -> Box:
    x, y, width, height = (
        float(rect.get(key, "")) for key in ("x", "y", "width", "height")
    )
    return x + right, y + down, x + width + right, y + height + down


def place_of(text: ElementTree.Element, right: float, down: float) -> Box:
    """Return where a text is in the widest common font."""
    x, y = float(text.get("x", "")) + right, float(text.get("y", "")) + down
    size = float(text.get("font-size", "13"))
    bold = text.get("font-weight") is not None
    long = safe_width(text.text or "", size, bold)
    if text.get("textLength"):
        long = float(text.get("textLength", ""))
    left = x - long / 2 if text.get("text-anchor") == "middle" else x
    return left, y - HIGH * size, left + long, y + LOW * size


def apart(a: Box, b: Box) -> bool:
    return (
        a[2] <= b[0] + 0.1
        or b[2] <= a[0] + 0.1
        or a[3] <= b[1] + 0.1
        or b[3] <= a[1] + 0.1
    )


def check(drawing: Drawing, room: float) -> None:
    """Nothing leaves the drawing, no text or tag is on another, no arc on a label."""
    picture = parsed(drawing)
    parts = parts_of(picture)
    width, top = drawing.width + 0.1, drawing.top
    end = top + drawing.height + 0.1
    assert width <= room + 0.3
    assert {one.tag.removeprefix(SVG) for one in picture.iter()} <= DRAWN
    tags, texts = [], []
    for right, down, one in parts:
        if one.tag == f"{SVG}rect":
            box = corners(one, right, down)
            assert box[0] >= 0 and box[1] >= top, ElementTree.tostring(one)
            assert box[2] <= width and box[3] <= end, ElementTree.tostring(one)
            if one.get("height") == f"{PILL:g}":
                tags.append(box)
        elif one.tag == f"{SVG}text":
            box = place_of(one, right, down)
            assert box[0] >= -0.1 and box[1] >= top, (one.text, box)
            assert box[2] <= width + 0.1 and box[3] <= end, (one.text, box, width)
            texts.append((box, one.text))
    for (a, said), (b, other) in itertools.combinations(texts, 2):
        assert apart(a, b), (said, other, a, b)
    for a, b in itertools.combinations(tags, 2):
        assert apart(a, b), (a, b)
    arcs = [*with_class(picture, "tm-arc")]
    arcs += [group[0] for group in with_class(picture, "tm-cut")]
    for x, y in (point for arc in arcs for point in points_on(arc.get("d", ""))):
        for (left, top, right, bottom), said in texts:
            inside = left < x < right and top < y < bottom
            assert not inside, (said, x, y)


def points_on(commands: str) -> list[tuple[float, float]]:
    """Return points on the curves that a path begins with."""
    start = re.match(r"M(\S+) (\S+?)((?:C[^MVHCql]*)+)", commands)
    points: list[tuple[float, float]] = []
    if not start:
        return points
    x0, y0 = float(start[1]), float(start[2])
    for curve in start[3].split("C")[1:]:
        x1, y1, x2, y2, x3, y3 = map(float, curve.split())
        for step in range(1, 25):
            t = step / 24
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            x = a * x0 + b * x1 + c * x2 + d * x3
            points.append((x, a * y0 + b * y1 + c * y2 + d * y3))
        x0, y0 = x3, y3
    return points


def check_widths(observed: dict, **more: Any) -> None:
    for width in WIDTHS:
        drawing = scene(observed, width=width, graph=False, **more)
        check(drawing, width)
    check(scene(observed, width=280, graph=True, **more), 720)


# Sound in every font ------------------------------------------------------------------


def test_picture_is_sound(named: dict[str, Any]) -> None:
    check_widths(observe(named))


@settings(max_examples=40, deadline=None)
@given(random_programs())
def test_picture_of_random_programs(named: dict[str, Any]) -> None:
    observed = observe(named)
    check_widths(observed)
    words = set(re.findall(r"\w+", " ".join(texts_of(parsed(scene(observed))))))
    assert set(named) <= words
    assert set(named) <= set(re.findall(r"\w+", describe(observed)))


NAMES = st.text("abcdefghij_", min_size=1, max_size=24)
PLAIN = st.tuples(NAMES, st.sampled_from(PLAIN_STEPS), st.integers(0, 9))


@settings(max_examples=80, deadline=None)
@given(st.lists(PLAIN, max_size=9))
def test_picture_of_long_names(steps: list[tuple[str, str, int]]) -> None:
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
    check_widths(observe(named))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=45))
def test_picture_of_random_graphs(pairs: list[tuple[int, int]]) -> None:
    results = [leaf(1.0, 2.0), leaf(3.0, 4.0)]
    for first, second in pairs:
        results.append(
            results[-1 - first % len(results)] * results[second % len(results)]
        )
    named = {f"t{number}": value for number, value in enumerate(results[::3])}
    check(scene(observe({**named, "last": results[-1]}), graph=True), 720)


def test_a_text_is_squeezed_before_it_is_cut() -> None:
    assert shorten("weight", text_width("weight")) == "weight"
    cut = shorten("weight", text_width("weight") - 1)
    assert cut.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert text_width(cut) < text_width("weight")
    assert text_width("iii") < text_width("mmm") < text_width("mmm", bold=True) * 1.1


# What it says -------------------------------------------------------------------------


def test_names_are_in_picture_and_words(named: dict[str, Any]) -> None:
    observed = observe(named)
    drawing = scene(observed, graph=False)
    picture = parsed(drawing)
    assert picture.get("role") == "img"
    tags = {one.get("data-name", "") for one in with_class(picture, "tm-tag")}
    drawn = {part for name in tags for part in name.split(", ")}
    for name, value in named.items():
        if not isinstance(value, torch.Tensor | np.ndarray):
            continue
        shown = re.sub(r"[\n\x00]", "\N{REPLACEMENT CHARACTER}", name)
        assert shown in drawn
        assert shown in picture.get("aria-label", "")


def colours_of(picture: ElementTree.Element) -> dict[str, str]:
    """Return the colour of each name's tag."""
    return {
        name: next(rect.get("fill", "") for rect in tag.iter(f"{SVG}rect"))
        for tag in with_class(picture, "tm-tag")
        for name in tag.get("data-name", "").split(", ")
    }


@settings(max_examples=60, deadline=None)
@given(random_programs())
def test_names_have_one_colour_exactly_if_they_share(named: dict[str, Any]) -> None:
    observed = observe(named)
    colours = colours_of(parsed(scene(observed, graph=False)))
    on = {
        name: seen["storage"] for seen in observed["tensors"] for name in seen["names"]
    }
    for a, b in itertools.combinations(named, 2):
        if colours[a] in COLOURS:
            assert (colours[a] == colours[b]) == (on[a] == on[b])


def test_a_cut_is_a_bar_in_no_colour_of_trouble() -> None:
    picture = parsed(scene(observe(article())))
    assert len(with_class(picture, "tm-cut")) == 1
    assert len(with_class(picture, "tm-arc")) == 2
    assert any("gradient stops" in text for text in texts_of(picture))
    assert "gradient stops" in texts_of(parsed(scene(observe(article()), width=640)))
    assert TROUBLE not in ElementTree.tostring(picture, "unicode")


def test_a_copy_is_an_arrow() -> None:
    w = leaf(1.0)
    drawing = scene(observe({"v": w.clone(), "w": w}))
    picture = parsed(drawing)
    assert len(with_class(picture, "tm-copy")) == 1
    assert {"copied", "gradient"} <= set(texts_of(picture))
    assert "v was copied from w." in drawing.words
    view = scene(observe({"w": w, "v": w.clone().unsqueeze(0)}))
    assert "v was copied from w." in view.words


def test_what_the_graph_does_not_say_is_not_drawn() -> None:
    x = torch.ones(2)
    observed = observe({"x": x, "copy": x.clone()})
    picture = parsed(scene(observed))
    assert not with_class(picture, "tm-copy") and not with_class(picture, "tm-arc")
    told = parsed(scene(observed, copies=[("x", "copy")]))
    assert len(with_class(told, "tm-copy")) == 1


def test_one_object_with_two_names_has_one_tag() -> None:
    x = torch.ones(2)
    picture = parsed(scene(observe({"x": x, "y": x})))
    assert "x, y" in texts_of(picture)
    assert len(with_class(picture, "tm-tag")) == 1


def test_what_raises_is_crossed() -> None:
    x = leaf(1.0)
    for named in ({"x": x}, {"x": x, "y": x * 2}):
        drawing = scene(observe(named), raises={"y": "RuntimeError"})
        check(drawing, 280)
        picture = parsed(drawing)
        assert "y" in colours_of(picture)
        assert len(with_class(picture, "tm-cross")) == 1
        assert "RuntimeError" in texts_of(picture)
        assert "y raises RuntimeError." in drawing.words


def test_a_matrix_is_seen_as_rows() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    picture = parsed(scene(observe({"x": x, "y": x[0]})))
    assert any("2 \N{MULTIPLICATION SIGN} 3" in text for text in texts_of(picture))
    lefts = [
        float(rect.get("x", ""))
        for cell in with_class(picture, "tm-cell")
        for rect in cell.iter(f"{SVG}rect")
    ]
    steps = [b - a for a, b in itertools.pairwise(lefts)]
    assert steps[2] > steps[0] == steps[1] == steps[3] == steps[4]


def test_a_write_is_strong_where_it_was() -> None:
    x = torch.zeros(4)
    named = {"x": x, "tail": x[2:]}
    before = observe(named)
    x[2] = 7
    picture = parsed(scene(changed(before, observe(named))))
    cells = with_class(picture, "tm-cell")
    assert ["changed" in cell.get("class", "") for cell in cells] == [0, 0, 1, 0]


def test_two_devices_have_frames() -> None:
    observed = observe({"x": torch.ones(2), "y": torch.ones(2)})
    assert "on cpu" not in texts_of(parsed(scene(observed)))
    observed["storages"][1]["device"] = "cuda"
    for width in WIDTHS:
        drawing = scene(observed, width=width, copies=[("x", "y")])
        check(drawing, width)
        assert {"on cpu", "on cuda"} <= set(texts_of(parsed(drawing)))


def test_names_can_be_chosen() -> None:
    picture = parsed(scene(observe(article()), names=["w", "z"]))
    assert set(colours_of(picture)) == {"w", "z"}


def test_the_graph_is_drawn_where_it_is_asked_for() -> None:
    observed = observe(article())
    assert not has_graph(observed)
    assert has_graph(observed, graph=True)
    many = {f"t{at}": leaf(1.0) for at in range(MOST_IN_SCENE)}
    many["sum"] = sum(many.values())
    assert has_graph(observe(many))
    assert not has_graph(observe(many), graph=False)
    plain = {f"t{at}": torch.ones(1) for at in range(MOST_IN_SCENE + 1)}
    assert not has_graph(observe(plain), graph=False)


def has_graph(observed: dict, graph: bool | None = None) -> bool:
    return "AddBackward0" in texts_of(parsed(scene(observed, graph=graph)))


def test_facts_are_said_where_they_are_unusual() -> None:
    said = " ".join(texts_of(parsed(scene(observe(article())))))
    assert not re.search("offset|shape|stride|version|float|cpu|byte", said), said
    base = torch.arange(6.0)
    base.add_(1)
    unusual = {
        "base": base,
        "turned": base.view(2, 3).t(),
        "tail": base[4:],
        "whole": torch.tensor([1]),
        "far": torch.empty(2**20, device="meta"),
    }
    drawn = " ".join(texts_of(parsed(scene(observe(unusual)))))
    turned = "3 \N{MULTIPLICATION SIGN} 2, stride (1, 3)"
    for fact in ("offset 4", turned, "version 1", "int64", "4 MiB", "on meta"):
        assert fact in drawn, (fact, drawn)
    assert "float32" not in drawn and "4194304" not in drawn


def test_a_map_of_nothing_says_so() -> None:
    assert "Nothing to draw." in draw(observe({}))
    said = draw(observe({"n": 5}))
    assert "Nothing to draw." in said and "n is not drawn" in said


def test_what_is_drawn_cannot_run() -> None:
    evil = '"><script>alert(1)</script>'
    markup = draw(observe({evil: torch.ones(1)}), prefix=evil)
    assert "<script" not in markup
    ElementTree.fromstring(markup)


def test_a_drawing_alone_needs_no_page(named: dict[str, Any]) -> None:
    picture = draw_svg(observe(named))
    ElementTree.fromstring(picture)
    used = set(re.findall(r"var\((--[\w-]+)", picture))
    assert "prefers-color-scheme:dark" in picture
    for name in used:
        assert picture.count(f"{name}:") == 2, name


def test_what_lies_beside_is_not_cut_from_it() -> None:
    flat = torch.ones(4)
    parts = {"weight": flat[:2].requires_grad_(), "bias": flat[2:].requires_grad_()}
    assert not with_class(parsed(scene(observe(parts))), "tm-cut")
    cut = {"weight": parts["weight"], "part": parts["weight"].detach()[1:]}
    assert len(with_class(parsed(scene(observe(cut))), "tm-cut")) == 1
