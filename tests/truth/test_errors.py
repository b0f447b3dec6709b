"""Error messages and silent mistakes: read as a reader does, and raised again.

The messages and cures are run by a fresh Python that knows nothing of the code which
makes the pages.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import Tag
from docutils import nodes
from docutils.utils import new_document
from IPython.core.interactiveshell import InteractiveShell
from reading import PATIENCE, ROOT, soup
from sphinx.errors import ExtensionError
from tensor_copies.errors import messages, pairs
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.gallery.pages import cells

SOURCES = sorted((ROOT / "docs" / "errors").glob("*.md"))
ANCHORS = (ROOT / "tests" / "truth" / "error_anchors.txt").read_text("utf-8").split()
NO_MESSAGE = "(no message with torch"  # an older one than the tag of the cell says
# Runs the cells of a page as a reader would, and says what each entry gave: its
# message, and of each cure the sign, seen by a write and asked of autograd.
RUN = """
import ast, contextlib, io, json, os, sys, textwrap, types, warnings
import numpy as np, torch

def values(one):
    return one.detach().tolist() if isinstance(one, torch.Tensor) else one.tolist()

def sign(subject, result):
    if not all(isinstance(one, torch.Tensor | np.ndarray) for one in (subject, result)):
        return None
    if result is subject:
        return "itself"
    if "meta" in f"{subject} {result}":
        return None
    signs = []
    if getattr(subject, "requires_grad", False):
        asked = getattr(result, "requires_grad", False)
        got = asked and torch.autograd.grad(result.sum(), subject, allow_unused=True)
        signs = ["flows" if got and got[0] is not None else "stops"]
    if isinstance(result, np.ndarray) and not result.flags.writeable:
        return None  # DLPack before torch 2.9
    old, inference = values(subject), getattr(result, "is_inference", bool)()
    with torch.inference_mode() if inference else torch.no_grad():
        result[(0,) * result.ndim] = 77
    return "-".join(["copies" if values(subject) == old else "shares", *signs])

def value_of(code, names):
    *before, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        return exec(code, names)
    exec(compile(ast.Module(before, []), "cure", "exec"), names)
    return eval(ast.unparse(last), names)

def cures(subject, ranked, wrong=(), *, folk=(), setup=None, away=False):
    if setup is None:
        setup = ast.unparse(ast.parse(entries[-1]["code"]).body[:-1])
    for kind, listing in (("cure", ranked), ("wrong", wrong), ("folk", folk)):
        for code in map(textwrap.dedent, listing):
            names, row = {**space}, {"kind": kind, "code": code.strip(), "sign": None}
            entries[-1]["rows"].append(row)
            try:
                with warnings.catch_warnings(action="ignore"):
                    exec(setup, names)
                    result = value_of(code, names)
                    row["shown"] = repr(result)
                    row["sign"] = None if away else sign(names.get(subject), result)
            except Exception as error:
                row["sign"] = "raises " + type(error).__name__
                row["shown"] = f"{type(error).__name__}: {error}".split("\\n")[0]

sys.modules["tensor_copies.errors.kernel"] = types.SimpleNamespace(cures=cures)
torch.set_warn_always(True)
space, entries = {"__name__": "__main__"}, []
for tags, code in json.load(sys.stdin):
    is_entry = {"raises-exception", "warning"} & {*tags}
    if is_entry:
        entries.append({"code": code, "said": [], "rows": []})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, space)
        except Exception as error:
            if not is_entry:
                raise
            entries[-1]["said"] = [f"{type(error).__name__}: {error}"]
    if is_entry:
        given = [f"{one.category.__name__}: {one.message}" for one in caught]
        entries[-1]["said"] = [*dict.fromkeys(given), *entries[-1]["said"]]
print(json.dumps(entries))
"""


def plain(message: str) -> str:
    """Return a message without places, colours and kinds of blanks."""
    message = re.sub(r"\(Triggered internally at .*?\)", "", message)
    return " ".join(re.sub(r"\x1b\[\d*m|\b0x[0-9a-f]{4,}", "", message).split())


def entries_of(site: Path, page: Path) -> list[Tag]:
    return soup(site / "errors" / f"{page.stem}.html").select("section.entry")


def message_of(entry: Tag) -> str:
    return entry.select_one(".cell_output > .stream pre").get_text().strip()


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.stem)
def test_a_fresh_python_sees_what_the_cards_say(
    page: Path, site: Path, tmp_path: Path
) -> None:
    given = json.dumps([(cell.tags, cell.code) for cell in cells(page)]).encode()
    command = [sys.executable, "-c", RUN]
    done = subprocess.run(
        command, input=given, capture_output=True, cwd=tmp_path, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout.splitlines()[-1])
    for entry, again in zip(entries_of(site, page), seen, strict=True):
        message = message_of(entry)
        raised = [] if message.startswith(NO_MESSAGE) else [plain(message)]
        assert raised == [plain(" ".join(again["said"]))], entry["id"]
        kinds = {"cure": ".cures ol > li", "wrong": ".cures ul > li", "folk": "dt"}
        cards = [(kind, one) for kind in kinds for one in entry.select(kinds[kind])]
        for (kind, card), row in zip(cards, again["rows"], strict=True):
            where = (entry["id"], row)
            written = card.select_one("pre").get_text().strip()
            assert kind == row["kind"], where
            assert written == re.sub(r"\n\w+$", "", row["code"]), where
            if kind == "folk":
                shown = card.find_next_sibling("dd").samp
                begins = shown.get_text().removesuffix(" …") if shown else ""
                assert plain(row.get("shown", "")).startswith(plain(begins)), where
                continue
            assert bool(card.select(".no[aria-label]")) == (kind == "wrong"), where
            use, raised = card.select_one("use"), card.select_one(".raised")
            assert kind == "wrong" or not raised, where
            sign = use["href"].removeprefix("#sign-") if use else None
            if row["sign"] is not None:
                assert (raised.text if raised else sign) == row["sign"], where
            assert not use or [*entry.parents][-1].find(id=f"sign-{sign}"), where


def test_every_entry_is_a_card_with_its_parts_in_order(site: Path) -> None:
    entries = [entry for page in SOURCES for entry in entries_of(site, page)]
    assert sorted(entry["id"] for entry in entries) == sorted(ANCHORS)
    for entry in entries:
        parts = [
            *(entry.h2, entry.select_one(".stream")),
            entry.select_one(":scope > p:not(.seen-by)"),
            *map(entry.select_one, (".cures ol > li", ".foot > details")),
        ]
        places = [str(entry).index(str(part)) for part in parts]
        assert None not in parts and places == sorted(places), entry["id"]
        said = message_of(entry)
        assert said.startswith(NO_MESSAGE) or re.search(r"^\w+: \S", said), entry["id"]
        assert not re.search(r"Triggered internally|site-packages|0x\w{4}", said)
        assert entry.select('a.internal[href^="../auto_examples/"]'), entry["id"]
        for met in entry.select(".met"):  # typed: it says where it is read
            addresses = met.find_next_sibling("p", class_="seen-by").select("a")
            assert len(addresses) == len(met.get_text().splitlines()), entry["id"]


def test_every_entry_is_listed(site: Path) -> None:
    index = soup(site / "errors.html").article
    links = [a["href"] for a in index.select(".toctree-l2 > a")]
    assert len(links) == len(ANCHORS)
    text = (site / "_static" / "messages.js").read_text(encoding="utf-8")
    known = json.loads(text.removeprefix("window.knownMessages=").rstrip(";\n"))
    assert sorted(one["address"] for one in known) == sorted(links)
    for page in SOURCES:
        here = [one for one in known if f"/{page.stem}.html" in one["address"]]
        listed = soup(site / "errors" / f"{page.stem}.html").select(".error-index a")
        assert [a["href"] for a in listed] == [f"#{one['anchor']}" for one in here]
        for entry, one in zip(entries_of(site, page), here, strict=True):
            typed = entry.select(".variant pre, .met")
            lines = [line for part in typed for line in part.get_text().splitlines()]
            assert {message_of(entry), *lines} == {*one["texts"]}, one["anchor"]
            assert one["cure"] == entry.select_one(".cures pre").get_text()
            why = entry.select_one(":scope > p:not(.seen-by)").get_text()
            said = " ".join(why.split())
            cause = one["cause"].replace("`", "").removesuffix("...").strip()
            assert said.startswith(cause), one["anchor"]


def refusals(cures: list[tuple[str, str]]) -> list[str | None]:
    """Return why each cure with its truth is refused, in a process of its own."""
    InteractiveShell.instance().ex("import torch")
    from tensor_copies.errors.kernel import run_cure  # it asks for the shell

    said: list[str | None] = []
    for code, truth in cures:
        try:
            run_cure("w = torch.ones(2).requires_grad_()", code, "w", truth, "cure")
            said.append(None)
        except AssertionError as error:
            said.append(str(error))
    return said


def test_what_is_no_cure_is_refused() -> None:
    warns = "import warnings\nwarnings.warn('no')\nw"
    good = ("w.detach()", "result is not w")
    bad = [("w.numpy()", "True"), ("w.detach()", "result is w"), (warns, "True")]
    kept, *said = in_fresh_process(refusals, [good, *bad])
    assert kept is None
    for text, why in zip(said, ("RuntimeError", "not true", "UserWarn"), strict=True):
        assert text.startswith("the cure ") and why in text


@pytest.mark.parametrize("given", ["", "ValueError: no", "UserWarning: yes"])
def test_a_message_is_of_the_type_that_its_tags_say(
    given: str, caplog: pytest.LogCaptureFixture
) -> None:
    classes = ["cell", "tag_warning", "tag_UserWarning", "tag_since-99.0"]
    cell = nodes.container(classes=classes)
    cell += nodes.literal_block(text=given, classes=["stream"])
    section = nodes.section("", nodes.title(), cell, nodes.paragraph(), ids=["label"])
    section += nodes.raw(cures=[("x.clone()", "a copy")])
    env = SimpleNamespace(docname="page", metadata={"page": {}})
    messages.keep_message(env, section, cell)
    (kept,) = env.metadata["page"]["messages"]
    assert kept["texts"] == [given or f"{NO_MESSAGE} {messages.version('torch')})"]
    assert ("code should give UserWarning" in caplog.text) == ("no" in given)


def test_a_silent_mistake_is_proved_and_cured(site: Path) -> None:
    sections = soup(site / "silent_mistakes.html").select("section.mistake")
    assert len(sections) >= 15
    for section in sections:
        title = section.h3.get_text()
        assert "assert " in "".join(one.text for one in section.select(".cell_input"))
        assert section.select('a.internal[href^="auto_examples/"]'), title
        assert section.select(".pair"), title
        for pair in section.select(".pair"):
            sides = pair.find_all("div", recursive=False)
            assert [side.strong.text for side in sides] == ["Wrong", "Right"], title
            boxes = [side.select_one(".cell_input pre") for side in sides]
            texts = [box.get_text() for box in boxes]
            for box, numbers in zip(boxes, pairs.differing(*texts), strict=True):
                lines = box.get_text().splitlines(keepends=True)
                marked = [one.get_text() for one in box.select(".hll")]
                assert marked == [lines[at - 1] for at in numbers], title


def test_lines_that_differ_are_found() -> None:
    wrong = "a = 1\nb = a\na += 1\n\nprint(b)\nassert b == 2"
    right = "a = 1\nb = a.clone()\na += 1\n\nprint(b)\nassert b == 1"
    assert pairs.differing(wrong, right) == ([2], [2])
    assert pairs.differing("x\nprint(1)", "x\nprint(2)") == ([2], [2])
    assert pairs.differing("x", "x\ny\n\nz") == ([], [2, 4])


def test_wrong_without_right_is_refused() -> None:
    doctree = new_document("page")
    doctree += nodes.container(classes=["cell", "tag_wrong"])
    app = SimpleNamespace(env=SimpleNamespace(docname="page", metadata={}))
    with pytest.raises(ExtensionError, match="page: after each cell tagged `wrong`"):
        pairs.arrange(app, doctree)
