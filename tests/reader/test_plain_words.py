"""Words of the makers that no reader searches for stay off the pages."""

import copy
import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag

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
# Code, and what others said.
NO_PROSE = "pre, code, svg, script, style, .folk, .claim, .headerlink"


def offenders(article: Tag) -> list[str]:
    """Return where a word stands that has a plainer one, with that one."""
    article = copy.copy(article)
    for part in article.select(NO_PROSE):
        part.replace_with(" ")
    text = " ".join(article.get_text().split())
    return [
        f"...{text[max(found.start() - 40, 0) : found.end()]}: better {plainer}"
        for word, plainer in WORDS.items()
        for found in re.finditer(rf"\b({word})\b", text, re.IGNORECASE)
    ]


def test_a_page_says_it_in_plain_words(pages: dict[Path, BeautifulSoup]) -> None:
    said = {path.name: offenders(page.article) for path, page in pages.items()}
    assert {name: found for name, found in said.items() if found} == {}
