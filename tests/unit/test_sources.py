"""What authors leave in a source by mistake, and no tool of the build names."""

from __future__ import annotations

import re

import pytest
from reading import ROOT

RUNS = re.compile(r"---\n.*?^file_format: mystnb$.*?^---$", re.MULTILINE | re.DOTALL)
EVERYWHERE = {
    r"^\W*[<>]{7} ": "a conflict",
    "[\u00a0\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]": "a hidden character",
}
WHERE_CELLS_RUN = {
    r"^\s*```\s*py(thon)?$": "code that does not run: write {code-cell} ipython3",
    r"^\s*:tags:(?!\s*\[.*\]$)": "tags that are no list: write :tags: [one, two]",
}
MISTAKES = ("<<<<<<< HEAD", "# >>>>>>> x", "a\u200bb", "\u202e", "```py", ":tags: a")


def faults(text: str) -> list[str]:
    """Return the lines that a source should not have, each with what it has."""
    wanted = EVERYWHERE | (WHERE_CELLS_RUN if RUNS.match(text) else {})
    return [
        f"line {number}: {fault}"
        for number, line in enumerate(text.split("\n"), 1)
        for pattern, fault in wanted.items()
        if re.search(pattern, line)
    ]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake: str) -> None:
    (found,) = faults(f"---\nfile_format: mystnb\n---\n:tags: [a]\n{mistake}\nx")
    assert found.startswith("line 5: ")


def test_no_source_has_a_mistake() -> None:
    kinds = [("docs", "md"), ("docs", "toml"), ("examples", "py"), ("examples", "rst")]
    paths = {path for top, end in kinds for path in (ROOT / top).rglob(f"*.{end}")}
    paths = {path for path in paths if "auto_examples" not in path.parts}
    assert len(paths) > 100
    read = {path: faults(path.read_text("utf-8")) for path in paths}
    assert {path: found for path, found in read.items() if found} == {}
