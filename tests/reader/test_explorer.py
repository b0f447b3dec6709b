"""The explorer shows what its calls do when they are run here, by code of our own."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from reading import EVERYTHING, OUTSIDE, SCRIPTS, axe_of, page_of, soup
from tensor_copies.explorer.chains import LONGEST, chain_of, expression_of, walk
from tensor_copies.explorer.data import Explorer
from tensor_maps.atlas.calls import OPERATIONS, Operation
from tensor_maps.atlas.probes import observe

STATES = ("leaf", "constant", "nonleaf", "view", "no_grad")
CODE, HEAD, READ = ".explorer-code", ".explorer-headline", ".explorer-read"
STATE, LANES, TYPED = ".explorer-state", ".explorer-lanes", ".explorer-typed"
Chain = tuple[str, ...]


@pytest.fixture(scope="module")
def explorer(site: Path) -> Explorer:
    text = (site / "_static" / "explorer_data.js").read_text(encoding="utf-8")
    packed = text.removeprefix("window.explorerData=").rstrip(";\n")
    return Explorer(json.loads(packed))


def values_of(value: Any) -> list[float]:
    if isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    return np.asarray(value).ravel().tolist()


def run(chain: Chain, state: str) -> SimpleNamespace:
    x = torch.tensor([[0.0, 1, 2], [3, 4, 5]])
    if state == "view":
        x = torch.tensor([[0.0, 3], [1, 4], [2, 5]]).t()
    leaf = None if state in ("constant", "view") else x.requires_grad_()
    x = leaf * 2 if state == "nonleaf" else x
    ran = SimpleNamespace(x=x, leaf=leaf, y=None, error=None)
    with warnings.catch_warnings(action="ignore"):
        try:
            with torch.set_grad_enabled(state != "no_grad"):
                ran.y = eval(expression_of(chain), {"x": ran.x})
        except Exception as error:
            ran.error = error
    return ran


def shares_memory(ran: SimpleNamespace) -> bool:
    before = values_of(ran.y)
    with torch.no_grad():
        ran.x += 100
    return values_of(ran.y) != before


def gradient_flows(ran: SimpleNamespace) -> bool | None:
    if ran.leaf is None or not getattr(ran.y, "requires_grad", False):
        return None if ran.leaf is None else False
    total = (ran.y * 2).sum()
    (gradient,) = torch.autograd.grad(total, ran.leaf, allow_unused=True)
    return gradient is not None and bool(gradient.any())


def write_seven(into: Any, state: str) -> tuple[str, bool]:
    """Write, if need be without autograd; return what refuses it, and if it is made."""
    refused = ""
    for grad in (state != "no_grad", False):
        try:
            with torch.set_grad_enabled(grad):
                into[0] = 7
        except Exception as error:
            refused = refused or type(error).__name__
        else:
            return refused, True
    return refused, False


def on_cpu(explorer: Explorer) -> Iterator[tuple[str, Chain, dict[str, Any]]]:
    for device, state, chain in explorer:
        if device == "cpu" and "to" not in chain:  # for which a second device is needed
            yield state, chain, explorer.seen(device, state, chain)


def test_every_chain_does_what_it_does_here(explorer: Explorer) -> None:
    counted = 0
    for state, chain, seen in on_cpu(explorer):
        key, ran = (state, chain), run(chain, state)
        if ran.error is not None:
            assert seen["error"].startswith(f"{type(ran.error).__name__}: "), key
            assert str(ran.error)[:40] in seen["error"], key
            continue
        tensor = isinstance(ran.y, torch.Tensor)
        facts = ("error", "requires_grad", "is_leaf", "result", "gradient_flows")
        told = {name: seen[name] for name in facts}
        assert told | {"same": bool(seen["same_object"])} == {
            "error": None,
            "requires_grad": ran.y.requires_grad if tensor else None,
            "is_leaf": ran.y.is_leaf if tensor else None,
            "result": type(ran.y).__name__,
            "gradient_flows": gradient_flows(ran),
            "same": ran.y is ran.x,
        }, key
        shares = shares_memory(ran)
        assert seen["shares_memory"] == shares and not seen["moved"], key
        of_its_own = tensor or isinstance(ran.y, np.ndarray)
        if shares or not of_its_own:
            assert seen["new_bytes"] == (0 if of_its_own else None), key
        else:
            least = ran.y.untyped_storage().nbytes() if tensor else 4 * ran.y.size
            assert seen["new_bytes"] >= least, key
        counted += 1
    assert counted > 3000


def after(scene: dict[str, Any], write: str) -> list[list[float]]:
    """Return the memories of a scene after a write, if it is made."""
    cells = [list(row) for row in scene["cells"]]
    written = scene["writes"].get(write, {}).get("changed") or []
    for row, new in zip(cells, written, strict=False):
        for at in new:
            row[at] = 7
    return cells


def test_writes_change_what_they_change_here(explorer: Explorer) -> None:
    for state, chain, seen in on_cpu(explorer):
        if seen["error"] is not None or (len(chain) == LONGEST and not EVERYTHING):
            continue
        for write in "xy":
            scene, ran = seen["scene"], run(chain, state)
            refused, made = write_seven(getattr(ran, write), state)
            key, told = (state, chain, write), scene["writes"][write]
            assert (told["refused"] or "").partition(":")[0] == refused, key
            assert (told["changed"] is not None) is made, key
            memories = after(scene, write)
            held = zip(scene["holds"], (memories[0], memories[-1]), strict=True)
            shown = [[row[at] for at in cells] or row for cells, row in held]
            assert shown == [values_of(ran.x), values_of(ran.y)], key


def test_between_two_devices(explorer: Explorer) -> None:
    away = next((kind for kind in explorer.devices if kind != "cpu"), None)
    if away is None:
        pytest.skip("no second device, nor a compiler for one")
    expected = {
        # where x is, the call: moved, the same object, shares memory
        ("cpu", "to"): (True, False, False),
        (away, "to"): (False, True, True),
        (away, "cpu"): (True, False, False),
        (away, "to-copy"): (True, False, False),
        (away, "detach"): (False, False, True),
    }
    for (device, call), facts in expected.items():
        seen = explorer.seen(device, "leaf", (call,))
        told = (seen["moved"], seen["same_object"], seen["shares_memory"])
        assert tuple(map(bool, told)) == facts, (device, call)


def test_messages_and_links_lead_where_they_say(explorer: Explorer, site: Path) -> None:
    for uri in explorer.packed["cures"].values():
        page, _, anchor = uri.partition("#")
        assert soup(site / page).find(id=anchor), uri
    pages = [site / "atlas.html", *(page_of(site, script) for script in SCRIPTS)]
    links = [one for page in pages for one in soup(page).select('a[href*="?y="]')]
    assert len(links) >= 18
    for link in links:
        query = link["href"].partition("?y=")[2].partition("#")[0].partition("&")[0]
        chain = tuple(query.split("."))
        if row := link.find_parent("tr", id=True):
            assert chain_of(OPERATIONS[row["id"]].code) == chain, link
        assert ("cpu", "leaf", chain) in explorer, link


def go(tab: Any, query: str) -> None:
    tab.goto(f"index.html?{query}")
    tab.wait_for_selector(".explorer.ready")


# Shows what an address asks for, as a step back in the browser does.
ASK = """query => {
  history.replaceState(null, "", `?${query}`);
  dispatchEvent(new PopStateEvent("popstate"));
  const all = (query) => [...document.querySelectorAll(`.explorer ${query}`)];
  return {
    headline: all(".explorer-headline")[0].innerText,
    note: all(".explorer-note")[0].innerText,
    label: all(".explorer-picture svg")[0].getAttribute("aria-label"),
    facts: all(".explorer-facts dd").map(one => one.innerText.split("\\n")[0]),
    cells: all(".tm-row").map(row => [...row.querySelectorAll(".tm-cell text")].map(
      cell => Number(cell.textContent))),
    changed: all(".tm-cell.changed").length,
    copied: all(".tm-copy").length,
  };
}"""


MEMORY = [
    ("y is a copy with its own memory.", "its own"),
    ("y shares memory with x.", "shared with x"),
    ("y is x itself.", "x itself"),
]
GRADIENT = {
    None: ("", "none"),
    True: (" Gradients flow back to x.", "flows back"),
    False: (" No gradient flows back.", "stops"),
}


def test_the_page_shows_what_was_seen(tab: Any, explorer: Explorer) -> None:
    go(tab, "y=detach")
    keys = [(state, chain) for state, chain, _ in on_cpu(explorer) if len(chain) < 3]
    some = keys if EVERYTHING else random.Random(7).sample(keys, 30)
    some += [("leaf", ("detach",)), ("leaf", ("numpy",)), ("nonleaf", ("clone",))]
    for (state, chain), write in product(some, ("", "x", "y")):
        seen = explorer.seen("cpu", state, chain)
        asked = f"y={'.'.join(chain)}&x={state}&on=cpu&write={write}"
        shown = tab.evaluate(ASK, asked)
        if seen["error"] is not None:
            kind = seen["error"].partition(":")[0]
            assert shown["headline"] == f"It raises {kind}.", asked
            assert shown["note"].startswith(f"{kind}: ") and not shown["facts"], asked
            continue
        memory = seen["shares_memory"] + bool(seen["same_object"])
        said, own = MEMORY[memory]
        gradient, flows = GRADIENT[seen["gradient_flows"]]
        assert shown["headline"] == said + gradient, asked
        assert shown["label"] == f"y = {expression_of(chain)}: {said}{gradient}"
        assert shown["facts"][:3] == [own, flows, seen["result"]], asked
        drawn = [*map(sorted, shown["cells"])]
        assert (len(drawn) > 1) is (memory == 0), asked
        if len(chain) < 2:  # beside a long name on the way an arrow has no room
            assert bool(shown["copied"]) is (memory == 0), asked
        cells = after(seen["scene"], write)
        assert (drawn[0], drawn[-1]) == (sorted(cells[0]), sorted(cells[-1])), asked
        sevens = sum(row.count(7) for row in cells)
        assert shown["changed"] == sevens, asked
        if sevens and not seen["same_object"]:
            other = {"x": "y", "y": "x"}[write]
            sees = 7 in cells[0 if other == "x" else -1]
            words = f"{other} {'also has the 7' if sees else 'keeps its values'}"
            assert words in shown["note"], asked


def test_a_shorter_chain_does_the_same_everywhere(tab: Any, explorer: Explorer) -> None:
    chains = [list(chain) for chain in walk(explorer.calls) if len(chain) > 1]
    offers = "all => all.map(one => [one, explorerData.shorter(one)])"
    offered = [pair for pair in tab.evaluate(offers, chains) if pair[1]]
    assert len(offered) > 50
    for long, short in offered:
        assert len(short) < len(long)
        for where in product(explorer.devices, STATES):
            seen, same = (explorer.seen(*where, tuple(one)) for one in (long, short))
            assert seen == same, (long, short, where)


def test_clicks_are_in_the_address_and_come_back(tab: Any) -> None:
    go(tab, "y=")
    assert tab.inner_text(CODE) == "y = x"
    tab.get_by_role("button", name=".detach()", exact=True).click()
    chip = tab.get_by_role("button", name=".clone()", exact=True)
    chip.press("Enter")
    assert chip.evaluate("one => one === document.activeElement")
    assert tab.inner_text(CODE) == "y = x.detach().clone()"
    tab.get_by_role("button", name="Write x[0] = 7").click()
    assert "torch.no_grad()" in tab.inner_text(".explorer-note")
    tab.locator(STATE).select_option("constant")
    tab.reload()
    tab.wait_for_selector(".explorer.ready")
    assert tab.inner_text(CODE) == "y = x.detach().clone()"
    assert tab.locator(STATE).input_value() == "constant"
    assert tab.locator(".explorer-picture .changed").count() == 3
    tab.get_by_role("button", name="Remove last call").click()
    assert tab.inner_text(CODE) == "y = x.detach()"


def test_what_raises_says_so_and_offers_no_more(tab: Any) -> None:
    go(tab, "y=numpy&x=leaf")
    chip = tab.get_by_role("button", name=".copy()", exact=True)
    assert chip.get_attribute("aria-disabled") == "true"
    chip.click(force=True)
    assert tab.inner_text(CODE) == "y = x.numpy()"
    tab.get_by_role("link", name="What to do").click()
    tab.wait_for_url("**/errors/to_numpy.html#numpy-requires-grad")


@pytest.mark.parametrize("query", ["y=detach.clone&write=x", "y=numpy"])
def test_on_the_narrowest_phone(visit: Any, query: str) -> None:
    phone = {"width": 320, "height": 900}
    page = visit("glossary.html", viewport=phone, color_scheme="dark")
    go(page, query)
    assert page.evaluate(OUTSIDE) == axe_of(page) == []


def test_without_scripts_three_pictures_and_no_controls(visit: Any) -> None:
    page = visit("index.html", java_script_enabled=False)
    drawn = page.locator(".explorer svg:visible").all()
    copied = "y is a copy with its own memory."
    assert [one.get_attribute("aria-label") for one in drawn] == [
        "y = x.detach(): y shares memory with x. No gradient flows back.",
        f"y = x.clone(): {copied} Gradients flow back to x.",
        f"y = x.detach().clone(): {copied} No gradient flows back.",
    ]
    assert page.locator(".explorer :is(button, select):visible").count() == 0


def typed_lines(kind: str) -> list[tuple[str, str]]:
    """Return the lines of a kind in typed_lines.txt, and what is expected of each."""
    text = Path(__file__).with_name("typed_lines.txt").read_text(encoding="utf-8")
    return re.findall(rf"(?m)^([^#].*) -> {kind} ?(.*)$", text.replace("\\n", "\0"))


def test_lines_as_people_write_them(tab: Any) -> None:
    go(tab, "y=detach")
    lines = {kind: typed_lines(kind) for kind in ("chain", "row", "no")}
    assert min(map(len, lines.values())) >= 20
    for kind, (typed, rest) in ((k, one) for k, some in lines.items() for one in some):
        found = tab.evaluate(READS, typed)
        told = {name: found[name] for name in ("chain", "row") if name in found}
        if kind == "chain":
            calls, _, x = rest.partition(" of ")
            assert (told.get("chain"), found["x"]) == (calls.split("."), x), typed
        elif kind == "row":
            assert told.get("row") == rest.replace("\0", "\n"), typed
        else:
            assert not told and rest.lower() in found["said"].lower(), (typed, found)


READS = "line => explorerData.reads(line)"
SAID_OF_A_ROW = (
    *("error", "same_object", "shares_memory", "shares_version", "gradient_flows"),
    *("requires_grad", "is_leaf", "changes_x", "writes_x", "version_raised"),
)


def test_what_is_drawn_as_another_call_does_what_that_does(tab: Any) -> None:
    given = "import torch.nn.functional as F\nq = torch.full((2, 3), 0.5)"
    assert len(typed_lines("same")) > 40
    for line, _ in typed_lines("same"):
        typed, found = line, tab.evaluate(READS, line)
        assert found["x"].replace("each tensor of ", "")[0] in "x[(", found
        assert not found["only"], (typed, found)
        chain = found.get("chain")
        code = expression_of(chain) if chain else found["row"]
        before = next((o.given for o in OPERATIONS.values() if o.code == code), "")
        if code.endswith("\ny = x") or " = " in typed:
            typed += "\ny = x"
        for state in STATES:
            said = []
            for text, one in ((typed, given), (code, before)):
                seen = observe(Operation(text, text, "", "", "", one), state, "cpu")
                facts = {fact: seen[fact] or "" for fact in SAID_OF_A_ROW}
                facts["error"] = facts["error"].partition(":")[0]
                facts["version_raised"] = bool(facts["version_raised"])
                said.append(facts)
            assert said[0] == said[1], (typed, code, state)


NO_FACTS = {
    "same": "Same memory, gradient, device and",
    "dtype": "is float32 here. From another dtype ",
}
OTHER = """lanes => lanes.map(lane => [...lane.querySelectorAll(".other dt")].map(
  dt => dt.firstChild.textContent))"""


def test_two_calls_in_peoples_words_show_where_they_differ(tab: Any) -> None:
    assert len(typed_lines("pair")) >= 30
    for typed, expected in typed_lines("pair"):
        codes, _, fact = expected.replace("\0", "\n").rpartition(": ")
        tab.evaluate(ASK, "y=detach")
        tab.fill(TYPED, typed)
        shown = tab.locator(f".explorer-lane {CODE}").all_text_contents()
        assert [one.removeprefix("y = ") for one in shown] == codes.split(" | "), typed
        other = tab.locator(".explorer-lane").evaluate_all(OTHER)
        said = tab.inner_text(".explorer-verdict")
        if fact == "example":
            assert "x * 2 is an example" in said, (typed, said)
            assert "Memory" not in other[0], (typed, other)
        elif fact == "raises":
            raised = tab.locator(HEAD, has_text="It raises").count()
            assert raised == 1 and " raises if x is " in said, (typed, said)
        elif fact in NO_FACTS:
            assert NO_FACTS[fact] in said, (typed, said)
        else:
            assert all(fact in one for one in other), (typed, other)
            assert fact.lower() in said, (typed, said)


def test_two_lanes_by_address(tab: Any) -> None:
    go(tab, "y=torch.from_numpy(a)&vs=torch.tensor(a)")
    said = tab.locator(f".explorer-lane {HEAD}")
    assert said.all_inner_texts() == [
        "y shares memory with a.",
        "y is a copy with its own memory.",
    ]
    go(tab, "y=view&vs=reshape")  # a kind of x for which they differ
    assert tab.locator(STATE).input_value() == "view"
    go(tab, "y=view&vs=reshape&x=leaf")  # an address that has one keeps it
    assert tab.locator(STATE).input_value() == "leaf"
    tab.get_by_role("button", name="Close").last.click()
    assert said.count() == 1


def test_a_typed_line_is_drawn_and_what_is_not_is_said(tab: Any) -> None:
    go(tab, "y=clone")
    typed, read, state = map(tab.locator, (TYPED, READ, STATE))
    typed.fill("h = net.sigmoid().detach().cpu().numpy().tolist()")
    assert tab.inner_text(CODE) == "y = x.detach().cpu().numpy()"
    told = read.inner_text()
    assert told.startswith("Of this line only net.sigmoid().detach().cpu().numpy() is")
    assert "x stands for net.sigmoid()" in told and ".tolist()" in told
    assert state.input_value() == "nonleaf"
    typed.fill("y = x.detatch()")
    read.get_by_role("button").click()
    assert tab.inner_text(CODE) == "y = x.detach()"
    typed.fill("for one in loader:\n    kept.append(one['x'].numpy())")
    assert state.input_value() == "constant"  # what a loader gives requires no grad
    typed.fill("x.detach()")
    assert state.input_value() == "leaf"  # it doesn't hang on the line before
    state.select_option("view")  # a reader's own choice is kept
    typed.fill("x.contiguous()")
    assert state.input_value() == "view"
    asked = tab.evaluate("location.href")
    for odd in ("x" * 10_000, "<img src=x onerror=alert(1)>", "'", "损失"):
        typed.fill(odd)
        assert len(read.inner_text()) > 10, odd[:20]
        assert tab.locator(".explorer-line :is(img, script)").count() == 0
        assert not tab.locator(LANES).is_visible(), odd[:20]
    assert tab.evaluate("location.href") == asked  # none of them is drawn
    typed.press("Escape")
    assert tab.locator(LANES).is_visible()


def test_a_question_and_a_message_have_their_answer_in_the_box(tab: Any) -> None:
    go(tab, "y=clone")
    typed, lanes, read = map(tab.locator, (TYPED, LANES, READ))
    typed.fill("does numpy() share memory with the tensor?")
    tab.locator(CODE, has_text="y = x.numpy()").wait_for()
    assert tab.inner_text(HEAD).startswith("y shares memory with x.")
    assert "raises if x is a leaf" in read.inner_text()
    for asked in ("copy or view?", "why does my loss become nan"):
        typed.fill(asked)  # everyday words are no calls
        tab.wait_for_selector(".explorer.asked .explorer-found .result")
        assert not lanes.is_visible() and read.inner_text() == "", asked
    typed.fill("RuntimeError: Can't call numpy() on Tensor that requires grad. Use t")
    read.get_by_text("This is your message: You called .numpy() on a tensor").wait_for()
    assert not lanes.is_visible()  # though it has a line of code in it
    typed.press("Enter")
    tab.wait_for_url("**#numpy-requires-grad")


def test_the_chooser_answers_each_wish(tab: Any) -> None:
    go(tab, "y=clone")
    wishes = (("share", "own"), ("flows", "stops", "leaf"), ("same", "cpu", "array"))
    for memory, gradient, where in product(*wishes):
        for name in (memory, gradient, where):
            tab.locator(f'.chooser input[value="{name}"]').check(force=True)
        impossible = where == "array" and gradient != "stops"
        said = tab.inner_text(".choice")
        assert ("Impossible" in said) is impossible, (memory, gradient, where)
        if impossible:
            continue
        code = tab.locator(".choice-line code").inner_text()
        x = torch.tensor([[0.0, 1, 2], [3, 4, 5]], requires_grad=True)
        y = eval(code.removeprefix("y = "), {"x": x})
        ran = SimpleNamespace(x=x, leaf=x, y=y)
        assert bool(gradient_flows(ran)) is (gradient == "flows"), code
        assert gradient != "leaf" or (y.is_leaf and y.requires_grad), code
        assert (y is x or shares_memory(ran)) is (memory == "share"), code
        assert isinstance(y, np.ndarray) is (where == "array"), code
