"""Show steps: as one HTML file, and in a frame of a notebook."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from tensor_maps.pen import printable
from tensor_maps.words import count_of

FOLDER = Path(__file__).parent


@cache
def asset(name: str) -> str:
    """Return a style or a script of the viewer, by the name of its file."""
    return (FOLDER / name).read_text(encoding="utf-8")


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
    script = asset("steps.js") + asset("page.js")
    style = asset("steps.css") + asset("page.css")
    # Without a `<`, with which the element that holds it could end.
    content = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; img-src data:; script-src {_policy_hash(script)}; "
        f"style-src {_policy_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    made = f"Made by tensor_maps with torch {data['torch']}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(printable(data["title"]))}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main data-key="{key}">
{_listed(data)}
</main>
<footer>{escape(printable(made))}</footer>
<script type="application/json" id="data">{content}</script>
<script>{script}</script>
</body>
</html>
"""


def _policy_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _listed(data: dict) -> str:
    """Return the steps as a list, for those without scripts."""
    code = "\n".join(data["code"])
    items = []
    for step in data["steps"]:
        first, last = step["first"], step["last"]
        where = f"Line {first}" if first == last else f"Lines {first} to {last}"
        lines = [f"{where}: {step['said']}", step["printed"], step.get("raised", "")]
        text = "<br>".join(escape(line.strip("\n")) for line in lines if line)
        items.append(f"<li>{text}</li>")
    title = f"<h1>{escape(printable(data['title']))}</h1>"
    return f"{title}\n<pre>{escape(code)}</pre>\n<ol>{''.join(items)}</ol>"


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
    path.write_bytes(steps_page(data).encode("utf-8", "replace"))


def steps_frame(data: dict) -> str:
    """Return steps for a notebook: in a frame, apart from the notebook's own page.

    A notebook shows no frame before the reader trusts it; the line below the frame
    says what there is to see.
    """
    count = len(data["steps"])
    if not count:
        return "<p>No statement ran: there are no steps.</p>"
    page = steps_page(data, "")
    title = quoteattr(printable(f"Steps of {data['title']}"))
    return (
        f'<iframe srcdoc="{escape(page, {chr(34): "&quot;"})}" title={title} '
        'width="100%" height="620" frameborder="0"></iframe>'
        f"<p>{count_of(count, 'step')}. A notebook that is not trusted does not show "
        "them.</p>"
    )
