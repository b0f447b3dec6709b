"""Timelines: what a lesson asks for is there, and is drawn inside its frame."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from reading import SCRIPTS
from sphinx.errors import ExtensionError
from tensor_copies.figures import timelines
from tensor_copies.figures.lead import lead_line, timeline_of
from tensor_maps.pen import text_width

ASKING = [script for script in SCRIPTS if timeline_of(script)]


def test_a_lesson_that_asks_for_a_timeline_opens_with_it() -> None:
    asking = {"copy_between_devices", "side_streams", "what_waits"}
    assert {script.stem for script in ASKING} == asking
    for script in ASKING:
        line, markup = timelines.timeline_for(script)
        assert lead_line(script) is None and line == timeline_of(script)[0]
        figure = BeautifulSoup(markup, "html.parser")
        assert "Diagram, not a measurement" in figure.get_text()
        assert figure.select_one(".timeline-source a")["href"].startswith("https://")


@pytest.mark.parametrize("name", timelines._known())
def test_what_is_drawn_is_inside_and_has_words(name: str) -> None:
    figure = BeautifulSoup(timelines.draw(timelines._known()[name]), "html.parser")
    for drawing in figure.select("svg"):
        assert len(drawing["aria-label"]) > 40
        boxes = drawing.select("rect")
        assert boxes and all(float(box["x"]) >= 0 for box in boxes)
        ends = [float(box["x"]) + float(box["width"]) for box in boxes]
        assert max(ends) <= float(drawing["width"])
        lowest = max(float(text["y"]) for text in drawing.select("text"))
        assert lowest <= float(drawing["height"])
        for box in boxes:
            text = box.find_next("text").get_text()
            assert text_width(text, 12) <= float(box["width"]), text


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.write_text('"""\nA\n=\n"""\nx = 1\n# sphinx_gallery_timeline = "none"\n')
    with pytest.raises(ExtensionError, match=r"a\.py: .* 'none'.* has non_blocking"):
        timelines.timeline_for(script)
