"""The simulated device: a second device in CPU memory, and no claim beyond that."""

import re
import tomllib
from pathlib import Path

import pytest
import torch
import two_devices
from pytest_regressions.file_regression import FileRegressionFixture
from reading import EVERYTHING, LESSONS, PAGES
from recorded import check
from tensor_copies import simulated
from tensor_copies.gallery import machine
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.gallery.lessons import takes_times
from tensor_copies.gallery.pages import cells

ASKING = [page for page in sorted(PAGES) if any(
    re.search("cuda|accelerator", cell.code) for cell in cells(page))]  # fmt: skip

RULES = Path(__file__).with_name("second_device.toml").read_text("utf-8")
RULES = tomllib.loads(RULES)


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
    for text, version in ("1", "2.6"), ("1", "2.6"), ("2", "2.6"), ("2", "2.7"):
        source.write_text(text)
        monkeypatch.setattr(torch, "__version__", version)
        made.append(simulated._compiled())
    assert made[0] == made[1] and len({*made}) == len(commands) == 3
    assert {one.suffix for one in made} == {".so"}
    assert sorted(tmp_path.glob("compiled/*")) == sorted({*made})
    command = commands[0].replace(str(Path(torch.__file__).parent), "TORCH")
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
    monkeypatch.setattr(machine.shutil, "which", lambda name: name)
    assert machine.compiler() == "g++"
    monkeypatch.setenv("CXX", "another")
    assert machine.compiler() == "another"
