"""Tables that lessons make."""

from __future__ import annotations

from tensor_copies.figures.tables import is_code


def test_code_in_a_table_is_known_from_words() -> None:
    code = ["x.exp()", "x + 1", "a[::-1]", "w", "rows += 7", "if x.sum() > 1:", "x=y"]
    words = ["read-only", "yes", "3 MiB", "(4, 1)", "save, load", "grad in A", "-2.0"]
    assert [text for text in code + words if is_code(text)] == code
