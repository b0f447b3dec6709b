"""What a page of messages does in its kernel: show them and prove their cures.

The page's first cell makes :class:`Messages`. From then on a cell of an entry
shows the type and the text of what it raised, without a traceback (whose paths are the
machine's). The cell after it calls ``cures``, which runs each cure and looks at what
it costs; the last one calls ``finish``. What was seen leaves the kernel as data, in a
directive: how it looks is :mod:`tensor_copies.errors.cards`.
"""

from __future__ import annotations

import ast
import json
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from IPython import get_ipython
from IPython.display import Markdown
from myst_nb import glue

from tensor_copies.errors.costs import Cost, Cure, cost_of, costs_on_simulated_device
from tensor_copies.errors.messages import (
    NOTHING,
    Entry,
    WrongMessage,
    entries,
    said,
    without_name,
)


class Messages:
    """The messages of ``page``, its source, while its cells run."""

    def __init__(self, page: str) -> None:
        self._entries = entries(Path(page))
        self._given: dict[str, list[str]] = {}
        self._running: Entry | None = None
        self._show_as_usual = warnings.showwarning
        self._shell = get_ipython()
        self._traceback = self._shell.InteractiveTB.mode
        self._shell.set_custom_exc((Exception,), self._show_error)
        self._shell.events.register("pre_run_cell", self._begin)
        self._shell.events.register("post_run_cell", self._end)
        warnings.showwarning = self._show_warning
        warnings.simplefilter("always")
        torch.set_warn_always(True)

    def cures(
        self,
        subject: str,
        ranked: dict[str, str | tuple[str, str]],
        wrong: dict[str, str | tuple[str, str]] | None = None,
        *,
        folk: dict[str, str | tuple[str, str]] | None = None,
        setup: str | None = None,
        off_cpu: str = "",
    ) -> Markdown:
        """Run the cures of the entry above; return what each costs.

        A cure runs after the entry's code without its last statement. Its last
        expression is compared with the subject: do they share memory, do gradients
        flow?

        Parameters
        ----------
        subject
            The name of the tensor or array that the entry is about, or ``""``.
        ranked, wrong
            What each code is for, the best first; or a pair of that and an expression
            that must be true after it. What is wrong may raise.
        setup
            What runs before each cure in the place of the entry's code, for cures that
            need a device which not every machine has.
        off_cpu
            What runs instead, to see what the cures cost for a tensor on CUDA. Without
            a GPU they are then priced on the simulated device, or not at all.
        """
        if not self._given:
            raise WrongMessage("these cures stand before the first entry")
        entry = self._entries[[*self._given][-1]]
        entry.check(self._given[entry.anchor])
        if setup is None:
            setup = ast.unparse(ast.parse(entry.code).body[:-1])
        known = [
            (words, Cure(entry.anchor, setup, code, subject, truth, *kind))
            for listing, *kind in ((ranked, True), (wrong, False), (folk, False, True))
            for code, about in (listing or {}).items()
            for words, truth in [(about, "True") if isinstance(about, str) else about]
        ]
        costs = [cost_of(cure, {**get_ipython().user_ns}) for _, cure in known]
        on_simulated = bool(off_cpu) and not torch.cuda.is_available()
        if on_simulated:
            away = [replace(cure, setup=off_cpu) for _, cure in known]
            costs = costs_on_simulated_device(away)
        rows = [
            {"code": without_name(cure.code), "words": words, "is_cure": cure.strict}
            | {"told": cure.told, **asdict(cost)}
            for (words, cure), cost in zip(known, costs, strict=True)
        ]
        priced = bool(off_cpu) and any(cost != Cost() for cost in costs)
        return _directive(
            "cures",
            subject=subject,
            rows=rows,
            away=("simulated" if on_simulated else "GPU") if priced else "",
        )

    def finish(self) -> None:
        """Check that all entries ran; hand torch's version to the top of the page."""
        # What is left to the end of the process is no message (torch 2.6: a folder).
        warnings.simplefilter("ignore", ResourceWarning)
        if missing := [anchor for anchor in self._entries if anchor not in self._given]:
            raise WrongMessage(f"these entries did not run: {', '.join(missing)}")
        glue("torch", torch.__version__, display=False)

    def _begin(self, info: Any) -> None:
        code = (info.raw_cell or "").strip()
        found = (entry for entry in self._entries.values() if entry.code == code)
        self._running = entry = next(found, None)
        # Of an entry its message is shown, not its value. Of each error IPython keeps a
        # traceback, which nobody reads here.
        self._shell.ast_node_interactivity = "none" if entry else "last_expr"
        raises = entry and entry.kind == "raises-exception"
        self._shell.InteractiveTB.set_mode("Minimal" if raises else self._traceback)
        if entry:
            self._given[entry.anchor] = []

    def _end(self, *_: object) -> None:
        if self._running is not None and not self._given[self._running.anchor]:
            print(f"({NOTHING} with torch {torch.__version__})")
        self._running = None

    def _show_error(
        self, shell: Any, kind: type, error: Exception, *where: Any, **options: Any
    ) -> list[str]:
        if self._running is None or self._running.kind != "raises-exception":
            shell.showtraceback((kind, error, *where), **options)
        else:
            self._say(self._running, said(error))
        return []

    def _show_warning(self, *given: Any, **options: Any) -> None:
        if self._running is None:
            self._show_as_usual(*given, **options)
        else:
            self._say(self._running, said(warnings.WarningMessage(*given, **options)))

    def _say(self, entry: Entry, text: str) -> None:
        if text not in self._given[entry.anchor]:
            self._given[entry.anchor].append(text)
            print(text)


def _directive(name: str, **data: Any) -> Markdown:
    """Return a directive with data: one line, so that no text can end it."""
    return Markdown(f"```{{{name}}}\n{json.dumps(data)}\n```\n")
