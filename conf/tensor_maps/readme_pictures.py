"""Run the README's code, and write its pictures ``map.svg`` and ``moving.svg``."""

import contextlib
import re
import runpy
import tempfile
from html import escape
from pathlib import Path

from tensor_maps import Steps
from tensor_maps.pen import ALONE_FONT, DARK, LIGHT, wrap

HERE = Path(__file__).parent
SECONDS = 2.5  # of a step
WIDTH, LEFT, TOP, LINE = 760, 410, 24, 22  # in pixels; the drawings begin at LEFT
STYLE = f"""
svg {{{LIGHT}; font: 15px {ALONE_FONT}; fill: currentColor}}
@media (prefers-color-scheme: dark) {{svg {{{DARK}}}}}
.code {{font: 13px ui-monospace, Menlo, Consolas, monospace; white-space: pre}}
.step {{opacity: 0}}
.step:last-child {{opacity: 1}}
@media (prefers-reduced-motion: no-preference) {{
  .step {{animation: show WHOLEs steps(1) infinite}}
}}
@keyframes show {{0% {{opacity: 1}} SHARE% {{opacity: 0}}}}
"""


def readme_pictures() -> dict[str, str]:
    """Return both pictures, by the names of their files."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    watched = re.search(r"^with steps\(.*\n((?:    .*\n)+)", text, re.MULTILINE)[1]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("readme.py").write_text("".join(blocks), encoding="utf-8")
        runpy.run_path("readme.py")
        drawn = Path("map.svg").read_text(encoding="utf-8")
    code = re.sub("^    ", "", watched, flags=re.MULTILINE)
    return {"map.svg": drawn, "moving.svg": moving_picture(code)}


def moving_picture(code: str) -> str:
    """Return an SVG in which each event of some code is shown for some seconds."""
    data = Steps().run(f"import torch\n{code}", {}).data()
    events = [step for step in data["steps"] if step["event"]]
    sizes = re.findall(r'viewBox="\S+ \S+ \S+ (\S+)"', "".join(data["drawings"]))
    high = max(map(float, sizes)) + 2 * TOP
    marks = []
    for at, step in enumerate(events):
        delay = SECONDS * (at - len(events))
        marks.append(f'<g class="step" style="animation-delay: {delay:g}s">')
        y = TOP
        for number, line in enumerate(data["code"][1:], 2):
            y += LINE
            if step["first"] <= number <= step["last"]:
                marks.append(
                    f'<rect x="8" y="{y - 15}" width="{LEFT - 16}" height="{LINE}" '
                    'rx="4" fill="var(--line-1)" fill-opacity=".2"/>'
                )
            marks.append(f'<text class="code" x="16" y="{y}">{escape(line)}</text>')
        for below, line in enumerate(wrap(step["said"], LEFT - 32, 15), 2):
            said = f'<text x="16" y="{y + LINE * below}">{escape(line)}</text>'
            marks.append(said)
        drawing = data["drawings"][step["drawing"]]
        marks.append(
            drawing.replace("<svg ", f'<svg x="{LEFT}" y="{TOP}" ', 1) + "</g>"
        )
    style = STYLE.replace("WHOLE", f"{SECONDS * len(events):g}")
    style = style.replace("SHARE", f"{100 / len(events):.3f}")
    label = escape(" ".join(step["said"] for step in events))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
        f'viewBox="0 0 {WIDTH} {high:g}" width="{WIDTH}" height="{high:g}">'
        f"<style>{style}</style>"
        f'<rect width="{WIDTH}" height="{high:g}" rx="8" '
        f'fill="var(--color-background-primary)"/>{"".join(marks)}</svg>\n'
    )


if __name__ == "__main__":
    for name, picture in readme_pictures().items():
        (HERE / name).write_text(picture, encoding="utf-8")
