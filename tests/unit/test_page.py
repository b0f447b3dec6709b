"""A lesson's page as the build arranges it, from the page that the gallery made."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from sphinx import addnodes
from sphinx.errors import ExtensionError
from tensor_copies.figures.tables import is_code, with_tables
from tensor_copies.lessons import downloads, page
from tensor_copies.lessons.listing import plain
from tensor_copies.markup import beginning

CODE = "x = 1\nprint(x)  # seen\n# That is one.\nassert x\nassert (x\n or 1)\n"


def link(target: str) -> addnodes.only:
    return addnodes.only("", addnodes.download_reference("", "", reftarget=target))


def printed(text: str) -> nodes.literal_block:
    return nodes.literal_block(text=text, classes=["sphx-glr-script-out"])


def figure(name: str) -> nodes.raw:
    return nodes.raw("", f"<figure>{name}</figure>", format="html", classes=["figure"])


def block(code: str, marks: dict, *given: nodes.Node) -> list[nodes.Node]:
    """Return what the gallery's page has of a block, with what our scraper left."""
    place = nodes.raw("", json.dumps({"line": 1, **marks}), format="marks")
    return [nodes.comment(), nodes.literal_block(text=code), place, *given]


def lesson_of(*blocks: list[nodes.Node]) -> nodes.document:
    document = nodes.document(None, None, source="a.rst")
    document += link("a.zip")
    parts = [node for one in blocks for node in one]
    answer = nodes.paragraph(text="Answer.")
    files = [link("a.py"), link("a.ipynb")]
    document += nodes.section("", nodes.title(text="A"), answer, *parts, *files)
    return document


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.setattr(
        page, "Elsewhere", lambda app: SimpleNamespace(boxes=lambda *given: [])
    )
    monkeypatch.setattr(page, "with_player", lambda app, lead: lead)
    monkeypatch.setattr(page, "address_of", lambda *given: None)
    env = SimpleNamespace(docname="1_a/a", note_dependency=lambda path: None)
    config = SimpleNamespace(site_repository="https://github.com/OWNER/NAME")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "b.html").write_text("<figure>drawn</figure>")
    return SimpleNamespace(env=env, config=config, srcdir=tmp_path, confdir=tmp_path)


def shown(document: nodes.document) -> list[str]:
    """Return the text of each part of a page, folds with their kind."""
    (section,) = document
    parts = [one for one in section if not isinstance(one, nodes.comment)]
    kinds = [one["classes"][-1:] if "fold" in one["classes"] else [] for one in parts]
    return [
        "".join([*(f"[{kind}] " for kind in found), " ".join(one.astext().split())])
        for found, one in zip(kinds, parts, strict=True)
    ]


def test_a_page_is_arranged(app: SimpleNamespace) -> None:
    document = lesson_of(
        block("import torch", {"setup": True}, printed("on cpu")),
        block(CODE, {"lead": True}, figure("lead"), figure("more"), printed("1")),
        block("draw()", {"folded": "The ``draw`` code"}, figure("chart")),
    )
    page.arrange_lesson(app, document)
    assert shown(document) == [
        "A", "Answer.", "<figure>lead</figure>", "Script Notebook Colab",
        "[setup] Setup import torch Output on cpu",
        "x = 1 print(x) # seen", "<figure>more</figure>", "Output", "1",
        "[checked] Show the check (2 assertions) # That is one. "
        "assert x assert (x or 1)",
        "[folded] The draw code draw()", "<figure>chart</figure>",
    ]  # fmt: skip


@pytest.mark.parametrize("code", ["assert x\nassert 1", "for x in y:\n    assert x"])
def test_a_block_that_only_asserts_stays_in_sight(code: str) -> None:
    assert page.take_assertions(nodes.literal_block(code, code)) == []


def test_a_diagram_may_open_a_page(app: SimpleNamespace) -> None:
    document = lesson_of(block("x = 1", {"lead": "b.html"}))
    page.arrange_lesson(app, document)
    assert shown(document)[2] == "<figure>drawn</figure>"


@pytest.mark.parametrize("marks", [{}, {"lead": True}])
def test_a_page_without_a_picture_is_refused(marks: dict, app: SimpleNamespace) -> None:
    document = lesson_of(block("x = 1", marks))
    with pytest.raises(ExtensionError, match=r"^a\.py has no .* or not one picture"):
        page.arrange_lesson(app, document)


# Tables


def test_printed_rows_are_a_table() -> None:
    text = "before\ncall | time\nx + 1 | 3 ms\ny | 12\nafter\n"
    first, table, last = with_tables(printed(text))
    assert (first.astext(), last.astext()) == ("before", "after")
    cells = [one.astext() for one in table.findall(nodes.entry)]
    assert cells == ["call", "time", "x + 1", "time 3 ms", "y", "time 12"]
    numbers = [one for one in table.findall(nodes.entry) if "number" in one["classes"]]
    assert [one.astext() for one in numbers] == ["time", "time 3 ms", "time 12"]
    assert [one.astext() for one in table.findall(nodes.literal)] == ["x + 1", "y"]


def test_code_in_a_table_is_known_from_words() -> None:
    code = ["x.exp()", "x + 1", "a[::-1]", "w", "rows += 7", "if x.sum() > 1:", "x=y"]
    words = ["read-only", "yes", "3 MiB", "(4, 1)", "save, load", "grad in A", "-2.0"]
    assert [text for text in code + words if is_code(text)] == code


# Lists and downloads


def test_a_row_has_the_first_sentences_of_an_answer() -> None:
    text = "Call ``x.t()``. It copies nothing. " + "It is long. " * 20
    (paragraph,) = publish_doctree(text)
    said = plain(paragraph, len(beginning(paragraph.astext())))
    words = "".join(one.astext() for one in said)
    assert words.startswith("Call x.t(). It copies") and words.endswith("long.")
    assert 100 < len(words) <= 160
    assert [one.astext() for one in said if isinstance(one, nodes.literal)] == ["x.t()"]


ASKED = """# %%
# .. predict:: What is ``w``
#     now?
#
#     - ``1``
#     - ``2`` with
#       ``w = 2``
#
# Words.
# sphinx_gallery_lead = True
"""


def test_a_reader_of_a_script_finds_no_marks_and_no_answers() -> None:
    said = downloads.offered_script(ASKED)
    assert said == "# %%\n# **What is ``w`` now?**\n#\n# Words.\n"
