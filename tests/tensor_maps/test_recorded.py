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
WIDTHS = {"a way over two shelves": 300, "a result and a cut": 280}
STEPS = """
    w = torch.tensor([1.0, 4.0], requires_grad=True)
    v = w.clone()
    z = w.detach()
    z += 1
    (v * v).sum().backward()
    v = z[:1]
    z = torch.zeros(2, 3)
    w.grad.add_(v)
    try:
        z.view(7)
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
    """Devices, writes, errors and copies that a caller tells of are drawn."""
    code = "x, other = torch.ones(2, 3), leaf(1.0, 2.0)\ny, far = x[0], torch.ones(2)"
    observed = observe(named_in(code))
    observed["storages"][0] |= {"changed_cells": [2], "changed": True, "colour": 2}
    observed["storages"][2]["device"] = "cuda"
    observed["tensors"][1] |= {"gradient": "[1, 1]", "changed": ["gradient"]}
    observed["notes"].append("One note")
    told = {"raises": {"y": "RuntimeError"}, "copies": [("x", "far")]}
    made = draw_scene(observed, **told, ringed=["far"])
    file_regression.check(on_lines(made.svg() + made.caption), extension=".svg")


def test_a_graph_beside_its_memories(file_regression: FileRegressionFixture) -> None:
    code = "w, x = leaf(1.0), torch.ones(1)\nh = w * 2\ny = (h * h + x + leaf(3.0))"
    observed = observe(named_in(code), graph=True)
    file_regression.check(on_lines(draw_graph(observed).svg()), extension=".svg")


def test_the_pictures_of_steps(file_regression: FileRegressionFixture) -> None:
    data, marks = ran(STEPS).data(), []
    for step in data["steps"]:
        marks.append(f"<p>{step}</p>")
        if step["drawing"] is not None:
            marks.append(on_lines(data["drawings"][step["drawing"]]))
            marks.append(f"<p>{data['captions'][step['drawing']]}</p>")
    file_regression.check("\n".join(marks), extension=".html")
