"""Every built page, without a browser: its markup, links, words and what loads it.

What is asked of a lesson's page is asked of its script too, which is the witness: no
test asks the code that made the page.
"""

from __future__ import annotations

import ast
import re
import socket
import sys
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import html5lib
import nbformat
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT
from reading import EVERYTHING, NAMES, SCRIPTS, downloads_of, page_of, parts_of, soup
from sphinx_gallery.py_source_parser import split_code_and_text_blocks
from tensor_copies import simulated
from tensor_copies.machines.recording import recordings
from visits import KINDS

EACH = pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
STAMP = re.compile(
    r"Ran on (CPU|CUDA \(.+\)) with torch [\d.]+ on \d{1,2} [A-Z][a-z]+ 20\d\d\."
)
NO_DOCUMENTS = {"genindex.html", "search.html"}
# Attributes that name another element of the page, or several.
REFERENCES = ("for", "aria-labelledby", "aria-describedby", "aria-controls")
CODE = "div.highlight-Python pre"
# What each lesson says of the simulated device that it doesn't say of the CPU.
ELSEWHERE = {
    "cpu_and_to": ["same is w = False", "z.grad = tensor([7.]), y", "1.0 7.0 7.0"],
    "numpy_bridge": ["p = tensor([2.]"],
    "what_moves": ["found at least two devices", "left is net.weight = True"],
    "memory_of_a_copy": ["y and gpu are the same object."],
    "copy_between_devices": ["is_pinned() = True"],
}
MAPPED_ELSEWHERE = {"cpu_and_to", "memory_of_a_copy"}
MAP = re.compile(r"^# sphinx_gallery_tensor_map(?:_lead)? = ", re.MULTILINE)
ROLE = re.compile(r":[\w:]+:`[^`]*`")


def anchors(page: BeautifulSoup) -> Counter:
    return Counter(tag["id"] for tag in page.find_all(id=True))


def words(text: str) -> str:
    """Return the words of a text, whatever stands between them."""
    return " ".join(re.findall(r"\w+", text.replace("_", " ").lower()))


# -- Markup and links ----------------------------------------------------------------


def test_pages_parse_without_an_error(site: Path, pages: dict) -> None:
    """One of each kind, and all that no template makes many of."""
    for path in pages:
        if EVERYTHING or path.parent == site or path in {site / one for one in KINDS}:
            parser = html5lib.HTMLParser(namespaceHTMLElements=False)
            parser.parse(path.read_text(encoding="utf-8"))
            assert [(place, code) for place, code, _ in parser.errors] == [], path


def test_links_ids_and_references_lead_somewhere(site: Path, pages: dict) -> None:
    known = {path: anchors(page) for path, page in pages.items()}
    wrong = []
    for path, page in pages.items():
        wrong += [(path.name, one) for one, times in known[path].items() if times > 1]
        for tag in page.find_all(["a", "link", "img", "script", "source", "iframe"]):
            address = tag.get("href") or tag.get("src") or ""
            target = urlsplit(address)
            if tag.get("rel") == ["canonical"]:
                continue
            if target.scheme or target.netloc:
                if tag.name != "a":  # a page asks no other host for anything
                    wrong.append((path.name, address))
                continue
            file = (path.parent / unquote(target.path)).resolve()
            file = path if target.path in ("", "#") else file
            fragment = unquote(target.fragment)
            if not file.is_file() or (fragment and fragment not in known[file]):
                wrong.append((path.name, address))
        for attribute in REFERENCES:
            for tag in page.find_all(attrs={attribute: True}):
                missing = [x for x in tag[attribute].split() if x not in known[path]]
                wrong += [(path.name, attribute, name) for name in missing]
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        if re.search(r"(@import|url\()\s*[\"']?(https?:)?//", text):
            wrong.append((style.name, "asks another host"))
    assert wrong == []


def test_headings_are_in_order_and_one_is_first(pages: dict) -> None:
    for path, page in pages.items():
        found = page.select_one("article").find_all(re.compile(r"^h[1-6]$"))
        levels = [int(tag.name[1]) for tag in found]
        assert levels[:1] == [1] and levels.count(1) == 1, path
        for above, below in pairwise(levels):
            assert below <= above + 1, (path, levels)


def test_a_former_address_leads_to_its_section(site: Path) -> None:
    listed = tomllib.loads((ROOT / "docs/former_sections.toml").read_text("utf-8"))
    assert listed
    for name, now in listed.items():
        lesson, _, former = name.partition("#")
        page = (site / "auto_examples" / f"{lesson}.html").read_text("utf-8")
        _, _, section = page.partition(f'<section id="{now}">')
        assert f'id="{former}"' in section.partition("</h2>")[0], name


def test_pictures_say_what_they_show_and_how_large_they_are(pages: dict) -> None:
    for path, page in pages.items():
        for image in page.select("article img"):
            assert image.has_attr("alt"), (path, image)
            assert image.get("width") and image.get("height"), (path, image)
            assert image.get("loading") == "lazy", (path, image)
        for figure in page.select("figure.tensor-map"):
            assert figure.select_one("svg[role=img][aria-label]"), path
        for drawing in page.select("article svg"):
            said = drawing.get("aria-label", "")
            if drawing.find_parent(attrs={"aria-hidden": "true"}):
                continue
            if drawing.get("aria-hidden") == "true" or not drawing.get("role"):
                # What a figure only shows has words in the figure.
                beside = drawing.find_parent(["figure", "td", "th", "tr", "li", "a"])
                assert drawing.get("aria-hidden") or beside, (path, str(drawing)[:200])
                continue
            # What stands in a cell of a table has headings that say the rest.
            small = "sign" in drawing.get("class", []) or drawing.find_parent("td")
            assert len(said) > (4 if small else 40), (path, said)
            assert "sphx_glr" not in said


def test_each_page_says_what_it_is(site: Path, pages: dict) -> None:
    seen = Counter()
    for path, page in pages.items():
        (tag,) = page.select('head meta[name="description"]')
        assert 20 <= len(tag["content"]) <= 160, (path, tag)
        said = {one["property"]: one["content"] for one in page.select("[property]")}
        assert said["og:title"] in page.title.get_text()
        assert said["og:description"] == tag["content"]
        assert (path.parent / said["og:image"]).exists() and said["og:image:alt"]
        document = path.name not in NO_DOCUMENTS
        assert bool(page.select('meta[name="robots"][content="noindex"]')) != document
        assert bool(page.select_one("p.stamp")) or not document, path
        if document:
            seen[tag["content"]] += 1
        (icon,) = page.select('link[rel~="icon"]')
        assert (path.parent / icon["href"]).resolve() == site / "_static" / "icon.svg"
        assert not page.select(".sidebar-brand img"), "one more request"
    assert max(seen.values()) == 1, seen.most_common(1)


# -- Lessons -------------------------------------------------------------------------


@EACH
def test_a_lesson_shows_all_that_its_script_says_and_draws(
    script: Path, site: Path
) -> None:
    path = page_of(site, script)
    page, parts = soup(path), parts_of(path)
    shown = "\n".join(block.get_text() for block in page.select(CODE))
    whole = ast.parse(script.read_text(encoding="utf-8"))
    whole.body = whole.body[1:]  # the docstring is the page's title and first text
    assert ast.dump(ast.parse(shown)) == ast.dump(whole)
    # What only draws has its figure, which may open the page.
    silent = [not part.output and "plt.show" not in part.code for part in parts]
    # Functions and data may stand apart from what uses them, right after them.
    assert not any(one and two for one, two in pairwise([*silent, True])), script.stem
    assert "This lesson runs on:" in parts[0].output
    assert "Traceback" not in page.get_text()
    assert len(page.select("figure.tensor-map")) >= len(MAP.findall(script.read_text()))
    assert STAMP.search(page.select_one("p.stamp").get_text())
    notebook = nbformat.read(downloads_of(path)[".ipynb"], as_version=4)
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    read, taken = words(page.get_text()), words(" ".join(texts))
    for kind, content, _ in split_code_and_text_blocks(str(script))[1]:
        if kind == "text":
            # What a name leads to may stand there with its title.
            for line in ROLE.sub("\0", content).splitlines():
                if re.match(r"\s*(\.\.|:|-+$|=+$)", line) or "`_" in line:
                    continue
                for piece in map(words, line.split("\0")):
                    assert piece in read and piece in taken, line


@EACH
def test_a_lesson_offers_its_downloads_and_leads_on_once(
    script: Path, site: Path
) -> None:
    page = soup(page_of(site, script))
    links = page.select("article > section > .lesson-lead + .actions a")
    assert [one.get_text() for one in links[:2]] == ["Script", "Notebook"]
    offered = {
        suffix: path.name
        for suffix, path in downloads_of(page_of(site, script)).items()
    }
    assert offered == {".py": script.name, ".ipynb": f"{script.stem}.ipynb"}
    assert not page.select(".sphx-glr-footer, .sphx-glr-download, .note")
    assert "sphinx_gallery_" not in page.get_text()
    assert not [p for p in page.select("#remember > p") if "Next:" in p.get_text()]
    assert len(page.select(".next-page .title")) == 1


def test_what_the_simulated_device_gives_instead_stands_below_ours(
    site: Path, pages: dict
) -> None:
    assert not any(page.select(".machine-tabs") for page in pages.values())
    if recordings() or not simulated.is_wanted():
        pytest.skip("the pages show no simulated device")
    for script in SCRIPTS:
        boxes = soup(page_of(site, script)).select(".other-machine")
        for box in boxes:
            label, *given = box.find_all(True, recursive=False)
            assert label.get_text().startswith("On a simulated device (torch ")
            above = box.find_previous_sibling()
            assert given and "highlight-Python" not in above["class"], script.stem
        texts = [" ".join(box.get_text().split()) for box in boxes]
        for told in ELSEWHERE.get(script.stem, []):
            assert any(told in text for text in texts), (script.stem, told)
        if script.stem in MAPPED_ELSEWHERE:
            assert any(box.select("figure.tensor-map svg") for box in boxes)


def test_next_and_previous_lead_through_the_lessons(site: Path) -> None:
    """The buttons, the head for browsers, and the sidebar of every page."""
    lessons = [page_of(site, script) for script in SCRIPTS]
    pages = [*lessons, site / "self_check.html", site / "cheat_sheet.html"]

    def led(page: Path, selector: str) -> Path:
        return (page.parent / soup(page).select_one(selector)["href"]).resolve()

    for page, following in pairwise(pages):
        assert led(page, ".related-pages a.next-page") == following
        assert led(page, 'head link[rel="next"]') == following
    for before, page in pairwise(lessons):
        assert led(page, ".related-pages a.prev-page") == before
        assert led(page, 'head link[rel="prev"]') == before
    for page in (site / "index.html", *pages, site / "errors.html"):
        links = [one["href"] for one in soup(page).select(".sidebar-tree a")]
        paths = [link.partition("#")[0] for link in links]
        there = [(page.parent / path).resolve() if path else page for path in paths]
        seen = [one for one in dict.fromkeys(there) if one in lessons]
        assert seen == lessons, page


def test_home_answers_with_expressions_that_lead_to_their_proof(site: Path) -> None:
    rows = soup(site / "index.html").select("table.calls tbody tr")
    assert len(rows) >= 8
    for row in rows:
        _, call, *answers = row.select("td")
        assert re.match(r"x\.|y = x$", call.get_text().strip())
        answers = [cell.get_text(" ", strip=True) for cell in answers]
        # On the CPU, and where it differs on another device.
        assert {*answers[0].split(), *answers[1].split()} <= {"yes", "no"}
        assert row.select_one("a")["href"].startswith("auto_examples/")


def test_the_table_of_patterns_says_what_the_lessons_write(site: Path) -> None:
    index = site / "auto_examples" / "4_patterns" / "index.html"
    patterns = [script for script in SCRIPTS if script.parent.name == "4_patterns"]
    by_page = {page_of(site, script): script for script in patterns}
    told = set()
    for row in soup(index).select("table.patterns tbody tr"):
        problem, code = row.select("td")
        script = by_page[(index.parent / problem.a["href"]).resolve()]
        assert code.select("code")
        for line in code.select("code"):
            assert line.get_text() in script.read_text(), script.name
        told.add(script)
    assert told == set(patterns)


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


def test_names_in_code_lead_to_their_documentation(site: Path, pages: dict) -> None:
    code = ".highlight-Python a.reference, .highlight-python a.reference"
    linked = {
        link.get_text(): link["href"]
        for script in SCRIPTS
        if script.stem in ("detach", "numpy_bridge")
        for link in soup(page_of(site, script)).select(code)
    }
    torch = "https://docs.pytorch.org/docs/stable/generated/"
    assert linked["w.detach"] == f"{torch}torch.Tensor.detach.html#torch.Tensor.detach"
    assert linked["torch.tensor"] == f"{torch}torch.tensor.html#torch.tensor"
    assert linked["x.numpy"] == f"{torch}torch.Tensor.numpy.html#torch.Tensor.numpy"
    links = {tag["href"] for page in pages.values() for tag in page.select("a[href]")}
    hosts = {urlsplit(link).netloc for link in links}
    assert {"docs.pytorch.org", "numpy.org", "docs.python.org"} <= hosts


def test_pictures_of_overviews_are_in_the_pages_colours(site: Path) -> None:
    drawn = set()
    for overview in (site / "auto_examples").rglob("index.html"):
        for item in soup(overview).select("ul.lesson-rows > li"):
            assert not item.select("img, [id]")
            name = Path(item.a["href"]).stem
            for drawing in item.select("svg"):
                assert drawing["aria-hidden"] == "true"
                names = [tag.get_text() for tag in drawing.select("rect[rx] + text")]
                page = soup(overview.parent / item.a["href"])
                figures = page.select("article figure, article .lesson-lead")
                spelled = " ".join(one.get_text() for one in figures)
                assert all(one.removesuffix("…") in spelled for one in names), name
                # What is black stays black in the dark: it has to be the page's.
                inks = {tag.get(kind) for tag in drawing.select("*")
                        for kind in ("fill", "stroke")} - {None}  # fmt: skip
                fixed = {ink for ink in inks if not ink.startswith("var(--")}
                assert fixed <= {"none", "currentColor"}, (name, fixed)
                drawn.add(name)
    leads = "tensor_map_lead|gallery_lead = True\n.*gallery_tensor_map"
    wanted = {one.stem for one in SCRIPTS if re.search(leads, one.read_text("utf-8"))}
    assert drawn >= wanted != set()


# -- What no file may say ------------------------------------------------------------


def test_nothing_names_the_machine_or_an_object(site: Path, pages: dict) -> None:
    places = {str(ROOT), str(Path.home()), sys.prefix, sys.base_prefix, "/tmp", "/home"}
    # As the beginning of a path, and not within an address like host/docs/usr.
    begins = r"(?:(?<![\w/.~-])|(?<=file://))"
    secrets = [
        f"{begins}{re.escape(place)}(?!\\w)" for place in places if len(place) > 3
    ]
    if re.search(r"[\d.-]", socket.gethostname()):  # else it may be any word
        secrets.append(re.escape(socket.gethostname()))
    secret = re.compile("|".join(secrets))
    for path in site.rglob("*"):
        if path.is_file() and path.suffix not in (".png", ".woff2", ".ico"):
            found = secret.search(path.read_text(encoding="utf-8", errors="replace"))
            assert found is None, (path, found[0])
    for path, page in pages.items():
        assert not re.search(r"\b0x[0-9a-f]{6,}", page.get_text()), path


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
