"""The cheat sheet: what is typed on it is what error index and Atlas saw."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reading import soup


def words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text))


def test_the_messages_and_cures_are_the_error_indexs(site: Path) -> None:
    text = (site / "_static" / "messages.js").read_text(encoding="utf-8")
    known = {
        entry["anchor"]: " ".join(entry["texts"][0].split())
        for entry in json.loads(text[text.index("[") : text.rindex(";")])
    }
    terms = soup(site / "cheat_sheet.html").select(".sheet-messages dt")
    assert len(terms) == 6
    for term in terms:
        page, _, anchor = term.a["href"].partition("#")
        assert f": {term.get_text()}" in known[anchor]
        best = soup(site / page).find(id=anchor).select_one(".cures li").get_text()
        cure = term.find_next_sibling("dd").p
        code = cure.code.get_text()
        assert words(code) in words(best), anchor
        assert words(cure.get_text().removeprefix(code)) in words(best), anchor


@pytest.fixture(scope="module")
def atlas(site: Path) -> dict[str, Any]:
    return json.loads((site / "atlas.json").read_text(encoding="utf-8"))


def records(atlas: dict[str, Any], *rows: str) -> Iterator[dict[str, Any]]:
    """Yield what every machine saw of rows that did not raise."""
    assert set(rows) <= {row["id"] for row in atlas["operations"]}
    for record in atlas["records"]:
        if record["operation"] in rows and record["error"] is None:
            yield record


def test_the_rules_hold(atlas: dict[str, Any]) -> None:
    """What the three sentences say is so for each x, device and machine."""
    shares = ("detach", "view", "first-row", "transpose", "numpy", "detach-numpy")
    assert all(record["shares_memory"] for record in records(atlas, *shares))
    copies = ("clone", "detach-clone", "to-copy", "to-cpu-copy", "asarray-copy")
    assert not any(record["shares_memory"] for record in records(atlas, *copies))
    passes = ("clone", "to-cpu", "cpu", "to-device", "to-cpu-copy")
    for record in records(atlas, *passes):
        flows = record["state"] != "no_grad" or record["same_object"]
        assert record["gradient_flows"] in (None, flows), record
    stops = ("detach", "no-grad", "detach-numpy", "numpy-force", "independent-array")
    assert not any(record["gradient_flows"] for record in records(atlas, *stops))
    for lazy in ("to-cpu", "cpu", "contiguous", "reshape"):
        answers = {record["shares_memory"] for record in records(atlas, lazy)}
        devices = {record["device"] for record in records(atlas, lazy)}
        if len(devices) > 1 or lazy in ("contiguous", "reshape"):
            assert answers == {True, False}, lazy
    for record in records(atlas, "detach-clone", "detach-to-cpu-copy"):
        assert not record["shares_memory"] and not record["gradient_flows"]
    for record in records(atlas, "detach-to-cpu-copy"):
        assert record["result_device"] == "cpu"
