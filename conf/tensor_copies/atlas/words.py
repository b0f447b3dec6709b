"""What a record of the Atlas says, in words: cells, signs, facts, what they mean.

No fact stands in this file, and nothing here knows of a page.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

Record = dict[str, Any]
FLOWS, SHARES, RESULT = "Gradients flow back", "Shares memory", "Result"
NOTHING = "\N{EN DASH}"
# What a reader calls a kind of device.
DEVICE_NAMES = {"cpu": "CPU", "cuda": "CUDA", "standin": "simulated device"}
YES_NO = {True: "yes", False: "no", None: None}


def cell_text(record: Record | None, column: str) -> str:
    """Say what a record says in one column of the table of the home page."""
    if record is None:
        return NOTHING
    error = record["error"]
    if column != RESULT:
        known = {FLOWS: "gradient_flows", SHARES: "shares_memory"}
        said = None if error is not None else YES_NO[record[known[column]]]
        return said or NOTHING
    if error is not None:
        name = error.partition(": ")[0]
        return error if name == "Python ended" else f"raises {name}"
    kind = "tensor" if record["requires_grad"] is not None else record["result"]
    where = DEVICE_NAMES.get(record["result_device"])
    if kind in ("tensor", "ndarray"):
        return f"{kind.removeprefix('nd')}, {where}"
    return f"Python {kind}"


def sign_of(record: Record) -> list[str]:
    """Return the signs of a record, keys of ``SIGNS``: memory first, then gradient."""
    if record["error"] is not None:
        return ["raises"]
    if record["same_object"]:
        memory = "moves" if record["new_bytes"] else "itself"
    else:
        memory = "shares" if record["shares_memory"] else "copies"
    gradient = {True: ["flows"], False: ["stops"], None: []}
    return [memory, *gradient[record["gradient_flows"]]]


def fact_cells(record: Record, subject: str = "x") -> dict[str, str | None]:
    """Return all that a record says, by the titles of the columns of a row's facts."""
    size, asked = record["new_bytes"], record["cuda_bytes"]
    result = "x itself" if record["same_object"] else record["result"]
    away = record["result_device"] not in (None, record["device"])
    if away:
        result = f"{result}, {DEVICE_NAMES[record['result_device']]}"
    if record["changes_x"]:
        result += ", changed" if record["same_object"] else "; changes x"
    if record["result_device"] != "cpu" and asked == size:
        asked = None  # no temporary tensor
    own = {True: f"that of {subject}", False: "its own", None: None}
    return {
        "Result": result,
        "New bytes": None if size is None else str(size),
        "Memory": own[record["shares_memory"]],
        "Version counter": own[record["shares_version"]],
        "Gradient flows": YES_NO[record["gradient_flows"]],
        "requires_grad": YES_NO[record["requires_grad"]],
        "Leaf": YES_NO[record["is_leaf"]],
        "grad_fn": record["grad_fn"],
        "Keeps the strides of x": YES_NO[record["strides_kept"]],
        "Asked of the device": f"{asked} bytes" if asked else None,
        "Waits": YES_NO[record["waits"]],
        "Version of x": _raised(record),
        "Pinned": "yes" if record["pinned"] else None,
        "Warning": record["warning"],
    }


def _raised(record: Record) -> str | None:
    """Return by how much a call that wrote into x raised its version counter."""
    raised = record["version_raised"]
    if raised is None or not (raised or record["writes_x"]):
        return None
    return f"+ {raised}"


def meaning(record: Record, subject: str = "x") -> str:
    """Say in a sentence or two what the facts of a call mean for who writes it."""
    said = [memory_meaning(record, subject)]
    if record["operation"] == "expand" and record["shares_memory"]:
        said.append("But calls such as y.add_(1) raise, because y repeats elements.")
    away = record["result_device"] not in (None, record["device"])
    if away and record["new_bytes"] is not None:  # a number is on no device
        said.append(f"y is on the {DEVICE_NAMES[record['result_device']]}.")
    if record["pinned"]:
        said.append("y is in pinned memory.")
    if record["gradient_flows"] is not None:
        flows = record["gradient_flows"]
        said.append(f"{'Gradients flow' if flows else 'No gradient flows'} back.")
    return " ".join(said)


def memory_meaning(record: Record, subject: str) -> str:
    """Say what a write to x or y changes, or that the call itself is one."""
    tensor = subject in ("x", "z")
    if not record["same_object"]:
        if not record["shares_memory"]:
            if record["new_bytes"] is None:
                return f"y is a Python {record['result']}, without a tensor's memory."
            return f"y has its own memory, so a write to y doesn't change {subject}."
        if not tensor:
            return f"A write to y also changes {subject}."
        notices = "notices" if record["shares_version"] else "doesn't notice"
        if what := _written_under_no_grad(record, subject):
            return (
                f"y is {what}, so a write to y needs torch.no_grad(). "
                f"It also changes {subject}, and autograd {notices}."
            )
        return f"A write to y also changes {subject}. Autograd {notices}."
    if record["new_bytes"]:
        they = "keep the old memory."
        if record["operation"] == "share-memory":  # the storage itself gets new memory
            they = f"move with it. An earlier {subject}.numpy() points to freed memory."
        return (
            f"y is {subject} itself, now in new memory. Earlier views of {subject} "
            f"{they}"
        )
    if not record["writes_x"]:
        if record["changes_x"]:
            flag = record["requires_grad"]
            return f"y is {subject} itself, now with requires_grad={flag}."
        return f"y is {subject} itself, not a copy."
    raised = record["version_raised"]
    notices = "notices" if raised else "doesn't notice"
    count = f"{subject}'s version counter grows by {raised}"
    why = count if raised else f"{subject}'s version counter stays the same"
    return f"The call modifies {subject} in place. Autograd {notices}, because {why}."


def _written_under_no_grad(record: Record, subject: str) -> str:
    """Say why a write to y raises in grad mode; nothing where it doesn't."""
    if not record["requires_grad"]:
        return ""
    if record["is_leaf"]:
        return "a leaf that requires grad"
    if subject == "x" and record["state"] in ("leaf", "leaf_view"):
        return "a view of a leaf that requires grad"
    several = (record["grad_fn"] or "").startswith(("Split", "Unbind"))
    return "one of several views of one call" if several else ""


def other_facts(record: Record, other: Record) -> list[str]:
    """Return the facts of another machine's record that differ from ours."""
    if other["error"] is not None:
        return [other["error"]] if other["error"] != record["error"] else []
    ours, theirs = fact_cells(record), fact_cells(other)
    return [
        f"{title}: {said or NOTHING}"
        for title, said in theirs.items()
        if said != ours[title]
    ]


def differs(record: Record | None, other: Record, column: str) -> bool:
    """Whether another machine's record says another thing in a column.

    A tensor that is where ``x`` is, here on the CPU and there on CUDA, is no other
    result.
    """
    if record is None or cell_text(record, column) == cell_text(other, column):
        return record is None
    return column != RESULT or not all(
        one["requires_grad"] is not None and one["result_device"] == one["device"]
        for one in (record, other)
    )


def one_line(code: str) -> str:
    """Return the code of a row on one line."""
    return re.sub(r":\n\s+", ": ", code).replace("\n", "; ")


def breakable(code: str) -> str:
    """Return code as HTML whose lines may end before a call, not within a name."""
    return re.sub(r"\.(?=[a-zA-Z_])", "<wbr>.", escape(code))


def name_of(code: str) -> str:
    """Return the code of a row without what only says that y is x."""
    return one_line(re.sub(r"\ny = x$", "", code))
