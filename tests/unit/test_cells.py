"""The cells of pages are read as MyST-NB reads them, or refused by line."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from tensor_copies.errors.messages import WrongMessage, entries
from tensor_copies.recordings.cells import BadCell, cells
from tensor_copies.recordings.format import page_key, recorded_cells

PAGES = sorted((ROOT / "docs").glob("*.md"))
FRONT = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n\n# Page\n\n"
SPELLINGS = {
    "three backticks": "```{code-cell} ipython3\n:tags: [recorded]\n\none = 1\n```",
    "four backticks": "````{code-cell}\n:tags: [recorded]\n\none = 1\n````",
    "tildes": "~~~{code-cell} ipython3\n:tags: [recorded]\n\none = 1\n~~~",
    "no blank line": "```{code-cell}\n:tags: [recorded]\none = 1\n```",
    "other options": "```{code-cell}\n:name: a\n:tags: [a, 'recorded']\n\none = 1\n```",
    "YAML": "```{code-cell}\n---\ntags: [hide-input, recorded]\n---\none = 1\n```",
    "YAML list": "```{code-cell}\n---\ntags:\n  - recorded\nname: a\n---\none = 1\n```",
    "YAML lines": '```{code-cell}\n---\ntags: [a,\n  "recorded"]\n---\n\none = 1\n```',
    "not closed": "```{code-cell}\n:tags: [recorded]\n\none = 1",
}
REFUSED = {
    "colons": ":::{code-cell}\n:tags: [recorded]\n\none = 1\n:::",
    "in a list": "- item\n\n  ```{code-cell}\n  :tags: [recorded]\n\n  one = 1\n  ```",
    "indented": "  ```{code-cell}\n  :tags: [recorded]\n\n  one = 1\n  ```",
    "quoted": "> ```{code-cell}\n> :tags: [recorded]\n>\n> one = 1\n> ```",
    "in a note": "````{note}\n```{code-cell}\n:tags: [recorded]\none = 1\n```\n````",
    "in a colon note": ":::{note}\n```{code-cell}\n:tags: [recorded]\n1\n```\n:::",
    "a space": "``` {code-cell}\n:tags: [recorded]\n\none = 1\n```",
    "no list": "```{code-cell}\n:tags: recorded\n\none = 1\n```",
    "an alias": "```{code-cell}\n---\nother: &a [recorded]\ntags: *a\n---\n1\n```",
    "a mapping": "```{code-cell}\n---\n{tags: [recorded]}\n---\n1\n```",
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


def test_every_spelling_that_runs_is_recorded(tmp_path: Path) -> None:
    page, keys = tmp_path / "page.md", set()
    shown = "````md\n```{code-cell}\n:tags: [recorded]\nshown = 1\n```\n````\n\n"
    for kind, spelling in SPELLINGS.items():
        page.write_text(FRONT + shown + spelling + "\n")
        ((tags, code),) = as_myst_nb_reads(page)
        assert "recorded" in tags and code.strip() == "one = 1", kind
        (cell,) = cells(page)
        assert (cell.tags, cell.code.strip()) == (tags, code.strip()), kind
        namespace: dict[str, int] = {}
        exec(recorded_cells(page), namespace)
        assert namespace["one"] == 1, kind
        keys.add(page_key(page))
    assert len(keys) == 1, "the spelling is no part of the key"


def test_any_other_spelling_is_refused_by_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for spelling in REFUSED.values():
        page.write_text(FRONT + spelling + "\n")
        wrong = page.read_text().splitlines()
        (line,) = (n for n, text in enumerate(wrong, 1) if "{code-cell}" in text)
        with pytest.raises(BadCell, match=rf"^page\.md, line {line}: [^\n]*$"):
            cells(page)


ENTRY = """(label)=
### Heading

{between}~~~{{code-cell}} ipython3
---
tags:
- {tag}
- RuntimeError
- UserWarning
- since-2.8
---

{code}
~~~
"""


def test_an_entry_is_found_in_any_spelling_or_named(tmp_path: Path) -> None:
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
    line = page.read_text().splitlines().index("~~~{code-cell} ipython3") + 1
    with pytest.raises(WrongMessage, match=rf"errors\.md, line {line}: an entry"):
        entries(page)
