"""The marker of the picture that opens a lesson: what it may say, and what it draws."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from bs4 import BeautifulSoup
from sphinx.errors import ExtensionError
from tensor_copies.figures.lead import draw_lead, observed_lead, read_lead
from tensor_copies.figures.maps import drawn_card

WEIGHT = torch.ones(2, requires_grad=True)


def kept(marker: str, **names: Any) -> dict[str, Any]:
    """Return what is kept of a block with this marker, at whose end these names are."""
    content = f"# sphinx_gallery_tensor_map_lead = {marker!r}"
    block = SimpleNamespace(content=content, lineno=7)
    variables = {"src_file": "/a/lesson.py", "example_globals": names}
    return observed_lead(block, variables)


def test_all_parts_of_the_marker_are_drawn() -> None:
    layer = torch.nn.Linear(2, 1)
    found = kept(
        'layer.weight, kept["a,b"], p copied to q[0],'
        " y raises RuntimeError, layer.weight raises torch.OutOfMemoryError",
        layer=layer,
        kept={"a,b": WEIGHT},
        p=torch.ones(1),
        q=[torch.ones(1)],
    )
    drawn = draw_lead(found, "lead")
    tags = BeautifulSoup(drawn, "html.parser").select(".tm-tag")
    named = {tag["data-name"] for tag in tags}
    assert named == {"layer.weight", 'kept["a,b"]', "p", "q[0]", "y"}
    assert drawn.count('class="tm-copy"') == 1
    assert "y raises RuntimeError." in drawn
    assert "layer.weight raises torch.OutOfMemoryError." in drawn


def test_a_card_shows_what_the_page_opens_with(tmp_path: Path) -> None:
    found = kept("w, y raises RuntimeError", w=WEIGHT)
    path = tmp_path / "card.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    assert "RuntimeError" in drawn_card(path) and "aria-hidden" in drawn_card(path)


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("w, z", "'z', which is not defined there: name tensors"),
        ("w.nothing", "'w.nothing', which is not defined there"),
        ("number", "'number', which is of type int"),
        ("w copied to z", "'z', which is not defined"),
        ("w, , z", "'' is no name: write names"),
        ("w.clone()", r"'w.clone\(\)' is no name"),
        ("w[call()]", "is no name"),
        ("w z", "'w z' is no name"),
        ("w raises an error", "'an error' is no class"),
    ],
)
def test_what_cannot_be_drawn_is_named_with_its_line(marker: str, said: str) -> None:
    with pytest.raises(ExtensionError, match=said) as refused:
        kept(marker, w=WEIGHT, number=3)
    text = str(refused.value)
    assert text.startswith("lesson.py: the block on line 7 ") and "\n" not in text


def test_nothing_is_called_to_see_what_raises() -> None:
    called = []
    found = kept("w, w.touch() raises TypeError", w=WEIGHT, touch=called.append)
    assert found["raises"] == {"w.touch()": "TypeError"} and called == []
    with pytest.raises(ValueError, match="is no text"):
        read_lead(True)
