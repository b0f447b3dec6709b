"""The explorer in a browser: it shows what the build saw, and reads lines truly."""

import random
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from forms import written
from reading import EVERYTHING, OUTSIDE, axe_of
from tensor_copies.calls.facts import facts
from tensor_copies.calls.words import after_write, facts_of, headline
from tensor_maps.atlas.calls import CALLS, STATES, chains, code_of

CODE, HEAD, READ = ".explorer-code", ".explorer-headline", ".explorer-read"
STATE, LANES, TYPED = ".explorer-state", ".explorer-lanes", ".explorer-typed"
SHOWN = 4  # facts of one lane


def go(tab: Any, query: str) -> None:
    tab.goto(f"index.html?{query}")
    tab.wait_for_selector(".explorer.ready")


@pytest.fixture(scope="module")
def reader(tab: Any) -> Any:
    """Open the explorer; give what its reader of lines says of many texts at once."""
    go(tab, "y=detach")
    asking = "([how, all]) => all.map((one) => callReader(callFacts)[how](one))"
    return lambda how, *texts: tab.evaluate(asking, [how, list(texts)])


# -- What is shown ---------------------------------------------------------------------

# Shows what an address asks for, as a step back in the browser does.
ASK = """query => {
  history.replaceState(null, "", `?${new URLSearchParams(query)}`);
  dispatchEvent(new PopStateEvent("popstate"));
  return new Promise((done) => setTimeout(done)).then(() => {
    const all = (query) => [...document.querySelectorAll(`.explorer ${query}`)];
    return {
      code: all(".explorer-code")[0].innerText,
      headline: all(".explorer-headline")[0].innerText,
      note: all(".explorer-note")[0].innerText,
      label: all(".explorer-picture svg")[0].getAttribute("aria-label"),
      facts: all(".explorer-facts dd").map(one => one.innerText.split("\\n")),
      changed: all(".tm-row").map(row => [...row.querySelectorAll(".tm-cell")]
        .flatMap((cell, at) => cell.matches(".changed") ? [at] : [])),
      marks: all(".explorer-picture svg *").length,
    };
  });
}"""


def test_the_page_shows_what_was_seen(tab: Any) -> None:
    """Of rows and of chains: headline, facts, picture, writes through both names."""
    go(tab, "y=detach")
    seen = facts()
    keys = [key for key in product(seen.codes, STATES, range(len(seen.devices)))
            if seen.record(*key) is not None]  # fmt: skip
    some = keys if EVERYTHING else random.Random(7).sample(keys, 60)
    subjects = {call.code: call.subject for call in CALLS.values()}
    for (code, state, away), write in product(some, ("", "x", "y")):
        record, x = seen.record(code, state, away), subjects.get(code, "x")
        asked = {"y": code, "x": state, "on": list(seen.devices)[away], "write": write}
        shown = tab.evaluate(ASK, {key: value for key, value in asked.items() if value})
        said = headline(record, x)
        assert shown["code"].removeprefix("y = ") == code
        assert (shown["headline"], shown["label"]) == (said, f"y = {code}: {said}")
        assert shown["marks"] == len(re.findall(r"<\w", record["picture"])) - 1, asked
        told = [[answer, detail] for _, answer, detail in facts_of(record, x)][:SHOWN]
        assert [[*one, ""][:2] for one in shown["facts"]] == told, asked
        if record["error"] is not None:
            assert shown["note"].startswith(record["error"][:60]), asked
        elif write:
            changed = record["writes"][write]["changed"] or []
            assert after_write(record, write, x) in shown["note"], asked
            assert shown["changed"][: len(changed)] == changed, asked
        else:
            assert not any(shown["changed"]), asked


def test_clicks_are_in_the_address_and_come_back(tab: Any) -> None:
    go(tab, "y=")  # as it was written before
    assert tab.inner_text(CODE) == "y = x"
    tab.get_by_role("button", name=".detach()", exact=True).click()
    chip = tab.get_by_role("button", name=".clone()", exact=True)
    chip.press("Enter")
    assert chip.evaluate("one => one === document.activeElement")
    assert tab.inner_text(CODE) == "y = x.detach().clone()"
    tab.get_by_role("button", name="Write x[0] = 7").click()
    assert "torch.no_grad()" in tab.inner_text(".explorer-note")
    tab.locator(STATE).select_option("constant")
    assert "y=x.detach%28%29.clone%28%29" in tab.evaluate("location.search")
    tab.reload()
    tab.wait_for_selector(".explorer.ready")
    assert tab.locator(STATE).input_value() == "constant"
    assert tab.locator(".explorer-picture .changed").count() == 3
    tab.get_by_role("button", name="device", exact=True).click()
    tab.reload()
    tab.wait_for_selector(".explorer.ready")
    tab.get_by_role("button", name="device", pressed=True, exact=True).wait_for()
    go(tab, "y=detach.clone&vs=clone")
    tab.get_by_role("button", name="Remove last call").click()
    codes = tab.locator(CODE)
    assert codes.all_inner_texts() == ["y = x.detach().clone()", "y = x"]
    tab.get_by_role("button", name="Close").first.click()
    assert codes.all_inner_texts() == ["y = x"]


def test_what_raises_says_so_and_another_call_takes_its_place(tab: Any) -> None:
    go(tab, "y=numpy&x=leaf")
    tab.get_by_role("button", name=".clone()", exact=True).click()
    assert tab.inner_text(CODE) == "y = x.clone()"
    go(tab, "y=numpy&x=leaf")
    tab.get_by_role("link", name="What to do").click()
    tab.wait_for_url("**/errors.html?message=*")
    tab.locator("form.desk a[href$='#numpy-requires-grad']").first.wait_for()


@pytest.mark.parametrize("query", ["y=detach.clone&write=x", "y=numpy"])
def test_on_the_narrowest_phone(visit: Any, query: str) -> None:
    phone = {"width": 320, "height": 900}
    page = visit("glossary.html", viewport=phone, color_scheme="dark")
    go(page, query)
    assert page.evaluate(OUTSIDE) == axe_of(page) == []


# -- How lines are read ----------------------------------------------------------------


def typed_lines(kind: str) -> list[tuple[str, str]]:
    """Return the lines of a kind in typed_lines.txt, and what is expected of each."""
    text = Path(__file__).with_name("typed_lines.txt").read_text(encoding="utf-8")
    lines = re.findall(rf"(?m)^([^#].*) -> {kind} ?(.*)$", text)
    return [(typed, expected.replace("\\n", "\n")) for typed, expected in lines]


def test_lines_as_people_write_them(reader: Any) -> None:
    lines = [(kind, *one) for kind in ("chain", "row", "steps", "no")
             for one in typed_lines(kind)]  # fmt: skip
    assert len(lines) >= 196 + 26
    found = reader("read", *(typed for _, typed, _ in lines))
    for (kind, typed, expected), told in zip(lines, found, strict=True):
        if kind == "no":
            assert not told["code"], (typed, told)
            assert expected.lower() in told["said"].lower(), (typed, told)
        elif kind == "row":
            assert told["code"] == expected, typed
        elif kind == "chain":
            calls, _, x = expected.partition(" of ")
            read = code_of(tuple(calls.split("."))), x
            assert (told["code"], told["x"]) == read, typed
        else:
            steps = [one["code"] for one in told["steps"]]
            steps += [f"not {told['unread']}"] if told["unread"] else []
            assert f"{' | '.join(steps)} of {told['start']}" == expected, typed


def test_each_way_to_write_a_call_is_read_as_that_call(reader: Any) -> None:
    """And so is each chain of two chips, with another name for x."""
    subjects = {call.code: call.subject for call in CALLS.values()}
    asked = {
        line: code
        for code, also in facts().forms.items()
        for form in also
        for line in written(form, subjects.get(code, "x"))
        if line not in facts().codes  # as x.T is, that is x.t() as well
        # A dictionary of tensors is not drawn; the second is a row of its own.
        and not re.search(r"load_state_dict|\.to\(.+non_blocking=", line)
    }
    assert len(asked) > 400
    for chain in chains(True, 2):
        if chain and not {"numpy", "numpy-force", "copy"}.intersection(chain):
            asked[code_of(chain).replace("x", "w.grad", 1)] = code_of(chain)
    for (line, code), told in zip(asked.items(), reader("read", *asked), strict=True):
        assert (told["code"], told.get("unread")) == (code, ""), (line, told)


def test_a_query_names_the_rows_that_answer_it_and_no_others(reader: Any) -> None:
    queries, rows = zip(*typed_lines("cards"), strict=True)
    assert (*map(" ".join, reader("cards", *queries)),) == rows
    (same,) = reader("read", "model2 = model")
    assert "same object" in same["says"]


NO_FACTS = {
    "same": "Same memory, gradient, device and",
    "dtype": "is float32 here. From another dtype ",
}
OTHER = """lanes => lanes.map(lane => [...lane.querySelectorAll(".other dt")].map(
  dt => dt.firstChild.textContent))"""


def test_two_calls_in_peoples_words_show_where_they_differ(tab: Any) -> None:
    go(tab, "y=detach")
    assert len(typed_lines("pair")) >= 49
    for typed, expected in typed_lines("pair"):
        codes, _, fact = expected.rpartition(": ")
        tab.evaluate(ASK, {"y": "x.detach()"})
        assert "".join(tab.locator(".explorer-verdict").all_inner_texts()) == ""
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
            marked = [fact in one for one in other]
            assert any(marked) and fact.lower() in said, (typed, other, said)


# -- The box ---------------------------------------------------------------------------


def test_a_fragment_has_no_bare_verdict(tab: Any) -> None:
    go(tab, "y=clone")
    line = 'torch.from_numpy(img).permute(2, 0, 1).float().to("cuda")'
    for typed, said in {
        line: [".permute(2, 0, 1) shares memory", ".float() copies, unless",
               '.to("cuda") copies, unless'],
        "k = hit.detach().sum(0)": ["Up to hit.detach(): ", "Not read: .sum(0)."],
        "y = net.c.float()": ["If net.c is a tensor and float32: y is x itself",
                              "If it is bfloat16: y is a copy"],
        "total += loss": ["If total is a tensor: "],
        "b = model": ["b is the same object as model"],
    }.items():  # fmt: skip
        tab.fill(TYPED, typed)
        headline = tab.inner_text(HEAD)
        assert all(part in headline for part in said), (typed, headline)
        # The reader's own line is what stands there in large letters.
        assert tab.inner_text(CODE).startswith(typed), typed
    tab.fill(TYPED, "w -= lr * w.grad")
    offered = tab.locator(READ).get_by_role("button").inner_text()
    assert offered.endswith("in no_grad")


def test_what_is_not_read_is_said_and_nothing_else_is_shown(tab: Any) -> None:
    go(tab, "y=clone")
    typed, read, state = map(tab.locator, (TYPED, READ, STATE))
    typed.fill("kept = [one.numpy() for one in loader]")
    assert state.input_value() == "constant"  # what a loader gives requires no grad
    typed.fill("x.detach()")
    assert state.input_value() == "leaf"  # it doesn't hang on the line before
    state.select_option("view")  # a reader's own choice is kept
    typed.fill("x.contiguous()")
    assert state.input_value() == "view"
    asked = tab.evaluate("location.href")
    for odd in ("x" * 10_000, "<img src=x onerror=alert(1)>", "'", "损失", "x.fft()"):
        typed.fill(odd)
        assert len(read.inner_text()) > 10, odd[:20]
        assert not tab.locator(LANES).is_visible(), odd[:20]
    assert tab.locator(".explorer-line img").count() == 0
    assert tab.evaluate("location.href") == asked  # none of them is drawn
    typed.press("Escape")
    assert tab.locator(LANES).is_visible()


def test_a_question_and_a_message_have_their_answer_in_the_box(tab: Any) -> None:
    go(tab, "y=clone")
    typed, lanes, read = map(tab.locator, (TYPED, LANES, READ))
    for asked in ("copy or view?", "why does my loss become nan"):
        typed.fill(asked)  # everyday words are no calls
        tab.wait_for_selector(".explorer.asked .explorer-found .result")
        assert not lanes.is_visible() and read.inner_text() == "", asked
    typed.fill("RuntimeError: Can't call numpy() on Tensor that requires grad. Use t")
    first = tab.locator(".explorer-found .result").first
    first.get_by_text("You called .numpy() on a tensor").wait_for()
    assert not lanes.is_visible()  # though it has a line of code in it
    typed.press("Enter")
    tab.wait_for_url("**#numpy-requires-grad")
