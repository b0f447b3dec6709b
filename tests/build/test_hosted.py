"""A site that knows where it is hosted."""

import os
import re
import sys
import tomllib
from pathlib import Path
from pprint import pformat
from runpy import run_path
from urllib.parse import unquote_plus, urljoin, urlsplit

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
TOLD = """link[rel=canonical], meta[property], meta[name=robots], a[rel=edit],
    p.stamp a, .actions a, .highlight-sh pre"""
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
    with (tiny.folder / "docs" / "index.md").open("a") as index:
        index.write("\n```{install-line}\n```\n")
    build(tiny)
    return tiny


def test_what_is_said_to_machines_as_recorded(
    hosted: TinySite, file_regression: FileRegressionFixture
) -> None:
    """Where each page is and leads to; what search engines and others read."""
    lines = []
    for path in pages_in(hosted.html):
        lines += ["", path.relative_to(hosted.html).as_posix()]
        for tag in soup(path).select(TOLD):
            name = tag.get("property") or tag.get("name") or tag.get("rel", tag.text)
            value = tag.get("href", tag.get("content", ""))
            lines.append(f"  {name}: {unquote_plus(value)}")
    for name in ("sitemap.xml", "llms.txt", f"{LESSON}.md"):
        text = (hosted.html / name).read_text(encoding="utf-8")
        lines += ["", f"{name}:", text.replace("><", ">\n<")]
    here = this_machine().in_sentence
    check("\n".join(lines).replace(here, "THIS MACHINE"), file_regression)


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
