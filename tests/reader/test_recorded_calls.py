"""What the Atlas, the explorer and the search say of calls, as somebody has read it."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from pytest_regressions.file_regression import FileRegressionFixture
from reading import soup
from recorded import as_lines, check

pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(), reason="recorded without a GPU"
)
# What differs most from each other, and is the same with each version of torch.
ROWS = (
    *("assignment", "detach", "detach-in-place", "clone", "to-device", "slice-step"),
    *("expand", "view-in-place", "numpy", "numpy-force", "tolist", "from-numpy"),
    *("deepcopy-module", "frame-as-tensor", "fused-step", "load-state-dict", "split"),
    *("module-to-cpu", "module-to-device", "to-cpu-non-blocking", "pin-memory", "item"),
    *("copy-in-place", "float-of-bfloat16", "complex-real", "data-assign"),
    *("share-memory", "vector-to-parameters", "requires-grad", "detached-leaf"),
    *("array-tensor", "mixed-from-numpy", "image-from-numpy"),
)
# Of these together the explorer says each sentence that it has.
CALLS = (
    *("detach", "requires-grad", "numpy", "tolist", "item", "where", "view"),
    *("to-device", "to-cpu-non-blocking", "module-to-cpu", "module-to-device"),
    *("view-in-place", "copy-in-place", "data-assign", "numpy-write", "share-memory"),
    *("inference-mode", "step", "vector-to-parameters", "complex-real", "complex-conj"),
    *("float-of-bfloat16", "from-numpy", "array-tensor", "frame-copy"),
    *("mixed-from-numpy", "image-from-numpy"),
)
# What another torch says of these is another thing.
VARIES = (
    *("asarray", "asarray-copy", "asarray-no-copy", "np-from-dlpack", "from-dlpack"),
    "array-from-dlpack-reversed",
)


def written(site: Path, name: str) -> Any:
    """Return the data of a script of the site."""
    text = (site / "_static" / name).read_text("utf-8")
    return json.loads(text.partition("=")[2].rstrip(";\n"))


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_atlas(
    row: str, site: Path, file_regression: FileRegressionFixture
) -> None:
    check(as_lines(soup(site / "atlas.html").find(id=row)), file_regression)


def test_what_stands_around_the_rows(
    site: Path, file_regression: FileRegressionFixture
) -> None:
    article = copy.copy(soup(site / "atlas.html").article)
    for row in article.select("tr[id], details .seen-by"):
        row.decompose()
    check(as_lines(article), file_regression)


def test_the_cards_of_the_search(
    site: Path, file_regression: FileRegressionFixture
) -> None:
    cards, lines = written(site, "search_index.js")["cards"], []
    for code, card in cards.items():
        if card["id"] not in VARIES:
            told = (f"{words} ({sign})" for sign, words in card.pop("facts"))
            lines += [code, f"  {' | '.join(card.values())}", f"  {' | '.join(told)}"]
    check("\n".join(lines), file_regression)


def told_of(facts: dict[str, Any], code: str) -> Iterator[str]:
    """Yield what the explorer says of a call: each thing once, with where it is so."""
    texts, found = facts["texts"], {}
    for device, seen in zip(facts["devices"], facts["seen"][code], strict=True):
        for state, number in zip(facts["states"], seen, strict=True):
            found.setdefault(number, []).append(f"{state} on {device}")
    for number, places in found.items():
        told = facts["outcomes"][number] if number >= 0 else {"said": None}
        said = "not run" if number < 0 else f"{texts[told['said']]} {told['sign']}"
        yield f"\n{', '.join(places)}: {said}"
        yield from (texts[told[key]] for key in told if key == "error")
        for row in told.get("facts", ()):
            yield " | ".join(texts[at] for at in row)
        for name, (said, cells) in told.get("writes", {}).items():
            yield f"{name}[0] = 7: {texts[said]} {cells}"


@pytest.mark.parametrize("row", CALLS)
def test_what_the_explorer_says(
    row: str, site: Path, file_regression: FileRegressionFixture
) -> None:
    facts = written(site, "facts.js")
    (code,) = (code for code, one in facts["rows"].items() if one["id"] == row)
    about = [
        code,
        *map(str, facts["rows"][code].values()),
        *facts["forms"].get(code, ()),
    ]
    check("\n".join([*about, *told_of(facts, code)]), file_regression)
