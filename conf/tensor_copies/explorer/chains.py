"""The calls that the explorer puts together, and what a chain of them is called.

A chain is a tuple of keys of ``CALLS``. Its name in an address joins them with dots:
``detach.clone`` is ``x.detach().clone()``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

Chain = tuple[str, ...]
# Calls in a chain. With a fourth there would be ten times the chains to run.
LONGEST = 3


@dataclass(frozen=True)
class Call:
    """One chip: what it adds to the code.

    ``needs_device`` says that ``device`` stands in it: it is left out where there is
    no second one. ``by_device`` says that what it does hangs on where ``x`` is.
    """

    code: str
    needs_device: bool = False
    by_device: bool = False


CALLS = {
    "detach": Call(".detach()"),
    "data": Call(".data"),
    "clone": Call(".clone()"),
    "requires_grad_": Call(".requires_grad_()"),
    "cpu": Call(".cpu()", by_device=True),
    "to": Call(".to(device)", needs_device=True, by_device=True),
    "to-copy": Call('.to("cpu", copy=True)', by_device=True),
    "numpy": Call(".numpy()", by_device=True),
    "numpy-force": Call(".numpy(force=True)", by_device=True),
    "copy": Call(".copy()"),
    "contiguous": Call(".contiguous()"),
    "view": Call(".view(-1)"),
    "reshape": Call(".reshape(-1)"),
    "t": Call(".t()"),
    "first": Call("[0]"),
}


# The ``.data`` of an array is a memoryview, which is neither drawn nor probed.
TO_ARRAY, TENSORS_ONLY = ("numpy", "numpy-force"), ("data",)


def walk(calls: Iterable[str], chain: Chain = ()) -> Iterator[Chain]:
    """Go through all chains, each before the longer ones that begin with it."""
    yield chain
    if len(chain) < LONGEST:
        for key in calls:
            if can_follow(chain, key):
                yield from walk(calls, (*chain, key))


def can_follow(chain: Chain, key: str) -> bool:
    """Whether a call may be put behind a chain: the explorer has a word for it."""
    return key not in TENSORS_ONLY or not set(TO_ARRAY).intersection(chain)


def expression_of(chain: Chain) -> str:
    """Return the expression of a chain, such as ``x.detach().clone()``."""
    return "x" + "".join(CALLS[key].code for key in chain)


def nearest(code: str) -> list[str]:
    """Return the chains that are written most like an expression, the nearest first."""
    return get_close_matches(code, _chains())


@cache
def _chains() -> dict[str, Chain]:
    return {expression_of(chain): chain for chain in walk(CALLS) if chain}


def chain_of(code: str) -> Chain | None:
    """Return the chain that an expression is, or None if it is no chain.

    ``y = `` before it and other quotes do not count; ``.to("cpu")`` is ``.cpu()``
    under another name and counts as that.
    """
    plain = code.strip().removeprefix("y = ").replace("'", '"')
    return _chains().get(plain.replace('.to("cpu")', ".cpu()"))
