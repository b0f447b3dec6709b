"""What the tests share: the built site, a server of it, a browser, the second device.

The tests may stand in folders below this one: what they share is imported from here,
from reading.py and from sites.py.
"""

from __future__ import annotations

import functools
import gc
import http.server
import os
import shutil
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fonts
import pytest
from bs4 import BeautifulSoup
from hypothesis import settings
from reading import EVERYTHING, PATIENCE, ROOT, pages_in, soup
from sites import Built, TinySite, computing_page, lesson, new_tiny_site, plain
from tensor_copies.gallery import isolation, machine

__all__ = [
    "PATIENCE", "ROOT", "Built", "TinySite", "client_of", "computing_page", "lesson",
    "new_tiny_site", "plain",
]  # fmt: skip
# torch.utils.benchmark imports setuptools, which replaces Python's distutils. Where a
# test turns that warning into an error, the import stays half done for all later tests.
with warnings.catch_warnings(action="ignore"):
    import setuptools  # noqa: F401

SITE = ROOT / "build" / "html"
PATIENCE_OF_BROWSER = 180  # seconds
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# A test that asks for one of these reads a built site, or builds one, or compiles, or
# runs all probes of the Atlas.
SLOW_FIXTURES = {
    *("site", "address", "start_chromium", "tiny_site", "hosted"),
    *("tiny", "simulated_device", "observed", "second"),
}


def client_of(notebook: Any, folder: Path) -> Any:
    """Return nbclient's client that runs a notebook in a folder."""
    from nbclient import NotebookClient

    return NotebookClient(
        notebook,
        timeout=PATIENCE,
        startup_timeout=PATIENCE,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )


@pytest.fixture(scope="session")
def simulated_device() -> None:
    """Skip where the simulated device cannot be compiled, but never on CI."""
    if machine.compiler() is None:
        missing = "no C++ compiler: `apt-get install g++` for a second device"
        if os.environ.get("CI") == "true":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)


@pytest.fixture(scope="session", autouse=True)
def can_be_interrupted() -> None:
    """Have Ctrl+C end what a test starts, though the tests may run in the background.

    A shell without job control has that ignore it, and what is started inherits this.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def plain_output() -> None:
    """Let no program colour what it says because this environment asks for it."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"):
        os.environ.pop(name, None)


@pytest.fixture(scope="session", autouse=True)
def forks_have_torch() -> None:
    """Have what runs lessons apart fork a Python that has torch, as a build does.

    An optimizer imports the compiler, for two seconds.
    """
    isolation.PROCESSES.set_forkserver_preload(["torch", "numpy", isolation.COMPILER])


@pytest.fixture(scope="module", autouse=True)
def pages_of_others_are_let_be() -> None:
    """Leave what was there before a module out of what Python looks through.

    A worker holds millions of objects of parsed pages, which each collection, each fork
    and whoever asks who refers to what would go through again.
    """
    gc.freeze()


def pytest_configure() -> None:
    """Let random programs be the same in each run, unless all is to be tried."""
    # A test sends signals to what it starts, which a shell's background job and nohup
    # ignore. Where Python handles one, what it starts has the usual answer to it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)
    programs = "repeatable"
    settings.register_profile(programs, derandomize=True, database=None)
    if not EVERYTHING:
        settings.load_profile(programs)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as ``unit`` what `nox -s unit` runs: neither slow nor with a site."""
    for item in items:
        slow = not SLOW_FIXTURES.isdisjoint(item.fixturenames)
        if not slow and not item.get_closest_marker("slow"):
            item.add_marker("unit")


@pytest.fixture
def tiny_site(tmp_path: Path) -> TinySite:
    """Make a new tiny site without lessons."""
    return new_tiny_site(tmp_path / "tiny")


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the built site."""
    if not (SITE / "index.html").exists():
        pytest.fail("there is no built site: run `nox -s docs` first", pytrace=False)
    return SITE


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, BeautifulSoup]:
    """Return every page of the site, parsed."""
    return {path.resolve(): soup(path) for path in pages_in(site)}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Say nothing: a test prints what went wrong."""


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *arguments: object) -> None:
        """Say nothing of a browser that left a page before it had all of it."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serve the built site on this machine; return its address."""
    handler = functools.partial(_Quiet, directory=str(site))
    server = _Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class Chromium:
    """A browser that draws with one family of fonts, and waits as long as it takes.

    It passes over the policies of saved steps, unless it is told otherwise: Playwright
    waits by evaluating text within a page, which they refuse.
    """

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium
        self.close = chromium.close

    def new_context(self, **options: Any) -> Any:
        """Open a context (see Playwright) of its own."""
        context = self._chromium.new_context(**{"bypass_csp": True, **options})
        context.set_default_timeout(PATIENCE_OF_BROWSER * 1000)  # in milliseconds
        return context

    def new_page(self, **options: Any) -> Any:
        """Open a page in a context of its own, which is closed with it."""
        page = self._chromium.new_page(**{"bypass_csp": True, **options})
        page.context.set_default_timeout(PATIENCE_OF_BROWSER * 1000)
        return page

    def drawn_with(self) -> set[str]:
        """Ask the browser for the families that it draws text and code with."""
        page = self.new_page()
        page.set_content("<p style='font-family: sans-serif'>a <code>b</code></p>")
        tools = page.context.new_cdp_session(page)
        for domain in ("DOM", "CSS"):
            tools.send(f"{domain}.enable")
        root = tools.send("DOM.getDocument")["root"]["nodeId"]
        names = set()
        for part in ("p", "code"):
            asked = {"nodeId": root, "selector": part}
            node = {"nodeId": tools.send("DOM.querySelector", asked)["nodeId"]}
            used = tools.send("CSS.getPlatformFontsForNode", node)["fonts"]
            names |= {font["familyName"] for font in used}
        page.close()
        return names


@pytest.fixture(scope="session")
def start_chromium(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Chromium]]:
    """Return what starts Chromium; skip where there is none, but never on CI."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        missing = "no Chromium here: `apt-get install chromium` to run browser tests"
        if os.environ.get("CI") == "true":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    arguments = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-dev-shm-usage",
    ]
    with sync_playwright() as playwright:

        def start(family: str) -> Chromium:
            chosen = fonts.choose(family, tmp_path_factory.mktemp(family))
            started = playwright.chromium.launch(
                executable_path=found,
                args=arguments,
                env={**os.environ, "FONTCONFIG_FILE": str(chosen)},
                timeout=PATIENCE_OF_BROWSER * 1000,
            )
            return Chromium(started)

        yield start


@pytest.fixture(scope="session")
def browser(start_chromium: Callable[[str], Chromium]) -> Chromium:
    """Return Chromium with the fonts that are there on every machine."""
    family, *_ = fonts.FAMILIES
    started = start_chromium(family)
    assert started.drawn_with() == set(fonts.FAMILIES[family].values())
    return started


@pytest.fixture(scope="session", params=fonts.FAMILIES)
def browser_of_each_family(
    request: pytest.FixtureRequest, start_chromium: Callable[[str], Chromium]
) -> Iterator[Chromium]:
    """Return Chromium with one family after the other, as far as they are there."""
    family = request.param
    if not fonts.is_there(family):
        pytest.skip(f"the fonts {family} are not installed")
    started = start_chromium(family)
    assert started.drawn_with() == set(fonts.FAMILIES[family].values())
    yield started
    started.close()
