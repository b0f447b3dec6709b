"""Where the site is hosted, if it is: all that a build asks of its environment.

``SITE_URL``
    Address of the built site. Canonical links, the sitemap, ``robots.txt`` and the
    404 page need it.
``SITE_REPOSITORY``
    ``https://github.com/OWNER/NAME``. The edit links, "Something wrong on this
    page?" and the Colab buttons need it.
``SITE_VERSION``
    ``dev`` puts a banner on every page; any other name, or none, does not.
``SITE_STABLE_URL``
    Where the stable version is. The banner of ``dev`` links there, and search engines
    are asked to keep to it.

Read the Docs says the first three by itself, under names of its own. Without any of
them the site is whole; what needs an address is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from sphinx.errors import ConfigError

BRANCH = "main"  # what an edit link changes
_GITHUB = re.compile(r"(?:https://|git@)github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?/?")
_DEV = ("dev", "latest")  # "latest" is what Read the Docs calls its own


@dataclass(frozen=True)
class SiteAddress:
    """Where a version of the site is hosted; an empty text where nothing is said."""

    url: str
    repository: str
    is_dev: bool
    is_indexed: bool  # search engines are welcome: not where they should take stable
    announcement: str  # the banner of the development version, as HTML


def site_address(environ: Mapping[str, str] = os.environ) -> SiteAddress:
    """Return what the environment says; raise ``ConfigError`` if it cannot be so."""
    version = environ.get("SITE_VERSION") or environ.get("READTHEDOCS_VERSION", "")
    preview = environ.get("READTHEDOCS_VERSION_TYPE") == "external"
    is_dev = version in _DEV or preview
    stable_url = _url(environ, "SITE_STABLE_URL")
    banner = "Development version."  # on a phone, one short line is seen
    if stable_url:
        banner += f' <a href="{escape(stable_url)}">Read the stable one</a>.'
    return SiteAddress(
        url=_url(environ, "SITE_URL", "READTHEDOCS_CANONICAL_URL"),
        repository=_repository(environ),
        is_dev=is_dev,
        is_indexed=not (is_dev and stable_url),
        announcement=banner if is_dev else "",
    )


def _url(environ: Mapping[str, str], *names: str) -> str:
    for name in names:
        if said := environ.get(name, ""):
            if not re.fullmatch(r"https?://[^\s/?#\"'<>]+(/[^\s?#\"'<>]*)?", said):
                raise ConfigError(
                    f"{name}={said} is not the address of a site: write it like "
                    "https://example.org/tensor-copies/."
                )
            return said.rstrip("/") + "/"
    return ""


def _repository(environ: Mapping[str, str]) -> str:
    said = environ.get("SITE_REPOSITORY", "")
    found = _GITHUB.fullmatch(said or environ.get("READTHEDOCS_GIT_CLONE_URL", ""))
    if found:
        return f"https://github.com/{found[1]}"
    if said:
        raise ConfigError(
            f"SITE_REPOSITORY={said} is not a repository: write it like "
            "https://github.com/OWNER/NAME."
        )
    return ""
