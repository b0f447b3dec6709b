"""The pages of claims: what is wrong is open, the rest is a line, no word is cut."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from reading import soup


@pytest.fixture(scope="module")
def article(site: Path) -> BeautifulSoup:
    return soup(site / "article.html")


def test_the_wrong_claims_are_open_and_the_others_a_line(
    article: BeautifulSoup,
) -> None:
    claims = article.select("details.claim")
    assert [claim.div["id"] for claim in claims] == [f"c{n:02}" for n in range(1, 67)]
    for claim in claims:
        status = claim.summary.select_one(".status").get_text()
        assert claim.has_attr("open") == (status == "wrong or misleading")
    said = re.search(r"\d+ claims: .*checked", article.get_text(" ", strip=True))
    assert said is not None
    counts = Counter(claim.select_one(".status").get_text() for claim in claims)
    names = ["holds", "output text changed", "wrong or misleading", "not checkable"]
    numbers = [len(claims), *(counts[name] for name in names)]
    assert [int(n) for n in re.findall(r"\d+", said[0])] == numbers


def test_what_was_said_stands_beside_what_was_seen(article: BeautifulSoup) -> None:
    table = article.select_one("#c09 table")
    titles = [head.get_text() for head in table.select("thead th")]
    assert titles == ["Asked", "The article", "Seen in this run"]
    said, seen = (cell.get_text(strip=True) for cell in table.select("tbody td"))
    assert said.startswith("tensor(1.,") and seen == "tensor([1.])"


def test_what_did_not_change_is_folded(site: Path) -> None:
    page = soup(site / "changes.html")
    for claim in page.select("details.claim"):
        unchanged = claim.select_one(".status").get_text() == "unchanged"
        assert claim.has_attr("open") != unchanged
        then, now = claim.select(".then-now dd")
        assert then.get_text(strip=True) and now.select("li")


def test_a_link_to_a_folded_claim_opens_it(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}article.html#c04")
    page.wait_for_function("document.querySelector('details:has(#c04)').open")
    assert page.locator("#c04").is_visible()
    summary = page.locator("details:has(> #c04) > summary").bounding_box()
    assert summary is not None and summary["y"] >= 0
    page.close()
