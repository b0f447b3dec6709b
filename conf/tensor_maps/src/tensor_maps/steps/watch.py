"""Watch code run, and look at all named tensors after each statement."""

from __future__ import annotations

import ast
import linecache
import math
import os
import sys
import textwrap
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

from tensor_maps.reading import forget_copy
from tensor_maps.steps.about import About
from tensor_maps.steps.colours import Colours, number_storages
from tensor_maps.steps.course import (
    Course,
    Expected,
    Noted,
    is_module_level,
)
from tensor_maps.steps.decorate import (
    at_once,
    code_of,
    file_names,
    names_of,
    turns_of,
    watched_function,
)
from tensor_maps.steps.events import event_of
from tensor_maps.steps.facts import MOST_DRAWN, look
from tensor_maps.steps.monitor import Monitoring, monitor
from tensor_maps.steps.pictures import (
    names_on,
    names_to_draw,
    numbers_in,
    picture_of,
)
from tensor_maps.steps.step import MOST_TURNS, Step, Told, as_text
from tensor_maps.steps.syntax import (
    NO_SOURCE,
    Region,
    block_frame,
    function_body,
    line_range,
    with_block,
)
from tensor_maps.steps.trace import Tracing
from tensor_maps.steps.viewer import save_steps, steps_frame
from tensor_maps.steps.words import step_words
from tensor_maps.words import count_of

STEPS_FORMAT = 2


class Steps:
    """What happened to tensors and arrays, statement by statement.

    After each statement of the watched code, it looks at the names in the frame:
    tensors, NumPy arrays, parameters and buffers of modules (``net.weight``), and the
    tensors in lists, tuples and dicts (``losses[0]``). It watches functions that the
    code calls only if you name them in ``follow``. The effects of other functions show
    up after the statement. The first iterations of a loop are steps, and all later ones
    together are one more. If the code raises, the error is passed on and the steps
    before it are kept.

    It doesn't keep a tensor alive or modify one. On Python 3.12 and newer, debuggers
    and coverage tools aren't affected. On 3.11 they still get all of their events.

    Parameters
    ----------
    title
        The heading above the steps.
    names
        The names to look at, such as ``["w", "net"]``. None means all.
    turns
        How many iterations of a loop are steps. The first number is for an outer loop,
        the next for a loop inside it, and so on. The last number is for all deeper
        loops. A single number is for all loops.
    follow
        Functions whose statements are also steps.

    Raises
    ------
    TypeError or ValueError
        If an argument is invalid. The message says what is allowed.
    """

    def __init__(
        self,
        title: str | None = None,
        *,
        names: Iterable[str] | None = None,
        turns: int | Iterable[int] = MOST_TURNS,
        follow: Iterable[Callable[..., Any]] = (),
    ) -> None:
        if title is not None and not isinstance(title, str):
            raise TypeError(f"the title of steps is text, not {type(title).__name__}")
        self.title = title or "steps"
        self._options = {
            "names": None if names is None else names_of(names),
            "turns": turns_of(turns),
            "follow": tuple(follow),
        }
        codes = [code_of(function) for function in self._options["follow"]]
        self._follow = {id(code): code for code in codes}
        self._clear()

    def _clear(self) -> None:
        only = self._options["names"]
        self._old: dict = {}
        self._noted = Noted(
            lambda held, was, unit: look(held, was, self._old, unit, names=only),
            self._options["turns"],
        )
        self._code: list[str] = []
        self._regions: dict[int, Region] = {}
        self._courses: list[Course] = []
        self._watching: Tracing | Monitoring | None = None
        self._expected: list[Expected] = []
        self._frame_id = 0
        self._colours = Colours()

    @property
    def failed(self) -> str:
        """The traceback of a failure of our own, with which watching went on; or ""."""
        return self._noted.failed

    @property
    def _steps(self) -> list[Step]:
        return self._noted.steps

    # -- A block

    def __enter__(self) -> Steps:
        """Watch the block of the ``with`` statement that stands here.

        Raises
        ------
        RuntimeError
            If the source is not to be had, or this is no ``with`` statement.
        """
        self._enter(sys._getframe(1))
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """Stop watching; an exception passes."""
        self._exit(sys._getframe(1), error)

    def __aenter__(self) -> Awaitable[Steps]:
        """Watch the block of the ``async with`` statement that stands here."""
        self._enter(sys._getframe(1))
        return at_once(self)

    def __aexit__(self, kind: Any, error: Any, traceback: Any) -> Awaitable[None]:
        """Stop watching; an exception passes."""
        self._exit(sys._getframe(1), error)
        return at_once(None)

    def _enter(self, frame: FrameType) -> None:
        frame = block_frame(frame)
        block = with_block(frame)
        if block is None:
            raise RuntimeError(NO_SOURCE)
        self._clear()
        lines, body = block
        first, last = line_range(body[0])[0], line_range(body[-1])[1]
        region = self._show(lines[first - 1 : last], body, first)
        self._frame_id = id(frame)
        self._begin()
        self._courses.append(Course(region, self._noted))
        self._watching.watch(frame, self._courses[0])

    def _exit(self, frame: FrameType | None, error: BaseException | None) -> None:
        while frame is not None and id(frame) != self._frame_id:
            frame = frame.f_back
        course = self._courses[0]
        if error is not None:
            course.raises(type(error), error)
        is_lost = self._watching.leave(frame)
        course.end(None if frame is None else frame.f_locals, is_lost)
        self._stop()
        if frame is not None:
            forget_copy(frame)

    # -- Code that is given as text, or run by others

    def run(
        self, source: str, namespace: dict | None = None, name: str | None = None
    ) -> Steps:
        """Run code in a namespace, as a file is run, and watch it; return the steps.

        Parameters
        ----------
        source
            The code.
        namespace
            Where it runs, such as ``globals()``. None means a new one.
        name
            The file name in tracebacks. By default each run has its own.
        """
        if not isinstance(source, str):
            kind = type(source).__name__
            raise TypeError(f"run() takes the code as a str, not as {kind}")
        namespace = {"__name__": "__main__"} if namespace is None else namespace
        if name is None:
            name = next(file_names)
        if not Path(name).exists():
            lines = source.splitlines(keepends=True)
            linecache.cache[name] = (len(source), None, lines, name)
        code = compile(source, name, "exec", dont_inherit=True)
        self._take(source)
        self._begin(Expected(self._start_code, (code,)))
        try:
            exec(code, namespace)
        except BaseException as error:
            self._stop(namespace, error)
            raise
        self._stop(namespace)
        return self

    def follow(
        self, source: str, file: str | None = None, namespace: dict | None = None
    ) -> None:
        """Begin to watch what is run as the module-level code of a file.

        It may be run in pieces, each compiled with the lines that it has in ``source``.
        Of a ``namespace`` that is given, all that is run in it is watched, whatever its
        file, and what its names hold already is left out.
        """
        self._take(source)
        if namespace is not None:
            self._old = look(namespace).facts
            self.follow_where(lambda frame: frame.f_globals is namespace)
            return
        path = os.path.realpath(file) if file and Path(file).exists() else file

        def is_of_file(code: CodeType) -> bool:
            name = code.co_filename
            return code.co_name == "<module>" and path in (name, os.path.realpath(name))

        self._begin(Expected(self._start_code, may_be=is_of_file))

    def follow_where(
        self, is_watched: Callable[[FrameType], bool], source: str | None = None
    ) -> None:
        """Watch from now on what is run as module-level code, where it ``is_watched``.

        The code shown is ``source``, if it is given.
        """
        if source is not None:
            self._take(source)

        def start(frame: FrameType) -> Course | None:
            if is_module_level(frame) and is_watched(frame):
                return self._start_code(frame)
            return None

        self._begin(Expected(start, may_be=lambda code: code.co_name[0] == "<"))

    def stop(self) -> None:
        """End what :meth:`follow` has begun."""
        self._stop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Watch the body of a function, at each call.

        The steps of the last call that has ended are ``function.steps``.
        """
        return watched_function(function, partial(Steps, self.title, **self._options))

    @contextmanager
    def calling(self, function: Callable[..., Any], caller: int) -> Iterator[None]:
        """Watch the call of a function from the frame of this id."""
        self._clear()
        code = code_of(function)
        self._add_function(code, function.__globals__)

        def start(frame: FrameType) -> Course | None:
            if self._courses or id(frame.f_back) != caller:
                return None
            return self._start_function(frame)

        self._begin(Expected(start, (code,)))
        try:
            yield
        except BaseException as error:
            self._stop(None, error)
            raise
        self._stop()

    # -- What all of these do

    def _take(self, source: str) -> None:
        self._clear()
        tree = ast.parse(source, type_comments=False)
        region = self._show(source.splitlines(), tree.body, 1)
        self._courses.append(Course(region, self._noted))

    def _show(self, lines: list[str], body: list[ast.stmt], first: int) -> Region:
        """Add lines to the code shown, of which the first has this number there."""
        if self._code:
            self._code.append("")
        region = Region(body, len(self._code) + 1 - first)
        self._code += textwrap.dedent("\n".join(lines)).split("\n")
        return region

    def _add_function(self, code: CodeType, names: dict) -> None:
        found = function_body(code, names)
        if found is None:
            raise RuntimeError(
                f"the source of {code.co_name} cannot be read: steps watches functions "
                "that are defined with `def` in a file or a notebook's cell"
            )
        lines, node = found
        first, last = line_range(node)
        shown = lines[first - 1 : last]
        self._regions[id(code)] = self._show(shown, node.body, first)

    def _begin(self, *expected: Expected) -> None:
        for function in self._options["follow"]:
            code = code_of(function)
            if id(code) not in self._regions:
                names = getattr(function, "__globals__", {})
                self._add_function(code, names)
        if self._follow:
            codes = tuple(self._follow.values())
            expected = *expected, Expected(self._start_function, codes)
        tool = monitor()
        self._watching = Tracing() if tool is None else Monitoring(tool)
        self._expected = list(expected)
        for one in expected:
            self._watching.expect(one)

    def _start_code(self, frame: FrameType) -> Course:
        return self._courses[0]

    def _start_function(self, frame: FrameType) -> Course:
        course = Course(self._regions[id(frame.f_code)], self._noted)
        self._courses.append(course)
        return course

    def _stop(self, names: Any = None, error: BaseException | None = None) -> None:
        if self._watching is None:
            return
        for one in self._expected:
            self._watching.expect_no_more(one)
        for course in self._courses:
            if course.is_open:  # it was not told to end
                if error is not None:
                    course.raises(type(error), error)
                self._watching.drop(course)
                course.end(names)
        self._watching, self._expected = None, []

    # -- The result

    def __len__(self) -> int:
        """How many steps there are."""
        return len(self._steps)

    def __iter__(self) -> Iterator[Told]:
        """Return the steps, one after another."""
        return iter([self._tell(step) for step in self._steps])

    def __getitem__(self, number: int | slice) -> Told | list[Told]:
        """Return a step, from 0; -1 is the last."""
        if isinstance(number, slice):
            return [self._tell(step) for step in self._steps[number]]
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no step {number}: there are {len(self)}")
        return self._tell(self._steps[number])

    def __bool__(self) -> bool:
        """Return True, also without a step."""
        return True

    def _tell(self, step: Step) -> Told:
        place = step.place()
        first, last = place["first"], place["last"]
        code = textwrap.dedent("\n".join(self._code[first - 1 : last]))
        turn = tuple((turn, of) for turn, of in place["turn"])
        printed, raised = step.printed, step.raised
        said = step_words(step)[0]
        event = event_of(step)[0]
        return Told(said, code, event, printed, raised, (first, last), turn)

    def __repr__(self) -> str:
        if not self._steps:
            return "No statement ran: there are no steps."
        text = as_text(list(self))
        if self._noted.not_shown:
            text += f"\n{count_of(self._noted.not_shown, 'more step')} not shown"
        return text

    def data(
        self,
        drawn: int = MOST_DRAWN,
        about: Iterable[str] | None = None,
        lines: tuple[int, int] = (1, sys.maxsize),
        raises: Mapping[str, str] | None = None,
        copies: Iterable[tuple[str, str]] = (),
        high: float = math.inf,
    ) -> dict:
        """Return all steps and their drawings, as data that JSON can hold.

        Parameters
        ----------
        drawn
            The most names in one picture.
        about
            Only show events of these names, and at most 18. Events of other names are
            left out unless they raise, detach a tensor or modify one in place.
        lines
            The first and the last line of the statements that lead to these names.
        raises, copies
            What else is drawn at the event that leads, as ``scene`` takes it.
        high
            The most pixels that a picture of more than two names is high.

        Returns
        -------
        dict
            ``format`` (2), ``title``, ``torch`` (its version), ``code`` (lines),
            ``steps``, ``drawings`` (each once, as SVG) and ``captions`` (one a
            drawing). A step has ``first`` and ``last`` (the lines of the statement
            that has just run, from 1), ``turn`` (for each loop around it, outermost
            first, the iteration and how many there were), ``said`` (a sentence),
            ``printed``, ``raised`` (only if it did), ``changed`` (names), ``event``
            and ``names`` (what happened, see ``steps[0].event``, and to which names),
            ``drawing`` (its index, or null) and ``note`` (only if there is one). With
            ``about``, ``lead`` is the index of the event after which these names have
            their final state, or null.
        """
        story = None if about is None else About(self._steps, about, lines)
        if story is not None:
            story.raises, story.copies = dict(raises or {}), list(copies)
        drawings: dict[tuple[str, str], int] = {}
        steps = []
        told = self.told_and_drawn(drawn, story)
        number_storages(self._steps)
        colours = Colours(self._colours)
        pairs = [(step, names) for step, _, names in told]
        events = range(len(pairs)) if story is None else sorted(story.told)
        pictures = [numbers_in(*pairs[at]) for at in events]
        for picture in pictures:
            for number in picture:
                beside = {n for one in pictures if number in one for n in one}
                colours.give(number, beside, picture)
        for at, (step, (said, notes), names) in enumerate(told):
            picture = picture_of(step, names, colours.paint, story, high, said)
            if story is None and names and (more := step.after.names - len(names)):
                notes.append(f"and {count_of(more, 'more tensor')}")
            if step.left_out:
                notes.append(f"{step.left_out:,} more characters were printed")
            if at == len(told) - 1 and (more := self._noted.not_shown):
                notes.append(f"{more} more steps are not shown")
            event, concerned = event_of(step)
            if story is not None and at not in story.told:
                event = None
            number = picture and drawings.setdefault(picture, len(drawings))
            one = step.place() | {
                "said": said,
                "printed": step.printed,
                "changed": step.changed,
                "event": event,
                "names": concerned,
                "drawing": number,
            }
            one |= {"raised": step.raised} if step.raised else {}
            one |= {"note": "; ".join(notes)} if notes else {}
            steps.append(one)
        data = {
            "format": STEPS_FORMAT,
            "title": self.title,
            "torch": torch.__version__,
            "code": self._code,
            "steps": steps,
            "drawings": [drawing for drawing, _ in drawings],
            "captions": [caption for _, caption in drawings],
        }
        return data if story is None else data | {"lead": story.leads}

    def told_and_drawn(
        self, drawn: int = MOST_DRAWN, story: About | None = None
    ) -> list[tuple[Step, tuple[str, list[str]], list[str]]]:
        """Return the steps with their words, and the names in their pictures."""
        found, names = [], []
        for at, step in enumerate(self._steps):
            if story is not None and at in story.told:
                step = story.steps[at]
            about = [] if story is None else story.names  # what is drawn is told too
            is_about = bool(about) and at in story.told & story.near
            last = names
            for _ in range(1 + is_about):
                words = step_words(step, about if is_about else ())
                names = names_to_draw(step, last, drawn, story, words[0])
                about = [*about, *names]
            found.append((step, words, names))
        return found

    def colour(self, observed: dict) -> dict:
        """Give storages that were observed just now the colours of these steps.

        What :meth:`data` draws later has these colours too.
        """
        at = number_storages(self._steps)
        for storage in observed["storages"]:
            known = [at[name] for name in names_on(observed, storage) if name in at]
            storage |= {"number": known[0]} if known else {}
        numbers = [one["number"] for one in observed["storages"] if "number" in one]
        for number in numbers:
            self._colours.give(number, [*at.values()], numbers)
        self._colours.paint(observed["storages"])
        return observed

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the steps as one HTML file that needs nothing else to be shown."""
        save_steps(self.data(), path)

    def _repr_html_(self) -> str:
        return steps_frame(self.data())
