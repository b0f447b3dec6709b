"""Answers to choose from: what is exchanged, what is run, what a page offers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from bs4 import Tag
from conftest import lesson
from reading import SCRIPTS, page_of, soup
from sphinx.errors import ExtensionError
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.lessons import answers, programs
from tensor_copies.lessons.questions import Question, of_lesson

START = """import torch
w = torch.zeros(2, requires_grad=True)
z = w.detach()  # of w
print('made')
"""
ASKED = """z[0] = 7.0
print("same")
print("w", w.tolist())
assert z is w
# sphinx_gallery_predict = "What does ``w`` hold?"
# sphinx_gallery_predict_instead = "{}"
# sphinx_gallery_predict_instead_2 = "{}"
"""
CLONED, ITSELF = "w.detach() -> w.detach().clone()", "w.detach() -> w raises"
LEFT_OUT, LAST = "z[0] = 7.0 ->", 'print(1,"w", w.tolist())'


def questions(folder: Path, *exchanges: str, asked: str = ASKED) -> list[Question]:
    script = folder / "a.py"
    script.write_text(lesson("A", START, asked.format(*exchanges)))
    return of_lesson(script)


# What is exchanged


@pytest.mark.parametrize(
    ("exchange", "said", "changed"),
    [
        (CLONED, "With `z = w.detach().clone()`", "z = w.detach().clone()  # of w"),
        (ITSELF, "With `z = w`", "z = w  # of w"),
        (LEFT_OUT, "Without `z[0] = 7.0`", "pass"),
        ("print( -> print(1, ", 'With `print(1,"w", w.tolist())`', LAST),
    ],
)
def test_an_exchange_changes_one_place_and_says_it(
    tmp_path: Path, exchange: str, said: str, changed: str
) -> None:
    (question,) = questions(tmp_path, exchange, LEFT_OUT)
    one = question.exchanges[0]
    assert one.said.replace("``", "`") == said
    assert one.raises == exchange.endswith("raises")
    old, new = "\n".join(question.blocks), "\n".join(one.blocks)
    assert {*new.splitlines()} - {*old.splitlines()} == {changed}


@pytest.mark.parametrize(
    ("exchanges", "why"),
    [
        ((CLONED, "w.detach()"), "line 21: the exchange 'w.detach.*' is no 'old"),
        (("xyz -> w.", "q -> w"), "line 20: .* with old code of the program"),
        ((CLONED, "q.clone() -> w"), "line 21: .* with old code of the program"),
        ((CLONED, "z = w.detach() -> z ="), "line 21: .* leaves no Python"),
        ((CLONED,), "line 15: the question needs predict_instead and predict_"),
    ],
)
def test_a_bad_exchange_is_named_with_its_line(
    tmp_path: Path, exchanges: tuple[str, ...], why: str
) -> None:
    asked = ASKED if len(exchanges) == 2 else ASKED.rpartition("# sphinx")[0]
    with pytest.raises(ExtensionError, match=rf"^a\.py, {why}"):
        questions(tmp_path, *exchanges, asked=asked)


# What is offered


def offered(folder: Path, *ran: list[str], elsewhere: tuple[str, ...] = ()) -> list:
    """Offer what these programs print, with the right answer first and last."""
    (question,) = questions(folder, CLONED, ITSELF)
    first = ["same\nw 7\n", ""]
    return answers.choices_for(question, [first, *ran, first], first[0], [*elsewhere])


OTHER = ["same\nw 0 at 0x7f00aa00bb\n", ""]
ERROR = ["same\n5\n", "RuntimeError: no. Or"]


def test_the_lines_that_differ_are_offered(tmp_path: Path) -> None:
    found = offered(tmp_path, OTHER, ERROR)
    assert [lines for lines, _, is_right in found if is_right] == [["w 7"]]
    assert {"\n".join(lines): said for lines, said, _ in found} == {
        "w 7": "Right.",
        "w 0 at 0x...": "No. With ``z = w.detach().clone()`` it prints that.",
        "RuntimeError: no": "No. With ``z = w`` it raises that error.",
    }
    long = offered(tmp_path, ["same\n" + "word " * 99, ""], ERROR)
    assert max(len("".join(lines)) for lines, *_ in long) <= answers.MOST_CHARACTERS
    tensor = offered(tmp_path, ["same\nw = [1,\n    2]", ""], ERROR)
    assert ["w = [1, 2]"] in [lines for lines, *_ in tensor]


def test_what_another_machine_printed_is_never_wrong(tmp_path: Path) -> None:
    found = offered(tmp_path, OTHER, ERROR, elsewhere=("same\nw 0 at 0x7f00aa00cc",))
    assert len(found) == 2 and not any("w 0" in lines[0] for lines, *_ in found)


@pytest.mark.parametrize(
    ("ran", "why"),
    [
        ((["same\nw 7 \n\n", ""], ERROR), "line 20: .* prints nothing else"),
        ((["", ""], ERROR), "line 20: .* prints nothing else"),
        ((["", "TypeError: no"], ERROR), "line 20: .* raises TypeError: write 'old ->"),
        ((OTHER, ["same\nw 1", ""]), "line 21: .* raises nothing: drop 'raises'"),
        ((["1\n2\n3", ""], ERROR), "line 15: .* differ in over 2 lines"),
        ((["same\n" + "a " * 200, ""], ["", "a " * 199]), "line 15: .* over 2 lines"),
    ],
)
def test_what_is_no_other_answer_is_refused(
    tmp_path: Path, ran: tuple[list[str], ...], why: str
) -> None:
    with pytest.raises(ExtensionError, match=rf"^a\.py, {why}"):
        offered(tmp_path, *ran)


def test_what_differs_each_time_has_no_answers(tmp_path: Path) -> None:
    (question,) = questions(tmp_path, CLONED, ITSELF)
    for last, live in (("1", "2"), ("2", "1")):
        ran = [["1", ""], OTHER, ERROR, [last, ""]]
        with pytest.raises(ExtensionError, match="has another answer each time"):
            answers.choices_for(question, ran, live, [])


# What is run


@pytest.mark.slow
def test_programs_run_in_a_process_and_a_folder_of_their_own(tmp_path: Path) -> None:
    changes = "import warnings; open('left', 'x'); torch.Tensor.numel = None"
    start = START.replace("print('made')", changes)
    (good,) = questions(tmp_path, CLONED, ITSELF)
    asked = [[start, *program[1:]] for program in good.programs[:1]]
    asked += [*good.programs, ["import warnings", "warnings.warn('w')"]]
    changed, *right, warned = in_fresh_process(programs.run_all, "a.py", asked)
    # The assertion, which doesn't hold once something is exchanged, is left out.
    assert changed == right[0] == right[3] == ("same\nw [7.0, 0.0]\n", "")
    assert right[1] == ("same\nw [0.0, 0.0]\n", "")
    assert right[2][1].startswith("RuntimeError: a view of a leaf")
    assert warned == ("", "UserWarning: w")
    assert torch.ones(2).numel() == 2 and not Path("left").exists()


# What a page shows


def checked(box: Tag) -> dict[str, Tag]:
    """Return the radio buttons above a box, by what the answers show; look at them."""
    choices = box.find_previous_sibling()
    found = {label.code.get_text(): label.input for label in choices.select("label")}
    assert len(found) == 3, "two answers are equal"
    (right,) = [text for text, radio in found.items() if radio.has_attr("data-right")]
    printed = " ".join(
        pre.get_text()
        for pre in box.select("pre")
        if not pre.find_parent(
            class_=["cell_input", "highlight-Python", "other-machine"]
        )
    )
    for line in right.replace("\N{HORIZONTAL ELLIPSIS}", "").split("\n"):
        assert " ".join(line.split()) in " ".join(answers.normal(printed).split())
    for text, radio in found.items():
        assert len(text.split("\n")) <= 2
        wrong = r"No\. With(out)? `.+` it (prints that|raises that error)\."
        wording = r"Right\." if radio.has_attr("data-right") else wrong
        assert re.fullmatch(wording, radio["data-said"]), radio["data-said"]
    return found


def test_every_question_has_three_short_answers(site: Path) -> None:
    places = []
    pages = [page_of(site, script) for script in SCRIPTS if of_lesson(script)]
    for page in [*pages, site / "self_check.html"]:
        for box in soup(page).select("article details.predict"):
            if page.stem not in ("memory_of_a_copy", "pages_of_a_copy"):  # measured
                radios = list(checked(box).values())
                places.append([r.has_attr("data-right") for r in radios].index(True))
    assert len(places) == 64
    assert {0, 1, 2} == set(places), "the right answer has always the same place"


# In a browser

DETACH = next(script for script in SCRIPTS if script.stem == "detach")
CHOICES = ".predict-choices"
WRONG, RIGHT = "input:not([data-right])", "input[data-right]"
FITS = "document.documentElement.scrollWidth <= innerWidth"


def test_a_choice_is_judged_and_opens_the_proof(browser: Any, site: Path) -> None:
    page = browser.new_page(viewport={"width": 320, "height": 700})
    page.goto(page_of(site, DETACH).as_uri())
    box, proof = page.locator(CHOICES).first, page.locator("details.predict").first
    assert box.get_by_role("radio").count() == 3
    assert page.get_by_role("group", name="What is w now?").is_visible()
    asked = proof.locator(".predict-question").bounding_box()
    assert asked["width"] <= 1, "the question stands twice"
    answer, said = proof.locator(".predict-answer"), box.get_by_role("status")
    assert said.text_content() == "" and not answer.is_visible()
    # By keyboard: arrows go round without choosing, the space bar chooses.
    radios = box.locator("input")
    radios.nth(0).focus()
    page.keyboard.press("ArrowUp")
    assert radios.nth(2).evaluate("(radio) => radio === document.activeElement")
    assert box.locator("input:checked").count() == 0
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    answer.wait_for(state="visible")
    assert radios.nth(0).is_checked()
    box.locator(WRONG).first.check()
    told = box.locator(WRONG).first.get_attribute("data-said").replace("`", "")
    assert said.text_content() == told and said.locator("code").count() >= 1
    assert box.locator("label.wrong").count() == box.locator("label.right").count() == 1
    assert box.locator(f"label.right > {RIGHT}").count() == 1
    box.locator(RIGHT).check()
    assert said.text_content() == "Right." and not box.locator("label.wrong").count()
    assert page.evaluate(FITS)
    # A lesson keeps no score.
    assert page.evaluate("localStorage.getItem('tensor-copies-check')") is None
    page.emulate_media(media="print")
    assert box.locator("label").nth(2).is_visible() and answer.is_visible()
    page.close()


def test_without_scripts_the_answer_is_opened_by_hand(browser: Any, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "self_check.html").as_uri())
    assert not page.locator(CHOICES).first.is_visible()
    assert not page.locator(".predict-score").first.is_visible()
    proof = page.locator("details.predict").first
    assert proof.locator(".predict-question").is_visible()
    proof.locator("summary").click()
    assert proof.locator(".predict-answer pre").first.is_visible()
    page.emulate_media(media="print")
    assert page.locator(CHOICES).first.locator("label").first.is_visible()
    context.close()


def test_the_score_counts_first_answers_and_is_kept(browser: Any, site: Path) -> None:
    context = browser.new_context(viewport={"width": 320, "height": 700})
    page = context.new_page()
    page.goto((site / "self_check.html").as_uri())
    boxes, scores = page.locator(CHOICES), page.locator(".predict-score")
    count = boxes.count()
    assert scores.count() == 2
    assert scores.nth(0).text_content().startswith(f"{count} questions.")
    boxes.nth(0).locator(RIGHT).check()
    boxes.nth(1).locator(WRONG).first.check()
    boxes.nth(1).locator(RIGHT).check()  # too late
    link = page.locator("details.predict").nth(1).locator("a[href*=auto_examples]")
    address = link.get_attribute("href")
    for place in (0, 1):
        said = scores.nth(place).locator("p").text_content()
        assert said.startswith(f"1 of 2 right, {count - 2} to go")
        assert scores.nth(place).locator("a").get_attribute("href").endswith(address)
    assert page.evaluate(FITS)
    page.reload()
    assert scores.nth(0).locator("strong").text_content() == "1 of 2 right"
    assert boxes.nth(1).locator("label.wrong input").is_checked()
    assert not page.locator("details.predict[open]").count()
    for place in range(2, count):
        boxes.nth(place).locator(RIGHT).check()
    said = scores.nth(1).locator("p").text_content()
    assert said.startswith(f"{count - 1} of {count} right") and "to go" not in said
    scores.nth(1).get_by_role("button", name="Start again").click()
    assert scores.nth(0).text_content().startswith(f"{count} questions.")
    assert not page.locator(f"{CHOICES} input:checked").count()
    assert not page.locator("details.predict[open]").count()
    assert (
        boxes.nth(0)
        .locator("input")
        .first.evaluate("(radio) => radio === document.activeElement")
    )
    page.reload()
    assert scores.nth(0).text_content().startswith(f"{count} questions.")
    context.close()
