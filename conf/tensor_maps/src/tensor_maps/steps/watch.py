"""Watches a block, a text or a cell run, and keeps what each statement did."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tensor_maps.reading import forget_copy
from tensor_maps.steps.course import MOST_TURNS, Course, Noted, Step
from tensor_maps.steps.pictures import data_of
from tensor_maps.steps.syntax import Region, function_body, with_block
from tensor_maps.steps.tell import event_of, step_words
from tensor_maps.steps.tracer import Starts, Tracer, Watched, tracer
from tensor_maps.steps.viewer import steps_frame, steps_page
from tensor_maps.words import count_of

MAGIC = "%%steps"
MOST_LINE = 44  # letters of a step's code in the list
# Code that is run from a text has a file name of its own: its source is found by it.
_file_names = (f"<steps-{number}>" for number in itertools.count(1))


@dataclass(frozen=True)
class Told:
    """One step, as it is told: ``seen[3]`` returns the third.

    ``lines`` are the first and the last line of the statement in the code shown, from
    1; ``event`` is what happened ("appears", "shares", "written", "cut", "gradient",
    "raises" or "changes"), or None; ``printed`` is the text that it printed, and
    ``raised`` the exception, or nothing; ``turn`` has, for each loop around it, the
    iteration and how many there were.
    """

    said: str
    code: str
    event: str | None
    printed: str
    raised: str
    lines: tuple[int, int]
    turn: tuple[tuple[int, int], ...] = ()


class Steps:
    """What happened to tensors and arrays, statement by statement.

    After each statement of the watched code, it looks at the names in the frame:
    tensors, NumPy arrays, and what modules (``net.weight``), lists, tuples and dicts
    hold (``losses[0]``). What a called function did shows up after the statement. All
    later iterations of a loop are one step. If the code raises, the error is passed on
    and the steps before it are kept. It doesn't keep a tensor alive or modify one.

    Parameters
    ----------
    title
        The heading above the steps.
    turns
        How many iterations of a loop are steps: of an outer loop, of a loop inside it,
        and so on; the last number is for all deeper loops.
    follow
        Functions whose statements are also steps.

    Raises
    ------
    RuntimeError
        When watching begins, if the source cannot be read.
    """

    def __init__(
        self,
        title: str | None = None,
        *,
        turns: int | Iterable[int] = MOST_TURNS,
        follow: Iterable[Callable[..., Any]] = (),
    ) -> None:
        if title is not None and not isinstance(title, str):
            raise TypeError(
                f"the title of steps is text, not {type(title).__name__}; to watch a "
                "function, write `with steps(follow=[function]):`"
            )
        most = (turns,) if isinstance(turns, int) else tuple(turns)
        if not most or not all(type(turn) is int and turn > 0 for turn in most):
            raise ValueError(
                f"turns is a number from 1, or several as in (3, 2, 1), not {turns!r}"
            )
        self.title, self._turns = title or "steps", most
        self._follow = {id(code): code for code in map(_code_of, follow)}
        self._clear()

    def _clear(self) -> None:
        self._noted = Noted(self._turns)
        self._code: list[str] = []
        self._course: Course | None = None
        self._tracer: Tracer | None = None  # of the thread that is watched
        self._starts: Starts | None = None
        self._watched: Watched | None = None

    @property
    def failed(self) -> str:
        """The traceback of a failure of our own, with which watching went on; or ""."""
        return self._noted.failed

    # -- What is watched

    def __enter__(self) -> Steps:
        """Watch the block of the ``with`` statement that stands here."""
        frame = sys._getframe(1)
        source = with_block(frame)
        self._clear()
        self._course = Course(self._show(*source), self._noted)
        self._expect()
        self._watched = self._tracer.watch(frame, self._course)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """Stop watching; an exception passes."""
        frame = sys._getframe(1)
        is_lost = self._watched.leave(frame)  # as after a breakpoint()
        self.stop(None if is_lost else frame.f_locals, error)
        forget_copy(frame)

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
        name = name or next(_file_names)
        code = compile(source, name, "exec", dont_inherit=True)
        if not Path(name).exists():
            lines = source.splitlines(keepends=True)
            linecache.cache[name] = (len(source), None, lines, name)
        self.follow(source, lambda frame: frame.f_code is code)
        try:
            exec(code, namespace)
        except BaseException as error:
            self.stop(namespace, error)
            raise
        self.stop(namespace)
        return self

    def follow(self, source: str, is_watched: Callable[[FrameType], bool]) -> None:
        """Watch from now on what is run as module-level code where it ``is_watched``.

        It may be run in pieces, each compiled with the lines that it has in ``source``.
        The code shown is ``source``, from its first line that is not empty.
        """
        self._clear()
        lines = re.split(r"\r?\n", source)
        first = next((at for at, line in enumerate(lines) if line.strip()), 0)
        region = self._show(lines[first:], ast.parse(source).body, first + 1)
        course = self._course = Course(region, self._noted)

        def starts(frame: FrameType) -> Course | None:
            if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
                return None  # a function, whose names are its own
            is_module = frame.f_locals is frame.f_globals
            return course if is_module and is_watched(frame) else None

        self._expect(starts)

    def stop(self, names: Any = None, error: BaseException | None = None) -> None:
        """End what :meth:`follow` has begun.

        The others are of code that has ended and that was not told so: its names, if
        all of its lines were told, and what it raised.
        """
        if self._tracer is None:
            return
        waiting = self._tracer.release(self._noted, self._starts)
        if error is not None:
            self._course.raises(error)
        self._course.end(names)
        for course in waiting:  # of generators that wait
            course.end(None)
        self._tracer = self._watched = self._starts = None

    def _show(self, lines: list[str], body: list[ast.stmt], first: int) -> Region:
        """Add lines to the code shown, of which the first has this number there."""
        self._code += [""] if self._code else []
        region = Region(body, len(self._code) + 1 - first)
        self._code += textwrap.dedent("\n".join(lines)).rstrip().split("\n")
        return region

    def _expect(self, begins: Starts | None = None) -> None:
        """Watch the functions that are to be followed, and what else begins."""
        regions = {
            key: self._show(*function_body(code)) for key, code in self._follow.items()
        }

        def starts(frame: FrameType) -> Course | None:
            if (region := regions.get(id(frame.f_code))) is not None:
                return Course(region, self._noted)
            return begins(frame) if begins is not None else None

        self._tracer = tracer()
        if regions or begins is not None:
            self._starts = starts
            self._tracer.expect(starts)

    # -- The result

    @property
    def steps(self) -> list[Step]:
        """The steps, before they are told and drawn."""
        return self._noted.steps

    def __len__(self) -> int:
        """Return how many steps there are."""
        return len(self._noted.steps)

    def __iter__(self) -> Iterator[Told]:
        """Return the steps, one after another."""
        return map(self._tell, self._noted.steps)

    def __getitem__(self, number: int) -> Told:
        """Return a step, counted from 1 as in the list and on the page; -1 is the last.

        An IndexError is raised if there is no such step.
        """
        if not 1 <= abs(number) <= len(self):
            raise IndexError(
                f"there is no step {number}: there are {len(self)}, counted from 1"
            )
        return self._tell(self._noted.steps[number - (number > 0)])

    def _tell(self, step: Step) -> Told:
        place = step.place()
        lines = place["first"], place["last"]
        code = textwrap.dedent("\n".join(self._code[lines[0] - 1 : lines[1]]))
        said, event = step_words(step)[0], event_of(step)[0]
        turn = tuple(map(tuple, place["turn"]))
        return Told(said, code, event, step.printed, step.raised, lines, turn)

    def __repr__(self) -> str:
        """Return a line for each step: its number, its code, what it did."""
        if not len(self):
            return "No statement ran: there are no steps."
        code = [one.code.strip().partition("\n")[0] for one in self]
        code = [o if len(o) <= MOST_LINE else f"{o[: MOST_LINE - 1]}…" for o in code]
        wide, most = max(map(len, code)), len(str(len(self)))
        rows = []
        for number, one in enumerate(self, 1):
            turns = ", ".join(f"{turn} of {of}" for turn, of in one.turn)
            said = one.said.rstrip(".")
            if turns and not said.startswith("Iteration"):
                said = f"{said} (iteration {turns})"
            rows.append(f"{number:>{most}}  {code[number - 1]:<{wide}}   {said}")
        if more := self._noted.not_shown:
            rows.append(f"{count_of(more, 'more step')} not shown")
        return "\n".join(rows)

    def data(self) -> dict:
        """Return all steps and their drawings, as data that JSON can hold.

        Returns
        -------
        dict
            ``format`` (2), ``title``, ``torch`` (its version), ``code`` (lines),
            ``steps``, ``drawings`` (each once, as SVG) and ``captions`` (one a
            drawing). A step has ``first`` and ``last`` (its lines, from 1), ``turn``
            (for each loop around it, outermost first, the iteration and how many there
            were), ``said``, ``printed``, ``raised`` (only if it did), ``changed``
            (names), ``event`` and ``names`` (what happened, and to which names),
            ``drawing`` (its index, or null) and ``note`` (only if there is one).
        """
        noted = self._noted
        return data_of(noted.steps, self.title, self._code, noted.not_shown)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the steps as one file, which ends in ``.html`` and needs no other."""
        if Path(path).suffix != ".html":
            raise ValueError(
                f"steps are saved as HTML: name the file like bug.html, not {path}"
            )
        page = steps_page(self.data())
        Path(path).write_text(page, encoding="utf-8", newline="\n")

    def _repr_html_(self) -> str:
        return steps_frame(self.data())


def _code_of(function: Any) -> CodeType:
    """Return the code of a function that is written in Python, without decorators."""
    plain = inspect.unwrap(function) if callable(function) else function
    code = getattr(plain, "__code__", None)
    if not isinstance(code, CodeType):
        kind = type(function).__name__
        raise TypeError(f"steps watches functions written in Python, not {kind}")
    return code


# In a notebook ------------------------------------------------------------------------


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the cell magic ``%%steps``, with ``%load_ext tensor_maps``.

    The cell runs as without it, with its last value and with ``await``, and then its
    steps are shown, also if it raises. What stands behind ``%%steps`` is the title.
    """
    if hasattr(shell, "tensor_maps_cells"):
        return
    cells = shell.tensor_maps_cells = _Cells(shell)
    shell.input_transformers_cleanup.append(cells.without_magic)
    shell.events.register("pre_run_cell", cells.begin)
    shell.events.register("post_run_cell", cells.end)


class _Cells:
    """The cells of one shell that begin with ``%%steps``."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.seen: Steps | None = None

    def without_magic(self, lines: list[str]) -> list[str]:
        """Empty the first line, so that the cell runs as any other does."""
        is_mine = bool(lines) and lines[0].split()[:1] == [MAGIC]
        return ["\n", *lines[1:]] if is_mine else lines

    def begin(self, info: Any) -> None:
        """Begin to watch a cell that is about to run."""
        words = info.raw_cell.strip().partition("\n")[0].split(maxsplit=1)
        if words[:1] != [MAGIC]:
            return
        source = self.shell.transform_cell(info.raw_cell)

        def is_cell(frame: FrameType) -> bool:
            if frame.f_globals is not self.shell.user_ns:
                return False  # before it is read: it may be a large module
            text = "".join(linecache.getlines(frame.f_code.co_filename))
            return text.rstrip() == source.rstrip()

        seen = Steps(*words[1:])
        with suppress(SyntaxError):  # IPython says more
            seen.follow(source, is_cell)
            self.seen = seen

    def end(self, result: Any) -> None:
        """Show the steps of the cell that has run."""
        seen, self.seen = self.seen, None
        if seen is not None:
            from IPython.display import display

            seen.stop()
            display(seen)
