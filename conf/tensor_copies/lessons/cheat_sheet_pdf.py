"""The cheat sheet as a PDF: one page of A4, the same bytes for the same points.

It needs no program of the system: fpdf2 is pure Python, and the fonts, DejaVu, come
with matplotlib.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fpdf import FPDF
from fpdf.prefs import ViewerPreferences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fpdf.text_region import Paragraph

    from tensor_copies.lessons.cheat_sheet import Lesson, Text

FONTS = {
    ("Sans", ""): "DejaVuSans.ttf",
    ("Sans", "B"): "DejaVuSans-Bold.ttf",
    ("Mono", ""): "DejaVuSansMono.ttf",
    ("Mono", "B"): "DejaVuSansMono-Bold.ttf",
}
# fontTools tells of each table of a font that it leaves out.
logging.getLogger("fontTools").setLevel(logging.WARNING)
# The date in the file says nothing of the points: one day for every build.
DAY = datetime(2000, 1, 1, tzinfo=UTC)
MARGIN, GUTTER = 12, 8  # millimetres
LARGEST, SMALLEST, STEP = 9.0, 6.5, 0.25  # points


def draw(title: str, lessons: Sequence[tuple[str, Lesson]], language: str) -> bytes:
    """Return the PDF in the largest letters with which all points fit one page.

    Parameters
    ----------
    title
        The title of the sheet and of the document.
    lessons
        Each lesson with the address that its title leads to.
    language
        The language of the text, such as ``en-GB``.
    """
    size = LARGEST
    while True:
        sheet = _draw(title, lessons, language, size)
        if sheet.pages_count == 1 or size <= SMALLEST:
            return bytes(sheet.output())
        size -= STEP


def _draw(
    title: str, lessons: Sequence[tuple[str, Lesson]], language: str, size: float
) -> FPDF:
    sheet = FPDF(format="A4")
    sheet.set_title(title)
    sheet.set_lang(language)
    sheet.set_creation_date(DAY)
    sheet.viewer_preferences = ViewerPreferences(display_doc_title=True)
    sheet.set_margin(MARGIN)
    sheet.set_auto_page_break(True, MARGIN)
    folder = Path(find_spec("matplotlib").origin).parent / "mpl-data" / "fonts" / "ttf"
    for (family, style), file in FONTS.items():
        sheet.add_font(family, style, folder / file)
    sheet.add_page()
    sheet.set_font("Sans", "B", 1.7 * size)
    sheet.cell(text=title, new_x="LMARGIN", new_y="NEXT")
    sheet.ln(0.3 * size)
    with sheet.text_columns(ncols=2, gutter=GUTTER, line_height=1.25) as columns:
        for place, (address, lesson) in enumerate(lessons):
            if place == (len(lessons) + 1) // 2:
                columns.new_column()
            with columns.paragraph(top_margin=0.4 * size, bottom_margin=0.6) as heading:
                _write(heading, sheet, lesson.title, "B", size, address)
            for point in lesson.points:
                sheet.set_font("Sans", "", size)
                with columns.paragraph(
                    bullet_string="\N{BULLET}", indent=0.4 * size, bottom_margin=0.4
                ) as item:
                    _write(item, sheet, point, "", size)
    return sheet


def _write(
    paragraph: Paragraph,
    sheet: FPDF,
    text: Text,
    style: str,
    size: float,
    link: str | None = None,
) -> None:
    for code, words in text:
        sheet.set_font("Mono" if code else "Sans", style, size)
        paragraph.write(words, link=link)
