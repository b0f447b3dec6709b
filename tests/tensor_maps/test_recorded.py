"""Pictures, mark by mark, as they were when somebody looked at them.

They are files in the folder beside this one. What was drawn otherwise on purpose is
recorded by ``nox -s unit -- tests/tensor_maps/test_recorded.py --force-regen``: look at
each picture that changes before you commit it.
"""

from textwrap import dedent

import pytest
from pytest_regressions.file_regression import FileRegressionFixture
from running import named_in, ran
from tensor_maps.graph import draw_graph
from tensor_maps.observe import observe
from tensor_maps.scene import draw_scene

CODE = {
    "a result and a cut": """
        x, w, b = torch.ones(1), leaf(1.0), leaf(3.0)
        y, z = x * w + b, w.detach()
    """,
    "a copy beside and one apart": """
        x = leaf(1.0, 2.0)
        c, d = x.clone(), x.clone()
        cut = c.detach()
    """,
    "a copy behind a view": "w = leaf(1.0, 2.0)\nv = w.clone().unsqueeze(0)",
    "parts of a row": """
        x = torch.arange(6.0)
        low, odd, last, whole = x[:2], x[1::2], x[5:], x.view(2, 3)
        same = x
    """,
    "parts with nothing in common": """
        flat = torch.ones(4)
        weight, bias = flat[:2].requires_grad_(), flat[2:].requires_grad_()
        cut = weight.detach()[1:]
    """,
    "a transposed view": "x = torch.arange(6).reshape(2, 3)\nturned = x.t()",
    "an expanded row": "row = torch.arange(2)\nrows = row.expand(3, 2)",
    "an array backwards": "x = np.arange(6).reshape(2, 3)\nback = x[::-1, ::-1]",
    "what is frozen and what is kept": """
        w, h = leaf(1.0), leaf(2.0) * 2
        bias = nn.Linear(1, 1).requires_grad_(False).bias
        bias.data.fill_(0.5)
        h.retain_grad()
        (w * h).backward()
    """,
    "names that hang on a rail": """
        first = leaf(1.0, 2.0, 3.0)
        second_name, third_name, fourth_name = first[1:], first.detach(), first * 2
        fifth_name, sixth_name = first.view(3, 1), first.detach()[:1]
    """,
    "cells on two lines": """
        many = torch.arange(12.0) * 1001
        part, odd = many[3:9], many[1::2]
    """,
    "a part of a large memory": """
        large = torch.zeros(100, 100)
        row, rest = large[10], large[50:]
    """,
    "a part before its whole": """
        whole = torch.arange(6.0)
        before, behind = {"part": whole[4:], "all": whole}.values()
        del whole
    """,
    "long names and other letters": """
        Ω, 重み = torch.ones(1), torch.ones(1).clone()
        a_name_of_more_letters_than_the_picture_has_room_for = 重み.view(1)
    """,
    "copies of two": """
        w, v = leaf(1.0, 2.0), leaf(3.0, 4.0)
        both = torch.zeros(2, 2)
        both[0], both[1] = w, v
        double = w.double()
    """,
    "parts of what is no number of elements": """
        packed = np.zeros(3, dtype=[("k", "i1"), ("v", "<f4")])
        v, k, none = packed["v"], packed["k"], packed[:0]
    """,
    "more memories than colours": """
        a, b, c = torch.zeros(3), torch.ones(1, dtype=torch.int8), torch.ones(2)
        d, e, f = torch.ones(5), torch.zeros(64, 64), torch.ones(2) + 1j
        g = torch.empty(3, device="meta")
    """,
    "a way over two shelves": """
        w, other = leaf(1.0, 2.0, 3.0, 4.0), leaf(5.0, 6.0, 7.0, 8.0)
        both = w * other
        again, copy = both + 1, w.clone()
    """,
}
WIDTHS = {
    "a way over two shelves": 300,
    "a result and a cut": 280,
    "names that hang on a rail": 216,
    "cells on two lines": 280,
    "long names and other letters": 280,
}
GRAPHS = {
    "short": """
        w, x = leaf(1.0), torch.ones(1)
        h = w * 2
        y = h * h + x + leaf(3.0)
    """,
    "wide": """
        w, f = leaf(1.0), leaf(2.0)
        total = sum([w.exp(), w.sin(), w.log(), w.cos(), f.square(), f.exp(), f.sin()])
        f.requires_grad_(False)
    """,
    "deep": """
        w = leaf(1.0)
        y = w.detach() * leaf(2.0)
        for _ in range(41):
            y = y + w
    """,
}
STEPS = """
    w = torch.tensor([1.0, 4.0], requires_grad=True)
    v = w.clone()
    z = w.detach()
    z += 1
    (v * v).sum().backward()
    v = z[:1]
    z = torch.zeros(2, 3)
    w.grad.add_(v)
    total = torch.zeros(1)
    for turn in range(6):
        total += turn
        if turn == 1:
            total = total.clone()
    try:
        if z.view(7):
            pass
    except RuntimeError:
        print("no")
"""


def on_lines(svg: str) -> str:
    """Return a picture with a mark on each line."""
    return svg.replace("><", ">\n<") + "\n"


@pytest.mark.parametrize("name", CODE)
def test_a_picture(name: str, file_regression: FileRegressionFixture) -> None:
    observed = observe(named_in(dedent(CODE[name])))
    made = draw_scene(observed, width=WIDTHS.get(name, 640))
    file_regression.check(on_lines(made.svg()), extension=".svg")


def test_a_picture_of_what_is_only_told(file_regression: FileRegressionFixture) -> None:
    """Devices, writes, errors, numbers and copies that a caller tells of are drawn."""
    code = "x, other = torch.ones(2, 3), leaf(1.0, 2.0)\ny, far = x[0], torch.ones(2)"
    observed = observe(named_in(f"{code}\nnumber, large = np.ones(1), torch.zeros(99)"))
    observed["storages"][0] |= {"changed_cells": [2], "changed": True, "colour": 2}
    observed["storages"][2]["device"] = "cuda"
    observed["storages"][3]["dashed"] = observed["storages"][4]["changed"] = True
    observed["tensors"][1] |= {"gradient": "[1, 1]", "changed": ["gradient"]}
    observed["notes"].append("One note")
    told = {"raises": {"y": "RuntimeError", "never": "ValueError"}, "ringed": ["far"]}
    made = draw_scene(observed, copies=[("x", "far")], **told)
    file_regression.check(on_lines(made.svg() + made.caption), extension=".svg")


@pytest.mark.parametrize("code", GRAPHS.values(), ids=GRAPHS)
def test_a_graph_beside_its_memories(
    code: str, file_regression: FileRegressionFixture
) -> None:
    observed = observe(named_in(dedent(code)), graph=True)
    file_regression.check(on_lines(draw_graph(observed).svg()), extension=".svg")


def test_the_pictures_of_steps(file_regression: FileRegressionFixture) -> None:
    data, marks = ran(STEPS).data(), []
    for step in data["steps"]:
        marks.append(f"<p>{step}</p>")
        if step["drawing"] is not None:
            marks.append(on_lines(data["drawings"][step["drawing"]]))
            marks.append(f"<p>{data['captions'][step['drawing']]}</p>")
    file_regression.check("\n".join(marks), extension=".html")
