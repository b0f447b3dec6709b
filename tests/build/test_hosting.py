"""What the hosts are told: files that nobody here runs, checked as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nox
import pytest
import yaml
from packaging.requirements import Requirement
from reading import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FILES = {
    ROOT / ".readthedocs.yaml": "vendor.readthedocs",
    ROOT / ".github" / "dependabot.yml": "vendor.dependabot",
    **dict.fromkeys(WORKFLOWS, "vendor.github-workflows"),
}
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")


def read(path: str | Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def load(path: str | Path) -> dict[str, Any]:
    return yaml.load(read(path), Loader=yaml.BaseLoader)


BUILD = load(".github/workflows/site.yml")["jobs"]["build"]


def step_with(job: dict[str, Any], action: str) -> dict[str, str]:
    """Return what the step of a job is given that uses this action."""
    return next(s["with"] for s in job["steps"] if action in s.get("uses", ""))


def scripts(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_host_understands_the_file(path: Path) -> None:
    schema = "--builtin-schema", FILES[path]
    subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *schema, path], check=True
    )


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_no_more_than_it_says(path: Path) -> None:
    pinned = r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+( # zizmor: .+)?"
    used = re.findall("uses: (.+)", read(path))
    assert [action for action in used if not re.fullmatch(pinned, action)] == []
    workflow, writes = load(path), {}
    assert workflow["permissions"] == {}, "what is not said is denied"
    for name, job in workflow["jobs"].items():
        assert "${{" not in scripts(job), "it may be text that others write"
        if "actions/checkout" in str(job["steps"]):
            said = step_with(job, "actions/checkout")
            assert said["persist-credentials"] == "false"
        if may := {key for key, how in job["permissions"].items() if how == "write"}:
            writes[name] = may
            # No pull request writes anything, and no tool or code of ours.
            assert "github.event_name != 'pull_request'" in job["if"]
            assert not re.search(r"\b(pip|nox|python)\b", scripts(job))
    of_the_site = {"deploy": {"pages", "id-token"}, "notebooks": {"contents"}}
    assert writes == (of_the_site if path.name == "site.yml" else {})


def test_what_a_machine_has_run_is_kept_until_a_source_changes() -> None:
    cache = step_with(BUILD, "actions/cache@")
    machine = "site-${{ steps.machine.outputs.name }}-"
    assert cache["key"].startswith(machine) and cache["restore-keys"] == machine
    globs = (
        one.replace("/**", "/**/*") for one in re.findall(r"'(\w.+?)'", cache["key"])
    )
    hashed = {path for one in globs for path in ROOT.glob(one)}
    sources = "docs/*.md", "docs/[!m]*/*.md", "examples/*/*.py", "conf/**/*.py"
    assert hashed >= {path for one in sources for path in ROOT.glob(one)}


def test_hosts_build_as_everybody_does() -> None:
    elsewhere = load(".readthedocs.yaml")["build"]
    assert "python conf/build_site.py" in elsewhere["jobs"]["build"]["html"]
    for script in (scripts(BUILD), "\n".join(elsewhere["jobs"]["install"])):
        # A CPU build: a plain pip would take gigabytes of CUDA packages.
        assert "--torch-backend cpu" in script
        assert "--constraint constraints.txt" in script
    python = step_with(BUILD, "setup-python")["python-version"]
    assert python == elsewhere["tools"]["python"]
    (command,) = re.findall(r"(?m)^python3 .+ -s tests$", read("README.md"))
    assert command in read(".ci/run").splitlines()


def test_the_variables_of_an_address_are_those_that_the_site_reads() -> None:
    known = {*re.findall(r"SITE_\w+", read("conf/tensor_copies/web/address.py"))}
    said = read("docs/maintainers/hosting.md"), read(".github/workflows/site.yml")
    assert all({*re.findall(r"SITE_\w+", text)} == known for text in said)


def test_the_oldest_and_the_newest_are_tried_each_week() -> None:
    job = load(".github/workflows/weekly.yml")["jobs"]["check"]
    tried = {one["name"]: one for one in job["strategy"]["matrix"]["include"]}
    assert f">={tried['oldest']['python']}" == PROJECT["project"]["requires-python"]
    pinned = PROJECT["dependency-groups"]["torch"][0].removeprefix("torch==")
    assert pinned in Requirement(tried["newest"]["torch"]).specifier


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_pins_what_the_groups_ask_for(python: str) -> None:
    here = {"python_version": python, "python_full_version": f"{python}.9"}
    pins = {
        pin.name: str(pin.specifier).removeprefix("==")
        for pin in map(Requirement, read("constraints.txt").splitlines()[1:])
        if pin.marker is None or pin.marker.evaluate(here)
    }
    groups = "tests", "live", "lint", "hosted"
    for asked in map(Requirement, nox.project.dependency_groups(PROJECT, *groups)):
        name = re.sub(r"[-_.]+", "-", asked.name).lower()
        assert pins.get(name, "0") in asked.specifier, "run `nox -s lock`"
