"""What holds on every page of the built site, in its markup and in a browser."""

import copy
import functools
import gzip
import re
import socket
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from reading import (
    EVERYTHING,
    LEAD,
    OUTSIDE,
    ROOT,
    SITE,
    UNFOLD,
    axe_of,
    pages_in,
    soup,
)

# A first visit: markup, style and scripts, compressed. The longest compute.
MOST_KB_OF_A_LESSON, MOST_KB_OF_ERRORS, MOST_KB, MOST_REQUESTS = 45, 53, 75, 16
LESSON = re.compile(r"auto_examples/\w+/(?!index)")
# All but the page that is shown at any depth: it has no host's root here.
FOUND = [one.relative_to(SITE).as_posix() for one in pages_in(SITE)]
PAGES = [page for page in FOUND if page != "404.html"]
# A page of each kind. Others have the same styles, and the same around their article:
# axe is asked of both on these and the Atlas alone, since that takes most of its time.
EACH_KIND = [
    *("index", "search", "self_check", "silent_mistakes", "article", "cheat_sheet"),
    *("errors/gradients", "questions/memory", "auto_examples/1_basics/detach"),
    "auto_examples/3_tips/copy_a_tensor",
]
NO_DOCUMENTS = {"genindex.html", "search.html"}
LEADS = {"a", "link", "img", "script", "source", "iframe"}
# Attributes that name another element of the page, or several.
REFERENCES = ("for", "aria-labelledby", "aria-describedby", "aria-controls")


def test_links_ids_and_references_lead_somewhere(site: Path, pages: dict) -> None:
    tags = {path: page(True) for path, page in pages.items()}
    known = {path: Counter(tag["id"] for tag in found if tag.has_attr("id"))
             for path, found in tags.items()}  # fmt: skip
    wrong = []
    for path, found in tags.items():
        wrong += [(path.name, one) for one, times in known[path].items() if times > 1]
        for tag in found:
            named = " ".join(tag.get(one, "") for one in REFERENCES).split()
            wrong += [(path.name, one) for one in named if one not in known[path]]
            if tag.name not in LEADS:
                continue
            address = tag.get("href") or tag.get("src") or ""
            target = urlsplit(address)
            if target.scheme or target.netloc:
                if tag.name != "a" and tag.get("rel") != ["canonical"]:
                    wrong.append((path.name, address))  # another host is asked
                continue
            # A page that is shown at any depth has links from a host's root.
            root = site if target.path.startswith("/") else path.parent
            file = (root / unquote(target.path).lstrip("/")).resolve()
            file, name = file if target.path else path, unquote(target.fragment)
            if not file.is_file() or (name and name not in known[file]):
                wrong.append((path.name, address))
    assert wrong == []


def test_each_page_says_what_it_is(site: Path, pages: dict) -> None:
    seen = Counter()
    for path, page in pages.items():
        assert len(page("h1")) == 1, path  # axe asks for the order of the others
        head = page.head
        (tag,) = head.select('meta[name="description"]')
        assert 20 <= len(tag["content"]) <= 160, (path, tag)
        said = {one["property"]: one["content"] for one in head.select("[property]")}
        assert said["og:title"] in page.title.get_text(), path
        assert said["og:description"] == tag["content"], path
        assert (path.parent / said["og:image"]).exists() and said["og:image:alt"]
        hidden = bool(head.select('[name="robots"][content="noindex"]'))
        assert hidden == (path.name in NO_DOCUMENTS), path
        assert hidden or page.select_one("p.stamp").get_text(), path
        seen[tag["content"]] += not hidden
    assert max(seen.values()) == 1, seen.most_common(1)


def test_nothing_names_the_machine_or_an_object(site: Path, pages: dict) -> None:
    places = {str(ROOT), str(Path.home()), sys.prefix, sys.base_prefix, "/tmp", "/home"}
    # As the beginning of a path, and not within an address like host/docs/usr.
    rest = "|".join(re.escape(one[1:]) for one in places if len(one) > 3)
    secrets = [rf"/(?:(?<![\w/.~-]/)|(?<=file:///))(?:{rest})(?!\w)"]
    if re.search(r"[\d.-]", socket.gethostname()):  # else it may be any word
        secrets.append(re.escape(socket.gethostname()))
    secret = re.compile("|".join(secrets))
    for path in site.rglob("*"):
        if path.is_file() and path.suffix not in (".png", ".woff2", ".ico"):
            found = secret.search(path.read_text(encoding="utf-8", errors="replace"))
            assert found is None, (path, found[0])
    for path, page in pages.items():
        assert not re.search(r"\b0x[0-9a-f]{6,}", page.get_text()), path


Heard = tuple[list[str], list[str]]


@functools.cache
def compressed(file: Path) -> int:
    return min(len(gzip.compress(file.read_bytes(), 9)), file.stat().st_size)


@pytest.fixture(scope="module")
def heard(tab: Any) -> Heard:
    """Return what a page asks for, and what goes wrong in it."""
    asked, wrong = [], []
    tab.goto("about:blank")  # what the tab showed may still ask for its icon
    tab.on("request", lambda request: asked.append(request.url))
    ours = re.compile("file:")  # what other hosts are asked is seen above
    tab.on("requestfailed", lambda one: ours.match(one.url) and wrong.append(one.url))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda one: one.type == "error" and wrong.append(one.text))
    return asked, wrong


@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wrong_or_heavy(page: str, tab: Any, heard: Heard) -> None:
    asked, wrong = heard
    asked.clear()
    wrong.clear()
    # Half of the pages are visited as at a desk in the dark, half on a phone.
    scheme, width = [("dark", 1280), ("light", 320)][PAGES.index(page) % 2]
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size({"width": width, "height": 800})
    tab.goto((SITE / page).as_uri())
    first = [*asked]  # what is unfolded may ask for more
    if LESSON.match(page):  # its first picture is in sight
        box = tab.locator(f"{LEAD} svg").first.bounding_box()
        assert box["y"] + min(box["height"], 100) < 800
    tab.evaluate(UNFOLD)
    is_kind = EVERYTHING or page.removesuffix(".html") in [*EACH_KIND, "atlas"]
    assert axe_of(tab, "html" if is_kind else "article", is_kind) == []
    tab.set_viewport_size({"width": 320, "height": 800})
    tab.wait_for_function("innerWidth === 320")
    assert tab.evaluate(OUTSIDE) == [] == wrong
    assert all(url.startswith(SITE.as_uri()) for url in asked)
    files = [Path(unquote(urlsplit(url).path)) for url in first]
    most = MOST_KB_OF_ERRORS if page.startswith("errors") else MOST_KB
    most = MOST_KB_OF_A_LESSON if LESSON.match(page) else most
    assert 5 < sum(compressed(one) for one in files if one.is_file()) / 1000 <= most
    assert 1 < len(files) <= MOST_REQUESTS


# What is of use with scripts only, or is no text.
CONTROLS = ".explorer-control, .desk, .player-bar, .predict-choices, #search-again"
NO_TEXT = f"{CONTROLS}, svg, button, script, style, .headerlink, summary .collapsed"


@pytest.mark.parametrize("name", EACH_KIND)
def test_without_javascript_all_is_there(name: str, visit: Any) -> None:
    tab = visit(f"{name}.html", java_script_enabled=False)
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    shown = "".join(tab.locator("article").inner_text().split())
    page = copy.copy(soup(SITE / f"{name}.html").article)
    for part in page.select(NO_TEXT):
        part.extract()
    texts = map(str.split, page.find_all(string=True))
    assert [text for text in texts if "".join(text) not in shown] == []
    assert tab.locator(CONTROLS).filter(visible=True).count() == (name == "search")
    drawn = len(page.select(".lead, .explorer"))
    assert tab.locator("article svg[aria-label]:visible").count() >= drawn
