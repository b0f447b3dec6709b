"""Watch the pairs of a page: what becomes of their tensors, event by event.

A hidden cell of the page calls :func:`watch`. From then on the cells that are tagged
``wrong`` or ``right`` are watched while they run. What was seen leaves the kernel in a
directive, among the outputs of the page, and so is kept with them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from IPython import get_ipython
from IPython.display import Markdown, display

from tensor_copies.gallery.pages import cells

TAGS = {"wrong", "right"}


class pair_steps(nodes.Element):
    """What was seen of one half of a pair, its ``data``; it is never written."""


def leave_out(*_: object) -> None:
    """Write nothing of a node."""
    raise nodes.SkipNode


class PairSteps(Directive):
    """Hold what was seen of one half of a pair (``{pair-steps}``)."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return it as a node."""
        return [pair_steps(data=json.loads("\n".join(self.content)))]


def watch(page: str) -> None:
    """Watch the cells of a page that are tagged wrong or right, from now on."""
    from tensor_maps.steps.watch import Steps

    from tensor_copies.gallery.isolation import seed_everything

    wanted = {one.code.strip() for one in cells(Path(page)) if TAGS & set(one.tags)}
    shell, watching = get_ipython(), []

    def begin(info: Any) -> None:
        if info.raw_cell.strip() in wanted:
            seed_everything()
            watching.append(Steps("cell"))
            watching[0].follow(info.raw_cell, namespace=shell.user_ns)

    def end(_: Any) -> None:
        if watching:
            seen = watching.pop()
            seen.stop()
            if seen.failed:
                raise RuntimeError(seen.failed)
            display(Markdown(f"```{{pair-steps}}\n{json.dumps(seen.data())}\n```\n"))

    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)


def one_below_the_other(wrong: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
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
        "code": code,
        "steps": steps,
        "drawings": [drawing for drawing, _ in drawn],
        "captions": [caption for _, caption in drawn],
    }
