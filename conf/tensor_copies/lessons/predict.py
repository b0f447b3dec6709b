"""Build a lesson's questions: what a block shows waits behind the reader's answer.

The directive stands right behind a lesson's block or a page's cell. Its first item is
the right answer, each other one is wrong, and says with which statement of the program
it would be right::

    .. predict:: What is ``w`` now?

        - ``w = tensor([2.], requires_grad=True)``
        - ``w = tensor([1.], requires_grad=True)`` with ``z = w.detach().clone()``
        - ``RuntimeError: a view of a leaf Variable that…`` with ``z = w``

What the block has shown, and the text up to the next heading or block, is folded. The
script (static/predict.js) judges a choice and opens the answer; without it the answers
are not shown. The build refuses a right answer that is not printed, and a wrong one
that is; ``tests/truth/test_predictions.py`` runs the programs of the wrong ones.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import takewhile
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tensor_copies.gallery.machine import this_machine
from tensor_copies.markup import TEMPLATES, fold, is_fold, with_code

logger = logging.getLogger(__name__)
OUTPUT = "sphx-glr-script-out"  # the class of what a lesson prints
DEVICE = re.compile(r", device='[^']*'")
LINES = re.compile(r"((?:`[^`]+` ?)+)(.*)")
CONTINUED = re.compile(r",\n\s+")  # a tensor that is printed over lines
ENDS = nodes.section | nodes.comment  # the gallery's comment stands before each block
Answer = tuple[str, str]  # its lines, and what a reader is told of a wrong one


class question(nodes.Element):
    """The place of a question: its ``words``, and ``answers``, the right one first."""


class choices(nodes.raw):
    """The answers to choose from, with the question's ``words``."""


class Predict(SphinxDirective):
    """Ask for the output of the block above, with answers to choose from."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the place of the question."""
        items = (one for node in self.parse_content_to_nodes() for one in node)
        answers = [self._answer(item) for item in items]
        place = question(words=" ".join(self.arguments[0].split()), answers=answers)
        self.set_source_info(place)
        return [place]

    def _answer(self, item: nodes.Element) -> Answer:
        """Return the lines of an answer, which are code, and what is said behind."""
        words = with_code(item[0])
        if not (found := LINES.fullmatch(words)):
            raise self.error(f"write what is printed as code, not as words: {words}")
        lines, note = found.groups()
        said = f" {note[0].upper()}{note[1:]} it prints that." if note else ""
        return lines.strip("` ").replace("` `", "\n"), said


def arrange_questions(app: Sphinx, doctree: nodes.document) -> None:
    """Fold what answers the questions of a page, and offer their answers."""
    for number, place in enumerate(list(doctree.findall(question)), 1):
        section, at = place.parent, place.parent.index(place)
        start = max((k for k in range(at) if _is_code(section[k])), default=None)
        if start is None:
            logger.warning("a question stands behind no code", location=place)
            continue
        shown = [*_take_outputs(section[start]), *section[start + 1 : at]]
        shown = [one for one in shown if not isinstance(one, nodes.comment)]
        rest = list(takewhile(lambda one: not isinstance(one, ENDS), section[at + 1 :]))
        ours = (one for one in shown if "other-machine" not in one["classes"])
        blocks = [b for one in ours for b in one.findall(nodes.literal_block)]
        printed = [b.astext() for b in blocks if {OUTPUT, "output"} & set(b["classes"])]
        offered = _choices(place, number, "\n".join(printed))
        answer = fold(place["words"], *shown, *rest, kind="predict")
        section[start + 1 : at + 1 + len(rest)] = [*offered, answer]


def _is_code(node: nodes.Node) -> bool:
    """Whether a node is a lesson's block of code, folded or not, or a page's cell."""
    if isinstance(node, nodes.literal_block):
        return OUTPUT not in node["classes"]
    is_cell = isinstance(node, nodes.container) and "cell" in node["classes"]
    return is_cell or is_fold(node, "folded")


def _take_outputs(cell: nodes.Element) -> list[nodes.container]:
    """Take the outputs off a cell of MyST-NB, which holds them."""
    if not isinstance(cell, nodes.container):
        return []
    found = [one for one in cell if "cell_output" in one["classes"]]
    cell[:] = [one for one in cell if one not in found]
    # The style of outputs is that of a cell's outputs.
    return [nodes.container("", *found, classes=["cell"])]


def is_printed(answer: str, printed: str) -> bool:
    """Whether all lines of an answer are among what was printed.

    Blanks and the name of a device don't count; a line may be cut with an ellipsis.
    """
    lines = CONTINUED.sub(", ", DEVICE.sub("", printed)).split("\n")
    found = [" ".join(line.split()) for line in lines]
    return all(
        any(one.startswith(line[:-1]) for one in found)
        if line[-1] == "…"
        else line in found
        for line in answer.split("\n")
    )


def _wrong(answers: list[Answer], printed: str) -> Iterator[str]:
    """Yield what is wrong with the answers to a question."""
    for place, (answer, _) in enumerate(answers):
        if is_printed(answer, printed) != (place == 0):
            said = "the first, is not printed" if place == 0 else "which is printed"
            yield f"the answer {answer!r}, {said}"


def _choices(place: question, number: int, printed: str) -> list[choices]:
    """Return the answers to choose from, sorted so that no place gives the right away.

    They are typed for a CPU: on another device, where they are not true, none is shown.
    """
    wrong = list(_wrong(place["answers"], printed))
    if wrong and this_machine().device_kind == "cpu":
        logger.warning("%s", "; ".join(wrong), location=place)
    if wrong or not place["answers"]:
        return []
    offered = [
        {"text": text, "said": f"No.{note}" if at else "Right."}
        for at, (text, note) in enumerate(place["answers"])
    ]
    offered.sort(key=lambda one: sha256(one["text"].encode()).digest())
    markup = TEMPLATES.get_template("lessons/predict.html").render(
        words=place["words"], number=number, offered=offered
    )
    return [choices("", markup, format="html", words=place["words"])]
