"""Every page of the site: well-formed, and every link and anchor leads somewhere."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import html5lib
import pytest
from reading import ROOT

# Attributes that name another element of the page, or several.
REFERENCES = ("for", "aria-labelledby", "aria-describedby", "aria-controls")


@pytest.fixture(scope="module")
def anchors(pages: dict) -> dict[Path, Counter]:
    return {
        path: Counter(tag["id"] for tag in page.find_all(id=True))
        for path, page in pages.items()
    }


def test_pages_parse_without_an_error(pages: dict) -> None:
    for path in pages:
        parser = html5lib.HTMLParser(namespaceHTMLElements=False)
        parser.parse(path.read_text(encoding="utf-8"))
        wrong = [(place, code) for place, code, _ in parser.errors]
        assert not wrong, (path, wrong[:3])


def test_an_id_is_given_once(anchors: dict) -> None:
    for path, found in anchors.items():
        assert [name for name, times in found.items() if times > 1] == [], path


def test_every_link_within_the_site_leads_to_a_page_and_its_anchor(
    pages: dict, anchors: dict
) -> None:
    broken = []
    for path, page in pages.items():
        for tag in page.find_all(["a", "link", "img", "script"]):
            target = urlsplit(tag.get("href") or tag.get("src") or "")
            if target.scheme or target.netloc or tag.get("rel") == ["canonical"]:
                continue
            file = (path.parent / unquote(target.path)).resolve()
            if target.path in ("", "#"):
                file = path
            if not file.is_file():
                broken.append((path.name, tag.get("href") or tag.get("src")))
            elif target.fragment and unquote(target.fragment) not in anchors[file]:
                broken.append((path.name, tag["href"]))
    assert broken == []


def test_each_name_of_another_projects_inventory_is_linked(pages: dict) -> None:
    """Conf/inventories/ has the names that pages link to, and no others."""
    linked = {tag["href"] for page in pages.values() for tag in page.select("a[href]")}
    for inventory in (ROOT / "conf" / "inventories").glob("*.inv"):
        lines = inventory.read_text(encoding="utf-8").splitlines()
        for line in lines:
            if not line.startswith("#"):
                name, _, place = line.split()
                ends = (f"/{place}#{name}", f"/{place}#module-{name}")
                assert any(link.endswith(ends) for link in linked), line


def test_references_within_a_page_are_there(pages: dict, anchors: dict) -> None:
    for path, page in pages.items():
        for attribute in REFERENCES:
            for tag in page.find_all(attrs={attribute: True}):
                for name in tag[attribute].split():
                    assert name in anchors[path], (path, attribute, name)


def test_headings_are_in_order_and_one_is_first(pages: dict) -> None:
    for path, page in pages.items():
        article = page.select_one("article")
        levels = [int(tag.name[1]) for tag in article.find_all(re.compile(r"^h[1-6]$"))]
        assert levels[:1] == [1] and levels.count(1) == 1, path
        for above, below in pairwise(levels):
            assert below <= above + 1, (path, levels)


def test_pictures_say_what_they_show_and_how_large_they_are(pages: dict) -> None:
    for path, page in pages.items():
        for image in page.select("article img"):
            assert image.has_attr("alt"), (path, image)
            assert image.get("width") and image.get("height"), (path, image)
            assert image.get("loading") == "lazy", (path, image)
        for drawing in page.select("article svg[role=img]"):
            # What stands in a cell of a table has headings that say the rest.
            small = "sign" in drawing.get("class", []) or drawing.find_parent("td")
            assert len(drawing["aria-label"]) > (4 if small else 40), path
            assert "sphx_glr" not in drawing["aria-label"]


def test_the_tab_key_stops_at_code_that_is_wider_than_a_phone(
    browser: Any, site: Path
) -> None:
    wide = "e => e.scrollWidth > e.clientWidth && e.checkVisibility()"
    with browser.new_page(viewport={"width": 320, "height": 640}) as page:
        page.goto((site / "auto_examples/1_basics/detach.html").as_uri())
        code = page.locator("article pre")
        page.wait_for_selector("article pre[tabindex]")
        found = code.evaluate_all(f"all => all.filter({wide}).length")
        stops = code.evaluate_all("all => all.filter(e => e.tabIndex == 0).length")
        assert stops == found > 0
        page.set_viewport_size({"width": 1280, "height": 640})
        page.wait_for_function("!document.querySelector('article pre[tabindex]')")
