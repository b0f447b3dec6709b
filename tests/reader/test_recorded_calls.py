"""What the Atlas and the explorer say of some calls, as somebody has read it."""

import json
from pathlib import Path

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
    *("deepcopy-module", "frame-as-tensor", "fused-step", "load-state-dict"),
)
CALLS = ("x.detach()", "x.numpy()", "x.to(device)", "x.view(-1)", "x.requires_grad_()")


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_atlas(
    row: str, site: Path, file_regression: FileRegressionFixture
) -> None:
    check(as_lines(soup(site / "atlas.html").find(id=row)), file_regression)


@pytest.mark.parametrize("call", CALLS)
def test_what_the_explorer_says(
    call: str, site: Path, file_regression: FileRegressionFixture
) -> None:
    facts, index = (
        json.loads((site / "_static" / name).read_text("utf-8").partition("=")[2][:-2])
        for name in ("facts.js", "search_index.js")
    )
    texts, card = facts["texts"], index["cards"].get(call, {"facts": []})
    lines = [f"The search says: {words} ({sign})" for sign, words in card["facts"]]
    for device, seen in zip(
        facts["devices"].values(), facts["seen"][call], strict=True
    ):
        for state, number in zip(facts["states"], seen, strict=True):
            told = facts["outcomes"][number]
            lines += ["", f"{state} on {device}: {texts[told['said']]}"]
            lines.append(f"  {told['sign']}")
            lines += [f"  {texts[told[key]]}" for key in told if key == "error"]
            for row in told.get("facts", ()):
                lines.append("  " + " | ".join(texts[at] for at in row))
            for name, (said, cells) in told.get("writes", {}).items():
                lines.append(f"  {name}[0] = 7: {texts[said]} {cells}")
    check("\n".join(lines), file_regression)
