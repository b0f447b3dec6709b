"""The error index, read as a reader reads it and raised again in a process of its own.

Nothing here uses the code that makes the page: the entries come from the built HTML,
the messages from a fresh Python that runs the code shown there.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag
from conftest import PATIENCE, ROOT, TinySite, new_tiny_site
from docutils import nodes
from docutils.utils import new_document
from reading import soup
from sphinx.errors import ExtensionError
from tensor_copies.errors import pairs
from tensor_copies.explorer.chains import code_of
from tensor_copies.explorer.data import Explorer
from tensor_copies.machine.fingerprint import Fingerprint
from tensor_copies.recordings import format as recordings

SOURCE = ROOT / "docs" / "errors.md"
FEWEST_ENTRIES = 40
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
    """One entry of the built page."""

    anchor: str
    section: Tag
    code: str
    message: str


@pytest.fixture(scope="module")
def page(site: Path) -> BeautifulSoup:
    return soup(site / "errors.html")


@pytest.fixture(scope="module")
def shown(page: BeautifulSoup) -> list[Shown]:
    found = []
    for cell in page.select(".cell:is(.tag_raises-exception, .tag_warning)"):
        section = cell.find_parent("section")
        output = cell.select_one(".cell_output > .stream pre")
        found.append(
            Shown(
                section["id"],
                section,
                section.select_one(".foot .cell_input pre").get_text(),
                output.get_text().strip() if output else "",
            )
        )
    return found


def plain(message: str) -> str:
    """Return a message without torch's own file names, colours and kinds of blanks."""
    message = re.sub(r"\(Triggered internally at .*?\)", "", message)
    return " ".join(re.sub(r"\x1b\[\d*m", "", message).split())


def test_every_entry_is_whole(shown: list[Shown], site: Path) -> None:
    labels = re.findall(r"^\(([\w-]+)\)=$", SOURCE.read_text(), re.MULTILINE)
    assert [entry.anchor for entry in shown] == labels
    assert len(shown) >= FEWEST_ENTRIES
    for entry in shown:
        assert entry.message, f"{entry.anchor} shows no message"
        assert re.match(r"\w+(Error|Warning): \S", entry.message), entry.anchor
        assert entry.section.select(".cures ol > li"), f"{entry.anchor} has no cure"
        lessons = [
            link["href"]
            for link in entry.section.select("a.internal")
            if link["href"].startswith("auto_examples/")
        ]
        assert lessons, f"{entry.anchor} leads to no lesson"
        assert all((site / href).exists() for href in lessons)


def test_the_messages_are_what_a_fresh_python_raises(shown: list[Shown]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps([entry.code for entry in shown]),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    for entry, raised in zip(shown, json.loads(done.stdout), strict=True):
        assert plain(entry.message) == plain(" ".join(raised)), entry.anchor


def test_the_index_leads_to_every_entry_by_what_was_done(
    page: BeautifulSoup, shown: list[Shown]
) -> None:
    links = page.select(".error-index li a")
    assert [link["href"] for link in links] == [f"#{one.anchor}" for one in shown]
    for link, entry in zip(links, shown, strict=True):
        title = entry.section.h3.get_text().removesuffix("¶")
        assert title in (link.get_text(), f"You {link.get_text()}")
        group = link.find_parent("ul").find_previous_sibling("p")
        assert group.a["href"] == f"#{entry.section.parent['id']}"


def test_an_entry_is_a_card_with_the_message_first(shown: list[Shown]) -> None:
    for entry in shown:
        parts = [
            entry.section.h3,
            entry.section.select_one(".stream"),
            entry.section.find("p", recursive=False),
            entry.section.select_one(".cures"),
            entry.section.select_one(".foot > details"),
        ]
        assert None not in parts, entry.anchor
        text = str(entry.section)
        places = [text.index(str(part)) for part in parts]
        assert places == sorted(places), entry.anchor
        for other in entry.section.select(".variant"):
            assert other.find_parent("details", class_="wording"), entry.anchor
        for row in entry.section.select(".cures li"):
            assert row.select_one("pre").get_text().strip(), entry.anchor
            assert bool(row.find_parent("ul")) == bool(row.select(".no[aria-label]"))


def test_a_sign_has_its_drawing_and_its_words(page: BeautifulSoup) -> None:
    drawn = {symbol["id"] for symbol in page.select("symbol")}
    words = {"shares": "shares memory", "copies": "own memory", "itself": "itself"}
    words |= {"flows": "gradient flows back", "stops": "gradient stops"}
    cells = page.select(".cures .cost:has(svg)")
    assert len(cells) > 50
    for cell in cells:
        sign = cell.use["href"].removeprefix("#")
        assert sign in drawn
        for part in sign.removeprefix("sign-").split("-"):
            assert words[part] in cell.span.get_text(), cell
            assert words[part] in cell["title"]


def test_a_cure_leads_to_the_chain_that_does_the_same(
    page: BeautifulSoup, site: Path
) -> None:
    text = (site / "_static" / "explorer_data.js").read_text(encoding="utf-8")
    packed = text.removeprefix("window.explorerData=").rstrip(";\n")
    explorer = Explorer(json.loads(packed))
    links = page.select(".cures .cost a[href*='?y=']")
    assert len(links) > 20
    for link in links:
        assert urlsplit(link["href"]).fragment == "explorer"
        asked = dict(parse_qsl(urlsplit(link["href"]).query))
        chain = tuple(asked["y"].split("."))
        code = link.find_parent("li").pre.get_text()
        assert code_of(chain).removeprefix("x") in code.replace('.to("cpu")', ".cpu()")
        seen = explorer.seen(asked.get("on", "cpu"), asked["x"], chain)
        signs = link.parent.use["href"].removeprefix("#sign-").split("-")
        assert seen["error"] is None
        assert ("shares" in signs) == bool(seen["shares_memory"]), link
        if {"flows", "stops"} & set(signs):
            assert ("flows" in signs) == bool(seen["gradient_flows"]), link


def test_nothing_of_the_machine_is_in_a_message(page: BeautifulSoup) -> None:
    text = page.get_text()
    assert not re.search(r"Triggered internally|site-packages|0x[0-9a-f]{4}", text)
    assert "Traceback" not in text


def test_what_other_machines_saw_stands_below(page: BeautifulSoup) -> None:
    recorded = sorted((ROOT / "docs" / "recordings").glob("*/errors.page.json"))
    current = [
        data
        for data in map(json.loads, map(Path.read_text, recorded))
        if data["key"] == recordings.page_key(SOURCE)
    ]
    assert current, "no current recording of the error index is kept"
    for anchor, seen in current[0]["observed"].items():
        section = page.find(id=anchor)
        live = section.select_one(".stream pre").get_text().strip()
        variants = [v.pre.get_text() for v in section.select(".variant")]
        assert (seen["message"] in variants) == (seen["message"] != live) or (
            not seen["message"] and variants
        )


def test_a_silent_mistake_is_proved_and_cured(site: Path) -> None:
    silent = soup(site / "silent_mistakes.html")
    sections = [h3.parent for h3 in silent.select("section > section > h3")]
    assert len(sections) >= 15
    for section in sections:
        code = "\n".join(pre.get_text() for pre in section.select(".cell_input pre"))
        assert code.count("assert ") >= 1, section.h3.get_text()
        assert section.select('a.internal[href^="auto_examples/"]')
        for pair in section.select(".pair"):
            sides = pair.find_all("div", recursive=False)
            assert [side["class"][0] for side in sides] == ["wrong", "right"]
            for side, word in zip(sides, ("Wrong", "Right"), strict=True):
                said = side.select_one("p.side").get_text()
                marked = [
                    number
                    for number, line in enumerate(lines_of(side), 1)
                    if line in {hll.get_text() for hll in side.select(".hll")}
                ]
                assert said.startswith(f"{word}: line"), section.h3.get_text()
                assert set(map(int, re.findall(r"\d+", said))) <= set(marked)
        assert section.select(".pair"), section.h3.get_text()


def lines_of(side: Tag) -> list[str]:
    return side.select_one(".cell_input pre").get_text().splitlines(keepends=True)


def test_differing_lines_are_found_and_said() -> None:
    wrong = "a = 1\nb = a\na += 1\n\nprint(b)\nassert b == 2"
    right = "a = 1\nb = a.clone()\na += 1\n\nprint(b)\nassert b == 1"
    assert pairs.differing_code(wrong, right) == ([2], [2])
    assert pairs.differing_code("x\nprint(1)", "x\nprint(2)") == ([2], [2])
    assert pairs.differing_code("x", "x\ny\n\nz") == ([], [2, 4])
    assert pairs.in_words([]) == ""
    assert pairs.in_words([3]) == "line 3 differs"
    assert pairs.in_words([1, 2]) == "lines 1 and 2 differ"
    assert pairs.in_words([1, 4, 5, 6, 9]) == "lines 1, 4 to 6 and 9 differ"


def test_wrong_without_right_is_refused() -> None:
    doctree = new_document("page")
    doctree += nodes.container(classes=["cell", "tag_wrong"])
    app = SimpleNamespace(env=SimpleNamespace(docname="page", metadata={}))
    with pytest.raises(ExtensionError, match="page: after each cell tagged `wrong`"):
        pairs.arrange(app, doctree)


OTHER = Fingerprint("cuda", "Other GPU", "9.9.0", "2.2.0", "3.12.1")
PAGE = """---
file_format: mystnb
kernelspec: {{name: python3}}
---

# Errors

```{{error-box}}
```

```{{error-index}}
```

```{{code-cell}} ipython3
:tags: [recorded]

import torch
```

```{{code-cell}} ipython3
:tags: [remove-cell]

import sys
from pathlib import Path

sys.path.insert(0, str(Path("../conf").resolve()))
from tensor_copies.errors.page import ErrorIndex

index = ErrorIndex("errors.md")
cures, finish = index.cures, index.finish
```

## A group

(an-entry)=
### An entry

```{{code-cell}} ipython3
:tags: [raises-exception, {kind}]

{code}
```

```{{code-cell}} ipython3
:tags: [remove-input]

cures("", {{{cure!r}: ("words", {truth!r})}})
```

```{{code-cell}} ipython3
:tags: [remove-cell]

finish()
```
"""
GOOD = {
    "kind": "RuntimeError",
    "code": "t = torch.ones(2)\nt.item()",
    "cure": "t.tolist()",
    "truth": "result == [1, 1]",
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    site = new_tiny_site(tmp_path_factory.mktemp("errors") / "tiny")
    site.write_lessons({})
    (site.folder / "docs" / "index.md").write_text(
        "# Tiny\n\n```{toctree}\nauto_examples/index\nerrors\n```\n"
    )
    page = site.folder / "docs" / "errors.md"
    page.write_text(PAGE.format(**GOOD))
    forged = {"an-entry": {"message": "<script>alert(1)</script>\u202e </script>"}}
    recordings.save_page(
        recordings.PageRecording(
            "errors", OTHER, "2026-01-02", recordings.page_key(page), forged
        ),
        site.folder / "docs" / "recordings" / OTHER.name,
    )
    built = site.build()
    assert built.status == 0, built.output
    return site


def test_a_recorded_message_is_shown_as_text(tiny: TinySite) -> None:
    page = soup(tiny.html / "errors.html")
    (variant,) = page.select("#an-entry .variant")
    assert variant.p.get_text() == OTHER.label
    assert variant.pre.get_text() == "<script>alert(1)</script>\ufffd </script>"
    assert not [s for s in page.select("script") if "alert" in s.get_text()]
    list_of_all = (tiny.html / "_static" / "messages.js").read_text()
    assert json.dumps("<script>alert(1)</script>\ufffd </script>") in list_of_all


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"code": "t = torch.ones(1)\nt.item()"}, "an-entry: its code should give"),
        ({"kind": "TypeError"}, "an-entry: its code should give TypeError"),
        ({"truth": "result == [2, 2]"}, "of an-entry: not true: result == [2, 2]"),
    ],
    ids=["raises nothing", "raises another type", "cure that is none"],
)
def test_a_wrong_entry_fails_the_build(
    change: dict[str, str], said: str, tiny: TinySite, tmp_path: Path
) -> None:
    site = tiny.copy_to(tmp_path / "tiny")
    before = site.published()
    (site.folder / "docs" / "errors.md").write_text(PAGE.format(**{**GOOD, **change}))
    built = site.build()
    assert built.status != 0
    assert said in built.output, built.output
    assert site.published() == before
