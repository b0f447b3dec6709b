"""Every download runs alone and prints what its page shows.

What is sampled, where not said otherwise with ``TEST_EVERYTHING=1``: of the lessons
that time for seconds, one for each library that times, since the build has just run
them all, and of a time only what it is of can be compared. And one of the notebooks is
executed: a kernel runs any code in the same way, and that of all is compared.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from as_a_reader import run_as_a_reader
from conftest import client_of
from reading import (
    EVERYTHING,
    NAMES,
    PATIENCE,
    SCRIPTS,
    downloads_of,
    page_of,
    parts_of,
    subjects,
)
from tensor_copies.gallery.isolation import in_fresh_process

MARKER = b"# sphinx_gallery_"

# The profiler of a CUDA build else says on a machine without a GPU that there is none.
QUIET = {"KINETO_LOG_LEVEL": "6"}


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not blank."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def compare(site: Path, script: Path, printed: str) -> None:
    """Compare what a run printed with what the page shows, block by block."""
    rest = lines_of(printed)
    for part in parts_of(page_of(site, script)):
        shown = lines_of(part.output)
        run, rest = rest[: len(shown)], rest[len(shown) :]
        if part.is_timed:  # the same lines, about the same things
            run, shown = (subjects("\n".join(lines)) for lines in (run, shown))
        assert run == shown
    assert rest == [], "the run printed more than the page shows"


# The first of each section runs in a Python of its own, and as a notebook; the others
# in a fork of one that has imported torch. Their code is the same.
FIRST = list({script.parent.name: script for script in reversed(SCRIPTS)}.values())
# The lessons that time, by the library that times; the first of each runs here.
TIMING = {
    script: library
    for script in reversed(SCRIPTS)
    for library in re.findall(
        "import perfplot|torch.utils.benchmark", script.read_text()
    )
}
BY_LIBRARY = {library: script for script, library in TIMING.items()}
ALONE = [
    script
    for script in SCRIPTS
    if EVERYTHING or script not in TIMING or script in BY_LIBRARY.values()
]
EXECUTED = FIRST if EVERYTHING else FIRST[1:2]


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_download_is_the_script_without_its_markers(script: Path, site: Path) -> None:
    download = downloads_of(page_of(site, script))[".py"]
    lines = script.read_bytes().splitlines(keepends=True)
    assert any(line.startswith(MARKER) for line in lines)
    kept = [line for line in lines if not line.startswith(MARKER)]
    assert "# sphinx_gallery_" not in page_of(site, script).read_text("utf-8")
    assert download.name == script.name and download.read_bytes() == b"".join(kept)


@pytest.mark.parametrize("script", ALONE, ids=lambda script: script.stem)
def test_script_runs_alone_and_prints_its_page(
    script: Path, site: Path, tmp_path: Path
) -> None:
    download = downloads_of(page_of(site, script))[".py"]
    copy = tmp_path / "reader" / script.name
    copy.parent.mkdir()
    copy.write_bytes(download.read_bytes())
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {"PATH": "", "HOME": str(empty), "MPLBACKEND": "agg"} | QUIET
    if script in FIRST:
        done = subprocess.run(
            [sys.executable, copy],
            cwd=empty,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        status, printed, said = done.returncode, done.stdout, done.stderr
    else:
        status, said = 0, ""
        printed = in_fresh_process(run_as_a_reader, copy, empty, environment)
    assert status == 0, said
    compare(site, script, printed)


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_notebook_is_valid_and_has_the_code_of_its_script(
    script: Path, site: Path
) -> None:
    notebook = nbformat.read(downloads_of(page_of(site, script))[".ipynb"], 4)
    nbformat.validate(notebook)
    assert "sphinx_gallery_" not in str(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    code = [cell.source for cell in notebook.cells[1:] if cell.cell_type == "code"]
    whole = ast.parse(script.read_text(encoding="utf-8"))
    whole.body = whole.body[1:]  # the docstring is text in a notebook
    assert ast.dump(ast.parse("\n".join(code))) == ast.dump(whole)


@pytest.mark.parametrize("script", EXECUTED, ids=lambda script: script.stem)
def test_notebook_executes_and_prints_its_page(
    script: Path, site: Path, tmp_path: Path
) -> None:
    notebook = nbformat.read(downloads_of(page_of(site, script))[".ipynb"], 4)
    client = client_of(notebook, tmp_path)
    # All of it runs, the cell that installs too, with what is here already.
    client.execute(env=os.environ | {"PIP_NO_INDEX": "1"})
    printed = "".join(
        output["text"]
        for cell in notebook.cells[1:]  # what pip says is on no page
        if cell.cell_type == "code"
        for output in cell.outputs
        if output["output_type"] == "stream" and output["name"] == "stdout"
    )
    compare(site, script, printed)
