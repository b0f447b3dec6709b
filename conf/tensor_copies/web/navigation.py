"""The site's navigation, made once for all pages.

Sphinx makes the tree of all pages anew for each page, and Furo parses it: with two
hundred lessons that takes as long as all else in their pages. The trees of two pages
differ in where their links begin and in what is marked as current, so one is made, and
each page gets a copy that is its own in these.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from furo.navigation import get_navigation_tree
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri

OF_THE_SIDEBAR = {
    "collapse": False,
    "titles_only": True,
    "maxdepth": -1,
    "includehidden": True,
}
CURRENT = ("current", "current-page")


class Navigation:
    """The tree of one build."""

    def __init__(self) -> None:
        self._tree: Element | None = None
        self._toctree: Any = None

    def keep_from_theme(
        self, app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any
    ) -> None:
        """Take away what Furo makes its tree from: without it, it makes none."""
        self._toctree = context.pop("toctree", None)

    def give(
        self, app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any
    ) -> None:
        """Give the page what was taken away, and its tree."""
        if self._toctree is None:
            return
        context["toctree"] = self._toctree
        address = app.builder.get_target_uri(page)
        if self._tree is None:
            made = get_navigation_tree(self._toctree(**OF_THE_SIDEBAR))
            self._tree = ElementTree.fromstring(f"<div>{made}</div>")
            _make_neutral(self._tree, address)
        tree = deepcopy(self._tree)
        _make_own(tree, address)
        context["furo_navigation_tree"] = "".join(
            ElementTree.tostring(part, "unicode", method="html") for part in tree
        )


def _make_neutral(tree: Element, address: str) -> None:
    """Have all links begin at the site's root, and mark nothing as current.

    Parameters
    ----------
    tree
        The tree of a page.
    address
        Where the page is, from the root.
    """
    for element in tree.iter():
        names = element.get("class", "").split()
        left = [name for name in names if name not in CURRENT]
        if left:
            element.set("class", " ".join(left))
        else:
            element.attrib.pop("class", None)
        if element.tag == "a":
            link = element.get("href", "")
            if link == "#":
                element.set("href", address)
            elif not urlsplit(link).scheme:
                element.set("href", urljoin(f"/{address}", link).removeprefix("/"))
        element.attrib.pop("checked", None)


def _make_own(element: Element, address: str) -> bool:
    """Have links begin at a page, and mark what leads to it; return whether this does.

    Parameters
    ----------
    element
        A part of the neutral tree.
    address
        Where the page is, from the root.
    """
    if element.tag == "a":
        link = element.get("href", "")
        if not urlsplit(link).scheme:
            element.set("href", relative_uri(address, link) or "#")
        if link == address:
            _add(element, "current")
        return link == address
    is_page, leads = False, False
    for child in element:
        if _make_own(child, address):
            leads = True
            is_page = is_page or child.tag == "a"
    if leads and element.tag in ("ul", "li"):
        _add(element, "current")
        for box in element.findall("input"):
            box.set("checked", "")
    if is_page:
        _add(element, "current-page")
    return leads


def _add(element: Element, name: str) -> None:
    element.set("class", f"{element.get('class', '')} {name}".strip())
