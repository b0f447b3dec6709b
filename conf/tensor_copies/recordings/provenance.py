"""Where an output comes from, as a reader sees it: a mark, tabs, a line for the page.

- The mark on an output says on how many other machines it is the same, and in words,
  for a pointer and for screen readers, on which.
- Tabs stand on a block whose outputs differ. They are radio buttons: the script
  (static/code.js) shows one machine in all blocks of the page. Without it each output
  is readable under its label.
- The line says who ran the page and how many of its outputs are the same elsewhere.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

from tensor_copies.machine.fingerprint import Fingerprint, fingerprint
from tensor_copies.recordings.beside import slug

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

MACHINES = "machines"  # the page
# What the reader of its output is told of the stand-in device; the page has the rest.
STAND_IN = (
    "No GPU: host memory that PyTorch takes for a second device. Times would say "
    "nothing, and are left out. "
)
BUT_FOR_DEVICE = "but for the name of the device"


class output_head(nodes.General, nodes.Element):
    """The line above an output: its name, if it has one, and the mark."""


class machine_tabs(nodes.General, nodes.Element):
    """The choice of a machine on a block; ``choices`` are pairs of slug and name."""


def visit_output_head(self: HTML5Translator, node: output_head) -> None:
    """Write the line; the mark has its words for those who cannot see it."""
    text = escape(node["label"])
    if node["same"]:
        count = len(node["same"])
        machines = "other machine" if count == 1 else "other machines"
        words = escape(
            f"the same on {count} {machines}: {'; '.join(node['same'])}", quote=True
        )
        text += (
            f' <span class="same-mark" title="{words}">'
            f'<span aria-hidden="true">\N{CHECK MARK}\N{NO-BREAK SPACE}{count}</span>'
            f'<span class="visually-hidden">{words}</span></span>'
        )
    self.body.append(f'<p class="output-head">{text.strip()}</p>\n')
    raise nodes.SkipNode


def visit_machine_tabs(self: HTML5Translator, node: machine_tabs) -> None:
    """Write the radio buttons; those of one page have names of their own."""
    labels = "".join(
        f'<label><input type="radio" name="{node["name"]}" value="machine-{value}"'
        f"{' checked' if place == 0 else ''}> {escape(words)}</label>"
        for place, (value, words) in enumerate(node["choices"])
    )
    self.body.append(
        '<fieldset class="machine-tabs"><legend class="visually-hidden">Output on'
        f"</legend>{labels}</fieldset>\n"
    )
    raise nodes.SkipNode


def short(machine: Fingerprint) -> str:
    """Return the device and the torch of a machine: what a reader tells it by."""
    return machine.label.rpartition(", Python")[0]


def variant(machine: Fingerprint, label: str, kind: str) -> nodes.container:
    """Return the place of one machine's output, with its label."""
    place = nodes.container(classes=["variant", kind, f"machine-{slug(machine)}"])
    place += nodes.paragraph(text=label, classes=["variant-label"])
    return place


def stand_in_note() -> nodes.paragraph:
    """Return what the reader of the stand-in's output is told, with a link to more."""
    note = nodes.paragraph(text=STAND_IN, classes=["stand-in-note"])
    link = addnodes.pending_xref(
        "", refdomain="std", reftype="ref", reftarget="stand-in-device",
        refexplicit=True, refwarn=True,
    )  # fmt: skip
    link += nodes.inline(text="More of it")
    note += link
    return note


def page_line(
    app: Sphinx, outputs: int, same: dict[Fingerprint, int]
) -> nodes.paragraph:
    """Return the line of a page: who ran it, and how much of it is the same elsewhere.

    Parameters
    ----------
    app
        The application.
    outputs
        How many blocks have an output that can be compared.
    same
        For each other machine, on how many of them it saw the same.
    """
    said = f"Ran on {short(fingerprint())}"
    for place, (machine, count) in enumerate(same.items()):
        many = f"{count} of {outputs}" + (" outputs" if place == 0 else "")
        where = "the same on" if place == 0 else "on"
        said += f" \N{MIDDLE DOT} {where} {_in_a_line(machine)}: {many}"
    line = nodes.paragraph(text=said, classes=["provenance"])
    if MACHINES in app.env.found_docs:
        link = addnodes.pending_xref(
            "", refdomain="std", reftype="doc", reftarget=f"/{MACHINES}",
            refexplicit=True, refwarn=True,
        )  # fmt: skip
        link += nodes.inline(text="About the machines")
        line += [nodes.Text(" \N{MIDDLE DOT} "), link]
    return line


def _in_a_line(machine: Fingerprint) -> str:
    if machine.device_kind == "stand-in":
        return "the stand-in device (no GPU)"
    return short(machine)
