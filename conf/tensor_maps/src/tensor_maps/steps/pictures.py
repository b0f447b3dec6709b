"""Choose what a step shows, and draw it."""

from __future__ import annotations

import ast
import json
import re
from functools import lru_cache

from tensor_maps.compare import changed, only
from tensor_maps.draw import scene
from tensor_maps.pen import printable
from tensor_maps.steps.step import Step
from tensor_maps.steps.syntax import head_nodes

HALVES = ("graph", "memory")


def names_to_draw(step: Step, last: list[str], most: int) -> list[str]:
    """Return the names to draw: what changed, is said or shares, and the last ones."""
    seen = step.after.observed
    looked = [name for one in seen["tensors"] for name in one["names"]]
    unit = step.unit
    nodes = head_nodes(unit.node) if unit.is_head else ast.walk(unit.node)
    said = {node.id for node in nodes if isinstance(node, ast.Name)}
    wanted = [name for name in looked if name in step.changed]
    wanted += [name for name in looked if re.split(r"[.\[]", name)[0] in said]
    wanted = list(dict.fromkeys(wanted))[:most]
    last = [name for name in last if name in looked]
    if set(wanted) <= set(last):
        return last
    for storage in seen["storages"]:
        on_it = names_on(seen, storage)
        if set(on_it) & set(wanted):
            wanted += [name for name in on_it if name not in wanted]
    wanted += [name for name in last if name not in wanted]
    return wanted[:most]


def pictures_of(
    step: Step, names: list[str], nodes: int
) -> tuple[dict[str, tuple[str, str]], int]:
    """Return the drawing and the caption of each half, and how many names there are."""
    if not names:
        return {}, 0
    before, after = step.before.observed, step.after.observed
    marked = after if step.before is step.after else changed(before, after)
    shown = only(marked, names, nodes)
    pictures = _drawn_once(json.dumps(shown))
    return pictures, sum(len(seen["names"]) for seen in shown["tensors"])


def names_on(observed: dict, storage: dict) -> list[str]:
    """Return the names of all that is on a storage."""
    tensors = [observed["tensors"][window["tensor"]] for window in storage["windows"]]
    return [name for seen in tensors for name in seen["names"]]


@lru_cache(maxsize=4096)
def _drawn_once(observed: str) -> dict[str, tuple[str, str]]:
    """Draw a map once: many steps, and another machine's, have the same."""
    made = scene(json.loads(observed))
    return {"memory": (made.svg(), printable(made.caption))}
