"""Benchmarks: the data are there, and what is drawn and said follows from them."""

from __future__ import annotations

import ast
import csv
import json
import math
import os
import re
import statistics
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, TinySite, lesson
from reading import EXAMPLES, SCRIPTS, page_of, parts_of, soup

sys.path.insert(0, str(ROOT / "conf"))
from tensor_copies.figures import charts
from tensor_copies.machine import fingerprint as machine

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
    here = machine.fingerprint()
    assert str(here) in comments[0] and here.signature in comments[1]
    assert {"method", "elements", "seconds"} <= set(rows[0])
    sizes = sorted({int(row["elements"]) for row in rows})
    assert sizes[0] == 1 and sizes[-1] == 2**24
    times = [float(row["seconds"]) for row in rows]
    assert min(times) > 0 and math.isfinite(sum(times))
    links = soup(page_of(site, script)).select(".benchmark-data a[download]")
    assert f"{len(rows)} samples" in links[0].get_text()
    # Nothing that the stand-in times is shown.
    others = {
        recording.parent.name
        for recording in ROOT.glob(f"docs/recordings/*/{script.stem}.json")
        if not recording.parent.name.startswith("stand-in")
    }
    assert len(links) == 1 + len(others - {here.name})
    for link in links:
        file = page_of(site, script).parent / link["href"]
        assert file.stat().st_size < 100_000


def test_the_chart_draws_the_medians_and_quartiles_of_the_samples(site: Path) -> None:
    page = soup(page_of(site, TIPS / "measure_a_copy.py"))
    figure = page.select("figure.lesson-figure")[0].select("svg")[0]
    words = figure["aria-label"]
    for (method, n), series in measured(site).items():
        if n in (1, 2**24):
            median = statistics.median(series) * 1e6
            found = re.search(
                re.escape(method) + r": (\S+) at 1, (\S+) at 16777216", words
            )
            drawn = float(found[1 if n == 1 else 2])
            assert drawn == pytest.approx(median, rel=0.01)
    # A band and a line for each method: 6 bands are 6 polygons with 12 points.
    bands = [p for p in figure.select("polygon") if len(p["points"].split()) == 12]
    assert len(bands) == 6


def test_the_sentences_follow_from_the_samples(site: Path) -> None:
    """Computed again, without the lesson's code."""
    times = measured(site)
    methods = list(dict.fromkeys(method for method, _ in times))
    sizes = sorted({n for _, n in times})
    said = parts_of(page_of(site, TIPS / "measure_a_copy.py"))[-1].output
    *others, base, limit = methods
    for method in others:
        found = {}
        for n in sizes:
            ratios = sorted(times[method, n] / times[base, n])
            low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
            if low > 4 / 3 or high < 3 / 4:
                found[n] = statistics.median(ratios)
        last = max(found, default=0)
        sentence = f"{method}:"
        if found:
            middle = statistics.median(found.values())
            sentence += f" {middle:.1f} times as long, until n = {last}"
        rest = [n for n in sizes if n > last]
        since = f"from n = {rest[0]} on" if rest else "nowhere"
        assert f"{sentence}\n   no difference beyond the spread {since}" in said
    for method in [*others, base]:
        for n in sizes[-2:]:
            share = statistics.median(times[limit, n] / times[method, n])
            assert f"{method}: {share:.0%} of the limit at n = {n}" in said
    _, rows = samples_of(site, TIPS / "measure_a_copy.py")
    processes = defaultdict(list)
    for row in rows:
        if row["method"] == base and row["elements"] == "1":
            processes[row["process"]].append(float(row["seconds"]))
    each = [statistics.median(seconds) for seconds in processes.values()]
    low, _, high = statistics.quantiles(each, n=4, method="inclusive")
    assert f"half of the processes within {high / low - 1:.0%}" in said
    assert len(each) > 1 and len({len(series) for series in times.values()}) == 1


@pytest.fixture(scope="module")
def factor() -> Any:
    """Return the lesson's own rule, taken out of its source."""
    tree = ast.parse((TIPS / "measure_a_copy.py").read_text(encoding="utf-8"))
    rule = next(
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == "factor"
    )
    names = {"np": np, "QUARTILES": [0.25, 0.5, 0.75]}
    exec(compile(ast.Module([rule], []), "rule", "exec"), names)
    return names["factor"]


def test_the_rule_tells_a_difference_from_noise(factor: Any) -> None:
    noise = np.random.default_rng(0)
    base = noise.uniform(1, 1.5, 15)
    drift = np.linspace(1, 3, 15)  # the machine slows down: for both alike
    assert factor(base * drift * 1.6, base * drift) == pytest.approx(1.6)
    assert factor(base * drift, base * drift) is None
    assert factor(base, base * 1.6) == pytest.approx(1 / 1.6), "faster differs too"
    crossing = np.where(np.arange(15) % 2, 2.0, 0.5)
    assert factor(base * crossing, base) is None
    wrong = [
        k
        for k in range(200)
        if factor(noise.permutation(base), noise.permutation(base))
    ]
    assert wrong == [], "noise alone never makes a winner"


def test_the_quality_is_a_choice(tiny_site: TinySite) -> None:
    show = "import os\nprint('asked for', os.environ.get('BENCHMARK_QUALITY'))"
    tiny_site.write_lessons({"a.py": lesson("A", show)})
    for quality in ("quick", "long"):  # another quality runs the lessons again
        built = tiny_site.build(env={**os.environ, "BENCHMARK_QUALITY": quality})
        assert built.status == 0, built.output
        assert "1 of 1 ran" in built.lessons
        assert f"asked for {quality}" in tiny_site.page("a").read_text()


CHART = {
    "title": "Two & <more>",
    "xlabel": "number of elements",
    "ylabel": "microseconds per call",
    "xscale": "log",
    "yscale": "log",
    "lines": [
        {"label": "x.detach().clone()", "x": [1, 16, 256], "y": [1.5, 2, 40.0]},
        {
            "label": "torch.empty_like(x).copy_(x)", "x": [1, 16, 256],
            "y": [1.6, 2, 40.0], "low": [1.5, 1.9, 39.0], "high": [1.7, 2.1, 41.0],
        },
        {"label": "limit", "x": [1, 16, 256], "y": [0.5, 1, 39.0], "dash": True},
    ],
}  # fmt: skip


def test_a_chart_is_readable_and_always_the_same() -> None:
    drawn = charts.draw_chart(CHART, "p", "some machine")
    assert drawn == charts.draw_chart(
        json.loads(json.dumps(CHART)), "p", "some machine"
    )
    svg = soup_of(drawn)
    assert "Two & <more> on some machine" in svg["aria-label"]
    assert "limit: 0.5 at 1, 39 at 256" in svg["aria-label"]
    texts = [text.get_text() for text in svg.select("text")]
    assert {"2⁰", "2⁴", "2⁸", "1 µs", "10 µs"} <= set(texts)
    # Every name stands on the right, apart from the others, inside the picture.
    names = [
        (float(text["y"]), float(text["x"]))
        for text in svg.select("text[font-weight='600']")
    ]
    heights = [y for y, _ in names]
    assert all(b - a > 9 for a, b in pairwise(heights))
    assert min(heights) > 0 and max(heights) < charts.HEIGHT
    assert len({x for _, x in names}) == 1
    inks = [path["stroke"] for path in svg.select("path[stroke-width='1.6']")]
    assert len(set(inks)) == 3 and inks[-1] == "currentColor"


def soup_of(markup: str) -> Any:
    from bs4 import BeautifulSoup

    return BeautifulSoup(markup, "html.parser").svg


def test_the_colours_of_lines_are_told_apart_on_both_pages() -> None:
    css = (ROOT / "conf" / "static" / "site.css").read_text(encoding="utf-8")
    from test_browser import luminance

    def channels(colour: str) -> str:
        return ", ".join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))

    sets = re.findall(r"\{ (--line-1: .*?)\}", css)
    assert len(sets) == 3 and sets[1] == sets[2]
    for line, page in zip(sets, ("#ffffff", "#131416"), strict=False):
        colours = re.findall(r"#[0-9a-f]{6}", line)
        assert len(set(colours)) == len(charts.COLOURS) == len(charts.MARKS)
        for colour in colours:
            light, dark = sorted(
                (luminance(channels(colour)), luminance(channels(page))), reverse=True
            )
            assert (light + 0.05) / (dark + 0.05) >= 4.5
