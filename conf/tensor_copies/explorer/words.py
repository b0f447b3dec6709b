"""What the explorer says of a chain: the answer, and the facts below the picture.

``static/explorer.js`` says the same in the reader's browser, letter by letter; a test
compares them.
"""

from __future__ import annotations

from typing import Any


def headline(seen: dict[str, Any], places: tuple[str, str]) -> str:
    """Return the answer in a few words."""
    if seen["error"] is not None:
        return f"It raises {seen['error'].partition(':')[0]}."
    if seen["same_object"]:
        said = "y is x itself."
    elif seen["shares_memory"]:
        said = "y shares memory with x."
    elif seen["new_bytes"] is None:
        said = "y is a number, not a tensor or array."
    else:
        said = "y is a copy with its own memory."
    if seen["gradient_flows"] is not None:
        flows = seen["gradient_flows"]
        said += " Gradients flow back to x." if flows else " No gradient flows back."
    if places[0] != places[1] and seen["new_bytes"] is not None:
        said += f" y is on {places[1]}."
    return said


def facts_shown(
    seen: dict[str, Any], places: tuple[str, str]
) -> list[tuple[str, str, str]]:
    """Return what to show below the picture: a heading, the answer, a detail."""
    if seen["error"] is not None:
        return []
    if seen["same_object"]:
        memory = "x itself", "no new memory"
    elif seen["shares_memory"]:
        memory = "shared with x", "no new memory"
    elif seen["new_bytes"] is None:
        memory = "none", "a number in Python"
    else:
        memory = "its own", f"{seen['new_bytes']} new bytes"
    gradient = {
        None: ("none", "x does not require grad"),
        0: ("stops", "a backward pass does not reach x"),
        1: ("flows back", "a backward pass reaches x"),
    }[seen["gradient_flows"]]
    autograd = ("not part of autograd", "")
    if seen["requires_grad"] is not None:
        leaf = "leaf: yes" if seen["is_leaf"] else f"leaf: no, {seen['grad_fn']}"
        autograd = f"requires_grad: {bool(seen['requires_grad'])}", leaf
    if seen["changes_x"]:
        autograd = autograd[0], f"{autograd[1]}; the call changed x"
    return [
        ("Memory", *memory),
        ("Gradient", *gradient),
        ("Result", seen["result"], f"on {places[1]}"),
        ("y in autograd", *autograd),
    ]
