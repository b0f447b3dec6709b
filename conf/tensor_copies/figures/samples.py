"""Raw samples of a benchmark: a small CSV beside the plot, with who measured it.

A code block hands out a list of dictionaries, one for each sample, all with the same
keys, with a comment that neither page nor notebook shows::

    # sphinx_gallery_benchmark_data = "samples"
"""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from typing import Any

from tensor_copies.figures.tables import handed_out, path_of
from tensor_copies.gallery.machine import Machine, this_machine

MARKER = "benchmark_data"
CLASS = "benchmark-data"


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Write the samples that a block hands out; return the reST of their link."""
    table = requested_samples(block, block_vars)
    if table is None:
        return ""
    path, machine = path_of(block_vars, "samples.csv"), this_machine()
    today = datetime.now(UTC).date().isoformat()
    path.write_text(as_csv(table, machine, today), encoding="utf-8")
    target = f"{path.parent.name}/{path.name}"
    label = link_text(table, machine)
    return f".. container:: {CLASS}\n\n    :download:`{label} <{target}>`\n"


def requested_samples(block: Any, block_vars: dict[str, Any]) -> dict[str, Any] | None:
    """Return the samples that a block hands out as columns and rows, or None."""
    return handed_out(block, block_vars, MARKER, "samples", _plain)


def as_csv(table: dict[str, Any], machine: Machine, day: str) -> str:
    """Return samples as CSV, after comments that say who measured them and when."""
    text = io.StringIO()
    text.write(f"# measured on {day} with {machine}\n")
    text.write("# times in seconds per call\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table["columns"])
    writer.writerows(table["rows"])
    return text.getvalue()


def link_text(table: dict[str, Any], machine: Machine) -> str:
    """Return what the link to samples says."""
    return f"All {len(table['rows'])} samples as CSV: {machine.label}"


def _plain(value: Any) -> str | int | float | bool:
    """Return a NumPy number as Python's, a time with four digits."""
    value = value.item() if hasattr(value, "item") else value
    return float(f"{value:.4g}") if isinstance(value, float) else value
