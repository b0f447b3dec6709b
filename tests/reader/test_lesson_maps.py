"""Tensor maps on the pages of lessons."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from reading import SCRIPTS, page_of, soup

WITH_MAPS = [
    script
    for script in SCRIPTS
    if script.parent.name in ("1_basics", "2_numpy_and_devices")
]
# What opens the page stands first, wherever it is drawn.
LEAD_MAP = (
    r"_map_lead = \"(.+)\"|_map = \"(.+)\"\n"
    r"(?:# sphinx_gallery_tensor_map_graph = True\n)?# sphinx_gallery_lead = True"
)


def words_of(figure: Any) -> str:
    """Return what the drawings of a map say to a screen reader."""
    return " ".join(drawing["aria-label"] for drawing in figure.select("svg"))


@pytest.mark.parametrize("script", WITH_MAPS, ids=lambda script: script.stem)
def test_each_lesson_of_basics_and_devices_shows_its_maps(
    script: Path, site: Path
) -> None:
    maps = soup(page_of(site, script)).select("figure.tensor-map")
    live = [one for one in maps if one.find_parent(class_="recorded") is None]
    text = script.read_text()
    asked = re.findall(r"_tensor_map(?:_change|_lead)? = \"(.+)\"", text)
    lead = "".join(re.search(LEAD_MAP, text).groups(""))
    asked.remove(lead)
    for names, map_ in zip([lead, *asked], live, strict=True):
        drawn = " ".join(text.get_text() for text in map_.select("text"))
        for name in names.split(", "):
            assert re.search(rf"\b{name}\b", words_of(map_))
            assert re.search(rf"\b{name}\b", drawn)
        assert not map_.select("script, style, image")


def test_the_map_of_detach_says_what_the_lesson_proves(site: Path) -> None:
    (detach,) = (script for script in SCRIPTS if script.stem == "detach")
    maps = soup(page_of(site, detach)).select("figure.tensor-map")
    first, more, *_ = maps
    assert "w and z share memory." in first.get_text()
    assert "gradient stops" in first.get_text()
    assert "gradients flow to w and b" in words_of(more)
    assert any(map_.select(".tm-cell.changed") for map_ in maps)


def test_operations_are_drawn_where_they_are_the_subject(site: Path) -> None:
    asked = [one for one in SCRIPTS if "_tensor_map_graph" in one.read_text()]
    assert asked
    for script in asked:
        maps = soup(page_of(site, script)).select(".tensor-map")
        assert any("Backward0" in map_.get_text() for map_ in maps), script
