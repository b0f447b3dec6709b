"""What is wrong with a source is said in one line, before anything is built."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from conftest import ROOT
from tensor_copies.run import sources

pytestmark = pytest.mark.unit
PAGE, LESSON = "docs/prose.md", "examples/1_first/good.py"
SECTION = "examples/1_first/GALLERY_HEADER.rst"
RUNS = "---\nfile_format: mystnb\n---\n"


def write(name: str, text: str | bytes) -> Callable[[Path], None]:
    """Return what writes a file."""
    raw = text if isinstance(text, bytes) else text.encode()

    def change(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(raw)

    return change


def both(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    """Return what makes several changes."""
    return lambda root: [change(root) for change in changes]


FAULTS = {
    f"{PAGE}, line 2: a conflict": write(PAGE, "# Prose\n<<<<<<< HEAD\n"),
    f"{LESSON}, line 1: a conflict": write(LESSON, "# >>>>>>> topic\n"),
    f"{SECTION}, line 3: a conflict": write(SECTION, "One\n===\n>>>>>>> x\n"),
    f"{PAGE}, line 2: byte 0xf6 is not UTF-8": write(PAGE, b"# A\nw\xf6rds\n"),
    f"{PAGE}, line 1: byte 0xff is not": write(PAGE, "# A".encode("utf-16")),
    f"{SECTION}, line 1: byte 0xf6": write(SECTION, b"\xf6\n=\n"),
    "docs/asked.toml begins with a byte order mark": write(
        "docs/asked.toml", b"\xef\xbb\xbf"
    ),
    "examples/order.txt, line 1: byte 0xf6": write("examples/order.txt", b"\xf6"),
    f"{PAGE}, line 1: it has the hidden character U+001B": write(PAGE, "a\x1bb"),
    f"{LESSON}, line 1: it has the hidden character U+202E": write(LESSON, "#\u202e"),
    f"{PAGE}, line 1: it has the hidden character U+00A0": write(PAGE, "#\u00a0A\n"),
    f"{PAGE}, line 1: it has the hidden character U+200B": write(PAGE, "a\u200bb\n"),
    "docs/part.txt, line 1: a conflict": write("docs/part.txt", "<<<<<<< HEAD\n"),
    f"{LESSON}, line 2: it waits for a person": write(
        LESSON, "x = 1\nif x: breakpoint()\n"
    ),
    f"{PAGE}, line 4: this code does not run": write(PAGE, f"{RUNS}```python\n```\n"),
    f"{PAGE}, line 5: tags are a list": write(
        PAGE, f"{RUNS}```{{code-cell}}\n:tags: warning\n```\n"
    ),
    f"{PAGE}, line 3: this block does not end": write(PAGE, "# A\n\n````\n```\nx\n"),
    "examples/1_first/index.py: the build makes a page of": write(
        "examples/1_first/index.py", ""
    ),
    "examples/1_first/more/x.py: a section has no folders": write(
        "examples/1_first/more/x.py", ""
    ),
    "docs/asked.toml is a folder": write("docs/asked.toml/x", ""),
    "docs/former_sections.toml, line 1: byte 0xf6": write(
        "docs/former_sections.toml", b"\xf6"
    ),
    "examples/1_first/folder.py is a folder": write("examples/1_first/folder.py/x", ""),
    "docs/pipe.md is no file with text": lambda root: os.mkfifo(root / "docs/pipe.md"),
    "docs/404.md: the build makes a page of this name": write("docs/404.md", "# A\n"),
    "examples/2_more has no GALLERY_HEADER.rst": write("examples/2_more/x.txt", ""),
    f"{SECTION} has no title": write(SECTION, "words\n"),
    "docs/x is a link to a folder": lambda root: (root / "docs/x").symlink_to("."),
    r"'docs/a\nb\udcff.png': give it a name": write("docs/a\nb\udcff.png", ""),
    "prose.md includes itself: prose.md → prose.md": write(
        PAGE, "```{include} prose.md\n```\n"
    ),
    "includes itself: part.md → prose.md → part.md": both(
        write(PAGE, "# A\n\n```{include} part.md\n```\n"),
        write("docs/part.md", ".. include:: prose.md\n"),
    ),
}
PASSED_OVER = (
    *(f"examples/1_first/{name}" for name in (".#good.py", "._good.py")),
    *("docs/._prose.md", "docs/.ipynb_checkpoints/x.md", "docs/auto_examples/x.rst"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with sources in which nothing is wrong."""
    for folder in ("examples", "examples/1_first"):
        write(f"{folder}/GALLERY_HEADER.rst", "One\n===\n\nSome words.\n")(tmp_path)
    write(LESSON, '"""\nGood\n====\n"""\nprint(">>>>>>> no conflict")\n')(tmp_path)
    blocks = "::::{a}\n:::{b}\n```python\r\nbreakpoint\n```\n:::\n::::\n```x```\n"
    write(PAGE, f"# Prose\r\n\n{blocks}")(tmp_path)
    for name in PASSED_OVER:
        write(name, b"\xff\xfe <<<<<<< HEAD")(tmp_path)
    (tmp_path / "examples" / "1_first" / ".#other.py").symlink_to("me@host.1:1")
    return tmp_path


def test_nothing_is_wrong_here(root: Path) -> None:
    assert list(sources.problems(root)) == []
    assert list(sources.problems(ROOT)) == []


@pytest.mark.parametrize("said", FAULTS)
def test_a_fault_is_said_in_a_line(root: Path, said: str) -> None:
    FAULTS[said](root)
    (problem,) = sources.problems(root)
    assert said in problem and "\n" not in problem


def test_a_file_that_code_leaves_or_removes_is_named(root: Path) -> None:
    watch = partial(sources.nothing_left, root=root)
    with watch("page"):
        for name in ("docs/.hidden", "docs/auto_examples/made.rst", "examples/x.py~"):
            write(name, "")(root)
    for name in ("docs/left.txt", "left.txt", "examples/1_first/left.txt"):
        said = f"^page left the file {name} among"
        with pytest.raises(sources.UnfitSource, match=said), watch("page"):
            write(name, "")(root)
    # What ended meanwhile may have done it, and what still runs.
    said = f"^ended or fails or page removed the file {LESSON}"
    with pytest.raises(sources.UnfitSource, match=said), watch("page"):
        with watch("ended"):
            pass
        with suppress(sources.UnfitSource), watch("fails"):
            (root / LESSON).unlink()
