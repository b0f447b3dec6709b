"""The explorer: what it shows is what the calls do, for every reader.

The calls are run here once more, by code of the tests' own: values are written and
read, and autograd is asked for derivatives.
"""

from __future__ import annotations

import gzip
import json
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reading import EVERYTHING, SCRIPTS, page_of, soup
from tensor_copies.explorer.chains import CALLS, LONGEST, chain_of, expression_of, walk
from tensor_copies.explorer.data import Explorer
from tensor_copies.explorer.kept import live_explorer
from tensor_copies.explorer.page import entry_of
from tensor_maps.atlas.calls import OPERATIONS, Operation
from tensor_maps.atlas.probes import observe
from visits import AXE, AXE_RULES, HEADERS, PROBLEMS

STATES = ("leaf", "constant", "nonleaf", "view", "no_grad")
SAMPLE = 30
MOST_KB = 48
PICTURE = ".explorer-picture"
Chain = tuple[str, ...]


@pytest.fixture(scope="module")
def published(site: Path) -> dict[str, Any]:
    text = (site / "_static" / "explorer_data.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("window.explorerData=").rstrip(";\n"))


@pytest.fixture(scope="module")
def explorer(published: dict[str, Any]) -> Explorer:
    """Return what the published page answers from."""
    return Explorer(published)


# What is seen when the calls run here


def values_of(value: Any) -> list[float]:
    if isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    return np.asarray(value).ravel().tolist()


@dataclass
class Ran:
    """One run of a chain on a new x, and what a reader asks of it."""

    x: torch.Tensor
    leaf: torch.Tensor | None
    y: Any = None
    error: Exception | None = None

    def shares(self) -> bool:
        """Whether a write into all of x shows in y."""
        before = values_of(self.y)
        with torch.no_grad():
            self.x += 100
        return values_of(self.y) != before

    def flows(self) -> bool | None:
        """Whether autograd has a derivative of y with respect to the leaf."""
        if self.leaf is None or not getattr(self.y, "requires_grad", False):
            return None if self.leaf is None else False
        total = (self.y * 2).sum()
        (gradient,) = torch.autograd.grad(total, self.leaf, allow_unused=True)
        return gradient is not None and bool(gradient.any())

    def write(self, name: str, state: str) -> tuple[str, bool]:
        """Write 7 as a reader does, if need be without autograd.

        Return the kind of error that refuses it as it stands, and whether it is made.
        """
        refused = ""
        for grad in (state != "no_grad", False):
            try:
                with torch.set_grad_enabled(grad):
                    getattr(self, name)[0] = 7
            except Exception as error:
                refused = refused or type(error).__name__
            else:
                return refused, True
        return refused, False


def run(chain: Chain, state: str) -> Ran:
    x = torch.tensor([[0.0, 1, 2], [3, 4, 5]])
    if state == "view":
        x = torch.tensor([[0.0, 3], [1, 4], [2, 5]]).t()
    leaf = None if state in ("constant", "view") else x.requires_grad_()
    ran = Ran(leaf * 2 if state == "nonleaf" else x, leaf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.set_grad_enabled(state != "no_grad"):
                ran.y = eval(expression_of(chain), {"x": ran.x})
        except Exception as error:
            ran.error = error
    return ran


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
        assert seen["error"] is None, key
        tensor = isinstance(ran.y, torch.Tensor)
        assert bool(seen["same_object"]) is (ran.y is ran.x), key
        assert seen["requires_grad"] == (ran.y.requires_grad if tensor else None), key
        assert seen["is_leaf"] == (ran.y.is_leaf if tensor else None), key
        assert not seen["moved"], key
        assert seen["result"] == type(ran.y).__name__
        assert seen["gradient_flows"] == ran.flows(), key
        shares = ran.shares()
        assert seen["shares_memory"] == shares, key
        of_its_own = tensor or isinstance(ran.y, np.ndarray)
        count = (
            ran.y.untyped_storage().nbytes() if tensor else getattr(ran.y, "nbytes", 0)
        )
        if not shares and of_its_own:
            least = count if tensor else 4 * ran.y.size
            assert seen["new_bytes"] >= least, key
        else:
            assert seen["new_bytes"] == (0 if of_its_own else None), key
        counted += 1
    assert counted > 3000


def after(scene: dict[str, Any], write: str) -> list[list[float]]:
    """Return the memories after a write, as the explorer tells it."""
    changed = scene["writes"][write]["changed"]
    return [
        [7 if at in new else value for at, value in enumerate(row)]
        for row, new in zip(scene["cells"], changed, strict=True)
    ]


def test_writes_change_what_they_change_here(explorer: Explorer) -> None:
    """What both names show after a write is read off the explorer's memories."""
    for state, chain, seen in on_cpu(explorer):
        if seen["error"] is not None or (len(chain) == LONGEST and not EVERYTHING):
            continue
        for write in "xy":
            scene, ran = seen["scene"], run(chain, state)
            refused, made = ran.write(write, state)
            key, told = (state, chain, write), scene["writes"][write]
            assert (told["refused"] or "").partition(":")[0] == refused, key
            assert (told["changed"] is not None) is made, key
            if not made:
                continue
            memories = after(scene, write)
            held = zip(scene["holds"], (memories[0], memories[-1]), strict=True)
            shown = [[row[at] for at in cells] or row for cells, row in held]
            assert shown == [values_of(ran.x), values_of(ran.y)], key


def test_between_two_devices(explorer: Explorer) -> None:
    """The rules that the lessons teach: is it moved, is it x, whose memory is it."""
    others = [kind for kind in explorer.devices if kind != "cpu"]
    if not others:
        pytest.skip("no second device, nor a compiler for one")
    expected = {
        # where x is, the call: moved, the same object, shares memory
        ("cpu", "to"): (True, False, False),
        ("cpu", "cpu"): (False, True, True),
        ("cpu", "to-copy"): (False, False, False),
        ("away", "to"): (False, True, True),
        ("away", "cpu"): (True, False, False),
        ("away", "to-copy"): (True, False, False),
        ("away", "numpy-force"): (True, False, False),
        ("away", "detach"): (False, False, True),
    }
    for (place, call), facts in expected.items():
        device = "cpu" if place == "cpu" else others[0]
        seen = explorer.seen(device, "leaf", (call,))
        told = (seen["moved"], seen["same_object"], seen["shares_memory"])
        assert tuple(map(bool, told)) == facts, (place, call)
    refused = explorer.seen(others[0], "constant", ("numpy",))["error"]
    assert refused.startswith("TypeError: can't convert")
    assert (others[0], "constant", ("numpy", "copy")) not in explorer


def test_codes_and_chains_are_each_others_inverse() -> None:
    for chain in walk(CALLS):
        if chain:
            assert chain_of(expression_of(chain)) == chain
    assert chain_of("y = x.detach().to('cpu')") == ("detach", "cpu")
    assert chain_of("x.item()") is chain_of("x") is None
    assert chain_of("x" + ".t()" * (LONGEST + 1)) is None


def test_a_message_leads_to_its_own_entry(published: dict, site: Path) -> None:
    known = [
        {"anchor": "device", "texts": ["TypeError: can't convert meta device type x"]},
        {
            "anchor": "none",
            "texts": ["AttributeError: 'a' object has no attribute 'b'"],
        },
    ]
    same = "TypeError: can't convert cuda:1 device type x"
    assert entry_of(same, known) is known[0]
    assert entry_of(same.replace("Type", "Value"), known) is None
    assert entry_of("AttributeError: 'c' object has no part of 'b'", known) is None
    told = {int(at): uri for at, uri in published["cures"].items()}
    for uri in told.values():
        page, _, anchor = uri.partition("#")
        assert soup(site / page).find(id=anchor), uri
    (at,) = (
        at
        for at, text in enumerate(published["texts"])
        if text and text.startswith("RuntimeError: Can't call numpy() on Tensor")
    )
    assert told[at] == "errors/to_numpy.html#numpy-requires-grad"


# The script


@pytest.fixture(scope="module")
def tab(browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    go(page, address, "y=detach")
    yield page
    context.close()


def go(tab: Any, address: str, query: str) -> None:
    tab.goto(f"{address}index.html?{query}")
    tab.wait_for_selector(".explorer.ready")


# Shows what an address asks for, as a step back in the browser does.
ASK = """query => {
  history.replaceState(null, "", `?${query}`);
  dispatchEvent(new PopStateEvent("popstate"));
  const all = (query) => [...document.querySelectorAll(`.explorer ${query}`)];
  const picture = document.querySelector(".explorer-picture svg");
  const arc = picture.querySelector(".tm-arc")?.getAttribute("d");
  return {
    typed: all(".explorer-typed")[0].value,
    headline: all(".explorer-headline")[0].innerText,
    note: all(".explorer-note")[0].innerText,
    label: picture.getAttribute("aria-label"),
    facts: all(".explorer-facts dd").map(one => one.innerText.split("\\n")[0]),
    cells: all(".tm-row").map(row => [...row.querySelectorAll(".tm-cell text")].map(
      cell => Number(cell.textContent))),
    changed: all(".tm-cell.changed").length,
    crossed: all(".tm-cross").length,
    copied: all(".tm-copy").length,
    arc: arc ? (arc.includes("l5-8") ? "flows" : "stops") : "",
  };
}"""


def test_the_page_shows_what_happens_here(
    tab: Any, address: str, explorer: Explorer
) -> None:
    """Picture, headline, facts and note, for a sample of chains, writes and kinds."""
    go(tab, address, "y=detach")
    keys = [(state, chain) for state, chain, _ in on_cpu(explorer) if len(chain) < 3]
    some = keys if EVERYTHING else random.Random(7).sample(keys, SAMPLE)
    some += [("leaf", ("detach",)), ("leaf", ("numpy",)), ("nonleaf", ("clone",))]
    for state, chain in some:
        for write in ("", "x", "y"):
            ran = run(chain, state)
            asked = f"y={'.'.join(chain)}&x={state}&on=cpu&write={write}"
            shown = tab.evaluate(ASK, asked)
            if ran.error is not None:
                kind = type(ran.error).__name__
                assert shown["headline"] == f"It raises {kind}.", asked
                assert shown["note"].startswith(f"{kind}: "), asked
                assert shown["crossed"] == 1 and not shown["facts"], asked
                break
            flows = ran.flows()
            memories = 1 if ran.y is ran.x or run(chain, state).shares() else 2
            copied = memories == 2 and "y is a copy with its own memory."
            said = copied or "y shares memory with x."
            said = "y is x itself." if ran.y is ran.x else said
            if flows is not None:
                flow = (" No gradient flows back.", " Gradients flow back to x.")
                said += flow[flows]
            assert shown["headline"] == said, asked
            assert shown["label"] == f"y = {expression_of(chain)}: {said}", asked
            own = {1: "shared with x", 2: "its own"}[memories]
            assert shown["facts"][0] == ("x itself" if ran.y is ran.x else own), asked
            stops = {None: "none", True: "flows back", False: "stops"}[flows]
            assert shown["facts"][1:3] == [stops, type(ran.y).__name__], asked
            assert len(shown["cells"]) == memories, asked
            assert bool(shown["copied"]) == (memories == 2), asked
            if ran.y is not ran.x and flows:
                assert shown["arc"] == "flows", asked
            refused = bool(write) and not ran.write(write, state)[1]
            drawn = [sorted(row) for row in shown["cells"]]
            if not refused:
                assert drawn[0] == sorted(values_of(ran.x)), asked
                assert set(values_of(ran.y)) <= set(drawn[-1]), asked
            sevens = sum(row.count(7) for row in drawn)
            assert shown["changed"] == (sevens if write else 0), asked
            if write and not refused and ran.y is not ran.x:
                other = "y" if write == "x" else "x"
                sees = 7 in values_of(getattr(ran, other))
                words = f"{other} {'also has the 7' if sees else 'keeps its values'}"
                assert words in shown["note"], asked


def test_clicks_are_in_the_address_and_come_back(tab: Any, address: str) -> None:
    go(tab, address, "y=")
    assert tab.inner_text(".explorer-code") == "y = x"
    tab.get_by_role("button", name=".detach()", exact=True).click()
    tab.get_by_role("button", name=".clone()", exact=True).click()
    assert tab.inner_text(".explorer-code") == "y = x.detach().clone()"
    tab.get_by_role("button", name="Write x[0] = 7").click()
    assert "torch.no_grad()" in tab.inner_text(".explorer-note")
    tab.get_by_label("x is", exact=False).first.select_option("constant")
    assert "torch.no_grad()" not in tab.inner_text(".explorer-note")
    drawn = tab.inner_html(PICTURE)
    tab.reload()
    tab.wait_for_selector(".explorer.ready")
    assert tab.inner_text(".explorer-code") == "y = x.detach().clone()"
    assert tab.locator(f"{PICTURE} .changed").count() == 3
    assert tab.inner_html(f"{PICTURE} svg") in drawn
    tab.get_by_role("button", name="Remove last call").click()
    assert tab.inner_text(".explorer-code") == "y = x.detach()"


def test_what_raises_says_so_and_offers_no_more(tab: Any, address: str) -> None:
    go(tab, address, "y=numpy&x=leaf")
    chip = tab.get_by_role("button", name=".copy()", exact=True)
    assert chip.get_attribute("aria-disabled") == "true"
    chip.click(force=True)
    assert tab.inner_text(".explorer-code") == "y = x.numpy()"
    tab.get_by_role("link", name="What to do").click()
    tab.wait_for_url("**/errors/to_numpy.html#numpy-requires-grad")


def test_a_shorter_chain_does_the_same_everywhere(
    tab: Any, address: str, explorer: Explorer
) -> None:
    """Each offer is checked in all that was seen of both; some are not made."""
    go(tab, address, "y=detach")
    offered = tab.evaluate(
        """chains => chains.map(chain => explorerData.shorter(chain)
          && [chain, explorerData.shorter(chain)]).filter(Boolean)""",
        [list(chain) for chain in walk(explorer.calls) if len(chain) > 1],
    )
    assert len(offered) > 50
    asking = {key for key, call in CALLS.items() if call.by_device}
    for long, short in offered:
        assert len(short) < len(long)
        assert len(explorer.devices) > 1 or not asking & {*long, *short}
        for device in explorer.devices:
            for state in STATES:
                key = device, state
                pair = [explorer.seen(*key, tuple(one)) for one in (long, short)]
                assert pair[0] == pair[1], (long, short, key)
    longs = [long for long, _ in offered]
    assert ["detach", "clone"] not in longs  # its gradient is not that of clone
    assert ["contiguous", "clone"] not in longs  # its strides are not, for a view


def test_all_by_keyboard(tab: Any, address: str) -> None:
    go(tab, address, "y=detach")
    tab.locator(".explorer-chips button").first.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        tab.keyboard.press(key)
    assert tab.inner_text(".explorer-code") == "y = x.detach().clone()"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert tab.evaluate(outline) != "none"
    assert tab.evaluate("document.activeElement.textContent") == ".clone()"
    for control in tab.locator(".explorer :is(button, select):visible").all():
        assert control.bounding_box()["height"] >= 32
        assert control.evaluate("one => one.tabIndex") == 0


BEYOND = """(width) => [...document.querySelectorAll(".explorer *")]
  .filter((part) => part.checkVisibility())
  .filter((part) => part.getBoundingClientRect().right > width)
  .map((part) => part.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("query", ["y=detach.clone&write=x", "y=numpy"])
def test_on_the_narrowest_phone(browser: Any, address: str, query: str) -> None:
    for scheme in ("light", "dark"):
        view = {"width": 320, "height": 900}
        context = browser.new_context(viewport=view, color_scheme=scheme)
        page = context.new_page()
        go(page, address, query)
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        assert page.evaluate(BEYOND, view["width"]) == []
        page.evaluate(AXE)
        assert page.evaluate(PROBLEMS, AXE_RULES) == []
        context.close()


# Without the script, what it weighs, and ways in


def test_without_scripts_three_pictures_and_no_controls(
    browser: Any, address: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}index.html")
    labels = page.locator(".explorer svg:visible").all()
    assert [one.get_attribute("aria-label") for one in labels] == [
        "y = x.detach(): y shares memory with x. No gradient flows back.",
        "y = x.clone(): y is a copy with its own memory. Gradients flow back to x.",
        "y = x.detach().clone(): y is a copy with its own memory. "
        "No gradient flows back.",
    ]
    facts = page.locator(".explorer-facts dd").all_inner_texts()
    assert [fact.split("\n")[0] for fact in facts] == [
        *("shared with x", "stops", "Tensor", "requires_grad: False")
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


def test_the_atlas_and_the_lessons_lead_to_their_chains(
    site: Path, explorer: Explorer
) -> None:
    home, atlas = soup(site / "index.html"), soup(site / "atlas.html")
    links = home.select("table.calls a.in-explorer") + atlas.select("a.in-explorer")
    assert len(links) >= 18
    for link in atlas.select("tr[id] a.in-explorer"):
        row = OPERATIONS[link.find_parent("tr")["id"]]
        query = link["href"].partition("?y=")[2].partition("#")[0].partition("&")[0]
        assert query.split(".") == list(chain_of(row.code)), row.code
    for script in SCRIPTS:
        links += soup(page_of(site, script)).select('.actions a[href*="?y="]')
    for link in links:
        query = link["href"].partition("?y=")[2].partition("#")[0]
        assert ("cpu", "leaf", tuple(query.split("."))) in explorer, link


def test_drawers_by_keyboard(browser: Any, site: Path, address: str) -> None:
    """What is closed is passed by; a key opens it, and its links are in view."""
    page = browser.new_page(viewport={"width": 640, "height": 800})
    page.emulate_media(reduced_motion="reduce")
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
    drawers = {"__navigation": ".sidebar-tree a", "__toc": ".toc-tree ul ul a"}
    for drawer, link in drawers.items():
        page.locator(f"#{drawer}").press("Space")
        page.locator(link).first.focus()
        page.wait_for_function(inside)
        page.locator(f"#{drawer}").press("Space")
    page.close()


# A typed line, two lanes, the chooser

LINES = Path(__file__).with_name("typed_lines.txt").read_text(encoding="utf-8")


def typed_lines(*, pairs: bool = False) -> list[str]:
    lines = [line for line in LINES.splitlines() if line and line[0] != "#"]
    return [line for line in lines if (" -> pair " in line) is pairs]


def test_lines_as_people_write_them(tab: Any, address: str) -> None:
    go(tab, address, "y=detach")
    assert len(typed_lines()) >= 60
    for line in typed_lines():
        typed, _, expected = line.rpartition(" -> ")
        kind, _, rest = expected.partition(" ")
        found = tab.evaluate("line => explorerData.reads(line)", typed)
        if kind == "chain":
            calls, _, x = rest.partition(" of ")
            assert (found.get("chain"), found["x"]) == (calls.split("."), x), line
        elif kind == "row":
            assert found.get("row") == rest.replace("\\n", "\n"), line
        else:
            assert not {"chain", "row"} & set(found), line
            assert rest.lower() in found["said"].lower(), (line, found)


# Lines drawn as another call: all that the explorer says of it is true of them.
DRAWN_AS_ANOTHER = """
x.data.copy_(q)
x.data.copy_(0.1 * q.data + 0.9 * x.data)
x.data.mul_(0.9).add_(q.data, alpha=0.1)
x.data.lerp_(q, 0.1)
x.lerp_(q, 0.1)
x.data.fill_(0)
x.data.clamp_(-1, 1)
x.data.uniform_(-1, 1)
x.data -= 0.1 * q
x.data[0] = 7
x.data = q * 2
x.data = x.data - 0.1 * q
x.detach().copy_(q)
x.detach()[0] = 7
x.detach().numpy()[0] = 5
x.copy_(q + 1)
x.fill_(7)
x.uniform_(0, 1)
x.normal_()
x.sub_(1)
x.mul_(0.9).add_(q, alpha=0.1)
x.div_(2)
x.clamp_(1, 3)
nn.init.constant_(x, 7)
torch.nn.init.xavier_uniform_(x)
torch.ones_like(x)
torch.randn_like(x)
torch.empty_like(x)
torch.full_like(x, 7)
x.requires_grad = False
x.unsqueeze(-1)
x.squeeze(1)
x.expand(5, -1, -1)
x.repeat(1, 3)
x.repeat_interleave(3, dim=1)
x.chunk(3, dim=1)[1]
x.split(2, dim=1)[0]
x.narrow(0, 1, 1)
x.select(1, 2)
x.unbind(1)[2]
x.movedim(1, 0)
x.flip(0, 1)
x.roll(2, 1)
x.diagonal(1)
x.index_select(0, torch.tensor([1]))
torch.gather(x, 0, torch.tensor([[1, 0, 1]]))
torch.stack([x, q], dim=1)
torch.cat((x, q), 1)
x[:1]
x[1:, :2]
x[..., 0]
x[:, -1]
x[x > 2]
x[[1, 0]]
"""
SAID_OF_A_ROW = (
    *("error", "same_object", "shares_memory", "shares_version", "gradient_flows"),
    *("requires_grad", "is_leaf", "changes_x", "writes_x", "version_raised"),
)


def test_what_is_drawn_as_another_call_does_what_that_does(
    tab: Any, address: str
) -> None:
    go(tab, address, "y=detach")
    given = "import torch.nn.functional as F\nq = torch.full((2, 3), 0.5)"
    for typed in DRAWN_AS_ANOTHER.split("\n")[1:-1]:
        found = tab.evaluate("line => explorerData.reads(line)", typed)
        x = found["x"].replace("each tensor of ", "")
        assert x[0] in "x[(" and not found["only"], (typed, found)
        chain = found.get("chain")
        code = expression_of(chain) if chain else found["row"]
        before = next((o.given for o in OPERATIONS.values() if o.code == code), "")
        if code.endswith("\ny = x") or " = " in typed:
            typed += "\ny = x"
        for state in STATES:
            ours, theirs = (
                observe(Operation(line, line, "", "", "", one), state, "cpu")
                for line, one in ((typed, given), (code, before))
            )
            for fact in SAID_OF_A_ROW:
                said = [(record[fact] or "") for record in (ours, theirs)]
                if fact == "error":
                    said = [one.partition(":")[0] for one in said]
                if fact == "version_raised":
                    said = [bool(one) for one in said]
                assert said[0] == said[1], (typed, code, state, fact, said)


def test_a_typed_line_is_drawn(tab: Any, address: str) -> None:
    go(tab, address, "y=clone")
    typed = tab.locator(".explorer-typed")
    typed.fill("h = net.sigmoid().detach().cpu().numpy().tolist()")
    assert tab.inner_text(".explorer-code") == "y = x.detach().cpu().numpy()"
    told = tab.inner_text(".explorer-read")
    assert "x stands for net.sigmoid()" in told and ".tolist()" in told
    assert told.startswith("Of this line only net.sigmoid().detach().cpu().numpy() is")
    typed.fill("_, best = torch.max(out.detach().cpu(), 1)")
    told = tab.inner_text(".explorer-read")
    assert told.startswith("Of this line only out.detach().cpu() is drawn. ")
    assert "This says nothing about torch.max(…, 1)." in told
    typed.fill("a = x.detach().cpu().view(-1).numpy().copy()")
    told = tab.inner_text(".explorer-read")
    assert told.startswith(".copy() makes new memory. Of this line only ")
    typed.fill("h = net.sigmoid().detach().cpu().numpy().tolist()")
    assert not tab.locator(".asked").count()
    assert tab.locator(".explorer-state").input_value() == "nonleaf"
    tab.locator(".explorer-read").get_by_role("button", name="x.tolist()").click()
    assert tab.inner_text(".explorer-code") == "y = x.tolist()"
    typed.fill("y = x.detatch()")
    tab.locator(".explorer-read button").click()
    assert tab.inner_text(".explorer-code") == "y = x.detach()"
    typed.fill("detach vs. torch.from_numpy(array)")
    assert lane(tab, 0)["code"] == "x.detach()"
    assert lane(tab, 1)["code"] == "torch.from_numpy(a)"
    asked = tab.evaluate("location.href")
    for odd in (
        "x" * 10_000, "<img src=x onerror=alert(1)>", "(" * 400, "'", "\\", "损失",
    ):  # fmt: skip
        typed.fill(odd)
        assert len(tab.inner_text(".explorer-read")) > 10, odd[:20]
        assert tab.locator(".explorer-line :is(img, script)").count() == 0
        assert not tab.locator(".explorer-lanes").is_visible(), odd[:20]
    assert tab.evaluate("location.href") == asked  # none of them is drawn
    typed.press("Escape")
    assert tab.locator(".explorer-lanes").is_visible()


def test_a_line_tells_what_its_tensor_is(
    browser: Any, address: str, explorer: Explorer
) -> None:
    """What a loader gives requires no grad, and pages say what no picture shows."""
    page = browser.new_page()
    go(page, address, "y=clone")
    typed = page.locator(".explorer-typed")
    lines = 'data = load()\nfor one in loader:\n    kept.append(one["x"].numpy())'
    typed.evaluate(
        """(box, lines) => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", lines);
          box.dispatchEvent(new ClipboardEvent("paste", {clipboardData}));
        }""",
        lines,
    )
    page.wait_for_selector(".explorer-found .result")
    assert page.inner_text(".explorer-code") == "y = x.numpy()"
    assert page.locator(".explorer-state").input_value() == "constant"
    assert 'x stands for one["x"]' in page.inner_text(".explorer-read")
    if len(explorer.devices) > 1:
        typed.fill('h = cuda_tensor.to("cpu")')
        assert "if x is on cpu" in page.inner_text(".explorer-read")
    typed.fill("w = torch.ones(2, requires_grad=True).clone()")
    assert "leaves y.grad None" in page.inner_text(".explorer-read")
    typed.fill("w = torch.ones(2, requires_grad=True).detach()")
    assert "leaves y.grad None" not in page.inner_text(".explorer-read")
    page.close()


def test_the_box_is_one_key_away_and_its_note_stays(
    browser: Any, address: str, explorer: Explorer
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}index.html")
    typed, read = page.locator(".explorer-typed"), page.locator(".explorer-read")
    has_focus = "box => box === document.activeElement"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert typed.evaluate(has_focus)
    page.keyboard.type("x / 2")  # in the box, the key that leads to it is a letter
    page.wait_for_selector(".explorer.ready")
    assert typed.input_value() == "x / 2"
    page.locator("h1").click()
    page.keyboard.press("/")
    assert typed.evaluate(has_focus) and typed.input_value() == "x / 2"
    if len(explorer.devices) > 1:
        typed.fill("imgs.cuda(non_blocking=True)")
        assert "if x is on device" in read.inner_text()
        page.locator(".explorer [data-on]").nth(1).click()
        assert "x stands for imgs" in read.inner_text()
        assert "if x is on cpu" in read.inner_text()
        lesson = read.get_by_role("link").get_attribute("href")
        assert lesson.endswith("copy_between_devices.html")
    page.close()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        # Nothing is drawn, and why. What is below is the search's.
        ("model.eval() or torch.no_grad()?", "model.eval() isn't drawn here"),
        ("non_blocking or pin_memory", "non_blocking isn't drawn here"),
        ("vstack or cat", "vstack isn't drawn here"),
        ("x.to(torch.int8) or x.float()?", "x.to(torch.int8) isn't drawn here"),
        ("copy.deepcopy(optimizer) or state_dict?", "optimizer looks like a module"),
        ("img.to(device, dtype=torch.float16)", "can't draw .to(device, dtype="),
        ("x.to(model.dtype)", "can't draw .to(model.dtype)"),
        ("torch.as_tensor(arr, dtype=torch.float64)", "can't draw .as_tensor(arr"),
        ("copy.deepcopy(optimizer)", "optimizer looks like a module"),
        ("w.requires_grad = True", "The write into w.requires_grad isn't drawn"),
        ("net = Net().cuda()", "Net() looks like a module"),
        ("total += float(loss)", "The write into total isn't drawn"),
        ("flat.scatter_(0, rows[mask], 1)", "can't draw .scatter_(0, rows[mask], 1)"),
        ("grid[chosen, :].copy_(new)", "and the write is lost"),
        ("a[:5].copy_(b) or c[chosen].copy_(b)", "isn't drawn here"),
    ],
)
def test_what_is_not_read_is_said_and_not_drawn(
    asked: str, said: str, tab: Any, address: str
) -> None:
    if not tab.url.startswith(f"{address}index.html"):
        go(tab, address, "y=clone")
    assert tab.evaluate(ASK, "y=clone")["typed"] == ""
    assert not tab.locator(".explorer-found .result").is_visible()
    tab.locator(".explorer-typed").fill(asked)
    tab.wait_for_selector(".explorer.asked .explorer-found .result")
    assert said in tab.inner_text(".explorer-read")
    assert not tab.locator(".explorer-lanes").is_visible()
    first = tab.locator(".explorer-found :is(.answer, .result)").first
    if " or " in asked:  # half an answer stands behind the sections
        assert first.get_attribute("class") == "result"


def test_everyday_words_are_no_calls(browser: Any, address: str) -> None:
    page = browser.new_page()
    go(page, address, "y=clone")
    for asked in ("copy or view?", "parameter or buffer", "save or load", "cpu or gpu"):
        page.locator(".explorer-typed").fill(asked)
        page.wait_for_function(
            """asked => document.querySelector(".explorer-typed").value === asked
              && document.querySelector(".explorer.asked .explorer-found .result")""",
            arg=asked,
        )
        assert page.inner_text(".explorer-read") == "", asked
        assert not page.locator(".explorer-found .answer").count(), asked
    page.close()


def test_what_is_drawn_does_not_hang_on_the_line_before(
    browser: Any, address: str
) -> None:
    page = browser.new_page()
    go(page, address, "y=clone")
    typed, kind = page.locator(".explorer-typed"), page.locator(".explorer-state")
    typed.fill("np.array or np.asarray")
    assert kind.input_value() == "constant"  # they differ for it alone
    typed.fill("x.detach()")
    assert kind.input_value() == "leaf"
    typed.fill("h = h.detach()")  # the new h, not the old one
    assert kind.input_value() == "leaf"
    kind.select_option("view")  # a reader's own choice is kept
    typed.fill("x.contiguous()")
    assert kind.input_value() == "view"
    page.close()


def test_a_sum_of_losses_is_drawn_as_the_write_that_it_is(
    browser: Any, address: str
) -> None:
    page = browser.new_page()
    go(page, address, "y=clone")
    typed, read = page.locator(".explorer-typed"), page.locator(".explorer-read")
    typed.fill("total_loss += loss")
    total = start = torch.ones((), requires_grad=True) * 2
    total += torch.ones((), requires_grad=True)
    assert total is start and total.requires_grad
    said = page.inner_text(".explorer-headline")
    assert said == "y is x itself. Gradients flow back to x."
    assert "If total_loss is a Python number, such as 0" in read.inner_text()
    page.wait_for_selector(".explorer-found .result")  # what it keeps alive
    typed.fill("w -= lr * w.grad")
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        w -= 1
    assert page.inner_text(".explorer-headline") == "It raises RuntimeError."
    typed.fill("with torch.no_grad(): w -= lr * w.grad")
    with torch.no_grad():
        w -= 1
    assert page.inner_text(".explorer-headline").startswith("y is x itself.")
    page.close()


def test_casts_and_modules_are_read_as_what_was_run(browser: Any, address: str) -> None:
    page = browser.new_page()
    go(page, address, "y=clone")
    typed, code = page.locator(".explorer-typed"), page.locator(".explorer-code")
    x = torch.ones(2, 3, requires_grad=True)
    for dtype, method in {
        "float32": "float",
        "float16": "half",
        "long": "long",
    }.items():
        typed.fill(f"x.to(torch.{dtype})")
        assert code.inner_text() == f"y = x.{method}()"
        assert f"is drawn as x.{method}()" in page.inner_text(".explorer-read")
        y = x.to(getattr(torch, dtype))
        said = page.inner_text(".explorer-headline")
        assert ("y is x itself" in said) is (y is x)
        assert ("Gradients flow" in said) is y.requires_grad
        size = 0 if y is x else y.untyped_storage().nbytes()
        memory = page.locator(".explorer-facts small").first.inner_text()
        assert memory == (f"{size} new bytes" if size else "no new memory")
    typed.fill("copy.deepcopy(model)")
    shown = "document.querySelector('.explorer-code').innerText"
    page.wait_for_function(f"{shown} === 'y = copy.deepcopy(module).weight'")
    assert page.locator(".explorer-found .result").count() >= 3
    given = page.inner_text(".explorer-note code").strip().splitlines()
    assert given[-1] == "module.weight = x"  # one statement a line
    typed.fill("no_grad or inference_mode?")
    page.wait_for_selector(".explorer-found .result")
    assert page.locator(".explorer-lane").count() == 2
    assert "    y = x * 2" in code.first.inner_text()
    page.close()


def test_a_question_and_a_message_have_their_answer_in_the_box(
    browser: Any, address: str
) -> None:
    page = browser.new_page()
    go(page, address, "y=clone")
    typed, lanes = page.locator(".explorer-typed"), page.locator(".explorer-lanes")
    found = page.locator(".explorer-found .result")
    typed.fill("does detach copy?")
    found.first.wait_for()
    assert page.inner_text(".explorer-code") == "y = x.detach()"
    assert page.inner_text(".explorer-headline").startswith("y shares memory with x.")
    typed.fill("does numpy() share memory with the tensor?")
    page.wait_for_function(
        "document.querySelector('.explorer-code').innerText === 'y = x.numpy()'"
    )
    assert page.inner_text(".explorer-headline").startswith("y shares memory with x.")
    assert "raises if x is a leaf" in page.inner_text(".explorer-read")
    typed.fill("should I use view or reshape for this")
    page.wait_for_function("document.querySelectorAll('.explorer-lane').length > 1")
    assert "raises if x is transposed" in page.inner_text(".explorer-verdict")
    typed.fill("why does my training loss become nan")
    page.wait_for_selector(".explorer.asked .result")
    assert not lanes.is_visible()
    typed.fill("ValueError: the model's foo is no bar")
    page.wait_for_selector(".explorer-read a")
    link = page.locator(".explorer-read a").get_attribute("href")
    assert link.startswith("errors") and "message=ValueError" in link
    typed.fill(
        "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tens"
    )
    said = "This is your message: You called .numpy() on a tensor that requires grad"
    page.wait_for_function(
        "said => document.querySelector('.explorer-read').innerText === said", arg=said
    )
    assert not lanes.is_visible()  # though it has a line of code in it
    typed.press("Enter")
    page.wait_for_url("**#numpy-requires-grad")
    page.close()


LANES = ".explorer-lane"
WAY = "row", "copy", "tag"  # of a picture: memories, arrows, names


def lane(tab: Any, number: int) -> dict[str, Any]:
    return (
        tab.locator(".explorer-lane")
        .nth(number)
        .evaluate(
            """one => ({
          code: one.querySelector(".explorer-code").textContent.replace(/^y = /, ""),
          said: one.querySelector(".explorer-headline").textContent,
          other: [...one.querySelectorAll(".other dt")].map(
            term => term.firstChild.textContent),
          svg: one.querySelectorAll(".explorer-picture svg").length,
        })"""
        )
    )


def test_searched_comparisons_have_two_lanes(tab: Any, address: str) -> None:
    go(tab, address, "y=detach")
    links = tab.locator(".explorer-pairs a").all()
    assert len(links) >= 5
    addresses = {link.inner_text(): link.get_attribute("href") for link in links}
    for words, link in addresses.items():
        go(tab, address, link.removeprefix("?"))
        both = [lane(tab, number) for number in (0, 1)]
        assert both[0]["code"] != both[1]["code"], words
        assert all(one["svg"] == 1 for one in both), words
        said = tab.inner_text(".explorer-verdict")
        assert said.startswith("They differ in: ") or " raises if x is " in said, words
    go(tab, address, "y=detach&vs=clone")
    assert lane(tab, 0)["other"] == ["Memory", "Gradient", "y in autograd"]
    go(tab, address, "y=data&vs=detach")
    assert lane(tab, 1)["other"] == ["Version counter"]
    w = torch.ones(2, requires_grad=True).exp()
    for call, version in ((w.detach, 1), (lambda: w.data, 1)):
        call().add_(1)
        assert w._version == version
    go(tab, address, "y=torch.from_numpy(a)&vs=torch.tensor(a)")
    assert lane(tab, 0)["said"] == "y shares memory with a."
    assert lane(tab, 1)["said"] == "y is a copy with its own memory."
    tab.locator(".explorer-lane").nth(1).get_by_role("button", name="Close").click()
    assert tab.locator(".explorer-lane").count() == 1


def test_two_calls_in_peoples_words_show_where_they_differ(
    tab: Any, address: str
) -> None:
    go(tab, address, "y=detach")
    assert len(typed_lines(pairs=True)) >= 30
    for line in typed_lines(pairs=True):
        typed, _, expected = line.partition(" -> pair ")
        codes, _, fact = expected.replace("\\n", "\n").rpartition(": ")
        assert tab.evaluate(ASK, "y=detach")["typed"] == ""
        tab.locator(".explorer-typed").fill(typed)
        both = [lane(tab, number) for number in range(tab.locator(LANES).count())]
        assert [one["code"] for one in both] == codes.split(" | "), line
        said = tab.inner_text(".explorer-verdict")
        if fact == "same":
            assert said.startswith("Same memory, gradient, device and"), (line, said)
            assert said.endswith("may differ."), (line, said)
        elif fact == "dtype":
            assert "is float32 here. From another dtype " in said, (line, said)
        elif fact == "example":
            assert "x * 2 is an example" in said, (line, said)
            assert "Memory" not in both[0]["other"], (line, both)
        elif fact == "raises":
            raised = [one["said"].startswith("It raises") for one in both]
            assert raised.count(True) == 1 and " raises if x is " in said, (line, said)
            assert all(one["said"].endswith("differs") for one in both), line
        else:
            assert all(fact in one["other"] for one in both), (line, both)
            assert fact.lower() in said, (line, said)


def test_a_link_without_a_kind_of_x_shows_one_that_differs(
    tab: Any, address: str
) -> None:
    go(tab, address, "y=view&vs=reshape")
    assert tab.locator(".explorer-state").input_value() == "view"
    go(tab, address, "y=view&vs=reshape&x=leaf")  # an address that has one keeps it
    assert tab.locator(".explorer-state").input_value() == "leaf"


def test_what_cannot_be_done_is_said_before(tab: Any, address: str) -> None:
    go(tab, address, "y=numpy&x=constant")
    chip = tab.get_by_role("button", name=".detach()", exact=True)
    assert "fails" in chip.get_attribute("class")
    assert "y isn't a tensor" in tab.inner_text(".explorer-hint")
    chip.focus()
    assert "AttributeError" in tab.inner_text(".explorer-hint")
    go(tab, address, "y=detach.cpu.numpy")
    hint = tab.inner_text(".explorer-hint")
    assert hint == "A chain has at most three calls. Remove one."


def test_each_memory_on_the_way_is_drawn(
    tab: Any, address: str, explorer: Explorer
) -> None:
    go(tab, address, "y=detach.clone.clone")
    assert [tab.locator(f"{PICTURE} .tm-{one}").count() for one in WAY] == [3, 2, 3]
    assert tab.locator(f"{PICTURE} [data-name='.clone()']").count() == 1
    tab.get_by_role("button", name="Write y[0] = 7").click()
    changed = tab.locator(f"{PICTURE} .tm-row").nth(2).locator(".changed")
    assert tab.locator(f"{PICTURE} .changed").count() == changed.count() == 3
    facts = tab.locator(".explorer-facts dd").all()
    assert all(one.bounding_box()["y"] < 800 for one in facts)
    others = [kind for kind in explorer.devices if kind != "cpu"]
    if not others:
        pytest.skip("no second device, nor a compiler for one")
    go(tab, address, f"y=cpu.to&on={others[0]}")
    said = tab.inner_text(".explorer-headline")
    assert said.endswith("2 copies: to cpu, and back to device.")
    assert [tab.locator(f"{PICTURE} .tm-{one}").count() for one in WAY] == [3, 2, 3]
    places = tab.locator(f"{PICTURE} text").all_text_contents()
    assert [text for text in places if text.startswith("on ")] == [
        *("on device", "on cpu", "on device")
    ]
    go(tab, address, "y=cpu.to")
    assert "2 copies" not in tab.inner_text(".explorer-headline")
    assert tab.locator(f"{PICTURE} .tm-row").count() == 2


def test_on_the_way_are_the_memories_that_are_made_here() -> None:
    """Each step of a chain is run by itself."""
    counted = 0
    for state, chain, seen in on_cpu(live_explorer()):
        if seen["error"] is not None or len(chain) < 2:
            continue
        steps, codes = [run((), state).x], []
        for place, key in enumerate(chain):
            with torch.set_grad_enabled(state != "no_grad"):
                steps.append(eval(f"x{CALLS[key].code}", {"x": steps[-1]}))
            if not np.shares_memory(*map(array_of, steps[-2:])):
                codes.append(("" if place else "x") + CALLS[key].code)
        told = [one["code"] for one in seen["scene"]["between"]]
        assert told == (codes if len(codes) > 1 else []), (state, chain)
        counted += len(told) > 0
    assert counted > 400


def array_of(value: Any) -> np.ndarray:
    return value.detach().numpy() if isinstance(value, torch.Tensor) else value


def test_the_answer_is_above_the_fold(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{address}index.html")
    facts = page.locator(".explorer-facts dd")
    assert facts.count() == 4
    for fact in facts.all():
        box = fact.bounding_box()
        assert box["y"] + box["height"] <= 800
    page.close()


def test_the_chooser_answers_each_wish(browser: Any, address: str) -> None:
    """Each answer is run here: it does what the switches say, or none can."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{address}index.html")
    assert not page.locator("table.calls").is_visible()
    answered = 0
    for memory in ("share", "own"):
        for gradient in ("flows", "stops", "leaf"):
            for where in ("same", "cpu", "array"):
                for name in (memory, gradient, where):
                    page.locator(f'.chooser input[value="{name}"]').check(force=True)
                said = page.inner_text(".choice")
                code = page.locator(".choice-line code").inner_text()
                impossible = where == "array" and gradient != "stops"
                assert ("Impossible" in said) is impossible, (memory, gradient, where)
                if impossible:
                    assert "RuntimeError" in said
                    continue
                x = torch.tensor([[0.0, 1, 2], [3, 4, 5]], requires_grad=True)
                y = eval(code.removeprefix("y = "), {"x": x})
                ran = Ran(x, x, y)
                flows = bool(ran.flows())
                assert flows is (gradient == "flows"), code
                if gradient == "leaf":
                    assert y.is_leaf and y.requires_grad, code
                assert (y is x or ran.shares()) is (memory == "share"), code
                assert isinstance(y, np.ndarray) is (where == "array"), code
                answered += 1
    assert answered == 14
    page.locator('.chooser input[value="gpu"]').check(force=True)
    page.locator('.chooser input[value="share"]').check(force=True)
    assert "its own memory" in page.inner_text(".choice")
    page.locator('.chooser input[value="own"]').check(force=True)
    if "y = " in page.inner_text(".choice"):
        assert "If x is on this GPU already, y shares" in page.inner_text(".choice")
    # A picture of the explorer's, where it has one.
    page.evaluate("loadExplorer()")
    page.wait_for_selector(".explorer.ready")
    for name in ("share", "flows", "same"):
        page.locator(f'.chooser input[value="{name}"]').check(force=True)
    assert page.locator(".choice-line code").inner_text() == "y = x"
    page.get_by_role("button", name="All answers").click()
    assert page.locator("table.calls tbody tr").first.is_visible()
    context.close()
