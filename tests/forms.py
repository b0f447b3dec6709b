"""Write out the forms of a call (``also`` in calls.toml) as lines that run."""

import itertools
import re
from collections.abc import Iterator

from tensor_maps.atlas.calls import Call

# What stands for a word of a form, each tried.
WORDS = {
    "INT": ["0", "-1"], "SLICE": [":1", ":, 1:", "::2"], "LIST": ["[1]", "[1, 1]"],
    "MASK": ["x > 0"], "ARRAY": ["a"], "MODULE": ["module"],
    "DEVICE": ['"cuda"', 'torch.device("cuda")', '"cuda:0"'],
}  # fmt: skip
# What … stands for behind these names, elsewhere nothing; @ is what stands before it.
ARGUMENTS = {
    "view": ["-1", "3, 2"], "reshape": ["(-1,)", "(3, 2)"], "flatten": ["", "0"],
    "view_as": ["torch.ones(6)"], "reshape_as": ["torch.ones(3, 2)"],
    "permute": ["(1, 0)"], "copy_": ["torch.tensor(2.0)"], "constant_": ["0.5"],
    "transpose|swapaxes|movedim|moveaxis": ["0, 1", "-1, -2"], "unsqueeze": ["1", "-1"],
    "squeeze|unbind|diagonal|tril|triu": ["", "1"], "expand": ["4, 2, 3", "(4, 2, 3)"],
    "broadcast_to": ["(4, 2, 3)"], "expand_as": ["torch.ones(4, 2, 3)"],
    "repeat": ["2, 2"], "chunk|repeat_interleave": ["2", "2, dim=1"],
    "split": ["1", "[1, 1]"], "narrow|unfold": ["0, 1, 1"], "flip": ["[1]", "(0, 1)"],
    "select|roll": ["1, 0"], "gather|index_select": ["1, index"], "take": ["index"],
    "masked_select": ["mask"], "stack|cat|concat": ["1"], "full_like|fill_": ["3.0"],
    "lerp_": ["torch.ones((), device=x.device), 0.1"], "clamp_|clip_": ["-5, 99"],
    "clamp_m.._": ["0"], "register_buffer": ['"b"'], "masked_fill_": ["@ > 0, 3.0"],
    "data =": ["torch.zeros_like(x)"],
    "addc..._": ["*[torch.ones((), device=x.device)] * 2"],
    "(add|sub|mul|div)_": ["0.5", "torch.tensor(3.0)"],
    "(non_blocking|strict|persistent)=": ["True"], r"(\] |[-+*/])=": ["0.5"],
    r"\[": ["0", "..."],
}  # fmt: skip
# A form may give all of what its row looks at a part of, and x may stand for more.
GIVEN = """
import torch.nn.functional as F
from copy import deepcopy
from torch.nn import Parameter, init
def part_of(y):
    if isinstance(y, nn.Module):
        return y.weight
    return y["weight"] if isinstance(y, dict) else y[0] if type(y) is tuple else y
"""
STANDS_FOR = {
    r"(cat|concat|stack)\(x": r"\1([x, x]",
    r"load_state_dict\(x": 'load_state_dict({"weight": x}',
    r"^x\.item": "x[:1, :1].item",
}


def written(form: str, subject: str) -> Iterator[str]:
    """Yield the lines that a form stands for, of x or another subject."""
    parts = re.split(r"\{([^{}]*,[^{}]*)\}", form)
    choices = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    for chosen in itertools.product(*choices):
        line = re.sub(r"\bx\b", subject, "".join(chosen))
        for pattern, more in STANDS_FOR.items():
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
