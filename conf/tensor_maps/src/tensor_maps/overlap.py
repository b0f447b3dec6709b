"""Whether two windows on one memory have a byte in common."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

# Tries, after which a byte is taken to be common. Windows that PyTorch makes need few.
MOST_TRIES = 100_000


def overlap(
    one: tuple[int, Sequence[int], Sequence[int], int],
    other: tuple[int, Sequence[int], Sequence[int], int],
) -> bool:
    """Whether two windows have a byte in common.

    A window is the address of its first element, its shape, its strides in bytes and
    the size of an element.

    The difference of two addresses, one of each window, is a sum of counts times
    strides. It is looked for among the differences at which two elements overlap.
    """
    if 0 in one[1] or 0 in other[1]:
        return False
    counts: Counter[int] = Counter()
    low = one[0] - other[0]
    for (_, shape, strides, _), sign in ((one, 1), (other, -1)):
        for length, stride in zip(shape, strides, strict=True):
            # Counted from the end where the sum would fall.
            low += min(0, sign * stride * (length - 1))
            if stride and length > 1:
                counts[abs(stride)] += length - 1
    terms = sorted(counts.items(), reverse=True)
    # An element of `one` begins less than its size before the other, or the other way.
    return _reaches(1 - one[3] - low, other[3] - 1 - low, terms)


def _reaches(least: int, most: int, terms: list[tuple[int, int]]) -> bool:
    """Whether a sum of at most so many of each stride is between two numbers."""
    reach, common = [0], [0]
    for stride, count in reversed(terms):
        reach.append(reach[-1] + stride * count)
        common.append(math.gcd(common[-1], stride))
    tries, waiting = 0, [(len(terms), least, most)]
    while waiting:
        left, least, most = waiting.pop()
        tries += 1
        if tries > MOST_TRIES:
            return True
        least, most = max(least, 0), min(most, reach[left])
        if least > most:
            continue
        # All sums are multiples of what divides all strides.
        if left == 0 or most // common[left] * common[left] < least:
            if left == 0:
                return True
            continue
        stride, count = terms[len(terms) - left]
        first = max(0, -((reach[left - 1] - least) // stride))
        last = min(count, most // stride)
        if last - first > MOST_TRIES:
            return True
        waiting += [
            (left - 1, least - number * stride, most - number * stride)
            for number in range(first, last + 1)
        ]
    return False
