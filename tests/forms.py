"""Write out the forms of a call (``also`` in calls.toml) as lines that run."""

import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tensor_maps.atlas.calls import Call

FORMS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
WORDS, ARGUMENTS = FORMS["words"], FORMS["arguments"]
# A form may give all of what its row looks at a part of.
GIVEN = """
import torch.nn.functional as F
from copy import deepcopy
from torch.nn import Parameter, init
def part_of(y):
    if isinstance(y, nn.Module):
        return y.weight
    return y["weight"] if isinstance(y, dict) else y[0] if type(y) is tuple else y
"""


def written(form: str, subject: str) -> Iterator[str]:
    """Yield the lines that a form stands for, of x or another subject."""
    parts = re.split(r"\{([^{}]*,[^{}]*)\}", form)
    choices = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    for chosen in itertools.product(*choices):
        line = re.sub(r"\bx\b", subject, "".join(chosen))
        for pattern, more in FORMS["stands_for"].items():
            line = re.sub(pattern, more, line)
        pieces = re.split(rf"({'|'.join(WORDS)}|…)", line)
        found = [_choices(one, "".join(pieces[:at])) for at, one in enumerate(pieces)]
        for one in itertools.product(*found):
            yield re.sub(r"^(.*)(\.\w+\()@", r"\1\2\1", "".join(one))


def leaving_y(line: str, call: Call) -> str:
    """Return code that runs a line and leaves y as the code of its row does."""
    try:
        compile(line, "form", "eval")
    except SyntaxError:
        return f"{line}\ny = x"
    *_, tail = call.code.rpartition("\ny = ")
    return f"{line}\ny = {tail}" if "\n" in call.code else f"y = part_of({line})"


def _choices(piece: str, before: str) -> list[str]:
    if piece != "…":
        return WORDS.get(piece, [piece])
    name = r"(data =|[+*/-]=|\] =|\w+=|\w+|\[)[ (]*((x|\[x, x\]), )?$"
    called = re.search(name, before)[1]
    fitting = (those for one, those in ARGUMENTS.items() if re.fullmatch(one, called))
    return next(fitting, [""])
