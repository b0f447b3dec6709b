"""Every name that conf/ uses and no library promises to keep, in one list.

A name that is gone after an update fails here first, with what to do then. A private
name that is not on the list fails too: look for a documented way, or add it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

import pytest
import torch
from conftest import ROOT
from reading import SCRIPTS
from sphinx_gallery import backreferences


@dataclass(frozen=True)
class Private:
    """A name, the module of conf/ that uses it, a check, and what to do without it."""

    name: str
    used_in: str
    is_there: Callable[[], bool]
    otherwise: str


def found(name: str) -> Callable[[], bool]:
    """Return a check that ``module:name`` can be imported."""
    return lambda: resolve_name(name) is not None


def says(name: str, *words: str) -> Callable[[], bool]:
    """Return a check that the source of ``module:name`` has these words."""

    def check() -> bool:
        source = inspect.getsource(resolve_name(name))
        return all(word in source for word in words)

    return check


def _candidates_have_five_parts() -> bool:
    finder = backreferences.NameFinder(global_variables={"x": torch.ones(1)})
    finder.visit(ast.parse("import os\nos.getcwd()\nx.detach()"))
    return {len(option) for option in finder.get_mapping()} == {5}


# A folder stands for all that is in it.
MAPS = "tensor_maps/src/tensor_maps"
ATLAS = f"{MAPS}/atlas"
GALLERY, STORAGE = "tensor_copies/machine/freshness.py", "torch.UntypedStorage._cdata"
PRIVATE = [
    Private(
        "torch._C.DisableTorchFunctionSubclass", MAPS,
        found("torch:_C.DisableTorchFunctionSubclass"),
        "PyTorch's notes on extending name what took its place; without it a map of a "
        "subclass runs the code of the subclass",
    ),
    Private(
        "torch._C.DisableTorchFunction", MAPS,
        found("torch:_C.DisableTorchFunction"),
        "as above; without it a mode of the program sees what steps() reads",
    ),
    Private(
        "torch._C._len_torch_dispatch_stack", MAPS,
        lambda: torch._C._len_torch_dispatch_stack() == 0,
        "switch the modes off in each look: it only says whether there are any",
    ),
    Private(
        "torch.utils._python_dispatch", MAPS,
        found("torch.utils._python_dispatch:TorchDispatchMode"),
        "PyTorch's notes on extending say where TorchDispatchMode is now",
    ),
    Private(
        "torch.utils._python_dispatch._disable_current_modes", MAPS,
        found("torch.utils._python_dispatch:_disable_current_modes"),
        "without it a mode of the program sees what steps() reads: skip the look "
        "while a mode is active",
    ),
    Private(
        "torch._C._functorch", MAPS,
        lambda: not torch._C._functorch.is_batchedtensor(torch.ones(1)),
        "without it a map says of a tensor inside vmap only that it has no storage",
    ),
    Private(
        "torch.Tensor._backward_hooks", MAPS,
        lambda: torch.ones(1)._backward_hooks is None,
        "without it holders() does not say which hooks of a tensor hold another one",
    ),
    Private(
        "torch._C._is_cow_tensor", MAPS,
        lambda: torch._C._is_cow_tensor(torch.ones(1)._lazy_clone()),
        "without it a look makes the copy that `_lazy_clone` puts off",
    ),
    Private(
        "torch._C._data_address", MAPS,
        lambda: torch._C._data_address(torch.ones(1)) != 0,
        "as above",
    ),
    Private(
        "torch.Tensor._version", MAPS,
        lambda: torch.ones(1)._version == 0,
        "PyTorch's notes on in-place checks name the counter; drop `version` from "
        "observe() if there is none",
    ),
    Private(
        "torch.Tensor._version", ATLAS,
        lambda: torch.ones(1)._version == 0,
        "as above; drop the column shares_version",
    ),
    Private(
        "torch._C._get_privateuse1_backend_name", ATLAS,
        lambda: isinstance(torch._C._get_privateuse1_backend_name(), str),
        "it names the backend that is not torch's own: take the name as an argument",
    ),
    Private(
        STORAGE, MAPS,
        lambda: isinstance(torch.ones(1).untyped_storage()._cdata, int),
        "it tells storages without an address (meta) apart: take Tensor.is_set_to",
    ),
    Private(
        "torch.cuda._sleep", ATLAS,
        found("torch.cuda:_sleep"),
        "any kernel that keeps the device busy for about a second does: a matmul in a "
        "loop",
    ),
    Private(
        "torch._register_device_module", "tensor_copies/stand_in/loading.py",
        found("torch:_register_device_module"),
        "PyTorch's page on PrivateUse1 names it: see what it names now",
    ),
    Private(
        "torch.autograd.Variable._execution_engine",
        "tensor_copies/stand_in/loading.py",
        lambda: callable(torch.autograd.Variable._execution_engine.run_backward),
        "see if a Python that ends after a backward pass on the stand-in is aborted; "
        "if not, drop the last task",
    ),
    Private(
        "sphinx_gallery.backreferences.NameFinder",
        "tensor_copies/machine/code_links.py",
        _candidates_have_five_parts,
        "see if it finds methods written in C by now, and drop code_links.py; or "
        "follow its tuples",
    ),
    Private(
        "sphinx_gallery.gen_rst.execute_script", "record.py",
        says("sphinx_gallery.gen_rst", "def execute_script", "example_globals",
             "src_file", "image_path_iterator", "formatted_exception", "target_file"),
        "record from an image scraper in a real build of the gallery",
    ),
    Private(
        "the gallery's NAME.cost.json and passing_examples", GALLERY,
        says("sphinx_gallery.gen_rst", ".cost.json", "passing_examples"),
        "let apart.py write the run of a lesson, which knows how it ended",
    ),
    Private(
        "the gallery's NAME.codeobj.json", "tensor_copies/lessons/calls.py",
        says("sphinx_gallery.gen_rst", ".codeobj.json"),
        "take the names from the links of the pages, or the gallery's mini-galleries",
    ),
    Private(
        "BuildEnvironment.intersphinx_named_inventory",
        "tensor_copies/lessons/calls.py",
        says("sphinx.ext.intersphinx._shared", "intersphinx_named_inventory"),
        "read conf/inventories/*.inv with sphinx.util.inventory.InventoryFile",
    ),
    Private(
        "BuildEnvironment.intersphinx_inventory", "tensor_copies/atlas/page.py",
        says("sphinx.ext.intersphinx._shared", "intersphinx_inventory"),
        "make pending_xref nodes, as calls.py does",
    ),
    Private(
        "BuildEnvironment.dlfiles", GALLERY,
        says("sphinx.environment:BuildEnvironment", "self.dlfiles"),
        "do not remove old downloads: a build from nothing has none",
    ),
    Private(
        "env.nb_metadata", GALLERY,
        says("myst_nb.sphinx_", "nb_metadata", "exec_data"),
        "the stamp of a page that computes: take the day of its file in the cache",
    ),
    Private(
        "StandaloneHTMLBuilder.search", "tensor_copies/web/made_pages.py",
        says("sphinx.builders.html:StandaloneHTMLBuilder", "if self.search:"),
        "drop replace_search: Sphinx then writes an index that nothing reads",
    ),
    Private(
        "theme_source_edit_link of Furo", "tensor_copies/web/foot.py",
        lambda: "theme_source_edit_link" in (
            Path(resolve_name("sphinx_basic_ng").__file__).parent
            / "theme/basic-ng/components/edit-this-page.html"
        ).read_text(),
        "give the template a link of its own",
    ),
    Private(
        "joblib's BatchedCalls.items", "tensor_copies/machine/apart.py",
        says("joblib.parallel:BatchedCalls", "self.items = list("),
        "take the name of the lesson from what is called: pickle it; or let the gallery"
        " run one after the other, with a reset_modules hook that forks",
    ),
    Private(
        "jupyter_cache.executors.utils.executenb", "tensor_copies/machine/kernels.py",
        says("jupyter_cache.executors.utils", "executenb("),
        "see if MyST-NB has an option for the kernel manager; or drop kernels.py: "
        "kernels then talk over TCP",
    ),
]  # fmt: skip
# What lessons take: readers copy it, so there is little of it, and each has a reason.
IN_LESSONS = {
    "_version": "PyTorch's notes on in-place checks name it",
    "_sleep": "nothing public keeps a GPU busy for a known time",
    "_subclasses": "FakeTensorMode: PyTorch's documents name it by this path",
}
# Promised by Python, in spite of its name.
DOCUMENTED = {"os._exit", "sys._getframe"}
OF_NAMED_TUPLES = ("._asdict", "._fields", "._replace", "._make")


@pytest.mark.parametrize("private", PRIVATE, ids=lambda p: f"{p.name} {p.used_in}")
def test_the_name_is_there(private: Private) -> None:
    assert (ROOT / "conf" / private.used_in).exists(), "take it off the list"
    try:
        there = private.is_there()
    except Exception as gone:
        there = repr(gone)
    assert there is True, (
        f"{private.name} is not as it was ({there}). What to do in "
        f"conf/{private.used_in}: {private.otherwise}"
    )


def underscored(module: ast.Module) -> set[str]:
    """Return the names with a leading underscore that a module takes from others."""
    names = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in (
            "self", "cls"
        ):  # fmt: skip
            if node.attr.startswith("_") and not node.attr.startswith("__"):
                names.add(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom) and node.module:
            ours = node.module.startswith(("tensor_copies", "tensor_maps", "__"))
            path = [f"{node.module}.{alias.name}" for alias in node.names]
            if not ours:
                names |= {name for name in path if "._" in name}
    return {n for n in names - DOCUMENTED if not n.endswith(OF_NAMED_TUPLES)}


def test_no_private_name_is_missing_from_the_list() -> None:
    listed = {(p.used_in, p.name.rpartition(".")[2]) for p in PRIVATE}
    listed |= {(MAPS, "_C"), (ATLAS, "_C")}  # the names after it are listed
    for path in sorted((ROOT / "conf").rglob("*.py")):
        used_in = path.relative_to(ROOT / "conf").as_posix()
        places = [used_in, *(p.as_posix() for p in Path(used_in).parents)]
        for name in underscored(ast.parse(path.read_text(encoding="utf-8"))):
            last = name.rpartition(".")[2]
            assert any((place, last) in listed for place in places), (
                f"conf/{used_in} uses {name}: is there a documented way? If not, add "
                "it to the list above"
            )


def test_lessons_take_no_other_private_name() -> None:
    used = set()
    for script in SCRIPTS:
        names = underscored(ast.parse(script.read_text(encoding="utf-8")))
        found = {part for name in names for part in name.split(".") if part[0] == "_"}
        assert found <= set(IN_LESSONS), script
        used |= found
    assert used == set(IN_LESSONS), "take it off the list"
