"""The error index and the silent mistakes in a real browser: the box, cards, pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BOX, COUNT, NO_HIT = "#desk-message", ".desk .count", ".desk .no-hit"
MOST_TIMES = 20  # what eight times the text may take; as its square it took 41
PASTED = (
    'Traceback (most recent call last): File "train.py", line 5, in <module> '
    "RuntimeError: Can't call numpy() on Tensor that requires grad. "
    "Use tensor.detach().numpy() instead."
)
FOUND = "[...document.querySelectorAll('.desk .near a')].map(({hash}) => hash.slice(1))"
ORDER = "[...document.querySelectorAll('.entry')].map((entry) => entry.id)"
FOLDED = "[...document.querySelectorAll('.entry.folded')].map((entry) => entry.id)"
OPEN = """[...document.querySelectorAll('.mistake:not(.folded) > h3')].map((title) =>
  title.textContent.replace('¶', '').trim())"""


@pytest.fixture(scope="module")
def tab(browser: Any, address: str) -> Iterator[Any]:
    """Open the error index once, as a reader at a desk has it."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, reduced_motion="reduce"
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(f"{address}errors.html", wait_until="load")
    yield page
    assert page.problems == []
    context.close()


def test_what_is_pasted_leads_to_its_entry(tab: Any) -> None:
    for size in ({"width": 390, "height": 844}, {"width": 1280, "height": 800}):
        tab.set_viewport_size(size)
        box = tab.locator(BOX).bounding_box()
        assert box["y"] + box["height"] < size["height"] / 2  # seen at once
    tab.locator(BOX).focus()
    tab.keyboard.insert_text(PASTED)
    assert tab.evaluate(FOUND) == ["numpy-requires-grad"]
    said = tab.locator(".desk [role=status]")
    assert said.get_attribute("aria-live") == "polite"
    lines = said.inner_text().split("\n")
    assert lines[0] == "This is your message:"
    assert "You called .numpy() on a tensor that requires grad" in lines
    assert lines[-1] == "Your own line: (train.py, line 5, in <module>)."
    assert "message=Traceback" in tab.url
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/errors/to_numpy.html#numpy-requires-grad")
    assert 0 <= tab.locator("#numpy-requires-grad h2").bounding_box()["y"] < 400
    tab.go_back(wait_until="load")
    assert tab.evaluate(FOUND) == ["numpy-requires-grad"]
    tab.locator(".desk").get_by_role("button", name="Clear").click()
    tab.wait_for_function("!document.querySelector('.desk .near a')")
    assert tab.input_value(BOX) == "" and "message=" not in tab.url
    assert tab.evaluate("document.activeElement.id") == BOX.removeprefix("#")


def test_a_few_words_find_entries(tab: Any) -> None:
    for words, anchor in {
        "DLPACK": "dlpack-requires-grad",
        "bfloat16 numpy": "numpy-bfloat16",
        "leaf in-place": "leaf-in-place",
    }.items():
        tab.fill(BOX, words)
        assert anchor in tab.evaluate(FOUND), words
    tab.fill(BOX, "")
    assert tab.evaluate(FOUND) == []


def test_no_hit_says_what_to_do(tab: Any) -> None:
    tab.fill(BOX, "kernel panic & co")
    assert tab.locator(COUNT).inner_text().endswith("and none is similar.")
    search = tab.locator(NO_HIT).get_by_role("link", name="search the whole site")
    assert search.get_attribute("href") == "search.html?q=kernel+panic+%26+co"
    other = tab.locator(NO_HIT).get_by_role("link", name="what others did")
    assert tab.locator(other.get_attribute("href")).is_visible()
    tab.fill(BOX, "")
    assert not tab.locator(NO_HIT).is_visible()


# Famous messages that the site has no entry for, one a line.
ELSEWHERE = Path(__file__).with_name("messages_elsewhere.txt")


def test_a_message_that_is_not_here_is_never_called_the_readers(tab: Any) -> None:
    messages = ELSEWHERE.read_text(encoding="utf-8").splitlines()
    assert len(messages) >= 40
    for message in messages:
        tab.fill(BOX, message)
        said = tab.locator(COUNT).inner_text()
        assert said.startswith("None of the "), (message, said)
        near = tab.locator(".near a").count()
        assert near <= 3 and said.endswith("Nearest:" if near else "similar."), message
        assert tab.locator(NO_HIT).is_visible()
    tab.fill(BOX, "AttributeError: 'NoneType' object has no attribute 'shape'")
    tab.locator(BOX).press("Enter")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/errors/gradients.html#grad-is-none")
    tab.go_back(wait_until="load")
    assert tab.input_value(BOX) != ""
    tab.fill(BOX, "")


GRAD = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy()"
# How a message looks where readers copy it from.
DISGUISED = {
    "prefixed": f"[rank0]: RuntimeError: {GRAD} instead.",
    "logged": f"2026-01-02 03:04:05,678 ERROR RuntimeError: {GRAD} instead.",
    "tested": f"E       RuntimeError: {GRAD} instead.",
    "wrapped": "RuntimeError: Can't call numpy() on Tensor that requi\nres grad. Use "
    "tensor.detach().numpy() instead.",
    "boxed": "╭─ Error ─────╮\n│ RuntimeError: Can't call numpy() on Tensor  │\n│ that "
    "requires grad. Use tensor.detach().numpy() instead.  │\n╰────────╯",
    "cut": "numpy() on Tensor that requires grad. Use tensor.det",
    "old": "Can't call numpy() on Variable that requires grad. Use var.detach()",
    "asked": f"why do i get `{GRAD} instead.` when i plot it?",
}


@pytest.mark.parametrize("how", DISGUISED)
def test_a_message_is_known_however_it_was_pasted(how: str, tab: Any) -> None:
    tab.fill(BOX, DISGUISED[how])
    assert tab.locator(COUNT).inner_text() == "This is your message:"
    assert tab.evaluate(FOUND) == ["numpy-requires-grad"]
    tab.fill(BOX, "")


OLD = {
    "AttributeError: Can't pickle local object 'Data.__init__.<locals>.scale'": (
        "pickle-lambda"
    ),
    "_pickle.PicklingError: Can't pickle <function <lambda> at 0x7f5bfebedf80>: "
    "attribute lookup <lambda> on __mp_main__ failed": "pickle-lambda",
    "the buffers have already been freed. Specify retain_graph=True": "backward-twice",
    "some of the strides of a given numpy array are negative.": (
        "from-numpy-negative-stride"
    ),
    "UserWarning: The given NumPy array is not writeable, and PyTorch does not support "
    "non-writeable tensors.": "from-numpy-read-only",
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
    "capacity of 8.00 GiB of which 0 bytes is free.": "out-of-memory",
    "RuntimeError: Expected all tensors to be on the same device, but found at least "
    "two devices, cuda:0 and cpu!": "devices-differ",
}


@pytest.mark.parametrize("text", OLD)
def test_older_words_and_those_of_a_gpu_are_known(text: str, tab: Any) -> None:
    tab.fill(BOX, text)
    assert tab.locator(COUNT).inner_text().startswith("This is your message")
    assert tab.evaluate(FOUND)[0] == OLD[text]
    tab.fill(BOX, "")


# torch.load names what it refuses: a model, or what else the file has.
REFUSED = {
    "torch.nn.modules.linear.Linear": "weights-only",
    "__main__.Net": "weights-only",
    "ultralytics.nn.tasks.DetectionModel": "weights-only",
    "numpy.core.multiarray.scalar": "weights-only-other",
    "argparse.Namespace": "weights-only-other",
    "omegaconf.dictconfig.DictConfig": "weights-only-other",
    "pytorch_lightning.callbacks.ModelCheckpoint": "weights-only-other",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_file_is_told_by_what_it_has(name: str, tab: Any) -> None:
    short = name.rpartition(".")[2]
    refused = f"Unsupported global: GLOBAL {name} was not an allowed global by default."
    advice = f" Please use `torch.serialization.add_safe_globals([{short}])` or the "
    for before, after in (("", ""), ("Weights only load failed. ... ", advice)):
        text = f"{before}WeightsUnpickler error: {refused}{after}"
        tab.fill(BOX, f"_pickle.UnpicklingError: {text}")
        assert tab.locator(COUNT).inner_text() == "This is your message:", text
        assert tab.evaluate(FOUND)[0] == REFUSED[name]
    tab.fill(BOX, "")


LIBRARY = """
  File "/usr/lib/python3/site-packages/torch/nn/modules/module.py", line {}, in _call
    return forward_call(*args, **kwargs)"""
BELOW = "".join(LIBRARY.format(line) for line in range(20))
RAISED = "RuntimeError: grad can be implicitly created only for scalar outputs"
OWN = {
    f"""Traceback (most recent call last):
  File "/home/me/train.py", line 7, in <module>
    main()
  File "/home/me/train.py", line 12, in main
    loss.backward(){BELOW}
{RAISED}""": ("loss.backward() (train.py, line 12, in main)", "20 frames"),
    f"""│ /home/me/train.py:12 in main                    │
│                                                 │
│   11     loss = model(x)                        │
│ ❱ 12     loss.backward()                        │
│ /opt/venv/lib/python3.11/site-packages/torch/_tensor.py:500 in backward │
{RAISED}""": ("loss.backward() (train.py, line 12, in main)", "1 frames"),
    f"""Cell In[3], line 2
      1 loss = model(x)
----> 2 loss.backward()

File /opt/venv/lib/python3.11/site-packages/torch/_tensor.py:500, in backward(self)
{RAISED}""": ("loss.backward() (Cell In[3], line 2)", "1 frames"),
}


@pytest.mark.parametrize("trace", OWN, ids=["python", "rich", "notebook"])
def test_of_a_traceback_the_readers_own_line_is_named(trace: str, tab: Any) -> None:
    tab.fill(BOX, trace)
    assert tab.evaluate(FOUND)[0] == "backward-of-many"
    said = tab.locator(".own-line").inner_text()
    where, below = OWN[trace]
    assert where in said and below in said, said
    tab.fill(BOX, "")
    assert not tab.locator(".own-line").is_visible()


def test_from_home_a_known_message_leads_to_its_entry(
    browser: Any, address: str
) -> None:
    page = browser.new_page()
    for text, anchor in (
        (f"RuntimeError: {GRAD} instead.", "numpy-requires-grad"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", ""),
    ):
        page.goto(f"{address}index.html", wait_until="load")
        page.locator(".explorer-typed").focus()
        page.fill(".explorer-typed", text)
        page.wait_for_function("window.messageFinder && window.knownMessages")
        page.keyboard.press("Enter")
        if anchor:
            page.wait_for_url(f"**/errors/to_numpy.html?message=*#{anchor}")
            title = page.locator(f"#{anchor} h2")
            top = "title => title.getBoundingClientRect().top"
            page.wait_for_timeout(500)
            assert 0 <= title.evaluate(top) < 400
        else:
            page.wait_for_url("**/errors.html?message=*")
            assert page.input_value(BOX) == text
    page.close()


@pytest.mark.parametrize(
    "text",
    ["a" * 10_000, "a." * 5_000, "x Error: " * 1_000, "<b onclick=alert(1)>",
     "ValueError: ", "错误: 张量不在同一设备", '  File "' * 1_500],
    ids=["letters", "dots", "errors", "markup", "type", "script", "frames"],
)  # fmt: skip
def test_bad_input_is_answered_with_a_sentence_and_soon(text: str, tab: Any) -> None:
    """A text of eight times the length takes little more than eight times as long."""
    took = """([box, text]) => {
      const input = document.querySelector(box), shortest = [Infinity, Infinity];
      const long = text.length < 1000 ? text.repeat(1000) : text;
      for (let round = 0; round < 5; round++)
        [long.slice(0, long.length / 8), long].forEach((one, at) => {
          const start = performance.now();
          input.value = one;
          input.dispatchEvent(new Event("input", {bubbles: true}));
          shortest[at] = Math.min(shortest[at], performance.now() - start);
        });
      return shortest[1] / shortest[0];
    }"""
    assert tab.evaluate(took, [BOX, text]) < MOST_TIMES
    tab.fill(BOX, text)
    said = tab.locator(COUNT).inner_text()
    assert said and "your message" not in said
    tab.fill(BOX, "")


def test_an_unknown_message_can_be_reported_where_there_is_a_repository(
    browser: Any, address: str
) -> None:
    page = browser.new_page()
    link = (
        '<span class="report" data-address="https://example.org/new">a <a>b</a></span>'
    )

    def as_hosted(route: Any) -> None:
        body = route.fetch().text().replace("</p>\n</form>", f"{link}</p></form>")
        route.fulfill(body=body, content_type="text/html")

    page.route("**/errors.html", as_hosted)
    page.goto(f"{address}errors.html", wait_until="load")
    page.fill(BOX, "  File \"/home/me/secret.py\", line 1, in f\nKeyError: 'plum & co'")
    asked = page.locator(".report a").get_attribute("href")
    assert asked.startswith("https://example.org/new?title=")
    assert "plum+%26+co" in asked and "secret" not in asked
    page.close()


def test_an_old_address_leads_to_the_entry(browser: Any, address: str) -> None:
    """With the script on to its page, without to its place in the list."""
    for runs in (True, False):
        context = browser.new_context(java_script_enabled=runs)
        page = context.new_page()
        page.goto(f"{address}errors.html#optimizer-tensor")
        if runs:
            page.wait_for_url("**/errors/modules.html#optimizer-tensor")
        else:
            assert not page.locator(".desk").is_visible()
            item = page.locator("#optimizer-tensor")
            assert 0 <= item.bounding_box()["y"] < 700
            item.get_by_role("link").click()
            page.wait_for_url("**/errors/modules.html#optimizer-tensor")
        page.wait_for_timeout(500)  # the browser scrolls after it has the page
        assert 0 <= page.locator("#optimizer-tensor h2").bounding_box()["y"] < 700
        context.close()


def test_a_cure_is_copied_as_it_stands(tab: Any, address: str) -> None:
    tab.goto(f"{address}errors/to_numpy.html", wait_until="load")
    row = tab.locator("#numpy-requires-grad .cures ol > li").first
    row.get_by_role("button", name="Copy").click()
    copied = "() => navigator.clipboard.readText()"
    assert tab.evaluate(copied) == row.locator("pre").inner_text() + "\n"
    assert not tab.locator(".cures ul button").count()


def test_without_javascript_all_can_be_read(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}errors/gradients.html")
    for entry in (page.locator(".entry").first, page.locator(".entry").last):
        assert entry.locator(".stream pre").is_visible()
        assert entry.locator(".cures li").first.is_visible()
        entry.get_by_text("The code that raises it").click()
        assert entry.locator(".cell_input pre").is_visible()
    context.close()


@pytest.mark.parametrize("width", [320, 899, 900])
def test_wrong_and_right_stand_side_by_side_where_there_is_room(
    width: int, browser: Any, address: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(f"{address}silent_mistakes.html")
    sides = (".wrong", ".right")
    for pair in page.locator(".pair").all()[::5]:
        wrong, right = (pair.locator(side).bounding_box() for side in sides)
        if width < 900:
            assert right["y"] >= wrong["y"] + wrong["height"]
            assert right["x"] == pytest.approx(wrong["x"], abs=1)
            continue
        assert right["x"] >= wrong["x"] + wrong["width"]
        for part in (".cell_input", ".cell_output"):
            a, b = (pair.locator(f"{side} {part}").bounding_box() for side in sides)
            assert a["y"] == pytest.approx(b["y"], abs=1), part
    page.close()


def test_silent_mistakes_have_the_index_the_box_and_the_folds(
    browser: Any, address: str
) -> None:
    """On a phone a list of titles; on paper all; at a desk no line of code is cut."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{address}silent_mistakes.html", wait_until="load")
    short = page.evaluate("document.body.scrollHeight")
    assert page.evaluate(OPEN) == [] and short < 5 * 844
    page.evaluate("location.hash = 'silent-fused'")
    page.wait_for_function("document.querySelector('.mistake:not(.folded)')")
    assert page.evaluate(OPEN) == ["A fused step that autograd does not see"]
    page.fill(BOX, "batchnorm")
    page.locator(".near a").first.click()
    page.wait_for_function("document.querySelectorAll('.mistake:not(.folded)')[1]")
    assert "A frozen network whose BatchNorm moves" in page.evaluate(OPEN)
    unseen = "parts => parts.filter(part => !part.checkVisibility()).length"
    assert page.locator(".pair .side").evaluate_all(unseen) > 20
    page.emulate_media(media="print")
    assert page.locator(".pair .side").evaluate_all(unseen) == 0
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})
    links = page.locator(".error-index li a").all_inner_texts()
    assert links == page.evaluate(OPEN) and len(links) > 20
    cut = "blocks => blocks.filter(one => one.scrollWidth > one.clientWidth).length"
    assert page.locator(".pair pre").evaluate_all(cut) == 0
    page.close()


def test_on_a_phone_entries_are_folded_until_asked_for(
    browser: Any, address: str
) -> None:
    """A key, a tap, a link and the browser's own search open an entry."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{address}errors/modules.html", wait_until="load")
    entries = page.evaluate(ORDER)
    assert page.evaluate(FOLDED) == entries
    assert not page.locator(".error-index").is_visible()
    first = page.locator(".entry").first
    cures, button = first.locator(".cures"), first.locator(".unfold")
    assert first.locator(".stream pre").is_visible()
    folded = "part => part.closest('[hidden]')?.hidden"
    assert cures.evaluate(folded) == "until-found"
    assert button.get_attribute("aria-label") == first.locator("h2").inner_text()
    button.press("Enter")
    assert page.evaluate(FOLDED) == entries[1:]
    assert button.get_attribute("aria-expanded") == "true"
    assert cures.locator("li").first.is_visible()
    button.click()
    page.wait_for_function("document.querySelector('.entry').matches('.folded')")
    cures.evaluate("part => part.dispatchEvent(new Event('beforematch', {bubbles: 1}))")
    assert page.evaluate(FOLDED) == entries[1:]
    page.evaluate("location.hash = 'optimizer-tensor'")
    page.wait_for_function("!document.querySelector('#optimizer-tensor.folded')")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function("!document.querySelector('.entry.folded, .entry [hidden]')")
    page.close()
