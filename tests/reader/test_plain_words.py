"""Words of the makers that no reader searches for stay off the pages."""

import re
import tomllib
from pathlib import Path

from bs4 import BeautifulSoup, Tag

# Patterns of such words, each with what a page says instead.
WORDS = tomllib.loads(Path(__file__).with_name("plain_words.toml").read_text("utf-8"))
# Code, and what others said.
NO_PROSE = "pre, code, svg, script, style, .folk, .claim, .headerlink"


def offenders(article: Tag) -> list[str]:
    """Return where a word stands that has a plainer one, with that one."""
    left_out = {id(text) for one in article.select(NO_PROSE) for text in one.strings}
    words = (" " if id(one) in left_out else one for one in article.strings)
    text = " ".join("".join(words).split())
    return [
        f"...{text[max(found.start() - 40, 0) : found.end()]}: better {plainer}"
        for word, plainer in WORDS.items()
        for found in re.finditer(rf"\b({word})\b", text, re.IGNORECASE)
    ]


def test_a_page_says_it_in_plain_words(pages: dict[Path, BeautifulSoup]) -> None:
    said = {path.name: offenders(page.article) for path, page in pages.items()}
    assert {name: found for name, found in said.items() if found} == {}
