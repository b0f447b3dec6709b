"""What a cure costs: run it, here or on the simulated device, look at its result."""

from __future__ import annotations

import ast
import textwrap
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from tensor_maps.relations import flows, sharing

from tensor_copies import simulated
from tensor_copies.errors.messages import said

LONGEST = 110  # characters of a result that is shown


@dataclass(frozen=True)
class Cost:
    """What a cure does to memory and gradients, as keys of ``explorer.signs.SIGNS``.

    There are no signs where the subject and the result are not two tensors or arrays.
    ``raises`` is the type of the error, for what is no cure. ``state`` says what kind
    of ``x`` the subject is, a key of the explorer's states; empty if it is no tensor.
    ``shown`` is what came out of a folk cure.
    """

    signs: tuple[str, ...] = ()
    raises: str = ""
    state: str = ""
    shown: str = ""


@dataclass(frozen=True)
class Cure:
    """What the page says of a cure, or of what people wrongly write.

    ``setup`` runs before the ``code``, whose last expression is compared with the
    tensor named ``subject``; ``truth`` must then hold. One that is ``strict`` may
    neither raise nor warn. Of one that people are ``told``, the result is shown.
    """

    anchor: str
    setup: str
    code: str
    subject: str
    truth: str
    strict: bool
    told: bool = False


def cost_of(cure: Cure, space: dict[str, Any]) -> Cost:
    """Run a cure, whose code finds the names in ``space``; return what it does.

    A strict one that raises or warns, and any whose truth does not hold, is refused
    with an AssertionError.
    """
    subject, truth, strict = cure.subject, cure.truth, cure.strict
    body = ast.parse(textwrap.dedent(cure.code)).body
    value = body.pop().value if isinstance(body[-1], ast.Expr) else None
    name = f"the cure {cure.code!r} of {cure.anchor}"
    with warnings.catch_warnings():
        # A cure that warns is none; what people wrongly write may do so.
        warnings.simplefilter("error" if strict else "ignore")
        try:
            exec(compile(cure.setup, cure.anchor, "exec"), space)
            state = _state_of(space.get(subject))
            exec(compile(ast.Module(body, []), name, "exec"), space)
            last = ast.Expression(value) if value else "None"
            space["result"] = result = eval(compile(last, name, "eval"), space)
            true = eval(truth, space)
        except Exception as error:
            if strict or truth != "True":
                raise AssertionError(f"{name}: {said(error)}") from error
            shown = said(error).partition("\n")[0] if cure.told else ""
            return Cost(raises=type(error).__name__, shown=_short(shown))
    assert true, f"{name}: not true: {truth}"
    if cure.told:
        return Cost(shown=_short(repr(result)) if value else "")
    before = space.get(subject)
    if not (_is_data(before) and _is_data(result)):
        return Cost()
    if before is result:
        return Cost(("itself",))
    signs = ["shares" if sharing(before, result) else "copies"]
    if getattr(before, "requires_grad", False):
        reached = isinstance(result, torch.Tensor) and flows(result, before)
        signs.append("flows" if reached and all(reached.values()) else "stops")
    return Cost(tuple(signs), state=state)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()} …"


def _is_data(value: object) -> bool:
    return isinstance(value, torch.Tensor | np.ndarray)


def _state_of(value: object) -> str:
    if not isinstance(value, torch.Tensor):
        return ""
    if value.requires_grad:
        return "leaf" if value.is_leaf else "nonleaf"
    return "constant" if value.is_contiguous() else "view"


def costs_on_simulated_device(cures: list[Cure]) -> list[Cost]:
    """Return what each cure costs with the simulated device in the place of CUDA.

    All costs are empty where there is none.
    """
    if not simulated.is_wanted():
        return [Cost()] * len(cures)
    # Imported here: with it comes the gallery, which most kernels need not wait for.
    from tensor_copies.gallery.isolation import in_fresh_process

    return in_fresh_process(_costs_there, cures)


def _costs_there(cures: list[Cure]) -> list[Cost]:
    simulated.load_device()
    costs = []
    for cure in cures:
        setup, code = map(simulated.with_its_name, (cure.setup, cure.code))
        space = {"np": np, "torch": torch, "gpu": True}
        costs.append(cost_of(replace(cure, setup=setup, code=code), space))
    return costs
