"""Say in one sentence what a step did."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from tensor_maps.steps.pictures import names_on
from tensor_maps.steps.step import Step
from tensor_maps.steps.syntax import DEFINITIONS, NAMED
from tensor_maps.words import as_tuple, count_of, flow_of, listing

MOST_SAID = 3


def step_words(step: Step) -> tuple[str, list[str]]:
    """Say what a step did, in one sentence, and what else there is to note."""
    said = _said_of_names(step.after.observed, step.differ)
    if step.raised:
        said.insert(0, f"it raises {step.raised.partition(':')[0]}")
    elif not said:
        said.append(_said_of_statement(step.unit.node, step.printed))
    if len(said) > MOST_SAID:
        said[MOST_SAID:] = [f"and {count_of(len(said) - MOST_SAID, 'more change')}"]
    text = "; ".join(said) + "."
    if not step.collapsed:
        if step.raised or not (step.differ or isinstance(step.unit.node, NAMED)):
            text = text[0].upper() + text[1:]  # a name stays as it is written
        return text, []
    loop, last = step.turns[-1]
    first = loop.shown + 1
    if first == last:
        return f"Turn {first}: {text}", []
    return f"Turns {first} to {last}: {text}", [f"turns {first} to {last} in one step"]


def _said_of_statement(node: ast.AST, printed: str) -> str:
    if printed:
        count = len(printed.splitlines())
        return f"no tensor changes; {count_of(count, 'line')} printed"
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.asname or alias.name for alias in node.names]
        return f"{listing(names)} {_are(names)} imported"
    if isinstance(node, DEFINITIONS):
        return f"{node.name} is defined"
    if isinstance(node, ast.Assert):
        return "the assertion holds"
    return "no tensor changes"


def _said_of_names(observed: dict, differ: dict[str, frozenset[str]]) -> list[str]:
    entry = {name: seen for seen in observed["tensors"] for name in seen["names"]}
    fresh = [n for n, k in differ.items() if n in entry and k & {"new", "other"}]
    known = [name for name in entry if name not in fresh]
    related: list[str] = []
    alone: dict[tuple[bool, str], list[str]] = {}
    # Where there are several devices, that of what is new is worth a word.
    devices = {seen["device"] for seen in entry.values() if seen["storage"] is not None}
    for name in fresh:
        if told := _said_of_new(name, entry, known, observed):
            related.append(f"{name} {told}")
        else:
            where = f" on {entry[name]['device']}" if len(devices) > 1 else ""
            end = where + _gradient_end(entry[name], observed)
            alone.setdefault(("other" in differ[name], end), []).append(name)
        known.append(name)
    said = []
    for (is_other, end), names in alone.items():
        each, others = ("each ", "now others") if names[1:] else ("", "now another")
        what = f"{_few(names)} {_are(names)} {others if is_other else 'new'}"
        said.append(f"{what}, {each}with a memory of its own{end}")
    said += related
    same = {n: k for n, k in differ.items() if n in entry and n not in fresh}
    told: set[str] = set()
    for kind in ORDER_OF_KINDS:
        names = [name for name, kinds in same.items() if kind in kinds]
        if kind != "gradient":  # that is another tensor
            names = [name for name in names if name not in told]
            told.update(names)
        if names:
            said.append(_said_of_kind(kind, names, [entry[name] for name in names]))
    gone = [name for name, kinds in differ.items() if "gone" in kinds]
    return [*said, f"{_few(gone)} {_are(gone)} gone"] if gone else said


def _said_of_new(
    name: str, entry: dict[str, dict], known: list[str], observed: dict
) -> str:
    """Say of what a name is new to, or nothing if it stands alone."""
    seen = entry[name]
    same = [other for other in known if entry[other] is seen]
    if same:
        return f"is another name of {same[0]}"
    if seen["storage"] is None:
        return f"is new: {seen['memory']}" if seen["memory"] else "is new"
    on_it = names_on(observed, observed["storages"][seen["storage"]])
    share = [other for other in known if other in on_it]
    if not share:
        return ""
    end = _gradient_end(seen, observed)
    required = any(entry[other]["requires_grad"] for other in share)
    if required and not seen["requires_grad"]:
        end = ", and no gradient flows through it"
    return f"now shares the memory of {_few(share)}{end}"


def _gradient_end(seen: dict, observed: dict) -> str:
    node = seen["node"]
    if node is None or observed["nodes"][node]["kind"] != "operation":
        return ""
    return f"; {flow_of(observed, node)}"


# What is said first of names that there were before; what is said once is enough.
ORDER_OF_KINDS = (
    *("storage", "values", "gradient", "form"),
    *("requires_grad", "retains_grad", "graph", "version"),
)


def _said_of_kind(kind: str, names: list[str], seen: list[dict]) -> str:
    """Say what of names, of which the same kind of thing has changed, is now."""
    few, are, many = _few(names), _are(names), len(names) > 1
    if kind == "storage":
        return f"{few} {are} now on another memory"
    if kind == "values":
        value = _common(one["values"] for one in seen)
        on_one = many and _common(one["storage"] for one in seen) is not None
        hold = f"{', one memory,' if on_one else ''} now {'hold' if many else 'holds'}"
        return f"{few}{hold} {'other values' if value is None else value}"
    if kind == "gradient":
        gradients = [one["gradient"] for one in seen]
        value = _common(gradients)
        if len(names) <= MOST_SAID and len(set(gradients)) > 1:
            each = zip(names, gradients, strict=True)
            return listing(
                [f"{name}.grad is now {gradient}" for name, gradient in each]
            )
        said = _few([f"{name}.grad" for name in names])
        return f"{said} {are} now {value}" if value else f"{said} {are} new"
    if kind == "form":
        shape = _common(as_tuple(one["shape"]) for one in seen)
        has = "have" if many else "has"
        return f"{few} now {has} {f'shape {shape}' if shape else 'other shapes'}"
    if kind == "requires_grad":
        requires = _common(one["requires_grad"] for one in seen)
        if requires is None:
            return f"{few} have changed whether they require a gradient"
        verb = "require" if many else "requires"
        return f"{few} now {verb} {'a' if requires else 'no'} gradient"
    if kind == "retains_grad":
        return f"{few} {'keep their' if many else 'keeps its'} gradient"
    if kind == "graph":
        return f"{few} {are} now elsewhere in the graph"
    version = _common(one["version"] for one in seen)
    end = "has changed" if version is None else f"is now {version}"
    return f"the version of {few} {end}"


def _common(values: Iterable[Any]) -> Any:
    """Return the value that all are, or None if they differ."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _are(names: list[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _few(names: list[str]) -> str:
    if len(names) <= MOST_SAID:
        return listing(names)
    return f"{', '.join(names[:2])} and {len(names) - 2} more"
