"""Code that readers copy is the code that a teacher writes on a board."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from reading import EACH, ROOT, script_of
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

# How many arguments stand by position. A reader should be told the names of the rest.
BY_POSITION = {
    **dict.fromkeys(("Linear", "Embedding", "LSTM", "LSTMCell"), 2),
    **dict.fromkeys(("BatchNorm1d", "Dropout", "Parameter", "DataLoader"), 1),
    **dict.fromkeys(("SGD", "Adam", "AdamW", "Timer", "GradScaler", "autocast"), 1),
    **dict.fromkeys(("zero_grad", "blocked_autorange", "bench"), 0),
}
FOR_EFFECT = {"backward", "step", "zero_grad"}
CLEVER = {"setattr", "__setitem__"}
MODULES = {"copy", "io", "random", "time", "warnings"}
FIRST_FIVE = ("leaf_tensors", "detach", "clone", "detach_clone", "numpy_bridge")
OPTIONS = re.compile(r"\A---\n(?:.*\n)*?---\n|\A(?::.*\n)+|^%.*$", re.MULTILINE)
CELL = re.compile(r"^```\{code-cell\}.*\n((?:.*\n)*?)^```$", re.MULTILINE)

# What each fault looks like, and what a reader should find in its place.
TUPLE = "a tuple as a statement: give each call a line"
EFFECT = "a call made for its effect within a tuple or list: give it a line"
VALUE = "`and` or `or` as a value: write an `if`"
TRUTH = "a tensor as a condition, which fails for two elements: write `is not None`"
POSITION = "an option by position: write its name"
STRING = "a loop over the letters of a string: write range(n)"
SHIFT = "a shift: write / 1024"
CHAIN = "several facts in one comparison: write one each"
STAR = "print(*...): print an f-string"
MODULE = "a variable with the name of a module"
INDIRECT = "an assignment in disguise: write the statement"
FAULTS = {
    "w.relu_(), b.relu_()": TUPLE,
    "def f(): return loss, loss.backward()": EFFECT,
    "x = [w.zero_(), b]": EFFECT,
    "x = gpu and stream.record_event()": VALUE,
    "x = 1 if w.grad else 2": TRUTH,
    "if not y.grad_fn: pass": TRUTH,
    "x = nn.Linear(2, 1, False)": POSITION,
    "x = torch.optim.SGD(weights, 0.5)": POSITION,
    "for _ in '123': pass": STRING,
    "x = size >> 10": SHIFT,
    "assert x.item() == y.item() == 3": CHAIN,
    "assert a is b is not c": CHAIN,
    "print(*row)": STAR,
    "time = 3": MODULE,
    "for copy in ways: pass": MODULE,
    "setattr(layer, 'weight', w)": INDIRECT,
}
PLAIN = (
    "a, b = w.clone(), b.clone()",
    "w.relu_()",
    "x = None if w.grad is None else w.grad.item()",
    "x = nn.Linear(2, 1, bias=False)",
    "optimizer = torch.optim.SGD(weights, lr=0.5)",
    "assert 0 < x <= 1",
    "if gpu and not done: pass",
    "x = a == b or c == d",
    "def __array__(self, dtype=None, copy=None): pass",
)


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def has_effect(node: ast.AST) -> bool:
    """Whether this is a call of `backward()` or `step()`, or of a method in place."""
    name = name_of(node) if isinstance(node, ast.Call) else ""
    return name in FOR_EFFECT or re.fullmatch(r"\w*[a-z]_", name) is not None


def conditions(tree: ast.AST) -> set[ast.AST]:
    """Return the expressions of which only the truth is asked."""
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            found.append(node.test)
        elif isinstance(node, ast.comprehension):
            found += node.ifs
    for node in found:
        if isinstance(node, ast.BoolOp):
            found += node.values
        elif isinstance(node, ast.UnaryOp):
            found.append(node.operand)
    return set(found)


def faults(code: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the fault of what a teacher would write in another way."""
    tree = ast.parse(code)
    asked = conditions(tree)
    for node in ast.walk(tree):
        fault = None
        match node:
            case ast.Expr(value=ast.Tuple()):
                fault = TUPLE
            case ast.Tuple() | ast.List() if any(map(has_effect, node.elts)):
                fault = EFFECT
            case ast.BoolOp() if node not in asked:
                is_bool = isinstance(node.values[-1], ast.Compare | ast.UnaryOp)
                fault = None if is_bool else VALUE
            case ast.Attribute(attr="grad" | "data" | "grad_fn") if node in asked:
                fault = TRUTH
            case ast.Call() if len(node.args) > BY_POSITION.get(name_of(node), 99):
                fault = POSITION
            case (
                ast.For(iter=ast.Constant(str()))
                | ast.comprehension(iter=ast.Constant(str()))
            ):
                node, fault = node.iter, STRING
            case ast.BinOp(op=ast.LShift() | ast.RShift()):
                fault = SHIFT
            case ast.Compare(ops=[_, _, *_]):
                is_range = all(isinstance(op, ast.Lt | ast.LtE) for op in node.ops)
                fault = None if is_range else CHAIN
            case ast.Call(func=ast.Name("print"), args=[ast.Starred(), *_]):
                fault = STAR
            case ast.Name(ctx=ast.Store()) if node.id in MODULES:
                fault = MODULE
            case ast.Call() if name_of(node) in CLEVER:
                fault = INDIRECT
        if fault is not None:
            yield node.lineno, fault


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_is_found(code: str) -> None:
    # A tuple as a statement may also have a call for its effect in it.
    assert (1, FAULTS[code]) in [*faults(code)]


@pytest.mark.parametrize("code", PLAIN)
def test_plain_code_has_none(code: str) -> None:
    assert [*faults(code)] == []


@EACH
def test_a_lesson_is_plain(script: Path) -> None:
    assert [*faults(script.read_text(encoding="utf-8"))] == []


def test_cells_of_pages_are_plain() -> None:
    found = {}
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/[eq]*/*.md")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for cell in CELL.finditer(text):
            code = OPTIONS.sub(lambda told: "\n" * told[0].count("\n"), cell[1])
            if "remove-" in cell[1].partition("\n\n")[0]:
                continue  # nobody reads it
            for line, fault in faults(code):
                line += text[: cell.start(1)].count("\n")
                found[f"{page.name}:{line}"] = fault
    assert found == {}


@EACH
def test_what_is_in_sight_has_no_table_of_functions(script: Path) -> None:
    for kind, code, line in split_code_and_text_blocks(str(script))[1]:
        if kind == "code" and "gallery_folded" not in code:
            tables = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Dict)]
            values = [value for table in tables for value in table.values]
            assert not any(isinstance(one, ast.Lambda) for one in values), line


@pytest.mark.parametrize("name", FIRST_FIVE)
def test_the_first_five_have_nothing_but_the_lesson(name: str) -> None:
    blocks = split_code_and_text_blocks(str(script_of(name)))[1]
    code = "\n".join(block.content for block in blocks if block.type == "code")
    assert re.findall(r"catch_warnings|next_functions|import warnings", code) == []
    assert set(re.findall(r"^ *def (\w+)", code, re.M)) <= {"shares_memory"}
