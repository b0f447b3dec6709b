"""The cells of pages are read as MyST-NB reads them, or refused by line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import ROOT
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig

sys.path.insert(0, str(ROOT / "conf"))
from tensor_copies.errors.messages import WrongMessage, entries, families
from tensor_copies.recordings.cells import BadCell, cells
from tensor_copies.recordings.format import recorded_cells

PAGES = sorted([*(ROOT / "docs").glob("*.md"), *families(ROOT / "docs")])
FRONT = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n\n# Page\n\n"
TAGS, CODE = ":tags: [recorded]\n\n", "one = 1\n```"
READ = {
    "three backticks": "```{code-cell} ipython3\n" + TAGS + CODE,
    "four backticks": "````{code-cell}\n" + TAGS + CODE + "`",
    "no blank line": "```{code-cell}\n" + TAGS.rstrip() + "\n" + CODE,
    "other options": "```{code-cell}\n:name: a\n:tags: [a, recorded]\n\n" + CODE,
    "a block": "```{code-cell}\n---\ntags: [hide-input, recorded]\n---\n" + CODE,
}
REFUSED = {
    "tildes": "~~~{code-cell} ipython3\n" + TAGS + "one = 1\n~~~",
    "colons": ":::{code-cell}\n" + TAGS + "one = 1\n:::",
    "in a list": "- item\n\n  ```{code-cell}\n  :tags: [recorded]\n\n  one = 1\n  ```",
    "quoted": "> ```{code-cell}\n> :tags: [recorded]\n>\n> one = 1\n> ```",
    "a space": "``` {code-cell}\n" + TAGS + CODE,
    "not closed": "```{code-cell}\n" + TAGS + "one = 1",
    "no list": "```{code-cell}\n:tags: recorded\n\n" + CODE,
    "a list over lines": "```{code-cell}\n---\ntags:\n  - recorded\n---\n" + CODE,
    "an alias": "```{code-cell}\n---\nother: &a [recorded]\ntags: *a\n---\n" + CODE,
    "a mapping": "```{code-cell}\n---\n{tags: [recorded]}\n---\n" + CODE,
    "code elsewhere": "```{code-cell}\n:load: other.py\n```",
}


def as_myst_nb_reads(page: Path) -> list[tuple[tuple[str, ...], str]]:
    """Return tags and code of each cell that MyST-NB would run."""
    options = MdParserConfig(enable_extensions={"colon_fence", "deflist"})
    notebook = read_myst_markdown_notebook(page.read_text(), options, path=str(page))
    return [
        (tuple(cell.metadata.get("tags", ())), cell.source)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_pages_of_the_site_are_read_as_they_run(page: Path) -> None:
    lines = page.read_text().splitlines()
    found = cells(page)
    assert [(cell.tags, cell.code) for cell in found] == as_myst_nb_reads(page)
    for cell in found:
        assert "{code-cell}" in lines[cell.line - 1]
        assert lines[cell.code_line - 1] == cell.code.split("\n")[0]


@pytest.mark.parametrize("kind", READ)
def test_a_cell_is_read_as_it_runs(kind: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(FRONT + READ[kind] + "\n")
    ((tags, code),) = as_myst_nb_reads(page)
    assert "recorded" in tags and code.strip() == "one = 1"
    (cell,) = cells(page)
    assert (cell.tags, cell.code) == (tags, code)
    namespace: dict[str, int] = {}
    exec(recorded_cells(page), namespace)
    assert namespace["one"] == 1


@pytest.mark.parametrize("kind", REFUSED)
def test_any_other_spelling_is_refused_by_line(kind: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(FRONT + REFUSED[kind] + "\n")
    wrong = page.read_text().splitlines()
    (line,) = (n for n, text in enumerate(wrong, 1) if "{code-cell}" in text)
    with pytest.raises(BadCell, match=rf"^page\.md, line {line}: ") as refused:
        cells(page)
    assert "\n" not in str(refused.value)


ENTRY = """(label)=
## Heading

{between}```{{code-cell}} ipython3
:tags: [{tag}, RuntimeError, UserWarning, since-2.8]

{code}
```
"""


def test_an_entry_is_found_or_named(tmp_path: Path) -> None:
    page = tmp_path / "errors.md"
    text = ENTRY.format(between="", tag="raises-exception", code="1 / 0")
    page.write_text(FRONT + text)
    entry = entries(page)["label"]
    assert entry.kind == "raises-exception"
    assert entry.types == {"RuntimeError", "UserWarning"}
    assert (entry.since, entry.code, entry.title) == ((2, 8), "1 / 0", "Heading")
    assert page.read_text().splitlines()[entry.line - 1] == "1 / 0"
    text = ENTRY.format(between="Words.\n\n", tag="warning", code="1")
    page.write_text(FRONT + text)
    line = page.read_text().splitlines().index("```{code-cell} ipython3") + 1
    with pytest.raises(WrongMessage, match=rf"errors\.md, line {line}: an entry"):
        entries(page)
