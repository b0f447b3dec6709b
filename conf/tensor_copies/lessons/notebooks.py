"""The notebooks of the lessons, and one archive of all scripts and notebooks.

The gallery turns a script into a notebook, but leaves out the script's header, which
says what to install, and writes links as the script has them. So each notebook gets a
first cell that installs what the header names, and plain names for links. On Colab it
asks for a machine with a GPU.
"""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensor_copies.machine.freshness import NOTEBOOK, NOTEBOOK_AS_MADE
from tensor_copies.machine.lesson_list import lesson_scripts

if TYPE_CHECKING:
    from sphinx.application import Sphinx

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
        cells.insert(0, _code_cell(command))
    metadata = notebook["metadata"] | {
        "accelerator": "GPU",
        "colab": {"gpuType": GPU, "provenance": []},
    }
    return notebook | {"cells": cells, "metadata": metadata}


def _code_cell(code: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": ["install"]},
        "outputs": [],
        "source": code.splitlines(keepends=True),
    }


def finish_all(app: Sphinx) -> None:
    """Finish the notebooks that the gallery has made, and pack them all."""
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"][0]
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for page, script in lesson_scripts(app).items():
            path = Path(app.srcdir, f"{page}{NOTEBOOK}")
            made = Path(app.srcdir, f"{page}{NOTEBOOK_AS_MADE}")
            notebook = json.loads(made.read_text(encoding="utf-8"))
            whole = json.dumps(finished(notebook, packages(script)), indent=2) + "\n"
            if not path.exists() or path.read_bytes() != whole.encode():
                path.write_text(whole, encoding="utf-8", newline="\n")
            name = f"tensor_copies/{page.removeprefix(f'{gallery}/')}"
            # An entry without a date: the same files are the same archive.
            archive.writestr(zipfile.ZipInfo(f"{name}.py"), script.read_bytes())
            archive.writestr(zipfile.ZipInfo(f"{name}.ipynb"), path.read_bytes())
    # Sphinx reads a page again when a file that it offers is newer.
    path = Path(app.srcdir, gallery, ARCHIVE)
    if not path.exists() or path.read_bytes() != packed.getvalue():
        path.write_bytes(packed.getvalue())
