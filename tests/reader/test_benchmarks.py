"""Charts have words and the theme's colours."""

import re
from pathlib import Path

from reading import LESSONS


def test_a_figure_is_a_chart_with_words_in_the_colours_of_the_theme(site: Path) -> None:
    for name, lesson in LESSONS.items():
        figures = lesson.page.select("figure.chart")
        assert len(figures) == lesson.text.count("plt.show"), name
        for figure in figures:
            title, svg = figure.figcaption.get_text().rstrip("."), figure.svg
            assert svg["aria-label"].startswith(f"{title}. A chart of ")
            assert float(svg["viewbox"].split()[2]) <= 5 * 72, name
            inks = set(re.findall(r"(?:fill|stroke): ([^;\"]+)", str(svg)))
            assert inks and all(re.match(r"none|currentC|var\(--line", i) for i in inks)
    # The five lines of this one have a colour each.
    page = LESSONS["copy_a_tensor"].path.read_text("utf-8")
    assert len({*re.findall(r"stroke: var\((--line-\d)", page)}) == 5
    # A bar is told by its name.
    chart = LESSONS["freeze_and_unfreeze"].page.select_one("figure.chart svg")
    assert ". grad 1, SGD: 0.5. grad 0, Adam: 0.66" in chart["aria-label"]
