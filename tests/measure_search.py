"""Measure the search on what people ask: `python tests/measure_search.py`.

Prints a table for the built site: Sphinx's own search and this site's, on the queries
of queries.toml, tuned and held out. ``--libraries`` adds others on the same sections,
as they come, in the versions below; npm fetches them into ``build/search``. ``--wrong``
lists what the tuned queries find instead.

``in 3``: a right section is among the first three. ``page``: a right page is. ``MRR``:
the mean of one over the place of the first right section. ``none``: queries without any
result. ``kB``: all that is loaded for it, gzipped. ``ms``: of a query, the median and
the longest, and of the start, in Chromium on this machine, four times slowed.
Pagefind loads as it is asked: its kB are of its first query.
"""

from __future__ import annotations

import argparse
import gzip
import pickle
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "html"
DOCTREES = ROOT / "build" / "doctrees" / "html"
QUERIES = ROOT / "tests" / "queries.toml"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
GALLERY, SLOWED, FIRST = "auto_examples/", 4, 3
# In the order in which load.js loads them; results.js and its style draw.
OURS = [
    *("messages.js", "find_message.js", "search_index.js"),
    *("search/minisearch.js", "search/words.js", "search/rank.js"),
]
DRAWING = ["search/load.js", "search/results.js", "search/results.css"]
LIBRARIES = {
    "MiniSearch 7.2.0": ("minisearch@7.2.0", "dist/umd/index.js"),
    "lunr.js 2.3.9": ("lunr@2.3.9", "lunr.min.js"),
    "FlexSearch 0.8.212": ("flexsearch@0.8.212", "dist/flexsearch.bundle.min.js"),
    "Fuse.js 7.5.0": ("fuse.js@7.5.0", "dist/fuse.min.cjs"),
}
# It reads the pages themselves, with a program of its own for each system.
PAGEFIND = "Pagefind 1.6.0"
# Each makes `find(query)`, the addresses that a library finds among `documents`.
STARTS = {
    "MiniSearch 7.2.0": """
        const index = new MiniSearch({ fields: keys });
        index.addAll(documents);
        window.find = (query) => index.search(query, { prefix: true, fuzzy: 0.2 })
            .map(({ id }) => documents[id].address);""",
    "lunr.js 2.3.9": """
        const index = lunr(function () {
            for (const key of keys) this.field(key);
            for (const one of documents) this.add(one);
        });
        window.find = (query) =>
            index.search(query.replace(/[^\\p{L}\\d\\s]/gu, " "))
                .map(({ ref }) => documents[ref].address);""",
    "FlexSearch 0.8.212": """
        const options = { tokenize: "forward", encoder: "LatinBalance" };
        const index = new FlexSearch.Index(options);
        for (const one of documents)
            index.add(one.id, keys.map((key) => one[key]).join(" "));
        window.find = (query) => index.search(query, { suggest: true, limit: 30 })
            .map((id) => documents[id].address);""",
    "Fuse.js 7.5.0": """
        const index = new module.exports(documents, { keys, ignoreLocation: true });
        window.find = (query) =>
            index.search(query).map(({ item }) => item.address);""",
}
DOCUMENTS = """() => {
    const slug = (heading) =>
        heading.toLowerCase().replace(/[^a-z\\d]+/g, "-").replace(/^[-\\d]+|-+$/g, "");
    window.keys = ["heading", "sentence", "code", "prose", "asked"];
    window.documents = searchIndex.pages.flatMap(([page, listed]) => listed.map(
        ([named, , heading, sentence, code, prose, asked]) => {
            const anchor = named === 1 ? slug(heading) : named;
            return {
                address: anchor ? `${page}#${anchor}` : page,
                heading, sentence, code, prose, asked: asked.join(" "),
            };
        }));
    documents.forEach((one, id) => { one.id = id; });
}"""
# Its results are pages; their parts are the headings that have an anchor.
FIND_PAGES = """async (queries) => {
    const pagefind = await import("/pagefind/pagefind.js");
    await pagefind.init();
    const all = [];
    for (const query of queries) {
        const begun = performance.now();
        const { results } = await pagefind.search(query);
        const pages = await Promise.all(results.slice(0, 10).map((one) => one.data()));
        const ms = performance.now() - begun;
        const found = pages.flatMap(({ sub_results }) => sub_results)
            .map(({ url }) => url.replace(/^\\//, ""));
        all.push({ found: found.slice(0, 30), ms });
    }
    return all;
}"""
ASK = """(queries) => queries.map((query) => {
    const begun = performance.now();
    const found = find(query);
    return { found: found.slice(0, 30), ms: performance.now() - begun };
})"""
SPHINX = """() => {
    // It notes the words that it would mark; a page without an address keeps nothing.
    Object.defineProperty(window, "localStorage", { value: { setItem() {} } });
    window.find = (query) => Search._performSearch(...Search._parseQuery(query))
        .reverse().map(([page, , anchor]) => `${page}.html${anchor}`);
}"""


@dataclass(frozen=True)
class Query:
    """What somebody asked, and the names of the sections that answer."""

    ask: str
    right: tuple[str, ...]
    held_out: bool


@dataclass(frozen=True)
class Score:
    """How good the answers to some queries are, each a share but for the last."""

    first: float
    pages: float
    rank: float
    nothing: int


@dataclass(frozen=True)
class Measured:
    """What a search found, the first first, how large it is and how long it takes."""

    name: str
    found: list[list[str]]
    kilobytes: float
    milliseconds: list[float]
    start: float


def queries() -> list[Query]:
    """Return all queries, the tuned ones first."""
    listed = tomllib.loads(QUERIES.read_text(encoding="utf-8"))
    return [
        Query(one["ask"], tuple(one["right"]), kind == "held_out")
        for kind in ("tuned", "held_out")
        for one in listed[kind]
    ]


def is_right(name: str, address: str) -> bool:
    """Whether an address is what a name of queries.toml stands for."""
    page, _, anchor = address.partition("#")
    page = page.removesuffix(".html")
    wanted, _, part = name.partition("#")
    if page == GALLERY + wanted:
        return not part or part == anchor
    return page == wanted and part == anchor


def score(asked: Sequence[Query], found: Sequence[Sequence[str]]) -> Score:
    """Judge what was found, the first results first."""
    places, pages = [], 0
    for query, addresses in zip(asked, found, strict=True):
        right = [any(is_right(name, one) for name in query.right) for one in addresses]
        places.append(right.index(True) + 1 if True in right else None)
        of_pages = {name.partition("#")[0] for name in query.right}
        first = {
            one.partition("#")[0].removesuffix(".html").removeprefix(GALLERY)
            for one in addresses[:FIRST]
        }
        pages += bool(of_pages & first)
    number = len(asked)
    return Score(
        sum(place is not None and place <= FIRST for place in places) / number,
        pages / number,
        sum(1 / place for place in places if place) / number,
        sum(not addresses for addresses in found),
    )


def kilobytes(files: Sequence[Path]) -> float:
    """Return what files weigh, gzipped one by one."""
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in files) / 1000


@contextmanager
def tab(slowed: int = SLOWED) -> Iterator[Any]:
    """Open an empty page in Chromium, with the processor slowed."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise SystemExit("measure_search: no Chromium here; see the README")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        page = browser.new_page()
        tools = page.context.new_cdp_session(page)
        tools.send("Emulation.setCPUThrottlingRate", {"rate": slowed})
        yield page
        browser.close()


def measure_ours(asked: Sequence[Query], site: Path = SITE) -> Measured:
    """Ask the search of a built site."""
    static = site / "_static"
    with tab() as page:
        page.evaluate("window.begun = performance.now()")
        for name in OURS:
            page.add_script_tag(content=(static / name).read_text(encoding="utf-8"))
        start = page.evaluate("performance.now() - begun")
        page.evaluate(
            "() => { find = (query) => searchFor(query).map(({address}) => address); }"
        )
        size = kilobytes([static / name for name in [*OURS, *DRAWING]])
        return _ask("this site", page, asked, size, start)


def _ask(
    name: str, page: Any, asked: Sequence[Query], size: float, start: float
) -> Measured:
    page.evaluate(ASK, [query.ask for query in asked[:20]])  # compiled by now
    answers = page.evaluate(ASK, [query.ask for query in asked])
    found = [answer["found"] for answer in answers]
    return Measured(name, found, size, [one["ms"] for one in answers], start)


def measure_sphinx(asked: Sequence[Query]) -> Measured:
    """Ask Sphinx's own search, with an index made of the same pages."""
    from docutils import nodes
    from sphinx import addnodes
    from sphinx.application import Sphinx
    from sphinx.search import IndexBuilder, js_index

    sys.path.insert(0, str(ROOT / "conf"))
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "source"), Path(folder, "out")
        source.mkdir()
        (source / "index.rst").write_text("Pages\n=====\n", encoding="utf-8")
        app = Sphinx(source, None, out, Path(folder, "doctrees"), "html", status=None)
        app.build()
        index = IndexBuilder(app.env, "en", {}, "")
        entries = app.env.get_domain("index").entries
        for path in sorted(DOCTREES.rglob("*.doctree")):
            name = path.relative_to(DOCTREES).with_suffix("").as_posix()
            doctree = pickle.loads(path.read_bytes())
            entries[name] = [
                entry
                for one in doctree.findall(addnodes.index)
                for entry in one["entries"]
            ]
            title = next(doctree.findall(nodes.title))
            index.feed(name, f"{name}.html", title.astext(), doctree)
        with (out / "searchindex.js").open("w", encoding="utf-8") as file:
            index.dump(file, js_index)
        static = out / "_static"
        files = [
            static / "documentation_options.js", static / "doctools.js",
            static / "sphinx_highlight.js", static / "searchtools.js",
            static / "language_data.js", out / "searchindex.js",
        ]  # fmt: skip
        with tab() as page:
            page.evaluate("window.begun = performance.now()")
            for path in files:
                page.add_script_tag(content=path.read_text(encoding="utf-8"))
            start = page.evaluate("performance.now() - begun")
            page.evaluate(SPHINX)
            return _ask("Sphinx", page, asked, kilobytes(files), start)


def measure_library(name: str, asked: Sequence[Query]) -> Measured:
    """Ask another library, as it comes, with the same sections and questions."""
    package, path = LIBRARIES[name]
    library, index = fetched(package) / path, SITE / "_static" / "search_index.js"
    with tab() as page:
        if library.suffix == ".cjs":  # made for Node
            page.evaluate("window.module = { exports: {} }")
        page.add_script_tag(content=index.read_text(encoding="utf-8"))
        page.add_script_tag(content=library.read_text(encoding="utf-8"))
        page.evaluate(DOCUMENTS)
        page.evaluate("window.begun = performance.now()")
        page.add_script_tag(content=f"{{{STARTS[name]}}}")
        start = page.evaluate("performance.now() - begun")
        return _ask(name, page, asked, kilobytes([library, index]), start)


def fetched(package: str) -> Path:
    """Return the folder of an npm package, fetched once into ``build/search``."""
    folder = ROOT / "build" / "search" / package.replace("/", "+")
    if not folder.exists():
        with tempfile.TemporaryDirectory() as download:
            subprocess.run(
                ["npm", "pack", "--silent", package],
                cwd=download, check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            (archive,) = Path(download).glob("*.tgz")
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
    return folder / "package"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing: the table is all that is printed."""


def measure_pagefind(asked: Sequence[Query]) -> Measured:
    """Ask Pagefind, which reads the built pages, over a server of this machine."""
    version = PAGEFIND.split()[1]
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}[sys.platform]
    machine = "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"
    program = fetched(f"@pagefind/{system}-{machine}@{version}") / "bin"
    with tempfile.TemporaryDirectory() as folder:
        site = Path(shutil.copytree(SITE, Path(folder, "site")))
        subprocess.run(
            [program / "pagefind_extended", "--site", site, "--quiet"], check=True
        )
        handler = partial(_Quiet, directory=site)
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with tab() as page:
                loaded: list[str] = []
                page.on("request", lambda request: loaded.append(request.url))
                page.goto(f"http://127.0.0.1:{server.server_port}/llms.txt")
                loaded.clear()
                page.evaluate(FIND_PAGES, [asked[0].ask])
                files = {site / urlsplit(url).path.lstrip("/") for url in loaded}
                answers = page.evaluate(FIND_PAGES, [query.ask for query in asked])
        finally:
            server.shutdown()
            server.server_close()
        size = kilobytes([path for path in files if path.is_file()])
    found, times = [one["found"] for one in answers], [one["ms"] for one in answers]
    return Measured(PAGEFIND, found, size, times, 0)


def table(asked: Sequence[Query], measured: Sequence[Measured]) -> str:
    """Return a line for each search, on tuned and on held out queries."""
    lines = [
        f"{'':20}  {'tuned: in 3  page   MRR  none':30}"
        f"  {'held out: in 3  page   MRR  none':33}     kB   ms of a query    start"
    ]
    for one in measured:
        parts = []
        for held_out in (False, True):
            rows = [
                (query, found)
                for query, found in zip(asked, one.found, strict=True)
                if query.held_out == held_out
            ]
            got = score(*zip(*rows, strict=True))
            parts.append(
                f"{got.first:6.1%} {got.pages:6.1%} {got.rank:5.3f} {got.nothing:4}"
            )
        ms = f"{median(one.milliseconds):5.1f}, {max(one.milliseconds):6.1f}"
        lines.append(
            f"{one.name:20}  {parts[0]:>30}  {parts[1]:>33}  {one.kilobytes:5.1f}"
            f"  {ms}  {one.start:7.0f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure the search.")
    parser.add_argument("--libraries", action="store_true", help="others too, by npm")
    parser.add_argument(
        "--wrong", action="store_true", help="list what tuned ones miss"
    )
    options = parser.parse_args()
    if not (SITE / "_static" / "search_index.js").exists():
        raise SystemExit("measure_search: build the site first")
    asked = queries()
    ours = measure_ours(asked)
    if options.wrong:
        for query, found in zip(asked, ours.found, strict=True):
            if not query.held_out and not score([query], [found]).first:
                print(f"{query.ask}\n  want  {'  '.join(query.right)}")
                print(f"  have  {'  '.join(found[:5])}")
        return
    others = [measure_sphinx(asked)]
    if options.libraries:
        others += [measure_library(name, asked) for name in LIBRARIES]
        others.append(measure_pagefind(asked))
    half = sum(query.held_out for query in asked)
    print(f"{len(asked)} queries, {half} of them held out; first {FIRST} results")
    print(table(asked, [*others, ours]))


if __name__ == "__main__":
    main()
