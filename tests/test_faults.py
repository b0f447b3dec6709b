"""Faults that are met: a few builds with many, and the table of all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import measure_faults
import planted_faults as planted
import pytest
from tensor_copies.explorer import kept as explorer
from tensor_copies.machine import kept, kept_json, processes


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> measure_faults.Workshop:
    """Return a good site in a folder with a difficult name."""
    return measure_faults.Workshop(tmp_path_factory.mktemp("workshop"))


ENOUGH = {
    "what fails": [
        planted.LEAVING,
        planted.GROWING[0],
        planted.SILENT,
        planted.NAMED[-1],
        planted.DISK[4],
    ],
    "texts": [planted.TEXTS[0]],
    "a GPU that cannot be used": [planted.MACHINE[1]],
    "other settings": [planted.MACHINE[3]],
}


@pytest.mark.slow
@pytest.mark.parametrize("what", ENOUGH)
def test_faults_are_met(what: str, workshop: measure_faults.Workshop) -> None:
    rows = measure_faults.meet(workshop, measure_faults.Chain(what, ENOUGH[what]))
    assert [(row.fault, row.wrong) for row in rows if row.wrong] == []
    assert any(row.verdict == "pass" for row in rows)


def test_the_table_is_of_these_faults() -> None:
    """It is made by `nox -s faults`, where nothing failed."""
    found = {name: row[-1] for name, row in measure_faults.written().items()}
    chains = measure_faults.chains()
    wanted = {fault for chain in chains for fault in measure_faults.faults_of(chain)}
    assert set(found) - {"fault", "---"} == wanted
    assert {found[fault] for fault in wanted} <= {"pass", "not tried"}


def test_memory_is_that_of_all_that_a_process_started() -> None:
    code = "import sys; held = b'x' * 50_000_000; print(flush=True); sys.stdin.read()"
    start = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", start, code],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    ) as child:  # fmt: skip
        child.stdout.readline()
        sizes = processes.taken_by(child.pid)
        assert child.pid in sizes and len(sizes) == 2
        assert max(sizes.values()) > 50_000_000
        processes.end_all(child.pid)
    assert child.pid not in processes.taken_by(child.pid)


def test_a_pipe_among_the_sources_is_no_reason_to_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("text")
    assert list(kept._hashes(tmp_path)) == ["file"]


def test_what_was_probed_is_kept_only_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer, "BUILD", tmp_path)
    monkeypatch.setattr(explorer, "live_key", lambda: "key")
    monkeypatch.setattr(explorer, "Explorer", dict)
    monkeypatch.setattr(explorer, "probe", lambda: ({"new": 1}, {}))
    monkeypatch.setattr(explorer, "pack", lambda head, seen: head)
    file = tmp_path / "explorer" / "key.json"

    def seen() -> dict[str, int]:
        explorer.live.cache_clear()
        return explorer.live()

    assert seen() == {"new": 1}
    kept_json.save(file, {"kept": 1})
    whole = file.read_text()
    assert seen() == {"kept": 1}
    for damaged in (whole.partition("\n")[2], whole.replace("1}", "12}"), "", "{"):
        assert damaged != whole
        file.write_text(damaged)
        assert seen() == {"new": 1}
    explorer.live.cache_clear()
