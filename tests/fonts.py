"""Which letters a browser of the tests draws with: one family, chosen here.

What a page's layout comes to hangs on the font. Each browser of the tests is given a
folder with the files of one family and told of no other, so that no test depends on
what is installed. DejaVu always is: matplotlib brings it.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

import matplotlib

BUNDLED = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
# Where a Linux system and its user keep fonts.
PLACES = [
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path.home() / ".local" / "share" / "fonts",
    Path.home() / ".fonts",
]
STYLES = ("", "-Regular", "-Bold", "-Italic", "-Oblique", "-BoldItalic", "-BoldOblique")
# The names of a family for text and for code, by the beginning of its files' names;
# first the one that is there on every machine.
# Where a family has no letters for code, or is installed without them, it takes those
# of DejaVu.
FAMILIES = {
    "DejaVu": {"DejaVuSans": "DejaVu Sans", "DejaVuSansMono": "DejaVu Sans Mono"},
    "Liberation": {
        "LiberationSans": "Liberation Sans",
        "LiberationMono": "Liberation Mono",
    },
    "Noto": {"NotoSans": "Noto Sans", "DejaVuSansMono": "DejaVu Sans Mono"},
    "Roboto": {"Roboto": "Roboto", "DejaVuSansMono": "DejaVu Sans Mono"},
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


def files_of(beginning: str) -> list[Path]:
    """Return the files of a font in its four common styles, where they are."""
    wanted = {f"{beginning}{style}.ttf" for style in STYLES}
    if beginning.startswith("DejaVu"):
        return [path for path in BUNDLED.glob("*.ttf") if path.name in wanted]
    found = {
        path.name: path
        for place in PLACES
        for path in place.rglob("*.ttf")
        if path.name in wanted
    }
    return list(found.values())


def is_there(family: str) -> bool:
    """Whether this machine has a family, for text and for code."""
    return all(files_of(beginning) for beginning in FAMILIES[family])


def choose(family: str, folder: Path) -> Path:
    """Write a fontconfig file that knows one family alone; return its path."""
    fonts = folder / "fonts"
    fonts.mkdir(parents=True)
    for beginning in FAMILIES[family]:
        for path in files_of(beginning):
            (fonts / path.name).write_bytes(path.read_bytes())
    text, code = FAMILIES[family].values()
    file = folder / "fonts.conf"
    file.write_text(
        CONFIGURATION.format(
            fonts=escape(str(fonts)),
            cache=escape(str(folder / "cache")),
            text=text,
            code=code,
        ),
        encoding="utf-8",
    )
    return file
