"""Other machines' outputs beside the live ones, block by block.

Each code block's output is compared with what the recordings of other machines hold for
the same code. Where all are the same, the output stays as it is. Where they differ,
tabs on the block show one machine at a time, with the parts that differ marked. The
foot of the page says where the results are the same. The setup, which says the
name of the device, is not compared.

What the simulated device saw is shown where CUDA has not seen the same code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from tensor_copies.recordings.beside import (
    kept,
    map_node,
    offer_samples,
    put_beside,
    same_tables,
)
from tensor_copies.recordings.check import load_figure
from tensor_copies.recordings.comparing import (
    device_here,
    is_measured,
    map_on,
    on_one_device,
    with_marks,
)
from tensor_copies.recordings.format import (
    BadRecording,
    Block,
    Recording,
    Seen,
    cuda_first,
    keys,
)
from tensor_copies.recordings.live import LiveBlock
from tensor_copies.recordings.others import load_all, refuse
from tensor_copies.recordings.provenance import (
    elsewhere,
    machine_tabs,
    names_of,
    output_head,
    slug,
    stand_in_note,
    variant,
)
from tensor_copies.run.fingerprint import Fingerprint, fingerprint
from tensor_copies.run.freshness import in_words
from tensor_copies.run.markers import LEAD, lead_line, setup_line


def add_recordings(app: Sphinx, script: Path, blocks: Sequence[LiveBlock]) -> None:
    """Put the recorded outputs of a lesson beside its live ones."""
    page = app.env.docname
    recordings = load_all(app, page.partition("/")[2])
    wanted, lead, setup = keys(script), lead_line(script), setup_line(script)
    compared, having, differing = 0, Counter(), set()
    for live in blocks:
        seen = cuda_first(
            [
                _seen(app, recording, block)
                for recording in recordings
                for block in recording.blocks
                if block.key == wanted[live.line] and not block.left_out
            ]
        )
        for links in live.samples:
            offer_samples(app, links, seen)
        seen = [] if live.line == setup else seen
        live.printed = "\n".join(_normal(text.astext()) for text in live.texts)
        measured = is_measured(live.code.astext(), live.printed)
        opening = _opening(script, live) if live.line == lead else None
        agreed = _show_block(app, live, seen, opening, measured)
        if seen and agreed and not measured:
            compared += 1
            for machine in (one.machine for one in seen):
                having[machine] += 1
                if not all(machine in machines for machines in agreed):
                    differing.add(machine)
    same = having.keys() - differing
    app.env.metadata[page]["elsewhere"] = elsewhere(compared, having, same)


def _seen(app: Sphinx, recording: Recording, block: Block) -> Seen:
    """Load the figures of a recorded block, each once."""
    figures: dict[str, dict[str, Any]] = {}
    for file in block.figures:
        path = Path(app.srcdir, "recordings", recording.machine.name, file)
        try:
            figures[file] = load_figure(path)
        except BadRecording as bad:
            refuse(bad)
    return Seen(recording.machine, recording.day, block.output, figures)


def _opening(script: Path, live: LiveBlock) -> nodes.raw:
    """Return the drawing of a block that opens the page."""
    for node in live.outputs:
        if isinstance(node, nodes.raw):
            return node
    raise ExtensionError(
        f"{script.stem}: the block on line {live.line} is to open the page and draws "
        f"nothing: put sphinx_gallery_{LEAD} into a block with a map or a chart"
    )


def _show_block(
    app: Sphinx,
    live: LiveBlock,
    seen: list[Seen],
    opening: nodes.raw | None,
    measured: bool,
) -> list[set[Fingerprint]]:
    """Put what others saw beside the outputs of a block.

    What opens the page, and each table, is compared apart from the rest. Return for
    each of them who saw the same, if it was compared.
    """
    agreed = []

    def shown(outputs: list[nodes.Element], seen: list[Seen], name: str) -> list:
        # Charts and tables of all machines are shown at once, without tabs.
        made = [node for node in outputs if put_beside(app, node, seen)]
        agreed.extend(same_tables(app, made, seen))
        if rest := [node for node in outputs if node not in made]:
            part = _Part(app, live, rest)
            others = [one for one in seen if not part.is_seen_by(one)]
            agreed.append({one.machine for one in seen if one not in others})
            live.elsewhere += [one.output for one in others if one.output]
            made += part.with_tabs(others, name, measured) if others else part.alone()
        return made

    if opening is not None:
        live.outputs.remove(opening)
        first = [one.with_figures(slice(1), output="") for one in seen]
        live.lead = shown([opening], first, "machine-lead")
        seen = [one.with_figures(slice(1, None), one.output) for one in seen]
    live.outputs = shown(live.outputs, seen, f"machine-{live.line}")
    return agreed


class _Part:
    """Outputs of a block that are compared together: drawings, and what it printed."""

    def __init__(
        self, app: Sphinx, live: LiveBlock, outputs: list[nodes.Element]
    ) -> None:
        self._texts = [one for one in outputs if isinstance(one, nodes.literal_block)]
        self._drawn = [one for one in outputs if one not in self._texts]
        self._printed = live.printed if self._texts else ""
        self._kept = [kept(app, one["map"]) for one in self._drawn]
        self._maps = [{"map": data["map"]} for data in self._kept]

    def is_seen_by(self, seen: Seen) -> bool:
        """Whether a machine saw the same, but for the name of its only device."""
        others = [*seen.alternatives.values()]
        if seen.output == self._printed and others == self._maps:
            return True
        same_text = on_one_device(seen.output) == on_one_device(self._printed)
        return same_text and [*map(_here, others)] == self._maps

    def alone(self) -> list[nodes.Element]:
        """Return what is shown where nobody saw anything else."""
        heads = [output_head(label="Output")] if self._texts else []
        return [*self._drawn, *heads, *self._texts]

    def with_tabs(
        self, others: list[Seen], name: str, measured: bool
    ) -> list[nodes.Element]:
        """Return what was seen here and by others, each with its machine."""
        group = nodes.container(classes=["machines-outputs"])
        machines = [fingerprint(), *(one.machine for one in others)]
        choices = list(zip(map(slug, machines), names_of(machines), strict=True))
        group += machine_tabs(choices=choices, name=name)
        label = f"This build: {fingerprint().label}"
        here = variant(fingerprint(), label, "live")
        here += self._drawn
        if self._printed:
            texts = [] if measured else [one.output for one in others]
            here += with_marks(self._printed, texts)
        group += here
        for one in others:
            label = f"Recorded {in_words(one.day)}: {one.machine.label}"
            there = variant(one.machine, label, "recorded")
            if one.machine.device_kind == "stand-in":
                there += stand_in_note()
            drawn_as = chain(self._kept, repeat({}))
            for (file, data), live in zip(
                one.alternatives.items(), drawn_as, strict=False
            ):
                name = f"{slug(one.machine)}-{Path(file).stem.replace('.', '-')}"
                there += map_node(live | data, name)
            if one.output:
                texts = [] if measured else [self._printed]
                there += with_marks(one.output, texts)
            group += there
        return [group]


def _here(figure: dict[str, Any]) -> dict[str, Any]:
    """Return a recorded map as if it were of this machine's device."""
    return {"map": map_on(device_here(), figure["map"])}


def _normal(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))
