"""Code that readers copy is the code that a teacher writes on a board."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from reading import EACH, ROOT
from tensor_copies.gallery.pages import cells

# How many arguments stand by position. A reader should be told the names of the rest.
BY_POSITION = {
    **dict.fromkeys(("Linear", "Embedding", "LSTM", "LSTMCell"), 2),
    **dict.fromkeys(("BatchNorm1d", "Dropout", "Parameter", "DataLoader"), 1),
    **dict.fromkeys(("SGD", "Adam", "AdamW", "Timer", "GradScaler", "autocast"), 1),
    **dict.fromkeys(("zero_grad", "blocked_autorange", "bench"), 0),
}
FOR_EFFECT = r"backward|step|zero_grad|\w*[a-z]_"
MODULES = {"copy", "io", "random", "time", "warnings"}

CODE = """w.view(2), b.view(2)
x = gpu and stream.record_event()
assert x.item() == y.item() == 3
x = torch.optim.SGD(weights, 0.5)
if not y.grad_fn: pass
a, b = w.clone(), b.clone()
x = None if w.grad is None else w.grad.item()
assert 0 < x <= 1
if gpu and not done: pass
x = a == b or c == d"""


def name_of(node: ast.AST) -> str:
    """Return the name that is called, or nothing."""
    function = getattr(node, "func", None)
    return getattr(function, "attr", getattr(function, "id", ""))


def conditions(tree: ast.AST) -> set[ast.AST]:
    """Return the expressions of which only the truth is asked."""
    nodes = [*ast.walk(tree)]
    kinds = ast.If | ast.While | ast.IfExp | ast.Assert
    found = [node.test for node in nodes if isinstance(node, kinds)]
    found += [one for node in nodes for one in getattr(node, "ifs", ())]
    for node in found:  # which grows on the way
        found += getattr(node, "values", ()) if isinstance(node, ast.BoolOp) else ()
        found += [node.operand] if isinstance(node, ast.UnaryOp) else ()
    return {*found}


def faults(code: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the fault of what a teacher would write in another way."""
    tree = ast.parse(code)
    asked = conditions(tree)
    for node in ast.walk(tree):
        fault = None
        match node:
            case ast.Expr(value=ast.Tuple()):
                fault = "a tuple as a statement: give each call a line"
            case ast.Tuple() | ast.List() if any(
                re.fullmatch(FOR_EFFECT, name_of(one)) for one in node.elts
            ):
                fault = "a call made for its effect within a tuple: give it a line"
            case ast.BoolOp() if node not in asked:
                if not isinstance(node.values[-1], ast.Compare | ast.UnaryOp):
                    fault = "`and` or `or` as a value: write an `if`"
            case ast.Attribute(attr="grad" | "data" | "grad_fn") if node in asked:
                fault = "a tensor as a condition: write `is not None`"
            case ast.For(iter=ast.Constant(str())):
                fault = "a loop over the letters of a string: write range(n)"
            case ast.BinOp(op=ast.LShift() | ast.RShift()):
                fault = "a shift: write / 1024"
            case ast.Call() if name_of(node) in ("setattr", "__setitem__"):
                fault = "an assignment in disguise: write the statement"
            case ast.Call() if len(node.args) > BY_POSITION.get(name_of(node), 99):
                fault = "an option by position: write its name"
            case ast.Compare(ops=[_, _, *_]):
                if not all(isinstance(op, ast.Lt | ast.LtE) for op in node.ops):
                    fault = "several facts in one comparison: write one each"
            case ast.Call(func=ast.Name("print"), args=[ast.Starred(), *_]):
                fault = "print(*...): print an f-string"
            case ast.Name(ctx=ast.Store()) if node.id in MODULES:
                fault = "a variable with the name of a module"
        if fault is not None:
            yield node.lineno, fault


@EACH
def test_a_lesson_is_plain(script: Path) -> None:
    assert [*faults(script.read_text(encoding="utf-8"))] == []


def test_a_fault_is_found_and_plain_code_has_none() -> None:
    assert sorted(at for at, _ in faults(CODE)) == [1, 2, 3, 4, 5]


def test_cells_of_pages_are_plain() -> None:
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/[eq]*/*.md")]
    shown = [(page, cell) for page in pages for cell in cells(page)
             if "remove-" not in str(cell.tags)]  # fmt: skip
    found = {(page.name, cell.line): [*faults(re.sub("(?m)^%", "#", cell.code))]
             for page, cell in shown}  # fmt: skip
    assert {where: those for where, those in found.items() if those} == {}
