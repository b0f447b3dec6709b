"""Each room of conf/ imports only from the rooms below it."""

from __future__ import annotations

import ast
from fnmatch import fnmatch
from pathlib import Path

import pytest
from reading import ROOT

CONF = ROOT / "conf"
HOUSE = CONF / "tensor_copies"
# What each room may import, beside itself.
ALLOWED = {
    "run": set(),
    "stand_in": set(),
    "figures": {"run", "tensor_maps"},
    "recordings": {"run", "figures", "tensor_maps"},
    "explorer": {"run", "stand_in", "tensor_maps"},
    "atlas": {"run", "recordings", "stand_in", "explorer", "lessons", "tensor_maps"},
    "errors": {"run", "stand_in", "recordings", "explorer", "tensor_maps"},
    "lessons": {"run", "figures", "recordings", "tensor_maps"},
    "web": {
        *("run", "figures", "recordings"),
        *("explorer", "atlas", "errors", "lessons", "tensor_maps"),
    },
}


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
    assert there <= set(ALLOWED)
    assert {path.name for path in HOUSE.glob("*.py")} == {"__init__.py"}


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_from_below(room: str) -> None:
    for module in (HOUSE / room).rglob("*.py"):
        assert rooms_imported(module) <= ALLOWED[room] | {room}, module.name


def test_the_package_imports_nothing_of_the_site() -> None:
    for module in (CONF / "tensor_maps" / "src").rglob("*.py"):
        assert rooms_imported(module) <= {"tensor_maps"}, module.name


def test_only_setup_connects() -> None:
    """The order of what a room connects can be read in one place."""
    for module in HOUSE.rglob("*.py"):
        if module.name != "__init__.py":
            assert ".connect(" not in module.read_text(encoding="utf-8"), module


def test_pytest_passes_over_no_folder_of_tests(pytestconfig: pytest.Config) -> None:
    for path in (ROOT / "tests").rglob("test_*.py"):
        for pattern in pytestconfig.getini("norecursedirs"):
            assert not fnmatch(path.parent.name, pattern), f"{path.parent}: {pattern}"
