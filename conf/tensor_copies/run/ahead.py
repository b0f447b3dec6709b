"""What pages will ask for, begun beside the first that take no times.

The probes of the Atlas and of the explorer run in processes of their own and take as
long as many pages, while a core is idle. Who asks for them waits until they are done.
If they fail nothing is said here: who asks runs them once more, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_works: list[tuple[str, Callable[[], Any]]] = []


def once(function: Callable[[], Any]) -> Callable[[], Any]:
    """Call a function once in a build; whoever asks meanwhile waits for it."""
    lock, kept = Lock(), []

    @wraps(function)
    def asked() -> Any:
        with lock:
            if not kept:
                kept.append(function())
            return kept[0]

    asked.forget = kept.clear
    return asked


def add(directive: str, function: Callable[[], Any]) -> None:
    """Have a function called ahead, if pages have directives that begin so."""
    _works.append((directive, function))


def begin(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Begin what the pages to be read will ask for."""
    paths = [Path(env.doc2path(page)) for page in pages]
    texts = [path.read_text("utf-8") for path in paths if path.suffix == ".md"]
    pool = ThreadPoolExecutor(1)
    for directive, function in _works:
        if any(f"{{{directive}" in text for text in texts):
            pool.submit(function)
    pool.shutdown(wait=False)
