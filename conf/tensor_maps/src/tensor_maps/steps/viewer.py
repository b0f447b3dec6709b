"""Show steps: as one HTML file, and in a frame of a notebook."""

from __future__ import annotations

import base64
import gzip
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
COMMENT = re.compile(r"^ *//.*\n|^ +", re.MULTILINE)
# In pixels, until the frame's own script makes it as high as what it shows.
FRAME_HEIGHT = 480


@cache
def asset(name: str) -> str:
    """Return a style, a script or a page of the viewer, by the name of its file.

    A style and a script come without indents, a script also without the lines that are
    comments: they are for its maintainers.
    """
    text = (FOLDER / name).read_text(encoding="utf-8")
    return text if name.endswith(".html") else COMMENT.sub("", text)


def steps_page(data: dict, key: str = "step") -> str:
    """Return steps as one HTML file, which needs nothing else and loads nothing.

    Its own security policy lets no other script run and nothing be loaded. Without
    scripts it lists the steps.

    Parameters
    ----------
    data
        What ``data()`` of the steps returned.
    key
        Begins the address of a step, as in ``#step-3``. Empty in a frame, which has no
        address, and no list: its events are listed below it.
    """
    data = _shown(data)
    script = asset("steps.js") + asset("page.js")
    style = asset("steps.css") + asset("page.css")
    policy = (
        f"default-src 'none'; img-src data:; script-src {_policy_hash(script)}; "
        f"style-src {_policy_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    # Drawings are alike: packed they take a tenth, and hold no end of an element.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
    listed = "\n".join(
        _item(data, number, step, step["printed"])
        for number, step in enumerate(data["steps"], 1)
    )
    code = escape("\n".join(data["code"]))
    return Template(asset("page.html")).substitute(
        policy=escape(policy, quote=False),
        title=escape(_on_one_line(data["title"])),
        style=style,
        key=escape(key),
        without_scripts=f"<pre>\n{code}</pre>\n<ol>\n{listed}\n</ol>" if key else "",
        made=escape(f"Made by tensor_maps with torch {data['torch']}"),
        data=packed,
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
    numbered = [*enumerate(told["steps"], 1)]
    events = [one for one in numbered if one[1]["event"]]
    listed = events or numbered
    what = count_of(len(listed), "event" if events else "statement")
    items = "\n".join(_item(told, number, step) for number, step in listed)
    return (
        f'<iframe srcdoc="{escape(steps_page(data, ""))}" title="{title}" '
        f'width="100%" height="{FRAME_HEIGHT}" frameborder="0"></iframe>\n'
        f"<details><summary>{what} as text</summary>\n"
        f"<ol>\n{items}\n</ol></details>"
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


def _item(data: dict, number: int, step: dict, printed: str = "") -> str:
    """Return a step as an item of a list: its statement, sentence and output."""
    code = data["code"][step["first"] - 1 : step["last"]]
    first, *others = textwrap.dedent("\n".join(code)).split("\n")
    kind = f"<b>{escape(step['event'])}:</b> " if step["event"] else ""
    parts = [
        f"{kind}<code>{escape(first, quote=False)}</code>{' …' if others else ''}",
        escape(step["said"], quote=False),
        escape(step.get("raised", ""), quote=False),
    ]
    # HTML leaves out a line end at the beginning.
    output = f"<pre>\n{escape(printed, quote=False)}</pre>" if printed else ""
    return f'<li value="{number}">{"<br>".join(filter(None, parts))}{output}</li>'
