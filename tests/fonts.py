"""Which letters a browser of the tests draws with: one family, chosen here.

What a page's layout comes to hangs on the font. Each browser of the tests is given a
folder with the files of one family and told of no other, so that no test depends on
what is installed. DejaVu always is: matplotlib brings it, and its letters are wide.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.sax.saxutils import escape

import matplotlib

BUNDLED = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
# The fonts of a family for text and for code.
FAMILIES = {
    "DejaVu": {"DejaVuSans": "DejaVu Sans", "DejaVuSansMono": "DejaVu Sans Mono"},
}
CONFIGURATION = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
  <alias binding="strong">
    <family>sans-serif</family><prefer><family>{text}</family></prefer>
  </alias>
  <alias binding="strong">
    <family>monospace</family><prefer><family>{code}</family></prefer>
  </alias>
</fontconfig>
"""


def choose(family: str, folder: Path) -> Path:
    """Write a fontconfig file that knows one family alone; return its path."""
    fonts, file = folder / "fonts", folder / "fonts.conf"
    fonts.mkdir(parents=True)
    for beginning in FAMILIES[family]:
        for path in (
            *BUNDLED.glob(f"{beginning}.ttf"),
            *BUNDLED.glob(f"{beginning}-*"),
        ):
            shutil.copy(path, fonts)
    text, code = FAMILIES[family].values()
    places = {"fonts": escape(str(fonts)), "cache": escape(str(folder / "cache"))}
    file.write_text(CONFIGURATION.format(**places, text=text, code=code), "utf-8")
    return file
