"""A lesson or page that goes wrong fails the build and touches nothing published."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TinySite, lesson, new_tiny_site

GOOD = lesson("Good", "print('good')")
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
    "broken": ("one two", ["planted.py", "line 7", "SyntaxError"]),
}


@pytest.fixture(scope="module")
def good_site(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    site = new_tiny_site(tmp_path_factory.mktemp("good") / "tiny")
    site.write_lessons({"good.py": GOOD})
    built = site.build()
    assert built.status == 0, built.output
    return site


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_lesson(kind: str, good_site: TinySite, tmp_path: Path) -> None:
    code, said = PLANTED[kind]
    site = good_site.copy_to(tmp_path / "tiny")
    before = site.published()
    site.write_lessons({"good.py": GOOD, "planted.py": lesson("Planted", code)})
    limit = ["-D", "lesson_time_limit=2"] if kind == "hanging" else []
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


def test_a_lesson_without_a_place_names_the_list(
    good_site: TinySite, tmp_path: Path
) -> None:
    site = good_site.copy_to(tmp_path / "tiny")
    (site.folder / "examples" / "1_first" / "new.py").write_text(GOOD)
    built = site.build()
    assert built.status != 0
    assert "add it to READING_ORDER in conf/" in built.output
