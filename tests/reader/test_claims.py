"""The pages of claims: what is wrong is open, what holds is folded."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from reading import soup


def test_what_is_wrong_is_open_beside_what_was_seen(site: Path) -> None:
    article = soup(site / "article.html")
    claims = article.select("details.claim")
    for claim in claims:
        status = claim.summary.select_one(".status").get_text()
        assert claim.has_attr("open") == (status == "wrong or misleading")
    said = re.search(r"\d+ claims: .*checked", article.get_text(" ", strip=True))
    counts = Counter(claim.select_one(".status").get_text() for claim in claims)
    names = ["holds", "output text changed", "wrong or misleading", "not checkable"]
    numbers = [len(claims), *(counts[name] for name in names)]
    assert [int(n) for n in re.findall(r"\d+", said[0])] == numbers
    said, seen = article.select("#c09 table tbody td")
    assert said.get_text(strip=True).startswith("tensor(1.,")
    assert seen.get_text(strip=True) == "tensor([1.])"
    for claim in soup(site / "changes.html").select("details.claim"):
        unchanged = claim.select_one(".status").get_text() == "unchanged"
        assert claim.has_attr("open") != unchanged
        assert all(one.get_text(strip=True) for one in claim.select(".then-now dd"))


def test_a_link_to_a_folded_claim_opens_it(visit: Any) -> None:
    page = visit("article.html#c04")
    page.wait_for_function("document.querySelector('details:has(#c04)').open")
    assert page.locator("details:has(> #c04) > summary").bounding_box()["y"] >= 0
