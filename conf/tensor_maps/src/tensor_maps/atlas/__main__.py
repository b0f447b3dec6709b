"""``python -m tensor_maps.atlas``: print the Atlas, or what one expression does.

Without arguments it prints a table, with ``--json`` every record, and with an
expression such as ``"x.detach()"`` what that does. ``--device cpu`` says where ``x``
is; without it, ``x`` is on each device that is here.
"""

import argparse
import json
import sys
from typing import Any

import torch

from tensor_maps.atlas.calls import ALL_STATES, left_out
from tensor_maps.atlas.probe import devices, plan, probe


def _table(records: list[dict[str, Any]]) -> str:
    """Return the records as text, one line each."""
    lines = [f"{'operation':27} {'x':9} {'on':7} gradients  shared  result"]
    for record in records:
        flows, shares = (
            {True: "yes", False: "no", None: "-"}[record[column]]
            for column in ("gradient_flows", "shares_memory")
        )
        end = record["error"] or f"{record['result']}, {record['result_device']}"
        lines.append(
            f"{record['operation']:27} {record['state']:9} {record['device']:7} "
            f"{flows:10} {shares:7} {end}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the Atlas, or what one expression does."""
    parser = argparse.ArgumentParser(description="What operations do to a tensor x.")
    parser.add_argument("code", nargs="?", help="one expression that uses x")
    parser.add_argument("--state", choices=ALL_STATES, default="leaf", help="what x is")
    parser.add_argument(
        "--device", action="append", choices=devices(), help="the device that x is on"
    )
    parser.add_argument("--json", action="store_true", help="print all as JSON")
    options = parser.parse_args()
    if options.code is not None:
        for device in options.device or devices()[:1]:
            print(json.dumps(probe(options.code, options.state, device), indent=1))
    else:
        torch.set_warn_always(True)  # or a warning would show in one record alone
        records = [probe(*one) for one in plan() if one[2] in (options.device or one)]
        print(json.dumps(records) if options.json else _table(records))
        if (said := left_out()) is not None:
            print(said, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
