"""Show below an output what another machine gives, where that differs.

Each block of a lesson is compared with what the machine gave for the same code. Where
that is the same nothing is added. The setup, which says the name of the device, is not
compared. Of a block that takes times texts are never compared, and its figures only
with those of real machines.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from tensor_copies.figures import drawn_figure, figures_of
from tensor_copies.figures.tables import with_tables
from tensor_copies.gallery.kept import BY_LESSONS, Kept
from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.gallery.machine import Machine
from tensor_copies.machines.comparing import is_measured, plain, same_figure, same_text
from tensor_copies.machines.others import ABOUT_DEVICE, given_elsewhere, simulated_run
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


class Elsewhere:
    """What other machines gave for the blocks of the lesson that is read."""

    def __init__(self, app: Sphinx) -> None:
        script = lesson_scripts(app)[app.env.docname]
        self.name = script.stem
        self.keys = {block.lineno: key for key, block in keyed_blocks(script)}
        self.given = [
            (machine, Block(**block))
            for machine, given in given_elsewhere(
                lambda one: one.lessons.get(script.stem, ()), _simulated(script)
            )
            for block in given
        ]

    def boxes(
        self,
        line: int,
        code: str,
        printed: list[nodes.literal_block],
        drawn: list[nodes.raw],
    ) -> list[nodes.container]:
        """Return a box for each machine on which a block gave another thing.

        It begins on this line; ``printed`` and ``drawn`` are what it gave here.
        """
        text = plain("\n".join(one.astext().strip("\n") for one in printed))
        figures = [one.astext() for one in drawn]
        boxes = []
        for machine, there in self.given:
            if there.key == self.keys[line]:
                said = text if is_measured(code, text) else there.text
                others = self._others(figures, there.figures, line, machine)
                is_same = same_text(text, said)
                if others or not is_same:
                    said = "" if is_same else said or "(It printed nothing.)"
                    boxes.append(_box(machine, said, others))
        return boxes

    def _others(
        self, here: list[str], there: list[dict[str, Any]], line: int, machine: Machine
    ) -> list[str]:
        """Return what a machine drew and what is not drawn here, as markup."""
        name = f"{self.name}-{line}"
        return [
            drawn_figure(figure, f"{machine.device_kind}-{name}")
            for figure in there
            if not any(same_figure(drawn_figure(figure, name), one) for one in here)
        ]


def _box(machine: Machine, text: str, figures: list[str]) -> nodes.container:
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
    box += [nodes.raw("", markup, format="html") for markup in figures]
    if text:
        classes = ["sphx-glr-script-out"]
        box += with_tables(
            nodes.literal_block("", text, classes=classes, language="none")
        )
    return box
