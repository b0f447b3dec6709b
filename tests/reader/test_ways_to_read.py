"""Ways to read a page: by keyboard, on paper, without JavaScript, from a link."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reading import EVERYTHING, SCRIPTS, page_of, parts_of
from visits import UNFOLD


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


def focused(tab: Any) -> str:
    return tab.evaluate("document.activeElement.outerHTML.slice(0, 200)")


def test_all_by_keyboard(site: Path, address: str, tab: Any) -> None:
    page = page_of(site, SCRIPTS[5]).relative_to(site)
    tab.goto(address + str(page))
    reached = []
    for _ in range(400):
        tab.keyboard.press("Tab")
        reached.append(focused(tab))
        if reached[-1].startswith("<body"):
            break
        # An answer to choose from is outlined as a whole.
        style = """getComputedStyle(document.activeElement.closest(
            ".predict-choices label") ?? document.activeElement).outlineStyle"""
        assert tab.evaluate(style) != "none", reached[-1]
    assert "Skip to content" in reached[0]
    everything = "\n".join(reached)
    for wanted in ("sidebar-search", "theme-toggle", "download", "next-page"):
        assert wanted in everything, wanted
    # Every control that can be seen can be reached.
    controls = tab.locator("article a:visible, article summary:visible").count()
    assert sum(one.startswith(("<a", "<summary")) for one in reached) >= controls


def test_without_javascript_everything_is_there(
    site: Path, address: str, browser: Any
) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    for script in SCRIPTS if EVERYTHING else SCRIPTS[::5]:
        page = page_of(site, script)
        tab.goto(address + str(page.relative_to(site)))
        if script is SCRIPTS[0]:  # by hand: no script is needed
            for fold in tab.locator("article details > summary").all():
                fold.click()
            assert tab.locator("article details:not([open])").count() == 0
        else:
            tab.evaluate(UNFOLD)
        shown = tab.locator("article").inner_text()
        for part in parts_of(page):
            cells = part.output.replace(" | ", "\n")  # a table has no bars
            for line in (part.code + cells).splitlines():
                assert " ".join(line.split()) in " ".join(shown.split()), line
    context.close()


def test_a_jump_leaves_the_heading_in_view(site: Path, address: str, tab: Any) -> None:
    page = str(page_of(site, SCRIPTS[1]).relative_to(site))
    tab.emulate_media(reduced_motion="reduce")  # Furo scrolls smoothly
    for width in (360, 1280):
        tab.set_viewport_size({"width": width, "height": 700})
        tab.goto(address + page)
        for name in tab.evaluate(
            "[...document.querySelectorAll('article section section')].map(s => s.id)"
        ):
            tab.evaluate(f"location.hash = '{name}'")
            tab.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
            box = tab.locator(f"section[id='{name}'] > :is(h2, h3)").bounding_box()
            header = tab.locator(".mobile-header")
            top = header.bounding_box()["height"] if header.is_visible() else 0
            assert top <= box["y"] + 1, "hidden by the header"
            assert box["y"] < tab.viewport_size["height"]


def test_print_has_all_and_no_navigation(site: Path, address: str, tab: Any) -> None:
    page = page_of(site, SCRIPTS[5])
    tab.emulate_media(media="print", color_scheme="dark")
    tab.goto(address + str(page.relative_to(site)))
    for part in (".sidebar-drawer", ".toc-drawer", ".theme-toggle", ".skip-to-content"):
        assert not tab.locator(part).first.is_visible(), part
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    root = "document.documentElement"
    tab.set_viewport_size({"width": 700, "height": 900})  # A4 within its margins
    assert not tab.evaluate(f"{root}.scrollWidth > {root}.clientWidth")
