"""The names that people type: what they take, what they return, and what they say."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import tensor_maps as tm
import torch
from conftest import PATIENCE, ROOT
from tensor_maps import (
    Steps,
    TensorMap,
    steps,
    tensor_map,
)
from tensor_maps.testing import assert_gradient_reaches, assert_no_sharing

SOURCES = ROOT / "conf" / "tensor_maps" / "src"
SVG = "{http://www.w3.org/2000/svg}"


def python(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        **options,
    )


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def names_in(drawn: TensorMap) -> list[str]:
    return [name for one in drawn.to_dict()["tensors"] for name in one["names"]]


# The package --------------------------------------------------------------------------

PUBLIC = {
    *("tensor_map", "TensorMap", "steps", "Steps", "sharing", "groups", "flows"),
    *("holders", "saved", "load_ipython_extension", "__version__"),
}


def test_public_names_are_all_there_and_documented() -> None:
    assert set(tm.__all__) == PUBLIC
    assert sorted(tm.__all__) == list(tm.__all__)
    found: dict[str, Any] = {}
    exec("from tensor_maps import *", found)
    assert found.keys() - {"__builtins__"} == PUBLIC
    for name in PUBLIC - {"__version__"}:
        value = getattr(tm, name)
        assert inspect.getdoc(value), name
        if inspect.isfunction(value):
            hints = inspect.signature(value)
            assert hints.return_annotation is not inspect.Signature.empty, name
            for parameter in hints.parameters.values():
                assert parameter.annotation is not inspect.Parameter.empty, parameter
    assert re.fullmatch(r"\d+\.\d+\.\d+", tm.__version__)
    assert dir(tm) and "sharing" in dir(tm)
    with pytest.raises(AttributeError, match="shraing"):
        tm.shraing  # noqa: B018
    assert (Path(tm.__file__).parent / "py.typed").exists()


def test_drawing_and_words_import_no_torch() -> None:
    names = ["draw", "words", "layout", "pen", "compare", "steps.viewer", "steps"]
    program = "\n".join(
        [
            "import sys, tensor_maps",
            *[f"import tensor_maps.{name}" for name in names],
            "print(sorted({'torch', 'numpy', 'IPython'} & set(sys.modules)))",
            "print(callable(tensor_maps.steps))",
            "from tensor_maps import sharing, steps, Steps, tensor_map",
            "print('torch' in sys.modules, 'numpy' in sys.modules or True)",
        ]
    )
    done = python("-c", program)
    assert done.stdout.split("\n")[:3] == ["[]", "True", "True True"], done.stderr


def test_it_works_where_there_is_no_numpy() -> None:
    program = (
        "import sys; sys.modules['numpy'] = None\n"
        "import warnings; warnings.simplefilter('ignore')\n"
        "import torch\nfrom tensor_maps import Steps, sharing, tensor_map\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "tensor_map(w=w, z=w.detach())._repr_html_()\n"
        "seen = Steps(); seen.run('v = w[:1]', {'w': w})\n"
        "assert not seen.failed, seen.failed\n"
        "print(bool(sharing(w, w.detach())), seen[0].said)"
    )
    done = python("-c", program)
    assert done.stdout.startswith("True v "), done.stderr[-800:]


# Maps ---------------------------------------------------------------------------------


class Holder:
    """Has an attribute."""

    def __init__(self) -> None:
        self.w = torch.ones(2)


def test_names_come_from_the_source_of_the_call() -> None:
    w, z, o, rows = torch.ones(2), torch.zeros(2), Holder(), [torch.ones(1)] * 3
    assert names_in(tensor_map(w, z)) == ["w", "z"]
    assert names_in(tensor_map(o.w, rows[2], w)) == ["o.w", "rows[2]", "w"]
    # fmt: off
    drawn = tensor_map(
        w,  # a comment, (with brackets
        z[:1], other=z,
    )
    # fmt: on
    assert names_in(drawn)[0] == "w" and names_in(drawn)[-1] == "other"
    assert names_in(drawn)[1].replace(" ", "") == "z[:1]"
    assert names_in(tensor_map(w, z=z, max_names=2)) == ["w", "z"]
    assert names_in([tensor_map(w) for _ in range(2)][1]) == ["w"]
    assert names_in((lambda x: tensor_map(x))(w)) == ["x"]
    assert names_in(tensor_map({"a": w, "b": z})) == ["a", "b"]
    assert names_in(tensor_map(w, w)) == ["w"] or len(names_in(tensor_map(w, w))) == 2


def test_names_where_there_is_no_source() -> None:
    scope: dict[str, Any] = {"tensor_map": tensor_map, "w": torch.ones(2)}
    exec("drawn = tensor_map(w, w * 2)", scope)
    names = names_in(scope["drawn"])
    assert len(names) == len(set(names)) == 2 and all(names)


def test_modules_lists_and_optimizers_give_their_tensors() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.BatchNorm1d(1))
    names = names_in(tensor_map(net=net))
    wanted = [name for name, _ in net.named_parameters()]
    wanted += [name for name, _ in net.named_buffers()]
    assert set(names) == {f"net.{name}" for name in wanted}
    rows = [torch.ones(1), {"k": torch.ones(2)}]
    assert names_in(tensor_map(rows=rows)) == ["rows[0]", "rows[1]['k']"]


def test_what_is_left_out_is_said() -> None:
    named = {f"t{number}": torch.ones(1) for number in range(60)}
    drawn = tensor_map(**named, max_names=7)
    assert len(names_in(drawn)) == 7
    assert re.search(r"\b(7 of 60|53)\b", str(drawn)), str(drawn)[-200:]
    w = y = leaf(1.0)
    for _ in range(30):
        y = y * 2
    drawn = tensor_map(w=w, y=y, max_nodes=3)
    operations = [n for n in drawn.to_dict()["nodes"] if n["kind"] == "operation"]
    assert len(operations) <= 3
    assert re.search(r"\b(27|28|29) more", str(drawn)), str(drawn)


def test_a_map_of_nothing_says_so() -> None:
    for empty in (tensor_map(), tensor_map({}), tensor_map([])):
        assert re.search(r"\b([Nn]othing|no tensor)\b", str(empty)), str(empty)
        assert empty._repr_html_() and empty.to_dict()["tensors"] == []
    assert "5" in str(tensor_map(n=5)) or "int" in str(tensor_map(n=5))


def test_a_map_is_text_data_and_files(tmp_path: Path) -> None:
    w = leaf(1.0, 2.0)
    drawn = tensor_map(w, z=w.detach())
    assert repr(drawn) == str(drawn) and "share" in repr(drawn)
    data = drawn.to_dict()
    assert data["format"] == 2 and data == json.loads(json.dumps(data))
    data["tensors"].clear()
    assert drawn.to_dict()["tensors"], "what is returned is a copy"
    drawn.save(tmp_path / "map.svg")
    drawn.save(str(tmp_path / "map.HTML"))
    svg = (tmp_path / "map.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg" and "prefers-color-scheme" in svg
    texts = "".join(root.itertext())
    assert "w" in texts and "z" in texts
    page = (tmp_path / "map.HTML").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>") and "<svg" in page
    with torch.no_grad():
        w.fill_(9)
    assert "9" not in str(drawn), "a later write does not change it"


def test_the_schema_is_documented() -> None:
    from tensor_maps.observe import observe

    text = inspect.getdoc(observe)
    w = leaf(1.0, 2.0)
    data = tensor_map(w=w, y=(w * 2).sum(), a=np.zeros(3)).to_dict()
    keys = set(data)
    for part in ("tensors", "nodes", "edges", "storages"):
        keys |= {key for one in data[part] for key in one}
    keys |= {key for one in data["storages"] for w in one["windows"] for key in w}
    missing = {key for key in keys if not re.search(rf"\b{key}\b", text)}
    assert missing == set()


NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a<b>&\"'",
    "]]><!--",
    "line\nbreak",
    "nul\x00",
    "lone\ud800",
    "\u202ertl",
    "名前",
    "x" * 300,
    "",
    "javascript:alert(1)",
]


def test_nothing_that_is_drawn_can_run(tmp_path: Path) -> None:
    named = {name: torch.ones(2) for name in NASTY}
    words = np.array(["<script>alert(2)</script>", "<b onclick=x>"])
    drawn = tensor_map(**named, words=words, max_names=30)
    ElementTree.fromstring(drawn._repr_svg_().encode("utf-8", "strict"))
    drawn.save(tmp_path / "map.svg")
    drawn.save(tmp_path / "map.html")
    with steps("</title><script>alert(3)</script>") as seen:
        print("<script>alert(4)</script></script><!--")
        text = np.array(["<script>alert(5)</script>"])
        held = {"<script>alert(6)</script>": torch.ones(1), "</script>": text}
    del held
    seen.save(tmp_path / "steps.html")
    for shown in (
        drawn._repr_html_(),
        (tmp_path / "map.svg").read_text(encoding="utf-8"),
        (tmp_path / "map.html").read_text(encoding="utf-8"),
        (tmp_path / "steps.html").read_text(encoding="utf-8"),
        seen._repr_html_(),
    ):
        assert not re.search(r"<script>alert|<img|<b onclick", shown)
        assert not re.search(r"(?<!\\)</script>\s*<!--", shown)


def test_a_width_is_kept() -> None:
    w = leaf(1.0, 2.0)
    named = {f"t{n}": w * n for n in range(5)}
    for width in (240, 280, 600):
        text = tensor_map(**named, width=width)._repr_svg_()
        assert float(ElementTree.fromstring(text).get("width").rstrip("px")) <= width


# Steps --------------------------------------------------------------------------------


def told(seen: Steps) -> list[str]:
    assert not seen.failed, seen.failed
    return [one.said for one in seen]


def test_steps_are_a_list_with_text() -> None:
    with steps("a title") as seen:
        w = leaf(1.0, 2.0)
        z = w.detach()
        z += 1
    del z
    assert len(seen) == len(seen.data()["steps"]) == 3
    assert told(seen) == [one["said"] for one in seen.data()["steps"]]
    assert seen[1].said == told(seen)[1] and seen[-1].said == told(seen)[2]
    assert (
        "shares the memory of w" in seen[1].said or "shares w's memory" in seen[1].said
    )
    text = repr(seen)
    assert text == str(seen)
    for at, code in enumerate(("w = leaf(1.0, 2.0)", "z = w.detach()", "z += 1")):
        assert code in text and seen[at].said.rstrip(".") in text
    with pytest.raises(IndexError):
        seen[3]
    data = seen.data()
    assert data["format"] == 2 and data["title"] == "a title"
    json.dumps(data)
    events = [one["event"] for one in data["steps"]]
    assert events == ["appears", "cut", "written"]
    assert all(one["names"] for one in data["steps"])
    assert {"w", "z"} >= set(data["steps"][2]["names"]) >= {"z"}
    assert data["steps"][1]["drawing"] is not None
    assert len(data["drawings"]) == len(data["captions"])
    for drawing in data["drawings"]:
        assert ElementTree.fromstring(drawing).tag == f"{SVG}svg"


def test_each_event() -> None:
    lines = {
        "w = torch.ones(2, requires_grad=True)": "appears",
        "x = torch.ones(2)": "appears",
        "v = x[:1]": "shares",
        "z = w.detach()": "cut",
        "def f(): pass": None,
        "print('p')": None,
        "assert True": None,
        "n = 5": None,
        "y = (w * x).sum()": "appears",
        "y.backward()": "gradient",
        "x += 1": "written",
        "x.requires_grad_()": "changes",
        "w = x * 2": "appears",
        "1 / 0": "raises",
    }
    seen = Steps()
    with pytest.raises(ZeroDivisionError):
        seen.run("\n".join(lines), {"torch": torch})
    steps_of = seen.data()["steps"]
    events = {line: one["event"] for line, one in zip(lines, steps_of, strict=True)}
    assert events == lines
    assert steps_of[-1]["raised"].startswith("ZeroDivisionError")


def test_steps_are_kept_when_the_code_raises() -> None:
    with pytest.raises(RuntimeError), steps() as seen:
        w = torch.ones(2)
        w @ torch.ones(3)
    assert [bool(one.get("raised")) for one in seen.data()["steps"]] == [False, True]
    assert "RuntimeError" in repr(seen)


def test_a_decorator_watches_each_call() -> None:
    @steps
    def plain(x: torch.Tensor) -> torch.Tensor:
        """Say something."""
        y = x * 2
        y += 1
        return y

    @steps("with a title")
    def titled(x: torch.Tensor) -> torch.Tensor:
        y = x[:1]
        return y

    for function in (plain, titled):
        x = torch.ones(2)
        assert torch.equal(function(x), x * 2 + 1 if function is plain else x[:1])
        assert len(function.steps) >= 2 and not function.steps.failed
    assert plain.__name__ == "plain" and plain.__doc__ == "Say something."
    assert any("y now holds [3, 3]" in one for one in told(plain.steps))
    plain(torch.zeros(2))
    assert any("y now holds [1, 1]" in one for one in told(plain.steps))
    assert titled.steps.title == "with a title"
    assert sys.gettrace() is None or "Steps" not in repr(sys.gettrace())


def test_async_with() -> None:
    async def main() -> Steps:
        async with steps("async") as seen:
            a = torch.ones(1)
            await asyncio.sleep(0)
            a += 1
        return seen

    seen = asyncio.run(main())
    assert any("a now holds [2]" in one for one in told(seen))


def test_options_of_steps() -> None:
    source = "\n".join(
        [
            "w = torch.ones(2)",
            "z = torch.ones(2)",
            "for i in range(6):",
            "    w += 1",
            "big = torch.zeros(5000)",
            "big.data[17] = 1",
        ]
    )

    def changed(**options: Any) -> list[set[str]]:
        seen = Steps(**options)
        seen.run(source, {"torch": torch})
        assert not seen.failed, seen.failed
        return [set(one["changed"]) for one in seen.data()["steps"]]

    assert set().union(*changed(names=["w"])) == {"w"}
    assert set().union(*changed(exclude=["w"])) == {"z", "big"}
    assert changed(turns=5).count({"w"}) == 1 + 5 + 1
    assert changed(turns=1).count({"w"}) == 1 + 1 + 1
    assert changed()[-1] == {"big"}
    seen = Steps(read_bytes=0)
    seen.run(source, {"torch": torch})
    last = seen.data()["steps"][-1]
    words = f"{last['said']} {last.get('note', '')}"
    assert last["changed"] == ["big"] or "not read" in words, words

    def inner(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        y += 1
        return y

    def follow(x: torch.Tensor) -> Steps:
        with steps(follow=[inner]) as seen:
            result = inner(x)
        assert result.item() == 3
        return seen

    followed = follow(torch.ones(1))
    assert not followed.failed, followed.failed
    assert any("y now holds [3]" in one for one in told(followed))


def test_saved_steps_need_nothing_else(tmp_path: Path) -> None:
    with steps("a title") as seen:
        w = leaf(1.0)
        v = w.detach()
    del v
    seen.save(tmp_path / "steps.html")
    page = (tmp_path / "steps.html").read_text(encoding="utf-8")
    assert "<title>a title" in page and "w.detach()" in page
    assert not re.search(r"""(src|href)=["']?(https?:|/)""", page)
    assert "<iframe" in seen._repr_html_()


# What shares, where gradients flow, who keeps -----------------------------------------


def test_sharing_says_why() -> None:
    a = torch.arange(6.0)
    b, c = a[4:], a.clone()
    assert tm.sharing(a, b) and not tm.sharing(a, c)
    why = str(tm.sharing(a, b))
    assert re.search(r"\bb is a view of a\b", why), why
    assert "offset 4" in why and "stride (1,)" in why, why
    assert str(tm.sharing(a, c)).startswith("no"), str(tm.sharing(a, c))
    d = torch.from_dlpack(a)
    assert tm.sharing(a, d) and "DLPack" in str(tm.sharing(a, d)), str(tm.sharing(a, d))
    n = a.numpy()
    assert tm.sharing(a, n) and "NumPy" in str(tm.sharing(a, n))
    assert not tm.sharing(a[:2], a[3:]) and "no" in str(tm.sharing(a[:2], a[3:]))
    assert not tm.sharing(a[::2], a[1::2]), "no byte is common"
    assert tm.sharing(a, a) and "same" in str(tm.sharing(a, a))
    assert "no" in str(tm.sharing(a, torch.empty(0)))
    sparse = torch.eye(2).to_sparse()
    assert not tm.sharing(sparse, a) and "known" in str(tm.sharing(sparse, a))


def test_groups_of_names() -> None:
    a = torch.arange(6.0)
    named = {"a": a, "b": a[2:], "c": a.clone(), "n": a.numpy(), "o": np.ones(2)}
    assert tm.groups(**named) == [["a", "b", "n"]]
    assert tm.groups(c=a.clone(), d=a.clone()) == []
    net = torch.nn.Linear(2, 2)
    state = net.state_dict()
    found = tm.groups(net=net, state=state)
    assert sorted(map(sorted, found)) == [
        ["net.bias", "state['bias']"],
        ["net.weight", "state['weight']"],
    ]


def test_flows_to_a_module() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    loss = net[1](net[0](torch.ones(1, 2)).detach()).sum()
    assert tm.flows(loss, net) == {
        "0.weight": False,
        "0.bias": False,
        "1.weight": True,
        "1.bias": True,
    }
    loss.backward()
    truth = {name: one.grad is not None for name, one in net.named_parameters()}
    assert tm.flows(loss, net) == truth
    assert tm.flows(torch.ones(1), net) == dict.fromkeys(truth, False)
    net[1].bias.requires_grad_(False)
    assert not tm.flows(net(torch.ones(1, 2)).sum(), net)["1.bias"]


def test_what_is_saved_for_backward() -> None:
    x, w = torch.ones(100, 50), torch.ones(50, 20, requires_grad=True)
    y = (x @ w).relu().exp()
    found = tm.saved(y)
    data = found.to_dict()
    sizes = [one["bytes"] for one in data["memories"]]
    assert sizes == sorted(sizes, reverse=True) and data["total"] == sum(sizes)
    # mm saves x; relu and exp save their results.
    pointers = {}
    function = y.grad_fn
    waiting = [function]
    while waiting:
        here = waiting.pop()
        waiting += [one for one, _ in here.next_functions if one is not None]
        for name in dir(here):
            kept = getattr(here, name) if name.startswith("_saved_") else None
            if isinstance(kept, torch.Tensor):
                storage = kept.untyped_storage()
                pointers[storage.data_ptr()] = storage.nbytes()
    assert sorted(sizes) == sorted(pointers.values())
    assert "x" in repr(found) and "KiB" in repr(found)


def test_who_holds_a_memory() -> None:
    x = torch.ones(4)
    view, box = x[1:], {"kept": x}
    found = str(tm.holders(x))
    assert "view" in found and "box" in found, found
    w = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    y = (w * w).sum()
    y.backward()
    optimizer.step()
    found = str(tm.holders(w))
    assert re.search(r"optimizer|param_groups", found), found
    del view, box, y


def test_assertions_say_what_shares_what() -> None:
    a, net = torch.ones(3), torch.nn.Linear(2, 1)
    other = copy.deepcopy(net)
    assert_no_sharing(a, a.clone(), net)
    assert_no_sharing(net, other)
    b = a[1:]
    with pytest.raises(AssertionError, match=r"\bb\b.*\ba\b|\ba\b.*\bb\b"):
        assert_no_sharing(a, b)
    other.weight = net.weight
    with pytest.raises(AssertionError, match="weight"):
        assert_no_sharing(net, other)
    loss = net(torch.ones(1, 2)).sum()
    assert_gradient_reaches(loss, net)
    net.bias.requires_grad_(False)
    loss = net(torch.ones(1, 2)).sum()
    with pytest.raises(AssertionError, match="bias"):
        assert_gradient_reaches(loss, net)
    with pytest.raises(AssertionError, match="weight"):
        assert_gradient_reaches(loss.detach(), net)


# Bad input ----------------------------------------------------------------------------

W = torch.ones(2)
# What is called, and the words for what was given and for what is taken.
WRONG: dict[str, tuple[Callable[[], object], str, str]] = {
    "width of a map": (lambda: tensor_map(W, width="wide"), "str", "number"),
    "no width": (lambda: tensor_map(W, width=0), "0", "1"),
    "max_names": (lambda: tensor_map(W, max_names=-1), "-1", "1"),
    "max_nodes": (lambda: tensor_map(W, max_nodes=1.5), "float", "number"),
    "ending of a file": (lambda: tensor_map(W).save("map.gif"), "gif", "svg"),
    "no ending": (lambda: tensor_map(W).save("map"), "map", "html"),
    "title of steps": (lambda: steps(5), "int", "text"),
    "title of Steps": (lambda: Steps(title=["a"]), "list", "text"),
    "names as text": (lambda: steps(names="w"), "'w'", "list"),
    "names of numbers": (lambda: steps(names=[1]), "1", "names"),
    "no turns": (lambda: steps(turns=0), "0", "1"),
    "turns as text": (lambda: steps(turns="all"), "all", "number"),
    "read_bytes": (lambda: steps(read_bytes=-1), "-1", "bytes"),
    "follow": (lambda: steps(follow=[len]), "builtin", "function"),
    "follow no function": (lambda: steps(follow=[5]), "int", "function"),
    "source of a run": (lambda: Steps().run(5, {}), "int", "text|source|str"),
    "namespace of a run": (lambda: Steps().run("a = 1", 5), "int", "dict|namespace"),
    "sharing a number": (lambda: tm.sharing(W, 5), "int", "tensor"),
    "sharing of an empty list": (lambda: tm.sharing(W, []), "list", "tensor"),
    "loss of flows": (lambda: tm.flows(5, W), "int", "tensor"),
    "saved of a number": (lambda: tm.saved(5), "int", "tensor"),
    "holders of a number": (lambda: tm.holders(5), "int", "tensor"),
    "one to compare": (lambda: assert_no_sharing(W), "1", "two"),
    "loss of an assertion": (lambda: assert_gradient_reaches(5, W), "int", "tensor"),
    "nothing reached": (lambda: assert_gradient_reaches(W), "none|0", "tensor"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_told_in_one_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, given, taken = WRONG[name]
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    said = str(caught.value)
    assert re.search(given, said) and re.search(taken, said), said
    assert "\n" not in said and not re.search(r"\. [A-Z]", said), said
    frame = caught.traceback[-1]
    assert SOURCES in Path(frame.path).parents, f"it is raised by {frame.path}"
    assert list(tmp_path.iterdir()) == []


def test_wrong_programs_are_told_as_python_tells_them() -> None:
    with pytest.raises(SyntaxError):
        Steps().run("x = 1 +", {})
    with pytest.raises(ZeroDivisionError):
        Steps().run("1/0", {})


# From a shell -------------------------------------------------------------------------


def test_a_script_from_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, torch\n"
        "w = torch.ones(2)\n"
        "v = w[:1]\n"
        "print(sys.argv[1:], __name__)\n"
        "if __name__ == '__main__':\n"
        "    w += 1\n"
    )
    run = ["-m", "tensor_maps", "script.py", "-o", "steps.html"]
    done = python(*run, "one", "--two", cwd=tmp_path)
    if done.returncode:  # arguments of the script may stand behind --
        done = python(*run, "--", "one", "--two", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-800:]
    assert "['one', '--two'] __main__" in done.stdout
    page = (tmp_path / "steps.html").read_text(encoding="utf-8")
    assert "v = w[:1]" in page and "w += 1" in page


def test_a_script_that_raises_keeps_its_steps(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\nw = torch.ones(2)\nw @ torch.ones(3)\nu = 1\n")
    done = python("-m", "tensor_maps", "script.py", "-o", "out.html", cwd=tmp_path)
    assert done.returncode != 0 and "RuntimeError" in done.stderr
    assert "script.py" in done.stderr and "line 3" in done.stderr
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "RuntimeError" in page


def test_wrong_arguments_from_a_shell(tmp_path: Path) -> None:
    for arguments in (["missing.py", "-o", "x.html"], []):
        done = python("-m", "tensor_maps", *arguments, cwd=tmp_path)
        assert done.returncode != 0 and "Traceback" not in done.stderr, done.stderr
    done = python("-m", "tensor_maps", "missing.py", "-o", "x.html", cwd=tmp_path)
    assert "missing.py" in done.stderr


def test_one_expression_of_the_atlas() -> None:
    done = python("-m", "tensor_maps.atlas", "x.detach()")
    assert done.returncode == 0, done.stderr[-800:]
    found = json.loads(done.stdout)
    assert found["shares_memory"] is True and found["gradient_flows"] is False


# The README ---------------------------------------------------------------------------


def test_the_picture_of_the_readme_is_what_its_code_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Path(tm.__file__).parents[2]
    text = (project / "README.md").read_text(encoding="utf-8")
    first = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "readme.py"  # names are taken from the source
    program.write_text(first)
    runpy.run_path(str(program))
    assert (tmp_path / "map.svg").read_text() == (project / "map.svg").read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)[1:]:
        compile(block, "README.md", "exec")
