"""Draw what was observed: a scene of memories and names, and the graph if asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape, quoteattr

from tensor_maps.compare import only
from tensor_maps.graph_picture import draw_graph
from tensor_maps.pen import (
    ALONE_FONT,
    DARK,
    EDGE,
    LIGHT,
    PAPER,
    printable,
    rect,
    rounded,
)
from tensor_maps.scene import Drawing, draw_scene
from tensor_maps.story import colours_of
from tensor_maps.words import describe

MOST_IN_SCENE = 5  # names: of more, ways above the tags cannot be told apart
WIDTH, LEAST_WIDTH = 280.0, 216.0
BESIDE = 32.0  # pixels between the graph and the memories
ALONE = "tensor-map-alone"
MARGIN = 4 * EDGE  # around a drawing that stands alone


def scene(
    observed: dict,
    *,
    names: Iterable[str] | None = None,
    width: float = WIDTH,
    raises: Mapping[str, str] | None = None,
    copies: Iterable[tuple[str, str]] = (),
    graph: bool | None = None,
    steady: bool = False,
    ringed: Iterable[str] = (),
) -> Drawing:
    """Draw memories as rows of cells, names on stems, gradients and copies between.

    Parameters
    ----------
    observed
        What :func:`observe` or :func:`changed` returned.
    names
        The names to draw; all of them if there are none.
    width
        The room in pixels, at least 216. The drawing is not wider than it needs.
    raises
        Names with the class of the error that was raised for them. They get a cross;
        a name that was not observed gets a tag.
    copies
        Pairs of names, what was copied and its copy, that the graph does not tell of.
    graph
        Whether the operations of the autograd graph are drawn too; None: if more than
        five tensors are drawn.
    steady
        Whether pictures follow each other in one place: cells and edges do not depend
        on what else is drawn, so that they stay where they are.
    ringed
        The names whose tags get a ring.
    """
    if names is not None:
        names = list(names)
        observed_part = only(observed, names)
    else:
        observed_part = observed
    drawn = [one for one in observed_part["tensors"] if one["names"]]
    if graph is None:
        graph = len(drawn) > MOST_IN_SCENE
    graph = graph and any(seen["node"] is not None for seen in drawn)
    room, half = width, None
    if graph:
        named = [
            at for at, seen in enumerate(observed_part["tensors"]) if seen["names"]
        ]
        half = draw_graph(observed_part, colours_of(observed_part, named))
        room = width - half[1] - BESIDE
        room = room if room >= LEAST_WIDTH else width
    made = draw_scene(observed, names, room, raises, copies, not graph, steady, ringed)
    made.words = f"{describe(observed_part)} {made.words}".strip()
    if not drawn and not raises:
        made.caption = "Nothing to draw."
    notes = [f"{note}." for note in observed["notes"]]
    made.caption = " ".join([made.caption, *notes]).strip()
    if half is not None:
        _add_graph(made, *half, width)
        if observed_part["edges"]:
            said = "Gradients flow along the arrows of the graph."
            made.caption = f"{said} {made.caption}"
    return made


def _add_graph(
    made: Drawing, marks: list[str], wide: float, high: float, width: float
) -> None:
    """Set the graph beside the memories, or above them where there is no room."""
    if wide + BESIDE + made.width <= width:
        right, down = wide + BESIDE, -made.top
    else:
        right, down = 0.0, high + BESIDE / 2 - made.top
    place = f'<g transform="translate({rounded(right)} {rounded(down)})">'
    made.marks = [*marks, place, *made.marks, "</g>"]
    made.width = max(wide, right + made.width)
    made.height = max(high, down + made.top + made.height)
    made.top = 0.0


def draw(
    observed: dict,
    prefix: str = "map",
    width: float = WIDTH,
    graph: bool | None = None,
) -> str:
    """Draw what was observed, for a page: HTML with a caption and an SVG.

    ``prefix`` begins the id of the drawing; the others are those of :func:`scene`. The
    same data give the same text.
    """
    made = scene(observed, width=width, graph=graph)
    caption = escape(printable(made.caption))
    name = f"id={quoteattr(f'{prefix}-scene')} "
    return f"<div><p>{caption}</p>{made.svg(name)}</div>"


def draw_svg(observed: dict, width: float = WIDTH, graph: bool | None = None) -> str:
    """Draw what was observed as an SVG that needs no page: with colours, font, paper.

    It follows the reader's scheme. The parameters are those of :func:`draw`.
    """
    made = scene(observed, width=width - 2 * MARGIN, graph=graph)
    wide, high = made.width + 2 * MARGIN, made.height + 2 * MARGIN
    style = (
        f".{ALONE}{{{LIGHT}}}@media (prefers-color-scheme:dark){{.{ALONE}{{{DARK}}}}}"
    )
    paper = rect(-MARGIN, made.top - MARGIN, wide, high, f'fill="{PAPER}"')
    whole = made.svg(f'id="map-whole" class="{ALONE}" font-family="{ALONE_FONT}" ')
    head, _, marks = whole.partition(">")
    head = head.replace(made.frame(), made.frame(MARGIN))
    return f"{head}><style>{style}</style>{paper}{marks}"
