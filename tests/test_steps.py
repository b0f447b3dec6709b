"""Steps: they tell what the tensors say themselves, and watching is not felt."""

from __future__ import annotations

import ast
import gc
import gzip
import io
import json
import os
import subprocess
import sys
import warnings
import weakref
from contextlib import redirect_stdout
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
import watching
from bs4 import BeautifulSoup
from conftest import PATIENCE, ROOT, TinySite, lesson
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_copies.errors import watched_cells
from tensor_copies.figures import steps as kept_steps
from tensor_copies.machine import kernels
from tensor_copies.recordings.cells import cells
from tensor_copies.recordings.format import keys
from tensor_maps import Steps, steps
from watching import run_steps

LESSONS = sorted((ROOT / "examples").glob("*/*.py"))
WATCHED = [script for script in LESSONS if not kept_steps.not_watched(script)]


def told(seen: Steps) -> list[tuple[int, list, str]]:
    """Return line, turns and sentence of each step."""
    return [(s["first"], s["turn"], s["said"]) for s in seen.data()["steps"]]


def ran(program: str, **names: Any) -> Steps:
    seen = run_steps(dedent(program), {"torch": torch, **names})
    assert not seen.failed
    return seen


# The truth, told by the tensors ------------------------------------------------------


@pytest.mark.slow
def test_lessons_are_what_an_independent_trace_finds(record_property: Any) -> None:
    """All in one process of their own: alone, watched, and statement by statement."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "watching.py", *map(str, WATCHED)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "conf")},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["lesson"] for one in found] == [script.stem for script in WATCHED]
    record_property("seconds", {one.pop("lesson"): one for one in list(found)})
    assert not any(one["wrong"] for one in found), [o["wrong"] for o in found]


# Statements on a, b and c, which exist from the start, and on what they add.
NAMES = ("a", "b", "c", "d")
STATEMENTS = (
    "{0} = {1} * 2",
    "{0} = {1} + {2}",
    "{0} = {1}.detach()",
    "{0} = {1}.clone()",
    "{0} = {1}",
    "{0} = {1}[1:]",
    "{0} = {1}.view(-1)",
    "{0} = {1}.detach().numpy()",
    "{0} = torch.tensor([1.0, 2.0], requires_grad=True)",
    "{0} = [{1}, {2}.detach()]",
    "{0}.detach()[0] = 7.0",
    "{0}.data.mul_(3)",
    "{0}.mul_(2)",
    "{0}.sum().backward()",
    "{0}.retain_grad()",
    "{0}.requires_grad_()",
    "{0}.grad = None",
    "del {0}",
    "with torch.no_grad():\n    {0} = {1} * 3\n    {2}.add_(1)",
    "for turn in range(5):\n    {0} = {1} + turn\n    {1} = {0}.detach()",
    "torch.optim.SGD([{0}], lr=0.5).step()",
)
SURE = "try:\n{}\nexcept Exception as wrong:\n    print(type(wrong).__name__)"
BEGIN = (
    "import torch\n"
    "a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n"
    "b = torch.tensor([4.0, 5.0, 6.0])\n"
    "c = a * b\n"
)


@st.composite
def random_programs(draw: Any) -> str:
    """Make a program of a few statements, each of which may raise."""
    name = st.sampled_from(NAMES)
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        statement = draw(st.sampled_from(STATEMENTS))
        text = statement.format(draw(name), draw(name), draw(name))
        indented = "\n".join(f"    {line}" for line in text.split("\n"))
        lines.append(SURE.format(indented))
    return BEGIN + "\n".join(lines) + "\n"


@settings(deadline=None, max_examples=40)
@given(program=random_programs())
def test_random_programs_are_what_an_independent_trace_finds(program: str) -> None:
    with redirect_stdout(io.StringIO()):
        seen, truths = watching.watched(program, "random program", {})
        assert watching.problems(seen, truths) == []


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(program=random_programs())
def test_steps_of_random_programs_are_drawn(program: str) -> None:
    with redirect_stdout(io.StringIO()):
        check_data(run_steps(program, {}).data())


@settings(deadline=None, max_examples=30)
@given(program=random_programs())
def test_random_programs_do_the_same_when_watched(program: str) -> None:
    outcomes = []
    for watch in (False, True):
        namespace: dict[str, Any] = {}
        with redirect_stdout(io.StringIO()) as heard:
            if watch:
                run_steps(program, namespace)
            else:
                exec(program, namespace)
        truth = watching.truth_of(namespace)
        for seen in truth.values():
            del seen["object"], seen["address"]
        outcomes.append((heard.getvalue(), truth))
    assert outcomes[0] == outcomes[1]


# Sentences ---------------------------------------------------------------------------


def test_a_sentence_says_what_became_of_memory_and_gradient() -> None:
    seen = ran("""
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        z = w.detach()
        z[0] = 5.0
        v = w.clone()
        loss = (w * w).sum()
        loss.backward()
        same = z
        b = torch.ones(2)
        b.requires_grad_()
        z = z.clone()
        del v
        print("done")
        k = 1
    """)
    assert [said for _, _, said in told(seen)] == [
        "w is new, with its own memory.",
        "z shares w's memory. No gradient flows back through z.",
        "w and z now hold [5, 2]: they share memory.",
        "v is a copy of w, with its own memory; a gradient flows back to w.",
        "loss comes from w: a gradient flows back to w.",
        "w.grad is now [10, 4].",
        "same is the same tensor as z.",
        "b is new, with its own memory.",
        "b now requires grad.",
        "z is now a different tensor, with its own memory.",
        "v no longer exists.",
        "It prints 1 line. Nothing that has a name here changes.",
        "Nothing that has a name here changes.",
    ]


def test_modules_lists_and_optimizers_are_seen_by_name() -> None:
    seen = ran("""
        net = torch.nn.Linear(2, 1)
        x = torch.ones(1, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
        heard = []
        hook = net.register_forward_hook(lambda m, i, o: heard.append(o))
        net(x).sum().backward()
        optimizer.step()
        table = {"out": heard[0].detach()}
    """)
    changed = {step["first"]: set(step["changed"]) for step in seen.data()["steps"]}
    both = {"net.weight", "net.bias"}
    assert changed[2] == both and changed[8] == both
    assert changed[7] == both | {"heard[0]"}
    assert changed[9] == {"table['out']"}


def test_what_is_raised_is_told_and_passes() -> None:
    seen = Steps("raises")
    program = "x = torch.ones(2)\nx.numpy(1, 2, 3)\ny = 1\n"
    with pytest.raises(TypeError):
        seen.run(program, {"torch": torch})
    last = seen.data()["steps"][-1]
    assert last["first"] == 2 and last["raised"].startswith("TypeError: ")
    assert last["said"] == "It raises TypeError."


# Turns -------------------------------------------------------------------------------


def test_of_a_loop_the_first_turns_are_steps_and_the_others_one() -> None:
    seen = ran("""
        x = torch.zeros(1)
        for k in range(6):
            x += 1
            print(k)
        y = x
    """)
    steps_in = [(s["first"], s["last"], s["turn"]) for s in seen.data()["steps"]]
    turns = [(4, 4, [[n, 6]]) for n in (1, 2, 3)], [(5, 5, [[n, 6]]) for n in (1, 2, 3)]
    both = [step for pair in zip(*turns, strict=True) for step in pair]
    assert steps_in == [(2, 2, []), *both, (3, 5, [[6, 6]]), (6, 6, [])]
    last = seen.data()["steps"][-2]
    assert last["said"] == "Iterations 4–6: x now holds [6]."
    assert last["note"].startswith("iterations 4–6 in one step")
    assert last["printed"] == "3\n4\n5\n"


@pytest.mark.parametrize(
    ("loop", "turns"),
    [
        ("while True:\n    x += 1\n    if x > 1:\n        break", [[1, 2], [2, 2]]),
        ("while x < 2:\n    x += 1", [[1, 2], [2, 2]]),
        ("for _ in [1, 2]:\n    x.add_(\n        1,\n    )", [[1, 2], [2, 2]]),
        ("for _ in [1, 2]:\n    with N():\n        x += 1", [[1, 2], [2, 2]]),
        ("for _ in [1, 2]:\n    if x > 5:\n        x\n    x += 1", [[1, 2], [2, 2]]),
        ("for _ in [1]:\n    x += 1\nelse:\n    x += 1", [[1, 1], None]),
        ("for _ in [1, 2]: x += 1", [None]),
        ("x += 1; x += 1", [None]),
    ],
)  # fmt: skip
def test_turns_are_counted(loop: str, turns: list) -> None:
    names = {"torch": torch, "N": torch.no_grad}
    seen = run_steps(f"x = torch.zeros(1)\n{loop}\n", names)
    writes = [s["turn"] for s in seen.data()["steps"][1:] if s["changed"]]
    assert writes == [[] if turn is None else [turn] for turn in turns]


def test_a_loop_within_a_loop_has_both_turns() -> None:
    seen = ran("""
        x = torch.zeros(1)
        for i in range(2):
            for j in range(3):
                x += 1
    """)
    found = [s["turn"] for s in seen.data()["steps"][1:]]
    one = [[[k, 2], [1, 3]] for k in (1, 2)], [[[k, 2], [2, 3]] for k in (1, 2)]
    rest = [[[k, 2], [3, 3]] for k in (1, 2)]
    assert found == [turn for three in zip(*one, rest, strict=True) for turn in three]


# Watching is not felt ----------------------------------------------------------------


def test_no_tensor_is_kept_alive_at_module_level() -> None:
    seen = ran(
        """
        x = torch.ones(3)
        net = torch.nn.Linear(2, 2)
        kept = [weakref.ref(x), weakref.ref(net.weight)]
        many = [x * 2]
        kept.append(weakref.ref(many[0]))
        y = x.detach().requires_grad_()
        loss = (y * y).sum()
        kept += [weakref.ref(y), weakref.ref(loss)]
        del x, many, net, loss, y
        alive = [one() is not None for one in kept]
        print(alive)
        """,
        weakref=weakref,
    )
    assert seen.data()["steps"][-1]["printed"] == f"{[False] * 5}\n"


def test_no_tensor_is_kept_alive_in_a_function() -> None:
    def inside() -> tuple[Steps, Any, Any]:
        with steps() as seen:
            x = torch.ones(3)
            gone = weakref.ref(x)
            del x
            there = gone()
            last = torch.ones(2)
        reference = weakref.ref(last)
        del last
        return seen, there, reference()

    seen, there, last = inside()
    assert there is None and last is None
    assert len(seen.data()["steps"]) == 5


def test_no_tensor_is_kept_alive_by_what_was_raised() -> None:
    def fails() -> None:
        big = torch.ones(5)
        references.append(weakref.ref(big))
        raise ValueError("no")

    references: list[Any] = []
    seen = Steps()
    collects = gc.isenabled()
    gc.disable()
    try:
        seen.run("try:\n    fails()\nexcept ValueError:\n    pass\n", {"fails": fails})
        assert references[0]() is None
    finally:
        if collects:
            gc.enable()
    assert [step["raised"] for step in seen.data()["steps"] if "raised" in step]


def test_watching_changes_nothing() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = w * 2
    before = watching.truth_of({"w": w, "y": y})
    state = torch.get_rng_state()
    write = sys.stdout.write
    with torch.no_grad(), steps() as seen:
        k = 1
        grad_mode = torch.is_grad_enabled()
    assert k and not grad_mode and torch.is_grad_enabled()
    assert watching.truth_of({"w": w, "y": y}) == before
    assert torch.equal(torch.get_rng_state(), state)
    assert sys.gettrace() is None or sys.gettrace() != seen._call
    assert sys.stdout.write == write


def test_a_mode_of_the_program_sees_its_own_calls_only() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
            Counting.calls += 1
            return function(*args, **(kwargs or {}))

    seen = ran(
        """
        x = torch.ones(2)
        with Counting():
            y = x + 1
            z = y + 1
        """,
        Counting=Counting,
    )
    assert Counting.calls == 2
    assert [step["changed"] for step in seen.data()["steps"]] == [["x"], ["y"], ["z"]]


def test_a_warning_is_shown_as_often_as_without() -> None:
    program = dedent("""
        def old():
            warnings.warn("old", UserWarning, stacklevel=1)
        for _ in range(3):
            old()
            x = torch.ones(1)
    """)
    counts = []
    for watch in (False, True):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("default")
            namespace = {"torch": torch, "warnings": warnings, "__name__": str(watch)}
            (run_steps if watch else exec)(program, namespace)
            counts.append(len(shown))
    assert counts == [1, 1]


def test_an_earlier_trace_function_is_put_back() -> None:
    def earlier(frame: Any, event: str, arg: object) -> Any:
        return earlier

    mine = sys.gettrace()
    try:
        sys.settrace(earlier)
        sys._getframe().f_trace = earlier
        with steps() as seen:
            x = torch.ones(1)
        assert sys.gettrace() is earlier
        assert sys._getframe().f_trace is earlier
        run_steps("y = 1\n", {})
        assert sys.gettrace() is earlier
    finally:
        sys.settrace(mine)
        sys._getframe().f_trace = None
    assert x.item() == 1 and len(seen.data()["steps"]) == 1


def test_where_no_with_stands_it_says_so() -> None:
    with pytest.raises(RuntimeError, match="write `with steps"):
        steps().__enter__()
    assert sys.gettrace() is None or "Steps" not in repr(sys.gettrace())


# The data ----------------------------------------------------------------------------


def check_data(data: dict[str, Any]) -> None:
    """Check what the viewer relies on."""
    assert data["format"] == 2 and data["steps"]
    assert len(data["drawings"]) == len(data["captions"])
    used = {step["drawing"] for step in data["steps"]}
    for ask in data.get("asks", ()):
        assert 0 <= ask["step"] < len(data["steps"]) and ask["question"]
        assert len(ask["pictures"]) == 2 and ask["pictures"][0] != ask["pictures"][1]
        step = data["steps"][ask["step"]]
        right = ask["pictures"][ask["right"]]
        assert right == step["drawing"]
        used |= set(ask["pictures"])
    assert used - {None} == set(range(len(data["drawings"])))
    for drawing in data["drawings"]:
        svg = ElementTree.fromstring(drawing)
        assert svg.get("role") == "img" and svg.get("aria-label")
        assert svg.get("id") is None
    for step in data["steps"]:
        assert 1 <= step["first"] <= step["last"] <= len(data["code"])
        assert data["code"][step["first"] - 1].strip()
        assert step["said"].endswith(".") and "\n" not in step["said"]
        assert all(1 <= turn <= turns for turn, turns in step["turn"])


def test_code_of_a_block_is_shown_as_it_stands() -> None:
    with steps("mine") as seen:
        x = torch.ones(2)

        y = x[
            :1
        ]  # fmt: skip
    data = seen.data()
    check_data(data)
    assert data["title"] == "mine"
    assert data["code"][:2] == ["x = torch.ones(2)", ""]
    assert [(s["first"], s["last"]) for s in data["steps"]] == [(1, 1), (3, 5)]
    assert y.item() == 1


def test_same_program_same_data() -> None:
    program = BEGIN + "d = c.detach()\nd[0] = 2\nc.sum().backward()\n"
    one, other = (run_steps(program, {}).data() for _ in range(2))
    assert json.dumps(one) == json.dumps(other)


def test_what_is_too_long_is_cut_and_says_so() -> None:
    program = "\n".join(f"a{n} = {n}" for n in range(400))
    data = run_steps(program, {}).data()
    assert len(data["steps"]) == 300
    assert "100 more steps are not shown" in data["steps"][-1]["note"]


# Lessons -----------------------------------------------------------------------------


def test_what_is_timed_is_not_watched() -> None:
    out = {script.stem for script in LESSONS} - {script.stem for script in WATCHED}
    for script in LESSONS:
        text = script.read_text()
        timed = ("BENCHMARK_QUALITY", "perf_counter", "timeit", "perfplot")
        assert (script.stem in out) == any(word in text for word in timed), script.stem
    for name in ("detach", "what_stays_alive", "logging_without_leaking"):
        assert name not in out


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("x = 1", ""),
        ("import time\nt = time.perf_counter()", kept_steps.TIMES),
        ("from timeit import repeat", kept_steps.TIMES),
        ("def f():\n    with profile() as p:\n        g()", ""),
        ("with profile() as p:\n    g()", kept_steps.COUNTS),
        ("from torch.profiler import profile", ""),
        ("no python", "It is no Python."),
    ],
)
def test_why_a_lesson_is_not_watched(code: str, why: str, tmp_path: Path) -> None:
    script = tmp_path / "lesson.py"
    script.write_text(code)
    assert kept_steps.not_watched(script) == why


def test_asks_stand_above_their_statement(tmp_path: Path) -> None:
    script = tmp_path / "lesson.py"
    marker = '# sphinx_gallery_step_ask = "{}"\n'
    script.write_text(
        "w = 1\n" + marker.format("w + 1 -> w - 1") + "z = (\n w + 1\n)\n"
    )
    (ask,) = kept_steps.asks_of(script)
    assert (ask.line, ask.end, ask.instead) == (3, 5, "z = (\n w - 1\n)")
    for wrong in ("w + 1", "v -> w", "-> w", "w ->"):
        script.write_text(marker.format(wrong) + "z = w + 1\n")
        with pytest.raises(kept_steps.ExtensionError, match="line 1"):
            kept_steps.asks_of(script)


def test_an_ask_leaves_recordings_valid(tmp_path: Path) -> None:
    script = ROOT / "examples" / "1_basics" / "detach.py"
    text = script.read_text()
    plain = tmp_path / "detach.py"
    plain.write_text(kept_steps.ASK.sub("", text).replace("\n\nz = ", "\nz = ", 1))
    assert list(keys(plain).values()) == list(keys(script).values())


def test_lessons_that_ask() -> None:
    asking = {script.stem for script in LESSONS if kept_steps.asks_of(script)}
    assert asking >= {
        *("detach", "clone", "detach_clone", "numpy_bridge", "frozen_network")
    }


def test_the_steps_of_each_lesson_are_kept_and_light(site: Path) -> None:
    docs = ROOT / "docs"
    for script in LESSONS:
        page = f"auto_examples/{script.parent.name}/{script.stem}"
        path = kept_steps.steps_file(docs, page)
        assert (path is not None) == (script in WATCHED), script.stem
        if path is None:
            continue
        data = json.loads(path.read_text(encoding="utf-8"))
        text = json.dumps(data, ensure_ascii=False)
        assert len(gzip.compress(text.encode(), 9)) <= 12_000
        check_data(data)
        assert data["title"] == script.stem
        assert "sphinx_gallery_" not in "\n".join(data["code"])
        assert ("asks" in data) == bool(kept_steps.asks_of(script))
        statements = ast.parse("\n".join(data["code"])).body
        first = {step["first"] for step in data["steps"]}
        simple = {node.lineno for node in statements if not hasattr(node, "body")}
        assert simple <= first, script.stem


def test_steps_are_kept_and_made_again_with_the_lesson(tiny_site: TinySite) -> None:
    first = "import torch\nx = torch.ones(2)\ny = x[:1]"
    timed = "import time\nbegan = time.perf_counter()"
    lessons = {"good.py": lesson("Good", first), "timed.py": lesson("Timed", timed)}
    tiny_site.write_lessons(lessons)
    assert tiny_site.build().status == 0
    (path,) = tiny_site.folder.rglob("docs/**/*_steps.json")
    assert path.name == "sphx_glr_good_steps.json"
    kept = path.read_bytes()
    data = json.loads(kept)
    check_data(data)
    assert data["code"] == [*first.split("\n"), "", "print('end')"]
    assert [step["changed"] for step in data["steps"]] == [[], ["x"], ["y"], []]
    assert data["steps"][-1]["printed"] == "end\n"
    lessons["timed.py"] = lesson("Timed", f"{timed}\nx = 1")
    tiny_site.write_lessons(lessons)
    again = tiny_site.build()
    assert again.status == 0 and "1 of 2 ran" in again.lessons
    assert path.read_bytes() == kept
    lessons["good.py"] = lesson("Good", first.replace("y = ", "z = "))
    tiny_site.write_lessons(lessons)
    assert tiny_site.build().status == 0
    assert json.loads(path.read_bytes())["steps"][2]["changed"] == ["z"]


def test_an_ask_without_a_difference_fails_with_one_line(tiny_site: TinySite) -> None:
    marker = '# sphinx_gallery_step_ask = "x.view(2) -> x.view(-1)"'
    first = f"import torch\nx = torch.ones(2)\n{marker}\ny = x.view(2)"
    tiny_site.write_lessons({"good.py": lesson("Good", first)})
    built = tiny_site.build()
    assert built.status != 0 and "there is nothing to ask" in built.output


# Pairs of mistakes -------------------------------------------------------------------


def test_pairs_are_watched_in_the_run_that_is_shown(site: Path) -> None:
    page = ROOT / "docs" / "silent_mistakes.md"
    sources = [cell.code for cell in cells(page)]
    pairing = [cell for cell in cells(page) if {"wrong", "right"} & set(cell.tags)]
    name = kernels.kept_of(Path(), sources).name
    # What was built with another quality, or before, may be kept beside it.
    found = (ROOT / "build" / "pages").glob(f"*/watched/{name}")
    path = max(found, key=lambda one: one.stat().st_mtime)
    seen = json.loads(path.read_text())
    assert len(seen) == len(pairing)
    shown = (site / "silent_mistakes.html").read_text()
    text = BeautifulSoup(shown, "html.parser").get_text()
    for cell, data in zip(pairing, seen, strict=True):
        check_data(data)
        assert "\n".join(data["code"]).rstrip() == cell.code.rstrip()
        for step in data["steps"]:
            for line in step["printed"].splitlines():
                assert line.rstrip() in text, (cell.line, line)


def test_a_pair_is_one_program_below_the_other() -> None:
    app = SimpleNamespace(
        env=SimpleNamespace(doc2path=lambda page: str(ROOT / "docs" / f"{page}.md")),
        config=SimpleNamespace(nb_execution_cache_path="nowhere"),
    )
    assert watched_cells.watched_pairs(app, "silent_mistakes") == {}
    wrong = run_steps("import torch\nx = torch.ones(2)\ny = x\n", {}).data()
    right = run_steps("import torch\nx = torch.ones(2)\ny = x.clone()\n", {}).data()
    both = watched_cells.one_below_the_other("mine", wrong, right)
    check_data(both)
    assert both["code"][0] == "# Wrong" and both["code"][5] == "# Right"
    assert [step["first"] for step in both["steps"]] == [2, 3, 4, 7, 8, 9]
    assert both["steps"][1]["drawing"] == both["steps"][4]["drawing"]


def test_what_was_there_before_a_cell_is_left_out() -> None:
    namespace = {"torch": torch, "old": torch.ones(2), "kept": torch.ones(2)}
    source = "new = torch.zeros(2)\nkept = torch.zeros(2)\n"
    seen = Steps()
    seen.follow(source, namespace=namespace)
    exec(compile(source, "any name", "exec"), namespace)
    seen.stop()
    assert [said for _, _, said in told(seen)] == [
        "new is new, with its own memory.",
        "kept is now a different tensor, with its own memory.",
    ]
