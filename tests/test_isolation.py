"""Each lesson starts as a new Python would, whatever ran before it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import TinySite, lesson
from reading import (
    EXAMPLES,
    SCRIPTS,
    page_of,
    parts_of,
    soup,
    subjects,
    without_numbers,
)

CHANGE_EVERYTHING = """import os
import random
import warnings
import matplotlib.pyplot as plt
import numpy as np
import perfplot
import torch
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_grad_enabled(False)
torch.autograd.set_detect_anomaly(True, check_nan=False)
torch.use_deterministic_algorithms(True)
torch.set_num_threads(torch.get_num_threads() + 1)
torch.set_printoptions(precision=1, sci_mode=True)
torch.set_float32_matmul_precision("medium")
torch.manual_seed(1)
random.seed(1)
np.random.seed(1)
np.set_printoptions(precision=1)
np.seterr(all="raise")
warnings.simplefilter("ignore")
os.environ["LEFT_BEHIND"] = "1"
plt.rcParams["lines.linewidth"] = 9
plt.plot([1, 2])
(torch.ones(1, requires_grad=True) * 2).grad
print("all changed")"""
SHOW_EVERYTHING = """import os
import random
import warnings
import numpy as np
import torch
print(torch.get_default_dtype(), torch.empty(0).device)
print(torch.is_grad_enabled(), torch.is_anomaly_enabled())
print(torch.are_deterministic_algorithms_enabled())
print(torch.get_num_threads(), torch.get_float32_matmul_precision())
print(torch.initial_seed() == 1, torch.tensor([1 / 3, 1e6]))
print(np.array([1 / 3]), np.geterr())
print(random.getstate() == random.Random(1).getstate())
print(np.random.get_state()[1][0] == 1)
print("LEFT_BEHIND" in os.environ)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    (torch.ones(1, requires_grad=True) * 2).grad
print(len(caught))"""
DRAW = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint(1)"


def test_a_lesson_finds_what_a_new_python_finds(
    tiny_site: TinySite, tmp_path: Path
) -> None:
    show = lesson("Show", SHOW_EVERYTHING)
    tiny_site.write_lessons(
        {"change.py": lesson("Change", CHANGE_EVERYTHING), "show.py": show}
    )
    built = tiny_site.build()
    assert built.status == 0, built.output
    (tmp_path / "show.py").write_text(show)
    alone = subprocess.run(
        [sys.executable, tmp_path / "show.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    shown = "".join(part.output for part in parts_of(tiny_site.page("show")))
    assert shown == alone.stdout


def looks(page: Path) -> list[list[str]]:
    """Return the tags and styles of each live figure."""
    return [
        sorted(
            f"{tag.name} {tag.get('style')} {tag.get('viewbox')} {tag.get('fill')}"
            for tag in figure.find_all()
        )
        for figure in soup(page).select("figure.lesson-figure > svg:first-child")
        if figure.find_parent(class_="recorded") is None
    ]


def test_a_figure_looks_the_same_before_and_after_perfplot(tiny_site: TinySite) -> None:
    benchmark = "import perfplot\nprint('imported')"
    lessons = {"draw.py": lesson("Draw", DRAW), "bench.py": lesson("Bench", benchmark)}
    tiny_site.write_lessons(lessons)
    # With a display, matplotlib warns that it shows nothing; that is no failure.
    built = tiny_site.build(env={**os.environ, "DISPLAY": ":0"})
    assert built.status == 0, built.output
    first = soup(tiny_site.page("draw")).select_one("svg[role=img]")
    tiny_site.order(["bench.py", "draw.py"])  # an edit of conf/: all runs again
    built = tiny_site.build()
    assert "2 of 2 ran" in built.lessons
    assert str(soup(tiny_site.page("draw")).select_one("svg[role=img]")) == str(first)


def test_the_order_of_the_lessons_changes_nothing(
    site: Path, tiny_site: TinySite
) -> None:
    shutil.copytree(EXAMPLES, tiny_site.folder / "examples")
    for page in ("self_check.md", "glossary.md"):  # the lessons link to them
        title = f"# {page}\n"
        (tiny_site.folder / "docs" / page).write_text(title)
    index = tiny_site.folder / "docs" / "index.md"
    index.write_text(
        index.read_text().replace("/index\n", "/index\nself_check\nglossary\n")
    )
    tiny_site.order([script.name for script in reversed(SCRIPTS)])
    built = tiny_site.build(env={**os.environ, "BENCHMARK_QUALITY": "quick"})
    assert built.status == 0, built.output
    ran = re.findall(r"^ +[\d.]+ s  \S+/(\w+)$", built.output, re.MULTILINE)
    sections = [script.parent.name for script in SCRIPTS]
    assert len(ran) == len(sections)
    assert ran.index("clone_detach") < ran.index("leaf_tensors")
    for script in SCRIPTS:
        forwards = page_of(site, script)
        backwards = page_of(tiny_site.html, script)
        for one, other in zip(parts_of(forwards), parts_of(backwards), strict=True):
            if one.is_timed:
                assert subjects(one.output) == subjects(other.output)
            else:
                assert one == other
        assert len(looks(forwards)) == len(looks(backwards))
        for one, other in zip(looks(forwards), looks(backwards), strict=True):
            assert set(map(without_numbers, one)) == set(map(without_numbers, other))
