"""Read the calls of the Atlas; say what ``x`` can be and what a record holds.

The calls are data (``calls.toml``). Reading them needs no torch.
"""

import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

TABLE = tomllib.loads(Path(__file__).with_name("calls.toml").read_text("utf-8"))
ALL_STATES = {name: state["words"] for name, state in TABLE["states"].items()}
# Those that the explorer has; the others only the Atlas has.
STATES = {
    name: ALL_STATES[name] for name, one in TABLE["states"].items() if one["common"]
}
COLUMNS, SUBJECTS = TABLE["columns"], TABLE["subjects"]
LIBRARIES = ("pandas", "pillow")  # what some rows need, as it is installed
NUMPY = "numpy"  # what more of them need
LONGEST = 3  # chips in a chain: with a fourth there are ten times the chains to run
# The ``.data`` of an array is a memoryview, of which no word here is true.
TO_ARRAY, TENSORS_ONLY = {"numpy", "numpy-force"}, {"data"}

Chain = tuple[str, ...]


@dataclass(frozen=True)
class Call:
    """One row: the code that runs, where it is taught and where it is documented.

    ``code`` is an expression, or statements that leave ``y``. ``given`` runs before
    and is not observed; ``subject`` is the name that plays the part of ``x``. ``also``
    are other ways to write the call. ``needs`` is ``"accelerator"`` if the code can do
    its work only where there is one, also for an ``x`` on the CPU, or the one of
    ``LIBRARIES`` that it uses. ``message`` is the label of an entry of the error index:
    what the subject itself raises. ``says`` is what no probe can show here, as the
    document ``source`` says it; ``values`` is ``"other"`` if the result holds other
    values than ``x``; ``ends_python`` if the code ends the process that runs it.
    """

    id: str
    code: str
    group: str = ""
    lesson: str = ""
    api: str = ""
    given: str = ""
    subject: str = "x"
    also: tuple[str, ...] = ()
    needs: str = ""
    states: tuple[str, ...] = tuple(ALL_STATES)
    message: str = ""
    says: str = ""
    source: dict[str, str] | None = None
    values: str = ""
    ends_python: bool = False

    @property
    def is_of_a_tensor(self) -> bool:
        """Whether the subject is a tensor; others are in host memory."""
        return self.subject in ("x", "z", "h")


def _call(row: dict[str, Any], **more: str) -> Call:
    """Return what a row of ``calls.toml`` says, with what its names stand for."""
    call = Call(**row, **more)
    return replace(
        call,
        given=TABLE["given"].get(call.given, call.given),
        source=TABLE["sources"].get(call.source),
        also=tuple(call.also),
        states=tuple(call.states),
    )


GROUPS = {group: rows for group, rows in TABLE.items() if isinstance(rows, list)}
CALLS = {
    row["id"]: _call(row, group=group) for group, rows in GROUPS.items() for row in rows
}
# A chip is put behind other calls: its code is what it adds to theirs.
CHIPS = {key: _call(chip, id=key) for key, chip in TABLE["chips"].items()}


def chains(second_device: bool, longest: int = LONGEST) -> Iterator[Chain]:
    """Go through all chains of chips, each before the longer ones that begin with it.

    The first is the empty one, ``x`` itself.
    """
    keys = [key for key, chip in CHIPS.items() if second_device or not chip.needs]

    def walk(chain: Chain) -> Iterator[Chain]:
        yield chain
        if len(chain) < longest:
            for key in keys:
                if key not in TENSORS_ONLY or not TO_ARRAY.intersection(chain):
                    yield from walk((*chain, key))

    return walk(())


def code_of(chain: Chain) -> str:
    """Return the code of a chain, such as ``x.detach().clone()``."""
    return "x" + "".join(CHIPS[key].code for key in chain)


def libraries(*names: str) -> dict[str, str]:
    """Return the versions of those that are here, of ``LIBRARIES`` or of these."""
    found = {}
    for name in names or LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def available() -> list[Call]:
    """Return the rows that can be probed with the libraries that are here."""
    here = libraries(*LIBRARIES, NUMPY)
    missing = set(LIBRARIES) - set(here)
    return [
        one
        for one in CALLS.values()
        if one.needs not in missing
        and (NUMPY in here or not re.search(r"\bnp\b|numpy", one.code + one.given))
    ]


def left_out() -> str | None:
    """Say in a line which calls cannot be probed here; None if all can."""
    wanted = (NUMPY, *LIBRARIES)
    missing = [name for name in wanted if name not in libraries(*wanted)]
    calls, named = len(CALLS) - len(available()), " and ".join(missing)
    said = f"Left out: {calls} calls that need {named}, not installed."
    return said if missing else None
