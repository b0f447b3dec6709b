"""Record what this machine gives: lessons, the probes of calls.

``nox -s record`` runs it. A machine without a network needs neither nox nor the theme:
in conf/, with ``tensor_maps/src`` on PYTHONPATH, ``python -m tensor_copies.record``.
"""

from datetime import UTC, datetime

from tensor_copies.calls.facts import probe_all
from tensor_copies.figures import figures_of
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.gallery.kept import CONF
from tensor_copies.gallery.lessons import scripts
from tensor_copies.gallery.machine import this_machine
from tensor_copies.machines.recording import Recording
from tensor_copies.machines.runner import run_lesson


def main() -> None:
    """Run all, each lesson in a fresh process; write one JSON file."""
    seen = Recording(this_machine(), datetime.now(UTC).date().isoformat())
    for script in scripts():
        print(script.name, flush=True)
        seen.lessons[script.stem] = in_fresh_process(run_lesson, script, figures_of)
    seen.calls = in_fresh_process(probe_all, False)
    path = seen.save().relative_to(CONF.parent)
    print(f"Wrote {path}: look at the difference, build the site, commit it.")


if __name__ == "__main__":
    main()
