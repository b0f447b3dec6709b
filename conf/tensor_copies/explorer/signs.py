"""The signs of the whole site: what a call does to memory and gradient, in a glance.

A sign is drawn once a page, in a sheet, and used wherever it stands. Its words, for who
cannot see it, stand here too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from tensor_copies.markup import TEMPLATES

STYLE = "signs.css"
SIGNS = {
    "shares": "shares memory",
    "itself": "is x itself",
    "copies": "has its own memory",
    "moves": "is x itself, moved",
    "raises": "raises",
    "flows": "gradient flows back",
    "stops": "gradient stops",
}


def sheet(drawn: Mapping[str, Sequence[str]]) -> Markup:
    """Return the drawings of signs, each of some keys of ``SIGNS``, by its name.

    A page has one sheet; ``<use href="#sign-NAME">`` shows one of its drawings.
    """
    return Markup(TEMPLATES.get_template("explorer/signs.html").render(signs=drawn))
