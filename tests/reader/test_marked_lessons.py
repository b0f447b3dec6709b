"""What the markers of a lesson make of its page, on one tiny site that is edited.

Its lesson has all that a marker can ask for: the setup, a picture that opens the page,
a question with two wrong answers, and what is remembered.
"""

from __future__ import annotations

import ast
import re

import nbformat
import pytest
from conftest import TinySite, lesson, new_tiny_site
from reading import downloads_of, soup
from recording import pretend_other_machine, record

pytestmark = pytest.mark.slow  # it builds a site
FIRST = """
# sphinx_gallery_setup = True
import torch

device = "cpu"
print("runs on", device)
here = torch.zeros(1)
# sphinx_gallery_tensor_map = "here"
"""
SECOND = """w = torch.zeros(2, requires_grad=True)
z = w.detach()
print("made")
# sphinx_gallery_tensor_map_lead = "z"
# sphinx_gallery_tensor_map = "w, z"
# sphinx_gallery_tensor_map_graph = True

# %%
# Ask
# ---
# So one writes.

z[0] = 7.0
print("device", w.device)
print("w", w.tolist())
assert w[0] == 7.0
# sphinx_gallery_predict = "What does ``w`` <now> hold?"
# sphinx_gallery_predict_instead = "w.detach() -> w.detach().clone()"
# sphinx_gallery_predict_instead_2 = "w.detach() -> w raises"

# %%
# This is why.

# %%
# This leads on.

print("end", torch.equal(w, z))

# %%
# Remember
# --------
# - One thing.
"""
INDEX = """# Tiny

```{toctree}
auto_examples/index
calls
sheet
```
"""
SHEET = "# Sheet\n\n```{remember}\n```\n"
CALLS = "# Calls\n\nEach name leads to its page.\n\n```{calls}\n```\n"
ASKED = '"1_first/a#then" = ["and then"]\n'


def text(tag: object) -> str:
    return " ".join(tag.get_text().split())


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    """Build the site; its recording is of another machine, whose answer differs."""
    site = new_tiny_site(tmp_path_factory.mktemp("marked") / "tiny")
    site.write_lessons({"a.py": lesson("A", FIRST, SECOND)})
    docs = site.folder / "docs"
    (docs / "index.md").write_text(INDEX)
    (docs / "sheet.md").write_text(SHEET)
    (docs / "calls.md").write_text(CALLS)
    (docs / "asked.toml").write_text(ASKED)
    done = record(site)
    assert done.status == 0, done.output
    folder = pretend_other_machine(site, lambda line: line.replace("cpu", "cuda:0"))
    for figure in folder.glob("a.[0-9]*.json"):
        figure.write_text(figure.read_text().replace('"cpu"', '"cuda:0"'))
    built = site.build()
    assert built.status == 0, built.output
    assert "Stale" not in built.output
    return site


def test_the_setup_is_folded_and_the_lead_opens_the_page(marked: TinySite) -> None:
    page = soup(marked.page("a"))
    fold = page.select_one("details.setup")
    assert not fold.has_attr("open") and "imports, the device" in text(fold.summary)
    assert [text(pre).split()[0] for pre in fold.select("pre")][:2] == [
        "import",
        "runs",
    ]
    maps = [one.svg["aria-label"] for one in page.select("figure.tensor-map")]
    lead = page.select_one("section > h1 + p:not([class]) + .lesson-lead")
    assert len(maps) == 3 and lead.svg["aria-label"] == maps[0]
    assert maps[0].startswith("z = ") and "here" not in maps[0]
    actions = text(lead.find_next_sibling(class_="lesson-actions"))
    assert actions.startswith("Script Notebook")
    cards = soup(marked.page("index")).select(".lesson-rows svg rect[rx] + text")
    assert [one.get_text() for one in cards] == ["z"]


def test_a_map_is_the_same_on_another_device_and_with_its_graph(
    marked: TinySite,
) -> None:
    page = soup(marked.page("a"))
    (tabs,) = page.select(".machines-outputs")  # of the block that prints the device
    assert not tabs.select("figure.tensor-map")


def test_the_box_holds_every_machines_output_the_proof_and_the_reason(
    marked: TinySite,
) -> None:
    page = soup(marked.page("a"))
    (box,) = page.select("details.predict")
    assert text(box.summary) == "What does w <now> hold?"
    assert box.select_one("summary code").get_text() == "w"
    shown = [text(pre) for pre in box.select(".machines-outputs > .variant pre")]
    assert shown == ["device cpu w [7.0, 0.0]", "device cuda:0 w [7.0, 0.0]"]
    assert len(box.select(".machine-tabs input")) == 2
    said = text(box)
    (proof,) = box.select(".predict-answer > details.checked")
    assert text(proof.summary) == "Printed and checked by 3 lines"
    assert text(proof.pre).endswith("assert w[0] == 7.0") and "This is why." in said
    assert "print" not in text(box.find_previous_sibling(class_="highlight-Python"))
    for outside in ("This leads on.", "made", "end True"):
        assert outside not in said and outside in text(page)
    radios = box.find_previous_sibling().select("input")
    right = [one for one in radios if one.has_attr("data-right")]
    assert len(radios) == 3 and len(right) == 1
    assert text(right[0].find_parent("label").code) == "w [7.0, 0.0]"
    wrong = {one["data-said"] for one in radios if one not in right}
    assert len(wrong) == 2 and all("`z = w" in one for one in wrong), wrong


def test_a_download_has_all_code_and_no_marker(marked: TinySite) -> None:
    offered = downloads_of(marked.page("a"))
    script = (marked.folder / "examples/1_first/a.py").read_text()
    lines = [line for line in script.split("\n") if "sphinx_gallery_" not in line]
    assert offered[".py"].read_text().split("\n") == lines
    notebook = nbformat.read(offered[".ipynb"], as_version=4)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    whole = ast.parse(script).body[1:]
    assert [ast.dump(one) for one in ast.parse("\n".join(code)).body] == [
        ast.dump(one) for one in whole
    ]
    assert "gallery_" not in offered[".ipynb"].read_text()


def test_an_edit_comes_to_the_page_the_sheet_the_calls_and_the_search(
    marked: TinySite,
) -> None:
    calls = {"torch.equal", "torch.zeros", "torch.Tensor.detach"}
    index = marked.html / "_static" / "search_index.js"

    def state() -> tuple[bool, bool, bool, bool]:
        listed = {
            tag["id"] for tag in soup(marked.html / "calls.html").select("dt.call")
        }
        assert calls <= listed | {"torch.equal"}
        return (
            "One thing." in (marked.html / "sheet.html").read_text("utf-8"),
            "torch.equal" in listed,
            "and then" in index.read_text("utf-8"),
            bool(soup(marked.page("a")).select("details.setup")),
        )

    assert state() == (True, True, True, True)
    before = marked.published()
    assert marked.build().status == 0
    assert marked.published() == before, "nothing was changed"
    script = marked.folder / "examples/1_first/a.py"
    written = script.read_text()
    changed = written.replace("One thing.", "Another.").replace("setup = True", "x = 1")
    changed = changed.replace("torch.equal(w, z)", "w is z")
    script.write_text(changed.replace("# sphinx_gallery_x = 1\n", ""))
    asked = marked.folder / "docs" / "asked.toml"
    asked.write_text(ASKED.replace("and then", "and after"))
    built = marked.build()
    assert built.status == 0, built.output
    assert state() == (False, False, False, False)
    assert "Another." in (marked.html / "sheet.html").read_text("utf-8")
    script.write_text(written)
    asked.write_text(ASKED)


LEAD = "# sphinx_gallery_lead = True"
LONG = '# sphinx_gallery_short_title = "An idea that takes two lines here"\nprint(1)'
WRONG = {
    r"a.py: the block on line 11 has a prediction without": (
        "print(1)", "print('end')\n# sphinx_gallery_predict = 7"),
    r"a: the block on line 11 is to open the page and draws nothing": (
        "print(1)", f"print('end')\n{LEAD}"),
    "a.py, line 7: sphinx_gallery_try names 'x.detatch()', which the explorer does not "
    "show: write x.detach()": ('# sphinx_gallery_try = "x.detatch()"\nprint(1)',),
    "a.py, line 6: the short title 'An idea that takes two lines here' has 33": (LONG,),
    r"a.py: the block on line 11 is marked as the setup": (
        "print(1)", "print('end')\n# sphinx_gallery_setup = True"),
}  # fmt: skip


@pytest.mark.parametrize("said", WRONG)
def test_a_marker_that_cannot_be_followed_fails_in_one_line(
    marked: TinySite, said: str
) -> None:
    before = marked.published()
    marked.write_lessons({"a.py": lesson("A", *WRONG[said])})
    built = marked.build()
    marked.write_lessons({"a.py": lesson("A", FIRST, SECOND)})
    assert built.status == 2
    assert said in built.output and "Traceback" not in built.output
    assert marked.published() == before


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('"1_first/a#them" = ["x"]', "1_first/a#them is no section; there are then"),
        ('"1_first/a" = "x"', 'write "1_first/a" = ["a question", "another"]'),
    ],
)
def test_a_readers_question_that_names_nothing_is_refused(
    marked: TinySite, written: str, said: str
) -> None:
    asked = marked.folder / "docs" / "asked.toml"
    asked.write_text(written, encoding="utf-8")
    built = marked.build()
    asked.write_text(ASKED)
    assert built.status == 2
    assert re.search(re.escape(said), built.output), built.output
