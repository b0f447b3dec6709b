"""Tensor maps on the pages of lessons."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from reading import SCRIPTS, page_of, soup
from tensor_copies.figures.lead import read_lead

WITH_MAPS = [
    script
    for script in SCRIPTS
    if script.parent.name in ("1_basics", "2_numpy_and_devices")
]


def words_of(figure: Any) -> str:
    """Return what the drawings of a map say to a screen reader."""
    return " ".join(drawing["aria-label"] for drawing in figure.select("svg"))


@pytest.mark.parametrize("script", WITH_MAPS, ids=lambda script: script.stem)
def test_each_lesson_of_basics_and_devices_shows_its_maps(
    script: Path, site: Path
) -> None:
    maps = soup(page_of(site, script)).select("figure.tensor-map")
    live = [one for one in maps if one.find_parent(class_="other-machine") is None]
    text = script.read_text()
    # What opens the page stands first, wherever it is drawn.
    leads = re.findall(r"_tensor_map_lead = ([\"'])(.+)\1", text)
    asked = [read_lead(marker).names for _, marker in leads]
    others = re.findall(r"_tensor_map(?:_change)? = \"(.+)\"", text)
    asked += [names.split(", ") for names in others]
    for names, map_ in zip(asked, live, strict=True):
        drawn = " ".join(text.get_text() for text in map_.select("text"))
        for name in map(re.escape, names):
            assert re.search(rf"(?<!\w){name}(?!\w)", words_of(map_))
            assert re.search(rf"(?<!\w){name}(?!\w)", drawn)
        assert not map_.select("script, style, image")


def test_the_map_of_detach_says_what_the_lesson_proves(site: Path) -> None:
    (detach,) = (script for script in SCRIPTS if script.stem == "detach")
    maps = soup(page_of(site, detach)).select("figure.tensor-map")
    first, more, *_ = maps
    assert "w and z share memory." in first.get_text()
    assert "gradient stops" in first.get_text()
    assert "gradients flow to w" in words_of(more)
    assert any(map_.select(".tm-cell.changed") for map_ in maps)


def test_operations_are_drawn_where_they_are_the_subject(site: Path) -> None:
    asked = [one for one in SCRIPTS if "_tensor_map_graph" in one.read_text()]
    assert asked
    for script in asked:
        maps = soup(page_of(site, script)).select(".tensor-map")
        assert any("Backward0" in map_.get_text() for map_ in maps), script


MOST_EVENTS = 15


def test_each_picture_plays_the_events_of_its_lesson(site: Path) -> None:
    counts = []
    for script in SCRIPTS:
        page = soup(page_of(site, script))
        file = site / "_static" / "steps" / script.parent.name / f"{script.stem}.js"
        if not file.exists():
            assert not page.select(".player, .step-through"), script.stem
            continue
        text = file.read_text(encoding="utf-8")
        data = json.loads(text[text.index("(") + 1 : text.rindex(")")])
        events = [at for at, step in enumerate(data["steps"]) if step["event"]]
        counts.append(len(events))
        assert len(events) <= MOST_EVENTS, script.stem
        if data["lead"] is None:
            assert page.select_one("#step.step-through"), script.stem
            continue
        (player,) = page.select(".lesson-lead > .player#step")
        shown = player.select_one(".player-count").get_text()
        assert shown == f"{events.index(data['lead']) + 1} of {len(events)}"
        said = player.select_one(".player-said").get_text()
        assert said == data["steps"][data["lead"]]["said"]
        # The first picture is of what the lesson names, not of what it has loaded.
        assert player.select_one(".player-picture svg text"), script.stem
    assert counts
