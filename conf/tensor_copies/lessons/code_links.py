"""Link methods of tensors and arrays in a lesson's code to their API pages.

The gallery looks up what each name in a script refers to, but passes over methods
written in C, as all of a tensor's are: ``inspect.ismethod`` is false for them. This
adds the candidates that it leaves out; resolving them stays the gallery's job.
"""

from sphinx_gallery import backreferences


class NameFinder(backreferences.NameFinder):
    """The gallery's finder of names, aware of the methods of tensors and arrays."""

    def get_mapping(self) -> list[tuple[str, str, bool, bool, bool]]:
        """Return the gallery's candidates and those for methods written in C."""
        from numpy import ndarray
        from torch import Tensor

        options = super().get_mapping()
        for name in self.accessed_names:
            variable, _, method = name.partition(".")
            value = self.global_variables.get(variable)
            for kind, owner in (Tensor, "torch.Tensor"), (ndarray, "numpy.ndarray"):
                if isinstance(value, kind) and method and "." not in method:
                    options.append((name, f"{owner}.{method}", True, False, False))
        return options


def link_methods(*_: object) -> None:
    """Put the finder in the place of the gallery's (a ``reset_modules`` hook)."""
    backreferences.NameFinder = NameFinder
