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

CODE, HEAD, TYPED = (f".explorer-{part}" for part in ("code", "headline", "typed"))
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
        known = [] if record["error"] else facts_of(record, x)[:SHOWN]
        told = [[answer, detail] for _, answer, detail in known]
        assert [[*one, ""][:2] for one in shown["facts"]] == told, asked
        if record["error"] is not None:
            assert shown["note"].startswith(record["error"][:60]), asked
        elif write:
            changed = record["writes"][write]["changed"] or []
            assert after_write(record, write, x) in shown["note"], asked
            assert shown["changed"][: len(changed)] == changed, asked
        else:
            assert not any(shown["changed"]), asked


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
