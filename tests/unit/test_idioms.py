"""Code that readers copy is the code that a teacher writes on a board."""

import ast
import re
from collections.abc import Iterator

import pytest
from reading import EACH, LESSONS, PAGES, Lesson
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
FIRST_FIVE = ("leaf_tensors", "detach", "clone", "detach_clone", "numpy_bridge")

# What a reader should find in the place of each fault.
TUPLE = "a tuple as a statement: give each call a line"
EFFECT = "a call made for its effect within a tuple or list: give it a line"
VALUE = "`and` or `or` as a value: write an `if`"
TRUTH = "a tensor as a condition, which fails for two elements: write `is not None`"
POSITION = "an option by position: write its name"
STRING = "a loop over the letters of a string: write range(n)"
SHIFT = "a shift: write / 1024"
INDIRECT = "an assignment in disguise: write the statement"
CHAIN = "several facts in one comparison: write one each"
STAR = "print(*...): print an f-string"
MODULE = "a variable with the name of a module"
CODE = """
w.view(2), b.view(2)  # TUPLE
x = [w.zero_(), b]  # EFFECT
x = gpu and stream.record_event()  # VALUE
if not y.grad_fn: pass  # TRUTH
x = torch.optim.SGD(weights, 0.5)  # POSITION
for _ in "123": pass  # STRING
x = size >> 10  # SHIFT
setattr(layer, "weight", w)  # INDIRECT
assert x.item() == y.item() == 3  # CHAIN
print(*row)  # STAR
for copy in ways: pass  # MODULE
a, b = w.clone(), b.clone()
w.relu_()
x = None if w.grad is None else w.grad.item()
x = nn.Linear(2, 1, bias=False)
assert 0 < x <= 1
if gpu and not done: pass
x = a == b or c == d
"""


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
                fault = TUPLE
            case ast.Tuple() | ast.List() if any(
                re.fullmatch(FOR_EFFECT, name_of(one)) for one in node.elts
            ):
                fault = EFFECT
            case ast.BoolOp() if node not in asked:
                is_bool = isinstance(node.values[-1], ast.Compare | ast.UnaryOp)
                fault = None if is_bool else VALUE
            case ast.Attribute(attr="grad" | "data" | "grad_fn") if node in asked:
                fault = TRUTH
            case ast.For(iter=ast.Constant(str())):
                fault = STRING
            case ast.comprehension(iter=ast.Constant(str())):
                node, fault = node.iter, STRING
            case ast.BinOp(op=ast.LShift() | ast.RShift()):
                fault = SHIFT
            case ast.Call() if name_of(node) in ("setattr", "__setitem__"):
                fault = INDIRECT
            case ast.Call() if len(node.args) > BY_POSITION.get(name_of(node), 99):
                fault = POSITION
            case ast.Compare(ops=[_, _, *_]):
                is_range = all(isinstance(op, ast.Lt | ast.LtE) for op in node.ops)
                fault = None if is_range else CHAIN
            case ast.Call(func=ast.Name("print"), args=[ast.Starred(), *_]):
                fault = STAR
            case ast.Name(ctx=ast.Store()) if node.id in MODULES:
                fault = MODULE
        if fault is not None:
            yield node.lineno, fault


def test_a_fault_is_found_and_plain_code_has_none() -> None:
    marked = [line.partition("  # ")[2] for line in CODE.splitlines()]
    wanted = [(at, globals()[name]) for at, name in enumerate(marked, 1) if name]
    assert sorted(faults(CODE)) == wanted


@EACH
def test_a_lesson_is_plain(lesson: Lesson) -> None:
    assert [*faults(lesson.text)] == []


def test_cells_of_pages_are_plain() -> None:
    shown = [(page, cell) for page in PAGES for cell in cells(page)
             if "remove-" not in str(cell.tags)]  # fmt: skip
    found = {(page.name, cell.line): [*faults(re.sub("(?m)^%", "#", cell.code))]
             for page, cell in shown}  # fmt: skip
    assert {where: those for where, those in found.items() if those} == {}


@EACH
def test_what_is_in_sight_has_no_table_of_functions(lesson: Lesson) -> None:
    for kind, code, line in lesson.blocks:
        if kind == "code" and "gallery_folded" not in code:
            tables = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Dict)]
            values = [value for table in tables for value in table.values]
            assert not any(isinstance(one, ast.Lambda) for one in values), line


@pytest.mark.parametrize("name", FIRST_FIVE)
def test_the_first_five_have_nothing_but_the_lesson(name: str) -> None:
    code = "\n".join(line for _, line in LESSONS[name].code_lines)
    assert re.findall(r"catch_warnings|next_functions|import warnings", code) == []
    assert set(re.findall(r"^ *def (\w+)", code, re.M)) <= {"shares_memory"}
