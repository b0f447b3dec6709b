"""No page runs or loads but its own: its content-security policy, and a browser's word.

Here a browser keeps to the policies, and each kind of button is pressed once.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from reading import soup
from tensor_copies.web.policy import policy, protected

# Told to a page before anything of it is read.
LISTEN = """
  window.refused = [];
  addEventListener("securitypolicyviolation", (told) => {
    window.refused.push(`${told.effectiveDirective} ${told.blockedURI}`);
    console.warn("refused", window.refused.at(-1));
  }, true);
"""
# A page of each kind; the last forwards.
KINDS = (
    *("index.html", "search.html?q=leaf", "atlas.html", "errors.html"),
    *("self_check.html", "auto_examples/1_basics/detach.html", "article.html"),
    *("tensor_maps.html", "cheat_sheet.html", "genindex.html", "404.html"),
    "builders.html",
)
FROM_FILES = ("index.html", "auto_examples/1_basics/detach.html", "builders.html")
# The first of each kind of thing to press that leads to no other page.
WORKED = {  # what is there after that
    "index.html": ".explorer-headline:not(:empty)",
    "search.html?q=leaf": "#search-results .result",
    "auto_examples/1_basics/detach.html": ".predict-choices input:checked",
}
PRESS = """() => {
  const pressed = new Set();
  const all = (name) => [...document.querySelectorAll(name)];
  for (const one of [...all("button, summary"), ...all("[type=radio]")]) {
    const within = one.parentElement.closest("[class]:not([class=''])");
    const kind = [one.tagName, one.className, within.className].join();
    const sends = one.form && one.type === "submit";
    if (pressed.has(kind) || sends || !one.checkVisibility()) continue;
    pressed.add(kind);
    one.click();
  }
  return pressed.size;
}"""


def hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def rules_of(page: BeautifulSoup) -> dict[str, list[str]]:
    (meta,) = page.select('meta[http-equiv="Content-Security-Policy"]')
    parts = [rule.split() for rule in meta["content"].split(";")]
    return {name: sources for name, *sources in parts}


def test_every_page_names_by_hash_what_stands_in_it(site: Path, pages: dict) -> None:
    """Also the pages in frames, and the forwards."""
    for path in site.rglob("*.html"):
        page = pages.get(path.resolve()) or soup(path)
        rules = rules_of(page)
        assert page.head.meta.get("charset") and page.head.select("meta")[1].get(
            "http-equiv"
        ), f"{path}: something stands before its policy"
        assert rules["default-src"] == rules["base-uri"] == ["'none'"]
        scripts, styles = set(), set()
        parts = [page]
        for part in parts:
            parts += [soup_of(frame["srcdoc"]) for frame in part.select("[srcdoc]")]
            inline = part.select("script:not([src])")
            scripts |= {hash_of(one.string) for one in inline}
            styles |= {hash_of(one.string) for one in part.select("style")}
            styles |= {hash_of(one["style"]) for one in part.select("[style]")}
            handlers = [
                (tag.name, name)
                for tag in part.find_all(True)
                for name in tag.attrs
                if name.startswith("on")
            ]
            assert handlers == [], path
        assert set(rules["script-src"]) == {"'self'", *scripts}, path
        allowed = set(rules["style-src"]) - {"'unsafe-hashes'"}
        assert allowed >= {"'self'", *styles}, path
        # No word that lets anything in, no host and no scheme but these.
        words = {word for sources in rules.values() for word in sources}
        words -= {"'self'", "'none'", "'unsafe-hashes'", "data:"}
        assert all(re.fullmatch(r"'sha256-[\w+/]{43}='", word) for word in words), path


def soup_of(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def test_a_policy_names_what_stands_in_the_page_and_in_its_frames() -> None:
    framed = "<script>b()</script><p style='color: red'></p>"
    frame = framed.replace("'", "&quot;")
    page = (
        '<head><meta charset="utf-8"></head><script src="x.js"></script>'
        f'<script>a("<")</script><style>p {{}}</style><iframe srcdoc="{frame}">'
    )
    rules = rules_of(soup_of(protected(page)))
    assert rules["script-src"] == ["'self'", hash_of('a("<")'), hash_of("b()")]
    assert rules["style-src"] == [
        "'self'", hash_of("p {}"), "'unsafe-hashes'", hash_of("color: red"),
    ]  # fmt: skip
    assert "unsafe" not in policy("<p>plain</p>")
    assert protected("<p>no page</p>") == "<p>no page</p>"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_refuses_nothing_of_ours(
    scheme: str, site: Path, address: str, browser: Any
) -> None:
    """From a host, and from files, as who downloads the site reads it."""
    root, visited = (
        (address, KINDS) if scheme == "light" else (site.as_uri(), FROM_FILES)
    )
    context = browser.new_context(color_scheme=scheme, bypass_csp=False)
    context.add_init_script(LISTEN)
    tab, said = context.new_page(), []
    tab.on("console", lambda one: one.type != "log" and said.append((page, one.text)))
    tab.on("pageerror", lambda error: said.append((page, str(error))))
    for page in visited:
        tab.goto(f"{root.rstrip('/')}/{page}", wait_until="load")
        if page == visited[-1]:
            tab.wait_for_url("**/machines.html")
        assert tab.evaluate(PRESS) > 0, page
        tab.locator(WORKED.get(page, "body")).first.wait_for(state="attached")
    # The search brings its scripts when it is asked.
    tab.keyboard.press("/")
    tab.keyboard.type("leaf")
    tab.locator(".result").first.wait_for()
    assert said == []
    # That would have been heard.
    page = "a script and a style that nobody has named"
    tab.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          document.body.insertAdjacentHTML("beforeend", "<p style='color: red'>");
          // Behind what the browser has to tell by then.
          setTimeout(() => document.body.insertAdjacentHTML(
            "beforeend", "<p class='told'>"));
        }"""
    )
    tab.locator("p.told").wait_for(state="attached")
    told = set(tab.evaluate("window.refused"))
    assert told == {"script-src-elem inline", "style-src-attr inline"}
    assert tab.evaluate("window.ran") is None
    context.close()
