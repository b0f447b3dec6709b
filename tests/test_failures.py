"""A lesson or page that goes wrong fails the build and touches nothing published."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GOOD, ROOT, TinySite, lesson
from tensor_copies.machine.lesson_list import UnreadableLesson, require_utf8

PLANTED = {
    "failing": (
        "assert 1 + 1 == 3, 'sums'",
        ["planted.py", "line 7", "AssertionError: sums"],
    ),
    "warning": (
        "import warnings\nwarnings.warn('mind this', UserWarning)",
        ["planted.py", "line 8", "UserWarning: mind this"],
    ),
    "torch warning": (
        "import torch\n(torch.ones(1, requires_grad=True) * 2).grad",
        ["planted.py", "line 8", "UserWarning: The .grad attribute"],
    ),
    "hanging": (
        "import time\nwhile True:\n    time.sleep(0.01)",
        ["planted.py", "LessonTimeout: planted.py ran longer than 2 seconds"],
    ),
    "leaving a file": (
        "open('left.txt', 'w').close()",
        ["planted.py left the file 1_first/left.txt"],
    ),
    "broken": ("one two", ["planted.py", "line 7", "SyntaxError"]),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_lesson(kind: str, good_site: TinySite, tmp_path: Path) -> None:
    code, said = PLANTED[kind]
    site = good_site.copy_to(tmp_path / "tiny")
    before = site.published()
    site.write_lessons({"good.py": GOOD, "planted.py": lesson("Planted", code)})
    limit = ["-D", "lesson_time_limit=2"] if kind == "hanging" else []
    for _ in range(2 if kind == "leaving a file" else 1):  # it counts for nothing
        built = site.build(*limit)
        assert built.status != 0
        for words in said:
            assert words in built.output, built.output
        assert "still the last good site" in built.output
        assert site.published() == before


def test_a_lesson_that_swallows_its_time_limit_is_ended(
    good_site: TinySite, tmp_path: Path
) -> None:
    site = good_site.copy_to(tmp_path / "tiny")
    before = site.published()
    code = (
        "while True:\n    try:\n        sum(range(10**5))\n"
        "    except Exception:\n        pass"
    )
    site.write_lessons({"good.py": GOOD, "planted.py": lesson("Planted", code)})
    built = site.build("-D", "lesson_time_limit=1")
    assert built.status != 0
    assert "planted.py" in built.output
    assert site.published() == before


PAGE = """---
file_format: mystnb
kernelspec: {{name: python3}}
---

# Page

```{{code-cell}} ipython3
{code}
```
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import warnings\nwarnings.warn('mind')",
            "stderr was found in the cell outputs",
        ),
        ("assert False, 'on a page'", "AssertionError: on a page"),
    ],
)
def test_planted_page(
    code: str, said: str, good_site: TinySite, tmp_path: Path
) -> None:
    site = good_site.copy_to(tmp_path / "tiny")
    before = site.published()
    (site.folder / "docs" / "page.md").write_text(PAGE.format(code=code))
    index = site.folder / "docs" / "index.md"
    index.write_text(index.read_text().replace("/index\n", "/index\npage\n"))
    for _ in range(2):  # it must not pass just because it was read before
        built = site.build()
        assert built.status != 0
        assert "page.md" in built.output
        assert said in built.output
        assert site.published() == before


LONG = r"print('x\n' * 100_000)"


def test_all_that_is_wrong_with_outputs_and_names_is_said_at_once(
    good_site: TinySite, tmp_path: Path
) -> None:
    site = good_site.copy_to(tmp_path / "tiny")
    before = site.published()
    lessons = {
        "good.py": GOOD,
        "turns.py": lesson(
            "Turns <script>", "print('one\\u202etwo')\nprint('\\x1b[1mbold')"
        ),
        "much.py": lesson("Much", LONG),
    }
    site.write_lessons(lessons)
    site.order([*lessons, "gone.py"])
    docs = site.folder / "docs"
    (docs / "page.md").write_text(PAGE.format(code=LONG))
    index = docs / "index.md"
    index.write_text(index.read_text().replace("/index\n", "/index\npage\n"))
    orphan = docs / "recordings" / "some-machine" / "gone.json"
    orphan.parent.mkdir(parents=True)
    orphan.write_text("{")
    built = site.build()
    assert built.status != 0
    said = built.output.splitlines()
    for place in ("much.py: the block on line 7", f"page: the cell with `{LONG}`"):
        warned = f"WARNING: {place} prints 199999 characters, a page takes 100000"
        assert any(line.startswith(warned) for line in said), built.output
    assert any(
        line.startswith("examples/order.txt names gone.py, and no") for line in said
    )
    orphaned = "WARNING: Orphan: recordings/some-machine/gone.json belongs to no"
    assert any(line.startswith(orphaned) for line in said)
    assert not re.search("TCP|traitlets", built.output)
    assert site.published() == before
    # What was not published shows what would have been.
    staging = site.folder / "build" / "staging"
    assert all(path.stat().st_size < 10**5 for path in staging.rglob("*.html"))
    turned = (staging / "auto_examples" / "1_first" / "turns.html").read_text()
    assert "one\ufffdtwo" in turned and "\u202e" not in turned
    assert "<script>" not in (staging / "llms.txt").read_text()


def test_a_lesson_that_is_not_utf_8_is_named(
    good_site: TinySite, tmp_path: Path
) -> None:
    site = good_site.copy_to(tmp_path / "tiny")
    site.write_lessons({"good.py": GOOD})
    script = site.folder / "examples" / "1_first" / "good.py"
    script.write_bytes(script.read_bytes().replace(b"'good'", b"'g\xf6\xf6d'"))
    built = site.build()
    assert built.status != 0
    assert "good.py, line 7: byte 0xf6 is not UTF-8" in built.output
    assert "Traceback" not in built.output
    with pytest.raises(UnreadableLesson, match=r"good\.py, line 7: byte 0xf6"):
        require_utf8(script)
    script.write_text(GOOD, encoding="utf-8-sig")
    with pytest.raises(UnreadableLesson, match=r"good\.py begins with a byte order"):
        require_utf8(script)
    script.write_text(GOOD, encoding="utf-8")
    require_utf8(script)


FAKE_TORCH = """
class cuda:
    @staticmethod
    def is_available():
        return True

    @staticmethod
    def get_device_name():
        raise RuntimeError("no driver\\nmore words")
"""


def test_a_gpu_that_cannot_be_used_is_said_in_one_line(tmp_path: Path) -> None:
    torch = tmp_path / "torch"
    torch.mkdir()
    (torch / "version.py").write_text("cuda = '12.6'\n")
    (torch / "__init__.py").write_text(FAKE_TORCH)
    done = subprocess.run(
        [sys.executable, ROOT / "conf" / "machine.py"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "machine: torch says that it has CUDA and cannot use it (no "
    )
    assert "set CUDA_VISIBLE_DEVICES to nothing" in line


def test_a_lesson_without_a_place_names_the_list(
    good_site: TinySite, tmp_path: Path
) -> None:
    site = good_site.copy_to(tmp_path / "tiny")
    (site.folder / "examples" / "1_first" / "new.py").write_text(GOOD)
    built = site.build()
    assert built.status != 0
    assert "add a line with its name to examples/order.txt" in built.output
