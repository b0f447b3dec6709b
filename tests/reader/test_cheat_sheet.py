"""The cheat sheet: what is typed on it is what error index and Atlas saw."""

import json
import re
from pathlib import Path

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


# What its three sentences say is so of these rows for each x, device and machine.
RULES = {
    ("shares_memory", True): "detach view first-row transpose numpy detach-numpy",
    ("shares_memory", False): "clone detach-clone to-cpu-copy detach-to-cpu-copy",
    ("gradient_flows", False): (
        "detach no-grad detach-numpy numpy-force detach-clone detach-to-cpu-copy"
    ),
}


def test_the_rules_hold(site: Path) -> None:
    atlas = json.loads((site / "atlas.json").read_text(encoding="utf-8"))
    records = [record for record in atlas["records"] if record["error"] is None]
    for (fact, told), rows in RULES.items():
        seen = [one for one in records if one["operation"] in rows.split()]
        assert {one["operation"] for one in seen} == {*rows.split()}
        assert {bool(one[fact]) for one in seen} == {told}, rows
    for one in records:
        if one["operation"] in ("clone", "to-cpu", "cpu", "to-device", "to-cpu-copy"):
            flows = one["state"] != "no_grad" or one["same_object"]
            assert one["gradient_flows"] in (None, flows), one
    for lazy in ("contiguous", "reshape"):
        seen = {one["shares_memory"] for one in records if one["operation"] == lazy}
        assert seen == {True, False}, lazy
