"""The entries of the error index: which code raises which kind of message.

An entry is a section of ``docs/errors.md`` with a label of its own. Its first cell is
the smallest code that raises the message, tagged with what it does and with the types
that it may raise, ``[raises-exception, RuntimeError]`` or ``[warning, UserWarning]``,
and with ``since-2.8`` where older torch is silent. The message itself is never typed:
it is what that code raises, here (:func:`raised`) or in the page's kernel.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensor_copies.recordings.cells import cells

# What stands right above the first cell of an entry, up to that cell.
HEADING = re.compile(r"^\(([\w-]+)\)=\n### (.+)\n\s*", re.MULTILINE)
KINDS = ("raises-exception", "warning")
# Where a message comes from in torch's own sources, or on the machine: no one's text.
TAIL = re.compile(r"\s*\(Triggered internally at [^)]*\)")
PLACES = re.compile(r"\x1b\[[0-9;]*m|\b0x[0-9a-f]{4,}")


class WrongMessage(Exception):
    """An entry's code does not raise what its tags say; the message says so."""


@dataclass(frozen=True)
class Entry:
    """One section of the error index, as its source has it.

    ``types`` are the names of the exceptions or warnings that its code may give,
    ``since`` is the first release of torch that gives one. The code begins on ``line``
    of the source ``page``.
    """

    page: str
    line: int
    anchor: str
    title: str
    kind: str
    types: frozenset[str]
    since: tuple[int, ...]
    code: str

    def check(self, given: list[str]) -> None:
        """Raise :class:`WrongMessage` unless the code gave what the tags say.

        Parameters
        ----------
        given
            The messages, each as ``type: text``.
        """
        import torch

        release = tuple(int(part) for part in torch.__version__.split(".")[:2])
        if not given and release < self.since:
            return
        # The error is the last thing that the code does; a warning may be anywhere.
        seen = given if self.kind == "warning" else given[-1:]
        if not any(message.partition(":")[0] in self.types for message in seen):
            raise WrongMessage(
                f"{self.anchor}: its code should give {' or '.join(sorted(self.types))}"
                f", torch {torch.__version__} gives {' / '.join(given) or 'nothing'}"
            )


def entries(page: Path) -> dict[str, Entry]:
    """Return the entries of a page (MyST), by their anchor, in order.

    Raises
    ------
    WrongMessage
        If an entry has not its label and its heading right above its first cell.
    """
    found: dict[str, Entry] = {}
    text = page.read_text(encoding="utf-8")
    headings = {
        text[: heading.end()].count("\n") + 1: heading.groups()
        for heading in HEADING.finditer(text)
    }
    for cell in cells(page):
        kind = next((tag for tag in cell.tags if tag in KINDS), None)
        if kind is None or not headings:
            continue
        if cell.line not in headings:
            raise WrongMessage(
                f"{page.name}, line {cell.line}: an entry begins with a label, a "
                "heading with ### and then this cell, with nothing between them"
            )
        anchor, title = headings[cell.line]
        since = [tag.removeprefix("since-") for tag in cell.tags if "since-" in tag]
        release = tuple(map(int, since[0].split("."))) if since else ()
        types = frozenset(tag for tag in cell.tags if tag[:1].isupper())
        code = cell.code.strip()
        found[anchor] = Entry(
            page.name, cell.code_line, anchor, title, kind, types, release, code
        )
    return found


def said(thrown: BaseException | warnings.WarningMessage) -> str:
    """Return ``type: text`` of an exception or warning, without places and addresses.

    The text is what Python shows, but for tabs (blanks here) and colours (none).
    """
    if isinstance(thrown, warnings.WarningMessage):
        kind, text = thrown.category.__name__, str(thrown.message)
    else:
        kind, text = type(thrown).__name__, str(thrown)
    text = PLACES.sub("", TAIL.sub("", text)).expandtabs(4)
    return f"{kind}: {text}".strip()


def raised(entry: Entry, namespace: dict[str, Any]) -> list[str]:
    """Run the code of an entry in a namespace; return what it gave, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = []
        # Under its page's name and on its own line, for a traceback.
        code = "\n" * (entry.line - 1) + entry.code
        try:
            exec(compile(code, entry.page, "exec"), namespace)
        except Exception as exception:  # the entry's message, or not: check() says
            error = [said(exception)]
    return list(dict.fromkeys([*map(said, caught), *error]))


def observe_messages(page: Path) -> dict[str, dict[str, str]]:
    """Run the code of all entries of a page, as its kernel does, without Jupyter.

    Raises
    ------
    WrongMessage
        If an entry's code does not raise what its tags say.
    """
    import torch

    torch.set_warn_always(True)
    start: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(page):
        if "recorded" in cell.tags:
            exec(compile(cell.code, page.name, "exec"), start)
    observed = {}
    for entry in entries(page).values():
        given = raised(entry, {**start})
        entry.check(given)
        observed[entry.anchor] = {"message": "\n".join(given)}
    return observed
