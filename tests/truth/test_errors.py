"""The error index, read as a reader reads it and raised again in a process of its own.

Nothing here uses the code that makes the page: the entries come from the built HTML,
the messages from a fresh Python that runs the code shown there.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import torch
from bs4 import Tag
from conftest import PATIENCE, ROOT
from docutils import nodes
from docutils.utils import new_document
from reading import parsed, soup
from sphinx.errors import ExtensionError
from tensor_copies.errors import cards, costs, elsewhere, messages, pairs
from tensor_copies.explorer.chains import expression_of
from tensor_copies.explorer.data import Explorer

SOURCES = sorted((ROOT / "docs" / "errors").glob("*.md"))
FEWEST_ENTRIES = 40
NO_MESSAGE = "(no message with torch"  # an older one than the tag of the cell says
SAID = rf"\w+(Error|Warning): \S|{re.escape(NO_MESSAGE)}"
# Runs each snippet after the two imports, as a reader would, and says what it gave.
RUN = """
import json, sys, warnings
import numpy as np, torch
torch.set_warn_always(True)
out = []
for code in json.load(sys.stdin):
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(code, {"__name__": "__main__", "np": np, "torch": torch})
        except Exception as error:
            said = [type(error).__name__ + ": " + str(error)]
    given = [w.category.__name__ + ": " + str(w.message) for w in caught]
    out.append(list(dict.fromkeys(given)) + said)
print(json.dumps(out))
"""


@dataclass
class Shown:
    """One entry of a built page."""

    anchor: str
    section: Tag
    code: str
    message: str
    page: Path


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Path]:
    return {path.stem: site / "errors" / f"{path.stem}.html" for path in SOURCES}


@pytest.fixture(scope="module")
def shown(pages: dict[str, Path]) -> list[Shown]:
    cells = ".cell:is(.tag_raises-exception, .tag_warning)"
    every = [(page, one) for page in pages.values() for one in soup(page).select(cells)]
    found = []
    for page, cell in every:
        section = cell.find_parent("section")
        output = cell.select_one(".cell_output > .stream pre")
        found.append(
            Shown(
                section["id"],
                section,
                section.select_one(".foot .cell_input pre").get_text(),
                output.get_text().strip() if output else "",
                page,
            )
        )
    return found


def plain(message: str) -> str:
    """Return a message without torch's own file names, colours and kinds of blanks."""
    message = re.sub(r"\(Triggered internally at .*?\)", "", message)
    return " ".join(re.sub(r"\x1b\[\d*m", "", message).split())


def sources() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)


def test_every_entry_is_whole(shown: list[Shown]) -> None:
    labels = re.findall(r"^\(([\w-]+)\)=$", sources(), re.MULTILINE)
    assert [entry.anchor for entry in shown] == labels
    assert len(shown) >= FEWEST_ENTRIES
    for entry in shown:
        assert entry.message, f"{entry.anchor} shows no message"
        assert re.match(SAID, entry.message), entry.anchor
        assert entry.section.select(".cures ol > li"), f"{entry.anchor} has no cure"
        lessons = [
            link["href"]
            for link in entry.section.select("a.internal")
            if link["href"].startswith("../auto_examples/")
        ]
        assert lessons, f"{entry.anchor} leads to no lesson"
        assert all((entry.page.parent / href).exists() for href in lessons)


def in_a_fresh_python(code: str, given: Any) -> Any:
    command, text = [sys.executable, "-c", code], json.dumps(given)
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_messages_are_what_a_fresh_python_raises(shown: list[Shown]) -> None:
    given = in_a_fresh_python(RUN, [entry.code for entry in shown])
    for entry, raised in zip(shown, given, strict=True):
        said = "" if entry.message.startswith(NO_MESSAGE) else plain(entry.message)
        assert said == plain(" ".join(raised)), entry.anchor


def test_the_index_lists_every_entry_under_its_old_address(
    site: Path, shown: list[Shown]
) -> None:
    """The entries stood on that page once: links from elsewhere lead there."""
    items = soup(site / "errors.html").select(".error-index li")
    listed = {item["id"]: item.a for item in items}
    written = (ROOT / "tests" / "truth" / "error_anchors.txt").read_text().split()
    assert sorted(listed) == sorted(written) and len(listed) == len(items)
    assert {entry.anchor for entry in shown} == {*listed}
    for entry in shown:
        link = listed[entry.anchor]
        page, _, anchor = link["href"].partition("#")
        assert (site / page, anchor) == (entry.page, entry.anchor)
        title = entry.section.h2.get_text().removesuffix("¶")
        assert title in (link.get_text(), f"You {link.get_text()}")
        group = link.find_parent("ul").find_previous_sibling("p")
        assert group.a["href"] == page


def test_an_entry_is_a_card_with_the_message_first(
    pages: dict[str, Path], shown: list[Shown]
) -> None:
    links = [a for page in pages.values() for a in soup(page).select(".error-index a")]
    assert [link["href"] for link in links] == [f"#{one.anchor}" for one in shown]
    for entry in shown:
        parts = [
            entry.section.h2,
            entry.section.select_one(".stream"),
            entry.section.select_one(":scope > p:not(.seen-by)"),
            entry.section.select_one(".cures"),
            entry.section.select_one(".foot > details"),
        ]
        assert None not in parts, entry.anchor
        places = [str(entry.section).index(str(part)) for part in parts]
        assert places == sorted(places), entry.anchor
        for met in entry.section.select(".met"):  # typed: it says where it is read
            sources = met.find_next_sibling("p", class_="seen-by").select("a")
            assert len(sources) == len(met.get_text().splitlines()), entry.anchor
        for other in entry.section.select(".variant"):
            assert other.find_parent("details", class_="wording"), entry.anchor


# -- Cures ---------------------------------------------------------------------------

# Runs cures as a reader would, after the code that comes before the message; looks at
# what a write into the result changes, and asks autograd for a derivative.
RUN_CURES = """
import ast, json, sys, warnings
import numpy as np, torch
warnings.simplefilter("ignore")

def values(one):
    tensor = isinstance(one, torch.Tensor)
    return one.detach().double().tolist() if tensor else np.array(one).tolist()

def is_data(one):
    return isinstance(one, (torch.Tensor, np.ndarray))

def look(entry, cure, names):
    exec(entry["setup"], names)
    subject, code = names.get(entry["subject"]), cure
    *before, last = ast.parse(code).body
    exec(compile(ast.Module(before, []), "cure", "exec"), names)
    if not isinstance(last, ast.Expr):
        return exec(ast.unparse(last), names)
    result = eval(ast.unparse(last), names)
    if not (is_data(subject) and is_data(result)) or "meta" in str(subject):
        return "nothing to compare"
    if result is subject:
        return "itself"
    signs = []
    if getattr(subject, "requires_grad", False):
        asked = getattr(result, "requires_grad", False)
        got = asked and torch.autograd.grad(result.sum(), subject, allow_unused=True)
        signs = ["flows" if got and got[0] is not None else "stops"]
    if isinstance(result, np.ndarray) and not result.flags.writeable:
        return "nothing to compare"  # DLPack before torch 2.9
    old = values(subject)
    inference = isinstance(result, torch.Tensor) and result.is_inference()
    with torch.inference_mode() if inference else torch.no_grad():
        result[(0,) * result.ndim] = 77
    return "-".join(["copies" if values(subject) == old else "shares", *signs])

space, told = {"np": np, "torch": torch}, []
for entry in json.load(sys.stdin):
    for cure in entry["cures"]:
        try:
            told.append(look(entry, cure, dict(space)))
        except Exception as error:
            told.append("raises " + type(error).__name__)
    try:
        exec(entry["code"], space)
    except Exception:
        pass
print(json.dumps(told))
"""


NOTHING = "nothing to compare"
WORDS = {"shares": "shares memory", "copies": "own memory", "itself": "itself"}
WORDS |= {"flows": "gradient flows back", "stops": "gradient stops"}


def handed_over(text: str) -> Iterator[dict[str, Any]]:
    """Read the entries of the source, with what their cells call ``cures`` with."""
    cells = re.findall(r"^```{code-cell} ipython3\n(.*?)^```$", text, re.M | re.S)
    code = ""
    for cell in cells:
        options, _, body = cell.partition("\n\n")
        if re.search("raises-exception|warning", options):
            code = body
        if "\ncures(" in f"\n{body}":
            tree = ast.parse(body).body[-1].value
            names = {"torch": torch, "gpu": torch.cuda.is_available()}
            subject, ranked, *more = (eval(ast.unparse(a), names) for a in tree.args)
            more_of = {
                one.arg: eval(ast.unparse(one.value), names) for one in tree.keywords
            }
            setup = more_of.get("setup", ast.unparse(ast.parse(code).body[:-1]))
            wrong = [*more[0]] if more else []
            folk = more_of.pop("folk", {})
            yield {
                **{"code": code, "setup": setup, "subject": subject, "wrong": wrong},
                **{"ranked": [*ranked], "of_its_own": bool(more_of)},
                "away": "off_cpu" in more_of,
                "folk": [*folk],
            }


def test_each_cure_costs_what_its_card_says(shown: list[Shown]) -> None:
    """The usual one first, as the source has them; each runs in a fresh Python."""
    entries = list(handed_over(sources()))
    assert len(entries) == len(shown)
    asked, signs = [], []
    for entry, card in zip(entries, shown, strict=True):
        for kind, listing in (("ranked", "ol"), ("wrong", "ul")):
            rows = card.section.select(f".cures {listing} > li")
            codes = [textwrap.dedent(code).strip() for code in entry[kind]]
            for row, code in zip(rows, codes, strict=True):
                written = row.select_one("pre").get_text().strip()
                assert written == re.sub(r"\n\w+$", "", code), card.anchor
                assert bool(row.select(".no[aria-label]")) == (kind == "wrong")
                use, raised = row.select_one("use"), row.select_one(".raised")
                sign = use["href"].removeprefix("#sign-") if use else ""
                said = row.select_one(".cost").get_text()
                for part in filter(None, sign.split("-")):
                    assert WORDS[part] in said, (card.anchor, code)
                there = soup(card.page).find(id=f"sign-{sign}")
                assert not sign or there, sign
                if not entry["of_its_own"]:
                    signs.append((card.anchor, code, (raised and raised.text) or sign))
                elif (
                    sign and entry["away"] and "numpy(" in code
                ):  # of a tensor on another device
                    assert sign.startswith("copies"), (card.anchor, code)
        cures = [] if entry["of_its_own"] else [*entry["ranked"], *entry["wrong"]]
        asked.append({**entry, "cures": list(map(textwrap.dedent, cures))})
    told = in_a_fresh_python(RUN_CURES, asked)
    told_of = zip(signs, told, strict=True)
    compared = [(*one, seen) for one, seen in told_of if seen not in (None, NOTHING)]
    assert [one for one in compared if one[-1] != one[-2]] == []
    assert sum(bool(sign) for _, _, sign, _ in compared) > 60


# Runs what people are told to write, after the code before the message.
RUN_FOLK = """
import ast, json, sys, warnings
import numpy as np, torch
told = []
for raising, setup, code in json.load(sys.stdin):
    names = {"np": np, "torch": torch}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(raising, names)
        except Exception:
            pass
        try:
            exec(setup, names)
            *before, last = ast.parse(code).body
            if not isinstance(last, ast.Expr):
                exec(code, names)
            exec(compile(ast.Module(before, []), "folk", "exec"), names)
            told.append(repr(eval(ast.unparse(last), names)))
        except Exception as error:
            told.append(type(error).__name__ + ": " + str(error).split("\\n")[0])
print(json.dumps(told))
"""


def test_what_people_tell_you_does_what_its_card_shows(shown: list[Shown]) -> None:
    asked, cards_say = [], []
    for entry, card in zip(handed_over(sources()), shown, strict=True):
        rows = card.section.select(".told dt")
        for row, code in zip(rows, entry["folk"], strict=True):
            asked.append((entry["code"], entry["setup"], code))
            cards_say.append((card.anchor, row.find_next_sibling("dd").samp))
    assert len(asked) > 20
    for told, (anchor, samp) in zip(
        in_a_fresh_python(RUN_FOLK, asked), cards_say, strict=True
    ):
        begins = samp.get_text().removesuffix(" …")
        assert plain(told).startswith(plain(begins)), (anchor, told)
        assert ("raised" in samp.get("class", [])) == bool(
            re.match(r"\w+(Error|Exception):", told)
        )


def test_a_cure_leads_to_the_chain_that_does_the_same(
    shown: list[Shown], site: Path
) -> None:
    text = (site / "_static" / "explorer_data.js").read_text(encoding="utf-8")
    packed = text.removeprefix("window.explorerData=").rstrip(";\n")
    explorer = Explorer(json.loads(packed))
    chosen = ".cures .cost a[href*='?y=']"
    links = [link for entry in shown for link in entry.section.select(chosen)]
    assert len(links) > 20
    for link in links:
        asked = dict(parse_qsl(urlsplit(link["href"]).query))
        chain = tuple(asked["y"].split("."))
        code = link.find_parent("li").pre.get_text()
        assert expression_of(chain).removeprefix("x") in code.replace(
            '.to("cpu")', ".cpu()"
        )
        seen = explorer.seen(asked.get("on", "cpu"), asked["x"], chain)
        signs = link.parent.use["href"].removeprefix("#sign-").split("-")
        assert ("shares" in signs) == bool(seen["shares_memory"]), link
        if {"flows", "stops"} & set(signs):
            assert ("flows" in signs) == bool(seen["gradient_flows"]), link


def cure(code: str, truth: str = "True", *, strict: bool = True) -> costs.Cure:
    setup = "w = torch.ones(2, requires_grad=True)"
    return costs.Cure("entry", setup, code, "w", truth, strict)


def test_what_is_no_cure_is_refused() -> None:
    space = {"torch": torch}
    good = costs.cost_of(cure("w.detach()", "result is not w"), {**space})
    assert good == costs.Cost(("shares", "stops"), state="leaf")
    for code, truth in (
        ("w.numpy()", "True"),
        ("w.detach()", "result is w"),
        ("import warnings\nwarnings.warn('no')\nw", "True"),
    ):
        with pytest.raises(AssertionError, match="of entry: "):
            costs.cost_of(cure(code, truth), {**space})
    wrong = costs.cost_of(cure("w.numpy()", strict=False), {**space})
    assert wrong == costs.Cost(raises="RuntimeError")


def test_an_entry_gives_what_its_tags_say(tmp_path: Path) -> None:
    page = tmp_path / "errors.md"
    head = "(here)=\n## Heading\n\n```{code-cell} ipython3\n"
    page.write_text(head + ":tags: [warning, UserWarning, since-99.0]\n\n1\n```\n")
    newer = messages.entries(page)["here"]
    newer.check([])  # this torch is older
    newer.check(["UserWarning: a", "TypeError: b"])
    error = replace(newer, kind="raises-exception", since=())
    for given in ([], ["TypeError: b"], ["UserWarning: a", "TypeError: b"]):
        with pytest.raises(messages.WrongMessage, match="here: its code should give"):
            error.check(given)


# -- Other machines, and mistakes that raise nothing ---------------------------------


def test_nothing_of_the_machine_is_in_a_message(pages: dict[str, Path]) -> None:
    text = "".join(soup(page).get_text() for page in pages.values())
    assert not re.search(r"Triggered internally|site-packages|0x[0-9a-f]{4}", text)
    assert "Traceback" not in text


def test_what_other_machines_say_stands_below_and_is_found(
    shown: list[Shown], site: Path
) -> None:
    simulated = filter(None, map(elsewhere._simulated, SOURCES))
    given = [kept.value() for kept in simulated]
    if not given:
        pytest.skip("no device is simulated")
    found = (site / "_static" / "messages.js").read_text(encoding="utf-8")
    known = json.loads(found.removeprefix("window.knownMessages=").rstrip(";\n"))
    listed = {one["anchor"]: one["texts"] for one in known}
    differing = 0
    for entry in shown:
        there = [said[entry.anchor][1] for said in given if entry.anchor in said]
        there = [text or f"({messages.NOTHING})" for text in there]
        there = [text for text in there if text != entry.message]
        below = entry.section.select(".variant:has(.variant-label) pre")
        assert [one.get_text() for one in below] == there, entry.anchor
        older = entry.section.select(".variant:not(:has(.variant-label)) pre, .met")
        typed = [line for one in older for line in one.get_text().splitlines()]
        assert {entry.message, *there, *typed} <= set(listed[entry.anchor])
        differing += len(there)
    assert differing > 5


def test_a_silent_mistake_is_proved_and_cured(site: Path) -> None:
    silent = soup(site / "silent_mistakes.html")
    sections = [h3.parent for h3 in silent.select("section > section > h3")]
    assert len(sections) >= 15
    for section in sections:
        title = section.h3.get_text()
        code = "\n".join(pre.get_text() for pre in section.select(".cell_input pre"))
        assert "assert " in code, title
        assert section.select('a.internal[href^="auto_examples/"]')
        assert section.select(".pair"), title
        for pair in section.select(".pair"):
            wrong, right = pair.find_all("div", recursive=False)
            for side, other, word in ((wrong, right, "Wrong"), (right, wrong, "Right")):
                assert word.lower() in side["class"]
                said = side.select_one("p.side").get_text()
                assert said.startswith(f"{word}: line"), title
                numbers = [int(number) for number in re.findall(r"\d+", said)]
                lines, there = lines_of(side), lines_of(other)
                marked = {mark.get_text() for mark in side.select(".cell_input .hll")}
                assert {f"{lines[at - 1]}\n" for at in numbers} <= marked, title
                own = [line for line in lines if line.strip() and line not in there]
                assert own[0] + "\n" in marked or "print" in own[0], title


def lines_of(side: Tag) -> list[str]:
    return side.select_one(".cell_input pre").get_text().splitlines()


def test_differing_lines_are_found_and_said() -> None:
    wrong = "a = 1\nb = a\na += 1\n\nprint(b)\nassert b == 2"
    right = "a = 1\nb = a.clone()\na += 1\n\nprint(b)\nassert b == 1"
    assert pairs.differing_code(wrong, right) == ([2], [2])
    assert pairs.differing_code("x\nprint(1)", "x\nprint(2)") == ([2], [2])
    assert pairs.differing_code("x", "x\ny\n\nz") == ([], [2, 4])
    said = pairs.differing_in_words
    assert [said([]), said([3])] == ["", "line 3 differs"]
    assert said([1, 2]) == "lines 1 and 2 differ"
    assert said([1, 4, 5, 6, 9]) == "lines 1, 4 to 6 and 9 differ"


def test_wrong_without_right_is_refused() -> None:
    doctree = new_document("page")
    doctree += nodes.container(classes=["cell", "tag_wrong"])
    app = SimpleNamespace(env=SimpleNamespace(docname="page", metadata={}))
    with pytest.raises(ExtensionError, match="page: after each cell tagged `wrong`"):
        pairs.arrange(app, doctree)


def test_what_another_machine_said_is_shown_as_text() -> None:
    hostile = "<script>alert(1)</script>"
    other = {"text": hostile, "label": hostile, "torch": hostile, "is_simulated": False}
    template = cards.TEMPLATES.get_template("errors/wording.html")
    shown = parsed(template.render(others=[other], about_device="machines.html"))
    assert shown.select_one("details.wording .variant pre").get_text() == hostile
    assert not shown.select("script")
