"""The house rules that a lesson's script keeps."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from reading import NAMES, SCRIPTS, code_lines
from sites import lesson
from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import split_code_and_text_blocks
from tensor_copies.figures.maps import requested_maps
from tensor_copies.gallery.lessons import READING_ORDER, without_markers
from tensor_copies.lessons.actions import explorer_link
from tensor_copies.lessons.checked import split, words_of
from tensor_copies.lessons.opening import described, open_with_figure, setup_line
from tensor_copies.lessons.questions import of_lesson
from tensor_copies.lessons.short_titles import short_title
from tensor_copies.web import pages

EACH = pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
# What a phone of 390 px shows without scrolling sideways, and what all lines keep.
NARROW, WIDE = 50, 56
# The one form in which a lesson asks whether two tensors share memory.
SHARES_MEMORY = '''
def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()
'''

OPENS = re.compile(r"^# sphinx_gallery_(?:tensor_map_lead|lead|timeline) = ", re.M)

# Lessons with more than 140 lines, for the code that times, probes or draws, which is
# folded on the page. None may join them; one that has become short leaves the list.
LONGER = {
    "copy_a_tensor", "copy_between_devices", "cpu_and_to",
    "expanded_tensors", "in_place_and_backward",
    "load_on_another_device", "out_of_memory",
    "stop_a_gradient", "what_a_copy_copies", "what_stays_alive",
    "where_a_graph_ends", "why_a_copy_costs",
}  # fmt: skip


def test_each_lesson_has_one_place_in_the_reading_order() -> None:
    assert sorted(path.name for path in SCRIPTS) == sorted(READING_ORDER)


@EACH
def test_code_fits_a_phone(script: Path) -> None:
    lines = [one for one in code_lines(script) if without_markers(one[1])]
    assert [(n, line) for n, line in lines if len(line) > WIDE] == []
    # Nearly all fit the phone; the rest can be scrolled.
    shown = [line for _, line in lines if line.strip()]
    assert sum(len(line) > NARROW for line in shown) <= len(shown) / 7


@EACH
def test_length(script: Path) -> None:
    # One idea: 40 to 120 lines, and some room for sentences with a subject.
    lines = len(without_markers(script.read_text()).splitlines())
    blocks = split_code_and_text_blocks(str(script))[1]
    folded = [block.content for block in blocks if "gallery_folded" in block.content]
    assert 40 <= lines <= 170
    assert (lines > 148) == (script.stem in LONGER)
    assert lines - sum(len(code.splitlines()) for code in folded) <= 148


@EACH
def test_stands_alone(script: Path) -> None:
    header = re.search(
        r"^# /// script\n((?:# .*\n)+)# ///$", script.read_text(), re.MULTILINE
    )
    metadata = tomllib.loads(re.sub("^# ", "", header[1], flags=re.MULTILINE))
    named = {re.match(r"[\w-]+", item)[0] for item in metadata["dependencies"]}
    imported = set()
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module.split(".")[0])
    packages = {"torch", "numpy", "matplotlib", "perfplot"}
    assert imported & packages <= named
    assert imported - packages <= sys.stdlib_module_names


@EACH
def test_opens_and_closes_as_all_do(script: Path) -> None:
    text = script.read_text()
    assert 'print("This lesson runs on:", device)' in text
    remember = text.index("# Remember\n# --------\n")
    assert 1 <= text[remember:].count("\n# - ") <= 3
    # The foot of the page leads on.
    assert "Next:" not in text[remember:]


@EACH
def test_it_opens_with_an_answer_and_one_picture(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    _, answer = ast.get_docstring(ast.parse(text)).split("\n\n")
    assert "You will" not in answer
    # A point within a name does not end a sentence.
    assert 1 <= len(re.findall(r"[.?!](?=\s|$)", answer)) <= 2
    first = text.partition('"""\n')[2].partition('"""\n')[2]
    assert setup_line(script) and first.startswith("\n# sphinx_gallery_setup = True\n")
    assert len(OPENS.findall(text)) == 1


def test_short_titles_tell_lessons_apart(tmp_path: Path) -> None:
    titles = list(map(short_title, SCRIPTS))  # which refuses what is too long
    assert len(set(titles)) == len(titles)
    script = tmp_path / "a.py"
    marker = '# sphinx_gallery_short_title = "{}"\n'
    for marked, said in (
        ("", "line 6: the lesson has no short title"),
        (marker.format("x" * 29), "line 6: the short title 'x+' has 29 char"),
        (marker.format("``x``"), "line 6: .* of plain text without backticks"),
    ):
        script.write_text(f'"""A\n=\n\nB.\n"""\n{marked}import torch\n')
        with pytest.raises(ExtensionError, match=rf"^a\.py, {said}"):
            short_title(script)


def test_a_marker_that_cannot_be_followed_is_named_with_its_line(
    tmp_path: Path,
) -> None:
    script = tmp_path / "a.py"
    code = "print('end')\n# sphinx_gallery_predict = 7"
    script.write_text(lesson("A", "print(1)", code))
    said = r"^a\.py: the block on .* 11 has a prediction without a question"
    with pytest.raises(ExtensionError, match=said):
        of_lesson(script)
    script.write_text(lesson("A", "print(1)", "1\n# sphinx_gallery_lead = True"))
    block = SimpleNamespace(line=11, outputs=[])
    said = "a: the block on line 11 is to open the page and draws nothing"
    with pytest.raises(ExtensionError, match=said):
        open_with_figure(SimpleNamespace(script=script, blocks=[block]))
    # The explorer's link: to a chain that it has.
    (tmp_path / "index.md").write_text("# Home\n")
    env = SimpleNamespace(doc2path=lambda page: str(tmp_path / f"{page}.md"))
    app = SimpleNamespace(env=env, config=SimpleNamespace(root_doc="index"))
    page = nodes.container()
    page += explorer_link(code="x.detatch()", where="a.py, line 7")
    said = r"^a\.py, line 7: .* 'x.detatch\(\)', which .*: write x\.detach\(\)"
    with pytest.raises(ExtensionError, match=said):
        pages.make_link(app, page, "a")


@pytest.mark.parametrize(
    ("marker", "said"),
    [("_change = 'x'", "asks for a map of what"), (" = 'z'", "asks for a map of 'z'")],
)
def test_a_map_that_cannot_be_is_named_with_its_line(
    marker: str, said: str, tmp_path: Path
) -> None:
    script, code = tmp_path / "a.py", f"x = 1\n# sphinx_gallery_tensor_map{marker}"
    script.write_text(lesson("A", code))
    block = SimpleNamespace(lineno=7, content=code)
    variables = {"src_file": str(script), "example_globals": {"x": 1}}
    with pytest.raises(ExtensionError, match=rf"^a\.py: the block on line 7 {said}"):
        requested_maps(block, variables)


# What a page folds of a block


SPLIT = {
    "x = 1\nprint(f'{x = }')\nassert x\n": ("x = 1\n", "by 2 lines"),
    "x = 1\nprint(f'{x = }')\n\nassert x\nassert (x\n or 1)": ("x = 1\n", "by 4 lines"),
    "x = 1\nprint('x', x)\nassert x": ("x = 1\n", "Printed and checked by 2 lines"),
    "x = 1\nassert x": ("x = 1\n", "Checked by 1 assertion"),
    "x = 1  # one\n\n# That is one.\nassert x\nassert 1": ("x = 1  # one\n", "by 2"),
    # Words that are only in the print, and blocks that print alone, stay in sight.
    "x = 1\nprint(x)\nassert x": ("x = 1\nprint(x)\n", "Checked by 1 assertion"),
    "x = 1\nprint(f'{x}')\nassert x": ("x = 1\nprint(f'{x}')\n", "1 assertion"),
    "print(f'{x = }')\nassert x": ("print(f'{x = }')\n", "Checked by 1 assertion"),
    "x = 1\nprint(f'{x = }')\n": None,
    "assert x\nassert 1": None,
    "x = 1; assert x": None,
    "for x in y:\n    assert x": None,
}  # fmt: skip


@pytest.mark.parametrize("code", SPLIT)
def test_the_proof_of_a_block_is_folded(code: str) -> None:
    shown, proof = split(code)
    if SPLIT[code] is None:
        assert (shown, proof) == (code, "")
    else:
        start, words = SPLIT[code]
        assert shown == start and words in words_of(proof)
        assert ast.dump(ast.parse(shown + proof)) == ast.dump(ast.parse(code))
        assert "# That" not in shown


@EACH
def test_memory_is_compared_in_one_form(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    asks = re.search(r"(?<![.\w])shares_memory\(", text) is not None
    assert asks == (SHARES_MEMORY in text)
    assert "untyped_storage().data_ptr()" not in text


def test_what_a_setup_defines_is_said() -> None:
    code = "import torch\n\ndevice, n = 'cpu', 3\n" + SHARES_MEMORY
    assert described(code) == "imports, the device, ``n``, ``shares_memory()``"
