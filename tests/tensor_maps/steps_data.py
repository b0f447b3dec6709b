"""Steps with drawings that have all marks that the viewer knows."""

from __future__ import annotations

from typing import Any

# A picture's marks: tags above rows of cells, an arc, a bar where it ends, an arrow.
TAG_WIDTH, ROW_WIDTH = 44, 60


def scene(
    *rows: tuple[str, str], arcs: int = 0, cut: bool = False, new: str = ""
) -> str:
    """Draw rows of memory, each with its names and its cell; the second is a copy.

    These are ``new`` names, between blanks.
    """
    marks = []
    for memory, (names, cell) in enumerate(rows):
        top = 60 + 70 * memory
        value = cell.rstrip("!")
        is_new = " changed" if cell != value else ""
        marks.append(
            f'<g class="tm-row" data-memory="{memory}"><g class="tm-cell{is_new}">'
            f'<rect x="110" y="{top}" width="{ROW_WIDTH}" height="24" fill="none" '
            f'stroke="currentColor"/><text x="{110 + ROW_WIDTH / 2:g}" y="{top + 16}" '
            f'text-anchor="middle">{value}</text></g></g>'
        )
        for at, name in enumerate(names.split()):
            left = 10 + at * 200
            stem = f"M{left + 22} {top - 14}V{top + 12}H110"
            marks.append(
                f'<g class="tm-tag" data-name="{name}"'
                f'{" data-new" * (name in new.split())}><path d="{stem}" fill="none" '
                'stroke="var(--line-1)" stroke-width="3"/>'
                f'<rect x="{left}" y="{top - 34}" '
                f'width="{TAG_WIDTH}" height="20" rx="10" fill="var(--line-1)"/>'
                f'<text x="{left + 22}" y="{top - 20}" text-anchor="middle" '
                f'fill="var(--color-background-primary)">{name}</text></g>'
            )
        if memory:
            marks.append(
                f'<g class="tm-copy"><path d="M140 {top - 44}v40" fill="none" '
                'stroke="currentColor" stroke-dasharray="4 3"/></g>'
            )
    for arc in range(arcs):
        marks.append(
            f'<g class="tm-arc"><path d="M32 20C60 {-arc * 9} 200 0 232 20" '
            'fill="none" stroke="currentColor" stroke-dasharray="3 3"/></g>'
        )
    if cut:
        marks.append(
            '<g class="tm-cut"><path d="M130 0v16" stroke="currentColor" '
            'stroke-width="4"/></g>'
        )
    height = 30 + 70 * len(rows)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Rows and tags" '
        f'viewBox="0 0 280 {height}" width="280" height="{height}" '
        f'fill="currentColor" font-size="12">{"".join(marks)}</svg>'
    )


LONG = "l is computed from c and w. Gradients flow back to both. " * 3
MOVING = """import torch
w = torch.ones(1, requires_grad=True)
z = w.detach()
c = z.clone()
z += 1
l = c * w
if False:
    pass
""".splitlines()


def moving() -> dict[str, Any]:
    """Return steps in which each mark that moves comes once."""
    both = ("w z", "1"), ("c", "1")
    written = ("w z", "2!"), both[1]
    told = [
        ("appears", "w", "w is a new tensor.", scene(("w", "1"), new="w")),
        ("cut", "z", "z shares w's memory.", scene(both[0], cut=True, new="z")),
        ("appears", "c", "c is a copy.", scene(*both, cut=True, new="c")),
        ("written", "w z", "z and w hold 2.", scene(*written, new="w z")),
        ("gradient", "l", LONG, scene(("w z", "2"), both[1], arcs=1)),
    ]
    nothing = {"turn": [], "printed": "", "changed": [], "names": []}
    steps: list[dict[str, Any]] = [
        {"first": 1, "last": 1, "said": "torch is imported.", **nothing}
    ]
    steps[0] |= {"event": None, "drawing": None}
    for at, (event, names, said, _) in enumerate(told):
        steps.append(
            nothing
            | {"first": at + 2, "last": at + 2, "said": said, "event": event}
            | {"names": names.split(), "drawing": at}
        )
    return {
        "format": 2,
        "title": "What moves",
        "torch": "2.13.0",
        "code": MOVING,
        "steps": steps,
        "drawings": [drawing for *_, drawing in told],
        "captions": ["one memory" for _ in told],
    }
