"""Words of the makers that no reader searches for stay off the pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

DOCS = ROOT / "docs"
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.relative_to(DOCS).parts[0] not in ("maintainers", "auto_examples")
]
LESSONS = sorted((ROOT / "examples").rglob("*.py"))
OWN = r"(its|their|your|my) own"
# What no page says, and what it says instead.
WORDS = {
    r"stand-ins?": "simulated device (in CPU memory)",
    r"constants?": "doesn't require grad",
    rf"(a )?memory of {OWN}|memories": "its own memory",
    rf"(counter|version|colour|frame|row|name) of {OWN}": "its own ...",
    r"on (the|one|another) (same )?memory( of)?": "shares memory with",
    r"(is|are|share|in) one memory|another memory|two memories": "the same memory",
    r"(another|second) name (of|for)": "the same tensor as",
    r"(is|are|be) found out": "autograd catches it; backward() raises",
    r"raises? (the|its|their) versions?": "increments the version counter",
    r"(is|are) seen (in|through)": "also changes; shows up in",
    r"cure[sd]?": "fix",
    r"refuse[sd]?|refusing": "raises (name the error); isn't allowed",
    r"turns? of (a|the|this) loop|each turn": "iteration",
    r"(a|an|the|each|every|second) (backward|forward)(?=[.,;:]| (that|of|is|has))":
        "a backward pass, a forward pass; backward()",
    r"gradients? (pass|passes|go on|goes on)": "gradients flow through",
    r"hangs? on": "is connected to; depends on",
    r"anew": "again",
    r"by way of": "through",
    r"for nothing": "needlessly; unused",
    r"(?<!there )(is|are) (?-i:none)": "isn't one",
    r"(?<!there )(is|are) no (leaf|leaves|cop(y|ies)|view|cure|parameter|tensor)":
        "isn't a leaf",
    r"(cop(y|ies)|writes?|raises?|saves?|trains?|changes?) nothing": "doesn't ...",
    r"stays? (as|where) (it|they) (is|are|was|were)": "doesn't change; doesn't move",
    r"data sets?": "dataset",
    r"all the same": "anyway",
    r"go(es|ing)? on": "continues; keeps",
    r"lends?|lent": "passes in",
    r"takes? times": "measures time",
    r"exchanged": "replaced",
    r"(as it|as they) stands?": "unchanged; without it",
}  # fmt: skip
CODE = re.compile(r"\{(code-cell|code-block|eval-rst|toctree)\}")
FOUND = re.compile("|".join(rf"\b({word})\b" for word in WORDS), re.I)


def blank(match: re.Match) -> str:
    """Keep only the line ends of what isn't prose, so that lines keep their number."""
    return " " + "\n" * match[0].count("\n")


def prose_of_page(text: str) -> str:
    """Return a page without front matter, code, labels, and addresses of links."""
    said, fence, is_code = [], "", False
    for line in re.sub(r"\A---\n.*?\n---\n", blank, text, flags=re.DOTALL).split("\n"):
        mark = re.match(r"`{3,}", line)
        if mark and not fence:
            fence = mark[0]
            is_code = not line.startswith(fence + "{") or bool(CODE.search(line))
        elif fence and line == fence:
            fence, is_code = "", False
        elif not is_code and not re.match(r"\([\w-]+\)=$|%|\[[\w-]+\]: ", line):
            said.append(line)
            continue
        said.append("")
    # Of a role or a link the text is read, not the target.
    prose = re.sub(r"\{\w+\}`([^`<]*)(<[^`]*>)?`", r"\1", "\n".join(said))
    prose = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", blank, prose, flags=re.DOTALL)
    return re.sub(r"\]\([^)\s]*\)", "]", prose)


def prose_of_lesson(path: Path) -> str:
    """Return the text blocks of a lesson without literals, on their lines."""
    source, said = path.read_text(encoding="utf-8"), []
    for kind, content, line in split_code_and_text_blocks(str(path))[1]:
        if kind != "text":
            continue
        if not said:  # of a docstring, where its text begins
            line = source.partition(content)[0].count("\n") + 1
        said += [""] * (line - 1 - len(said))
        text = re.sub(r"``.+?``", blank, content, flags=re.DOTALL)
        text = re.sub(r":\w+:`([^`<]*)(<[^`]*>)?`", r"\1", text)
        said += text.splitlines()
    return "\n".join(said)


def offenders(name: str, prose: str) -> list[str]:
    """Return where a word stands that has a plainer one, with that one."""
    told = []
    for match in FOUND.finditer(re.sub(r"(?<=\w)\n(?=\w)", " ", prose)):
        # Joined lines are as long as before, so a place is that of the original.
        line = prose.count("\n", 0, match.start()) + 1
        word = re.sub(r"\s+", " ", match[0])
        plain = next(
            (p for w, p in WORDS.items() if re.search(w, word, re.I)), "another"
        )
        told.append(f"{name}:{line}: {word!r}, better: {plain}")
    return told


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_it_in_plain_words(page: Path) -> None:
    prose = prose_of_page(page.read_text(encoding="utf-8"))
    assert offenders(str(page.relative_to(ROOT)), prose) == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_says_it_in_plain_words(path: Path) -> None:
    assert offenders(str(path.relative_to(ROOT)), prose_of_lesson(path)) == []


def test_code_and_addresses_are_no_prose() -> None:
    said = (
        "---\ntitle: constant\n---\n\n(silent-constant-list)=\n# Title\n\n"
        "`nn.init.constant_` and ``anew``, {doc}`a page <constant>`\n"
        "[a](refused.html)\n\n"
        "```{code-cell} ipython3\n:tags: [a]\n\nrefused = constant\n```\n\n"
        "```python\nanew = 1\n```\n\n[constant]: https://example.org/anew\n\n"
        "The fixed value\n"
    )
    assert offenders("a.md", prose_of_page(said)) == []
    wrong = (
        "---\na: b\n---\nIt is a\nconstant.\n\n```{calls-table}\n"
        "clone: a copy that gradients pass\n```\nOn the\nmemory of it."
    )
    found = offenders("a.md", prose_of_page(wrong))
    assert [one.split(",")[0] for one in found] == [
        "a.md:5: 'constant'", "a.md:8: 'gradients pass'", "a.md:10: 'On the memory of'",
    ]  # fmt: skip
