"""Below an output: what another machine gives, where that differs.

Each block of a lesson is compared with what the machine gave for the same code. Where
that is the same nothing is added. The setup, which says the name of the device, is not
compared, and of a block that takes times only the figures of real machines are shown.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from tensor_copies import simulated
from tensor_copies.errors.cards import ABOUT_DEVICE
from tensor_copies.figures import figures_of
from tensor_copies.figures.placed import figure_node, kept
from tensor_copies.figures.tables import without_table
from tensor_copies.gallery.kept import BY_LESSONS, Kept
from tensor_copies.gallery.lessons import lesson_scripts, setup_line
from tensor_copies.gallery.machine import Machine
from tensor_copies.lessons.blocks import LiveBlock, set_text
from tensor_copies.machines.comparing import is_measured, same, same_figure, same_text
from tensor_copies.machines.recording import (
    Block,
    keyed_blocks,
    recordings,
    simulated_machine,
)
from tensor_copies.machines.runner import run_lesson

CODE = (*BY_LESSONS, "tensor_copies/machines/*.py", "tensor_copies/simulated/*")


def on_simulated_device(script: str, text: str) -> list[dict[str, Any]]:
    """Run a lesson on the simulated device; its ``text`` is only a part of the key."""
    return [
        asdict(block) for block in run_lesson(Path(script), figures_of, simulated=True)
    ]


def _simulated(script: Path) -> Kept | None:
    """Return what the simulated device gives of a lesson, if it has a device to ask."""
    text = script.read_text(encoding="utf-8")
    if recordings() or not simulated.is_wanted() or "cuda" not in text:
        return None
    name = f"simulated-{script.stem}"
    return Kept(name, CODE, on_simulated_device, (str(script), text))


def want(app: Sphinx) -> None:
    """Have the build run lessons on the simulated device."""
    for script in lesson_scripts(app).values():
        if (kept := _simulated(script)) is not None:
            kept.want()


def _elsewhere(script: Path) -> list[tuple[Machine, list[Block]]]:
    """Return the other machines that ran a lesson, and what its blocks gave there."""
    found = [(one.machine, one.lessons.get(script.stem, [])) for one in recordings()]
    if (kept := _simulated(script)) is not None:
        blocks = [Block(**block) for block in kept.value()]
        found.append((simulated_machine(), blocks))
    return found


def add_below(app: Sphinx, script: Path, blocks: list[LiveBlock]) -> None:
    """Put below the outputs of a lesson what other machines give instead."""
    keys = {block.lineno: key for key, block in keyed_blocks(script)}
    elsewhere, setup = _elsewhere(script), setup_line(script)
    for live in blocks:
        drawn = (node for node in (*live.lead, *live.outputs) if "figure" in node)
        figures = [kept(app, node["figure"]) for node in drawn]
        _say_tables_once(live, figures)
        here = Block(keys[live.line], live.printed, figures)
        if live.line == setup:
            continue
        for machine, given in elsewhere:
            for there in (block for block in given if block.key == here.key):
                for figure in there.figures:
                    if "table" in figure:
                        there.text = without_table(there.text, figure["table"])
                if is_measured(live.code.astext(), here.text):
                    there.text = here.text
                if not same(here, there):
                    live.elsewhere.append(there.text)
                    live.below.append(_box(machine, here, there))


def _say_tables_once(live: LiveBlock, figures: list[dict[str, Any]]) -> None:
    """Take the tables of a block out of the texts that it printed."""
    tables = [figure["table"] for figure in figures if "table" in figure]
    for node in live.texts if tables else ():
        text = node.astext().strip("\n")
        for table in tables:
            text = without_table(text, table)
        set_text(node, text)
        if not text:
            live.outputs.remove(node)
    printed = "\n".join(node.astext() for node in live.texts)
    live.printed = "\n".join(map(str.rstrip, printed.strip("\n").split("\n")))


def _box(machine: Machine, here: Block, there: Block) -> nodes.container:
    """Return what a machine gave instead, under one line that names it."""
    said = f"On {machine.in_sentence}"
    name: nodes.Node = nodes.Text(said)
    if machine.device_kind == "simulated":
        name = addnodes.pending_xref(
            "", nodes.inline(text=said), refdomain="std", reftype="ref",
            reftarget=ABOUT_DEVICE, refexplicit=True, refwarn=True,
        )  # fmt: skip
    box = nodes.container(classes=["variant", "other-machine"])
    box += nodes.paragraph("", "", name, classes=["variant-label"])
    for number, figure in enumerate(there.figures):
        if not any(same_figure(figure, one) for one in here.figures):
            box += figure_node(figure, f"{machine.device_kind}-{there.key}-{number}")
    if not same_text(here.text, there.text):
        box += nodes.literal_block(
            "", there.text, classes=["sphx-glr-script-out"], language="none"
        )
    return box
