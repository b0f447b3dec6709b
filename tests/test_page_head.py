"""What a search engine, a link preview and an overview show of a page."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bs4 import Tag
from conftest import TinySite, lesson
from PIL import Image
from reading import SCRIPTS, page_of, soup

VARIABLE = re.compile(r"var\((--[\w-]+),\s*([^()]+)\)")
MAPPED = """import torch
w = torch.ones(2, requires_grad=True)
print("made")
# sphinx_gallery_tensor_map = "w"
"""


def properties_of(page: Path) -> dict[str, str]:
    return {
        tag["property"]: tag["content"]
        for tag in soup(page).select("head meta[property]")
    }


def first_picture(page: Path) -> Tag:
    """Return the first map of a page, or drawing of matplotlib; a chart is none."""
    drawings = "figure.tensor-map, figure.lesson-figure:not(.chart) svg"
    return soup(page).select_one(drawings)


def words_of(drawing: Tag) -> list[str]:
    return [text.get_text() for text in drawing.select("text")]


def names_in(drawing: Tag) -> list[str]:
    """Return the names on the tags of a strip."""
    return [text.get_text() for text in drawing.select("rect[rx] + text")]


LEADS = re.compile("gallery_tensor_map_lead|gallery_lead = True\n.*gallery_tensor_map")
WITH_PICTURE = [
    script for script in SCRIPTS if LEADS.search(script.read_text(encoding="utf-8"))
]


def test_each_page_describes_itself(pages: dict) -> None:
    seen = {}
    for path, page in pages.items():
        (tag,) = page.select('head meta[name="description"]')
        assert 20 <= len(tag["content"]) <= 160, (path, tag)
        properties = properties_of(path)
        assert properties["og:title"] in page.title.get_text()
        assert properties["og:description"] == tag["content"]
        assert (path.parent / properties["og:image"]).exists()
        if path.name not in ("search.html", "genindex.html", "py-modindex.html"):
            seen.setdefault(tag["content"], []).append(path.name)
    assert all(len(names) == 1 for names in seen.values()), seen


def test_links_to_a_page_show_the_card_of_the_site(pages: dict) -> None:
    for path in pages:
        properties = properties_of(path)
        card = (path.parent / properties["og:image"]).resolve()
        with Image.open(card) as image:
            said = int(properties["og:image:width"]), int(properties["og:image:height"])
            assert image.size == said == (1200, 630)
        assert "share one memory" in properties["og:image:alt"]


def test_overviews_show_the_first_picture_in_the_pages_colours(site: Path) -> None:
    by_name = {script.stem: page_of(site, script) for script in SCRIPTS}
    shown = set()
    for overview in (site / "auto_examples").rglob("index.html"):
        for item in soup(overview).select("ul.lesson-cards > li"):
            (link,) = item.select("a")
            name = Path(link["href"]).stem
            assert not item.select("img, [id]")
            for drawing in item.select("svg"):
                assert drawing["aria-hidden"] == "true"
                words = words_of(drawing)
                assert words
                shown_there = words_of(first_picture(by_name[name]))
                # A chart's ticks may differ, where it shares its scale; a strip has
                # the names and the values of the map, and says less.
                is_map = first_picture(by_name[name]).name == "figure"
                if is_map or words[0] != shown_there[0]:
                    spelled = " ".join(shown_there)
                    said = [word.removesuffix("…") for word in names_in(drawing)]
                    assert all(word in spelled for word in said)
                # What is black stays black in the dark: it has to be the page's.
                inks = [tag["fill"] for tag in drawing.select("[fill]")]
                inks += [tag["stroke"] for tag in drawing.select("[stroke]")]
                given = {ink for ink in inks if not VARIABLE.fullmatch(ink)}
                assert drawing["fill"] == "currentColor"
                assert given <= {"none", "currentColor"}
                shown.add(name)
    assert shown >= {script.stem for script in WITH_PICTURE}


def test_with_an_address_links_are_whole(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"one.py": lesson("One", MAPPED)})
    built = tiny_site.build(env={**os.environ, "SITE_URL": "https://example.org/t/"})
    assert built.status == 0, built.output
    page = tiny_site.page("one")
    properties = properties_of(page)
    address = "https://example.org/t/auto_examples/1_first/one.html"
    assert properties["og:url"] == address
    assert soup(page).select_one('link[rel="canonical"]')["href"] == address
    image = "https://example.org/t/_static/card.png"
    home = properties_of(tiny_site.html / "index.html")
    assert properties["og:image"] == home["og:image"] == image
    assert properties["og:type"] == "article" and home["og:type"] == "website"
    assert (tiny_site.html / "_static" / "card.png").exists()
