"""The steps of the pairs of a page: wrong, then right, as its kernel has run them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensor_copies.machine.kernels import kept_of
from tensor_copies.recordings.cells import cells

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ANCHOR = re.compile(r"^\(([\w-]+)\)=$")
TAGS = ("wrong", "right")


def pair_steps(app: Sphinx, page: str) -> dict[str, dict[str, Any]]:
    """Return the steps of each pair of a page that has run, by its section's anchor.

    They are as ``Steps.data()`` of tensor_maps returns them: the code of
    the wrong cell and that of the right one below it, each under a comment that says
    which it is. A section's second pair has ``-2`` behind the anchor. There are none
    where the page has no pairs or its kernel was not watched.
    """
    source = Path(app.env.doc2path(page))
    if source.suffix != ".md":
        return {}
    found = cells(source)
    pairing = [cell for cell in found if set(TAGS) & set(cell.tags)]
    cache = Path(app.config.nb_execution_cache_path)
    path = kept_of(cache, [cell.code for cell in found])
    if not pairing or not path.exists():
        return {}
    seen = json.loads(path.read_text(encoding="utf-8"))
    lines = source.read_text(encoding="utf-8").splitlines()
    steps = {}
    for place in range(0, len(pairing), 2):
        anchors = [ANCHOR.match(line) for line in lines[: pairing[place].line]]
        anchor = next((one[1] for one in reversed(anchors) if one), page)
        count = sum(name in (anchor, f"{anchor}-2") for name in steps) + 1
        name = anchor if count == 1 else f"{anchor}-{count}"
        if None not in seen[place : place + 2]:
            steps[name] = joined(anchor, *seen[place : place + 2])
    return steps


def joined(title: str, wrong: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Return the steps of two programs as those of one, the second below the first."""
    code, steps = [], []
    both: list[tuple[str, str]] = []
    for data, word in ((wrong, "Wrong"), (right, "Right")):
        code += [""] if code else []
        code.append(f"# {word}")
        drawings = list(zip(data["drawings"], data["captions"], strict=True))
        both += [one for one in drawings if one not in both]
        number_of = {at: both.index(one) for at, one in enumerate(drawings)}
        for step in data["steps"]:
            moved = {name: step[name] + len(code) for name in ("first", "last")}
            steps.append(step | moved | {"drawing": number_of.get(step["drawing"])})
        code += data["code"]
    return wrong | {
        "title": title,
        "code": code,
        "steps": steps,
        "drawings": [drawing for drawing, _ in both],
        "captions": [caption for _, caption in both],
    }
