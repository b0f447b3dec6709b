"""Two builds of the same are the same, whoever makes them, and when and where."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import computing_page, lesson, new_tiny_site
from reading import soup
from reproduce import (
    DAY,
    FIRST,
    OTHER,
    SECOND,
    TIMED_THERE,
    differences,
)
from tensor_copies.machine import days, fingerprint

MAPPED = lesson(
    "Mapped",
    'import torch\nx = torch.ones(2)\ny = x.detach()\nprint("mapped")\n'
    '# sphinx_gallery_tensor_map_lead = "x, y"',
)
INDEX = "# Tiny\n\n```{toctree}\nauto_examples/index\ncomputes\n```\n"


@pytest.mark.slow
def test_a_clean_build_is_the_same_elsewhere(tmp_path: Path) -> None:
    sites = []
    for name, variables in (("first", FIRST), ("the second, it's another", SECOND)):
        site = new_tiny_site(tmp_path / name)
        site.write_lessons({"mapped.py": MAPPED})
        (site.folder / "docs" / "computes.md").write_text(computing_page())
        (site.folder / "docs" / "index.md").write_text(INDEX)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": DAY, **variables}
        # A seed of hashes counts from the start of a Python only.
        built = site.build_alone(env=environment)
        assert built.status == 0, built.output
        sites.append(site)
    found = differences(*(site.html for site in sites), timed=())
    assert found == [], "\n".join(map(str, found))
    for page in (sites[0].page("mapped"), sites[0].html / "computes.html"):
        said = soup(page).select_one("p.stamp").get_text()
        assert said.strip().endswith("on 9 September 2001.")


def test_what_differs_is_listed_with_its_place(tmp_path: Path) -> None:
    texts = {
        "same.html": ("as it was",) * 2,
        "numbers.html": ("<p>took 1.5 ms", "<p>took 12 ms"),
        "words.html": ("one\n<p>is faster", "one\n<p>is slower"),
        "timed.html": ("a is faster", "b is faster"),
        "_images/sphx_glr_timed_card.png": (b"\x89\xff1", b"\x89\xff22"),
        "first.html": ("", None),
        "index.html": (
            "<ul><li><a href='other.html'>b<li><a href='timed.html'>is faster",
            "<ul><li><a href='other.html'>b<li><a href='timed.html'>is slower",
        ),
        "genindex.html": (
            "<ul><li><a href='other.html'>b<li><a href='timed.html'>is faster",
            "<ul><li><a href='other.html'>c<li><a href='timed.html'>is faster",
        ),
    }
    sites = [tmp_path / "1", tmp_path / "2"]
    for name, both in texts.items():
        for site, text in zip(sites, both, strict=True):
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            if text is not None:
                as_bytes = text if isinstance(text, bytes) else text.encode()
                (site / name).write_bytes(as_bytes)
    found = {one.file: one for one in differences(*sites, timed={"timed"})}
    assert {name: one.why for name, one in found.items()} == {
        "first.html": OTHER,
        "genindex.html": OTHER,
        "numbers.html": OTHER,
        "words.html": OTHER,
        "index.html": TIMED_THERE,
        "_images/sphx_glr_timed_card.png": TIMED_THERE,
        "timed.html": TIMED_THERE,
    }
    assert found["words.html"].place == "  - <p>is faster\n  + <p>is slower"


def test_the_day_is_in_utc_or_what_source_date_epoch_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(days.EPOCH, raising=False)
    midnight = int(DAY) // 86400 * 86400
    assert days.day_of(midnight - 1) == "2001-09-08"
    assert days.day_of(midnight) == "2001-09-09"
    monkeypatch.setenv(days.EPOCH, "0")
    assert days.today() == "1970-01-01"
    for said in ("yesterday", "1e9", "9" * 20):
        monkeypatch.setenv(days.EPOCH, said)
        with pytest.raises(fingerprint.UnfitMachine, match=f"EPOCH is '{said}'"):
            fingerprint.check()
