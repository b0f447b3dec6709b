"""The pairs of a page, watched: what becomes of their tensors, event by event.

IPython loads this as an extension where a page has pairs (run/kernels.py): the
cells that a file names are watched while they run, and what was seen is written beside
that file. When the page is read, :func:`watched_pairs` puts wrong and right together.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensor_copies.recordings.cells import cells
from tensor_copies.run.isolation import seed_everything
from tensor_copies.run.kernels import WATCH, kept_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from tensor_maps.steps.watch import Steps

ANCHOR = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)
TAGS = {"wrong", "right"}


def load_ipython_extension(shell: Any) -> None:
    """Watch those cells of this kernel that are wanted, in their order."""
    # Imported here: it imports torch, which a build that runs no page does not.
    from tensor_maps.steps.watch import Steps

    folder = Path(os.environ[WATCH])
    wanted = json.loads((folder / "wanted.json").read_text(encoding="utf-8"))
    waiting = list(enumerate(wanted))
    watching: list[tuple[int, Steps]] = []

    def begin(info: Any) -> None:
        for number, source in waiting:
            if source == info.raw_cell:
                waiting.remove((number, source))
                seed_everything()
                watching.append((number, Steps(f"cell {number}")))
                watching[-1][1].follow(source, namespace=shell.user_ns)
                return

    def end(_: Any) -> None:
        while watching:
            number, seen = watching.pop()
            seen.stop()
            if seen.failed:
                raise RuntimeError(seen.failed)
            text = json.dumps(seen.data())
            (folder / f"{number}.json").write_text(text, encoding="utf-8")

    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)


def watched_pairs(app: Sphinx, page: str) -> dict[str, dict[str, Any]]:
    """Return what was seen of each pair of a page that has run, by a name.

    The name is the label of the pair's section, with ``-2`` behind it for its second
    pair. There is nothing where the page has no pairs or its kernel was not watched.
    """
    source = Path(app.env.doc2path(page))
    if source.suffix != ".md":
        return {}
    found = cells(source)
    cache = Path(app.config.nb_execution_cache_path)
    path = kept_of(cache, [cell.code for cell in found])
    if not path.exists():
        return {}
    seen = iter(json.loads(path.read_text(encoding="utf-8")))
    lines = source.read_text(encoding="utf-8").splitlines()
    pairs: dict[str, dict[str, Any]] = {}
    pairing = [cell for cell in found if TAGS & set(cell.tags)]
    for cell, wrong, right in zip(pairing[::2], seen, seen, strict=True):
        label = [page, *ANCHOR.findall("\n".join(lines[: cell.line]))][-1]
        name = label if label not in pairs else f"{label}-2"
        if wrong and right:
            pairs[name] = one_below_the_other(label, wrong, right)
    return pairs


def one_below_the_other(
    title: str, wrong: dict[str, Any], right: dict[str, Any]
) -> dict[str, Any]:
    """Return what was seen of two programs as if the second stood below the first.

    Both are, and the result is, as ``Steps.data()`` of tensor_maps returns them.
    """
    code: list[str] = []
    steps: list[dict[str, Any]] = []
    drawn: list[tuple[str, str]] = []
    for data, word in ((wrong, "# Wrong"), (right, "# Right")):
        code += [*([""] if code else []), word]
        pictures = list(zip(data["drawings"], data["captions"], strict=True))
        drawn += [one for one in pictures if one not in drawn]
        for step in data["steps"]:
            lines = {name: step[name] + len(code) for name in ("first", "last")}
            at = step["drawing"]
            at = at if at is None else drawn.index(pictures[at])
            steps.append(step | lines | {"drawing": at})
        code += data["code"]
    return wrong | {
        "title": title,
        "code": code,
        "steps": steps,
        "drawings": [drawing for drawing, _ in drawn],
        "captions": [caption for _, caption in drawn],
    }
