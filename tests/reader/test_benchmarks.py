"""Charts have words and the theme's colours."""

from __future__ import annotations

import re
from pathlib import Path

from reading import SCRIPTS, page_of, script_of, soup

DRAWN = {one: n for one in SCRIPTS if (n := one.read_text("utf-8").count("plt.show"))}


def test_a_figure_is_a_chart_with_words_in_the_colours_of_the_theme(site: Path) -> None:
    for script, number in DRAWN.items():
        page = soup(page_of(site, script))
        assert len(page.select("figure.chart")) == number, script.stem
        ids = [tag["id"] for tag in page.select("[id]")]
        assert len(ids) == len(set(ids)), script.stem
        for figure in page.select("figure.chart"):
            title, svg = figure.figcaption.get_text().rstrip("."), figure.svg
            assert svg["aria-label"].startswith(f"{title}. A chart of ")
            assert float(svg["viewbox"].split()[2]) <= 5 * 72, script.stem
            inks = set(re.findall(r"(?:fill|stroke): ([^;\"]+)", str(svg)))
            assert inks and all(re.match(r"none|currentC|var\(--line", i) for i in inks)
    # The five lines of this one have a colour each.
    chart = page_of(site, next(one for one in DRAWN if one.stem == "copy_a_tensor"))
    assert (
        len(set(re.findall(r"stroke: var\((--line-\d)", chart.read_text("utf-8")))) == 5
    )
    # A bar is told by its name.
    page = soup(page_of(site, script_of("freeze_and_unfreeze")))
    said = page.select_one("figure.chart svg")["aria-label"]
    assert ". grad 1, SGD: 0.5. grad 0, Adam: 0.66" in said
