"""What a reader does on a page, line by line, and what there is to see then.

A scene is a name between ``==`` and lines: an action, its target and, after `` | ``,
what is typed or chosen. The first names the site, a page of it and ``READERS``.
``part`` says what is seen: all that is in these parts at first, then what each action
has changed in them.
"""

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from conftest import DESK
from playwright.sync_api import Error
from reading import axe_of

SEEN, STYLE, COLOURS = (
    Path(__file__).with_name(f"{name}.js").read_text("utf-8")
    for name in ("seen", "style", "colours")
)
# What waits for less than a second does not wait; what waits longer never comes.
BEFORE_ALL = """{ const wait = setTimeout, forget = clearTimeout;
  const due = new Set(), done = new WeakSet();
  let stays = true;
  setTimeout = (act, ms = 0) => {
    if (ms >= 1000) return 0;
    const one = wait(() => { due.delete(one); act(); });
    due.add(one);
    return one; };
  clearTimeout = (one) => { due.delete(one); forget(one); };
  for (const end of ["load", "error"])
    document.addEventListener(end, ({ target }) => done.add(target), true);
  navigation.addEventListener("navigate", ({ destination, downloadRequest }) => {
    stays &&= destination.sameDocument || downloadRequest !== null; });
  window.isAtRest = () => stays && document.readyState === "complete" && !due.size &&
    [...document.querySelectorAll("script[src]")].every((one) => done.has(one)); }"""
READERS = {
    "phone": {"viewport": {"width": 360, "height": 780}, "has_touch": True},
    "narrow": {"viewport": {"width": 320, "height": 800}},
    "touch": {"has_touch": True, "is_mobile": True},
    "dark": {"color_scheme": "dark"},
    "still": {"reduced_motion": "reduce"},
}


def click(page: Any, target: str) -> None:
    """Click on what is in sight, stands still and is not covered, disabled or not."""
    page.locator(target).first.hover()  # waits for it; a click wants it enabled, too
    page.mouse.down()
    page.mouse.up()


def widen(page: Any) -> None:
    """Give a page the room of a desk, with the mouse in a corner."""
    page.set_viewport_size(DESK["viewport"])
    page.mouse.move(0, 0)  # where a finger was last, each browser may think it is


ACTS: dict[str, Callable[[Any, str, str], Any]] = {
    "click": lambda page, target, _: click(page, target),
    "tap": lambda page, target, _: page.locator(target).first.tap(),
    "fill": lambda page, target, text: page.locator(target).first.fill(text),
    "press": lambda page, keys, _: [page.keyboard.press(key) for key in keys.split()],
    "type": lambda page, text, _: page.keyboard.insert_text(text),
    "choose": lambda page, target, text: page.locator(target).select_option(text),
    "go": lambda page, target, _: page.goto(page.url.split("#")[0] + target),
    "back": lambda page, _, __: page.go_back(),
    "widen": lambda page, _, __: widen(page),
    "run": lambda page, script, _: page.evaluate(script),
}
ASKED: dict[str, Callable[[Any, str], Any]] = {
    "axe": lambda page, _: axe_of(page),
    "copied": lambda page, _: page.evaluate("navigator.clipboard.readText()"),
    "style": lambda page, target: page.evaluate(STYLE, target),
    "value": lambda page, script: page.evaluate(script),
}


def scenes_in(file: Path) -> dict[str, list[str]]:
    """Return the lines of each scene of a file, by its name."""
    parts = re.split(r"(?m)^== (.*) ==\n", file.read_text(encoding="utf-8"))[1:]
    lines = [text.split("\n") for text in map(str.strip, parts[1::2])]
    return dict(zip(parts[::2], lines, strict=True))


def play(
    lines: list[str], sites: dict[str, str], go: Callable[..., Any]
) -> Iterator[str]:
    """Do on a page what the lines of a scene say; give what there is to see."""
    address = ""
    page, waiting, query, before, where = None, set(), "article", [], ""
    for line in lines:
        act, _, rest = line.partition(" ")
        target, text = [*re.split(r" \|(?: |$)", rest, maxsplit=1), ""][:2]
        yield f"> {line}"
        if act in ASKED:
            yield f"  {ASKED[act](page, target)}"
            continue
        if act in sites:
            address = sites[act]
            options = [item for one in text.split() for item in READERS[one].items()]
            page = go(**dict(options))
            page.add_init_script(f"{BEFORE_ALL} ({COLOURS})();")
            page.on("request", lambda one: waiting.add(one))
            for end in ("requestfinished", "requestfailed"):
                page.on(end, lambda one: waiting.discard(one))
            page.goto(address + target)
            continue
        if act == "part":
            query = rest
        else:
            ACTS[act](page, target, text.replace("\\n", "\n"))
        now = settled(page, query, waiting)
        if page.url != where:
            if page.url.split("?")[0].split("#")[0] not in where:
                before = []  # nothing of another page
            where = page.url
            yield f"  at {where.removeprefix(address):.300}"
        yield from changes(before, now)
        before = now


def settled(page: Any, query: str, waiting: set[Any]) -> list[str]:
    """Return what is seen once nothing loads or changes any more."""
    last, seen = None, []
    while waiting or seen != last:
        last = seen
        try:
            seen = page.evaluate(SEEN, query)
        except Error:  # another page comes
            page.wait_for_load_state()
    return seen


def changes(before: list[str], now: list[str]) -> Iterator[str]:
    """Give the lines that are gone and those that came."""
    same = SequenceMatcher(None, before, now, autojunk=False)
    for kind, at, end, new, new_end in same.get_opcodes():
        if kind != "equal":
            yield from (f"  - {one}" for one in before[at:end])
            yield from (f"  + {one}" for one in now[new:new_end])
