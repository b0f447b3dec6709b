"""Answers to choose from: what is exchanged, what is run, what a page offers."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest
from bs4 import Tag
from conftest import PATIENCE, TinySite, lesson
from reading import SCRIPTS, page_of, soup
from recording import pretend_other_machine, record
from tensor_copies.lessons.choices import run
from tensor_copies.lessons.exchanges import LEFT_OUT, BadExchange, exchanges

PROGRAM = """w = torch.ones(2, requires_grad=True)
z = w.detach()
z[0] = 7.0
print(f"{w.detach()[0].item() = }")
assert w.clone() is not w
"""
WITHOUT_CHOICES = ("3_tips",)  # most of these lessons measure


def said(program: str, *named: str, **options: bool) -> list[str]:
    found = exchanges(["import torch\n", program], list(named), **options)
    return [one.said.replace("``", "`") for one in found]


# What is exchanged


def test_calls_are_put_in_left_out_and_flipped_nearest_first() -> None:
    found = said(PROGRAM)
    assert found[:3] == [
        "With `z = w.detach().clone()`",
        "With `z = w`",
        "With `z = w.clone()`",
    ]
    assert "With `w = torch.ones(2, requires_grad=False)`" in found
    assert found[-1] == "Without `z[0] = 7.0`", "what leaves out the write comes last"
    assert LEFT_OUT == 3 and len(set(found)) == len(found)


def test_each_exchange_changes_one_place_and_is_python() -> None:
    for one in exchanges(["import torch\n", PROGRAM], []):
        ast.parse(one.code)
        changed = [
            (old, new)
            for old, new in zip(
                PROGRAM.splitlines(), one.code.splitlines(), strict=True
            )
            if old != new
        ]
        assert one.block == 1 and 1 <= len(changed) <= 2
        # Neither what a format says nor an assertion is a call of the program.
        assert not any("print" in old or "assert" in old for old, _ in changed)


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        ("n = t.numpy()", "With `n = t.numpy().copy()`"),
        ("x = torch.from_numpy(n)", "With `x = torch.tensor(n)`"),
        ("x = torch.tensor(n)", "With `x = torch.from_numpy(n)`"),
        ("y = x.cpu()", "With `y = x.cpu().clone()`"),
        ('y = x.to("cpu", copy=True)', 'With `y = x.to("cpu", copy=False)`'),
        ("n += 1", "With `n = n + 1`"),
        ("n = n + 1", "With `n += 1`"),
        ("b = copy.deepcopy(a)", "With `b = a`"),
        ("b = a[1:]", "With `b = a[1:].clone()`"),
        ("y = (h * h).sum()", "With `y = (h * h.detach()).sum()`"),
        (
            "with torch.no_grad():\n    w.fill_(1)",
            "With `torch.enable_grad()` in the place of `torch.no_grad()`",
        ),
        ("y.sum()\nh.retain_grad()", "With `h.retain_grad()` before `y.sum()`"),
        ("b = '\N{EURO SIGN}', a.detach()", "With `b = '\N{EURO SIGN}', a.clone()`"),
    ],
)  # fmt: skip
def test_what_is_exchanged(program: str, wanted: str) -> None:
    assert wanted in said(program)


def test_an_author_names_an_exchange() -> None:
    found = said(PROGRAM, "= w.detach() -> = w.data", "z[0] = 7.0 ->")
    assert found[:2] == ["With `z = w.data`", "Without `z[0] = 7.0`"]
    for wrong, why in (
        ("w.detach()", "is not written as"),
        ("q.detach() -> q", "names what no code"),
        ("z = w.detach() -> z = ", "it is no Python"),
    ):
        with pytest.raises(BadExchange, match=why):
            exchanges([PROGRAM], [wrong])


def test_programs_of_a_page_are_left_alone_but_for_the_last() -> None:
    both = ["a = b.clone()\n", "print(a)\n"]
    assert {one.block for one in exchanges(both, [])} == {0}
    assert exchanges(both, [], only_last=True) == []


# What is run


def job(*blocks: str, asked: tuple[str, ...] = ()) -> dict:
    fields = ("block", "code", "named", "late")
    return {
        "name": "a.py",
        "blocks": blocks,
        "asked": asked,
        "exchanges": [
            {field: getattr(one, field) for field in fields}
            for one in exchanges(list(blocks), [])
        ],
    }


@pytest.mark.slow
def test_programs_are_run_apart_bounded_and_compared() -> None:
    start = "import torch\nw = torch.ones(2, requires_grad=True)\n"
    ends = "z = w.detach()\nz[0] = 7.0\nassert z is w\nprint('w', w.tolist())\n"
    hangs = "c = torch.ones(1).clone()\nwhile not c.is_leaf or c[0] < 1: pass\nprint(1)"
    fails = "raise SystemExit\n"
    random = "z = torch.rand(3).clone()\nprint(z)\n"
    settings = "import os\nprint(torch.get_default_dtype(), os.getcwd() != '/')\n"
    leaves = f"torch.set_default_dtype(torch.float64)\n{ends}"
    begun = run(
        [
            job(start, ends, asked=("w",)),
            job(start, hangs.replace("c[0] < 1", "True")),
            job(start, fails),
            job(start, random),
            job(start, leaves),
            job(start, settings),
        ],
        seconds=3,
    )
    found = [answer.result(PATIENCE) for answer in begun]
    shown, hung, failed, drawn, left, clean = found
    assert shown["right"] == "w [7.0, 1.0]"  # the assertion would have failed
    assert [wrong["text"] for wrong in shown["wrong"]][:2] == [
        "w [1.0, 1.0]",
        "RuntimeError: a view of a leaf Variable that requires grad is being used "
        "in an in-place operation.",
    ]
    assert [bool(wrong["raises"]) for wrong in shown["wrong"]][:2] == [False, True]
    for unfit in (hung, failed, drawn):
        assert unfit == {"right": None, "wrong": []}
    assert left["right"] == shown["right"]
    assert clean["right"] == "torch.float32 True"


# What a page offers


def boxes(page: Path) -> list[Tag]:
    return soup(page).select("article details.predict")


def checked(box: Tag) -> dict[str, Tag]:
    """Return the radio buttons above a box, by what the answers show; look at them."""
    choices = box.find_previous_sibling()
    if choices.name != "fieldset":
        return {}
    answers = {label.code.get_text(): label.input for label in choices.select("label")}
    assert len(answers) == 3, "two answers are equal"
    (right,) = [text for text, radio in answers.items() if radio.has_attr("data-right")]
    printed = "\n".join(
        pre.get_text()
        for pre in box.select("pre")
        if not pre.find_parent(class_=["cell_input", "highlight-Python", "recorded"])
    )
    assert set(right.split("\n")) <= {line.rstrip() for line in printed.split("\n")}
    for radio in answers.values():
        is_right = radio.has_attr("data-right")
        wording = (
            r"Right\." if is_right else r"No\. With(out)? `.+` it (prints|raises).*"
        )
        assert re.fullmatch(wording, radio["data-said"]), radio["data-said"]
    assert choices.legend.get_text().startswith(box.summary.get_text().strip())
    return answers


def test_every_question_has_three_answers(site: Path) -> None:
    names = []
    for script in SCRIPTS:
        for box in boxes(page_of(site, script)):
            answers = checked(box)
            assert answers or script.parent.name in WITHOUT_CHOICES, script.name
            names += [radio["name"] for radio in answers.values()]
    assert names
    places = []
    for box in boxes(site / "self_check.html"):
        answers = list(checked(box).values())
        assert answers, box.find_parent("section")["id"]
        places += [n for n, radio in enumerate(answers) if radio.has_attr("data-right")]
    assert {0, 1, 2} == set(places), "the right answer has always the same place"


ASKING = """import torch
w = torch.zeros(2, requires_grad=True)
z = w.detach()
print('made')
"""
ASKED = """z[0] = {number}
print("w", w.tolist())
# sphinx_gallery_predict = "What does ``w`` hold?"
"""
TIMED = """import time
c = torch.ones(1).clone()
print(time.perf_counter(), c)
# sphinx_gallery_predict = "When?"
"""


def test_wrong_answers_come_from_runs_and_change_with_the_program(
    tiny_site: TinySite, tmp_path: Path
) -> None:
    other = {"timed.py": lesson("Timed", "import torch\nprint(1)\n", TIMED)}
    for number in ("7.0", "8.0"):
        asked = ASKED.format(number=number)
        tiny_site.write_lessons({"a.py": lesson("A", ASKING, asked), **other})
        built = tiny_site.build()
        assert built.status == 0, built.output
        (box,) = boxes(tiny_site.page("a"))
        answers = checked(box)
        right = f"w [{number}, 0.0]"
        assert answers[right]["data-said"] == "Right."
        assert answers["w [0.0, 0.0]"]["data-said"] == (
            "No. With `z = w.detach().clone()` it prints that."
        )
    assert "wrong answers to 1 question" in built.output  # the other lesson's are kept
    (box,) = boxes(tiny_site.page("timed"))
    assert checked(box) == {}, "what is measured has no right answer to choose"
    assert not soup(tiny_site.page("timed")).select("script[src*='predict.js']")
    # The same from nothing, and with an exchange that the author names.
    clean = tiny_site.copy_to(tmp_path / "clean")
    shutil.rmtree(clean.folder / "build" / "predictions")
    shutil.rmtree(clean.folder / "build" / "doctrees")
    assert clean.build().status == 0
    assert clean.page("a").read_text() == tiny_site.page("a").read_text()
    script = clean.folder / "examples" / "1_first" / "a.py"
    named = 'predict_instead = "w.detach() -> w.detach() * 2"\n'
    script.write_text(script.read_text() + f"# sphinx_gallery_{named}")
    assert clean.build().status == 0
    (box,) = boxes(clean.page("a"))
    assert "With `z = w.detach() * 2`" in str(box.find_previous_sibling())
    script.write_text(script.read_text().replace("w.detach() ->", "v.detach() ->"))
    built = clean.build()
    assert built.status != 0
    assert "a.py, line" in built.output and "names what no code" in built.output
    assert "Traceback" not in built.output


MOVED = """import torch
x = torch.zeros(1)
y = x.cpu()
z = x.clone()
print('made')
"""
MOVED_ASKED = """y += 1
z += 10
print("x", x.item())
# sphinx_gallery_predict = "What does ``x`` hold?"
"""


def test_what_another_machine_prints_is_never_wrong(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", MOVED, MOVED_ASKED)})
    assert tiny_site.build().status == 0
    (box,) = boxes(tiny_site.page("a"))
    alone = checked(box)
    assert "x 0.0" in alone and "x 1.0" in alone
    assert "torch" not in box.find_previous_sibling().legend.get_text()
    done = record(tiny_site)
    assert done.status == 0, done.output
    pretend_other_machine(tiny_site, lambda line: line.replace("x 1.0", "x 0.0"))
    assert tiny_site.build().status == 0
    (box,) = boxes(tiny_site.page("a"))
    assert "x 0.0" in box.get_text()
    answers = checked(box)
    assert "x 0.0" not in answers and "data-right" in answers["x 1.0"].attrs
    assert "On CPU, torch" in box.find_previous_sibling().legend.get_text()
