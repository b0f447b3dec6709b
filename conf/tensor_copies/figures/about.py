"""Choose the events that a lesson's player shows: of which tensors, how drawn."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tensor_maps.steps.course import Step
from tensor_maps.steps.news import MOST_NAME, NEW, entries_of, news_of, read_in
from tensor_maps.steps.pictures import (
    Colours,
    Shown,
    names_to_draw,
    number_storages,
    numbers_in,
    picture_of,
)
from tensor_maps.steps.syntax import names_in, paths_in, root_of
from tensor_maps.steps.tell import event_of, step_words

MOST_EVENTS = 18
# What happens to other tensors is told if it is one of these.
ALWAYS = frozenset({"raises", "cut", "written", "gradient"})
# So many names are drawn where a story has them; a picture of what is said is higher.
LEAST_DRAWN, MORE = 3, 1.2


class About:
    """The events that are told of some names, and the one after which they are shown.

    Told is what concerns one of the ``names``, or what shares memory with it; of other
    tensors what raises, is cut, is written or has a gradient; and what makes a name
    that one of these statements uses. Of a loop one turn is told, and no name that its
    head only hands on. Of more than 18 events those that concern no name go first, then
    repetitions, then what is far from the one that ``leads``: the last event of a name
    within these ``lines``. ``raises`` and ``copies`` are drawn where it leads.
    """

    def __init__(
        self,
        steps: list[Step],
        names: Iterable[str],
        lines: tuple[int, int],
        raises: Mapping[str, str] | None = None,
        copies: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.names, (first, last) = list(names), lines
        self.raises, self.copies = raises, [*map(tuple, copies)]
        self.steps = steps = [without_aliases(step, self.names) for step in steps]
        events = {
            at: event
            for at, step in enumerate(steps)
            if step.collapsed or not step.unit.is_head or step.raised
            if (event := event_of(step))[0]
        }
        place = {at: steps[at].place() for at in events}
        before = [at for at in events if place[at]["first"] <= last]
        within = [at for at in before if place[at]["first"] >= first]
        # Names that these tensors have had before, such as `net.weight`.
        known = set(self.names)
        for at in within[-1:]:
            known |= on_the_memory_of(steps[at], self.names)
        self.near = {
            at
            for at, (_, concerned) in events.items()
            if not self.names
            or (known | on_the_memory_of(steps[at], known))
            & {*concerned, *steps[at].changed}
        }
        of_names = [at for at in within if at in self.near]
        self.leads = next((own[-1] for own in (of_names, within, before) if own), None)
        firsts = {at for at in place if all(turn == 1 for turn, _ in place[at]["turn"])}
        told, met = [], set()
        for at, (kind, concerned) in events.items():
            event, is_near = (kind, *concerned), at in self.near
            if at == self.leads or (at in firsts and (is_near or kind in ALWAYS)):
                far = abs(at - (self.leads or 0))
                told.append((at != self.leads, not is_near, event in met, far, at))
                met.add(event)
        self.told: set[int] = set()
        for *_, at in sorted(told):
            both = self.told | self._makers(at, firsts) | {at}
            if len(both) <= MOST_EVENTS:
                self.told = both

    def _makers(self, at: int, events: set[int]) -> set[int]:
        """Return the events that made the names that a statement uses, and before."""
        found, asked = set(), set(names_in(self.steps[at].unit))
        for earlier in range(at - 1, -1, -1):
            step = self.steps[earlier]
            made = {root_of(n) for n, kinds in step.differ.items() if kinds & NEW}
            if made & asked and earlier in events:
                found.add(earlier)
                asked = asked - made | names_in(step.unit)
        return found

    def shown(
        self, steps: list[Step], colours: Colours, most: int, high: float
    ) -> list[Shown]:
        """Return all steps with what is said, and pictures of at most so many names.

        Of more than two names the last that are not said are left out until a picture
        is not higher than so many pixels; the one that leads is drawn closer instead.
        """
        found, last = [], []
        for at, step in enumerate(steps):
            step = self.steps[at] if at in self.told else step
            about = self.names if at in self.told & self.near else []
            for _ in range(1 + bool(about)):  # what is drawn is told too
                words = step_words(step, about)
                names = self._names(at, step, last, most, words[0])
                about = [*about, *names] if about else []
            found.append((step, *words, names))
            last = names
        number_storages(steps)
        colours = Colours(colours)
        events = [found[at] for at in sorted(self.told)]
        colours.meet(numbers_in(step, names) for step, *_, names in events)
        shown = []
        for at, (step, said, notes, names) in enumerate(found):
            more = (self.raises, self.copies) if at == self.leads else ({}, ())
            least = len(names_told(step, said))
            made = picture_of(step, names, colours, *more, only=True)
            while made and made.height > high and names[2:]:
                if at == self.leads:
                    made = picture_of(step, names, colours, *more, False, only=True)
                    break
                if not names[least:] and made.height <= MORE * high:
                    break
                names = names[:-1]
                made = picture_of(step, names, colours, *more, only=True)
            shown.append(Shown(step, said, notes, made))
        return shown

    def _names(
        self, at: int, step: Step, last: list[str], most: int, said: str
    ) -> list[str]:
        """Return the names to draw.

        Of an event these follow what is ``said``, what the statement names and the
        event concerns; where it leads, the names of the story come first.
        """
        if at not in self.told:
            return names_to_draw(step, last, most)
        told, used, entry = names_told(step, said), self.names, entries_of(step)
        # A plain name says more than one of many parameters.
        concerned = sorted(event_of(step)[1], key=lambda name: name != root_of(name))
        near = [*told, *(n for n in entry if n in paths_in(step.unit)), *concerned]
        if at == self.leads:
            told, near = [], used or near
        else:
            later = [self.steps[event] for event in sorted(self.told) if event >= at]
            used = [name for name in used if _is_used(name, later)]
        found: dict[str, int] = {}
        for name in filter(entry.get, [*near, *used]):
            # Of what is not told, one name.
            is_other = name in told or id(entry[name]) not in found.values()
            if is_other and (name in near or len(found) < LEAST_DRAWN):
                found[name] = id(entry[name])
        if not found:
            return names_to_draw(step, last, most)
        return [*found][: max(most, len(told))]


def _is_used(name: str, events: list[Step]) -> bool:
    """Whether one of these events has to do with what a name is before them."""
    for step in events:
        is_made = step.differ.get(name, frozenset()) & NEW
        if is_made and root_of(name) not in read_in(step):
            return step is events[0]
        if root_of(name) in names_in(step.unit) or name in step.differ:
            return True
    return False


def names_told(step: Step, said: str) -> list[str]:
    """Return the names that a sentence of a step has, in its order."""
    may_be = {*step.differ, *event_of(step)[1]}
    for new in news_of(step):
        may_be |= {*new.others, *new.leaves}
    found = {}
    for name in may_be & {*entries_of(step)}:
        whole = rf"(?<![\w.\]]){re.escape(name)}(?![\w\[]|\.(?!grad\b)\w)"
        if place := re.search(whole, said):
            found[name] = place.start()
    return sorted(found, key=found.get)


def on_the_memory_of(step: Step, names: Iterable[str]) -> set[str]:
    """Return the names that share memory with one of these after a step."""
    entry = entries_of(step)
    storages = {entry[name]["storage"] for name in names if name in entry} - {None}
    return {name for name, seen in entry.items() if seen["storage"] in storages}


def without_aliases(step: Step, names: Iterable[str]) -> Step:
    """Return a step without changes that say nothing, but for those of some ``names``.

    These are changes of long names, and of items that are only another name, or the
    gradient, of something that has a name.
    """
    entry, facts = entries_of(step), step.after.facts
    grads = [id(one.gradient.storage) for one in facts.values() if one.gradient]

    def says(name: str) -> bool:
        if name not in entry:  # of what is gone the place may be taken
            return root_of(name) not in map(root_of, entry)
        if name in names or len(name) > MOST_NAME or "[" not in name:
            return name in names or len(name) <= MOST_NAME
        others = [one for one in entry[name]["names"] if one != name]
        is_known = any("[" not in one or one not in step.differ for one in others)
        return not is_known and id(facts[name].storage) not in grads

    differ = {name: kinds for name, kinds in step.differ.items() if says(name)}
    return replace(step, differ=differ)
