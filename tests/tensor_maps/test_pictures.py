"""Pictures: nothing is cut or overlaps in any font; each sign says what was seen."""

from __future__ import annotations

import itertools
import random
import re
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import named_by
from running import leaf
from tensor_maps import tensor_map
from tensor_maps.graph import draw_graph, see_graph
from tensor_maps.observe import observe
from tensor_maps.pen import COLOURS, PILL, TROUBLE, safe_width, shorten, text_width
from tensor_maps.scene import Drawing, draw_scene
from torch import nn

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "g", "rect", "text", "path"}
# What a drawing has in a page, and parts of names that would break out of it.
SAFE = {*DRAWN, "figure", "figcaption", "style", "title", "desc", "div", "p", "span"}
EVIL = ('"><script>', "</svg>", "]]>", "&lt;", "onload='x'", "\x00", "\ud800", "\u202e")
WIDTHS = (216, 280, 360, 720)
HIGH, LOW = 0.78, 0.22  # of letters above and below their line, by their size
SEEDS = range(0, 160, 2)

MAPPED = Path(__file__).with_name("mapped.txt").read_text(encoding="utf-8")
PARTS = (part.split("\n", 1) for part in MAPPED.split("\n=== ")[1:])
PROGRAMS = {name: text.split("\n---\n") for name, text in PARTS}

Box = tuple[float, float, float, float]


def named_in(program: str) -> dict[str, Any]:
    """Run a program; return its tensors and arrays."""
    names: dict[str, Any] = {"torch": torch, "np": np, "nn": nn, "leaf": leaf}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of prototypes
        exec(program, names)
    kinds = (torch.Tensor, np.ndarray)
    return {n: v for n, v in names.items() if isinstance(v, kinds) and n != "_"}


def article() -> dict[str, Any]:
    return named_in(PROGRAMS["a leaf, a result and a cut"][0])


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


def check_widths(named: dict[str, Any]) -> None:
    observed = observe(named, graph=True)
    for width in WIDTHS:
        check(draw_scene(observed, width=width), width)
    check(draw_graph(observed, width=280), 720)


# Sound in every font ------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS)
def test_print_shows_a_table(program: str) -> None:
    source, table = PROGRAMS[program]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no gradient is read that would warn
        shown = tensor_map(**named_in(source))
        shown._repr_html_()
    assert str(shown) == repr(shown) == table.strip()


@pytest.mark.parametrize("program", PROGRAMS)
def test_picture_is_sound_and_has_all_names(program: str, tmp_path: Path) -> None:
    named = named_in(PROGRAMS[program][0])
    check_widths(named)
    picture = parsed(draw_scene(observe(named)))
    for name in named:
        assert name in colours_of(picture), name
        assert name in picture.get("aria-label", "")
    # A drawing alone needs no page.
    tensor_map(**named).save(tmp_path / "map.svg")
    drawn = (tmp_path / "map.svg").read_text(encoding="utf-8")
    for variable in set(re.findall(r"var\((--[\w-]+)", drawn)):
        assert drawn.count(f"{variable}:") == 2, variable
    ElementTree.fromstring(drawn)


@pytest.mark.parametrize("batch", range(4))
def test_picture_of_random_programs(batch: int) -> None:
    for seed in SEEDS[batch::4]:
        named = named_by(seed)
        if seed % 3 == 0:  # as long as readers' names are
            chance = random.Random(seed)
            named = {
                f"{n}_{'name' * chance.randint(0, 5)}": v for n, v in named.items()
            }
        check_widths(named)
        observed = observe(named)
        picture = parsed(draw_scene(observed))
        colours = colours_of(picture)
        on = {n: s["storage"] for s in observed["tensors"] for n in s["names"]}
        assert set(named) == set(colours), seed
        for a, b in itertools.combinations(named, 2):
            if colours[a] in COLOURS:
                assert (colours[a] == colours[b]) == (on[a] == on[b])


def test_picture_of_random_graphs() -> None:
    for seed in range(20):
        chance, results = random.Random(seed), [leaf(1.0, 2.0), leaf(3.0, 4.0)]
        for _ in range(chance.randint(0, 45)):
            results.append(chance.choice(results) * results[-1])
        named = {f"t{number}": value for number, value in enumerate(results[::3])}
        observed = observe({**named, "last": results[-1]}, graph=True)
        check(draw_graph(observed, width=280), 720)


def test_a_text_is_squeezed_before_it_is_cut() -> None:
    assert shorten("weight", text_width("weight")) == "weight"
    cut = shorten("weight", text_width("weight") - 1)
    assert cut.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert text_width(cut) < text_width("weight")
    assert text_width("iii") < text_width("mmm") < text_width("mmm", bold=True) * 1.1


# What it says -------------------------------------------------------------------------


def colours_of(picture: ElementTree.Element) -> dict[str, str]:
    """Return the colour of each name's tag."""
    return {
        name: next(rect.get("fill", "") for rect in tag.iter(f"{SVG}rect"))
        for tag in with_class(picture, "tm-tag")
        for name in tag.get("data-name", "").split(", ")
    }


def test_each_sign_is_where_it_was_seen_and_nowhere_else() -> None:
    w, x, flat = leaf(1.0), torch.ones(2), torch.ones(4)
    parts = {"weight": flat[:2].requires_grad_(), "bias": flat[2:].requires_grad_()}
    plain, raises = {"x": x, "c": x.clone()}, {"raises": {"y": "RuntimeError"}}
    for named, more, signs, said in (  # cuts, arcs, copies, crosses
        (article(), {}, (1, 2, 0, 0), "gradient stops"),
        (article(), {"width": 280}, (1, 2, 0, 0), "gradient stops"),
        (article(), {"names": ["w", "z"]}, (1, 0, 0, 0), "z"),
        ({"v": w.clone(), "w": w}, {}, (0, 1, 1, 0), "copied"),
        ({"w": w, "v": w.clone().unsqueeze(0)}, {}, (0, 1, 1, 0), "gradient"),
        (plain, {}, (0, 0, 0, 0), "c"),
        (plain, {"copies": [("x", "c")]}, (0, 0, 1, 0), "copied"),
        ({"x": x, "y": x}, {}, (0, 0, 0, 0), "x, y"),
        ({"x": w}, raises, (0, 0, 0, 1), "RuntimeError"),
        ({"x": w, "y": w * 2}, raises, (0, 1, 0, 1), "RuntimeError"),
        (parts, {}, (0, 0, 0, 0), "bias"),
        ({**parts, "cut": parts["weight"].detach()[1:]}, {}, (1, 0, 0, 0), "cut"),
    ):
        drawing = draw_scene(observe(named), **more)
        check(drawing, 640)
        picture = parsed(drawing)
        kinds = ("tm-cut", "tm-arc", "tm-copy", "tm-cross")
        assert tuple(len(with_class(picture, one)) for one in kinds) == signs, named
        assert said in texts_of(picture) or said in drawing.words
        assert (TROUBLE in ElementTree.tostring(picture, "unicode")) == signs[3]
        assert ("y raises RuntimeError." in drawing.words) == signs[3]


def test_a_matrix_is_seen_as_rows() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    picture = parsed(draw_scene(observe({"x": x, "y": x[0]})))
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
    after = observe({"x": x, "tail": x[2:]})
    after["storages"][0]["changed_cells"] = [2]
    picture = parsed(draw_scene(after))
    cells = with_class(picture, "tm-cell")
    assert ["changed" in cell.get("class", "") for cell in cells] == [0, 0, 1, 0]


def test_two_devices_have_frames() -> None:
    observed = observe({"x": torch.ones(2), "y": torch.ones(2)})
    assert "on cpu" not in texts_of(parsed(draw_scene(observed)))
    observed["storages"][1]["device"] = "cuda"
    for width in WIDTHS:
        drawing = draw_scene(observed, width=width, copies=[("x", "y")])
        check(drawing, width)
        assert {"on cpu", "on cuda"} <= set(texts_of(parsed(drawing)))


def test_the_graph_is_drawn_where_it_is_asked_for() -> None:
    for graph in (False, True):
        drawn = tensor_map(article(), graph=graph)._repr_html_()
        assert ("AddBackward0" in drawn) == graph


def test_a_map_without_arguments_has_the_tensors_of_the_caller() -> None:
    x, pair = torch.ones(2), [torch.zeros(1), torch.ones(1)]
    shown = tensor_map()
    assert [line.split()[0] for line in str(shown).splitlines()] == [
        *("x", "pair[0]", "pair[1]"),
    ]
    assert x.sum() == 2 and pair


def test_facts_are_said_where_they_are_unusual() -> None:
    said = " ".join(texts_of(parsed(draw_scene(observe(article())))))
    assert not re.search("offset|shape|stride|version|float|cpu|byte", said), said
    base = torch.arange(6.0)
    base.add_(1)
    unusual = {
        "base": base,
        "turned": base.view(2, 3).t(),
        "tail": base[4:],
        "whole": torch.tensor([1]),
        "far": torch.zeros(2**20),
    }
    drawn = " ".join(texts_of(parsed(draw_scene(observe(unusual)))))
    turned = "3 \N{MULTIPLICATION SIGN} 2, stride (1, 3)"
    for fact in ("offset 4", turned, "version 1", "int64", "4 MiB"):
        assert fact in drawn, (fact, drawn)
    assert "float32" not in drawn and "4194304" not in drawn


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(EVIL) | st.text(max_size=9), max_size=4).map("".join))
def test_what_is_drawn_cannot_run(name: str) -> None:
    whole = torch.ones(4, requires_grad=True)
    named = {name: whole, "y": (2 * whole)[:2], f"{name}2": torch.ones(0)}
    for graph in (False, True):
        shown = tensor_map(named, graph=graph)
        picture = ElementTree.fromstring(shown._repr_html_())
        tags = {one.tag.removeprefix(SVG) for one in picture.iter()}
        assert tags <= SAFE, tags - SAFE


# Where signs lead ---------------------------------------------------------------------


def middles_of(picture: ElementTree.Element) -> dict[str, float]:
    """Return the middle of each tag, from left to right."""
    return {
        tag.get("data-name", ""): sum(corners(rect, right, down)[::2]) / 2
        for right, down, tag in parts_of(picture)
        if "tm-tag" in tag.get("class", "").split()
        for rect in tag.iter(f"{SVG}rect")
    }


def nearest(middles: dict[str, float], x: float) -> str:
    return min(middles, key=lambda name: abs(middles[name] - x))


def test_arcs_lead_from_results_to_leaves_and_copies_from_their_source() -> None:
    """The head of an arrow is on the tag of what a gradient flows back to."""
    w = leaf(1.0, 2.0)
    y = w * 2
    for named in ({"w": w, "y": y}, {"y": y, "w": w}):
        picture = parsed(draw_scene(observe(named), width=360))
        (arc,) = with_class(picture, "tm-arc")
        points, middles = points_on(arc.get("d", "")), middles_of(picture)
        assert nearest(middles, points[0][0]) == "y"
        assert nearest(middles, points[-1][0]) == "w"
    for named in ({"w": w, "v": w.clone()}, {"v": w.clone(), "w": w}):
        picture = parsed(draw_scene(observe(named), width=360))
        (way, head, _) = with_class(picture, "tm-copy")[0]
        begin, end = map(float, re.findall(r"[MH](-?[\d.]+)", way.get("d", "")))
        middles = middles_of(picture)
        assert (middles["v"] - middles["w"]) * (end - begin) > 0
        assert nearest(middles, begin) == "w" and nearest(middles, end) == "v"
        turned = re.search(r"l(-?\d+) 5", head.get("d", ""))
        assert int(turned[1]) * (end - begin) > 0
        assert abs(end - begin) < abs(middles["v"] - middles["w"])


def stem_of(picture: ElementTree.Element, name: str) -> str:
    (tag,) = [one for one in with_class(picture, "tm-tag")
              if one.get("data-name") == name]  # fmt: skip
    return tag[0].get("d", "")


def test_stems_and_bars_lead_to_the_cells_that_are_held() -> None:
    x = torch.arange(6.0)
    named = {"x": x, "low": x[:2], "odd": x[1::2], "last": x[5:]}
    picture = parsed(draw_scene(observe(named), width=720))
    cells = {
        "".join(cell.itertext()): corners(cell.find(f"{SVG}rect"), 0, 0)
        for cell in with_class(picture, "tm-cell")
    }
    assert list(cells) == list("012345")
    for name, value in (("low", "0"), ("last", "5")):
        foot = float(re.findall(r"-?[\d.]+", stem_of(picture, name))[-2])
        if "C" not in stem_of(picture, name):  # straight down
            foot = float(re.findall(r"-?[\d.]+", stem_of(picture, name))[0])
        lefts = cells[value][0], cells["1" if name == "low" else value][2]
        assert lefts[0] - 1 <= foot <= lefts[1] + 1, name
    (row,) = with_class(picture, "tm-row")
    bars = [one.get("d", "") for one in row if one.tag == f"{SVG}path"]
    held = [
        [
            {value for value, box in cells.items() if box[0] < float(at) + 9 < box[2]}
            for at in re.findall(r"M(-?[\d.]+)", bar)
        ]
        for bar in bars
    ]
    assert [{"1"}, {"3"}, {"5"}] in held, bars
    # What no name holds is faint; many names hang on one rail.
    part = parsed(draw_scene(observe({"odd": x[1::2]})))
    faint = [cell.get("opacity") is not None for cell in with_class(part, "tm-cell")]
    assert faint == [True, False] * 3
    many = {f"name{n}": x[:] for n in range(8)}
    rail = parsed(draw_scene(observe(many), width=280))
    joined = [stem_of(rail, name) for name in many]
    assert len([one for one in joined if "V" in one]) < len(joined)


def test_the_graph_leads_through_tensors_and_draws_edges_as_often_as_they_are() -> None:
    w = leaf(1.0)
    h = w * 2
    y = h * h
    picture = parsed(draw_graph(observe({"w": w, "h": h, "y": y}, graph=True)))
    paths = [p for p in picture.iter(f"{SVG}path") if p.get("stroke-width") == "1.3"]
    # From y to its node, twice to h, to its node, and to w.
    assert len(paths) == 5
    assert "1 input without grad" in texts_of(picture)
    for _ in range(60):
        y = y * 2
    picture = parsed(draw_graph(observe({"y": y, "w": w}, graph=True)))
    assert "and 22 more nodes" in texts_of(picture)


def test_a_graph_has_all_nodes_and_edges_of_the_walk_that_autograd_has() -> None:
    for seed in range(0, 160, 8):
        named = named_by(seed)
        objects = [v for v in named.values() if isinstance(v, torch.Tensor)]
        edges = see_graph(objects)["edges"]
        nodes = see_graph(objects)["nodes"]
        shown = [one for one in nodes if one["kind"] == "operation"]
        met, waiting, inputs = set(), [v.grad_fn for v in objects if v.grad_fn], 0
        while waiting:
            function = waiting.pop()
            if function in met:
                continue
            met.add(function)
            waiting += [one for one, _ in function.next_functions if one is not None]
            inputs += sum(one is not None for one, _ in function.next_functions)
        assert len(shown) == sum(not hasattr(one, "variable") for one in met)
        own = {id(v): v for v in objects if v.grad_fn is not None}
        assert len(edges) == inputs + len(own)


def test_captions_say_what_is_one() -> None:
    x = leaf(1.0)
    y, z, c = x.detach(), torch.ones(1), x.clone()
    for named, said in (
        ({"x": x, "same": x}, "x and same are the same object."),
        (
            {"x": x, "y": y},
            "x and y share memory. No gradient flows back through y.",
        ),
        ({"z": z}, "z has its own memory."),
        ({"z": z, "x": x}, "z and x don't share memory."),
        (
            {name: torch.ones(1) for name in "abcdef"},
            "These tensors don't share memory.",
        ),
        ({"x": x, "c": c, "e": x.clone()}, "c and e are copies of x."),
        (
            {"x": x, "same": x, "c": c},
            "x and same are the same object. c is a copy of x.",
        ),
        ({"x": x, "c": c.unsqueeze(0).view(-1)}, "c is a copy of x."),
        (
            {"c": c, "d": c.detach()},
            "c and d share memory. No gradient flows back through d.",
        ),
        (
            {"d": c.detach(), "c": c},
            "d and c share memory. No gradient flows back through d.",
        ),
    ):
        assert draw_scene(observe(named)).caption == said


def test_a_tag_says_what_is_a_leaf_and_what_is_frozen() -> None:
    layer = torch.nn.Linear(1, 1).requires_grad_(False)
    named = {"w": leaf(1.0), "b": layer.bias, "x": torch.ones(1), "y": leaf(1.0) * 2}
    made = draw_scene(observe(named))
    signs = {
        tag.get("data-name"): tag.get("data-sign")
        for tag in with_class(parsed(made), "tm-tag")
    }
    assert signs == {"w": "leaf", "b": "frozen", "x": None, "y": None}
    assert made.caption.endswith(" b is frozen.")
    ringed = parsed(draw_scene(observe(named), ringed=["x"]))
    new = [one for one in with_class(ringed, "tm-tag") if "data-new" in one.attrib]
    assert [one.get("data-name") for one in new] == ["x"]


def test_a_grid_has_what_a_view_reads_in_its_own_shape() -> None:
    x = torch.arange(6).reshape(2, 3)
    row = torch.arange(2)
    for view, cells, again in (
        (x.t(), "031425", 0),
        (x[:, 1:], "1245", 0),
        (row.expand(3, 2), "010101", 4),
        (x[0, 0].expand(3), "000", 2),
        (x.numpy()[::-1, ::-1], "543210", 0),
        (x, "", 0),
        (x[0], "", 0),
        (torch.arange(14).reshape(2, 7).t(), "", 0),
    ):
        grids = with_class(parsed(draw_scene(observe({"v": view, "x": x}))), "tm-grid")
        texts = [text.text for grid in grids for text in grid.iter(f"{SVG}text")]
        assert "".join(texts[1:]) == cells and texts[:1] == ["v, row by row"] * bool(
            cells
        )
        rects = [rect for grid in grids for rect in grid.iter(f"{SVG}rect")]
        assert sum("stroke-dasharray" in rect.attrib for rect in rects) == again
