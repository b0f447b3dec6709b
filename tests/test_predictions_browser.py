"""Answers to choose from, as a reader's browser shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reading import SCRIPTS, page_of

DETACH = next(script for script in SCRIPTS if script.stem == "detach")
CHOICES = ".predict-choices"
WRONG, RIGHT = "input:not([data-right])", "input[data-right]"
FITS = "document.documentElement.scrollWidth <= innerWidth"
SMALL = """[...document.querySelectorAll('.predict-choices label, '
  + '.predict-score button, .predict-choices ~ details > summary')].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.height < 24 || box.width < 24
      || [one, ...one.querySelectorAll('*')].some(
           (part) => parseFloat(getComputedStyle(part).fontSize) < 12);
  }).map((one) => one.textContent)"""

LONG = """[...document.querySelectorAll('.predict-choices label > code')]
  .filter((one) =>
  one.getBoundingClientRect().height
    > 2.5 * parseFloat(getComputedStyle(one.parentNode).lineHeight)
  ).map((one) => one.textContent)"""


def test_no_answer_is_longer_than_two_lines(browser: Any, site: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    pages = [page_of(site, script) for script in SCRIPTS]
    for place in [*pages, site / "self_check.html"]:
        if "predict-choices" in place.read_text("utf-8"):
            page.goto(place.as_uri())
            assert page.evaluate(LONG) == [], place.name
    page.close()


def test_a_choice_is_judged_and_opens_the_proof(browser: Any, site: Path) -> None:
    page = browser.new_page(viewport={"width": 320, "height": 700})
    page.goto(page_of(site, DETACH).as_uri())
    box, proof = page.locator(CHOICES).first, page.locator("details.predict").first
    assert box.get_by_role("radio").count() == 3
    assert page.get_by_role("group", name="What does w hold now?").is_visible()
    asked = proof.locator(".predict-question").bounding_box()
    assert asked["width"] <= 1, "the question stands twice"
    answer, said = proof.locator(".predict-answer"), box.get_by_role("status")
    assert said.text_content() == "" and not answer.is_visible()
    # By keyboard: arrows go round without choosing, the space bar chooses.
    radios = box.locator("input")
    radios.nth(0).focus()
    page.keyboard.press("ArrowUp")
    assert radios.nth(2).evaluate("(radio) => radio === document.activeElement")
    assert box.locator("input:checked").count() == 0
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    answer.wait_for(state="visible")
    assert radios.nth(0).is_checked()
    box.locator(WRONG).first.check()
    told = box.locator(WRONG).first.get_attribute("data-said").replace("`", "")
    assert said.text_content() == told and said.locator("code").count() >= 1
    assert box.locator("label.wrong").count() == box.locator("label.right").count() == 1
    assert box.locator(f"label.right > {RIGHT}").count() == 1
    box.locator(RIGHT).check()
    assert said.text_content() == "Right." and not box.locator("label.wrong").count()
    assert page.evaluate(SMALL) == [] and page.evaluate(FITS)
    # A lesson keeps no score.
    assert page.evaluate("localStorage.getItem('tensor-copies-check')") is None
    page.emulate_media(media="print")
    assert box.locator("label").nth(2).is_visible() and answer.is_visible()
    page.close()


def test_without_scripts_the_answer_is_opened_by_hand(browser: Any, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "self_check.html").as_uri())
    assert not page.locator(CHOICES).first.is_visible()
    assert not page.locator(".predict-score").first.is_visible()
    proof = page.locator("details.predict").first
    assert proof.locator(".predict-question").is_visible()
    proof.locator("summary").click()
    assert proof.locator(".predict-answer pre").first.is_visible()
    page.emulate_media(media="print")
    assert page.locator(CHOICES).first.locator("label").first.is_visible()
    context.close()


def test_the_score_counts_first_answers_and_is_kept(browser: Any, site: Path) -> None:
    context = browser.new_context(viewport={"width": 320, "height": 700})
    page = context.new_page()
    page.goto((site / "self_check.html").as_uri())
    boxes, scores = page.locator(CHOICES), page.locator(".predict-score")
    count = boxes.count()
    assert scores.count() == 2
    assert scores.nth(0).text_content().startswith(f"{count} questions.")
    boxes.nth(0).locator(RIGHT).check()
    boxes.nth(1).locator(WRONG).first.check()
    boxes.nth(1).locator(RIGHT).check()  # too late
    link = page.locator("details.predict").nth(1).locator("a[href*=auto_examples]")
    address = link.get_attribute("href")
    for place in (0, 1):
        said = scores.nth(place).locator("p").text_content()
        assert said.startswith(f"1 of 2 right, {count - 2} to go")
        assert scores.nth(place).locator("a").get_attribute("href").endswith(address)
    assert page.evaluate(SMALL) == [] and page.evaluate(FITS)
    page.reload()
    assert scores.nth(0).locator("strong").text_content() == "1 of 2 right"
    assert boxes.nth(1).locator("label.wrong input").is_checked()
    assert not page.locator("details.predict[open]").count()
    for place in range(2, count):
        boxes.nth(place).locator(RIGHT).check()
    said = scores.nth(1).locator("p").text_content()
    assert said.startswith(f"{count - 1} of {count} right") and "to go" not in said
    scores.nth(1).get_by_role("button", name="Start again").click()
    assert scores.nth(0).text_content().startswith(f"{count} questions.")
    assert not page.locator(f"{CHOICES} input:checked").count()
    assert not page.locator("details.predict[open]").count()
    assert (
        boxes.nth(0)
        .locator("input")
        .first.evaluate("(radio) => radio === document.activeElement")
    )
    page.reload()
    assert scores.nth(0).text_content().startswith(f"{count} questions.")
    context.close()
