"""Draw what a call did; put the signs of calls into a sheet."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from markupsafe import Markup
from tensor_maps.atlas.calls import Call

from tensor_copies.markup import TEMPLATES

WIDTH = 360.0
TOP, HEIGHT = -70, 200  # of the frame that all pictures have, so that none jumps
_drawn: dict[str, str] = {}  # most calls look like others, and to draw takes longest


def draw(call: Call, observed: dict[str, Any], error: str = "") -> str:
    """Return the picture of what was observed of a call, as SVG without a label.

    ``error`` is the class of what it raised: then only its subject was observed.
    """
    from tensor_maps.pen import TEXT  # not before: what draws imports torch
    from tensor_maps.scene import draw_scene

    for tensor in observed["tensors"]:
        tensor["names"] = [call.subject if n == "x" else n for n in tensor["names"]]
    for storage in observed["storages"]:
        storage["device"] = "cpu" if storage["device"] == "cpu" else "device"
        storage["windows"] = [{**one, "is_low": True} for one in storage["windows"]]
    two = len(observed["storages"]) > 1 and not error and call.values != "other"
    copies = [(call.subject, "y")] if two else []
    raises = {"y": error} if error else {}
    asked = observed, [call.subject, "y"], WIDTH, raises, copies, True, True
    if (key := repr(asked)) not in _drawn:
        drawing = draw_scene(*asked)
        left, top = (drawing.width - WIDTH) / 2, min(drawing.top, TOP)
        height = max(drawing.top + drawing.height, TOP + HEIGHT) - top
        _drawn[key] = (
            f'<svg viewBox="{left:g} {top:g} {WIDTH:g} {height:g}" '
            f'fill="currentColor" font-size="{TEXT:g}">{"".join(drawing.marks)}</svg>'
        )
    return _drawn[key]


def labelled(picture: str, label: str) -> Markup:
    """Return a picture with its words for who cannot see it."""
    words = f'<svg role="img" aria-label={quoteattr(label)} '
    return Markup(picture.replace("<svg ", words, 1))


def sheet(drawn: Mapping[str, Sequence[str]]) -> Markup:
    """Return the drawings of signs, each of some keys of ``SIGNS``, by its name.

    A page has one sheet; ``<use href="#sign-NAME">`` shows one of its drawings.
    """
    return Markup(TEMPLATES.get_template("calls/signs.html").render(signs=drawn))
