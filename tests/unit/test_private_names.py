"""Every name that conf/ uses and no library promises to keep (private_names.toml).

A name that is gone after an update fails here first, with what to do then. A private
name that is not on the list fails too: look for a documented way, or add it.
"""

import ast
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest
from reading import ROOT
from tensor_copies.gallery import isolation

LIST = tomllib.loads(Path(__file__).with_name("private_names.toml").read_text("utf-8"))
TAKEN = [(name, used_in, otherwise) for used_in, names in LIST.items()
         for name, otherwise in names.items()]  # fmt: skip
MAPS = "tensor_maps/src/tensor_maps"
# Promised by Python, in spite of its name.
DOCUMENTED = {"os._exit", "sys._getframe"}
OF_NAMED_TUPLES = ("._asdict", "._fields", "._replace", "._make")


@pytest.mark.parametrize(("name", "used_in", "otherwise"), TAKEN)
def test_the_name_is_there(name: str, used_in: str, otherwise: str) -> None:
    place = ROOT / "conf" / used_in
    sources = place.rglob("*.py") if place.is_dir() else [place]
    last = name.rpartition(".")[2]
    assert any(last in one.read_text("utf-8") for one in sources), "take it off"
    try:
        resolve_name(name)
    except Exception as gone:
        pytest.fail(f"{gone!r}. What to do in conf/{used_in}: {otherwise}")


def underscored(module: ast.Module) -> set[str]:
    """Return the names with a leading underscore that a module takes from others."""
    names = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            private = node.attr.startswith("_") and not node.attr.startswith("__")
            if private and owner not in ("self", "cls"):
                names.add(f"{owner}.{node.attr}")
        elif isinstance(node, ast.ImportFrom) and node.module:
            ours = node.module.startswith(("tensor_copies", "tensor_maps", "__"))
            path = [f"{node.module}.{alias.name}" for alias in node.names]
            names |= {name for name in path if "._" in name and not ours}
    return {n for n in names - DOCUMENTED if not n.endswith(OF_NAMED_TUPLES)}


def test_no_private_name_is_missing_from_the_list() -> None:
    listed = {(used_in, name.rpartition(".")[2]) for name, used_in, _ in TAKEN}
    listed |= {(MAPS, last) for last in ("_C", "_functorch", "_python_dispatch")}
    for path in sorted((ROOT / "conf").rglob("*.py")):
        used_in = path.relative_to(ROOT / "conf").as_posix()
        places = [used_in, *(p.as_posix() for p in Path(used_in).parents)]
        for name in underscored(ast.parse(path.read_text(encoding="utf-8"))):
            last = name.rpartition(".")[2]
            assert any((place, last) in listed for place in places), (
                f"conf/{used_in} uses {name}: is there a documented way? If not, add "
                "it to private_names.toml"
            )


def test_what_fresh_processes_find_imported_is_there() -> None:
    # The server that forks them passes over what it cannot import.
    for name in (*isolation.PRELOADED, isolation.COMPILER):
        resolve_name(name)
