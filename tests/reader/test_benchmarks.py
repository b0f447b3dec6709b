"""Benchmarks: the data are there, and what is drawn and said follows from them."""

from __future__ import annotations

import csv
import json
import math
import re
import statistics
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bs4 import BeautifulSoup
from reading import EXAMPLES, SCRIPTS, page_of, rows_of, soup
from sphinx.errors import ExtensionError
from tensor_copies.figures import charts, tables
from tensor_copies.gallery.machine import this_machine

TIPS = EXAMPLES / "3_tips"
MEASURED = [
    script for script in SCRIPTS if "benchmark_data" in script.read_text("utf-8")
]
EACH = pytest.mark.parametrize("script", MEASURED, ids=lambda script: script.stem)


def samples_of(site: Path, script: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Return the comments and the rows of the CSV of this build."""
    page = page_of(site, script)
    link = soup(page).select_one(".benchmark-data a[download]")
    lines = (page.parent / link["href"]).read_text(encoding="utf-8").splitlines()
    comments = [line for line in lines if line.startswith("#")]
    return comments, list(csv.DictReader(lines[len(comments) :]))


def measured(site: Path) -> dict[tuple[str, int], np.ndarray]:
    """Return the seconds of each method and size of the lesson with the spread."""
    _, rows = samples_of(site, TIPS / "measure_a_copy.py")
    times = defaultdict(list)
    for row in rows:
        times[row["method"], int(row["elements"])].append(float(row["seconds"]))
    return {case: np.array(series) for case, series in times.items()}


@EACH
def test_the_samples_are_offered_with_who_measured_them(
    script: Path, site: Path
) -> None:
    comments, rows = samples_of(site, script)
    assert str(this_machine()) in comments[0]
    assert {"method", "elements", "seconds"} <= set(rows[0])
    sizes = sorted({int(row["elements"]) for row in rows})
    assert sizes[0] == 1 and sizes[-1] == 2**24
    times = [float(row["seconds"]) for row in rows]
    assert min(times) > 0 and math.isfinite(sum(times))
    (link,) = soup(page_of(site, script)).select(".benchmark-data a[download]")
    assert f"{len(rows)} samples" in link.get_text()
    assert (page_of(site, script).parent / link["href"]).stat().st_size < 100_000


def ratios_of(site: Path) -> dict[tuple[str, int], np.ndarray]:
    """Return the middle half of the ratios of each method and size."""
    times = measured(site)
    base = next(iter(times))[0]
    return {
        (method, n): np.quantile(series / times[base, n], [0.25, 0.5, 0.75])
        for (method, n), series in times.items()
    }


def panels(page: Any) -> dict[tuple[str, str], Any]:
    """Return the cells of the first chart, by method and size."""
    found = {}
    for table in page.select_one(".chart").select("table"):
        sizes = [head.find(string=True) for head in table.select("thead th")[1:]]
        for row in table.select("tbody tr"):
            for size, cell in zip(sizes, row.select("td"), strict=True):
                found[row.th.get_text(), str(size)] = cell
    return found


SIZES = {"4 B": 1, "4 KiB": 2**10, "4 MiB": 2**20, "64 MiB": 2**24}


def test_the_chart_draws_what_the_samples_say(site: Path) -> None:
    page = soup(page_of(site, TIPS / "measure_a_copy.py"))
    ratios, cells = ratios_of(site), panels(page)
    assert len(cells) == len(ratios) == 24
    for (method, size), cell in cells.items():
        low, middle, high = ratios[method, SIZES[size]]
        said = [float(n) for n in re.findall(r"[\d.]+", cell.svg["aria-label"])]
        if cell["class"] == ["base"]:
            assert said == [1]
            continue
        assert said == pytest.approx([middle, low, high], rel=0.01)
        differs = low > 4 / 3 or high < 3 / 4
        kind = ("slower" if middle > 1 else "faster") if differs else "same"
        assert cell["class"] == [kind]
        number = cell.svg.find("text")
        if kind == "same":
            assert number is None
        elif kind == "slower":
            assert number.get_text() == f"{middle:.1f}×"
        else:
            times = re.fullmatch(r"([\d.]+)× faster", number.get_text())
            assert float(times[1]) == pytest.approx(1 / middle, rel=0.1)


DRAWN = [script for script in MEASURED if "errorbar" in script.read_text("utf-8")]
COUNTS = [
    script for script in DRAWN if "calls took longer" in script.read_text("utf-8")
]
NAMES_THEM = [script for script in DRAWN if script not in COUNTS]


@pytest.mark.parametrize("script", NAMES_THEM, ids=lambda script: script.stem)
def test_the_verdict_names_what_is_slower_or_faster(script: Path, site: Path) -> None:
    page = soup(page_of(site, script))
    lines = page.select_one(".chart .verdict").get_text().splitlines()
    told = dict(line.removesuffix(".").split(", ", 1) for line in lines)
    assert list(told) == ["At 4 B", "At 64 MiB"] and len(lines) == 2
    cells = panels(page)
    for size, said in zip(("4 B", "64 MiB"), told.values(), strict=True):
        ways = {
            "slower": "takes {} times the time",
            "faster": "is about {} times faster",
        }
        shown = [
            f"{name} {ways[cell['class'][0]]}".format(r"[\d.]+")
            for (name, of), cell in cells.items()
            if of == size and cell["class"][0] in ways
        ]
        plain = " and ".join(shown or ["no call differs"])
        assert re.fullmatch(re.sub(r"[()]", r"\\\g<0>", plain), said), (plain, said)


@pytest.mark.parametrize("script", COUNTS, ids=lambda script: script.stem)
def test_the_verdict_is_two_lines_and_says_what_the_chart_shows(
    script: Path, site: Path
) -> None:
    page = soup(page_of(site, script))
    lines = page.select_one(".chart .verdict").get_text().splitlines()
    cells = panels(page)
    for size, said in zip(("4 B", "64 MiB"), lines, strict=True):
        kinds = [cell["class"][0] for (_, of), cell in cells.items() if of == size]
        more, less = kinds.count("slower"), kinds.count("faster")
        others = len(kinds) - 1
        counted = f"{more} of {others} calls took longer, and {less} took less time"
        assert said == f"At {size}, {counted}."


def test_the_table_has_the_medians_with_units(site: Path) -> None:
    times = measured(site)
    units = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
    page = page_of(site, TIPS / "measure_a_copy.py")
    header, *rows = rows_of(
        soup(page).select_one("div.lesson-table table")
    ).splitlines()
    sizes = header.split(" | ")[1:]
    assert sizes == list(SIZES) and len(rows) == 6
    for row in rows:
        method, *cells = row.split(" | ")
        for size, cell in zip(sizes, cells, strict=True):
            number, unit = cell.split()
            assert len(number.replace(".", "").lstrip("0")) == 3
            median = statistics.median(times[method, SIZES[size]])
            assert float(number) * units[unit] == pytest.approx(median, rel=0.01)


def row(name: str, low: float, middle: float, high: float, text: str = "") -> dict:
    return {"name": name, "low": low, "middle": middle, "high": high, "text": text}


RATIOS = {
    "title": "4 B: <slow>.\n64 MiB: no difference.",
    "xlabel": "time / time of x.clone()",
    "panels": [
        {
            "title": title,
            "note": "2.25 µs",
            "rows": [
                row("x.clone()", 1, 1, 1),
                row("torch.tensor(x)", 1.5, 1.6, 1.7, "1.6×"),
                row("warm.copy_(x)", 0.01, 0.2, 0.3, "0.2×"),
                row("other(x)", 0.9, 1.0, 9.0),
            ],
        }
        for title in ("4 B", "4 KiB", "64 MiB")
    ],
}
BARS = {
    "title": "most of it",
    "xlabel": "time",
    "bars": [
        {"name": "x.clone()", "value": 0.04, "text": "40 ms, 16,385 pages"},
        {"name": "warm.copy_(x)", "value": 0.01, "text": "10 ms, 0 pages"},
    ],
}


def drawn(data: dict[str, Any]) -> Any:
    return BeautifulSoup(charts.draw(data, "p"), "html.parser")


def test_ratios_stand_on_one_axis_and_say_what_differs() -> None:
    figure = drawn(RATIOS)
    assert figure.select_one(".verdict").get_text() == RATIOS["title"]
    ticks = [
        [text.get_text() for text in cell.select("text")]
        for cell in figure.select("tfoot td:not(.corner)")
    ]
    assert ticks == 3 * [ticks[0]] and {"1", "2×"} <= {*ticks[0]}
    kinds = [cell["class"][0] for cell in figure.select("tbody td")]
    told = ("base", "slower", "faster", "same")
    assert [kinds.count(kind) for kind in told] == [3] * 4
    for place in figure.select("circle"):
        assert 0 <= float(place["cx"].removesuffix("%")) <= 100
    for bar in figure.select("line[stroke-width]"):  # a long one is cut at the edge
        left, right = (float(bar[end].removesuffix("%")) for end in ("x1", "x2"))
        assert 0 <= left < right <= 100
    words = figure.select_one("td.slower svg")["aria-label"]
    assert words == "1.6, middle half 1.5 to 1.7"


def test_a_phone_names_what_does_not_differ() -> None:
    figure = drawn(RATIOS)
    assert [row.th.get_text() for row in figure.select("tr.quiet")] == [
        "x.clone()",
        "other(x)",
    ] * 2
    assert figure.select_one(".alike").get_text() == "No clear difference: other(x)."
    calm = json.loads(json.dumps(RATIOS))
    for panel in calm["panels"]:
        panel["rows"] = [one | {"text": ""} for one in panel["rows"]]
    figure = drawn(calm)
    alike = figure.select_one(".alike").get_text()
    assert alike == "No clear difference at 4 B and 4 KiB."
    assert len(figure.select("table.quiet")) == 2


def test_lines_end_at_names_that_do_not_meet() -> None:
    axis = {"ends": [0, 4], "log": False, "ticks": [[0, "0"], [4, "4"]]}
    lines = [{"name": name, "xs": [0, 4], "ys": [0, 4]} for name in ("a", "<b>")]
    data = {"title": "t", "xlabel": "x", "ylabel": "y", "lines": lines}
    figure = drawn({**data, "across": axis, "up": axis})
    first, second = (figure.find("text", string=name) for name in ("a", "<b>"))
    assert abs(float(first["y"]) - float(second["y"])) >= charts.APART
    assert "<b>: 0, 4" in figure.svg["aria-label"]
    points = figure.polyline["points"].split()
    log = {**axis, "ends": [1, 16], "log": True, "ticks": []}
    lines = [line | {"xs": [1, 4, 16], "ys": [1, 4, 16]} for line in lines]
    bent = drawn({**data, "lines": lines, "across": log, "up": log})
    ends = bent.polyline["points"].split()
    assert [ends[0], ends[-1]] == points  # powers stand as far apart as numbers
    places = np.array([point.split(",") for point in points], dtype=float)
    middle = np.array(ends[1].split(","), dtype=float)
    assert abs(middle - places.mean(0)).max() < 0.1


def test_bars_are_shares_of_the_longest() -> None:
    figure = drawn(BARS)
    assert [rect["width"] for rect in figure.select("rect")] == ["100.0%", "25.0%"]
    assert "16,385 pages" in figure.get_text()
    none = {**BARS, "bars": [bar | {"value": 0} for bar in BARS["bars"]]}
    assert {rect["width"] for rect in drawn(none).select("rect")} == {"0.0%"}


def test_what_is_no_table_is_named() -> None:
    block = SimpleNamespace(lineno=7, content="# sphinx_gallery_table = 'rows'")
    variables = {"src_file": "a.py", "example_globals": {"rows": [1, 2]}}
    said = r"'rows' as a table, which is not a list of dictionaries"
    with pytest.raises(ExtensionError, match=said):
        tables.requested_table(block, variables)
