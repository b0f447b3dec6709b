"""The built site, read as a reader's browser reads it."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import ROOT
from reading import NAMES, SCRIPTS, page_of, pages_in, parts_of, soup

EACH = pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
STAMP = re.compile(
    r"Run with torch \S+, NumPy \S+, Python \S+ on (the CPU|CUDA) \(.+\) "
    r"on \d{1,2} [A-Z][a-z]+ 20\d\d\."
)


@EACH
def test_lesson_page_shows_code_and_output(script: Path, site: Path) -> None:
    page = soup(page_of(site, script))
    parts = parts_of(page_of(site, script))
    # What only draws has its figure, which may open the page.
    silent = [part for part in parts if not part.output and "plt.show" not in part.code]
    assert silent == [], "a code block that shows nothing"
    assert "This lesson runs on:" in parts[0].output
    assert "Traceback" not in page.get_text()
    assert STAMP.search(page.select_one("p.stamp").get_text())
    links = page.select("article > section > h1 + .lesson-actions a[download]")
    assert [link.get_text() for link in links] == [
        "Script (.py)",
        "Notebook (.ipynb)",
    ]
    assert "Go to the end" not in page.get_text()
    assert not page.select(".sphx-glr-footer, .sphx-glr-download, .admonition")


def test_every_page_has_its_stamp(pages: dict) -> None:
    for path, page in pages.items():
        if path.name not in ("404.html", "genindex.html", "search.html"):
            assert page.select_one("p.stamp"), path


def test_home_leads_through_the_lessons_in_order(site: Path) -> None:
    links = soup(site / "index.html").select(
        ".sidebar-tree a, article .toctree-wrapper a"
    )
    lessons = [link["href"] for link in links if link["href"].count("/") == 2]
    wanted = [str(page_of(site, script).relative_to(site)) for script in SCRIPTS]
    seen = list(dict.fromkeys(href for href in lessons if href in wanted))
    assert seen == wanted


def test_home_answers_with_expressions_that_lead_to_their_proof(site: Path) -> None:
    table = soup(site / "index.html").select_one("table.calls")
    rows = table.select("tbody tr")
    assert len(rows) >= 8
    for row in rows:
        cells = [cell.get_text(" ", strip=True) for cell in row.select("td")]
        assert row.select("td")[1].get_text().strip().startswith("x.")
        # On the CPU, and where it differs on another device.
        assert {*cells[2].split(), *cells[3].split()} <= {"yes", "no"}
        assert row.select_one("a")["href"].startswith("auto_examples/")


def test_a_page_asks_no_other_host_for_anything(site: Path, pages: dict) -> None:
    loads = "script[src], img[src], iframe[src], source[src], link[href]"
    for path, page in pages.items():
        for element in page.select(loads):
            address = element.get("src") or element.get("href")
            if element.name == "link" and element["rel"] == ["canonical"]:
                continue
            assert not re.match(r"(https?:)?//", address), (path, address)
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", text), style


def test_nothing_names_the_machine(site: Path) -> None:
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
            text = path.read_text(encoding="utf-8", errors="replace")
            found = secret.search(text)
            assert found is None, (path, found[0])


def test_no_address_of_an_object_is_shown(pages: dict) -> None:
    for path, page in pages.items():
        assert not re.search(r"\b0x[0-9a-f]{6,}", page.get_text()), path


def test_names_in_code_lead_to_their_documentation(site: Path) -> None:
    detach = next(script for script in SCRIPTS if script.stem == "detach")
    numpy_bridge = next(script for script in SCRIPTS if script.stem == "numpy_bridge")
    code = ".highlight-Python a.reference, .highlight-python a.reference"
    linked = {
        link.get_text(): link["href"]
        for script in (detach, numpy_bridge)
        for link in soup(page_of(site, script)).select(code)
    }
    torch = "https://docs.pytorch.org/docs/stable/generated/"
    assert linked["w.detach"] == f"{torch}torch.Tensor.detach.html#torch.Tensor.detach"
    assert linked["torch.tensor"] == f"{torch}torch.tensor.html#torch.tensor"
    assert linked["x.numpy"] == f"{torch}torch.Tensor.numpy.html#torch.Tensor.numpy"
    hosts = {
        urlsplit(link["href"]).netloc
        for page in pages_in(site)
        for link in soup(page).select("article a.external")
    }
    assert {"docs.pytorch.org", "numpy.org", "docs.python.org"} <= hosts


def test_figures_follow_the_theme_and_say_what_they_show(site: Path) -> None:
    figures = [
        figure
        for script in SCRIPTS
        for figure in soup(page_of(site, script)).select("figure.chart")
    ]
    assert figures
    for figure in figures:
        markup = str(figure)
        assert figure.select_one("figcaption .verdict").get_text()
        for drawing in figure.select("tbody svg"):  # a ratio, or a bar with its text
            words = drawing.get("aria-label", "")
            beside = drawing.find_parent("tr").get_text()
            assert re.match(r"[\d.e+-]+", words) or re.search(r"\d", beside)
        assert "currentcolor" in markup.lower()
        assert "#010203" not in markup
        assert not figure.select("style, image")
