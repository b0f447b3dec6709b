"""Addresses that pages had before: each forwards, without JavaScript.

No host is asked for anything but files, so a forward is a page, on Read the Docs, on
Pages and on a disk alike.
"""

from __future__ import annotations

import posixpath
import tomllib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from sphinx.errors import ConfigError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

LIST = "redirects.toml"  # beside the pages
_MARK = "<!-- forwards -->"
_PAGE = """<!doctype html>{mark}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="0; url={link}">
<link rel="canonical" href="{canonical}">
<link rel="icon" href="{icon}">
<title>{title}</title>
</head>
<body><main><h1>This page has moved</h1>
<p><a href="{link}">{title}</a></p></main></body>
</html>
"""


def moved(app: Sphinx) -> dict[str, str]:
    """Return the new name of each page that has moved, by its old one."""
    path = Path(app.srcdir, LIST)
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Refuse forwards to nowhere, and those from a page that exists."""
    wrong = []
    for old, new in moved(app).items():
        if new not in env.found_docs:
            wrong.append(f"{old} forwards to {new}, which is no page")
        if old in env.found_docs:
            wrong.append(f"{old} forwards, but is a page")
    if wrong:
        raise ConfigError(f"docs/{LIST}: {'; '.join(wrong)}.")


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write a page for each old address, and remove those that are not wanted."""
    if exception is not None or app.builder.name != "html":
        return
    uri = app.builder.get_target_uri
    wanted = {Path(app.outdir, uri(old)): (old, new) for old, new in moved(app).items()}
    for page in Path(app.outdir).rglob("*.html"):
        with page.open(encoding="utf-8") as file:
            if page not in wanted and file.readline().endswith(f"{_MARK}\n"):
                page.unlink()
    for page, (old, new) in wanted.items():
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(_forward(app, uri(old), new), encoding="utf-8")


def _forward(app: Sphinx, old: str, new: str) -> str:
    folder = posixpath.dirname(old) or "."
    target = app.builder.get_target_uri(new)
    link = posixpath.relpath(target, folder)
    base = app.config.html_baseurl
    return _PAGE.format(
        mark=_MARK,
        link=escape(link),
        canonical=escape(urljoin(base, target) if base else link),
        icon=posixpath.relpath("_static/icon.svg", folder),
        title=escape(app.env.titles[new].astext()),
    )
