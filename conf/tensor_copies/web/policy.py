"""What a page may load and run: a content-security policy in its head.

Nothing comes from another host, and no code of a page runs but its own: scripts and
styles come from the site's own files, and what stands in the page itself is named by
its hash, in the pages of an ``<iframe srcdoc>`` too. So a text of a recording, of a
message or of a search that became markup by mistake would still not run.

The policy is made from the finished page, when nothing changes it any more. A hash is
of the characters between the tags, or of an attribute ``style``, which the keyword
``'unsafe-hashes'`` lets a hash name (https://www.w3.org/TR/CSP3/#unsafe-hashes-usage).
``'self'`` is the folder that a page was opened from when its address is a ``file:``;
Chromium and Firefox both take it so.

sphinx-autobuild (``nox -s live``) puts a script of its own into each page that it
serves, which the policy would refuse: it builds with ``-D site_has_policy=0``.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import unescape

from sphinx.application import Sphinx

CHARSET = re.compile(r'<meta charset="utf-8" ?/?>')
SCRIPT = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)
STYLE_OF_A_TAG = re.compile(r'\sstyle="([^"]*)"')
FRAMED = re.compile(r'\ssrcdoc="([^"]*)"')


def protected(page: str) -> str:
    """Return a page with its policy behind the line that says how to read it.

    What is no whole page is returned as it is.
    """
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(page)}">'
    return CHARSET.sub(lambda found: f"{found[0]}\n{meta}", page, count=1)


def policy(page: str) -> str:
    """Return the policy that lets a page load and run what is in it, and no more."""
    whole = [page, *_framed(page)]
    scripts = _hashes(text for part in whole for text in SCRIPT.findall(part))
    styles = _hashes(text for part in whole for text in STYLE.findall(part))
    attributes = _hashes(
        unescape(text) for part in whole for text in STYLE_OF_A_TAG.findall(part)
    )
    if attributes:
        styles += ["'unsafe-hashes'", *attributes]
    rules = {
        "default-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "img-src": ["'self'", "data:"],  # Furo's signs stand in its style sheet
        "script-src": ["'self'", *scripts],
        "style-src": ["'self'", *styles],
    }
    return "; ".join(" ".join([name, *sources]) for name, sources in rules.items())


def _framed(page: str) -> list[str]:
    """Return the pages in frames of a page: the policy of the page holds for them."""
    found = [unescape(text) for text in FRAMED.findall(page)]
    return [*found, *(inner for one in found for inner in _framed(one))]


def _hashes(texts: Iterable[str]) -> list[str]:
    digests = (sha256(text.encode()).digest() for text in dict.fromkeys(texts))
    return [f"'sha256-{b64encode(digest).decode()}'" for digest in digests]


def protect_forwards(app: Sphinx) -> list[object]:
    """Give the forwards their policies; hand no page to Sphinx."""
    for old in app.config.redirects if app.config.site_has_policy else ():
        path = app.builder.get_output_path(old)
        page = path.read_text(encoding="utf-8")
        path.write_text(protected(page), encoding="utf-8")
    return []
