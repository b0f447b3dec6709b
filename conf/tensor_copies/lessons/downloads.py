"""Finish what readers download: scripts and notebooks without our marks, one archive.

sphinx-gallery makes both and Sphinx copies them; this changes the copies. A notebook
asks Colab for a GPU; its first cell, which installs, is the gallery's
(``first_notebook_cell`` in conf.py).
"""

import json
import re
import zipfile
from pathlib import Path

from sphinx.application import Sphinx

from tensor_copies.gallery.lessons import without_markers

ARCHIVE = "tensor_copies_lessons.zip"
COLAB = {"accelerator": "GPU", "colab": {"gpuType": "T4", "provenance": []}}
ROLE = re.compile(r":(?:\w+:)?\w+:`~?([^`<]+?)(?:\s*<[^`>]*>)?`")
# The gallery takes one underscore from the end of a link, which may have two.
LINK = re.compile(r"(\]\(\S+\))_(?!\w)")
# A question. Its answers, which stand below it, mean something only on a page.
QUESTION = re.compile(
    r"(?m)^(# |)\.\. predict:: (.+\n(?:\1    \S.*\n)*)(?:(?:\1    .*|#?)\n)*"
)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Finish the downloads of a built site (``build-finished``)."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "_downloads")
    gallery = f"{app.config.sphinx_gallery_conf['gallery_dirs'][0]}/"
    with zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, (_, name) in sorted(app.env.dlfiles.items()):
            if (source := file.as_posix()).startswith(gallery):
                path = folder / name
                text = path.read_text("utf-8")
                is_script = path.suffix == ".py"
                text = offered_script(text) if is_script else _notebook(text)
                path.write_text(text, "utf-8")
                # An entry without a date: the same files are the same archive.
                entry = zipfile.ZipInfo(f"tensor_copies/{source.removeprefix(gallery)}")
                archive.writestr(entry, text)


def offered_script(text: str) -> str:
    """Return a script without marker comments, and of its questions the words."""
    return QUESTION.sub(_asked, without_markers(text))


def _notebook(text: str) -> str:
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            said = QUESTION.sub(_asked, "".join(cell["source"]))
            said = LINK.sub(r"\1", ROLE.sub(r"`\1`", said))
            cell["source"] = said.splitlines(keepends=True)
    notebook["metadata"] |= COLAB
    return json.dumps(notebook, indent=1) + "\n"


def _asked(found: re.Match) -> str:
    mark, words = found[1], found[2].replace(found[1], "")
    return f"{mark}**{' '.join(words.split())}**\n{mark.rstrip()}\n"
