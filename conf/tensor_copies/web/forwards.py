"""Forwards from addresses that pages had before (``redirects`` in conf.py).

sphinx-reredirects writes them. It takes each target as an address and asks nothing
of it; here it is the name of a page, which is checked, and gets its address from the
builder, so that the forward holds for ``dirhtml`` too.
"""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Refuse forwards to nowhere, and those from a page that exists."""
    wrong = []
    for old, new in app.config.redirects.items():
        if new not in env.found_docs:
            wrong.append(f"{old} forwards to {new}, which is no page")
        if old in env.found_docs:
            wrong.append(f"{old} forwards, but is a page")
    if wrong:
        raise ConfigError(f"redirects in conf.py: {'; '.join(wrong)}.")


def give_addresses(app: Sphinx) -> list[object]:
    """Replace the names of pages by addresses; hand no page to Sphinx."""
    # Not before: what is kept of the options from build to build has the names.
    app.config.redirects = {
        old: app.builder.get_relative_uri(old, new)
        for old, new in app.config.redirects.items()
    }
    return []
