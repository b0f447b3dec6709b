"""The form of a question, which the build holds: each part that lacks is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT
from tensor_copies.web.questions import Asked, faults_of, questions_in

PAGES = [
    page
    for page in sorted((ROOT / "docs" / "questions").glob("*.md"))
    if page.stem != "index"
]
WHOLE = """# Theme

A sentence.

(q-one)=
## Is `x` one?

Yes, it is.

```{code-cell} ipython3
x = 1
## no heading
assert x == 1
```

- **Memory**: none.

Asked: [one](https://example.org/1), [two](https://example.org/2)

(q-two)=
## Another?

`No`, it isn't.

```{code-cell} ipython3
assert True
```

Asked: [one](https://example.org/1), [two](https://example.org/2)
"""


def asked(tmp_path: Path, text: str) -> list[Asked]:
    page = tmp_path / "theme.md"
    page.write_text(text, encoding="utf-8")
    return questions_in(page)


def test_questions_are_read_with_their_places(tmp_path: Path) -> None:
    one, two = asked(tmp_path, WHOLE)
    assert (one.label, one.heading, one.line) == ("q-one", "Is `x` one?", 6)
    assert (two.label, two.line) == ("q-two", 21)
    assert "Another?" not in one.source and "no heading" in one.source
    assert [*faults_of(one), *faults_of(two)] == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(q-one)=\n", "", "has no address"),
        ("(q-one)=", "(one)=", "has no address"),
        ("Is `x` one?", "Is x " * 20, "has a heading of more than 80"),
        ("Yes, it is.\n", "", "does not begin with its answer"),
        ("Yes, it is.", "- Yes.", "does not begin with its answer"),
        ("assert x == 1", "x", "asserts nothing"),
        ("x = 1\n", "x = 1\n" * 12, "has 13 lines of code, 12 at most"),
        ("- **Memory**: none.\n", "- **Memory**: none.\n" * 25, "30 at most"),
        (", [two](https://example.org/2)\n\n(q-two", "\n\n(q-two", "fewer than 2"),
        ("Asked: [one](https://example.org/1), [two](https://example.org/2)\n\n(q-two",
         "\n(q-two", "fewer than 2"),
        ("```{code-cell} ipython3\nx = 1\n", "```python\nx = 1\n", "has 0 cells"),
    ],
)  # fmt: skip
def test_a_question_that_lacks_a_part_is_told_of(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert WHOLE.count(old) >= 1
    one, two = asked(tmp_path, WHOLE.replace(old, new, 1))
    assert any(said in fault for fault in faults_of(one)), [*faults_of(one)]
    assert [*faults_of(two)] == []


def test_there_are_150_and_each_address_is_one() -> None:
    labels = [one.label for page in PAGES for one in questions_in(page)]
    assert len(labels) == len(set(labels)) >= 150
