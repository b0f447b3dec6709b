"""The row of actions below the picture of a lesson: what a reader can do with it."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from tensor_copies.explorer.chains import chain_of, nearest
from tensor_copies.explorer.page import address_of
from tensor_copies.lessons.lesson_page import LessonPage
from tensor_copies.lessons.notebooks import BRANCH, offered
from tensor_copies.lessons.short_titles import of_first_block

LABELS = {".py": "Script", ".ipynb": "Notebook"}
COLAB = "https://colab.research.google.com/github"
TRY = "try"


class explorer_link(nodes.paragraph):
    """The place of the link to the explorer, which is filled when pages are written.

    ``code`` is what the author has named, ``where`` its place in the script.
    """


def offer_files(app: Sphinx, page: LessonPage) -> None:
    """Link to the script, without its marker comments, and to the notebook."""
    for ending, label in LABELS.items():
        link = page.files[ending]
        link["reftarget"] = f"/{offered(app.env.docname, ending)}"
        link.clear()
        link += nodes.inline(text=label)
        page.actions.append(nodes.paragraph("", "", link))


def link_to_colab(app: Sphinx, page: LessonPage) -> None:
    """Link to the notebook on Colab, if the site has a repository."""
    if repository := app.config.site_repository.removeprefix("https://github.com/"):
        name = app.env.docname.partition("/")[2]
        address = f"{COLAB}/{repository}/blob/{BRANCH}/{name}.ipynb"
        link = nodes.reference("", "Colab", refuri=address)
        page.actions.append(nodes.paragraph("", "", link))


def leave_place_for_explorer(page: LessonPage) -> None:
    """Leave a place for the link to the calls that the author has named, if any."""
    code, where = of_first_block(page.script, TRY)
    if code is not None:
        page.actions.append(explorer_link(code=str(code), where=where))


def make_link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link to the call that the author has named, if home has the explorer."""
    for place in list(doctree.findall(explorer_link)):
        code = place["code"]
        link = address_of(app, page, code)
        if chain_of(code) is None or (link is None and address_of(app, page, "x.t()")):
            found = " or ".join(nearest(code)) or 'a chain such as "x.detach()"'
            raise ExtensionError(
                f"{place['where']}: sphinx_gallery_{TRY} names {code!r}, which the "
                f"explorer does not show: write {found}"
            )
        words = [nodes.Text("Try "), nodes.literal(text=code)]
        words.append(nodes.Text(" in the explorer"))
        shown = nodes.paragraph("", "", nodes.reference("", "", *words, refuri=link))
        place.replace_self([shown] if link else [])
