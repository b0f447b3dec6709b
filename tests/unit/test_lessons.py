"""The house rules that a lesson's script keeps."""

import ast
import re
import sys
import tomllib

from pytest_regressions.file_regression import FileRegressionFixture
from reading import EACH, EXAMPLES, LESSONS, Lesson
from recorded import check
from tensor_copies.gallery.lessons import short_titles, without_markers
from tensor_copies.lessons.downloads import offered_script
from tensor_maps.atlas.calls import chains, code_of

# What a phone of 390 px shows without scrolling sideways, and what all lines keep.
NARROW, WIDE = 50, 56
CHAINS = {code_of(chain) for chain in chains(second_device=True)}
LONGEST = 28  # characters of a short title: one line of the menu


def test_each_lesson_has_its_recorded_place(
    file_regression: FileRegressionFixture,
) -> None:
    scripts = EXAMPLES.glob("*/[!.]*.py")
    assert sorted(short_titles()) == sorted(script.stem for script in scripts)
    titles = list(short_titles().values())
    lines = [
        f"{short}: {ast.get_docstring(ast.parse(LESSONS[name].text)).splitlines()[0]}"
        for name, short in short_titles().items()
    ]
    check("\n".join(lines), file_regression)
    assert len(set(titles)) == len(titles)
    assert [one for one in titles if len(one) > LONGEST or "`" in one] == []


@EACH
def test_it_leads_to_a_chain_that_the_explorer_has(lesson: Lesson) -> None:
    assert {*re.findall(r'# sphinx_gallery_try = "(.+)"', lesson.text)} <= CHAINS


@EACH
def test_code_fits_a_phone(lesson: Lesson) -> None:
    lines = [one for one in lesson.code_lines if without_markers(one[1])]
    assert [(n, line) for n, line in lines if len(line) > WIDE] == []
    # Nearly all fit the phone; the rest can be scrolled.
    shown = [line for _, line in lines if line.strip()]
    assert sum(len(line) > NARROW for line in shown) <= len(shown) / 7


@EACH
def test_it_has_one_idea_and_asserts_what_it_says(lesson: Lesson) -> None:
    # Plain code may need more lines, if few of them are in sight.
    assert 40 <= len(offered_script(lesson.text).splitlines()) <= 160
    assert re.search(r"(?m)^\s*assert ", lesson.text)


@EACH
def test_stands_alone(lesson: Lesson) -> None:
    header = re.search(r"(?m)^# /// script\n((?:# .*\n)+)# ///$", lesson.text)
    metadata = tomllib.loads(re.sub("(?m)^# ", "", header[1]))
    named = {re.match(r"[\w-]+", item)[0] for item in metadata["dependencies"]}
    nodes = [*ast.walk(ast.parse(lesson.text))]
    imports = [node for node in nodes if isinstance(node, ast.Import)]
    modules = [alias.name for node in imports for alias in node.names]
    modules += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    imported = {name.partition(".")[0] for name in modules}
    packages = {"torch", "numpy", "matplotlib", "perfplot"}
    assert imported & packages <= named
    assert imported - packages <= sys.stdlib_module_names


@EACH
def test_opens_and_closes_as_all_do(lesson: Lesson) -> None:
    """It opens with an answer and one picture, and its page's foot leads on."""
    _, answer = ast.get_docstring(ast.parse(lesson.text)).split("\n\n")
    assert "You will" not in answer
    # A point within a name does not end a sentence.
    assert 1 <= len(re.findall(r"[.?!](?=\s|$)", answer)) <= 2
    _, _, code = lesson.text.partition(f'{answer}\n"""\n')
    assert code.startswith("\n# sphinx_gallery_setup = True\n")
    assert len(re.findall("(?m)^# sphinx_gallery_lead = ", code)) == 1
    assert 'print("This lesson runs on:", device)' in code
    remember = code[code.index("# Remember\n# --------\n") :]
    assert 1 <= remember.count("\n# - ") <= 3
    assert "Next:" not in remember
