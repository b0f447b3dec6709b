"""Compare outputs of two machines, but for times and the name of an only device.

Where all tensors of an output or a map are on one device, ``tensor([1.],
device='cuda:0')`` says what ``tensor([1.])`` says on a CPU. Where they are on two
devices, the name of each is a difference. But ``standin``, the simulated device, and
``meta``, to which a lesson goes without a GPU, say what ``cuda`` says.
"""

import re

from tensor_copies.gallery.lessons import takes_times
from tensor_copies.simulated import NAME

PRETENDED = re.compile(rf"\b(?:cuda|{NAME}|meta)(?::0)?\b")
DEVICE = re.compile(r",\s+device='([\w:]+)'")
TENSOR = re.compile(r"\btensor\(")
# In the words of a map.
PLACED = re.compile(r"(?: The memory is)? on (cpu|cuda)\b\.?")
COLOUR = re.compile(r"var\(--line-\d, #\w+\)")  # a watched lesson has its own
# What a printed time looks like, or a share of it.
TIME = re.compile(
    r"\d\s*(ns|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s|ms|s)\b"
    r"|\b(nano|micro|milli)?seconds\b"
    r"|\d+(\.\d+)? times\b|\d%"
)


def is_measured(code: str, output: str) -> bool:
    """Whether a block measures times, or prints what was measured before."""
    return takes_times(code) or TIME.search(output) is not None


def same_text(one: str, other: str) -> bool:
    """Whether two outputs say the same."""
    return _named_once(one) == _named_once(other)


def same_figure(one: str, other: str) -> bool:
    """Whether the markup of two figures shows the same."""
    return _placed_once(one) == _placed_once(other)


def plain(text: str) -> str:
    """Return an output without blanks at the ends of lines and empty lines around."""
    return "\n".join(map(str.rstrip, text.strip("\n").split("\n")))


def _named_once(text: str) -> str:
    """Return an output without the name of its device, if it has only one."""
    text = PRETENDED.sub("cuda", text)
    named = DEVICE.findall(text)
    if len(set(named)) == 1 and len(named) == len(TENSOR.findall(text)):
        return DEVICE.sub("", text)
    return text


def _placed_once(markup: str) -> str:
    """Return markup without colours, and the name of its device if it has only one."""
    text = COLOUR.sub("", PRETENDED.sub("cuda", markup))
    return PLACED.sub("", text) if len(set(PLACED.findall(text))) == 1 else text
