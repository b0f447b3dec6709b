"""Every download runs alone and prints what its page shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import PATIENCE
from nbclient import NotebookClient
from reading import NAMES, SCRIPTS, downloads_of, page_of, parts_of, subjects

QUICK = {"BENCHMARK_QUALITY": "quick"}


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


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_script_runs_alone_and_prints_its_page(
    script: Path, site: Path, tmp_path: Path
) -> None:
    download = downloads_of(page_of(site, script))[".py"]
    assert download.read_bytes() == script.read_bytes()
    copy = tmp_path / "reader" / script.name
    copy.parent.mkdir()
    copy.write_bytes(download.read_bytes())
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(
        [sys.executable, copy],
        cwd=empty,
        env={"PATH": "", "HOME": str(empty), "MPLBACKEND": "agg", **QUICK},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    compare(site, script, done.stdout)


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_notebook_executes_and_prints_its_page(
    script: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)
    download = downloads_of(page_of(site, script))[".ipynb"]
    notebook = nbformat.read(download, as_version=4)
    nbformat.validate(notebook)
    client = NotebookClient(
        notebook,
        timeout=PATIENCE,
        startup_timeout=PATIENCE,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
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
