"""Compare what a reader gets with what was recorded of it.

A recorded text stands in the folder beside its test. What changed on purpose is
recorded by ``nox -s tests -- -k recorded --force-regen``: look at each difference, and
at the page in a browser, before you commit it.
"""

import re
from collections.abc import Iterator
from importlib.metadata import version

from bs4 import NavigableString, Tag
from pytest_regressions.file_regression import FileRegressionFixture
from tensor_copies.gallery.machine import this_machine

# Elements that stand within a line.
INLINE = {"a", "code", "em", "samp", "span", "strong", "use", "wbr"}
# What is another one with each version, day and text of a file.
VARIES = (
    (re.escape(str(this_machine())), "MACHINE"),
    (re.escape(this_machine().label), "CPU, VERSIONS"),
    (re.escape(version("torch").partition("+")[0]) + r"(\+\w+)?", "VERSION"),
    (r"on \d+ [A-Z]\w+ \d{4}", "on DAY"),
    (r"_downloads/[0-9a-f]{32}|(?<=mystnb\.)\w+\.css(\?v=\w+)?|\?v=\w+", "HASH"),
)


def check(text: str, file_regression: FileRegressionFixture) -> None:
    """Compare a text with the recorded one."""
    for found, instead in VARIES:
        text = re.sub(found, instead, text)
    file_regression.check(text + "\n", extension=".txt")


def as_lines(element: Tag) -> str:
    """Return what is in an element, a line for each one that has no others in it.

    Of code there is the text, with » before a line that is marked; of a picture what
    is said and written in it, and its colours.
    """
    for left_out in element.select("style, article script, .headerlink"):
        left_out.decompose()
    for marked in element.select("pre .hll"):
        marked.insert(0, "» ")
    for plain in element.select("span.pre, span.doc"):
        plain.unwrap()
    element.smooth()
    return "\n".join(_lines_of(element, ""))


def _lines_of(element: Tag, edge: str) -> Iterator[str]:
    for child in element.children:
        if isinstance(child, NavigableString):
            is_text = type(child) is NavigableString and child.strip()  # no comment
            yield from [edge + " ".join(child.split())] if is_text else []
        elif child.name == "pre":
            yield from (f"{edge}| {line}" for line in child.get_text().splitlines())
        elif child.name == "svg" and child.find("text"):
            words = [text.get_text() for text in child.select("text")]
            inks = dict.fromkeys(re.findall(r"--((?:line|status)-\w+)", str(child)))
            yield f"{edge}<svg> {child.get('aria-label')} {words} {' '.join(inks)}"
        elif {one.name for one in child.find_all(True)} <= INLINE:
            yield edge + " ".join(str(child).split())
        else:
            opening = str(child).partition(child.decode_contents())[0]
            yield edge + " ".join(opening.split())
            yield from _lines_of(child, edge + "  ")
