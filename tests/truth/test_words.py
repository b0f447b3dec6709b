"""Each sentence about a call is said where a witness has seen it, and nowhere else."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from tensor_copies.calls import words
from witness import Heard

FLOWS = {
    "Gradients flow back": lambda s: s.gradient_flows is True,
    "No gradient flows back": lambda s: s.gradient_flows is False,
    "y is on the GPU": lambda s: s.crossed and s.where == "device",
    "y is on the CPU": lambda s: s.crossed and s.where == "cpu",
}
# Words of a sentence, and of what was seen when they are to be said.
HEADLINE = FLOWS | {
    "y is X itself": lambda s: s.same_object,
    "now in new memory": lambda s: s.moves,
    "shares memory with X": lambda s: s.other_name,
    "a copy with its own memory": lambda s: s.alone and not s.other_values,
    "has new memory and other values than": lambda s: s.alone and s.other_values,
    "not a tensor or array": lambda s: s.is_number,
}
MEANING = FLOWS | {
    "y has its own memory, so a write to y doesn't change X": lambda s: s.alone,
    "without a tensor's memory": lambda s: s.is_number,
    "also changes X": lambda s: s.other_name,
    "needs torch.no_grad()": lambda s: s.needs_no_grad,
    "y is a leaf that": lambda s: s.target == "leaf",
    "y is a view of a leaf": lambda s: s.target == "view of a leaf",
    "y is one of several views": lambda s: s.target == "view",
    "such as y.add_(1) raise": lambda s: s.repeats,
    "views of X keep the old memory": lambda s: s.moves and not s.earlier_views_follow,
    "views of X move with it": lambda s: s.moves and s.earlier_views_follow,
    "points to freed memory": lambda s: s.moves and s.earlier_views_follow,
    "not a copy": lambda s: s.stays and not s.writes_x and not s.changes_x,
    "now with requires_grad=True": lambda s: s.flagged and s.requires_grad,
    "now with requires_grad=False": lambda s: s.flagged and not s.requires_grad,
    "modifies X in place": lambda s: s.stays and s.writes_x,
    "utograd notices": lambda s: s.noticed is True,
    "utograd doesn't notice": lambda s: s.noticed is False,
    "counter grows by": lambda s: s.stays and s.writes_x and s.call_is_noticed,
    "y is in pinned memory": lambda s: s.pinned,
}
FACTS = {
    "Memory: X itself": lambda s: s.same_object,
    "Memory: shared with X": lambda s: s.other_name,
    "Memory: its own": lambda s: s.alone,
    "Memory: none": lambda s: s.is_number,
    "no new memory": lambda s: s.other_name or s.stays,
    "Gradient: none (X does not require grad)": lambda s: s.gradient_flows is None,
    "Gradient: stops": lambda s: s.gradient_flows is False,
    "Gradient: flows back": lambda s: s.gradient_flows is True,
    "Result: RESULT (on the CPU)": lambda s: s.where == "cpu",
    "Result: RESULT (on the GPU)": lambda s: s.where == "device",
    "requires_grad: True": lambda s: s.requires_grad is True,
    "requires_grad: False": lambda s: s.requires_grad is False,
    "not part of autograd": lambda s: s.requires_grad is None,
    "leaf: yes": lambda s: s.is_leaf is True,
    "leaf: no": lambda s: s.is_leaf is False,
    "the call changed X": lambda s: s.changes_x,
    "Version counter: its own": lambda s: s.is_another and s.shares_version is False,
    "Version counter: none (y is an inference tensor)": lambda s: s.uncounted,
    "through the other name": lambda s: s.other_name and s.shares_version is not None,
    "Version counter: that of X": lambda s: s.other_name and s.shares_version,
    "Version of X: + ": lambda s: s.version_raised or (s.tensor and s.writes_x),
    "Pinned: yes": lambda s: s.pinned,
    "Warning: ": lambda s: s.warning,
}
AFTER = {
    "raises ": lambda s: s.refused is not None,
    "[0] = 7 raises ": lambda s: s.changed is None,
    "Both changed": lambda s: s.both and not s.same_object,
    "X changed, and y is X": lambda s: s.both and s.same_object,
    "Only ": lambda s: s.written and not s.both,
    "Nothing changed": lambda s: s.changed and not s.written,
    "Written under torch.no_grad()": lambda s: s.changed and s.refused,
}


def seen_of(one: Heard) -> SimpleNamespace:
    """Return what was seen, and what follows from it, by short names."""
    s = SimpleNamespace(**{"needs_no_grad": False, "repeats": False} | one.seen)
    s.other_values = getattr(s, "other_values", False)
    s.tensor = one.call.subject in ("x", "z", "h")
    s.is_number = s.bytes is None
    s.other_name = s.shares_memory and not s.same_object
    s.alone = not s.shares_memory and not s.is_number
    s.crossed = (s.where == "device") is not one.away and not s.is_number
    s.moves, s.stays = (s.same_object and s.x_moved is it for it in (True, False))
    s.flagged = s.stays and s.changes_x and not s.writes_x
    s.is_another = not s.same_object
    s.uncounted = s.tensor and s.requires_grad is not None and s.shares_version is None
    s.target = None
    if s.needs_no_grad:
        view = "view of a leaf" if one.state in ("leaf", "leaf_view") else "view"
        s.target = "leaf" if s.is_leaf else view
    s.noticed = bool(s.write_is_noticed) if s.other_name and s.tensor else None
    if s.stays and s.writes_x:
        s.noticed = bool(s.call_is_noticed)
    # Of an expanded x most views repeat elements: it is said of the call that does.
    s.repeats = s.repeats and one.call.id == "expand"
    return s


def hold(text: str, claims: dict, s: SimpleNamespace, one: Heard) -> list[str]:
    """Refuse words that are said and not so, or so and not said; return what is."""
    names = {"X": one.call.subject, "RESULT": one.record["result"]}
    said = []
    for claim, is_so in claims.items():
        words = re.sub(r"\b(X|RESULT)\b", lambda found: names[found[0]], claim)
        assert (words in text) is bool(is_so(s)), (one.key, claim, text)
        said += [claim] * (words in text)
    assert said, text
    return said


def facts_in_words(record: dict, x: str) -> str:
    return "; ".join(f"{a}: {b} ({c})" for a, b, c in words.facts_of(record, x))


SENTENCES = {
    "headline": (HEADLINE, words.headline),
    "meaning": (MEANING, words.meaning),
    "facts": (FACTS, facts_in_words),
}


@pytest.mark.parametrize("kind", SENTENCES)
def test_is_said_where_it_is_so(witnessed: list[Heard], kind: str) -> None:
    claims, sentence = SENTENCES[kind]
    said = {
        claim
        for one in witnessed
        if one.seen["error"] is None
        and (kind != "meaning" or one.call.lesson)  # it is of a row, not of a chain
        for text in [sentence(one.record, one.call.subject)]
        for claim in hold(text, claims, seen_of(one), one)
    }
    assert said == {*claims}


def test_after_a_write_is_said_what_it_changed(witnessed: list[Heard]) -> None:
    for one in witnessed:
        for name, after in one.seen.get("after", {}).items():
            s = SimpleNamespace(**after, same_object=one.seen["same_object"])
            said = words.after_write(one.record, name, one.call.subject)
            hold(said, AFTER, s, one)


def test_signs_and_errors(witnessed: list[Heard]) -> None:
    for one in witnessed:
        if one.seen["error"] is not None:
            raised = one.seen["error"].partition(":")[0]
            assert words.headline(one.record) == f"It raises {raised}."
            assert words.signs(one.record) == ["raises"]
            continue
        s = seen_of(one)
        memory = "shares" if s.other_name else "copies"
        memory = "moves" if s.moves else "itself" if s.stays else memory
        gradient = {True: ["flows"], False: ["stops"], None: []}[s.gradient_flows]
        assert words.signs(one.record) == [memory, *gradient], one.key
