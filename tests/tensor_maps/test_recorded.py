"""Pictures, mark by mark, as they were when somebody looked at them.

They are files in the folder beside this one. What was drawn otherwise on purpose is
recorded by ``nox -s unit -- tests/tensor_maps/test_recorded.py --force-regen``: look at
each picture that changes before you commit it.
"""

import re
from html import escape
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture
from running import named_in, ran
from tensor_maps.graph import draw_graph
from tensor_maps.observe import observe
from tensor_maps.scene import draw_scene

DRAWN = Path(__file__).with_name("drawn.txt").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"(?ms)^=== (.+?) \((.+?)\)\n(.+?)\n\n", DRAWN + "\n")


def on_lines(svg: str) -> str:
    """Return a picture with a mark on each line."""
    return svg.replace("><", ">\n<") + "\n"


@pytest.mark.parametrize(("name", "kind", "code"), PROGRAMS)
def test_a_picture(
    name: str, kind: str, code: str, file_regression: FileRegressionFixture
) -> None:
    if kind == "steps":
        seen = ran(code)
        data = seen.data()
        marks = [repr(seen), *map(str, data["steps"])]
        marks = [f"<p>{escape(one, quote=False)}</p>" for one in marks]
        for drawing, caption in zip(data["drawings"], data["captions"], strict=True):
            marks += [on_lines(drawing), f"<p>{caption}</p>"]
    else:
        graph, _, width = kind.rpartition(" ")
        observed = observe(named_in(code), graph=bool(graph))
        made = (draw_graph if graph else draw_scene)(observed, width=int(width))
        marks = [on_lines(made.svg())]
    place = {"extension": ".html" if kind == "steps" else ".svg"}
    file_regression.check("\n".join(marks), basename=name.replace(" ", "_"), **place)


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
