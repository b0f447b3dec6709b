"""The ways to write a call (``also`` in calls.toml), as code that runs."""

from __future__ import annotations

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
    "transpose": ["0, 1", "-1, -2"], "swapaxes": ["0, 1"], "permute": ["(1, 0)"],
    "movedim": ["1, 0"], "moveaxis": ["0, 1"], "squeeze": ["", "0"],
    "unsqueeze": ["1", "-1"], "expand": ["4, 2, 3", "(4, 2, 3)"],
    "expand_as": ["torch.ones(4, 2, 3)"], "broadcast_to": ["(4, 2, 3)"],
    "repeat": ["2, 2"], "repeat_interleave": ["2", "2, dim=0"],
    "chunk": ["2", "2, dim=1"], "split": ["1", "[1, 1]"], "unbind": ["", "1"],
    "narrow": ["0, 0, 1"], "select": ["1, 0"], "diagonal": ["", "1"],
    "unfold": ["0, 1, 1"], "flip": ["[1]", "(0, 1)"], "roll": ["1", "1, 0"],
    "tril": ["", "1"], "triu": ["", "1"], "gather": ["1, index"], "take": ["index"],
    "index_select": ["1, index"], "masked_select": ["mask"], "stack": ["1", "dim=1"],
    "cat": ["1"], "concat": ["1"], "full_like": ["3.0"], "constant_": ["0.5"],
    "copy_": ["torch.tensor(2.0)"], "lerp_": ["torch.ones((), device=x.device), 0.1"],
    "masked_fill_": ["@ > 0, 3.0"],
    "fill_": ["3"], "clamp_": ["-5, 99"], "clip_": ["-5, 99"], "clamp_min_": ["0"],
    "clamp_max_": ["0"], "register_buffer": ['"b"'], "data =": ["torch.zeros_like(x)"],
    "addcmul_": ["*[torch.ones((), device=x.device)] * 2"],
    "addcdiv_": ["*[torch.ones((), device=x.device)] * 2"],
    "add_": ["0.5", "torch.tensor(3.0)"], "sub_": ["0.5", "torch.tensor(3.0)"],
    "mul_": ["0.5", "torch.tensor(3.0)"], "div_": ["0.5", "torch.tensor(3.0)"],
    "non_blocking=": ["True"], "strict=": ["True"], "persistent=": ["True"],
    "] =": ["0.5"], "+=": ["0.5"], "-=": ["0.5"], "*=": ["0.5"], "/=": ["0.5"],
    "[": ["0", "..."],
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


def concrete(form: str, call: Call) -> Iterator[str]:
    """Return code that a form stands for; it leaves y as the code of its row does."""
    parts = re.split(r"\{([^{}]*,[^{}]*)\}", form)
    choices = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    for chosen in itertools.product(*choices):
        line = re.sub(r"\bx\b", call.subject, "".join(chosen))
        for pattern, more in STANDS_FOR.items():
            line = re.sub(pattern, more, line)
        pieces = re.split(rf"({'|'.join(WORDS)}|…)", line)
        found = [_choices(one, "".join(pieces[:at])) for at, one in enumerate(pieces)]
        yield from (_leaving_y("".join(one), call) for one in itertools.product(*found))


def _choices(piece: str, before: str) -> list[str]:
    if piece != "…":
        return WORDS.get(piece, [piece])
    name = r"(data =|[+*/-]=|\] =|\w+=|\w+|\[)[ (]*((x|\[x, x\]), )?$"
    return ARGUMENTS.get(re.search(name, before)[1], [""])


def _leaving_y(line: str, call: Call) -> str:
    line = re.sub(r"^(.*)(\.\w+\()@", r"\1\2\1", line)
    *_, tail = call.code.rpartition("\ny = ")
    try:
        compile(line, "form", "eval")
    except SyntaxError:
        return f"{line}\ny = x"
    return f"{line}\ny = {tail}" if "\n" in call.code else f"y = part_of({line})"
