"""A site that knows where it is hosted."""

import os
import re
import sys
import tomllib
from pathlib import Path
from pprint import pformat
from runpy import run_path
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from pytest_regressions.file_regression import FileRegressionFixture
from reading import ROOT, pages_in, soup
from recorded import check
from sites import TinySite, lesson, new_tiny_site
from tensor_copies.gallery import kept
from tensor_copies.gallery.machine import this_machine

ADDRESS = "https://example.org/some/path/"
REPOSITORY = "https://github.com/OWNER/NAME"
HOSTED = {"SITE_URL": ADDRESS.rstrip("/"), "SITE_REPOSITORY": REPOSITORY}
OPTIONS = str | bool | int | list | tuple | dict
LESSON = "auto_examples/1_first/one"
HOSTS = tomllib.loads(Path(__file__).with_name("hosts.toml").read_text("utf-8"))
SETS = ("PYTHONPATH", "IPYTHONDIR", "KINETO_LOG_LEVEL")  # what conf.py sets for others


def build(site: TinySite, **said: str) -> None:
    """Build with these variables of an address and no other."""
    other = ("SITE_", "READTHEDOCS")
    kept = {name: os.environ[name] for name in os.environ if not name.startswith(other)}
    status, output = site.build(env=kept | HOSTED | said)
    assert status == 0, output


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    """Build a tiny site that knows where it is hosted."""
    tiny = new_tiny_site(tmp_path_factory.mktemp("hosted") / "tiny")
    tiny.write_lessons({"one.py": lesson("One", "print(1)")})
    build(tiny)
    return tiny


def test_the_sitemap_has_the_canonical_addresses(hosted: TinySite) -> None:
    listed = re.findall("<loc>(.+?)</loc>", (hosted.html / "sitemap.xml").read_text())
    pages = {path: soup(path) for path in pages_in(hosted.html)}
    canonical = [
        page.select_one('link[rel="canonical"]')["href"]
        for page in pages.values()
        if not page.select('meta[name="robots"][content="noindex"]')
    ]
    assert sorted(listed) == sorted(canonical)
    assert f"{ADDRESS}{LESSON}.html" in listed
    (preview,) = pages[hosted.page("one")].select('meta[property="og:image"]')
    assert preview["content"] == f"{ADDRESS}_static/card.png"


def test_the_404_page_works_at_any_depth(hosted: TinySite) -> None:
    page = soup(hosted.html / "404.html")
    wrong, asked = urljoin(ADDRESS, "no/such/page.html"), set()
    for tag in page.select("[href], [src], form[action]"):
        link = next(tag[n] for n in ("href", "src", "action") if tag.has_attr(n))
        if link.startswith("#") or urlsplit(link).netloc:
            continue
        path = re.split(r"[?#]", urljoin(wrong, link).removeprefix(ADDRESS))[0]
        assert (hosted.html / path).is_file(), tag
        asked.add(path)
    assert {"index.html", "search.html", "_static/styles/furo.css"} <= asked
    assert page.html["data-content_root"] == "/some/path/"


def test_a_page_leads_to_its_source_and_to_a_report(hosted: TinySite) -> None:
    sources = {
        "index": "docs/index.md",
        "auto_examples/1_first/index": "examples/1_first/index.rst",
        LESSON: "examples/1_first/one.py",
    }
    for name, source in sources.items():
        (edit,) = soup(hosted.html / f"{name}.html").select('a[rel="edit"]')
        assert edit["href"] == f"{REPOSITORY}/edit/main/{source}"
    page = soup(hosted.page("one"))
    (link,) = page.select("p.stamp > a[href*=issues]")
    address, _, query = link["href"].partition("?")
    said = parse_qs(query)
    assert (address, said["title"]) == (f"{REPOSITORY}/issues/new", ["One: "])
    assert f"Page: {ADDRESS}{LESSON}.html\nRan on" in said["body"][0]
    assert f"Machine: {this_machine()}" in said["body"][0]
    (link,) = page.select('.actions a[href^="https://colab"]')
    assert link["href"].endswith("/github/OWNER/NAME/blob/notebooks/1_first/one.ipynb")


def test_machines_read_each_page_as_markdown(hosted: TinySite) -> None:
    listed = (hosted.html / "llms.txt").read_text()
    pages = re.findall(r"(?m)^- \[.+\]\((.+)\): .", listed)
    paths = [page.removeprefix(ADDRESS) for page in pages]
    assert f"{LESSON}.md" in paths and "index.md" in paths
    for path in paths:
        page = soup(hosted.html / path.replace(".md", ".html"))
        (link,) = page.select("p.stamp a.as-markdown")
        assert link["href"] == Path(path).name
        text = (hosted.html / path).read_text(encoding="utf-8")
        assert text.startswith("# ") and text.count("```") % 2 == 0
    assert "```text\n1\n```" in (hosted.html / f"{LESSON}.md").read_text()


def test_dev_leads_to_the_stable_version(hosted: TinySite, tmp_path: Path) -> None:
    assert not soup(hosted.html / "index.html").select(".announcement")
    dev = hosted.copy_to(tmp_path / "dev")
    (dev.folder / "build" / "staging" / "sitemap.xml").unlink()
    build(dev, SITE_VERSION="dev", SITE_STABLE_URL=ADDRESS)
    for page in map(soup, pages_in(dev.html)):
        assert page.select_one(".announcement a")["href"] == ADDRESS
        assert page.select('meta[name="robots"][content="noindex"]')
    assert not (dev.html / "sitemap.xml").exists()


def test_the_options_as_recorded(
    monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(kept, "hash_of", lambda *patterns, extra=(): (*patterns, extra))
    monkeypatch.setattr(kept, "made_by", lambda: "what made it")
    nowhere, lines = {}, []
    for where, variables in HOSTS.items():
        for name in {*SETS}.union(*HOSTS.values()):
            monkeypatch.setenv(name, variables.get(name, ""))
        found = run_path(str(ROOT / "conf" / "conf.py"))
        found["html_context"].pop("site_icon")
        options = {name: os.environ[name] for name in SETS}
        for name, value in found.items():
            if isinstance(value, OPTIONS) and name[0] != "_" and name != "paths":
                parts = value if isinstance(value, dict) else {"": value}
                options |= {
                    f"{name} {part}".strip(): one for part, one in parts.items()
                }
        lines += [f"# On {where}" if nowhere else "# All options, of a site nowhere"]
        lines += [
            f"{name} = {pformat(value, width=88)}"
            for name, value in options.items()
            if nowhere.get(name, "not set") != value
        ]
        nowhere = nowhere or options
    check("\n".join(lines).replace(str(ROOT), "ROOT"), file_regression)
