"""What a reader's browser does with the pages: copies, opens and prints them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reading import SCRIPTS, page_of

DETACH = next(script for script in SCRIPTS if script.stem == "detach")
PREDICT = "details.predict"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


def clipboard(page: Any) -> str:
    return page.evaluate("navigator.clipboard.readText()")


def test_copies_the_lesson_up_to_a_block_as_a_script_that_runs(
    page: Any, site: Path, tmp_path: Path
) -> None:
    page.goto(page_of(site, DETACH).as_uri())
    blocks = page.locator("div.highlight-Python")
    shown = [text.strip() for text in blocks.locator("pre").all_text_contents()]
    assert blocks.nth(0).locator("button").all_text_contents() == ["Copy"]
    block = blocks.nth(3)
    block.hover()
    block.get_by_role("button", name="Copy all to here").click()
    page.get_by_role("status").get_by_text("Copied the lesson up to here.").wait_for()
    copied = clipboard(page)
    parts = [text.rstrip() for text in shown[:4]]
    place = 0
    for part in parts:
        place = copied.index(part, place) + len(part)
    assert copied.split() == " ".join(parts).split()
    script = tmp_path / "copied.py"
    script.write_text(copied)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("This lesson runs on:")


def test_copies_one_block_by_keyboard(page: Any, site: Path) -> None:
    page.goto((site / "self_check.html").as_uri())
    button = page.locator(".cell_input button").first
    button.focus()
    page.wait_for_function("getComputedStyle(document.activeElement).opacity === '1'")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("Copied this block.").wait_for()
    assert clipboard(page) == "import copy\n\nimport torch\n"
    assert page.get_by_role("button", name="Copy all to here").count() == 0


def test_copies_where_the_clipboard_is_closed(page: Any, site: Path) -> None:
    page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
        "document.addEventListener('copy', () => {"
        " window.copied = document.activeElement.value; });"
    )
    page.goto(page_of(site, DETACH).as_uri())
    page.locator("details.setup summary").press("Enter")  # it is folded
    page.locator("div.highlight-Python button").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("Copied this block.").wait_for()
    assert page.evaluate("window.copied").startswith("import torch\n")


def test_an_answer_opens_by_keyboard(page: Any, site: Path) -> None:
    page.goto(page_of(site, DETACH).as_uri())
    answer = page.locator(f"{PREDICT} .predict-answer").first
    assert not answer.is_visible()
    page.locator(f"{PREDICT} summary").first.focus()
    page.keyboard.press("Enter")
    answer.wait_for(state="visible")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_printed_page_shows_the_answers(
    browser: Any, site: Path, scripts: bool
) -> None:
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    page.goto(page_of(site, DETACH).as_uri())
    page.emulate_media(media="print")
    answer = page.locator(f"{PREDICT} .predict-answer").first
    answer.wait_for(state="visible")
    assert answer.locator("pre").first.is_visible()
    assert not page.locator("button.copy").first.is_visible()
    context.close()


def test_what_is_folded_is_not_printed_and_links_have_addresses(
    browser: Any, site: Path
) -> None:
    page = browser.new_page()
    page.goto((site / "errors.html").as_uri())
    page.emulate_media(media="print")
    entry = page.locator(".entry:has(.foot a.external)").first
    fold = entry.locator("details").first
    assert entry.locator(".cures li").first.is_visible() and not fold.is_visible()
    fold.evaluate("fold => { fold.open = true }")
    assert fold.is_visible()
    link = entry.locator(".foot a.external").first
    shown = link.evaluate("link => getComputedStyle(link, '::after').content")
    assert link.get_attribute("href") in shown
    page.close()


def test_the_printed_cheat_sheet_is_one_page_in_any_font_and_scheme(
    browser_of_each_family: Any, site: Path
) -> None:
    for scheme in ("light", "dark"):
        page = browser_of_each_family.new_page(color_scheme=scheme)
        page.goto((site / "cheat_sheet.html").as_uri())
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1
        page.emulate_media(media="print", color_scheme=scheme)
        # A4 within its margins, in the pixels of paper: a row of the matrix is a line.
        page.set_viewport_size({"width": 710, "height": 1047})
        cells = page.locator(".sheet-calls tbody tr").first.locator("th, td").all()
        boxes = [cell.bounding_box() for cell in cells]
        assert len({box["y"] for box in boxes}) == 1
        bottom = page.locator(".sheet-foot").bounding_box()
        assert bottom["y"] + bottom["height"] <= 1047
        assert page.locator("h1").is_visible()
        assert page.locator(".sheet-foot").is_visible()
        for hidden in (".skip-to-content", ".remember"):
            assert not page.locator(hidden).is_visible(), hidden
        page.close()
