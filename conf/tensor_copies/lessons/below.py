"""Below an output: what another machine gives, where that differs.

Each block of a lesson is compared with what the machine gave for the same code. Where
that is the same nothing is added. The setup, which says the name of the device, is not
compared, and of a block that takes times only the figures of real machines are shown.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from tensor_copies.errors.cards import ABOUT_DEVICE
from tensor_copies.figures import figures_of
from tensor_copies.figures.placed import figure_node, kept
from tensor_copies.figures.tables import without_table
from tensor_copies.gallery.kept import BY_LESSONS, Kept
from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.gallery.machine import Machine
from tensor_copies.lessons.blocks import LiveBlock, set_text
from tensor_copies.lessons.opening import setup_line
from tensor_copies.machines.comparing import (
    is_measured,
    plain,
    same,
    same_figure,
    same_text,
)
from tensor_copies.machines.others import given_elsewhere, simulated_run
from tensor_copies.machines.recording import Block, keyed_blocks
from tensor_copies.machines.runner import run_lesson


def on_simulated_device(script: str, text: str) -> list[dict[str, Any]]:
    """Run a lesson on the simulated device; its ``text`` is only a part of the key."""
    return run_lesson(Path(script), figures_of, simulated=True)


def _simulated(script: Path) -> Kept | None:
    return simulated_run("simulated", BY_LESSONS, on_simulated_device, script)


def want(app: Sphinx) -> None:
    """Have the build run lessons on the simulated device."""
    for script in lesson_scripts(app).values():
        if (kept := _simulated(script)) is not None:
            kept.want()


def add_below(app: Sphinx, script: Path, blocks: list[LiveBlock]) -> None:
    """Put below the outputs of a lesson what other machines give instead."""
    keys = {block.lineno: key for key, block in keyed_blocks(script)}
    elsewhere = [
        (machine, Block(**block))
        for machine, given in given_elsewhere(
            lambda one: one.lessons.get(script.stem, ()), _simulated(script)
        )
        for block in given
    ]
    setup = setup_line(script)
    for live in blocks:
        figures = [
            kept(app, node["figure"]) if "figure" in node else {"chart": node.astext()}
            for node in (*live.lead, *live.outputs)
            if "figure" in node or isinstance(node, nodes.raw)
        ]
        _say_tables_once(live, figures)
        here = Block(keys[live.line], live.printed, figures)
        if live.line == setup:
            continue
        for machine, there in elsewhere:
            text = _without_tables(there.text, there.figures)
            if is_measured(live.code.astext(), here.text):
                text = here.text
            there = replace(there, text=text)
            if there.key == here.key and not same(here, there):
                live.elsewhere.append(text)
                live.below.append(_box(machine, here, there))


def _say_tables_once(live: LiveBlock, figures: list[dict[str, Any]]) -> None:
    """Take the tables of a block out of the texts that it printed."""
    for node in live.texts:
        text = _without_tables(node.astext().strip("\n"), figures)
        if not text:
            live.outputs.remove(node)
        elif text != node.astext().strip("\n"):
            set_text(node, text)
    live.printed = plain("\n".join(node.astext() for node in live.texts))


def _without_tables(text: str, figures: list[dict[str, Any]]) -> str:
    for figure in figures:
        text = without_table(text, figure["table"]) if "table" in figure else text
    return text


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
