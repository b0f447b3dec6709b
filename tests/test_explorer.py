"""The explorer: what it shows is what the calls do, for every reader."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reading import EVERYTHING, SCRIPTS, page_of, soup
from tensor_copies.explorer import probing
from tensor_copies.explorer.chains import CALLS, LONGEST, chain_of, code_of
from tensor_copies.explorer.data import BUILD, Explorer, pack, probe, walk
from tensor_copies.explorer.page import entry_of
from tensor_copies.explorer.scenes import picture
from tensor_copies.explorer.words import facts, headline
from tensor_copies.machine.code_keys import code_behind
from tensor_copies.machine.fingerprint import CONF
from tensor_maps.atlas.calls import OPERATIONS
from visits import AXE, AXE_RULES, HEADERS, PROBLEMS

STATE = "leaf"
SAMPLE = 80
MOST_KB = 52  # about 7 of them are the marks of all pictures
PICTURE = ".explorer-picture"


@pytest.fixture(scope="module")
def explorer(site: Path) -> Explorer:
    """Return what the published page answers from."""
    return Explorer(published(site))


def published(site: Path) -> dict[str, Any]:
    text = (site / "_static" / "explorer_data.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("window.explorerData=").rstrip(";\n"))


def place_of(explorer: Explorer, seen: dict[str, Any], device: str) -> tuple[str, str]:
    others = [name for name in explorer.devices if name != device]
    there = others[0] if seen["moved"] else device
    return tuple("cpu" if name == "cpu" else "device" for name in (device, there))


# What was seen


def test_every_state_is_what_a_fresh_run_sees(explorer: Explorer) -> None:
    fresh = Explorer(pack(*probe(BUILD / "stand_in")))
    assert fresh.devices == explorer.devices
    assert set(fresh) == set(explorer)
    for key in explorer:
        assert explorer.seen(*key) == fresh.seen(*key), key


def test_the_explorer_and_the_atlas_agree(site: Path, explorer: Explorer) -> None:
    published_atlas = json.loads((site / "atlas.json").read_text(encoding="utf-8"))
    rows = {row["id"]: row for row in published_atlas["operations"]}
    compared = set()
    for record in published_atlas["records"]:
        row = rows[record["operation"]]
        chain = chain_of(row["code"])
        key = record["device"], record["state"], chain
        if record["source"] != "live" or row["given"] or key not in explorer:
            continue
        seen = explorer.seen(*key)
        assert seen["error"] == record["error"], key
        if seen["error"] is None:
            assert seen["moved"] == (record["result_device"] != record["device"])
            for name in seen.keys() & record.keys() - {"grad_fn"}:
                assert seen[name] == record[name], (key, name)
        compared.add(chain)
    assert len(compared) >= 8


def test_the_memories_are_what_the_calls_make() -> None:
    """A chain checked against the arithmetic of views, not against the probe."""
    seen = probing.look(("clone", "t", "first"), "constant", "cpu", None)
    # x is [[0, 1, 2], [3, 4, 5]]: the first row of its transpose is 0 and 3.
    assert seen["cells"] == [[0, 1, 2, 3, 4, 5]] * 2
    assert seen["holds"] == [[0, 1, 2, 3, 4, 5], [0, 3]]
    assert seen["writes"]["y"]["cells"] == [[0, 1, 2, 3, 4, 5], [7, 1, 2, 3, 4, 5]]
    seen = probing.look(("detach", "numpy"), "leaf", "cpu", None)
    assert seen["cells"] == [[0, 1, 2, 3, 4, 5]]
    assert seen["writes"]["y"] == {"refused": None, "cells": [[7, 7, 7, 3, 4, 5]]}
    refused = seen["writes"]["x"]["refused"]
    assert refused.startswith("RuntimeError") and "leaf" in refused
    assert seen["writes"]["x"]["cells"] == [[7, 7, 7, 3, 4, 5]]


def test_codes_and_chains_are_each_others_inverse() -> None:
    for chain in walk(list(CALLS)):
        if chain:
            assert chain_of(code_of(chain)) == chain
    assert chain_of("y = x.detach().to('cpu')") == ("detach", "cpu")
    assert chain_of("x.item()") is chain_of("x") is None
    assert chain_of("x" + ".t()" * (LONGEST + 1)) is None


def test_a_message_leads_to_its_own_entry() -> None:
    known = [
        {"anchor": "device", "texts": ["TypeError: can't convert meta device type x"]},
        {
            "anchor": "none",
            "texts": ["AttributeError: 'NoneType' object has no attribute 'add'"],
        },
    ]
    same = "TypeError: can't convert cuda:1 device type x"
    assert entry_of(same, known) == "device"
    assert entry_of(same.replace("Type", "Value"), known) is None
    other = "AttributeError: 'numpy.ndarray' object has no attribute 'requires_grad_'"
    assert entry_of(other, known) is None


def test_what_raises_leads_to_an_entry(site: Path) -> None:
    data = published(site)
    errors = soup(site / data["errors"])
    for anchor in data["cures"].values():
        assert errors.find(id=anchor), anchor
    leads = {data["texts"][int(number)] for number in data["cures"]}
    assert any("numpy() on Tensor that requires grad" in text for text in leads)


# The script


@pytest.fixture(scope="module")
def tab(browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{address}index.html")
    page.wait_for_selector(".explorer.ready")
    yield page
    context.close()


def go(tab: Any, address: str, query: str) -> None:
    tab.goto(f"{address}index.html?{query}")
    tab.wait_for_selector(".explorer.ready")


def ask(tab: Any, query: str) -> None:
    """Show what an address asks for, as a step back in the browser does."""
    tab.evaluate(
        """query => {
          history.replaceState(null, "", `?${query}`);
          dispatchEvent(new PopStateEvent("popstate"));
        }""",
        query,
    )


def test_the_script_draws_and_says_what_python_does(
    tab: Any, address: str, explorer: Explorer
) -> None:
    go(tab, address, "y=detach")
    keys = sorted(explorer)
    if not EVERYTHING:  # others whenever what draws is edited
        script = (CONF / "static" / "explorer.js").read_text(encoding="utf-8")
        drawing = code_behind(["tensor_copies.explorer.scenes"])
        keys = random.Random(script + drawing).sample(keys, SAMPLE)
    for device, state, chain in keys:
        seen = explorer.seen(device, state, chain)
        row = explorer.seen(device, state, ())["scene"]["cells"][0]
        places = place_of(explorer, seen, device)
        for write in ("", "x", "y") if seen["scene"] else ("",):
            asked = f"y={'.'.join(chain)}&x={state}&on={device}&write={write}"
            ask(tab, asked)
            shown = tab.evaluate(
                """drawn => {
                  const parsed = document.createElement("div");
                  parsed.innerHTML = drawn;
                  return [document.querySelector(".explorer-picture svg").innerHTML,
                    parsed.firstChild.innerHTML];
                }""",
                f"<svg>{''.join(picture(seen, row, places, write).marks)}</svg>",
            )
            assert shown[0] == shown[1], asked
        assert tab.inner_text(".explorer-headline") == headline(seen, places)
        label = tab.get_attribute(f"{PICTURE} svg", "aria-label")
        assert label == f"y = {code_of(chain)}: {headline(seen, places)}"
        given = tab.evaluate(
            "[...document.querySelectorAll('.explorer-facts > div')].map(item =>"
            " [item.children[0].textContent, item.children[1].firstChild?.textContent,"
            " item.querySelector('small').textContent])"
        )
        assert [tuple(one) for one in given] == facts(seen, places)


def test_clicks_are_in_the_address_and_come_back(tab: Any, address: str) -> None:
    go(tab, address, "y=")
    assert tab.inner_text(".explorer-code") == "y = x"
    tab.get_by_role("button", name=".detach()", exact=True).click()
    tab.get_by_role("button", name=".clone()", exact=True).click()
    assert tab.inner_text(".explorer-code") == "y = x.detach().clone()"
    tab.get_by_role("button", name="Write x[0] = 7").click()
    assert "y keeps its values" in tab.inner_text(".explorer-note")
    tab.get_by_label("x is", exact=False).first.select_option("constant")
    assert "torch.no_grad()" not in tab.inner_text(".explorer-note")
    drawn = tab.inner_html(PICTURE)
    tab.reload()
    tab.wait_for_selector(".explorer.ready")
    assert tab.inner_text(".explorer-code") == "y = x.detach().clone()"
    assert tab.locator(f"{PICTURE} .changed").count() == 3
    assert tab.inner_html(f"{PICTURE} svg") in drawn
    tab.get_by_role("button", name="Remove last call").click()
    tab.get_by_role("button", name="Write y[0] = 7").click()
    assert "x sees the 7" in tab.inner_text(".explorer-note")


def test_what_raises_says_so_and_offers_no_more(tab: Any, address: str) -> None:
    go(tab, address, f"y=numpy&x={STATE}")
    note = tab.inner_text(".explorer-note")
    assert note.startswith("RuntimeError: Can't call numpy()")
    chip = tab.get_by_role("button", name=".copy()", exact=True)
    assert chip.get_attribute("aria-disabled") == "true"
    chip.click(force=True)
    assert tab.inner_text(".explorer-code") == "y = x.numpy()"
    tab.get_by_role("link", name="What to do").click()
    tab.wait_for_url("**/errors.html#numpy-requires-grad")


def test_a_shorter_chain_does_the_same_everywhere(
    tab: Any, address: str, explorer: Explorer
) -> None:
    """Each offer is checked in all that was seen of both; some are not made."""
    go(tab, address, "y=detach")
    offered = tab.evaluate(
        """chains => chains.map(chain => explorerData.shorter(chain)
          && [chain, explorerData.shorter(chain)]).filter(Boolean)""",
        [list(chain) for chain in walk(list(explorer.calls)) if len(chain) > 1],
    )
    assert len(offered) > 50
    conditions = [(d, s) for d in explorer.devices for s in explorer.states]
    asking = {key for key, call in CALLS.items() if call.by_device}
    for long, short in offered:
        assert len(short) < len(long)
        assert len(explorer.devices) > 1 or not asking & {*long, *short}
        for condition in conditions:
            pair = [explorer.seen(*condition, tuple(one)) for one in (long, short)]
            assert pair[0] == pair[1], (long, short, condition)
    longs = [long for long, _ in offered]
    assert ["detach", "clone"] not in longs  # its gradient is not that of clone
    assert ["contiguous", "clone"] not in longs  # its strides are not, for a view


def test_all_by_keyboard(tab: Any, address: str) -> None:
    go(tab, address, "y=detach")
    tab.locator(".explorer-chips button").first.focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    assert tab.inner_text(".explorer-code") == "y = x.detach().clone()"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert tab.evaluate(outline) != "none"
    assert tab.evaluate("document.activeElement.textContent") == ".clone()"
    controls = tab.locator(".explorer :is(button, select):visible")
    for control in controls.all():
        assert control.bounding_box()["height"] >= 32
        assert control.evaluate("one => one.tabIndex") == 0


BEYOND = """(width) => [...document.querySelectorAll(".explorer *")]
  .filter((part) => part.checkVisibility())
  .filter((part) => part.getBoundingClientRect().right > width)
  .map((part) => part.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("query", ["y=detach.clone&write=x", "y=numpy"])
def test_on_the_narrowest_phone(
    browser: Any, address: str, scheme: str, query: str
) -> None:
    view = {"width": 320, "height": 900}
    context = browser.new_context(viewport=view, color_scheme=scheme)
    page = context.new_page()
    go(page, address, query)
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert page.evaluate(BEYOND, view["width"]) == []
    page.evaluate(AXE)
    assert page.evaluate(PROBLEMS, AXE_RULES) == []
    context.close()


# Without the script, and what it weighs


def test_without_scripts_three_pictures_and_no_controls(
    browser: Any, address: str, explorer: Explorer
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}index.html")
    labels = page.locator(".explorer svg:visible").all()
    said = [one.get_attribute("aria-label") for one in labels]
    chains = [("detach",), ("clone",), ("detach", "clone")]
    assert said == [
        f"y = {code_of(chain)}: {headline(seen, ('cpu', 'cpu'))}"
        for chain in chains
        for seen in [explorer.seen("cpu", STATE, chain)]
    ]
    assert page.locator(".explorer :is(button, select):visible").count() == 0
    context.close()


def test_the_home_page_is_light(browser: Any, address: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page, loaded = context.new_page(), []
    page.on("response", lambda response: loaded.append(response))
    page.goto(f"{address}index.html", wait_until="networkidle")
    bodies = [response.body() for response in loaded]
    size = sum(min(len(gzip.compress(one, 9)), len(one)) + HEADERS for one in bodies)
    assert size <= MOST_KB * 1000
    context.close()


# Ways in


def test_the_atlas_and_the_lessons_lead_to_their_chains(
    site: Path, explorer: Explorer
) -> None:
    links = soup(site / "index.html").select("table.calls a.in-explorer")
    assert len(links) >= 8
    assert "?y=" not in soup(site / "index.html").select_one("article").get_text()
    links += soup(site / "atlas.html").select("a.in-explorer")
    assert len(links) >= 18
    for script in SCRIPTS:
        links += soup(page_of(site, script)).select('.lesson-actions a[href*="?y="]')
    for link in links:
        query = link["href"].partition("?y=")[2].partition("#")[0]
        assert ("cpu", STATE, tuple(query.split("."))) in explorer, link


def test_doors_count_what_is_behind_them(site: Path) -> None:
    doors = [
        door.get_text(" ") for door in soup(site / "index.html").select(".doors li")
    ]
    errors = soup(site / "errors.html").select(".error-index li")
    questions = soup(site / "self_check.html").select("article section section")
    counts = [len(SCRIPTS), len(OPERATIONS), len(errors), len(questions)]
    for count in counts:
        assert any(str(count) in door.split() for door in doors), (count, doors)


def test_lessons_have_numbers(site: Path) -> None:
    labels = [
        link.get_text()
        for link in soup(site / "index.html").select(".sidebar-tree a")
        if link["href"].count("/") == 2 and not link["href"].endswith("/index.html")
    ]
    assert [label.split()[0] for label in labels] == [
        str(number) for number in range(1, len(SCRIPTS) + 1)
    ]
    for number, script in enumerate(SCRIPTS, 1):
        place = soup(page_of(site, script)).select_one(".lesson-place").get_text()
        assert place == f"Lesson {number} of {len(SCRIPTS)}"


def test_drawers_by_keyboard(browser: Any, site: Path, address: str) -> None:
    """What is closed is passed by; a key opens it, and its links are in view."""
    context = browser.new_context(
        viewport={"width": 640, "height": 800}, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(address + str(page_of(site, SCRIPTS[1]).relative_to(site)))
    inside = """() => {
      const box = document.activeElement.getBoundingClientRect();
      return box.right > 0 && box.left < innerWidth;
    }"""
    reached = []
    for _ in range(300):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        reached.append(page.evaluate("document.activeElement.id"))
        assert page.evaluate(inside), page.evaluate("document.activeElement.outerHTML")
    assert {"__navigation", "__toc"} <= set(reached)
    for drawer, link in (
        ("__navigation", ".sidebar-tree a"),
        ("__toc", ".toc-tree ul ul a"),
    ):
        page.locator(f"#{drawer}").focus()
        page.keyboard.press("Space")
        first = page.locator(link).first
        first.focus()
        assert first.evaluate("one => one === document.activeElement")
        first.evaluate("one => one.scrollIntoView()")
        page.wait_for_function(inside)
        page.locator(f"#{drawer}").focus()
        page.keyboard.press("Space")
    context.close()
