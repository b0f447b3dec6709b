"""The simulated device: a second device in CPU memory, and no claim beyond that."""

import re
from pathlib import Path

import pytest
import torch
import two_devices
from pytest_regressions.file_regression import FileRegressionFixture
from reading import EVERYTHING, LESSONS, PAGES
from recorded import check
from tensor_copies import simulated
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.gallery.lessons import takes_times
from tensor_copies.gallery.pages import cells

ASKING = [page for page in sorted(PAGES) if any(
    re.search("cuda|accelerator", cell.code) for cell in cells(page))]  # fmt: skip

RULES = {
    "the rules of placement": """
x = torch.ones(3, device=d, requires_grad=True)
assert str(x.device) == 'standin:0' and not x.is_cuda and x.is_standin
assert x.to('standin:0') is x and x.standin() is x
(x.cpu() * 2).sum().backward()
assert x.grad.device == x.device and x.grad.tolist() == [2, 2, 2]
assert x.view(3, 1).T.shape == (1, 3) and x[1:].storage_offset() == 1
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
a, b = torch.empty(1, device=d), torch.empty(129, device=d)
alias = b.detach()[1:]
del b
assert m.memory_allocated() - start == 512 + 1024
del alias
host = torch.empty(2**20).pin_memory()
assert m.memory_allocated() - start == 512 < m.max_memory_allocated() - start
a.resize_(1000)
assert m.memory_allocated() - start == 4096
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
with torch.random.fork_rng(device_type=d):  # it sets the state that was there
    after = draw()
assert draw() == after
""",
    "modules": """
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
""",
}


@pytest.mark.parametrize("rule", RULES)
def test_is_a_second_device(rule: str, simulated_device: None) -> None:
    in_fresh_process(two_devices.hold, rule, RULES[rule])


@pytest.mark.parametrize("page", ASKING, ids=lambda page: page.stem)
def test_a_page_for_a_device_runs_on_it(page: Path, simulated_device: None) -> None:
    """A build runs lessons and messages on it, but of pages only what the CPU does."""
    in_fresh_process(two_devices.run_page, page)


# A build runs a lesson on it up to its first block that takes times. All to their end
# take a minute: those about devices are enough here.
TIMED = ["copy_between_devices", "what_waits"]
if EVERYTHING:
    TIMED = [name for name, lesson in LESSONS.items() if takes_times(lesson.text)]


@pytest.mark.parametrize("name", TIMED)
def test_a_timed_lesson_runs_on_it(name: str, simulated_device: None) -> None:
    in_fresh_process(two_devices.run_to_its_end, LESSONS[name].script)


def test_no_output_of_it_says_that_it_is_cuda(site: Path) -> None:
    pages = [lesson.page for lesson in LESSONS.values()]
    boxes = [box for page in pages for box in page.select(".other-machine")]
    of_it = [box.text for box in boxes if "simulated" in box.text]
    assert of_it and not [text for text in of_it if "cuda" in text.lower()]


def test_agrees_with_other_accounts_of_a_second_device(simulated_device: None) -> None:
    cells = in_fresh_process(two_devices.compare_all)
    assert [denied for _, _, denied in cells if denied] == []
    # Arrays, numbers, masks, DLPack and shared memory need data, which no other has.
    unseen = {name for name, *_ in cells}
    unseen -= {name for name, confirmed, _ in cells if confirmed}
    assert unseen <= {
        "numpy-force", "detach-cpu-numpy", "independent-array", "np-from-dlpack",
        "from-dlpack", "tolist", "item", "numpy-copy", "mask", "share-memory",
        "masked-select", "fused-step",
    }  # fmt: skip
    assert sum(confirmed for _, confirmed, _ in cells) > 4 * len(cells)


def test_an_edited_device_is_compiled_again_as_recorded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    commands = []

    def compile_it(command: list[str | Path], check: bool) -> None:
        commands.append(" ".join(map(str, command[:-1])))
        command[-1].touch()

    source = tmp_path / "device.cpp"
    monkeypatch.setattr(simulated, "SOURCE", source)
    monkeypatch.setattr(simulated, "COMPILED", tmp_path / "compiled")
    monkeypatch.setattr(simulated, "compiler", lambda: "g++")
    monkeypatch.setattr(simulated.subprocess, "run", compile_it)
    made = []
    for text in ("first", "first", "other"):
        source.write_text(text)
        made.append(simulated._compiled())
    first, again, other = made
    assert first == again != other and [one.suffix for one in made] == [".so"] * 3
    assert sorted(tmp_path.glob("compiled/*")) == sorted({*made})
    command, _ = commands
    command = command.replace(str(Path(torch.__file__).parent), "TORCH")
    command = re.sub(r"(ABI=)[01] ", r"\1IT ", command.replace(str(tmp_path), "ROOM"))
    check(command.replace(" -", "\n-"), file_regression)


def test_only_code_is_given_the_other_name() -> None:
    written = (
        "on_cuda = x.is_cuda, 'cuda:0', cuda_1, f(cuda)",
        "torch.version.cuda, CUDA, cudaMalloc, barracuda\n\n2",
    )
    given = written[0].replace("cuda", "standin"), written[1]
    assert (*map(simulated.with_its_name, written),) == given


def test_it_needs_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    assert not simulated.is_wanted()
