"""What readers download: the lessons' scripts and notebooks, and one archive of all.

The gallery turns a script into a notebook, but leaves out the script's header, which
says what to install, and writes links as the script has them. So each notebook gets a
first cell that installs what the header names, and plain names for links. On Colab it
asks for a machine with a GPU.

A script is offered without its marker comments, which say where on a page something
stands. The gallery's own copy, which it compares with the original, stays as it is.
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

from tensor_copies.run.freshness import NOTEBOOK, NOTEBOOK_AS_MADE
from tensor_copies.run.lesson_list import lesson_scripts
from tensor_copies.run.markers import without_markers

OFFERED = ".offered"  # the ending of the folder beside a page that has its script
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


def offered_script(page: str) -> str:
    """Return where the script that a page offers lies, from the sources."""
    return f"{page}{OFFERED}/{page.rpartition('/')[2]}.py"


def finish_all(app: Sphinx) -> None:
    """Finish the scripts and notebooks that pages offer, and pack them all."""
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"][0]
    wanted = {Path(app.srcdir, page + OFFERED) for page in lesson_scripts(app)}
    for folder in set(Path(app.srcdir, gallery).rglob(f"*{OFFERED}")) - wanted:
        shutil.rmtree(folder)
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for page, script in lesson_scripts(app).items():
            path = Path(app.srcdir, f"{page}{NOTEBOOK}")
            made = Path(app.srcdir, f"{page}{NOTEBOOK_AS_MADE}")
            notebook = json.loads(made.read_text(encoding="utf-8"))
            whole = json.dumps(finished(notebook, packages(script)), indent=2) + "\n"
            _write(path, whole.encode())
            offered = Path(app.srcdir, offered_script(page))
            text = script.read_bytes().decode()  # line endings are kept
            _write(offered, without_markers(text).encode())
            name = f"tensor_copies/{page.removeprefix(f'{gallery}/')}"
            # An entry without a date: the same files are the same archive.
            archive.writestr(zipfile.ZipInfo(f"{name}.py"), offered.read_bytes())
            archive.writestr(zipfile.ZipInfo(f"{name}.ipynb"), path.read_bytes())
    _write(Path(app.srcdir, gallery, ARCHIVE), packed.getvalue())


def _write(path: Path, content: bytes) -> None:
    """Write a file unless it is so: Sphinx reads again what offers a newer one."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
