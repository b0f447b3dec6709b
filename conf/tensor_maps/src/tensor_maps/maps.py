"""The picture that a notebook shows and a terminal prints."""

from __future__ import annotations

import json

from tensor_maps.draw import draw, draw_svg
from tensor_maps.observe import observe
from tensor_maps.reading import short_hash
from tensor_maps.words import describe


class TensorMap:
    """A picture of what was observed, which a notebook shows and ``print`` tells."""

    def __init__(self, observed: dict) -> None:
        self.observed = observed

    def _repr_html_(self) -> str:
        # Several maps stand in one notebook: their ids have to differ.
        prefix = "map-" + short_hash(json.dumps(self.observed).encode())
        return (
            '<figure class="tensor-map" style="display:flex;flex-wrap:wrap;'
            f'gap:1rem 3rem">\n{draw(self.observed, prefix)}\n</figure>'
        )

    def _repr_svg_(self) -> str:
        return draw_svg(self.observed)

    def __str__(self) -> str:
        return describe(self.observed)


def tensor_map(**named: object) -> TensorMap:
    """Return a picture of tensors and NumPy arrays, by name, as they are now.

    It keeps what was seen and no tensor: later writes do not change it.
    """
    return TensorMap(observe(named))
