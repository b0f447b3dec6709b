"""What the tests share: the built site, a server of it, a browser, the second device.

The tests stand in folders below this one; what is no fixture is imported from
reading.py and from sites.py.
"""

import contextlib
import functools
import gc
import http.server
import os
import shutil
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import matplotlib
import pytest
from bs4 import BeautifulSoup
from hypothesis import settings
from reading import EVERYTHING, PATIENCE, SITE, pages_in, soup
from tensor_copies.gallery import isolation, machine

# torch.utils.benchmark imports setuptools, which replaces Python's distutils. Where a
# test turns that warning into an error, the import stays half done for all later tests.
with warnings.catch_warnings(action="ignore"):
    import setuptools  # noqa: F401

BROWSERS = ("chromium-headless-shell",)  # without windows it takes half the time
BROWSERS += ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# A layout hangs on the font: browsers know DejaVu alone, which matplotlib brings.
FONTS = """<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir><cachedir>{cache}</cachedir>
  <alias binding="strong"><family>sans-serif</family>
    <prefer><family>DejaVu Sans</family></prefer></alias>
  <alias binding="strong"><family>monospace</family>
    <prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""
# Saved steps have a policy that refuses what Playwright waits with.
DESK = {
    "permissions": ["clipboard-read", "clipboard-write"],
    "viewport": {"width": 1280, "height": 900},
    "bypass_csp": True,
}
# A test that asks for one of these reads a built site, or builds one, or compiles.
SLOW_FIXTURES = {"site", "browser", "hosted", "simulated_device"}


def pytest_configure() -> None:
    """Let Python collect less, and random programs be the same unless all is tried."""
    gc.set_threshold(50_000)  # parsed pages stay: not to be looked through so often
    settings.register_profile("repeatable", derandomize=True, database=None)
    if not EVERYTHING:
        settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as ``unit`` what `nox -s unit` runs: neither slow nor with a site."""
    for item in items:
        slow = not SLOW_FIXTURES.isdisjoint(item.fixturenames)
        if not slow and not item.get_closest_marker("slow"):
            item.add_marker("unit")


def skip_but_not_on_ci(missing: str) -> None:
    """Skip a test for what is missing here; on CI nothing may be."""
    if os.environ.get("CI") == "true":
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


@pytest.fixture(scope="session")
def simulated_device() -> None:
    """Skip where the simulated device cannot be compiled, but never on CI."""
    if machine.compiler() is None:
        skip_but_not_on_ci("no C++ compiler: `apt-get install g++` for a second device")


@pytest.fixture(scope="session", autouse=True)
def as_on_any_machine() -> None:
    """Let no program colour what it says, and have forks begin as those of a build."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"):
        os.environ.pop(name, None)
    # torch.utils.benchmark looks for CUDA, if torch was built with it: no fork can have
    # a fake one then.
    preloaded = [one for one in isolation.PRELOADED if "benchmark" not in one]
    preloaded += [isolation.COMPILER, "IPython", "reading"]
    isolation.PROCESSES.set_forkserver_preload(preloaded)


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


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine; give its address."""
    files = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=str(folder)
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serve the built site; return its address."""
    with served(site) as here:
        yield here


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return Chromium with the fonts that are there on every machine."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        skip_but_not_on_ci("no Chromium here: `apt-get install chromium` for a browser")
    from playwright.sync_api import sync_playwright

    folder = tmp_path_factory.mktemp("fonts")
    bundled = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    places = {"fonts": escape(str(bundled)), "cache": escape(str(folder))}
    (folder / "fonts.conf").write_text(FONTS.format(**places), encoding="utf-8")
    with sync_playwright() as playwright:
        env = {**os.environ, "FONTCONFIG_FILE": str(folder / "fonts.conf")}
        # What a page runs once is not worth compiling well: it took 50 of 195 seconds.
        flags = ["--disable-gpu", "--js-flags=--no-opt"]
        options = {"executable_path": found, "args": flags, "env": env}
        with playwright.chromium.launch(**options, timeout=PATIENCE * 200) as started:
            yield started


@contextlib.contextmanager
def opened(browser: Any, address: str | None = None) -> Iterator[Any]:
    """Give a function that opens a page of the site; fail on an error in it."""
    contexts, problems = [], []

    def go(where: str = "about:blank", **options: Any) -> Any:
        contexts.append(browser.new_context(base_url=address, **DESK | options))
        contexts[-1].set_default_timeout(PATIENCE * 200)  # milliseconds: a fifth of it
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(where)
        return page

    yield go
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Any]:
    """Return a function that opens a page in a context of its own, for one test."""
    with opened(browser, address) as go:
        yield go


@pytest.fixture(scope="module")
def tab(browser: Any, address: str) -> Iterator[Any]:
    """Return a page at a desk that the tests of a module share."""
    with opened(browser, address) as go:
        yield go("index.html", reduced_motion="reduce")
