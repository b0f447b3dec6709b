"""What a build runs again, and what it keeps."""

from __future__ import annotations

import os
from pathlib import Path

from conftest import TinySite, lesson

A = lesson("A", "print('a runs')")
B = lesson("B", "print('b runs')")
EXECUTED_PAGE = """---
file_format: mystnb
kernelspec:
  name: python3
---

# Computes

```{code-cell} ipython3
print("the page ran")
```
"""


def test_only_what_changed_runs_again(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": A, "b.py": B})
    index = tiny_site.folder / "docs" / "index.md"
    index.write_text(index.read_text().replace("/index\n", "/index\ncomputes\n"))
    (tiny_site.folder / "docs" / "computes.md").write_text(EXECUTED_PAGE)

    clean = tiny_site.build()
    assert clean.status == 0, clean.output
    assert clean.lessons == "Lessons: 2 of 2 ran, 0 kept from earlier builds."
    assert "Executed notebook" in clean.output
    assert "the page ran" in (tiny_site.html / "computes.html").read_text()

    unchanged = tiny_site.build()
    assert unchanged.status == 0, unchanged.output
    assert unchanged.lessons == "Lessons: 0 of 2 ran, 2 kept from earlier builds."
    assert "Executed notebook" not in unchanged.output

    edited = tiny_site.folder / "examples" / "1_first" / "a.py"
    edited.write_text(A.replace("a runs", "a runs again"))
    after_edit = tiny_site.build()
    assert after_edit.lessons == "Lessons: 1 of 2 ran, 1 kept from earlier builds."
    assert "a runs again" in tiny_site.page("a").read_text()

    # An edited module of conf/ is another machine: all that was kept runs again.
    with (tiny_site.folder / "conf" / "tensor_copies" / "figures" / "plots.py").open(
        "a"
    ) as module:
        module.write("# edited\n")
    other_machine = tiny_site.build()
    assert other_machine.lessons == "Lessons: 2 of 2 ran, 0 kept from earlier builds."
    assert "Executed notebook" in other_machine.output


def test_another_torch_is_another_machine(tiny_site: TinySite, tmp_path: Path) -> None:
    tiny_site.write_lessons({"a.py": A})
    assert tiny_site.build().status == 0
    # What the metadata say of torch's version is what an upgrade would change.
    metadata = tmp_path / "upgrade" / "torch-99.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch\nVersion: 99.0\n"
    )
    upgraded = {**os.environ, "PYTHONPATH": str(metadata.parent)}
    built = tiny_site.build(env=upgraded)
    assert built.lessons == "Lessons: 1 of 1 ran, 0 kept from earlier builds."
    assert "Run with torch 99.0," in tiny_site.page("a").read_text()


def test_a_failure_is_no_result_even_when_taken_back(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": A})
    assert tiny_site.build().status == 0
    script = tiny_site.folder / "examples" / "1_first" / "a.py"
    script.write_text(A.replace("print('a runs')", "raise ValueError('no')"))
    assert tiny_site.build().status != 0
    script.write_text(A)
    repaired = tiny_site.build()
    assert repaired.status == 0, repaired.output
    assert repaired.lessons == "Lessons: 1 of 1 ran, 0 kept from earlier builds."
    assert "ValueError" not in tiny_site.page("a").read_text()


def test_a_deleted_lesson_leaves_nothing_behind(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": A, "ab.py": B})
    assert tiny_site.build().status == 0
    tiny_site.write_lessons({"ab.py": B})
    built = tiny_site.build()
    assert built.status == 0, built.output
    left = [path for path in tiny_site.published() if Path(path).stem == "a"]
    assert left == []
    assert tiny_site.page("ab").exists()
    generated = tiny_site.folder / "docs" / "auto_examples" / "1_first"
    assert not list(generated.rglob("a.*"))
