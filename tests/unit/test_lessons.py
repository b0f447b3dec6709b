"""The house rules that a lesson's script keeps."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

from reading import EACH, NAMES, code_lines
from tensor_copies.gallery.lessons import short_titles, without_markers
from tensor_copies.lessons.downloads import offered_script
from tensor_maps.atlas.calls import chains, code_of

# What a phone of 390 px shows without scrolling sideways, and what all lines keep.
NARROW, WIDE = 50, 56
CHAINS = {code_of(chain) for chain in chains(second_device=True)}
LONGEST = 28  # characters of a short title: one line of the menu
OPENS = re.compile(r"^# sphinx_gallery_lead = ", re.M)


def test_each_lesson_has_one_place_in_the_lists() -> None:
    assert sorted(short_titles()) == sorted(NAMES)
    titles = list(short_titles().values())
    assert len(set(titles)) == len(titles)
    assert [one for one in titles if len(one) > LONGEST or "`" in one] == []


@EACH
def test_it_leads_to_a_chain_that_the_explorer_has(script: Path) -> None:
    for code in re.findall(r'# sphinx_gallery_try = "(.+)"', script.read_text("utf-8")):
        assert code in CHAINS


@EACH
def test_code_fits_a_phone(script: Path) -> None:
    lines = [one for one in code_lines(script) if without_markers(one[1])]
    assert [(n, line) for n, line in lines if len(line) > WIDE] == []
    # Nearly all fit the phone; the rest can be scrolled.
    shown = [line for _, line in lines if line.strip()]
    assert sum(len(line) > NARROW for line in shown) <= len(shown) / 7


@EACH
def test_length(script: Path) -> None:
    # One idea; plain code may need more lines, if few of them are in sight.
    assert 40 <= len(offered_script(script.read_text()).splitlines()) <= 160


@EACH
def test_it_asserts_what_it_says(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))


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
    assert first.startswith("\n# sphinx_gallery_setup = True\n")
    assert len(OPENS.findall(text)) == 1
