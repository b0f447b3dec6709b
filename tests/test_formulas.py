"""Formulas are drawn by the browser itself, from what the build wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from conftest import TinySite, lesson
from docutils import nodes
from reading import EXAMPLES, page_of, soup
from tensor_copies.web import formulas


def test_a_lesson_has_one_that_needs_no_script(site: Path) -> None:
    page = soup(page_of(site, EXAMPLES / "1_basics" / "retain_grad.py"))
    (formula,) = page.select("div.formula")
    assert formula["tabindex"] == "0", "one that is too wide is scrolled by keyboard"
    assert formula.math["display"] == "block"
    assert len(formula.select("mfrac")) == 3
    assert formula.get_text().endswith("=2+1⋅1=3")
    assert "\\frac" not in page.get_text()
    assert not page.select('script[src*="math" i]')


@pytest.mark.parametrize(
    ("node", "tags", "words"),
    [
        (nodes.math("", "x_1 + 2"), ["math", "msub", "mi", "mn"], "x1+2"),
        (nodes.math_block("", r"\sqrt{n} < 3"), ["math", "msqrt", "mo"], "n<3"),
    ],
)
def test_tex_becomes_mathml(node: nodes.Node, tags: list[str], words: str) -> None:
    made = formulas.mathml(node)
    assert "\n" not in made
    tree = BeautifulSoup(made, "html.parser")
    assert set(tags) <= {tag.name for tag in tree.find_all(True)}
    assert tree.get_text() == words


def test_what_is_no_formula_fails_with_its_place(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", "print('a')")})
    index = tiny_site.folder / "docs" / "index.md"
    index.write_text(index.read_text() + "\n{math}`\\frac{1}`\n")
    built = tiny_site.build()
    assert built.status == 1
    assert "index.md" in built.output and "not a formula: " in built.output
    assert not tiny_site.html.exists()
