"""Each page has the navigation that Furo would have made for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace
from tensor_copies.web.navigation import Navigation

pytestmark = pytest.mark.unit
PAGES = {
    "index": """Home
====

.. toctree::
   :caption: Start
   :hidden:

   Home & more <self>
   plain

.. toctree::
   :caption: Learn

   lessons/index
   Elsewhere <https://docs.pytorch.org/>
""",
    "plain": "A ``plain`` <page>\n==================\n",
    "lessons/index": "Lessons\n=======\n\n.. toctree::\n\n   one/index\n   two\n",
    "lessons/one/index": "One\n===\n\n.. toctree::\n\n   deep\n",
    "lessons/one/deep": "Deep\n====\n",
    "lessons/two": "Two\n===\n",
    "alone": ":orphan:\n\nAlone\n=====\n",
}


def build(folder: Path, builder: str, *, is_ours: bool) -> Path:
    for name, text in PAGES.items():
        path = folder / "docs" / f"{name}.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with docutils_namespace():
        app = Sphinx(
            folder / "docs",
            None,
            folder / "built",
            folder / "doctrees",
            builder,
            {"html_theme": "furo"},
            status=None,
        )
        if is_ours:
            tree = Navigation()
            app.connect("html-page-context", tree.keep_from_theme, priority=400)
            app.connect("html-page-context", tree.give, priority=600)
        app.build()
    return folder / "built"


def navigation(page: Path) -> list[tuple]:
    """Return all elements of a page's navigation, with their attributes and texts."""
    tree = BeautifulSoup(page.read_text(), "html.parser").select_one(".sidebar-tree")
    return [
        (
            element.name,
            element.string,
            {
                name: sorted(value) if isinstance(value, list) else value
                for name, value in element.attrs.items()
            },
        )
        for element in tree.find_all(True)
    ]


@pytest.mark.parametrize("builder", ["html", "dirhtml"])
def test_it_is_that_of_the_theme(tmp_path: Path, builder: str) -> None:
    theirs = build(tmp_path / "theirs", builder, is_ours=False)
    ours = build(tmp_path / "ours", builder, is_ours=True)
    pages = [page.relative_to(theirs) for page in theirs.rglob("*.html")]
    assert len(pages) > len(PAGES)  # with the search, and the index of names
    for page in pages:
        assert navigation(ours / page) == navigation(theirs / page), page
    deep = "lessons/one/deep" + ("/index.html" if builder == "dirhtml" else ".html")
    marked = [seen for seen in navigation(ours / deep) if "current" in str(seen[2])]
    assert [seen[0] for seen in marked] == ["ul", "li", "ul", "li", "ul", "li", "a"]
    assert marked[-1][2]["href"] == "#"
