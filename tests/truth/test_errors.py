"""Error messages and silent mistakes: read as a reader does, and cured again.

The cures are run by cured.py, which knows nothing of the code that makes the pages.
"""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import Tag
from cured import signs_of
from docutils import nodes
from docutils.utils import new_document
from IPython.core.interactiveshell import InteractiveShell
from reading import ROOT, soup
from sphinx.errors import ExtensionError
from tensor_copies.errors import messages, pairs
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.gallery.pages import cells

SOURCES = sorted((ROOT / "docs" / "errors").glob("*.md"))
ANCHORS = (ROOT / "tests" / "truth" / "error_anchors.txt").read_text("utf-8").split()
CAUSE = ":scope > p:not(.seen-by)"
PARTS = ("h2", ".stream", CAUSE, ".cures ol > li", ".foot > details")
NO_MESSAGE = "(no message with torch"  # an older one than the tag of the cell says


def entries_of(site: Path, page: Path) -> list[Tag]:
    return soup(site / "errors" / f"{page.stem}.html").select("section.entry")


def message_of(entry: Tag) -> str:
    return entry.select_one(".stream").get_text().strip()


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.stem)
def test_a_fresh_process_sees_the_signs(page: Path, site: Path, tmp_path: Path) -> None:
    given = [(cell.tags, cell.code) for cell in cells(page)]
    rows = in_fresh_process(signs_of, given, tmp_path)
    entries = entries_of(site, page)
    kinds = ".cures ol > li", ".cures ul > li"
    cards = [one for entry in entries for kind in kinds for one in entry.select(kind)]
    for card, (code, seen) in zip(cards, rows, strict=True):
        assert card.select_one("pre").get_text().strip() == re.sub(r"\n\w+$", "", code)
        is_wrong = card.parent.name == "ul"
        assert bool(card.select(".no[aria-label]")) == is_wrong, code
        use, raised = card.select_one("use"), card.select_one(".raised")
        assert is_wrong or not raised, code
        sign = use["href"].removeprefix("#sign-") if use else None
        assert seen in (None, raised.text if raised else sign), code
        assert not use or [*card.parents][-1].find(id=f"sign-{sign}"), code


def test_every_entry_is_a_card_with_its_parts_in_order(site: Path) -> None:
    entries = [entry for page in SOURCES for entry in entries_of(site, page)]
    assert sorted(entry["id"] for entry in entries) == sorted(ANCHORS)
    for entry in entries:
        parts = [*map(entry.select_one, PARTS)]
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
            said = " ".join(entry.select_one(CAUSE).get_text().split())
            cause = one["cause"].replace("`", "").removesuffix("...").strip()
            assert said.startswith(cause), one["anchor"]


# A subject, a cure of it, what must be true, and what is said: the kind of x that the
# subject is, or why the cure is none.
CURES = [
    ("w", "x.clone()", "result is not x", "leaf"),
    ("w * 2", "x.clone()", "True", "nonleaf"),
    ("w.data", "x.clone()", "True", "constant"),
    ("w.data.t()", "x.clone()", "True", "view"),
    ("w", "x.numpy()", "True", "the cure .*RuntimeError"),
    ("w", "x.detach()", "result is x", "the cure .*not true"),
    ("w", "import warnings\nwarnings.warn('no')\nx", "True", "the cure .*UserWarn"),
]


def said_of_cures() -> list[str]:
    """Return what is said of each, in a process of its own."""
    InteractiveShell.instance().ex("import torch")
    from tensor_copies.errors.kernel import run_cure  # it asks for the shell

    said = []
    for subject, code, truth, _ in CURES:
        setup = f"w = torch.ones(2, 3).requires_grad_()\nx = {subject}"
        try:
            said.append(run_cure(setup, code, "x", truth, "cure")["state"])
        except AssertionError as error:
            said.append(str(error))
    return said


def test_a_cure_leads_to_its_kind_of_x_and_what_is_none_is_refused() -> None:
    for said, (*_, wanted) in zip(in_fresh_process(said_of_cures), CURES, strict=True):
        assert re.fullmatch(f"(?s){wanted}.*", said)


@pytest.mark.parametrize("given", ["", "ValueError: no", "UserWarning: yes"])
def test_a_tag_names_the_type(given: str, caplog: pytest.LogCaptureFixture) -> None:
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
    code = "a = 1\nb = {}\na += 1\n\nprint(b)\nassert b == {}"
    found = pairs.differing(code.format("a", 2), code.format("a.clone()", 1))
    assert found == ([2], [2])
    assert pairs.differing("x\nprint(1)", "x\nprint(2)") == ([2], [2])
    assert pairs.differing("x", "x\ny\n\nz") == ([], [2, 4])


def test_wrong_without_right_is_refused() -> None:
    doctree = new_document("page")
    doctree += nodes.container(classes=["cell", "tag_wrong"])
    app = SimpleNamespace(env=SimpleNamespace(docname="page", metadata={}))
    with pytest.raises(ExtensionError, match="page: after each cell tagged `wrong`"):
        pairs.arrange(app, doctree)
