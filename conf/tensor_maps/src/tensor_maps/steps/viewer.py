"""Show steps: as one HTML file, and in a frame of a notebook."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import textwrap
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from tensor_maps.words import count_of

FOLDER = Path(__file__).parent
# What no page may hold, or what turns the letters after it around.
NOT_SHOWN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufffe\uffff]"
)
COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)
# In pixels. A frame of a notebook is as high as the code needs, within limits.
LINE, AROUND_CODE, LEAST_HEIGHT, MOST_HEIGHT = 21, 110, 600, 780


@cache
def asset(name: str) -> str:
    """Return a style, a script or a page of the viewer, by the name of its file.

    Lines of a script that are comments are left out: they are for its maintainers.
    """
    text = (FOLDER / name).read_text(encoding="utf-8")
    return COMMENT.sub("", text) if name.endswith(".js") else text


def steps_page(data: dict, key: str = "step") -> str:
    """Return steps as one HTML file, which needs nothing else and loads nothing.

    Its own security policy lets no other script run and nothing be loaded. Without
    scripts it lists the steps.

    Parameters
    ----------
    data
        What ``data()`` of the steps returned.
    key
        Begins the address of a step, as in ``#step-3``; empty where there is none.
    """
    data = _shown(data)
    script = asset("steps.js") + asset("page.js")
    style = asset("steps.css") + asset("page.css")
    policy = (
        f"default-src 'none'; img-src data:; script-src {_policy_hash(script)}; "
        f"style-src {_policy_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    # What was printed is in the list, once.
    told = [
        {name: value for name, value in step.items() if name != "printed"}
        for step in data["steps"]
    ]
    content = json.dumps(
        data | {"steps": told}, ensure_ascii=False, separators=(",", ":")
    )
    return Template(asset("page.html")).substitute(
        policy=escape(policy, quote=False),
        title=escape(_on_one_line(data["title"])),
        style=style,
        key=escape(key),
        code=escape("\n".join(data["code"])),
        steps="\n".join(_listed(data, step) for step in data["steps"]),
        made=escape(f"Made by tensor_maps with torch {data['torch']}"),
        # Without a `<`, with which the element that holds it could end.
        data=content.replace("<", "\\u003c"),
        script=script,
    )


def save_steps(data: dict, path: str | os.PathLike[str]) -> None:
    """Write what ``data()`` of steps returned to one HTML file.

    A file of that name is replaced.

    Raises
    ------
    ValueError
        If the name does not end in ``.html``: no file of another kind is replaced.
    """
    path = Path(path)
    if path.suffix != ".html":
        raise ValueError(
            f"steps are saved as HTML: name the file like bug.html, not {path}"
        )
    path.write_text(steps_page(data), encoding="utf-8", newline="\n")


def steps_frame(data: dict) -> str:
    """Return steps for a notebook: in a frame, apart from the notebook's own page.

    Below the frame the events are listed as text: GitHub and other viewers of
    notebooks show no frame, and a notebook shows none before the reader trusts it.
    """
    if not data["steps"]:
        return "<p>No statement ran: there are no steps.</p>"
    told = _shown(data)
    title = escape(_on_one_line(f"Steps of {told['title']}"))
    events = [step for step in told["steps"] if step["event"]]
    listed = events or told["steps"]
    what = count_of(len(listed), "event" if events else "statement")
    items = "\n".join(_said(told, step) for step in listed)
    height = AROUND_CODE + LINE * len(told["code"])
    height = min(max(height, LEAST_HEIGHT), MOST_HEIGHT)
    return (
        f'<iframe srcdoc="{escape(steps_page(data, ""))}" title="{title}" '
        f'width="100%" height="{height}" frameborder="0"></iframe>\n'
        f"<details><summary>{what} as text</summary>\n<ol>\n{items}\n</ol></details>"
    )


def _shown(value: Any) -> Any:
    """Return data in which each text can stand on a page, whatever it was."""
    if isinstance(value, str):
        text = value.replace("\r\n", "\n").replace("\r", "\n")
        return NOT_SHOWN.sub("\N{REPLACEMENT CHARACTER}", text)
    if isinstance(value, dict):
        return {name: _shown(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(part) for part in value]
    return value


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _policy_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _listed(data: dict, step: dict) -> str:
    """Return a step as an item of a list, with what it printed."""
    printed = escape(step["printed"], quote=False)
    # HTML leaves out a line end at the beginning.
    return _said(data, step, f"<pre>\n{printed}</pre>" if printed else "")


def _said(data: dict, step: dict, more: str = "") -> str:
    """Return a step as an item of a list: its statement and its sentence."""
    code = data["code"][step["first"] - 1 : step["last"]]
    first, *others = textwrap.dedent("\n".join(code)).split("\n")
    kind = f"<b>{escape(step['event'])}:</b> " if step["event"] else ""
    parts = [
        f"{kind}<code>{escape(first, quote=False)}</code>{' …' if others else ''}",
        escape(step["said"], quote=False),
        escape(step.get("raised", ""), quote=False),
    ]
    return f"<li>{'<br>'.join(filter(None, parts))}{more}</li>"
