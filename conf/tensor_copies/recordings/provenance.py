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
    """The choice of a machine on a block: ``choices`` are pairs of slug and name.

    ``same`` are the machines that saw the same as this build, in words.
    """


def visit_output_head(self: HTML5Translator, node: output_head) -> None:
    """Write the line; the mark has its words for those who cannot see it."""
    text = f"{escape(node['label'])} {_mark(node['same'])}".strip()
    self.body.append(f'<p class="output-head">{text}</p>\n')
    raise nodes.SkipNode


def visit_machine_tabs(self: HTML5Translator, node: machine_tabs) -> None:
    """Write the radio buttons; the first, of this build, has the mark."""
    labels = "".join(
        f'<label><input type="radio" name="{node["name"]}" value="machine-{value}"'
        f"{'' if place else ' checked'}> {escape(words)}"
        f"{'' if place else _mark(node['same'])}</label>"
        for place, (value, words) in enumerate(node["choices"])
    )
    self.body.append(
        '<fieldset class="machine-tabs"><legend class="visually-hidden">Output on'
        f"</legend>{labels}</fieldset>\n"
    )
    raise nodes.SkipNode


def _mark(same: list[str]) -> str:
    """Return the mark of an output that is the same on these machines."""
    if not same:
        return ""
    words = escape(the_same_on(same), quote=True)
    return (
        f'<span class="same-mark" title="{words}"><span aria-hidden="true">'
        f"\N{CHECK MARK}\N{NO-BREAK SPACE}{len(same)}</span>"
        f'<span class="visually-hidden"> {words}</span></span>'
    )


def the_same_on(same: list[str]) -> str:
    """Say on how many machines an output is the same, and on which."""
    machines = "1 other machine" if len(same) == 1 else f"{len(same)} other machines"
    return f"the same on {machines}: {'; '.join(same)}"


def short(machine: Fingerprint) -> str:
    """Return the device and the torch of a machine: what a reader tells it by."""
    if machine.device_kind == "stand-in":
        return "stand-in device (no GPU)"
    return machine.label.rpartition(", Python")[0]


def slug(machine: Fingerprint) -> str:
    """Return the name of a machine as a part of an id or a class."""
    return machine.name.replace(".", "-")


def names_of(machines: list[Fingerprint]) -> list[str]:
    """Return what machines are called side by side: in short where that tells them."""
    names = [short(machine) for machine in machines]
    if len(set(names)) < len(names):
        return [machine.label for machine in machines]
    return names


def variant(machine: Fingerprint, label: str, kind: str) -> nodes.container:
    """Return the place of one machine's output, with its label."""
    place = nodes.container(classes=["variant", kind, f"machine-{slug(machine)}"])
    place += nodes.paragraph(text=label, classes=["variant-label"])
    return place


def stand_in_note() -> nodes.paragraph:
    """Return what the reader of the stand-in's output is told, with a link to more."""
    note = nodes.paragraph(text=STAND_IN, classes=["stand-in-note"])
    note += _link("ref", "stand-in-device", "More of it")
    return note


def _link(kind: str, target: str, words: str) -> addnodes.pending_xref:
    link = addnodes.pending_xref(
        "", refdomain="std", reftype=kind, reftarget=target, refexplicit=True,
        refwarn=True,
    )  # fmt: skip
    link += nodes.inline(text=words)
    return link


def page_line(
    app: Sphinx, outputs: int, same: dict[Fingerprint, int]
) -> nodes.paragraph:
    """Return the line of a page: who ran it, and how much of it is the same elsewhere.

    Of the ``outputs`` that can be compared, ``same`` says how many each other machine
    saw the same.
    """
    said = f"Ran on {short(fingerprint())}"
    where, of = "the same on", " output" if outputs == 1 else " outputs"
    for machine, count in same.items():
        the = "the " if machine.device_kind == "stand-in" else ""
        said += (
            f" \N{MIDDLE DOT} {where} {the}{short(machine)}: {count} of {outputs}{of}"
        )
        where, of = "on", ""  # said once
    line = nodes.paragraph(text=said, classes=["provenance"])
    if MACHINES in app.env.found_docs:
        link = _link("doc", f"/{MACHINES}", "Machines")
        line += [nodes.Text(" \N{MIDDLE DOT} "), link]
    return line
