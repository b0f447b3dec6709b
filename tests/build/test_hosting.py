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
from packaging.requirements import Requirement
from reading import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FILES = {
    ROOT / ".readthedocs.yaml": "vendor.readthedocs",
    GITHUB / "dependabot.yml": "vendor.dependabot",
    **dict.fromkeys(WORKFLOWS, "vendor.github-workflows"),
}
EACH = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
LOCK = ROOT / "constraints.txt"
PYTHONS = ("3.11", "3.12", "3.13")
GROUPS = ("tests", "live", "lint", "hosted")


def load(path: Path) -> dict:
    """Return a file as a host reads it, `on` as a word (YAML takes it for true)."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)


def jobs(workflow: str) -> dict[str, dict]:
    return load(GITHUB / "workflows" / f"{workflow}.yml")["jobs"]


def step_with(job: dict, name: str) -> dict[str, str]:
    """Return what the step of a job is given that uses this action."""
    return next(s["with"] for s in job["steps"] if name in s.get("uses", ""))


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **options)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_host_understands_the_file(path: Path) -> None:
    schema = "--builtin-schema", FILES[path]
    done = run(sys.executable, "-m", "check_jsonschema", *schema, path)
    assert done.returncode == 0, done.stdout


@EACH
def test_actions_are_pinned_by_commit_and_say_their_version(path: Path) -> None:
    versions: dict[str, set[str]] = {}
    for line in path.read_text().splitlines():
        if "uses:" in line:
            found = re.fullmatch(
                r".*uses: ([\w/-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+).*", line
            )
            assert found, line
            versions.setdefault(found[1], set()).add(found[2] + found[3])
    assert versions and all(len(pins) == 1 for pins in versions.values()), versions


@EACH
def test_a_job_may_do_no_more_than_it_says(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}, "what is not said is denied"
    writes = {}
    for name, job in workflow["jobs"].items():
        assert "permissions" in job and "timeout-minutes" in job, name
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] == "false"
            # An expression in a script is text that others write.
            assert "${{" not in step.get("run", ""), step
        if found := {key for key, may in job["permissions"].items() if may == "write"}:
            writes[name] = found
            # What a pull request runs may write nothing, and its code and tools run
            # where nothing can be written.
            assert "github.event_name != 'pull_request'" in job["if"], name
            ran = " ".join(step.get("run", "") for step in job["steps"])
            assert not re.search(r"\b(pip|nox|python)\b", ran), name
    of_the_site = {"deploy": {"pages", "id-token"}, "notebooks": {"contents"}}
    assert writes == (of_the_site if path.name == "site.yml" else {})


def test_the_cache_is_kept_by_the_fingerprint() -> None:
    build = jobs("site")["build"]
    cache = step_with(build, "actions/cache@")
    signature = "${{ steps.machine.outputs.signature }}"
    assert cache["key"].startswith(f"site-{signature}-")
    assert cache["restore-keys"] == f"site-{signature}-"
    for folder in cache["path"].split():  # what git does not have
        # A checkout may belong to another user, as in a container.
        git = "git", "-c", "safe.directory=*", "check-ignore", "--quiet"
        assert run(*git, folder).returncode == 0, folder
    (machine,) = (step for step in build["steps"] if step.get("id") == "machine")
    script = machine["run"].replace("python ", f"{shlex.quote(sys.executable)} ")
    env = {"GITHUB_OUTPUT": "/dev/stderr", "PATH": os.environ["PATH"]} | machine["env"]
    done = run("bash", "-eo", "pipefail", "-c", script, env=env)  # as a runner does
    said = re.fullmatch(r"signature=([0-9a-f]{16})\n", done.stderr)
    assert said and done.stdout.startswith(f"{said[1]} torch "), done


def test_hosts_build_as_everybody_does() -> None:
    read_the_docs, build = (
        load(ROOT / ".readthedocs.yaml")["build"],
        jobs("site")["build"],
    )
    (install,) = (
        line for line in read_the_docs["jobs"]["install"] if "--group" in line
    )
    assert "--group docs" in install and "--constraint constraints.txt" in install
    # A CPU build: a plain pip would take gigabytes of CUDA packages.
    assert "--torch-backend cpu" in install
    assert "python conf/build_site.py" in read_the_docs["jobs"]["build"]["html"]
    ran = [step["run"] for step in build["steps"] if "run" in step]
    (install,) = (script for script in ran if "--group tests" in script)
    assert "--torch-backend cpu" in install and "--constraint " in install
    assert "nox --no-venv -s tests" in ran and "python conf/build_site.py" in ran
    assert build["env"]["PIP_CONSTRAINT"] == "constraints.txt"
    python = read_the_docs["tools"]["python"]
    assert python == step_with(build, "setup-python")["python-version"] in PYTHONS


def test_no_file_says_where_packages_come_from() -> None:
    for path in [*FILES, LOCK]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://[\w-]+\.[\w.-]+", text), path
        assert not re.search("file:|find-links|index-url|INDEX_URL", text), path


def requirements(group: str) -> list[Requirement]:
    """Return what a dependency group asks for, with the groups in it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = []
    for entry in tomllib.loads(text)["dependency-groups"][group]:
        if isinstance(entry, dict):
            found += requirements(entry["include-group"])
        else:
            found.append(Requirement(entry))
    return found


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_pins_what_the_groups_ask_for(python: str) -> None:
    here = {"python_version": python, "python_full_version": f"{python}.9",
            "sys_platform": "linux", "platform_system": "Linux",
            "platform_machine": "x86_64", "platform_python_implementation": "CPython",
            "implementation_name": "cpython", "os_name": "posix"}  # fmt: skip
    pins = {}
    for pin in map(Requirement, LOCK.read_text(encoding="utf-8").splitlines()[1:]):
        if pin.marker is None or pin.marker.evaluate(here):
            assert pin.name not in pins, (pin, pins[pin.name])
            (version,) = pin.specifier
            assert version.operator == "=="
            pins[pin.name] = version.version
    for asked in (one for group in GROUPS for one in requirements(group)):
        name = re.sub(r"[-_.]+", "-", asked.name).lower()
        assert name in pins, f"run `nox -s lock`: {name} is not in constraints.txt"
        assert asked.specifier.contains(pins[name]), f"run `nox -s lock`: {asked}"
        if name != "torch":  # `tests-oldest` installs it: it must name a release
            (bound,) = asked.specifier
            assert bound.operator == ">=", asked
    assert {"sphinx", "jinja2", "docutils", "nox"} <= set(pins)
