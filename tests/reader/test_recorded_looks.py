"""How parts of pages look, as recorded: what our rules of style give (recorded.py).

What comes only when a reader does something is in scenes (build/scenes.txt).
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import opened
from pytest_regressions.file_regression import FileRegressionFixture
from reading import ROOT
from recorded import check

pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(), reason="recorded without a GPU"
)
LOOKS = Path(__file__).parents[1].joinpath("looks.js").read_text(encoding="utf-8")
# Unfolds all, and waits for sheets that scripts load.
READY = """() => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  return Promise.all([...document.querySelectorAll("link[rel=stylesheet]")]
    .filter((one) => !one.sheet)
    .map((one) => new Promise((done) => one.onload = done)));
}"""
STATIC = ROOT / "conf" / "static"
SHEETS = [path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.css")]
SHEETS += ["steps.css"]
# Pages, and what is there when scripts have done their work.
MADE = {
    "index.html": ".explorer-code",
    "auto_examples/1_basics/detach.html#step-3": ".steps-code",
    "search.html?q=detach": ".results li",
    "atlas.html": ".atlas-filter .count",
}
PAGES = (
    *("article", "cheat_sheet", "errors/gradients", "silent_mistakes", "self_check"),
    *("questions/memory", "questions/index", "genindex"),
)
ALL = MADE | {f"{name}.html": "article" for name in PAGES}
PHONE = {"viewport": {"width": 360, "height": 780}, "has_touch": True}
READERS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "at a desk": ({}, ALL),
    "on a phone": ({**PHONE, "is_mobile": True, "reduced_motion": "reduce"}, ALL),
    "on paper": ({"viewport": {"width": 700, "height": 900}}, ALL),
    "without scripts": ({"java_script_enabled": False}, dict.fromkeys(MADE, "body")),
}


@pytest.fixture(scope="module")
def looks(
    browser: Any, address: str, simulated_device: None
) -> dict[str, dict[str, dict[str, str]]]:
    """Return what each rule of a sheet gives to the first part, for each reader."""
    found: dict[str, dict[str, dict[str, str]]] = {sheet: {} for sheet in SHEETS}
    with opened(browser, address) as go:
        for reader, (options, pages) in READERS.items():
            tab = go(**options)
            tab.emulate_media(media="print" if reader == "on paper" else "screen")
            for page, part in pages.items():
                tab.goto(page)
                tab.locator(part).first.wait_for(state="attached")
                tab.evaluate(READY)
                known = {
                    sheet: [rule for rule, given in rules.items() if reader in given]
                    for sheet, rules in found.items()
                }
                for sheet, rules in tab.evaluate(LOOKS, known).items():
                    for rule, had in rules.items():
                        found[sheet].setdefault(rule, {})[reader] = had
    return found


@pytest.mark.parametrize("sheet", SHEETS)
def test_what_a_rule_gives(
    sheet: str, looks: dict, file_regression: FileRegressionFixture
) -> None:
    lines = []
    for rule, given in looks[sheet].items():
        at_a_desk = given.get("at a desk", "")
        lines += [rule, f"    {at_a_desk}"] if at_a_desk else [rule]
        lines += [f"    {who}: {had}" for who, had in given.items() if had != at_a_desk]
    check("\n".join(lines), file_regression)
