"""The Atlas in a browser, and what all rows have in common."""

from typing import Any

import pytest
from tensor_copies.calls.atlas import KINDS
from tensor_maps.atlas.calls import STATES


def test_a_phone_shows_one_kind_of_x_and_a_filter_marks_its_hits(visit: Any) -> None:
    page = visit("atlas.html#numpy", viewport={"width": 320, "height": 844})
    page.locator("#numpy .facts").wait_for()
    cells = page.locator("#numpy > td").filter(visible=True)
    on, x = (page.get_by_label(f"{word} x is") for word in ("Where", "What"))
    for place, where, state, said in (
        ("here", "the CPU", "leaf", "raises, RuntimeError"),
        ("here", "the CPU", "constant", "shares memory"),
        ("there", "a GPU", "constant", "raises, TypeError"),
    ):
        on.select_option(place)
        x.select_option(state)
        page.locator("#numpy").scroll_into_view_if_needed()
        assert cells.inner_text() == said
        caption = page.locator("#numpy figcaption", has_text=STATES[state])
        caption.filter(has_text=where).wait_for()
    for place, kind in enumerate(KINDS, 1):
        x.select_option(kind)
        assert cells.evaluate("one => one.cellIndex") == place, kind
    x.select_option("constant")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    sign, opened = cells.bounding_box(), page.locator("#numpy .facts").bounding_box()
    assert sign["y"] < opened["y"] and opened["x"] + opened["width"] <= 320
    page.get_by_text("The eight kinds of x").click()
    assert page.locator(".atlas-kinds dd").filter(visible=True).count() == len(KINDS)
    page.set_viewport_size({"width": 1280, "height": 900})
    on.select_option("here")
    for name in ("shares memory", "gradient stops"):
        page.get_by_role("checkbox", name=name).check()
    marked = page.locator("#detach > td").evaluate_all(
        "all => all.map(one => [one.matches('.hit'), getComputedStyle(one).opacity])"
    )
    hits = ["leaf", "nonleaf", "no_grad", "leaf_view"]
    assert marked == [[one in hits, "1" if one in hits else "0.25"] for one in KINDS]
    assert not page.locator("#clone").is_visible()


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
