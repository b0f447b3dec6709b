"""How a reader finds the site, takes its lessons away and says what is wrong."""

from __future__ import annotations

import json
import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urljoin, urlsplit
from xml.etree import ElementTree

import nbformat
import pytest
from conftest import TinySite, lesson, new_tiny_site
from packaging.requirements import Requirement
from reading import NAMES, SCRIPTS, downloads_of, page_of, pages_in, soup
from tensor_copies.gallery.machine import this_machine

ADDRESS = "https://example.org/some/path/"
REPOSITORY = "https://github.com/OWNER/NAME"
HOSTED = {
    "SITE_URL": ADDRESS.rstrip("/"),  # as Pages gives it
    "SITE_REPOSITORY": REPOSITORY,
    "SITE_VERSION": "stable",
}
ADDRESSED = [name for name in os.environ if name.startswith(("SITE_", "READTHEDOCS"))]
LONELY = '''# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
One
===

See :meth:`torch.Tensor.detach` and nothing else.
"""
# sphinx_gallery_short_title = "One"
import torch

x = torch.ones(2)
print(x.detach())

# %%
# Then
# ----
# Next: :doc:`two`

print(torch.equal(x, x))
'''
INDEX = """# Tiny

```{toctree}
auto_examples/index
calls
```

{download}`all <auto_examples/tensor_copies_lessons.zip>`
"""
MOVED = {"old/one": "auto_examples/1_first/one"}
CALLS = "# Calls\n\nEach name leads to its page.\n\n```{calls}\n```\n"


def environment(**said: str) -> dict[str, str]:
    """Return this environment with these addresses and no other."""
    kept = {name: os.environ[name] for name in os.environ if name not in ADDRESSED}
    return kept | said


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    """Build a tiny site that knows where it is hosted."""
    tiny = new_tiny_site(tmp_path_factory.mktemp("hosted") / "tiny")
    tiny.write_lessons({"one.py": LONELY, "two.py": lesson("Two", "")})
    (tiny.folder / "docs" / "index.md").write_text(INDEX)
    (tiny.folder / "docs" / "calls.md").write_text(CALLS)
    tiny.forward(MOVED)
    built = tiny.build(env=environment(**HOSTED))
    assert built.status == 0, built.output
    return tiny


# -- What a search engine reads ------------------------------------------------------


def test_sitemap_lists_what_may_be_indexed_at_its_canonical_address(
    hosted: TinySite,
) -> None:
    tree = ElementTree.parse(hosted.html / "sitemap.xml")
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    assert tree.getroot().tag == f"{space}urlset"
    listed = [place.text for place in tree.iter(f"{space}loc")]
    canonical = [
        page.select_one('link[rel="canonical"]')["href"]
        for page in map(soup, pages_in(hosted.html))
        if not page.select('meta[name="robots"], meta[http-equiv="refresh"]')
    ]
    assert sorted(listed) == sorted(canonical)
    assert len(listed) == len(set(listed)) == 6
    assert all(address.startswith(ADDRESS) for address in listed)
    robots = (hosted.html / "robots.txt").read_text()
    assert f"Sitemap: {ADDRESS}sitemap.xml" in robots.splitlines()
    assert "Disallow" not in robots


def test_llms_names_each_page_once_with_title_and_description(
    site: Path, pages: dict
) -> None:
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# Tensor Copies\n\n> ")
    lines = re.findall(r"^- \[(.+)\]\((\S+)\): (.+)$", text, re.MULTILINE)
    assert len(lines) == text.count("\n- ")
    seen = []
    for title, address, description in lines:
        path = (site / address).with_suffix(".html")
        page = pages[path]
        heading = " ".join(page.h1.get_text().removesuffix("¶").split())
        assert title.replace("\\", "") == heading
        assert page.select_one('meta[name="description"]')["content"] == description
        seen.append(path)
    documents = [p for p in pages if not pages[p].select('meta[name="robots"]')]
    assert sorted(seen) == sorted(documents)
    lessons = [path for path in seen if path in {page_of(site, s) for s in SCRIPTS}]
    assert lessons == [page_of(site, script) for script in SCRIPTS]


def test_llms_list_the_sections_and_the_full_text_says_them(
    site: Path, pages: dict
) -> None:
    text = (site / "llms.txt").read_text(encoding="utf-8")
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    lines = re.findall(r"^  - (\w+): \[(.+)\]\((\S+?)#(\S+)\)", text, re.MULTILINE)
    assert len(lines) == text.count("\n  - ") > 300
    for _, _, address, anchor in lines:
        assert pages[site / address].find(id=anchor), (address, anchor)
        assert f"{address}#{anchor}\n" in whole
    entry = whole.partition("errors/to_numpy.html#numpy-requires-grad\n")[2][:1500]
    assert "RuntimeError: Can't call numpy()" in entry
    assert "`w.detach().numpy()`: to read the values" in entry
    assert whole.count("```") % 2 == 0


def test_each_page_has_its_markdown_beside_it(site: Path, pages: dict) -> None:
    documents = [p for p in pages if not pages[p].select('meta[name="robots"]')]
    for path in documents:
        (link,) = pages[path].select("p.stamp a.as-markdown")
        assert link["href"] == f"{path.stem}.md"
        text = path.with_suffix(".md").read_text(encoding="utf-8")
        assert text.startswith("# ") and text.count("```") % 2 == 0, path
        assert not re.search(r"<<[^>]*>>", text), path  # a title that was not put in
    detach = (site / "auto_examples/1_basics/detach.md").read_text(encoding="utf-8")
    assert "`detach` makes a new tensor object that shares the storage." in detach
    assert "```python\nw = torch.tensor(" in detach and "```text\nz = tensor(" in detach


def test_a_button_copies_the_markdown(browser: Any, address: str, site: Path) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{address}auto_examples/1_basics/detach.html")
    page.get_by_role("link", name="Copy as Markdown").click()
    page.get_by_text("Copied.", exact=False).wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    wanted = site / "auto_examples/1_basics/detach.md"
    assert copied == wanted.read_text(encoding="utf-8")
    context.close()


# -- Addresses that lead nowhere, or led somewhere -----------------------------------


def test_the_404_page_works_at_any_depth(hosted: TinySite) -> None:
    page = soup(hosted.html / "404.html")
    wrong = urljoin(ADDRESS, "auto_examples/no/such/page.html")
    asked = []
    for tag in page.select("a[href], link[href], script[src], img[src], form[action]"):
        address = next(tag[n] for n in ("href", "src", "action") if tag.has_attr(n))
        if address.startswith("#") or urlsplit(address).netloc not in (
            "",
            "example.org",
        ):
            continue
        whole = urljoin(wrong, address)
        assert whole.startswith(ADDRESS), tag
        path = unquote(urlsplit(whole).path.removeprefix(urlsplit(ADDRESS).path))
        target = hosted.html / (path or "index.html")
        assert target.is_file(), tag
        asked.append(target.name)
    assert {"index.html", "search.html", "furo.css"} <= set(asked)
    assert page.html["data-content_root"] == urlsplit(ADDRESS).path
    assert not page.select('link[rel="canonical"]')


def test_a_moved_page_forwards_with_its_fragment(
    browser: object, hosted: TinySite
) -> None:
    old, new = hosted.html / "old/one.html", hosted.page("one")
    link = soup(old).select_one("a")["href"]
    said = soup(old).select_one('noscript meta[http-equiv="refresh"]')["content"]
    assert said == f"0; url={link}"
    assert (old.parent / link).resolve() == new
    with browser.new_page() as opened:
        opened.goto(f"{old.as_uri()}#then")
        opened.wait_for_url(f"{new.as_uri()}#then")


# -- What is there only with an address ----------------------------------------------


def test_without_an_address_nothing_points_to_one(site: Path, pages: dict) -> None:
    if ADDRESSED:
        pytest.skip("this site was built for an address")
    assert not (site / "sitemap.xml").exists()
    assert not (site / "robots.txt").exists()
    for path, page in pages.items():
        text = path.read_text(encoding="utf-8")
        assert "colab.research.google.com" not in text, path
        assert "Something wrong on this page?" not in text, path
        assert not page.select('a[rel="edit"], link[rel="canonical"], .announcement')


def test_a_report_names_page_machine_and_torch(hosted: TinySite) -> None:
    page = soup(hosted.page("one"))
    (link,) = page.select("p.stamp > a:not(.as-markdown)")
    assert link.get_text() == "Something wrong on this page?"
    address = urlsplit(link["href"])
    assert address._replace(query="").geturl() == f"{REPOSITORY}/issues/new"
    said = parse_qs(address.query)
    assert said["title"] == ["One: "]
    (body,) = said["body"]
    assert f"Page: {ADDRESS}auto_examples/1_first/one.html" in body
    assert f"Machine: {this_machine()}" in body


def test_edit_links_lead_to_the_source(hosted: TinySite) -> None:
    wanted = {
        "index.html": "docs/index.md",
        "auto_examples/index.html": "examples/GALLERY_HEADER.rst",
        "auto_examples/1_first/index.html": "examples/1_first/GALLERY_HEADER.rst",
        "auto_examples/1_first/one.html": "examples/1_first/one.py",
    }
    for name, source in wanted.items():
        (link,) = soup(hosted.html / name).select('a[rel="edit"]')
        assert link["href"] == f"{REPOSITORY}/edit/main/{source}"
        assert (hosted.folder / source).is_file()


def test_colab_opens_the_notebook_of_the_page(hosted: TinySite) -> None:
    page = soup(hosted.page("one"))
    (link,) = page.select('.lesson-actions a[href^="https://colab"]')
    name = "1_first/one.ipynb"
    assert link["href"] == (
        f"https://colab.research.google.com/github/OWNER/NAME/blob/notebooks/{name}"
    )
    (packed,) = hosted.html.glob("_downloads/*/*.zip")
    with zipfile.ZipFile(packed) as archive:  # the workflow unpacks it on that branch
        notebook = json.loads(archive.read(f"tensor_copies/{name}"))
    assert notebook["metadata"]["accelerator"] == "GPU"
    assert notebook["metadata"]["colab"]["gpuType"] == "T4"


def test_dev_says_so_and_sends_search_engines_to_stable(
    hosted: TinySite, tmp_path: Path
) -> None:
    assert not soup(hosted.html / "index.html").select(".announcement")
    said = {"SITE_VERSION": "dev", "SITE_STABLE_URL": ADDRESS}
    hosted = hosted.copy_to(tmp_path / "dev")
    built = hosted.build(env=environment(**HOSTED | said))
    assert built.status == 0, built.output
    for path in pages_in(hosted.html):
        page = soup(path)
        (banner,) = page.select(".announcement")
        assert "Development version" in banner.get_text()
        assert banner.a["href"] == ADDRESS
        assert page.select('meta[name="robots"][content="noindex"]'), path
    assert not (hosted.html / "sitemap.xml").exists()


@pytest.mark.parametrize(
    ("moved", "said", "named"),
    [
        ({"old": "nowhere"}, {}, "old forwards to nowhere"),
        ({}, {"SITE_URL": "example.org"}, "SITE_URL=example.org is not"),
    ],
)
def test_an_address_that_cannot_be_is_refused_in_one_line(
    hosted: TinySite, moved: dict[str, str], said: dict[str, str], named: str
) -> None:
    """And the site stays as it was."""
    before = hosted.published()
    hosted.forward(moved)
    built = hosted.build(env=environment(**HOSTED | said))
    hosted.forward(MOVED)
    assert built.status == 2
    assert [named in line for line in built.output.splitlines()].count(True) == 1
    assert hosted.published() == before


# -- Calls ---------------------------------------------------------------------------


def test_calls_and_lessons_lead_to_one_another(site: Path) -> None:
    page = soup(site / "calls.html")
    listed: dict[str, set[str]] = {}
    everywhere = {str(page_of(site, s).relative_to(site)) for s in SCRIPTS}
    for term in page.select("dl.calls-of-lessons > dt"):
        assert term.a["href"].endswith(f"#{term['id']}") or "torch" in term.a["href"]
        assert term.get_text() == term["id"]
        said = term.find_next_sibling("dd")
        lessons = {link["href"] for link in said.select("a")}
        assert lessons
        listed[term["id"]] = lessons
    assert listed["torch.Tensor.detach"] < everywhere
    assert "torch.cuda.is_available" not in listed  # it stands in setups
    assert {"torch.Tensor.detach", "torch.tensor"} <= set(listed)
    assert any(call.startswith("numpy.") for call in listed)
    # What the lessons' own pages link in code, and what their text says.
    for script in SCRIPTS:
        where = str(page_of(site, script).relative_to(site))
        linked = {
            link["title"]
            for link in soup(page_of(site, script)).select("a[class*=sphx-glr-backref]")
            if not {
                "sphx-glr-backref-instance",  # a variable
                "sphx-glr-backref-module-torch-Tensor",  # a link of the text
            }.intersection(link["class"])
            and link["title"].startswith(("torch.", "numpy."))
            and not link.find_parent("details", class_="setup")
        }
        assert linked <= {call for call in listed if where in listed[call]}
        for call in (call for call in listed if where in listed[call]):
            assert re.search(rf"\b{call.rpartition('.')[2]}\b", script.read_text())


# -- Notebooks and the archive -------------------------------------------------------


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_notebook_installs_what_the_script_names(script: Path, site: Path) -> None:
    path = downloads_of(page_of(site, script))[".ipynb"]
    notebook = nbformat.read(path, as_version=4)
    first, *rest = notebook.cells
    assert first.cell_type == "code"
    (command,) = [line for line in first.source.splitlines() if line[0] != "#"]
    assert command.startswith("%pip install --quiet ")
    asked = re.findall(r'"([^"]+)"', command)
    (header,) = re.findall(r"^# dependencies = (.+)$", script.read_text(), re.MULTILINE)
    assert asked == json.loads(header)
    imported = re.findall(r"^(?:import|from) (\w+)", script.read_text(), re.MULTILINE)
    named = {Requirement(text).name for text in asked}
    assert set(imported) - sys.stdlib_module_names <= named
    text = "".join(cell.source for cell in rest if cell.cell_type == "markdown")
    assert not re.search(r":\w+:`", text), "a link as only a script has it"


def test_the_archive_has_what_the_pages_offer(site: Path) -> None:
    links = {
        link["href"].rpartition("/")[2]: (path.parent / link["href"]).resolve()
        for path in (site / "index.html", site / "auto_examples" / "index.html")
        for link in soup(path).select('a[download][href$=".zip"]')
    }
    ((name, archive),) = links.items()
    assert name == "tensor_copies_lessons.zip"
    offered = {}
    for script in SCRIPTS:
        for file in downloads_of(page_of(site, script)).values():
            offered[f"tensor_copies/{script.parent.name}/{file.name}"] = (
                file.read_bytes()
            )
    with zipfile.ZipFile(archive) as packed:
        assert packed.testzip() is None
        assert {name: packed.read(name) for name in packed.namelist()} == offered


def test_a_lesson_leads_to_its_call_in_the_explorer(site: Path) -> None:
    led = {}
    for script in SCRIPTS:
        for link in soup(page_of(site, script)).select(".lesson-actions a"):
            if "explorer" in link.get_text():
                address = urlsplit(link["href"])
                assert (page_of(site, script).parent / address.path).resolve() == (
                    site / "index.html"
                )
                (led[script.stem],) = parse_qs(address.query)["y"]
    wanted = {"detach": "detach", "clone": "clone", "detach_clone": "detach.clone"}
    assert {name: led[name] for name in wanted} == wanted
