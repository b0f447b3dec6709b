"""How parts of pages look, as recorded: what our rules of style give (recorded.py).

What comes only when a reader does something is in scenes (build/scenes.txt).
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import DESK, opened
from pytest_regressions.file_regression import FileRegressionFixture
from reading import ROOT, UNFOLD
from recorded import check
from scenes import COLOURS, READERS

pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(), reason="recorded without a GPU"
)
LOOKS = Path(__file__).parents[1].joinpath("looks.js").read_text(encoding="utf-8")
# Waits for sheets that scripts load.
LOADED = """() => Promise.all([...document.querySelectorAll("link[rel=stylesheet]")]
  .filter((one) => !one.sheet)
  .map((one) => new Promise((done) => one.onload = done)))"""
STATIC = ROOT / "conf" / "static"
SHEETS = [path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.css")]
SHEETS += ["steps.css"]
# Pages, and what is there when scripts have done their work.
MADE = {
    "index.html?y=numpy&x=leaf": ".explorer-note.raises",
    "index.html?y=detach.clone&vs=clone": ".explorer-verdict",
    "auto_examples/1_basics/detach.html#step-3": ".steps-code",
    "search.html?q=detach+vs+clone": ".results li",
    "atlas.html?has=shares#numpy": "#numpy .facts",
    "errors.html?message=numpy()+on+Variable+that+requires+grad": ".desk .near a",
}
PAGES = (
    *("article", "changes", "cheat_sheet", "errors/gradients", "silent_mistakes"),
    *("questions/memory", "questions/index", "self_check", "remember", "glossary"),
    *(f"auto_examples/{name}" for name in ("1_basics/index", "3_tips/copy_a_tensor")),
    "auto_examples/3_tips/copy_between_devices",
)
ALL = MADE | {f"{name}.html": "article" for name in PAGES}
PAPER = {"width": 700, "height": 900}
PHONE = READERS["phone"] | READERS["touch"] | READERS["still"]
Looks = dict[str, dict[str, dict[str, str]]]


@pytest.fixture(scope="module")
def looks(browser: Any, address: str, simulated_device: None) -> Looks:
    """Return by sheet what each rule gives to the first part, for each reader."""
    found: Looks = {sheet: {} for sheet in SHEETS}

    def look(tab: Any, reader: str) -> None:
        known = {
            sheet: [rule for rule, given in rules.items() if reader in given]
            for sheet, rules in found.items()
        }
        tab.evaluate(COLOURS)
        for sheet, rules in tab.evaluate(LOOKS, known).items():
            for rule, had in rules.items():
                found[sheet].setdefault(rule, {})[reader] = had

    with opened(browser, address) as go:
        desk, phone = go(), go(**PHONE)
        without = go(java_script_enabled=False)
        for page, part in ALL.items():
            for tab in (desk, phone):
                tab.goto(page)
                tab.locator(part).first.wait_for(state="attached")
                tab.evaluate(UNFOLD)
                tab.evaluate(LOADED)
            look(desk, "at a desk")
            look(phone, "on a phone")
            desk.emulate_media(media="print")
            desk.set_viewport_size(PAPER)
            look(desk, "on paper")
            desk.emulate_media(media="screen")
            desk.set_viewport_size(DESK["viewport"])
            if page in MADE:
                without.goto(page)
                look(without, "without scripts")
    return found


@pytest.mark.parametrize("sheet", SHEETS)
def test_what_a_rule_gives(
    sheet: str, looks: Looks, file_regression: FileRegressionFixture
) -> None:
    lines = []
    for rule, given in looks[sheet].items():
        at_a_desk = given.get("at a desk", "")
        lines += [rule, f"    {at_a_desk}"] if at_a_desk else [rule]
        lines += [f"    {who}: {had}" for who, had in given.items() if had != at_a_desk]
    check("\n".join(lines), file_regression)
