"""Choose the events of a few tensors: how their picture comes about, what follows."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from tensor_maps.steps.step import Step
from tensor_maps.steps.syntax import names_in, root_of
from tensor_maps.steps.tell import MOST_NAME, entries_of, event_of, read_in

MOST_EVENTS = 18
# What happens to other tensors is told if it is one of these.
ALWAYS = frozenset({"raises", "cut", "written", "gradient"})


class About:
    """The events that are told of some names, and the one after which they are shown.

    Told is what concerns one of the ``names``, or what shares memory with it; of other
    tensors what raises, is cut, is written or has a gradient; and what makes a name
    that one of these statements uses. Of a loop one turn is told, and no name that its
    head only hands on. Of more than 18 events those that concern no name go first, then
    repetitions, then what is far from the one that ``leads``: the last event of a name
    within these ``lines``.
    """

    def __init__(
        self, steps: list[Step], names: Iterable[str], lines: tuple[int, int]
    ) -> None:
        self.names, (first, last) = list(names), lines
        self.steps = steps = [without_aliases(step, self.names) for step in steps]
        events = {
            at: event_of(step)
            for at, step in enumerate(steps)
            if step.collapsed or not step.unit.is_head or step.raised
        }
        events = {at: event for at, event in events.items() if event[0]}
        place = {at: steps[at].place()["first"] for at in events}
        within = [at for at in events if first <= place[at] <= last]
        before = [at for at in events if place[at] <= last]
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
        told, met, firsts = [], set(), set()
        for at, event in ((at, (kind, *names)) for at, (kind, names) in events.items()):
            is_first = all(turn == 1 for turn, _ in steps[at].place()["turn"])
            is_near, far = at in self.near, abs(at - (self.leads or 0))
            firsts |= {at} if is_first else set()
            if at == self.leads or (is_first and (is_near or event[0] in ALWAYS)):
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
            made = {
                root_of(name)
                for name, kinds in step.differ.items()
                if kinds & {"new", "other"}
            }
            if made & asked and earlier in events:
                found.add(earlier)
                asked = asked - made | names_in(step.unit)
        return found

    @property
    def lead(self) -> Step | None:
        """The step after which the names are shown."""
        return None if self.leads is None else self.steps[self.leads]

    def tells(self, step: Step) -> bool:
        """Whether a step is an event of this story."""
        return any(step is self.steps[at] for at in self.told)

    def names_at(self, step: Step) -> list[str]:
        """Return the names that an event, or one after it, has to do with."""
        if step is self.lead:
            return self.names
        events = [self.steps[at] for at in sorted(self.told)]
        later = events[events.index(step) :]
        return [name for name in self.names if _is_used(name, later)]


def _is_used(name: str, events: list[Step]) -> bool:
    """Whether one of these events has to do with what a name is before them."""
    for step in events:
        is_made = step.differ.get(name, frozenset()) & {"new", "other"}
        if is_made and root_of(name) not in read_in(step):
            return step is events[0]
        if root_of(name) in names_in(step.unit) or name in step.differ:
            return True
    return False


def on_the_memory_of(step: Step, names: Iterable[str]) -> set[str]:
    """Return the names that share memory with one of these after a step."""
    entry = entries_of(step)
    storages = {entry[name]["storage"] for name in names if name in entry} - {None}
    return {name for name, seen in entry.items() if seen["storage"] in storages}


def without_aliases(step: Step, names: Container[str]) -> Step:
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
