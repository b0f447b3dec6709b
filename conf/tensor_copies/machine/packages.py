"""What is installed of the packages that the site needs, and under which licences.

``python conf/packages.py`` prints a table; nox prints it at the top of each log, so
that two logs can be compared. What a package says of itself is read, and no network.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tensor_copies.machine.fingerprint import CONF

GROUPS = CONF.parent / "pyproject.toml"
WIDTH = 88  # characters of a line
OSI = re.compile(r"License :: (?:OSI Approved :: )?(.+)")
LONGEST = 60  # characters of a licence's name; some packages give the whole text
NOT_SAID = "not said"


def asked_by(group: str) -> list[Requirement]:
    """Return what a group asks for, with the groups in it; KeyError without a group."""
    groups = tomllib.loads(GROUPS.read_text(encoding="utf-8"))["dependency-groups"]
    found = []
    for entry in groups[group]:
        if isinstance(entry, dict):
            found += asked_by(entry["include-group"])
        else:
            found.append(Requirement(entry))
    return found


def installed(group: str) -> dict[str, metadata.Distribution]:
    """Return what is installed of a group and of all that its packages need, by name.

    Of what is not installed nothing is said: the build says which packages it misses.
    """
    found: dict[str, metadata.Distribution] = {}
    # With the extras that are asked for: they bring more.
    wanted = [(one.name, one.extras) for one in asked_by(group)]
    for name, extras in wanted:
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        known = canonicalize_name(package.name) in found
        found[canonicalize_name(package.name)] = package
        for text in package.requires or () if not known or extras else ():
            needs = Requirement(text)
            asked = [{"extra": extra} for extra in ("", *extras)]
            if needs.marker is None or any(map(needs.marker.evaluate, asked)):
                wanted.append((needs.name, needs.extras))
    return dict(sorted(found.items()))


def licence_of(package: metadata.Distribution) -> str:
    """Return the licence that a package names: an expression, or its classifiers."""
    said = package.metadata
    if expression := said.get("License-Expression"):
        return expression
    classifiers = map(OSI.fullmatch, said.get_all("Classifier", []))
    if names := [one[1] for one in classifiers if one]:
        return "; ".join(names)
    first = said.get("License", "").strip().partition("\n")[0]
    return first[:LONGEST] or _licence_in_file(package)


def _licence_in_file(package: metadata.Distribution) -> str:
    """Return the title of a package's licence file, which some have and no more."""
    for file in package.files or ():
        if re.search(r"(?i)dist-info/(?:.*/)?(licen[cs]e|copying)[^/]*$", str(file)):
            lines = (line.strip() for line in file.read_text().splitlines())
            first = next(filter(None, lines), NOT_SAID)
            return f"{first[:LONGEST]} (the first line of its file)"
    return NOT_SAID


def columns(cells: list[str]) -> list[str]:
    """Return lines of as many columns as fit, to be read from the top down."""
    wide = max(map(len, cells), default=0) + 2
    rows = -(-len(cells) // max(1, WIDTH // wide))
    return [
        "".join(cell.ljust(wide) for cell in cells[row::rows]).rstrip()
        for row in range(rows)
    ]


def main() -> int:
    """Print the table; 2 if there is no such group."""
    parser = argparse.ArgumentParser(
        prog="packages", description="What the site needs, as it is installed here."
    )
    parser.add_argument("group", nargs="?", default="docs", help="of pyproject.toml")
    parser.add_argument(
        "--licences", action="store_true", help="one a line, with its licence"
    )
    options = parser.parse_args()
    try:
        found = installed(options.group)
    except KeyError:
        print(f"packages: no group {options.group!r} in {GROUPS.name}", file=sys.stderr)
        return 2
    if options.licences:
        print("| package | version | licence |\n| --- | --- | --- |")
        for name, package in found.items():
            print(f"| {name} | {package.version} | {licence_of(package)} |")
    else:
        python = ".".join(map(str, sys.version_info[:3]))
        print(f"Python {python} and {len(found)} packages:")
        cells = [f"{name} {package.version}" for name, package in found.items()]
        print(*columns(cells), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
