"""What a cure costs: run it, here or on the stand-in, and look at what comes out.

``python -m tensor_copies.errors.costs`` reads cures as JSON from its standard input,
runs them with the stand-in in the place of CUDA and prints what each costs. It is a
Python of its own because a second device changes what torch says in some messages.
"""

from __future__ import annotations

import ast
import json
import sys
import textwrap
import warnings
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np
import torch
from tensor_maps.relations import flows, sharing

from tensor_copies.errors.messages import said
from tensor_copies.stand_in import NoStandIn, for_stand_in, new_python

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


def costs_on_stand_in(cures: list[Cure]) -> list[Cost]:
    """Return what each cure costs with the stand-in in the place of CUDA.

    All costs are empty where there is no stand-in.
    """
    text = json.dumps([asdict(cure) for cure in cures])
    try:
        done = new_python("-m", "tensor_copies.errors.costs", text=text)
    except NoStandIn:
        return [Cost()] * len(cures)
    assert done.returncode == 0, done.stderr.strip().rpartition("\n")[2]
    return [Cost(tuple(signs), *more) for signs, *more in json.loads(done.stdout)]


def main() -> None:
    """Print the costs of the cures on the standard input; the device is there."""
    costs = []
    for cure in json.load(sys.stdin):
        renamed = {name: for_stand_in(cure[name]) for name in ("setup", "code")}
        space = {"np": np, "torch": torch, "gpu": True}
        costs.append(astuple(cost_of(Cure(**cure | renamed), space)))
    print(json.dumps(costs))


if __name__ == "__main__":
    main()
