"""A page of the gallery is as this site knows it, or the build says what it lacks."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from docutils import nodes
from jupyter_cache.cache import db
from jupyter_cache.executors import utils
from sites import lesson
from sphinx import addnodes
from sphinx.errors import ExtensionError
from tensor_copies.figures.maps import requested_map
from tensor_copies.lessons.lesson_page import ACTIONS, LEAD, read
from tensor_copies.lessons.overviews import change_overview
from tensor_copies.recordings.live import UnknownPage
from tensor_copies.run import kernels


def link(target: str) -> addnodes.download_reference:
    return addnodes.download_reference("", "", nodes.inline(text=""), reftarget=target)


def comment(lines: str) -> nodes.comment:
    return nodes.comment(text=f"GENERATED FROM PYTHON SOURCE LINES {lines}")


def made_by_the_gallery() -> nodes.document:
    """Return a lesson's page as sphinx-gallery 0.22 makes it, in small."""
    document = nodes.document(None, None, source="/docs/auto_examples/1_first/a.rst")
    document += addnodes.only("", nodes.note("", nodes.paragraph(text="Go to the end")))
    document += nodes.section(
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
        nodes.container(classes=["benchmark-data"]),
        addnodes.only("", link("a.py"), link("a.ipynb"), link("a.zip"), expr="html"),
    )
    return document


def section(document: nodes.document) -> nodes.section:
    return next(document.findall(nodes.section))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "examples" / "1_first" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text(lesson("A", "print(1)\n", "draw()"))
    return path


def test_a_page_is_taken_apart_and_put_together(script: Path) -> None:
    document = made_by_the_gallery()
    page = read(document, script)
    first, second = page.blocks
    assert (first.line, first.code.astext()) == (6, "print(1)")
    assert [node.astext() for node in first.outputs] == ["1"]
    assert [node.astext() for node in first.words] == ["Words."]
    assert (second.line, second.samples[0]["classes"]) == (12, ["benchmark-data"])
    assert [type(node) for node in second.outputs] == [nodes.raw]
    assert set(page.files) == {".py", ".ipynb"}
    second.lead, second.outputs = second.outputs, []
    page.actions.append(nodes.paragraph(text="Action."))
    page.write()
    assert [type(node) for node in document] == [nodes.section]
    shown = [node for node in section(document) if not isinstance(node, nodes.comment)]
    assert [node.astext() for node in shown] == [
        "A", "Answer.", "<figure></figure>", "Action.", "print(1)", "1", "Words.",
        "draw()", "",
    ]  # fmt: skip
    assert [node["classes"] for node in shown[2:4]] == [[LEAD], [ACTIONS]]


def without_comments(document: nodes.document) -> None:
    for one in list(document.findall(nodes.comment)):
        one.parent.remove(one)


def with_words_before_the_code(document: nodes.document) -> None:
    section(document).insert(3, nodes.paragraph(text="Code:"))


def with_outputs_in_a_box(document: nodes.document) -> None:
    output = section(document)[4]
    section(document).replace(output, nodes.container("", output.deepcopy()))


def without_files(document: nodes.document) -> None:
    section(document).pop()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_comments, "a: no comment stands before the block on line 6"),
        (with_words_before_the_code, "a: no code follows the comment on line 6"),
        (with_outputs_in_a_box, "a: a container follows the block on line 6"),
        (without_files, "a: it has not a title and two files to download"),
    ],
)
def test_a_page_that_is_made_otherwise_is_refused(
    change: Any, said: str, script: Path
) -> None:
    document = made_by_the_gallery()
    change(document)
    with pytest.raises(UnknownPage, match=said) as refused:
        read(document, script)
    assert "sphinx-gallery: it has " in str(refused.value)


@pytest.fixture
def app(script: Path, tmp_path: Path) -> SimpleNamespace:
    """Return what stands for an application with one lesson."""
    conf = {"examples_dirs": ["../examples"], "gallery_dirs": ["auto_examples"]}
    return SimpleNamespace(
        srcdir=str(tmp_path / "docs"),
        env=SimpleNamespace(docname="", metadata=defaultdict(dict)),
        config=SimpleNamespace(sphinx_gallery_conf=conf, site_repository=""),
    )


@pytest.mark.parametrize(
    "overview", ["auto_examples/index", "auto_examples/1_first/index"]
)
def test_an_overview_without_its_cards_is_refused(
    overview: str, app: SimpleNamespace
) -> None:
    app.env.docname = overview
    document = nodes.document(None, None, source=overview)
    document += nodes.section("", nodes.title(text="All"))
    said = "there is no card of auto_examples/1_first/a"
    with pytest.raises(UnknownPage, match=said):
        change_overview(app, document)
    app.env.docname, before = "other/index", document.deepcopy()
    change_overview(app, document)
    assert document.pformat() == before.pformat()


@pytest.mark.parametrize(
    ("marker", "names", "said"),
    [("_change", "x", "asks for"), ("", "nothing", "asks for a map of 'nothing'")],
)
def test_a_map_that_cannot_be_is_named_with_its_line(
    marker: str, names: str, said: str, tmp_path: Path
) -> None:
    script = tmp_path / "a.py"
    first = f'x = 1\n# sphinx_gallery_tensor_map{marker} = "{names}"'
    script.write_text(lesson("A", first))
    block = SimpleNamespace(lineno=7, content=first)
    variables = {"src_file": str(script), "example_globals": {"x": 1}}
    with pytest.raises(ExtensionError, match=rf"^a\.py: the block on line 7 {said}"):
        requested_map(block, variables)


PIECES = """import sys, time
sys.stdout.write("one")
sys.stdout.flush()
time.sleep(0.5)
print(" line")"""


@pytest.mark.slow  # it starts a kernel
def test_a_line_that_a_kernel_sends_in_pieces_stays_one_line(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(utils, "executenb", utils.executenb)  # put back at the end
    cells = [nbformat.v4.new_code_cell(PIECES)]
    kernel = {"name": "python3", "display_name": "Python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    monkeypatch.setattr(db, "create_engine", db.create_engine)
    config = SimpleNamespace(
        nb_execution_cache_path=str(tmp_path / "cache"), nb_execution_timeout=120
    )
    env = SimpleNamespace(docname="x", doc2path=lambda page: str(tmp_path / page))
    kernels.take_over(SimpleNamespace(env=env, config=config), config)
    options = {"cwd": str(tmp_path), "timeout": 120, "allow_errors": False}
    done = utils.single_nb_execution(notebook, **options)
    assert [output["text"] for output in done.nb.cells[0].outputs] == ["one line\n"]
    assert "TCP" not in capfd.readouterr().err
