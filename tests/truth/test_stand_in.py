"""The stand-in: two devices on a machine that has one, and no claim beyond that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reading import ROOT
from tensor_copies import stand_in
from tensor_copies.stand_in import compiling

# A figure that nobody sees is no fault of a lesson.
STRICT = ["-W", "error", "-W", "ignore:FigureCanvasAgg is non-interactive"]
COMPILER = """#!/bin/sh
for last; do
    [ "$before" = -o ] && out=$last
    before=$last
done
printf begun > "$out"
sleep 0.3
printf whole > "$out"
"""


def python(
    variables: dict[str, str], *arguments: str, input: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a Python of its own: what it loads must not be there for other tests."""
    return subprocess.run(
        [sys.executable, *STRICT, *arguments],
        env=variables, input=input, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


RULES = {
    "the rules of placement": """
x = torch.ones(3, device=d, requires_grad=True)
assert str(x.device) == 'standin:0' and not x.is_cuda and x.is_standin
assert x.to(d) is x and x.to('standin:0') is x and x.standin() is x
host = x.cpu()
assert host is not x and host.device.type == 'cpu' and not host.is_leaf
(host * 2).sum().backward()
assert x.grad.device == x.device and x.grad.tolist() == [2, 2, 2]
y = x.detach()
y[0] = 7
assert x[0].item() == 7 and x._version == 1 and host[0].item() == 1
assert y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
assert x.view(3, 1).T.shape == (1, 3) and y[1:].storage_offset() == 1
assert torch.accelerator.current_accelerator().type == d
assert torch.ones(2, dtype=torch.complex64, device=d).mul(1j).conj().cpu()[0] == -1j
""",
    "two devices do not mix": """
def refused(call):
    try:
        call()
    except (TypeError, RuntimeError) as error:
        return f'{type(error).__name__}: {error}'
x, c = torch.ones(2, 2, device=d), torch.ones(2, 2)
net = torch.nn.Linear(2, 2)
for call in (
    lambda: x + c, lambda: c.add_(x), lambda: x @ c, lambda: torch.cat([x, c]),
    lambda: torch.where(c > 0, x, x), lambda: net(x), lambda: c + x[0, 0],
):
    said = refused(call)
    assert 'all tensors to be on the same device' in said and 'standin:0' in said
assert (x + c[0, 0]).device == x.device  # without dimensions
assert x[torch.tensor([1])].device == x[c > 0].device == x.device  # indices
assert x.clone().copy_(c).device == x.device and c.copy_(x).device.type == 'cpu'
assert refused(x.numpy).startswith("TypeError: can't convert standin:0 device type")
assert 'cannot pin' in refused(x.pin_memory)
assert 'only dense CPU' in refused(x.pin_memory).replace('Only', 'only')
assert 'Cannot copy out of meta' in refused(lambda: c.to('meta').to(d))
assert 'not standin:1' in refused(lambda: torch.ones(1, device='standin:1'))
""",
    "memory is counted in blocks": """
m = torch.standin
start = m.memory_allocated()
a = torch.empty(1, device=d)
assert m.memory_allocated() - start == 512
b = torch.empty(129, device=d)
assert m.memory_allocated() - start == 512 + 1024
alias = b.detach()[1:]
del b
assert m.memory_allocated() - start == 512 + 1024
del alias
assert m.memory_allocated() - start == 512
assert m.max_memory_allocated() - start >= 512 + 1024
m.reset_peak_memory_stats()
assert m.max_memory_allocated() - start == 512 == m.memory_reserved() - start
host = torch.empty(2**20).pin_memory()
assert m.memory_allocated() - start == 512
asked = m.memory_stats()['requested_bytes.all.allocated']
a.clone()
assert m.memory_stats()['requested_bytes.all.allocated'] - asked == 4
a.resize_(1000)
assert m.memory_allocated() - start == 4096
""",
    "pinned host memory": """
c = torch.ones(4)
p = c.pin_memory()
assert p.is_pinned() and p[2:].is_pinned() and not c.is_pinned()
assert p.data_ptr() != c.data_ptr() and p.pin_memory() is p
x = p.to(d, non_blocking=True)
assert x.to('cpu', non_blocking=True).is_pinned() and not x.cpu().is_pinned()
assert not x.is_pinned()
""",
    "random numbers": """
def draw(**more):
    return torch.randn(3, device=d, **more).tolist()
torch.manual_seed(1)
first, second = draw(), draw()
torch.manual_seed(1)
torch.randn(3)  # the CPU's numbers are not the device's
assert draw() == first != second
own = torch.Generator(device=d).manual_seed(1)
assert own.device.type == d and draw(generator=own) == first
state = torch.standin.get_rng_state()
after = draw()
torch.standin.set_rng_state(state)
assert draw() == after
with torch.random.fork_rng(device_type=d):
    draw()
""",
    "modules, copies and files": """
import copy, io
net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 2), torch.nn.Flatten(),
                          torch.nn.Linear(8, 1))
kept = net[0].weight
assert net.to(d) is net and net[0].weight is kept and kept.device.type == d
net(torch.ones(1, 1, 3, 3, device=d)).sum().backward()
halves = net[2].weight.detach().reshape(2, 4).sum(1)
assert torch.allclose(net[0].bias.grad, halves)
norm = torch.nn.BatchNorm1d(1, momentum=0.5).to(d)
norm(torch.tensor([[1.0], [3.0]], device=d)).sum().backward()
averages = norm.running_mean, norm.running_var, norm.num_batches_tracked
assert [one.item() for one in averages] == [1, 1.5, 1]
assert averages[0].device.type == d and averages[0]._version == 0
assert norm.eval()(torch.ones(1, 1, device=d)).item() == 0 == norm.bias.item()
assert averages[0].item() == 1 and norm.weight.grad.item() == 0
other = copy.deepcopy(net)
assert other[0].weight.device.type == d
assert other[0].weight.data_ptr() != kept.data_ptr()
other.load_state_dict(net.cpu().state_dict())
file = io.BytesIO()
torch.save(other.state_dict(), file)
file.seek(0)
assert torch.load(file)['0.weight'].device.type == d
file.seek(0)
assert torch.load(file, map_location='cpu')['0.weight'].device.type == 'cpu'
x = torch.ones(2, device=d)
assert torch.from_dlpack(x).data_ptr() == x.data_ptr()
""",
    "optimizers": """
def steps(**how):
    x = torch.ones(2, device=d, requires_grad=True)
    x.grad = torch.ones_like(x)
    torch.optim.SGD([x], lr=0.5, **how).step()
    assert x.tolist() == [0.5, 0.5]
    return x._version
assert steps(foreach=True) == steps(foreach=False) == 1
assert steps(fused=True) == 0
""",
    "what it cannot answer": """
m = torch.standin
m.untrue(), m.reset_peak_memory_stats()
x = torch.ones(8, device=d)
x[2:6].cpu(), x.t().cpu(), m.synchronize(), m.current_stream(), m.memory_allocated()
assert not m.max_memory_allocated() < 32 and m.untrue() == ''
x[::2].cpu()
assert m.untrue() == '' and m.max_memory_allocated() and 'packs' in m.untrue()
m.reset_peak_memory_stats()
assert m.max_memory_allocated() and m.untrue() == ''
wait = m._sleep
wait(1)
assert 'busy' in m.untrue() and m.untrue() == ''
assert m.memory_reserved() + m.max_memory_reserved() and 'freed' in m.untrue()
""",
    "clocks": """
from torch.utils.benchmark import Timer
a, b = (torch.standin.Event(enable_timing=True) for _ in range(2))
a.record()
torch.standin._sleep(20_000_000)
b.record()
torch.standin.synchronize()
assert b.query() and a.elapsed_time(b) >= 20
x = torch.ones(2, device=d)
assert Timer('x + 1', globals={'x': x}).timeit(3).mean > 0
with torch.profiler.profile() as seen:
    x.clone()
names = [event.key for event in seen.key_averages()]
assert sorted(names) == ['aten::clone', 'aten::copy_', 'aten::empty_strided']
""",
}


# One Python tries them all, each as a newly made namespace sees torch.
TRY = """
import json, sys, traceback, torch
broken = {}
for rule, code in json.load(sys.stdin).items():
    try:
        exec(compile(code, rule, 'exec'), {'torch': torch, 'd': 'standin'})
    except Exception:
        where = traceback.extract_tb(sys.exc_info()[1].__traceback__)[-1].lineno
        broken[rule] = [code.splitlines()[where - 1], traceback.format_exc()]
print(json.dumps(broken))
"""


@pytest.fixture(scope="session")
def broken(stand_in_variables: dict[str, str]) -> dict[str, list[str]]:
    """Return the rules that do not hold: the line, and what it raised."""
    done = python(stand_in_variables, "-c", TRY, input=json.dumps(RULES))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("rule", RULES)
def test_is_a_second_device(broken: dict[str, list[str]], rule: str) -> None:
    assert broken.get(rule) is None


def test_ends_without_a_word(stand_in_variables: dict[str, str]) -> None:
    """After a backward pass at the very end, also in children of both kinds."""
    backward = (
        "import torch\nx = torch.ones(1, device='standin', requires_grad=True)\n"
        "(x * 2).backward()\n"
    )
    forked = (
        "import os, torch\nx = torch.ones(1, device='standin')\n"
        "child = os.fork()\nassert (x + 1).item() == 2\n"
        "if child:\n    raise SystemExit(os.waitpid(child, 0)[1])\n"
    )
    for _ in range(3):
        done = python(stand_in_variables, "-c", backward)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = python(stand_in_variables, "-c", forked)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture(scope="module")
def compared(stand_in_variables: dict[str, str]) -> list[list[list]]:
    """Return what witnesses say of all cells, and of those of a call with a fault."""
    script = str(ROOT / "tests" / "truth" / "witnesses.py")
    done = python(stand_in_variables, "-W", "ignore", script, "cpu")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_agrees_with_other_accounts_of_a_second_device(compared: list) -> None:
    cells, _ = compared
    assert [denied for _, _, denied in cells if denied] == []
    # Arrays, numbers, masks, DLPack and shared memory need data: no witness has any.
    unseen = {operation for operation, _, _ in cells}
    unseen -= {operation for operation, confirmed, _ in cells if confirmed}
    assert unseen <= {
        "numpy-force", "detach-cpu-numpy", "independent-array", "np-from-dlpack",
        "from-dlpack", "tolist", "item", "numpy-copy", "mask", "share-memory",
        "masked-select", "fused-step",
    }  # fmt: skip
    assert sum(confirmed for _, confirmed, _ in cells) > 4 * len(cells)


def test_a_disagreement_names_the_cell(compared: list) -> None:
    said = [line for _, _, denied in compared[1] for line in denied]
    says = "the stand-in says True, FakeTensorMode says False"
    assert f"cpu, leaf: same object: {says}" in said


def test_gives_the_other_name() -> None:
    written = """
cuda = torch.cuda.is_available()
device = "cuda:0" if cuda else "cpu"  # CUDA
def on_cuda(): return x.cuda(), x.is_cuda, cudaMalloc
"""
    assert (
        stand_in.for_stand_in(written)
        == """
standin = torch.standin.is_available()
device = "standin:0" if standin else "cpu"  # CUDA
def on_standin(): return x.standin(), x.is_standin, cudaMalloc
"""
    )


def test_a_new_python_has_the_device_and_no_options_of_ours(
    monkeypatch: pytest.MonkeyPatch, stand_in_variables: dict[str, str]
) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    code = (
        "import os, sys, torch; print(sys.stdin.read(), "
        "hasattr(torch, 'standin'), 'PYTHONWARNINGS' in os.environ)"
    )
    for with_device in (True, False):
        done = stand_in.new_python("-c", code, with_device=with_device, text="read")
        assert done.stdout == f"read {with_device} False\n", done.stderr


def test_without_a_compiler_no_new_python_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    started = tmp_path / "started"
    code = f"open({str(started)!r}, 'w')"
    with pytest.raises(stand_in.NoCompiler):
        stand_in.new_python("-c", code, cache=tmp_path / "cache")
    assert not started.exists()
    done = stand_in.new_python("-c", code, with_device=False)
    assert started.exists(), done.stderr


@pytest.mark.slow
def test_what_cannot_be_compiled_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", shutil.which("false"))
    with pytest.raises(stand_in.NoStandIn, match="The stand-in device is left out: "):
        stand_in.environment(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.slow
def test_any_number_may_compile_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, cache = tmp_path / "compiler", tmp_path / "cache"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    code = (
        "import sys; from pathlib import Path\n"
        "from tensor_copies.stand_in.compiling import compiled\n"
        "print(compiled(Path(sys.argv[1])).read_text())"
    )
    start = {**os.environ, "PYTHONPATH": str(ROOT / "conf"), "CXX": str(compiler)}
    command = [sys.executable, "-c", code, str(cache)]
    running = [
        subprocess.Popen(command, env=start, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [child.communicate()[0] for child in running] == ["whole\n"] * 2
    (kept,) = cache.iterdir()
    # What is there is used, and another source makes another one.
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    assert compiling.compiled(cache) == kept
    changed = tmp_path / "device.cpp"
    changed.write_text(compiling.SOURCE.read_text() + "// changed\n")
    monkeypatch.setattr(compiling, "SOURCE", changed)
    with pytest.raises(stand_in.NoCompiler):
        compiling.compiled(cache)
