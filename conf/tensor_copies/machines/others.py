"""Find what other machines gave: those with a recording, and the simulated device."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tensor_copies import simulated
from tensor_copies.gallery.kept import Kept
from tensor_copies.gallery.machine import Machine
from tensor_copies.machines.recording import Recording, recordings, simulated_machine

ABOUT_DEVICE = "stand-in-device"  # the label of the text on the simulated one
CODE = ("tensor_copies/machines/*.py", "tensor_copies/simulated/*")


def shows_simulated() -> bool:
    """Whether pages show the simulated device: as long as no CUDA is recorded."""
    recorded = [one.machine.device_kind for one in recordings()]
    return simulated.is_wanted() and "cuda" not in recorded


def simulated_run(
    what: str, code: tuple[str, ...], function: Callable[..., Any], source: Path
) -> Kept | None:
    """Return what a function gives with the simulated device, if pages show it.

    It is given the path of the source and its text, which names CUDA.
    """
    text = source.read_text(encoding="utf-8")
    if not shows_simulated() or simulated.with_its_name(text) == text:
        return None
    return Kept(f"{what}-{source.stem}", (*code, *CODE), function, (str(source), text))


def given_elsewhere(
    of: Callable[[Recording], Any], kept: Kept | None
) -> Iterator[tuple[Machine, Any]]:
    """Yield the other machines and what each gave: ``of`` its recording or ``kept``."""
    for one in recordings():
        yield one.machine, of(one)
    if kept is not None:
        yield simulated_machine(), kept.value()
