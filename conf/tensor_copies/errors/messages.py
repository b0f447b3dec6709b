"""The entries of the error index: which code raises which message, and what cures it.

``docs/errors.md`` lists them all; a page ``docs/errors/<family>.md`` has those of one
family. An entry is a section of such a page with a label. Its first cell is
the smallest code that raises the message, tagged with what it does and with the types
that it may raise, ``[raises-exception, RuntimeError]`` or ``[warning, UserWarning]``,
and with ``since-2.8`` where older torch is silent. The message itself is never typed:
it is what that code raises, here (:func:`raised`) or in the page's kernel. There the
cures run too, which a cell further below hands over: what the source says is proved.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensor_copies.gallery.pages import cells

# What stands right above the first cell of an entry, up to that cell.
HEADING = re.compile(r"^\(([\w-]+)\)=\n## (.+)\n\s*", re.MULTILINE)
DESK = "errors"  # the page that lists those of all families, and their folder
KINDS = ("raises-exception", "warning")
NOTHING = "no message"  # what is shown where another torch or machine is silent
# Where a message comes from in torch's own sources, or on the machine: no one's text.
TAIL = re.compile(r"\s*\(Triggered internally at [^)]*\)")
PLACES = re.compile(r"\x1b\[[0-9;]*m|\b0x[0-9a-f]{4,}")


class WrongMessage(Exception):
    """An entry's code does not raise what its tags say; the message says so."""


@dataclass(frozen=True)
class Entry:
    """One section of the error index, as its source has it.

    ``types`` are the names of the exceptions or warnings that its code may give,
    ``since`` is the first release of torch that gives one. Its cell begins on
    ``line`` of the source ``page``.
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
        """Raise :class:`WrongMessage` unless the code gave what the tags say."""
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


def families(docs: Path) -> list[Path]:
    """Return the pages that have entries."""
    return sorted((docs / DESK).glob("[!.]*.md"))


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
    for cell in cells(page) if headings else ():
        kind = next((tag for tag in cell.tags if tag in KINDS), None)
        if kind is None:
            continue
        if cell.line not in headings:
            raise WrongMessage(
                f"{page.name}, line {cell.line}: an entry begins with a label, a "
                "heading with ## and then this cell, with nothing between them"
            )
        anchor, title = headings[cell.line]
        found[anchor] = Entry(
            page=page.name,
            line=cell.line,
            anchor=anchor,
            title=title,
            kind=kind,
            types=frozenset(tag for tag in cell.tags if tag[:1].isupper()),
            since=tuple(
                int(part)
                for tag in cell.tags
                if tag.startswith("since-")
                for part in tag.removeprefix("since-").split(".")
            ),
            code=cell.code.strip(),
        )
    return found


def without_name(code: str) -> str:
    """Return the code of a cure without a last line that only names its result."""
    *before, last = textwrap.dedent(code).strip().split("\n")
    return "\n".join(before if before and last.isidentifier() else [*before, last])


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


def observe_messages(page: Path) -> dict[str, str]:
    """Run the code of all entries of a page, as its kernel does, without Jupyter.

    Return the messages by the anchors of the entries.

    Raises
    ------
    WrongMessage
        If an entry's code does not raise what its tags say.
    """
    import torch

    torch.set_warn_always(True)
    start: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(page):
        if "setup" in cell.tags:
            exec(compile(cell.code, page.name, "exec"), start)
    observed = {}
    for entry in entries(page).values():
        given = raised(entry, {**start})
        entry.check(given)
        observed[entry.anchor] = "\n".join(given)
    return observed
