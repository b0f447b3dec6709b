"""The first screen of a lesson on a tiny site: what opens it, and what is folded."""

from __future__ import annotations

from conftest import TinySite, lesson
from reading import downloads_of, soup

SETUP = """
# sphinx_gallery_setup = True
import torch

device = "cpu"
print("runs on", device)
"""
DRAWN = """w = torch.ones(2, requires_grad=True)
z = w.detach()
print("made")
# sphinx_gallery_tensor_map_lead = "z"
# sphinx_gallery_tensor_map = "w, z"
"""


def test_the_lead_is_moved_and_is_the_card(tiny_site: TinySite) -> None:
    first = "print('first')\n# sphinx_gallery_tensor_map = 'here'\n"
    first = first.replace("print", "import torch\nhere = torch.zeros(1)\nprint")
    tiny_site.write_lessons({"a.py": lesson("A", first, DRAWN)})
    built = tiny_site.build()
    assert built.status == 0, built.output
    page = soup(tiny_site.page("a"))
    maps = [one.svg["aria-label"] for one in page.select("figure.tensor-map")]
    assert len(maps) == 3
    lead = page.select_one("section > p:not([class]) + .lesson-lead")
    assert lead.svg["aria-label"] == maps[0] and "here" not in maps[0]
    assert maps[0].startswith("z = ")
    overview = soup(tiny_site.page("index"))
    named = overview.select(".lesson-cards svg rect[rx] + text")
    assert [name.get_text() for name in named] == ["z"]


def test_the_setup_is_folded_and_no_download_has_a_marker(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", SETUP, DRAWN)})
    built = tiny_site.build()
    assert built.status == 0, built.output
    path = tiny_site.page("a")
    fold = soup(path).select_one("details.setup")
    assert not fold.has_attr("open")
    assert fold.summary.get_text() == "Setup: imports, the device"
    assert [pre.get_text().split()[0] for pre in fold.select("pre")] == [
        "import",
        "runs",
    ]
    offered = downloads_of(path)
    script = tiny_site.folder / "examples" / "1_first" / "a.py"
    assert offered[".py"].read_text().split("\n") == [
        line for line in script.read_text().split("\n") if "sphinx_gallery_" not in line
    ]
    assert "sphinx_gallery_" not in offered[".ipynb"].read_text()
    # A marker that moves changes what the page shows and not what is downloaded; a
    # build that changes nothing leaves every file as it is.
    published = tiny_site.published()
    assert tiny_site.build().status == 0
    assert tiny_site.published() == published
    before = offered[".py"].read_bytes()
    script.write_text(script.read_text().replace("# sphinx_gallery_setup = True\n", ""))
    assert tiny_site.build().status == 0
    assert not soup(path).select("details.setup")
    assert downloads_of(path)[".py"].read_bytes() == before


def test_a_marker_that_cannot_be_followed_fails_in_one_line(
    tiny_site: TinySite,
) -> None:
    wrong = {
        "a: the block on line 11 is to open the page and draws nothing": lesson(
            "A", "print(1)", "print('end')\n# sphinx_gallery_lead = True"
        ),
        "a.py: the block on line 11 is marked as the setup": lesson(
            "A", "print(1)", "print('end')\n# sphinx_gallery_setup = True"
        ),
        "a.py: the blocks on lines 7, 12 each ask to open the page": lesson(
            "A",
            "print(1)\n# sphinx_gallery_lead = True",
            "print('end')\n# sphinx_gallery_lead = True",
        ),
    }
    for said, script in wrong.items():
        tiny_site.write_lessons({"a.py": script})
        built = tiny_site.build()
        assert built.status != 0
        assert said in built.output
        assert "Traceback" not in built.output
        assert not tiny_site.html.exists()
