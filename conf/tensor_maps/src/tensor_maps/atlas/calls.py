"""The calls of the Atlas, what ``x`` can be, and what a record says.

The calls are data (``calls.toml``). Reading them needs no torch.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

STATES = {
    "leaf": "a leaf that requires grad",
    "constant": "plain (doesn't require grad)",
    "nonleaf": "the result of an op",
    "view": "transposed (doesn't require grad)",
    "no_grad": "a leaf that requires grad, in no_grad",
}
# More kinds of x, which the Atlas has and the explorer has not.
LAYOUTS = {
    "slice": "a slice with gaps, base[:, ::2] (doesn't require grad)",
    "leaf_view": "a view of a leaf that requires grad",
    "expanded": "one row, expanded to two (doesn't require grad)",
}
ALL_STATES = STATES | LAYOUTS
COLUMNS = {
    "operation": "which operation, the id of its row",
    "state": "what x is before the call",
    "device": "the kind of device that x is on",
    "same_object": "the result is x itself",
    "shares_memory": "a write to x also changes the result",
    "shares_version": "the result has the version counter of x, which in-place writes "
    "increment and a backward pass checks; null if the result has none",
    "requires_grad": "requires_grad of the result; null if it is not a tensor",
    "is_leaf": "is_leaf of the result; null if it is not a tensor",
    "grad_fn": "the class of the result's grad_fn; null if there is none",
    "gradient_flows": "a backward pass from the result gives the leaf behind x a "
    "gradient that is not zero; null if x does not require grad",
    "result": "the class of the result",
    "result_device": "the kind of device that the result is on",
    "strides_kept": "the result has the strides of x; null if it has more or fewer",
    "new_bytes": "the size of the result's memory if no earlier tensor used it, "
    "else 0; null for Python numbers",
    "cuda_bytes": "the bytes that the call requested from the allocator of CUDA or of "
    "the simulated device, with temporary tensors; null if there is neither",
    "waits": "the call returned only after a kernel that was queued before it had "
    "finished; null without CUDA",
    "changes_x": "the call changed requires_grad, is_leaf, grad_fn, device or memory "
    "of x itself",
    "writes_x": "x has other values after the call",
    "version_raised": "by how much the call incremented the version counter of x, "
    "which a backward pass checks; null if x has none",
    "pinned": "the result is in pinned memory; null if it is not a tensor",
    "warning": "the text of the first warning",
    "error": "the class and the text of the error; unknown values are then null",
}
# What plays the part of x, by its name, where that is no tensor.
SUBJECTS = {
    "z": "complex tensor",
    "a": "NumPy array",
    "df": "pandas DataFrame",
    "mixed": "pandas DataFrame of two dtypes",
    "image": "Pillow (PIL) image",
}
LIBRARIES = ("pandas", "pillow")  # what some rows need, as it is installed
NUMPY = "numpy"  # what more of them need


@dataclass(frozen=True)
class Operation:
    """One row: the code that runs, where it is taught and where it is documented.

    ``code`` is an expression, or statements that leave ``y``. ``given`` runs before
    and is not observed; ``subject`` is the name that plays the part of ``x``.
    ``needs`` is ``"accelerator"`` if the code can do its work only where there is one,
    also for an ``x`` on the CPU, or the one of ``LIBRARIES`` that it uses. ``message``
    is the label of an entry of the error index: what the subject itself raises.
    ``says`` is what only a GPU shows, as the document ``source`` says it; ``values`` is
    ``"other"`` if the result holds other values than ``x``.
    """

    id: str
    code: str
    group: str
    lesson: str
    api: str
    given: str = ""
    subject: str = "x"
    needs: str = ""
    states: tuple[str, ...] = tuple(ALL_STATES)
    message: str = ""
    says: str = ""
    source: dict[str, str] | None = None
    values: str = ""

    @property
    def is_of_a_tensor(self) -> bool:
        """Whether the subject is a tensor; others are in host memory."""
        return self.subject in ("x", "z")

    @property
    def uses_numpy(self) -> bool:
        """Whether it needs NumPy, as it says itself."""
        return bool(re.search(r"\bnp\b|numpy", self.code + self.given))


CALLS = Path(__file__).with_name("calls.toml")


def read_calls(path: Path = CALLS) -> dict[str, Operation]:
    """Return the rows of a file of calls by their ids, in its order."""
    groups = tomllib.loads(path.read_text(encoding="utf-8"))
    given, sources = groups.pop("given", {}), groups.pop("sources", {})
    found = {}
    for group, rows in groups.items():
        for row in rows:
            before = row.pop("given", "")
            states = tuple(row.pop("states", ALL_STATES))
            row["source"] = sources.get(row.get("source"))
            found[row["id"]] = Operation(
                group=group, given=given.get(before, before), states=states, **row
            )
    return found


OPERATIONS = read_calls()


def libraries(*names: str) -> dict[str, str]:
    """Return the versions of those that are here, of ``LIBRARIES`` or of these."""
    found = {}
    for name in names or LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def available() -> list[Operation]:
    """Return the operations that can be probed with the libraries that are here."""
    here = libraries(*LIBRARIES, NUMPY)
    missing = set(LIBRARIES) - set(here)
    return [
        one
        for one in OPERATIONS.values()
        if one.needs not in missing and (NUMPY in here or not one.uses_numpy)
    ]


def left_out() -> str | None:
    """Say in a line which operations cannot be probed here; None if all can."""
    wanted = (NUMPY, *LIBRARIES)
    missing = [name for name in wanted if name not in libraries(*wanted)]
    if not missing:
        return None
    calls = len(OPERATIONS) - len(available())
    named = ", ".join(missing[:-1]) + " and " * bool(missing[1:]) + missing[-1]
    return f"Left out: {calls} calls that need {named}, not installed."
