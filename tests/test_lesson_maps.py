"""Tensor maps on the pages of lessons, and in recordings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import TinySite, lesson
from reading import SCRIPTS, downloads_of, page_of, soup
from recording import pretend_other_machine, record
from tensor_copies.recordings import check
from tensor_maps.draw import draw

WITH_MAPS = [
    script
    for script in SCRIPTS
    if script.parent.name in ("1_basics", "2_numpy_and_devices")
]
FIRST = """import torch
w = torch.ones(2, requires_grad=True)
z = w.detach()
print("made")
# sphinx_gallery_tensor_map = "w, z"
"""
SECOND = """z[0] = 7.0
print(w)
# sphinx_gallery_tensor_map_change = "w, z"
"""


def words_of(figure: Any) -> str:
    """Return what the drawings of a map say to a screen reader."""
    return " ".join(drawing["aria-label"] for drawing in figure.select("svg"))


LEAD_MAP = (
    r"_map = \"(.+)\"\n(?:# sphinx_gallery_tensor_map_graph = True\n)?"
    r"# sphinx_gallery_lead = True"
)


@pytest.mark.parametrize("script", WITH_MAPS, ids=lambda script: script.stem)
def test_each_lesson_of_basics_and_devices_shows_a_map(
    script: Path, site: Path
) -> None:
    page = soup(page_of(site, script))
    live = [
        map_
        for map_ in page.select("figure.tensor-map")
        if map_.find_parent(class_="recorded") is None
    ]
    assert live
    text = script.read_text()
    markers = re.findall(r"_tensor_map(_change|_lead)? = \"(.+)\"", text)
    assert len(live) == len(markers)
    # What opens the page stands first, wherever it is drawn.
    moved = re.findall(LEAD_MAP, text)
    leads = [names for kind, names in markers if kind == "_lead"] + moved
    rest = [names for _, names in markers]
    rest.remove(leads[0])
    markers = [leads[0], *rest]
    for names, map_ in zip(markers, live, strict=True):
        words = words_of(map_)
        drawn = " ".join(text.get_text() for text in map_.select("text"))
        for name in names.split(", "):
            assert re.search(rf"\b{name}\b", words)
            assert re.search(rf"\b{name}\b", drawn)
        assert not map_.select("script, style, image")


def test_the_marker_is_hidden_from_page_and_notebook(site: Path) -> None:
    for script in SCRIPTS:
        page = page_of(site, script)
        assert "sphinx_gallery_tensor_map" not in page.read_text()
        notebook = downloads_of(page)[".ipynb"].read_text()
        assert "sphinx_gallery_tensor_map" not in notebook


def test_the_map_of_detach_says_what_the_lesson_proves(site: Path) -> None:
    (detach,) = (script for script in SCRIPTS if script.stem == "detach")
    maps = soup(page_of(site, detach)).select("figure.tensor-map")
    first, more, *_ = maps
    assert "w and z share one memory." in first.get_text()
    assert "gradient stops" in first.get_text()
    assert "gradients flow to w and b" in words_of(more)
    assert any(map_.select(".tm-cell.changed") for map_ in maps)


def test_operations_are_drawn_where_they_are_the_subject(site: Path) -> None:
    for script in SCRIPTS:
        drawn = "Backward0" in "".join(
            map_.get_text()
            for map_ in soup(page_of(site, script)).select(".tensor-map")
        )
        if "_tensor_map_graph" in script.read_text():
            assert drawn, script


def test_an_unknown_name_fails_the_build_with_the_line(tiny_site: TinySite) -> None:
    wrong = FIRST.replace('"w, z"', '"w, nothing"')
    tiny_site.write_lessons({"a.py": lesson("A", wrong)})
    built = tiny_site.build()
    assert built.status != 0
    assert "the block on line 7 asks for a map of 'nothing'" in built.output
    assert not tiny_site.html.exists()


def test_maps_belong_to_recordings(tiny_site: TinySite) -> None:
    # A map of which the lesson asks for the graph is the same map.
    graph = f"{SECOND}# sphinx_gallery_tensor_map_graph = True\n"
    tiny_site.write_lessons({"a.py": lesson("A", FIRST, graph)})
    done = record(tiny_site)
    assert done.status == 0, done.output
    folder = pretend_other_machine(tiny_site, lambda line: line)
    seen = folder / "a.1.json"
    data = json.loads(seen.read_text())
    # The name of a device, where there is one, makes no other map; a value does.
    text = json.dumps(data).replace('"cpu"', '"cuda:0"').replace('"[1, 1]"', '"[7, 1]"')
    assert "[7, 1]" in text
    seen.write_text(text)
    hostile = folder / "a.9.json"
    hostile.write_text(text.replace('"w"', '"<script>alert(1)</script>&\\""'))
    markup = draw(check.load_figure(hostile)["map"])
    assert "<script" not in markup and "&lt;script&gt;alert(1)" in markup
    hostile.unlink()
    built = tiny_site.build()
    assert built.status == 0, built.output
    page = soup(tiny_site.page("a"))
    (group,) = page.select(".machines-outputs")  # the second map is the same
    live, other = group.select("figure.tensor-map")
    assert "cuda:0" not in live.get_text() and "cuda:0" in other.get_text()
    ids = [tag["id"] for tag in page.select("[id]")]
    assert len(ids) == len(set(ids))
