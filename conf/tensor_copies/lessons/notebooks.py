"""What readers download: the lessons' scripts and notebooks, and one archive of all.

The gallery turns a script into a notebook, but leaves out the script's header, which
says what to install, and writes links as the script has them. So each notebook gets a
first cell that installs what the header names, and plain names for links. On Colab it
asks for a machine with a GPU.

A script is offered without its marker comments, which say where on a page something
stands. The gallery's own files stay as they are: what is offered has a folder beside.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tensor_copies.gallery.lessons import lesson_scripts, without_markers

OFFERED = ".offered"  # the ending of the folder beside a page that has its files
ARCHIVE = "tensor_copies_lessons.zip"
BRANCH = "notebooks"  # where the workflow puts what Colab opens
GPU = "T4"
INSTALL = (
    "# Installs what this lesson needs where it is missing.\n%pip install --quiet "
)
# What PEP 723 says a header is.
HEADER = re.compile(r"(?m)^# /// script$\s(?P<text>(^#(| .*)$\s)+)^# ///$")
ROLE = re.compile(r":(?:\w+:)?\w+:`~?([^`<]+?)(?:\s*<[^`>]*>)?`")


def packages(script: Path) -> list[str]:
    """Return the packages that the header of a script names, with their versions."""
    header = HEADER.search(script.read_text(encoding="utf-8"))
    if header is None:
        return []
    lines = (line[2:] for line in header["text"].splitlines())
    return tomllib.loads("\n".join(lines)).get("dependencies", [])


def finished(notebook: dict[str, Any], needed: list[str]) -> dict[str, Any]:
    """Return the gallery's notebook with its first cell and plain names for links."""
    cells = [dict(cell) for cell in notebook["cells"]]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = [ROLE.sub(r"`\1`", line) for line in cell["source"]]
    if needed:
        command = INSTALL + " ".join(f'"{package}"' for package in needed)
        install = {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {"tags": ["install"]},
            "outputs": [],
            "source": command.splitlines(keepends=True),
        }
        cells.insert(0, install)
    metadata = notebook["metadata"] | {
        "accelerator": "GPU",
        "colab": {"gpuType": GPU, "provenance": []},
    }
    return notebook | {"cells": cells, "metadata": metadata}


def offered(page: str, ending: str) -> str:
    """Return where the script or the notebook of a page lies, from the sources."""
    return f"{page}{OFFERED}/{page.rpartition('/')[2]}{ending}"


def finish_all(app: Sphinx) -> None:
    """Finish the scripts and notebooks that pages offer, and pack them all."""
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"][0]
    wanted = {Path(app.srcdir, page + OFFERED) for page in lesson_scripts(app)}
    for folder in set(Path(app.srcdir, gallery).rglob(f"*{OFFERED}")) - wanted:
        shutil.rmtree(folder)
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for page, script in lesson_scripts(app).items():
            made = Path(app.srcdir, f"{page}.ipynb").read_text(encoding="utf-8")
            notebook = finished(json.loads(made), packages(script))
            text = without_markers(script.read_text(encoding="utf-8"))
            whole = json.dumps(notebook, indent=2) + "\n"
            name = f"tensor_copies/{page.removeprefix(f'{gallery}/')}"
            for ending, content in ((".py", text), (".ipynb", whole)):
                _write(Path(app.srcdir, offered(page, ending)), content.encode())
                # An entry without a date: the same files are the same archive.
                archive.writestr(zipfile.ZipInfo(name + ending), content)
    _write(Path(app.srcdir, gallery, ARCHIVE), packed.getvalue())


def _write(path: Path, content: bytes) -> None:
    """Write a file unless it is so: Sphinx reads again what offers a newer one."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
