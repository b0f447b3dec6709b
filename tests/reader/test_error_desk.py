"""The error index and the silent mistakes in a browser: the box, cards, pairs."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from reading import soup
from tensor_copies.calls.facts import DEVICE, facts

BOX, COUNT, NO_HIT = "#desk-message", ".desk .count", ".desk .no-hit"
FOUND = "[...document.querySelectorAll('.desk .near a')].map(({hash}) => hash.slice(1))"
OPEN = """[...document.querySelectorAll('.mistake:not(.folded) > h3')].map((title) =>
  title.textContent.replace('¶', '').trim())"""
PHONE = {"width": 390, "height": 844}
MESSAGES = tomllib.loads(Path(__file__).with_name("messages.toml").read_text("utf-8"))


def open_desk(tab: Any) -> None:
    """Open the error index, and wait for all that its box asks."""
    tab.goto("errors.html")
    tab.fill(BOX, "a")
    tab.wait_for_function("!!window.searchFor && !!window.addCopyButton")


def test_a_message_is_known_however_it_was_pasted(tab: Any) -> None:
    open_desk(tab)
    for anchor, texts in MESSAGES["known"].items():
        for text in texts:
            tab.fill(BOX, text)
            said = tab.locator(COUNT).inner_text()
            assert said.startswith("This is your message"), text
            assert tab.evaluate(FOUND)[0] == anchor, text
    for trace in MESSAGES["traces"]:
        tab.fill(BOX, trace["text"])
        assert tab.evaluate(FOUND)[0] == "backward-of-many"
        said = tab.locator(".own-line").inner_text()
        assert trace["own"] in said and "below it: 1." in said, trace


def test_a_message_that_is_not_here_is_never_called_the_readers(tab: Any) -> None:
    open_desk(tab)
    messages = MESSAGES["elsewhere"].splitlines()
    assert len(messages) >= 40
    for message in messages:
        tab.fill(BOX, message)
        said = tab.locator(COUNT).inner_text()
        assert said.startswith("None of the "), (message, said)
        assert tab.locator(".near a").count() <= 3 and tab.locator(NO_HIT).is_visible()
    for odd in ("a." * 5_000, "<b onclick=alert(1)>", "ValueError: ", "错误: 张量"):
        tab.fill(BOX, odd)
        said = tab.locator(COUNT).inner_text()
        assert said and "your message" not in said, odd[:20]
    tab.fill(BOX, "kernel panic & co")
    search = tab.locator(NO_HIT).get_by_role("link", name="search the whole site")
    assert search.get_attribute("href") == "search.html?q=kernel+panic+%26+co"


def test_a_message_that_a_question_quotes_is_near(tab: Any) -> None:
    open_desk(tab)
    for anchor, text in MESSAGES["quoted"].items():
        tab.fill(BOX, text)
        tab.wait_for_function(f"{FOUND}.includes('{anchor}')")
        assert tab.locator(COUNT).inner_text().endswith("Nearest:")


def test_cures_of_a_tensor_on_a_gpu_are_those_of_a_gpu(site: Path) -> None:
    if DEVICE not in facts().devices:
        pytest.skip("there is no second device")
    entry = soup(site / "errors/to_numpy.html").find(id="numpy-device")
    links = [link["href"] for link in entry.select('.cures a[href*="#explorer"]')]
    assert links and all(f"on={DEVICE}" in link for link in links)
    # On a CPU they would share.
    costs = [one.get_text() for one in entry.select(".cures > ol .cost > span")]
    assert costs[0] == "has its own memory"


def test_silent_mistakes_open_on_a_phone_for_who_asks(visit: Any) -> None:
    page = visit("silent_mistakes.html", viewport=PHONE)
    assert page.evaluate(OPEN) == []
    page.evaluate("location.hash = 'silent-fused'")
    page.wait_for_function("document.querySelector('.mistake:not(.folded)')")
    assert page.evaluate(OPEN) == ["A fused step that autograd does not see"]
    page.fill(BOX, "batchnorm")
    page.locator(".near a", has_text="BatchNorm").click()
    page.wait_for_function("document.querySelectorAll('.mistake:not(.folded)')[1]")
    assert "A frozen network whose BatchNorm moves" in page.evaluate(OPEN)
    unseen = "parts => parts.filter(part => !part.checkVisibility()).length"
    assert page.locator(".pair .side").evaluate_all(unseen) > 20
    page.emulate_media(media="print")
    assert page.locator(".pair .side").evaluate_all(unseen) == 0
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(media="screen")
    links = page.locator(".error-index li:not(:has(li)) a").all_inner_texts()
    assert links == page.evaluate(OPEN) and len(links) > 20
    cut = "blocks => blocks.filter(one => one.scrollWidth > one.clientWidth).length"
    assert page.locator(".pair pre").evaluate_all(cut) == 0
