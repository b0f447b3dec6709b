"""Each room of conf/ imports only from the rooms before it."""

import ast
from pathlib import Path

import pytest
from reading import ROOT
from tensor_copies.gallery.kept import BY_LESSONS

CONF = ROOT / "conf"
HOUSE = CONF / "tensor_copies"
ROOMS = (
    *("gallery", "simulated", "figures", "machines", "calls", "errors", "lessons"),
    *("search", "web"),
)
SHARED = {"markup", "tensor_maps"}  # what every room may import


def rooms_imported(module: Path) -> set[str]:
    """Return the rooms that a module imports, anywhere in it."""
    names = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports of ours name the whole path"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    parts = [name.split(".") for name in names]
    ours = {part[1] for part in parts if part[0] == "tensor_copies"}
    return ours | {part[0] for part in parts if part[0] == "tensor_maps"}


def test_every_room_is_known() -> None:
    there = {path.name for path in HOUSE.iterdir() if list(path.glob("*.py"))}
    assert there == set(ROOMS)
    # No room imports what records: it may import all.
    beside = {path.stem for path in HOUSE.glob("*.py")}
    assert beside == {"__init__", "markup", "record"}
    assert rooms_imported(HOUSE / "markup.py") == set()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_those_before_it(room: str) -> None:
    before = {*ROOMS[: ROOMS.index(room) + 1]} | SHARED
    modules = (HOUSE / room).rglob("*.py")
    after = {path.name: rooms_imported(path) - before for path in modules}
    assert set().union(*after.values()) == set(), after


def test_the_package_imports_nothing_of_the_site() -> None:
    for module in (CONF / "tensor_maps" / "src").rglob("*.py"):
        assert rooms_imported(module) <= {"tensor_maps"}, module.name


def test_only_setup_connects() -> None:
    """The order of what a room connects can be read in one place."""
    for module in HOUSE.rglob("*.py"):
        if module.name != "__init__.py":
            assert ".connect(" not in module.read_text(encoding="utf-8"), module


def test_lessons_run_again_when_code_that_draws_in_them_changes() -> None:
    drawing = (HOUSE / "figures").glob("*.py")
    rooms = {"figures"}.union(*map(rooms_imported, drawing))
    folders = {HOUSE / room if room in ROOMS else CONF / room / "src" for room in rooms}
    known = {path for one in BY_LESSONS for path in CONF.glob(one)}
    assert {path for one in folders for path in one.rglob("*.py")} <= known
