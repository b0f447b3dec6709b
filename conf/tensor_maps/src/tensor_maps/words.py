"""Write numbers, shapes, sizes and lists as a person does."""

from collections.abc import Sequence

MOST_NAMED = 3  # in one sentence


def as_tuple(numbers: Sequence[int] | None) -> str:
    """Return a shape as Python writes it."""
    return "unknown" if numbers is None else str(tuple(numbers))


def count_of(number: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{number} {what}" + "s" * (number != 1)


def listing(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


def few(names: Sequence[str]) -> str:
    """Return some names, and how many more there are."""
    if len(names) <= MOST_NAMED:
        return listing(names)
    return f"{', '.join(names[:2])} and {len(names) - 2} more"


def size_of(number: int) -> str:
    """Return a number of bytes as a person says it."""
    if number < 1024:
        return count_of(number, "byte")
    power = min(4, (number.bit_length() - 1) // 10)
    return f"{number / 1024**power:.4g} {'KMGT'[power - 1]}iB"
