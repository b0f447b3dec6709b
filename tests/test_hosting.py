"""What the hosts are told: files that nobody here runs, checked as they stand."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from conftest import PATIENCE, ROOT
from packaging.requirements import Requirement
from tensor_copies.machine.fingerprint import OLDEST_PYTHON, OLDEST_TORCH

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FILES = {
    ROOT / ".readthedocs.yaml": "vendor.readthedocs",
    ROOT / ".github" / "dependabot.yml": "vendor.dependabot",
    **dict.fromkeys(WORKFLOWS, "vendor.github-workflows"),
}
EACH = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
LOCK = ROOT / "constraints.txt"
PYTHONS = ("3.11", "3.12", "3.13")


def load(path: Path) -> dict:
    """Return a file as a host reads it, `on` as a word (YAML takes it for true)."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)


def steps_of(workflow: dict) -> list[dict]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def validate(path: Path, schema: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    return subprocess.run(
        [*command, path], capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_host_understands_the_file(path: Path) -> None:
    pytest.importorskip("check_jsonschema")
    done = validate(path, FILES[path])
    assert done.returncode == 0, done.stdout


@EACH
def test_actions_are_pinned_by_commit_and_say_their_version(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if "uses:" in line]
    assert lines
    versions: dict[str, set[str]] = {}
    for line in lines:
        found = re.fullmatch(
            r".*uses: ([\w/-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+).*", line
        )
        assert found, line
        versions.setdefault(found[1], set()).add(found[2] + found[3])
    assert all(len(pins) == 1 for pins in versions.values()), versions


@EACH
def test_a_job_may_do_no_more_than_it_says(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}, "what is not said is denied"
    writes = {}
    for name, job in workflow["jobs"].items():
        assert "permissions" in job and "timeout-minutes" in job, name
        found = {scope for scope, may in job["permissions"].items() if may == "write"}
        # What a pull request runs may write nothing.
        if found:
            writes[name] = found
            assert "github.event_name != 'pull_request'" in job["if"], name
        # Code of a pull request, and its tools, run where nothing can be written.
        ran = " ".join(step.get("run", "") for step in job["steps"])
        if found:
            assert not re.search(r"\b(pip|nox|python)\b", ran), name
    of_the_site = {"deploy": {"pages", "id-token"}, "notebooks": {"contents"}}
    assert writes == (of_the_site if path.name == "site.yml" else {})
    for step in steps_of(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] == "false"
        # An expression in a script is text that others write.
        assert "${{" not in step.get("run", ""), step


def test_the_recording_job_runs_by_hand_only_and_hands_over() -> None:
    workflow = load(ROOT / ".github" / "workflows" / "site.yml")
    record, build = workflow["jobs"]["record"], workflow["jobs"]["build"]
    assert "self-hosted" in record["runs-on"]
    assert "workflow_dispatch" in record["if"] and "inputs.record" in record["if"]
    assert "pull_request_target" not in workflow["on"]
    given = next(
        s["with"] for s in record["steps"] if "upload-artifact" in s.get("uses", "")
    )
    taken = next(s for s in build["steps"] if "download-artifact" in s.get("uses", ""))
    assert "record" in build["needs"]
    assert taken["with"] == {key: given[key] for key in ("name", "path")}
    assert (ROOT / given["path"]).is_dir()


def test_the_cache_is_kept_by_the_fingerprint(site: Path) -> None:
    workflow = load(ROOT / ".github" / "workflows" / "site.yml")
    steps = workflow["jobs"]["build"]["steps"]
    cache = next(s["with"] for s in steps if "actions/cache@" in s.get("uses", ""))
    signature = "${{ steps.machine.outputs.signature }}"
    assert cache["key"].startswith(f"site-{signature}-")
    assert cache["restore-keys"] == f"site-{signature}-"
    for folder in cache["path"].split():  # what git does not have, and a build makes
        assert (ROOT / folder).is_dir()
        # A checkout may belong to another user, as in a container.
        git = ["git", "-c", "safe.directory=*"]
        ignored = [*git, "check-ignore", "--quiet", folder]
        assert subprocess.run(ignored, cwd=ROOT).returncode == 0, folder
    (machine,) = (step for step in steps if step.get("id") == "machine")
    script = machine["run"].replace("python ", f"{shlex.quote(sys.executable)} ")
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],  # as a runner does
        cwd=ROOT,
        env={"GITHUB_OUTPUT": "/dev/stderr", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    said = re.fullmatch(r"signature=([0-9a-f]{16})\n", done.stderr)
    assert said and done.stdout.startswith(f"{said[1]} torch "), done


def test_hosts_build_as_everybody_does() -> None:
    read_the_docs = load(ROOT / ".readthedocs.yaml")
    jobs = read_the_docs["build"]["jobs"]
    (install,) = (line for line in jobs["install"] if "--group" in line)
    assert "--group docs" in install and "--constraint constraints.txt" in install
    # A CPU build: a plain pip would take gigabytes of CUDA packages.
    assert "--torch-backend cpu" in install
    assert "python conf/build_site.py" in jobs["build"]["html"]
    workflow = load(ROOT / ".github" / "workflows" / "site.yml")
    ran = [step["run"] for step in workflow["jobs"]["build"]["steps"] if "run" in step]
    (install,) = (script for script in ran if "--group tests" in script)
    assert "--torch-backend cpu" in install and "--constraint " in install
    assert "nox --no-venv -s tests" in ran and "python conf/build_site.py" in ran
    assert workflow["jobs"]["build"]["env"]["PIP_CONSTRAINT"] == "constraints.txt"
    python = read_the_docs["build"]["tools"]["python"]
    setup = next(
        s["with"]["python-version"]
        for s in steps_of(workflow)
        if "setup-python" in s.get("uses", "")
    )
    assert python == setup and python in PYTHONS


def test_no_file_says_where_packages_come_from() -> None:
    for path in [*FILES, LOCK]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://[\w-]+\.[\w.-]+", text), path
        assert not re.search("file:|find-links|index-url|INDEX_URL", text), path


def groups() -> dict[str, list]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["dependency-groups"]


def requirements(group: str) -> list[Requirement]:
    """Return what a dependency group asks for, with the groups in it."""
    found = []
    for entry in groups()[group]:
        if isinstance(entry, dict):
            found += requirements(entry["include-group"])
        else:
            found.append(Requirement(entry))
    return found


def locked(python: str) -> dict[str, Requirement]:
    """Return what the lock pins for Linux with this Python, by name."""
    here = {"python_version": python, "python_full_version": f"{python}.9",
            "sys_platform": "linux", "platform_system": "Linux",
            "platform_machine": "x86_64", "platform_python_implementation": "CPython",
            "implementation_name": "cpython", "os_name": "posix"}  # fmt: skip
    pins = {}
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            pin = Requirement(line)
            if pin.marker is None or pin.marker.evaluate(here):
                assert pin.name not in pins, (pin, pins[pin.name])
                pins[pin.name] = pin
    return pins


def test_the_ends_of_what_is_supported_are_tried_each_week() -> None:
    weekly = load(ROOT / ".github" / "workflows" / "weekly.yml")
    assert list(weekly["on"]["schedule"][0]) == ["cron"]
    tried = weekly["jobs"]["check"]["strategy"]["matrix"]["include"]
    pythons = {one["session"]: one["python"] for one in tried}
    assert pythons["tests-oldest"] == ".".join(map(str, OLDEST_PYTHON))
    assert pythons["tests-newest"] == PYTHONS[-1]
    done = subprocess.run(
        [sys.executable, "-m", "nox", "--list"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE,
    )  # fmt: skip
    sessions = re.findall(r"(?m)^[-*] ([\w-]+)", done.stdout)
    assert set(pythons) <= set(sessions)
    (torch,) = requirements("torch-oldest")
    assert torch.specifier.contains(".".join(map(str, OLDEST_TORCH)))


@pytest.mark.parametrize("group", ["tests", "live", "lint", "hosted"])
def test_each_requirement_has_one_lower_bound(group: str) -> None:
    """``tests-oldest`` installs it, so it must name a release, and all of its parts."""
    for asked in requirements(group):
        if asked.name != "torch":
            (bound,) = asked.specifier
            assert bound.operator == ">=", asked


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_pins_what_the_groups_ask_for(python: str) -> None:
    pins = locked(python)
    for group in ("tests", "live", "lint", "hosted"):
        for asked in requirements(group):
            name = re.sub(r"[-_.]+", "-", asked.name).lower()
            assert name in pins, f"run `nox -s lock`: {name} is not in constraints.txt"
            (pin,) = pins[name].specifier
            assert pin.operator == "=="
            assert asked.specifier.contains(pin.version), (
                f"run `nox -s lock`: {pins[name]} is not what {asked} asks for"
            )
    # A CPU build has a local version: pip takes it for the pinned one.
    assert pins["torch"].specifier.contains("2.13.0+cpu")
    assert {"sphinx", "jinja2", "docutils", "nox"} <= set(pins)
