"""Link methods of tensors and arrays in a lesson's code to their API pages.

The gallery looks up what each name in a script refers to, but passes over methods
written in C, as all of a tensor's are: ``inspect.ismethod`` is false for them. This
adds the candidates that it leaves out; resolving them stays the gallery's job.
"""

from __future__ import annotations

from typing import Any

from sphinx_gallery import backreferences


class NameFinder(backreferences.NameFinder):
    """The gallery's finder of names, aware of the methods of tensors and arrays."""

    def get_mapping(self) -> list[tuple[str, str, bool, bool, bool]]:
        """Return the gallery's candidates and those for methods written in C."""
        options = super().get_mapping()
        for name in self.accessed_names:
            variable, *attributes = name.split(".")
            owner = _class_name(self.global_variables.get(variable))
            if owner and len(attributes) == 1:
                options.append((name, f"{owner}.{attributes[0]}", True, False, False))
        return options


def _class_name(value: Any) -> str | None:
    """Return the documented name of the class of a tensor or an array."""
    import numpy
    import torch

    if isinstance(value, torch.Tensor):
        return "torch.Tensor"
    if isinstance(value, numpy.ndarray):
        return "numpy.ndarray"
    return None


def link_methods(*_: object) -> None:
    """Put the finder in the place of the gallery's (a ``reset_modules`` hook)."""
    backreferences.NameFinder = NameFinder
