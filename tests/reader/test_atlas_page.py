"""The Atlas in a browser, and what all rows have in common."""

from typing import Any

import pytest
import torch
from tensor_copies.calls.atlas import KINDS
from tensor_copies.calls.facts import facts
from tensor_maps.atlas.calls import STATES


def test_what_is_folded_opens_for_a_filter_and_for_an_address(visit: Any) -> None:
    page = visit("atlas.html")
    fold, rows = page.locator(".atlas-apart"), page.locator(".atlas-apart tr[id]")
    search = page.locator(".atlas-filter").get_by_role("searchbox")
    assert not rows.filter(visible=True).count()
    for words, some in {
        "dataframe": {"column-from-numpy", "frame-alone", "mixed-from-numpy"},
        "PIL": {"image-as-tensor", "image-from-numpy"},
    }.items():
        search.fill(words)
        found = rows.filter(visible=True).evaluate_all("all => all.map(one => one.id)")
        assert some <= set(found) and len(found) < rows.count(), words
    search.fill("x.detach()")
    assert not fold.is_visible()
    search.fill("")
    assert fold.is_visible() and not rows.filter(visible=True).count()
    visit("atlas.html#frame-alone").locator("#frame-alone .facts").wait_for()
    page = visit("atlas.html?has=copies,stops")
    assert page.locator("#detach-clone").is_visible()
    assert not page.locator("#detach").is_visible()


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


@pytest.mark.parametrize("name", ["mask", "no-grad"])
def test_an_open_row_has_a_picture_and_can_be_copied(name: str, visit: Any) -> None:
    page, call = visit(f"atlas.html#{name}"), facts().calls[name]
    row = page.locator(f"#{name}")
    row.locator(".facts > :first-child svg .tm-row").first.wait_for()
    row.get_by_role("button", name="Copy").click()
    row.get_by_text("Copied the call.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{call.given}\n{call.code}\n".lstrip("\n")
    exec(copied, {"torch": torch, "x": torch.ones(2, 3, requires_grad=True)})
