"""What authors leave in a source by mistake, and no tool of the build names."""

import re

from reading import ROOT

RUNS = re.compile(r"---\n.*?^file_format: mystnb$.*?^---$", re.MULTILINE | re.DOTALL)
MISTAKES = {
    r"\W*[<>]{7} ": "a conflict",
    ".*[\u00a0\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]": "a hidden character",
}
WHERE_CELLS_RUN = {
    r"\s*```\s*py(thon)?$": "code that does not run: write {code-cell} ipython3",
    r"\s*:tags:(?!\s*\[.*\]$)": "tags that are no list: write :tags: [one, two]",
}


def test_no_source_has_a_mistake() -> None:
    kinds = [("docs", "md"), ("docs", "toml"), ("examples", "py"), ("examples", "rst")]
    paths = {path for top, end in kinds for path in (ROOT / top).rglob(f"*.{end}")}
    paths = {path for path in paths if "auto_examples" not in path.parts}
    assert len(paths) > 100
    for path in paths:
        text = path.read_text(encoding="utf-8")
        mistakes = MISTAKES | (WHERE_CELLS_RUN if RUNS.match(text) else {})
        for pattern, fault in mistakes.items():
            found = re.search(f"^{pattern}", text, re.MULTILINE)
            assert not found, f"{path.name} has {fault}: {found}"
