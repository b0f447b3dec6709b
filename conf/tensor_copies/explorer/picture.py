"""The explorer's picture and its words, from what was seen of a chain.

``static/explorer.js`` draws and says the same in the reader's browser, stroke by
stroke and letter by letter; a test compares them. Here they are made for the state
that the page opens with and for the pictures of a reader without scripts.

One memory is one row of cells in one colour; a name tag stands on a stem. The words
in the drawing are few and short, with room on both sides: no font cuts them.
"""

from __future__ import annotations

from typing import Any

WIDTH, HEIGHT = 360, 190
CELL = 22
LEFT, MIDDLE, RIGHT = 74, 180, 286
ROW = 112  # the upper edge of a row of cells

Seen = dict[str, Any]


def draw(seen: Seen, row_of_x: list[float], places: tuple[str, str], write: str) -> str:
    """Return the picture as SVG.

    Parameters
    ----------
    seen
        What a chain did, from :meth:`Explorer.seen`.
    row_of_x
        The memory of ``x`` before the call, shown where the chain raises.
    places
        What the devices of ``x`` and ``y`` are called.
    write
        ``"x"`` or ``"y"`` for the picture after the write through that name, else
        the empty string.
    """
    scene = seen["scene"]
    made = scene["writes"][write]["changed"] if scene and write else None
    parts: list[str] = []
    if scene is None:
        parts += [_frame(2, 142), _row(row_of_x, LEFT, "a", [], None)]
        parts += [_stem(LEFT), _tag("x", LEFT, "a"), _tag("y", RIGHT, "none")]
        parts += ['<path class="cross" d="M276 116l20 20m0-20l-20 20"/>']
        parts += [_label(LEFT, f"on {places[0]}"), _label(RIGHT, "raises", "bad")]
    elif len(scene["cells"]) == 1:
        held = scene["holds"][1]
        (row,) = scene["cells"]
        parts += [_frame(2, 356), _row(row, MIDDLE, "a", made[0] if made else [], None)]
        if seen["same_object"]:
            parts += [_stem(MIDDLE), _tag("x, y", MIDDLE, "a")]
        else:
            edge = MIDDLE - len(row) * CELL // 2
            for name, at, end in (("x", LEFT, edge), ("y", RIGHT, 2 * MIDDLE - edge)):
                bend = f"M{at} 76V116q0 10 {10 if at < end else -10} 10H{end}"
                parts += [f'<path class="stem a" d="{bend}"/>', _tag(name, at, "a")]
            parts += [_under(row, held, MIDDLE, "a"), _gradient(seen)]
        parts += [_label(MIDDLE, f"one memory, on {places[0]}")]
    else:
        for name, at, kind, place in (("x", LEFT, "a", 0), ("y", RIGHT, "b", 1)):
            row, held = scene["cells"][place], scene["holds"][place]
            changed = made[place] if made else []
            number = not held
            drawn = _row(row, at, "number" if number else kind, changed, held)
            stem = _stem(at, "none" if number else kind)
            under = _under(row, held, at, kind)
            parts += [f'<g class="of-{name}">{drawn}{stem}{under}</g>']
            parts += [_tag(name, at, kind)]
        parts += ['<path class="copied" d="M148 126H204m-8-5l8 5l-8 5"/>']
        parts += [_label(MIDDLE, "copied", at=106)]
        together = places[0] == places[1]
        frames = [_frame(2, 356)] if together else [_frame(2, 142), _frame(216, 142)]
        parts = frames + parts + [_gradient(seen)]
        parts += [_label(LEFT, f"on {places[0]}"), _label(RIGHT, f"on {places[1]}")]
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'


def _frame(left: int, width: int) -> str:
    """Return what stands for a device."""
    return (
        f'<rect class="device" x="{left}" y="92" width="{width}" height="96" rx="8"/>'
    )


def _row(
    values: list[float], centre: int, kind: str, changed: list[int], held: list | None
) -> str:
    """Return a memory: a row of cells, those not held faint, those changed strong."""
    left = centre - len(values) * CELL // 2
    cells = ""
    for place, value in enumerate(values):
        x = left + place * CELL
        new = place in changed
        more = " changed" if new else ""
        if held and place not in held:
            more += " faint"
        cells += (
            f'<g class="cell {kind}{more}"><rect x="{x}" y="{ROW}" width="{CELL}" '
            f'height="28"/><text x="{x + CELL // 2}" y="132">{7 if new else value}'
            "</text></g>"
        )
    return cells


def _under(values: list[float], held: list[int], centre: int, kind: str) -> str:
    """Return a bar under the cells that y holds, if it does not hold all."""
    if not held or len(held) == len(values):
        return ""
    left = centre - len(values) * CELL // 2
    bars = "".join(
        f'<path class="bar {kind}" d="M{left + place * CELL + 3} 145h{CELL - 6}"/>'
        for place in sorted(held)
    )
    middle = left + (min(held) + max(held) + 1) * CELL // 2
    return f'{bars}<text class="under {kind}" x="{middle}" y="162">y</text>'


def _stem(at: int, kind: str = "a") -> str:
    return f'<path class="stem {kind}" d="M{at} 76V{ROW}"/>'


def _tag(name: str, at: int, kind: str) -> str:
    width = 56 if len(name) == 1 else 84
    return (
        f'<g class="tag {kind}"><rect x="{at - width // 2}" y="44" width="{width}" '
        f'height="32" rx="16"/><text x="{at}" y="66">{name}</text></g>'
    )


def _label(x: int, text: str, kind: str = "", at: int = 180) -> str:
    return f'<text class="label {kind}" x="{x}" y="{at}">{text}</text>'


def _gradient(seen: Seen) -> str:
    """Return the arrow back to x, or where it stops; nothing if x has no gradient."""
    if seen["gradient_flows"] is None:
        return ""
    if seen["gradient_flows"]:
        return (
            '<path class="gradient" d="M286 40C270 4 90 4 76 36m-4-11l4 11l9-7"/>'
            + _label(MIDDLE, "gradient", at=36)
        )
    return (
        '<path class="stopped" d="M286 40C274 16 232 14 194 14"/>'
        '<path class="stop" d="M184 3v22"/>' + _label(MIDDLE, "no gradient", "bad", 44)
    )


def headline(seen: Seen, places: tuple[str, str]) -> str:
    """Return the answer in a few words."""
    if seen["error"] is not None:
        return f"It raises {seen['error'].partition(':')[0]}."
    if seen["same_object"]:
        said = "y is x itself."
    elif seen["shares_memory"]:
        said = "The same memory."
    elif seen["new_bytes"] is None:
        said = "A number, in no tensor's memory."
    else:
        said = "A copy, in memory of its own."
    if seen["gradient_flows"] is not None:
        flows = seen["gradient_flows"]
        said += " Gradients flow back to x." if flows else " No gradient flows back."
    if places[0] != places[1]:
        said += f" On {places[1]}."
    return said


def facts(seen: Seen, places: tuple[str, str]) -> list[tuple[str, str, str]]:
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
    autograd = ("no part of autograd", "")
    if seen["requires_grad"] is not None:
        needs = "requires grad" if seen["requires_grad"] else "does not require grad"
        autograd = needs, "a leaf" if seen["is_leaf"] else f"{seen['grad_fn']}"
    if seen["changes_x"]:
        autograd = autograd[0], f"{autograd[1]}; x was changed too"
    return [
        ("Memory", *memory),
        ("Gradient", *gradient),
        ("Result", seen["result"], f"on {places[1]}"),
        ("y in autograd", *autograd),
    ]
