"""Where an output comes from, as a reader sees it: tabs, and a line at the foot.

- Tabs stand on a block whose outputs differ. They are radio buttons: the script
  (static/code.js) shows one machine in all blocks of the page. Without it each output
  is readable under its label.
- The line at the foot says on which other machines the outputs are the same.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.writers.html5 import HTML5Translator

from tensor_copies.run.fingerprint import Fingerprint

# What the reader of its output is told of the simulated device; a page has the rest.
STAND_IN = (
    "Not a GPU. PyTorch treats CPU memory as a second device. Times are left out. "
)


class output_head(nodes.General, nodes.Element):
    """The line above an output: its name."""


class machine_tabs(nodes.General, nodes.Element):
    """The choice of a machine on a block: ``choices`` are pairs of slug and name."""


def visit_output_head(self: HTML5Translator, node: output_head) -> None:
    """Write the line."""
    self.body.append(f'<p class="output-head">{escape(node["label"])}</p>\n')
    raise nodes.SkipNode


def visit_machine_tabs(self: HTML5Translator, node: machine_tabs) -> None:
    """Write the radio buttons; the first is of this build."""
    labels = "".join(
        f'<label><input type="radio" name="{node["name"]}" value="machine-{value}"'
        f"{'' if place else ' checked'}> {escape(words)}</label>"
        for place, (value, words) in enumerate(node["choices"])
    )
    self.body.append(
        '<fieldset class="machine-tabs"><legend class="visually-hidden">Output on'
        f"</legend>{labels}</fieldset>\n"
    )
    raise nodes.SkipNode


def short(machine: Fingerprint) -> str:
    """Return the device and the torch of a machine: what a reader tells it by."""
    if machine.device_kind == "stand-in":
        return "simulated device"
    return machine.label.rpartition(", Python")[0]


def slug(machine: Fingerprint) -> str:
    """Return the name of a machine as a part of an id or a class."""
    return machine.name.replace(".", "-")


def names_of(machines: list[Fingerprint]) -> list[str]:
    """Return what machines are called side by side: in short where that tells them."""
    names = [short(machine) for machine in machines]
    labels = [machine.label for machine in machines]
    return names if len(set(names)) == len(names) else labels


def variant(machine: Fingerprint, label: str, kind: str) -> nodes.container:
    """Return the place of one machine's output, with its label."""
    place = nodes.container(classes=["variant", kind, f"machine-{slug(machine)}"])
    place += nodes.paragraph(text=label, classes=["variant-label"])
    return place


def stand_in_note() -> nodes.paragraph:
    """Return what the reader of the stand-in's output is told, with a link to more."""
    link = addnodes.pending_xref(
        "", nodes.inline(text="What is simulated"), refdomain="std", reftype="ref",
        reftarget="stand-in-device", refexplicit=True, refwarn=True,
    )  # fmt: skip
    words = nodes.Text(STAND_IN)
    return nodes.paragraph("", "", words, link, classes=["stand-in-note"])


def elsewhere(compared: int, seen: dict[Fingerprint, int], same: set[Any]) -> str:
    """Say for the foot of a page on which other machines its results are the same.

    Of the ``compared`` outputs, ``seen`` says how many each of them has; ``same`` has
    those whose outputs all are the same. Nothing is said where no machine has any.
    """
    said = []
    agree = [
        f"on {machine.in_sentence}"
        + (f", for {count} of {compared} outputs," if count < compared else "")
        for machine, count in seen.items()
        if machine in same
    ]
    if agree:
        said.append(f"The same results {_joined(agree).removesuffix(',')}.")
    if differ := [f"on {one.in_sentence}" for one in seen if one not in same]:
        where = _joined(differ)
        said.append(
            f"{where[0].upper()}{where[1:]}, only the outputs in tabs or folded tables"
            " differ."
        )
    return " ".join(said)


def _joined(parts: list[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
