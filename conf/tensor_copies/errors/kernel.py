"""Show the messages of a page's cells and prove their cures, in the page's kernel.

A page's first hidden cell imports :func:`cures`. From then on a cell shows the type and
the text of what it raises or warns, without a traceback, whose paths are the machine's.
What cures do leaves the kernel as data, which :mod:`tensor_copies.errors.cards` draws.
"""

import ast
import json
import re
import textwrap
import warnings
from typing import Any

import numpy as np
import torch
from IPython import get_ipython
from IPython.display import Markdown, display
from myst_nb import glue
from tensor_maps.relations import flows, sharing

# Where a message comes from in torch's sources, colours, addresses: no one's text.
PLACES = re.compile(
    r"\s*\(Triggered internally at [^)]*\)|\x1b\[[0-9;]*m|\b0x[0-9a-f]{4,}"
)
Listing = dict[str, str | tuple[str, str]]
_shown: list[str] = []  # what the running cell has said


def said(kind: type, text: object) -> str:
    """Return ``type: text`` of an exception or warning, as pages show it."""
    return f"{kind.__name__}: {PLACES.sub('', str(text)).expandtabs(4)}".strip()


def _show(kind: type, text: object) -> None:
    if (line := said(kind, text)) not in _shown:
        _shown.append(line)
        print(line)


def cures(
    subject: str,
    ranked: Listing,
    wrong: Listing | None = None,
    *,
    folk: Listing | None = None,
    setup: str | None = None,
    away: bool = False,
) -> None:
    """Run the cures of the cell above, best first; what is wrong; and common advice.

    Each code has the words that say what it is for, or a pair of these and an
    expression that must be true after it. It runs after ``setup``, or after the cell
    without its last statement. Its last expression is compared with the tensor or
    array that ``subject`` names. If the reader's is on a GPU (``away``), the explorer's
    record of such a tensor gives the signs.
    """
    if setup is None:
        setup = ast.unparse(ast.parse(_shell.user_ns["In"][-2]).body[:-1])
    rows = [
        # A last line that only names its result is not shown.
        {"kind": kind, "words": words, "code": re.sub(r"\n\w+$", "", code)}
        | run_cure(setup, code, subject, truth, kind)
        for kind, listing in (("cure", ranked), ("wrong", wrong), ("folk", folk))
        for written, about in (listing or {}).items()
        for code in [textwrap.dedent(written).strip()]
        for words, truth in [(about, "True") if isinstance(about, str) else about]
    ]
    # One line, so that no text can end the directive.
    data = json.dumps({"subject": subject, "rows": rows, "away": away})
    display(Markdown(f"```{{cures}}\n{data}\n```\n"))


def run_cure(
    setup: str, code: str, subject: str, truth: str, kind: str
) -> dict[str, Any]:
    """Run a cure in a copy of the page's names; return what it does.

    One that raises or warns, and anything whose truth does not hold, is refused with an
    AssertionError. What is wrong may raise; of common advice the result is shown.
    """
    body, names = ast.parse(code).body, {**_shell.user_ns}
    value = body.pop().value if isinstance(body[-1], ast.Expr) else None
    last = ast.Expression(value) if value else "None"
    name, is_cure = f"the cure {code!r}", kind == "cure"
    with warnings.catch_warnings():
        warnings.simplefilter("error" if is_cure else "ignore")
        try:
            exec(compile(setup, name, "exec"), names)
            state = _state_of(names.get(subject))
            exec(compile(ast.Module(body, []), name, "exec"), names)
            names["result"] = result = eval(compile(last, name, "eval"), names)
            true = eval(truth, names)
        except Exception as error:
            text = said(type(error), error)
            if is_cure or truth != "True":
                raise AssertionError(f"{name}: {text}") from error
            return {"raises": type(error).__name__, "shown": text.split("\n")[0]}
    assert true, f"{name}: not true: {truth}"
    if kind == "folk":
        return {"shown": repr(result)} if value else {}
    return {"signs": _signs(names.get(subject), result), "state": state}


def _signs(subject: object, result: object) -> list[str]:
    """Return what became of memory and gradient, as keys of the signs."""
    if not all(isinstance(one, torch.Tensor | np.ndarray) for one in (subject, result)):
        return []
    if subject is result:
        return ["itself"]
    signs = ["shares" if sharing(subject, result) else "copies"]
    if getattr(subject, "requires_grad", False):
        reached = isinstance(result, torch.Tensor) and flows(result, subject)
        signs.append("flows" if reached and all(reached.values()) else "stops")
    return signs


def _state_of(value: object) -> str:
    """Return which of the explorer's kinds of x a value is."""
    if not isinstance(value, torch.Tensor):
        return ""
    if value.requires_grad:
        return "leaf" if value.is_leaf else "nonleaf"
    return "constant" if value.is_contiguous() else "view"


_shell = get_ipython()
_shell.ast_node_interactivity = "none"  # a message is shown, not the cell's value
_shell.events.register("pre_run_cell", lambda _: _shown.clear())
_shell.set_custom_exc((Exception,), lambda _, kind, text, *__, **___: _show(kind, text))
warnings.showwarning = lambda text, kind, *_, **__: _show(kind, text)
warnings.simplefilter("always")
warnings.simplefilter("ignore", ResourceWarning)  # of what is left to the end
torch.set_warn_always(True)
glue("torch", torch.__version__, display=False)
