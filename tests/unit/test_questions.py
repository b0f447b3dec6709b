"""The form of a question: its parts, their lengths, its place."""

import re
import tomllib
from collections.abc import Iterator

import pytest
from reading import ROOT
from tensor_copies.gallery.pages import cells_in

DOCS = ROOT / "docs"
PAGES = re.findall(r"^(\w+)$", (DOCS / "questions/index.md").read_text("utf-8"), re.M)
# Lines of a question's source that are not blank, lines of code before the assertions,
# characters of a heading, addresses of threads.
MOST_LINES, MOST_CODE, LONGEST_HEADING, LEAST_ADDRESSES = 28, 12, 80, 2
HEADING = re.compile(r"^(?:\((?P<label>[^()\s]+)\)=\n)?## (?P<heading>.+)\n", re.M)
ADDRESS = re.compile(r"\]\(https?://[^)\s]+\)")
FENCE = re.compile(r"^(```+).*?^\1[ \t]*$", re.M | re.S)


def questions_in(page: str) -> list[tuple[str, str, str]]:
    """Return the label, heading and source of each question of a page, in order."""
    text = (DOCS / f"questions/{page}.md").read_text(encoding="utf-8")
    # A comment in code may look like a heading.
    plain = FENCE.sub(lambda found: re.sub(r"[^\n]", "x", found[0]), text)
    found = list(HEADING.finditer(plain))
    ends = [*(one.start() for one in found[1:]), len(text)]
    return [
        (one["label"] or "", one["heading"], text[one.end() : end])
        for one, end in zip(found, ends, strict=True)
    ]


def faults_of(label: str, heading: str, source: str) -> Iterator[str]:
    """Yield what a question lacks, with what to write."""
    if not label.startswith("q-"):
        yield "has no address: write (q-two-words)= above its heading"
    if len(heading) > LONGEST_HEADING:
        yield f"has a heading of more than {LONGEST_HEADING} characters"
    if len(lines := [*filter(str.strip, source.split("\n"))]) > MOST_LINES:
        yield f"has {len(lines)} lines below its heading, {MOST_LINES} at most"
    if not re.match(r"[^`\-(:#>|]|`[^`]", source.lstrip("\n")):
        yield "does not begin with its answer: write a sentence below its heading"
    codes = [cell.code for cell in cells_in(source)]
    if len(codes) != 1:
        yield f"has {len(codes)} cells that run: show its answer in one"
    for code in codes:
        if not re.search(r"^\s*assert ", code, re.M):
            yield "asserts nothing: end its cell with an assertion"
        shown = [*filter(str.strip, code.partition("\nassert ")[0].split("\n"))]
        if len(shown) > MOST_CODE:
            yield f"has {len(shown)} lines of code, {MOST_CODE} at most"
    _, said, asked = source.rpartition("Asked:")
    if not said or len(ADDRESS.findall(asked)) < LEAST_ADDRESSES:
        yield (
            f"names fewer than {LEAST_ADDRESSES} threads: end it with Asked: "
            "[one](https://...), [another](https://...)"
        )


@pytest.mark.parametrize("page", PAGES)
def test_each_question_has_all_its_parts(page: str) -> None:
    questions = questions_in(page)
    faults = [f"{one[1]!r} {fault}" for one in questions for fault in faults_of(*one)]
    assert questions and not faults, "\n".join(faults)


def test_the_most_asked_stand_first_and_each_address_is_one() -> None:
    demand = tomllib.loads((DOCS / "demand.toml").read_text(encoding="utf-8"))
    asked = {
        label: (one["threads"], one["repositories"])
        for table in demand.values()
        for label, one in table.items()
        if label.startswith("q-")
    }
    on_pages = [[label for label, *_ in questions_in(page)] for page in PAGES]
    for page in on_pages:
        assert page == sorted(page, key=asked.__getitem__, reverse=True)
    threads = [sum(asked[label][0] for label in page) for page in on_pages]
    assert threads == sorted(threads, reverse=True)
    labels = [label for page in on_pages for label in page]
    assert len(labels) == len({*labels}) == len(asked)
