"""The house rules that a lesson's script keeps."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from reading import EXAMPLES, NAMES, READING_ORDER, SCRIPTS, code_lines
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

EACH = pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)


def test_each_lesson_has_one_place_in_the_reading_order() -> None:
    assert sorted(path.name for path in SCRIPTS) == sorted(READING_ORDER)


@EACH
def test_code_fits_a_phone(script: Path) -> None:
    wide = [(n, line) for n, line in code_lines(script) if len(line) > 60]
    assert wide == []


@EACH
def test_length(script: Path) -> None:
    # One idea: 40 to 120 lines, and some room for those that also measure.
    lines = len(script.read_text().splitlines())
    blocks = split_code_and_text_blocks(str(script))[1]
    folded = [block.content for block in blocks if "gallery_folded" in block.content]
    assert 40 <= lines <= 200
    # The code that times and draws is folded on the page.
    assert lines - sum(len(code.splitlines()) for code in folded) <= 140


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
    assert text[remember:].count("\n# - ") <= 3
    assert re.search(r"^# Next: :doc:`\S+`$", text[remember:], re.MULTILINE)


def test_next_leads_through_the_reading_order() -> None:
    for script, following in pairwise(SCRIPTS):
        named = re.search(r"^# Next: :doc:`(\S+)`$", script.read_text(), re.MULTILINE)
        assert (script.parent / named[1]).resolve() == following.with_suffix("")


def test_each_section_has_a_header() -> None:
    for folder in {EXAMPLES, *(script.parent for script in SCRIPTS)}:
        assert (folder / "GALLERY_HEADER.rst").exists()
