"""A page of the gallery is as this site knows it, or the build says what it lacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from sites import lesson
from sphinx import addnodes
from tensor_copies.lessons.blocks import UnknownPage
from tensor_copies.lessons.lesson_page import ACTIONS, LEAD, read
from tensor_copies.lessons.overviews import change_overview


def link(target: str) -> addnodes.download_reference:
    return addnodes.download_reference("", "", nodes.inline(text=""), reftarget=target)


def comment(lines: str) -> nodes.comment:
    return nodes.comment(text=f"GENERATED FROM PYTHON SOURCE LINES {lines}")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(lesson("A", "print(1)\n", "draw()"))
    return path


@pytest.fixture
def document() -> nodes.document:
    """Return a lesson's page as sphinx-gallery 0.22 makes it, in small."""
    page = nodes.document(None, None, source="/docs/auto_examples/1_first/a.rst")
    page += addnodes.only("", nodes.note("", nodes.paragraph(text="Go to the end")))
    page += nodes.section(
        "",
        nodes.title(text="A"),
        nodes.paragraph(text="Answer."),
        comment("6-9"),
        nodes.literal_block(text="print(1)"),
        nodes.literal_block(text="1", classes=["sphx-glr-script-out"]),
        comment("10-11"),
        nodes.paragraph(text="Words."),
        comment("12-13"),
        nodes.literal_block(text="draw()"),
        nodes.raw("", "<figure></figure>", format="html"),
        addnodes.only("", link("a.py"), link("a.ipynb"), link("a.zip"), expr="html"),
    )
    return page


def test_a_page_is_taken_apart_and_put_together(
    document: nodes.document, script: Path
) -> None:
    page = read(document, script)
    first, second = page.blocks
    assert (first.line, first.code.astext()) == (6, "print(1)")
    assert [node.astext() for node in first.texts] == ["1"]
    assert second.line == 12
    assert set(page.files) == {".py", ".ipynb"}
    second.lead, second.outputs = second.outputs, []
    first.name_outputs()
    first.below.append(nodes.container("", nodes.paragraph(text="Elsewhere: 2")))
    first.proof.append(nodes.paragraph(text="Proof."))
    page.actions.append(nodes.paragraph(text="Action."))
    page.write()
    (section,) = document
    shown = [node for node in section if not isinstance(node, nodes.comment)]
    assert [node.astext() for node in shown] == [
        "A", "Answer.", "<figure></figure>", "Action.", "print(1)", "Output", "1",
        "Elsewhere: 2", "Proof.", "Words.", "draw()",
    ]  # fmt: skip
    assert [node["classes"] for node in shown[2:4]] == [[LEAD], [ACTIONS]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda page: page.remove(page[2]), "no comment stands before the block on"),
        (lambda page: page.insert(3, nodes.image()), "no code follows the comment on"),
        (lambda page: page.insert(4, nodes.image()), "a image follows the block on"),
        (lambda page: page.pop(), "it has not a title and two files to download"),
    ],
)
def test_a_page_that_is_made_otherwise_is_refused(
    change: Callable[[nodes.section], object],
    said: str,
    document: nodes.document,
    script: Path,
) -> None:
    change(document[1])
    with pytest.raises(UnknownPage, match=f"^a: {said}") as refused:
        read(document, script)
    assert "sphinx-gallery: it has " in str(refused.value)


@pytest.mark.parametrize("overview", ["index", "1_basics/index"])
def test_an_overview_without_its_cards_is_refused(overview: str) -> None:
    page = f"auto_examples/{overview}"
    env = SimpleNamespace(docname=page, metadata=defaultdict(dict))
    config = SimpleNamespace(sphinx_gallery_conf={"gallery_dirs": ["auto_examples"]})
    document = nodes.document(None, None, source=page)
    document += nodes.section("", nodes.title(text="All"))
    with pytest.raises(UnknownPage, match="no card of auto_examples/1_basics/clone"):
        change_overview(SimpleNamespace(env=env, config=config), document)
