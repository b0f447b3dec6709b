"""Charts have words and the theme's colours; verdicts say what the tables say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reading import SCRIPTS, page_of, rows_of, soup

DRAWN = {one: n for one in SCRIPTS if (n := one.read_text("utf-8").count("plt.show"))}


def test_a_figure_is_a_chart_with_words_in_the_colours_of_the_theme(site: Path) -> None:
    for script, number in DRAWN.items():
        page = soup(page_of(site, script))
        assert len(page.select("figure.chart")) == number, script.stem
        ids = [tag["id"] for tag in page.select("[id]")]
        assert len(ids) == len(set(ids)), script.stem
        for figure in page.select("figure.chart"):
            title, svg = figure.figcaption.get_text(), figure.svg
            assert svg["aria-label"].startswith(f"{title}. A chart of ")
            assert float(svg["viewbox"].split()[2]) <= 5 * 72, script.stem
            inks = set(re.findall(r"(?:fill|stroke): ([^;\"]+)", str(svg)))
            assert inks and all(re.match(r"none|currentC|var\(--line", i) for i in inks)
    # The five lines of this one have a colour each.
    chart = page_of(site, next(one for one in DRAWN if one.stem == "copy_a_tensor"))
    assert (
        len(set(re.findall(r"stroke: var\((--line-\d)", chart.read_text("utf-8")))) == 5
    )


def verdicts(site: Path, lesson: str) -> Iterator[tuple[str, dict[str, list[float]]]]:
    """Yield what the verdict says of each size, and the table's numbers by call."""
    page = soup(page_of(site, next(one for one in SCRIPTS if one.stem == lesson)))
    shown = [*map(rows_of, page.select("table"))]
    shown += [text.get_text() for text in page.select(".sphx-glr-script-out")]
    rows = [line.split(" | ") for line in "\n".join(shown).splitlines()]
    head = next(row for row in rows if "4 B" in row)
    rows = [row for row in rows if len(row) == len(head) and "µs" in row[1]]
    for line in page.select_one("figure.chart figcaption").get_text().splitlines():
        size, words = re.fullmatch(r"At (.+?), (.+)\.", line).groups()
        cells = {row[0]: row[head.index(size)].replace(",", "") for row in rows}
        yield words, {c: [*map(float, re.findall(r"[\d.]+", cells[c]))] for c in cells}


def agree(ratio: float, said: bool, limit: float = 4 / 3) -> bool:
    """Whether it is said that a ratio of rounded numbers is above a limit."""
    return abs(ratio - limit) < 0.02 or (ratio > limit) == said


def test_the_verdicts_agree_with_the_tables(site: Path) -> None:
    for words, times in verdicts(site, "copy_a_tensor"):
        first = times["x.detach().clone()"][0]
        assert all(agree(t / first, call in words) for call, (t,) in times.items())
    for words, times in verdicts(site, "cost_of_an_ndarray"):
        (least, call), (second, _), _ = sorted((t, c) for c, (t,) in times.items())
        assert agree(second / least, words == f"{call} was the fastest")
    for words, parts in verdicts(site, "measure_a_copy"):
        longer, less = words.split(" took longer, and ")
        for call, (_, low, high) in parts.items():
            assert agree(low, call in longer) and agree(high, call not in less, 3 / 4)
