"""What a reader gets says nothing of who made it, and does nothing by itself."""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import pytest
from reading import NAMES, ROOT, SCRIPTS

SECRET = re.compile(r"(?i)token|secret|passw|credential|(?:^|_)(?:key|auth)(?:_|$)")
# As a page names a path: below a folder that only this machine has.
OF_EVERY_MACHINE = ("/usr/", "/bin", "/sbin", "/etc/", "/dev/", "/proc/")
DOWNLOADS = {".py", ".ipynb", ".csv", ".zip", ".whl"}
ACTIVE = {"script", "foreignObject", "a", "iframe"}  # in a drawing
# What reaches beyond the reader's Python: programs, the network, code in a text.
FAR_REACHING = {
    *("subprocess", "socket", "urllib", "http", "requests", "ftplib", "smtplib"),
    *("ctypes", "webbrowser", "shutil", "pty"),
}
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen"}
# A spreadsheet takes a cell that begins so for a formula.
FORMULA = re.compile(r"[=+@\t\r]|-(?![\d.])")


@pytest.fixture(scope="module")
def files(site: Path) -> dict[str, bytes]:
    """Return what is in each file of the site, and in each file of an archive."""
    found = {}
    for path in filter(Path.is_file, site.rglob("*")):
        found[path.relative_to(site).as_posix()] = path.read_bytes()
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    found[f"{path.name}/{name}"] = archive.read(name)
    return found


def values_of_the_environment() -> Iterator[bytes]:
    """Yield what only this machine knows: secrets by their names, and its folders."""
    for name, value in os.environ.items():
        if SECRET.search(name) and len(value) >= 6:
            yield value.encode()
        for part in value.split(os.pathsep):
            is_folder = part.startswith("/") and part.count("/") >= 2
            if is_folder and not part.startswith(OF_EVERY_MACHINE):
                yield part.rstrip("/").encode()


def test_no_value_of_the_environment_is_in_the_site(files: dict[str, bytes]) -> None:
    """Pictures and archives too; test_site.py has the folders of Python and of home."""
    values = {str(ROOT).encode(), *values_of_the_environment()}
    found = [
        (name, value)
        for name, content in files.items()
        for value in values
        if value in content
    ]
    assert found == []


def test_the_site_has_plain_files_only(site: Path, files: dict[str, bytes]) -> None:
    for path in site.rglob("*"):
        assert not path.is_symlink(), path
        if path.is_file():
            assert not path.stat().st_mode & stat.S_IXUSR, path
    offered = {Path(name).suffix for name in files if name.startswith("_downloads/")}
    assert offered <= DOWNLOADS
    for name, content in files.items():
        if name.endswith(".json"):
            json.loads(content)
        if name.endswith(".svg"):
            for part in ElementTree.fromstring(content.decode()).iter():
                assert part.tag.rpartition("}")[2] not in ACTIVE, name
                for key, value in part.attrib.items():
                    assert not key.startswith("on"), name
                    is_link = key.endswith("href")
                    assert not is_link or value.startswith(("#", "data:image/")), name


def test_an_archive_unpacks_into_one_folder(site: Path) -> None:
    archives = list(site.rglob("*.zip"))
    assert archives
    for path in archives:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                parts = PurePosixPath(member.filename).parts
                assert parts[0] == "tensor_copies" and ".." not in parts
                kind = stat.S_IFMT(member.external_attr >> 16)
                assert kind in (0, stat.S_IFREG), member


def test_a_table_has_no_formula(files: dict[str, bytes]) -> None:
    tables = {name: text for name, text in files.items() if name.endswith(".csv")}
    assert tables
    for name, content in tables.items():
        for row in csv.reader(content.decode("utf-8").splitlines()):
            assert not [cell for cell in row if FORMULA.match(cell)], (name, row)


def test_a_notebook_brings_no_output_and_starts_no_program(
    files: dict[str, bytes],
) -> None:
    for name, content in files.items():
        if name.endswith(".ipynb"):
            for cell in json.loads(content)["cells"]:
                source = "".join(cell["source"])
                assert not cell.get("outputs"), name
                commands = re.findall(r"(?m)^\s*([!%].*)", source)
                if cell["cell_type"] == "code":
                    assert all(one.startswith("%pip install ") for one in commands)
                else:
                    assert not re.search("<(script|iframe|img)", source), name


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_lesson_reaches_no_further_than_its_tensors(script: Path) -> None:
    whole = ast.parse(script.read_text(encoding="utf-8"))
    for node in ast.walk(whole):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module).partition(".")[0]]
        assert not FAR_REACHING & {*names}, ast.unparse(node)
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in CALLS, ast.unparse(node)
