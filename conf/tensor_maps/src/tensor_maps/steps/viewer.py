"""Show steps: as one HTML file, and in a frame of a notebook."""

import base64
import gzip
import json
import re
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from tensor_maps.words import count_of

# What no page may hold, or what turns the letters after it around.
NOT_SHOWN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufffe\uffff]"
)
COMMENT = re.compile(r"^ *//.*\n|/\*[^*]*\*/\s*|^ +", re.MULTILINE)


@cache
def asset(name: str) -> str:
    """Return a style, a script or a page of the viewer, by the name of its file.

    The first two come without indents and comments: they are for maintainers.
    """
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return text if name.endswith(".html") else COMMENT.sub("", text)


def steps_page(data: dict, key: str = "step") -> str:
    """Return steps as one HTML file, which needs nothing else and loads nothing.

    Without scripts it is a list. ``key`` begins the address of a step, as in
    ``#step-3``; it is empty in a frame, which has no address, and no list: its events
    are listed below it.
    """
    data = _shown(data)
    script = asset("steps.js") + asset("page.js")
    style = asset("steps.css") + asset("page.css")
    # Drawings are alike: packed they take a tenth, and hold no end of an element.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
    code = escape("\n".join(data["code"]))
    listed = _listed(data, enumerate(data["steps"], 1), with_output=True)
    return Template(asset("page.html")).substitute(
        title=escape(" ".join(data["title"].split())),
        style=style,
        key=escape(key),
        without_scripts=f"<pre>\n{code}</pre>\n{listed}" if key else "",
        made=escape(f"Made by tensor_maps with torch {data['torch']}"),
        data=packed,
        script=script,
    )


def steps_frame(data: dict) -> str:
    """Return steps for a notebook: in a frame, apart from the notebook's own page.

    Below it the events are a list: GitHub and other viewers of notebooks show no frame,
    and a notebook shows none before the reader trusts it.
    """
    if not data["steps"]:
        return "<p>No statement ran: there are no steps.</p>"
    told = _shown(data)
    title = escape(" ".join(["Steps of", *told["title"].split()]))
    steps = [*enumerate(told["steps"], 1)]
    events = [one for one in steps if one[1]["event"]]
    what = count_of(len(events or steps), "event" if events else "statement")
    listed = _listed(told, events or steps)
    # The frame's own script makes it as high as what it shows.
    return (
        f'<iframe srcdoc="{escape(steps_page(data, ""))}" title="{title}" '
        'width="100%" height="480" frameborder="0"></iframe>\n'
        f"<details><summary>{what} as text</summary>\n{listed}</details>"
    )


def _shown(value: Any) -> Any:
    """Return data in which each text can stand on a page, whatever it was."""
    if isinstance(value, str):
        text = value.replace("\r\n", "\n").replace("\r", "\n")
        return NOT_SHOWN.sub("\N{REPLACEMENT CHARACTER}", text)
    if isinstance(value, dict):
        return {name: _shown(part) for name, part in value.items()}
    return [*map(_shown, value)] if isinstance(value, list | tuple) else value


def _listed(
    data: dict, steps: Iterable[tuple[int, dict]], with_output: bool = False
) -> str:
    """Return numbered steps as a list of statements, sentences and what was printed."""
    items = []
    for number, step in steps:
        kind = f"<b>{escape(step['event'])}:</b> " if step["event"] else ""
        first = escape(data["code"][step["first"] - 1].strip(), quote=False)
        more = " …" if step["last"] > step["first"] else ""
        said = (step["said"], step.get("raised", ""))
        texts = [escape(text, quote=False) for text in said if text]
        item = "<br>".join([f"{kind}<code>{first}</code>{more}", *texts])
        if with_output and step["printed"]:
            # HTML leaves out a line end at the beginning.
            item += f"<pre>\n{escape(step['printed'], quote=False)}</pre>"
        items.append(f'<li value="{number}">{item}</li>')
    return "<ol>\n{}\n</ol>".format("\n".join(items))
