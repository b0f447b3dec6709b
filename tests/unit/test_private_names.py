"""Every name that conf/ uses and no library promises to keep, in one list.

A name that is gone after an update fails here first, with what to do then. A private
name that is not on the list fails too: look for a documented way, or add it.
"""

import ast
from pathlib import Path
from pkgutil import resolve_name

import pytest
from reading import ROOT
from tensor_copies.gallery import isolation

# A folder stands for all that is in it.
MAPS = "tensor_maps/src/tensor_maps"
ATLAS, SIMULATED = f"{MAPS}/atlas", "tensor_copies/simulated"
ISOLATION = "tensor_copies/gallery/isolation.py"
MODES = "torch.utils._python_dispatch"
# The name, the module of conf/ that uses it, and what to do without it.
TAKEN = [
    ("torch._C.DisableTorchFunction", MAPS, "see PyTorch's notes on extending: without "
     "it a mode of the program sees what steps() reads"),
    (f"{MODES}._get_current_dispatch_mode_stack", MAPS, "switch the modes off in each "
     "look: it only says whether there are any, and keeps them for torch 2.6"),
    (f"{MODES}._disable_current_modes", MAPS, "skip the look while a mode is active"),
    ("torch._C._functorch.is_functorch_wrapped_tensor", MAPS, "a map then says of a "
     "tensor inside vmap only that it has no storage"),
    ("torch._C._is_cow_tensor", MAPS, "a look then makes the copy that `_lazy_clone` "
     "puts off"),
    ("torch._C._data_address", MAPS, "as for _is_cow_tensor"),
    ("torch.Tensor._version", MAPS, "PyTorch's notes on in-place checks name the "
     "counter; drop `version` from observe() if there is none"),
    ("torch.Tensor._version", ATLAS, "as above; drop what is said of versions"),
    ("torch._C._get_privateuse1_backend_name", ATLAS, "it names the backend that is "
     "not torch's own: take the name as an argument"),
    ("torch.UntypedStorage._cdata", MAPS, "it tells storages without an address (meta) "
     "apart: take Tensor.is_set_to"),
    ("torch.cuda._parse_visible_devices", SIMULATED, "it reads a variable of CUDA: see "
     "what a page on it shows, and drop the line"),
    ("torch._register_device_module", SIMULATED, "PyTorch's page on PrivateUse1 names "
     "what to call"),
    ("sphinx_gallery.backreferences.NameFinder", "tensor_copies/lessons/code_links.py",
     "see if it finds methods written in C by now, and drop code_links.py"),
    ("sphinx_gallery.gen_rst.generate_file_rst", ISOLATION, "see by what name the "
     "gallery makes the page of a lesson now"),
    ("ipykernel.iostream.OutStream.flush_interval", "ipython", "see if MyST-NB joins "
     "pieces of a line by now, and drop the line"),
    ("myst_nb.core.read.read_myst_markdown_notebook", "tensor_copies/gallery/pages.py",
     "see what MyST-NB reads a page with now"),
    ("jupyter_cache.cache.main.JupyterCacheBase.truncate_caches",
     "tensor_copies/gallery/__init__.py", "leave it out: a few builds then fail"),
]  # fmt: skip
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
                "it to the list above"
            )


def test_what_fresh_processes_find_imported_is_there() -> None:
    # The server that forks them passes over what it cannot import.
    for name in (*isolation.PRELOADED, isolation.COMPILER):
        resolve_name(name)
