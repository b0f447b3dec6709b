"""The Atlas in a browser; what a reader does there is in scenes (build/scenes.txt)."""

from typing import Any

import pytest

# How tall the groups of rows are, those out of sight as the style guesses.
HEIGHTS = """[...document.querySelectorAll(".atlas-room > table.atlas > tbody")]
  .filter(one => !one.closest("details")).map(one => one.getBoundingClientRect().height)
"""


@pytest.mark.parametrize("width", [390, 412, 1280])
def test_a_group_out_of_sight_lies_below_no_other(width: int, visit: Any) -> None:
    """Rows of a group that is guessed too low are covered by the next one."""
    page = visit("atlas.html", viewport={"width": width, "height": 823})
    guessed = page.evaluate(HEIGHTS)
    page.add_style_tag(content="tbody { content-visibility: visible !important }")
    pairs = zip(guessed, page.evaluate(HEIGHTS), strict=True)
    assert all(guess >= height for guess, height in pairs)
