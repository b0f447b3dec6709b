"""The cheat sheet: what it shows is what Atlas, explorer and error index saw."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from bs4 import BeautifulSoup, Tag
from reading import ROOT, soup
from tensor_copies.errors.messages import BestCure, best_cures, families
from tensor_copies.explorer.signs import SIGNS
from tensor_copies.gallery.machine import this_machine
from tensor_copies.web.cheat_sheet import foot_of

ADDRESS = "https://example.org/tensors/"


@pytest.fixture(scope="module")
def sheet(site: Path) -> BeautifulSoup:
    return soup(site / "cheat_sheet.html")


@pytest.fixture(scope="module")
def atlas(site: Path) -> dict[str, Any]:
    return json.loads((site / "atlas.json").read_text(encoding="utf-8"))


def signs(cell: Tag) -> str:
    """Return the name of a cell's signs, as the Atlas joins them."""
    uses = [use["href"].removeprefix("#sign-") for use in cell.select("use")]
    return "-".join(uses)


def parts(cell: Tag) -> str:
    """Return the signs of a cell of the Atlas, whose classes they are."""
    return "-".join(name for name in cell.get("class", ()) if name in SIGNS)


def test_the_matrix_is_the_atlas(site: Path, sheet: BeautifulSoup) -> None:
    page = soup(site / "atlas.html")
    rows = sheet.select(".sheet-calls tbody tr")
    assert 16 <= len(rows) <= 20
    drawn = {symbol["id"] for symbol in sheet.select("symbol")}
    for row in rows:
        (name,) = re.findall("#(.+)$", row.a["href"])
        cells = page.find("tr", id=name).find_all("td", recursive=False)
        said = [cell.select_one(".here") or cell for cell in cells]
        here = next(filter(None, map(parts, said)))
        memory, gradient, *other = row.select("td")
        assert "-".join(filter(None, [signs(memory), signs(gradient)])) == here, name
        for cell in other:
            assert signs(cell) == parts(cells[0].select_one(".there") or cells[0]), name
        assert {use["href"][1:] for use in row.select("use")} <= drawn


def test_a_sign_has_its_words(sheet: BeautifulSoup) -> None:
    for cell in sheet.select(".sheet-calls td"):
        for sign in cell.select(".signed"):
            assert sign.get_text(strip=True) or sign.svg["aria-label"]


def test_a_result_with_other_values_than_x_is_not_called_a_plain_copy(
    sheet: BeautifulSoup,
) -> None:
    seen = set()
    for cell in sheet.select(".sheet-calls tr > td:nth-of-type(1)"):
        if signs(cell) != "copies":
            continue
        code = cell.parent.code.get_text()
        x = torch.arange(1.0, 7).reshape(2, 3)
        names = {"x": x, "a": x.numpy(), "torch": torch, "device": "cpu"}
        exec(code if "y =" in code else f"y = {code}", names)
        others = not set(names["y"].flatten().tolist()) <= set(x.flatten().tolist())
        assert cell.get_text().endswith("other values") == others, code
        seen.add(others)
    assert seen == {True, False}


def test_the_pictures_show_what_happens_here(sheet: BeautifulSoup) -> None:
    figures = sheet.select(".sheet-pictures figure")
    assert len(figures) == 6
    seen = set()
    for figure in figures:
        code, _, write = figure.code.get_text().partition("; ")
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        names = {"x": x, "device": "meta"}  # a copy, as on any other device
        exec(code, names)
        y = names["y"]
        shares = y.untyped_storage()._cdata == x.untyped_storage()._cdata
        if write:
            with pytest.raises(RuntimeError, match="leaf"):
                exec(write, names)
            assert "under no_grad" in figure.b.get_text()
        with torch.no_grad():
            exec(write, names)
        memory = "shares memory with x." if shares else "is a copy with its own memory."
        memory = "is x itself." if y is x else memory
        flow = "Gradients flow back to x" if y.requires_grad else "No gradient flows"
        assert figure.p.get_text().startswith(f"y {memory} {flow}"), code
        assert figure.svg["aria-label"] == f"{code}: {figure.p.get_text()}"
        rows = [[float(cell.get_text()) for cell in row.select(".tm-cell text")]
                for row in figure.select(".tm-row")]  # fmt: skip
        assert len(rows) == (1 if shares else 2), code
        assert all(row == x.detach().flatten().tolist() for row in rows), code
        assert len(figure.select(".tm-cell.changed")) == rows[0].count(7)
        assert len(figure.select(".tm-cut")) == (not y.requires_grad), code
        assert len(figure.select(".tm-tag")) == (1 if y is x else 2), code
        seen.add(figure.p.get_text())
    assert len(seen) >= 4


def all_cures() -> dict[str, BestCure]:
    pages = families(ROOT / "docs")
    return {anchor: cure for page in pages for anchor, cure in best_cures(page).items()}


def test_the_messages_and_cures_are_the_error_indexs(
    site: Path, sheet: BeautifulSoup
) -> None:
    text = (site / "_static" / "messages.js").read_text(encoding="utf-8")
    known = {
        entry["anchor"]: " ".join(entry["texts"][0].split())
        for entry in json.loads(text[text.index("[") : text.rindex(";")])
    }
    terms = sheet.select(".sheet-messages dt")
    assert len(terms) == 6
    cures = all_cures()
    for term in terms:
        page, _, anchor = term.a["href"].partition("#")
        assert soup(site / page).find(id=anchor)
        shown = term.get_text().removesuffix(" …")
        assert f": {shown}" in known[anchor]
        cure = term.find_next_sibling("dd").code.get_text()
        assert re.findall(r"\w+", cure) == re.findall(r"\w+", cures[anchor].code)


def test_each_entry_of_the_error_index_has_a_best_cure(site: Path) -> None:
    pages = sorted((site / "errors").glob("*.html"))
    entries = {one["id"]: one for page in pages for one in soup(page).select(".entry")}
    cures = all_cures()
    assert cures.keys() == entries.keys()
    for anchor, cure in cures.items():
        section = entries[anchor]
        words = " ".join(re.findall(r"\w+", section.get_text()))
        assert " ".join(re.findall(r"\w+", cure.code)) in words, anchor


def records(atlas: dict[str, Any], *rows: str) -> Iterator[dict[str, Any]]:
    """Yield what every machine saw of rows that did not raise."""
    known = {row["id"] for row in atlas["operations"]}
    assert set(rows) <= known, set(rows) - known
    for record in atlas["records"]:
        if record["operation"] in rows and record["error"] is None:
            yield record


def test_the_rules_hold(atlas: dict[str, Any], sheet: BeautifulSoup) -> None:
    """What the three sentences say is so for each x, device and machine."""
    assert len(sheet.select(".sheet-words > ol > li")) == 3
    shares = ("detach", "view", "first-row", "transpose", "numpy", "detach-numpy")
    assert all(record["shares_memory"] for record in records(atlas, *shares))
    copies = ("clone", "detach-clone", "to-copy", "to-cpu-copy", "asarray-copy")
    assert not any(record["shares_memory"] for record in records(atlas, *copies))
    passes = ("clone", "to-cpu", "cpu", "to-device", "to-cpu-copy")
    for record in records(atlas, *passes):
        wanted = True
        if record["state"] == "no_grad":
            wanted = record["same_object"]
        assert record["gradient_flows"] in (None, wanted), record
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


def test_the_foot_has_torch_date_and_address() -> None:
    builder = SimpleNamespace(get_target_uri=lambda page: f"{page}.html")
    config = SimpleNamespace(project="Tensors", html_baseurl=ADDRESS)
    app: Any = SimpleNamespace(builder=builder, config=config)
    said = foot_of(app, "sheet").astext()
    assert f"torch {this_machine().torch}" in said
    assert re.search(r"\d \w+ 20\d\d", said)
    assert said.endswith(f"{ADDRESS}sheet.html")
    config.html_baseurl = ""
    assert "http" not in foot_of(app, "sheet").astext()
