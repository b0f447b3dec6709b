"""Watch code run, and look at all named tensors after each statement."""

from __future__ import annotations

import ast
import linecache
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import format_exc
from types import FrameType
from typing import Any

import torch

from tensor_maps.compare import MOST_STEP_NODES
from tensor_maps.reading import tried
from tensor_maps.steps.facts import MOST_DRAWN, Fact, Look, differences, look
from tensor_maps.steps.pictures import HALVES, names_to_draw, pictures_of
from tensor_maps.steps.step import Loop, Step
from tensor_maps.steps.syntax import Unit, as_one, line_range, units_of, with_block
from tensor_maps.steps.viewer import save_steps, steps_frame
from tensor_maps.steps.words import step_words
from tensor_maps.words import count_of

MOST_STEPS = 300
MOST_LETTERS = 300
STEPS_FORMAT = 1


class Steps:
    """What happened to tensors and arrays, statement by statement.

    After each statement of the watched code the names of its frame are looked at:
    tensors, NumPy arrays, parameters and buffers of modules (``net.weight``), and the
    first tensors of lists, tuples and dicts (``losses[0]``). Functions that the code
    calls are not watched: what they did is seen when the statement has run. Of a loop
    the first turns are steps, and all later ones together are one more.

    No tensor is kept alive and nothing is written; of what is larger than 4 KiB no
    value is read. While the code is watched, the trace function of a debugger or of a
    coverage tool rests; it is put back afterwards.
    """

    def __init__(self, title: str | None = None) -> None:
        self.title = title or "steps"
        self._code: list[str] = []
        self._steps: list[Step] = []
        self._units: dict[int, Unit] = {}
        self._shift = 0
        self._file: str | None = None
        self._namespace: dict | None = None
        self._old: dict[str, Fact] = {}
        self._earlier: Any = None
        self._earlier_local: Any = None
        self._seen: Look | None = None
        self._unit: Unit | None = None
        self._began = -1
        self._turns: list[tuple[Loop, int]] = []
        self._loops: list[Loop] = []
        self._raised: tuple[str, bool] | None = None
        self._heard: list[str] = []
        self._stream: Any = None
        self._not_shown = 0
        self.failed = ""

    # -- Where watching begins and ends

    def __enter__(self) -> Steps:
        """Watch the block of the ``with`` statement that stands here.

        Raises
        ------
        RuntimeError
            If the source is not to be had, or this is no ``with`` statement.
        """
        frame = sys._getframe(1)
        block = with_block(frame)
        if block is None:
            raise RuntimeError(
                "steps() watches the block of a `with` statement whose source can be "
                "read: write `with steps() as seen:` in a file or a notebook's cell"
            )
        lines, body = block
        first, last = line_range(body[0])[0], line_range(body[-1])[1]
        self._take(lines[first - 1 : last], body, 1 - first)
        # What stands on the line of the `with` itself has begun.
        self._unit = self._units.get(frame.f_lineno)
        self._look_first(frame.f_locals)
        self._listen()
        self._earlier, self._earlier_local = sys.gettrace(), frame.f_trace
        frame.f_trace = self._trace
        sys.settrace(self._call)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """Stop watching; an exception passes."""
        if sys.gettrace() == self._call:
            sys.settrace(self._earlier)
        self._earlier = None
        frame = sys._getframe(1)
        frame.f_trace, self._earlier_local = self._earlier_local, None
        self._end(frame.f_locals)
        # Until Python 3.13 a function's frame keeps a copy of what its names hold.
        copied = frame.f_locals
        if copied is not frame.f_globals and type(copied) is dict:
            copied.clear()

    def run(self, source: str, namespace: dict, name: str = "<steps>") -> None:
        """Run code in a namespace, as a file is run, and watch it.

        What it raises passes. ``name`` is the file that a traceback names.
        """
        lines = source.splitlines(keepends=True)
        linecache.cache[name] = (len(source), None, lines, name)
        code = compile(source, name, "exec", dont_inherit=True)
        with self.following(source, name):
            exec(code, namespace)

    @contextmanager
    def following(self, source: str, file: str) -> Iterator[Steps]:
        """Watch what is run, here and now, as the module-level code of a file.

        It may be run in pieces, each compiled with the lines that it has in ``source``.
        """
        self.follow(source, file)
        try:
            yield self
        finally:
            self.stop()

    def follow(
        self, source: str, file: str | None = None, namespace: dict | None = None
    ) -> None:
        """Begin what :meth:`following` does.

        Of a ``namespace`` that is given, all that is run in it is watched, whatever its
        file, and what its names hold already is left out.
        """
        self._take(source.splitlines(), ast.parse(source).body)
        known = file is not None and Path(file).exists()
        self._file = os.path.realpath(file) if known else file or ""
        self._namespace = namespace
        if namespace is not None:
            self._old = look(namespace).facts
        self._earlier = sys.gettrace()
        sys.settrace(self._call)

    def stop(self) -> None:
        """End what :meth:`follow` has begun."""
        if sys.gettrace() == self._call:
            sys.settrace(self._earlier)
        self._earlier = self._file = self._namespace = None
        self._deafen()

    def _take(self, lines: list[str], body: list[ast.stmt], shift: int = 0) -> None:
        self._code = textwrap.dedent("\n".join(lines)).split("\n")
        self._shift = shift
        for unit in units_of(body, ()):
            for line in range(unit.first, unit.last + 1):
                # A line with two statements is one step with the first of them.
                self._units.setdefault(line, unit)

    # -- What Python tells

    def _call(self, frame: FrameType, event: str, arg: object) -> Any:
        if self._file is None or frame.f_code.co_name != "<module>":
            return None
        if self._namespace is not None:
            is_watched = frame.f_globals is self._namespace
        else:
            file = frame.f_code.co_filename
            is_watched = self._file in (file, os.path.realpath(file))
        if not is_watched:
            return None
        self._listen()
        if self._seen is None:
            self._look_first(frame.f_locals)
        return self._trace

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        try:
            if event == "line":
                self._line(frame)
            elif event == "exception":
                self._note_raised(*arg[:2])
            elif event == "return" and self._file is not None:
                self._end(frame.f_locals)
        except Exception:  # the program that is watched must not notice
            self.failed = self.failed or format_exc()
        return self._trace

    def _note_raised(self, kind: type[BaseException], error: object) -> None:
        text = tried(lambda: str(error), "").strip().partition("\n")[0]
        said = f"{kind.__name__}: {text}" if text else kind.__name__
        self._raised = (said[:MOST_LETTERS], issubclass(kind, StopIteration))

    def _line(self, frame: FrameType) -> None:
        unit = self._units.get(frame.f_lineno)
        if unit is not None and unit is self._unit and frame.f_lasti > self._began:
            return  # a statement goes on, on another of its lines
        caught = unit is not None and isinstance(unit.node, ast.ExceptHandler)
        if self._raised and self._raised[1] and not caught:
            self._raised = None  # an iterator has ended
        left = self._move(unit, frame.f_lasti)
        self._finish(frame.f_locals, [*self._loops, *left])
        self._leave(left, frame.f_locals)
        self._unit, self._began = unit, frame.f_lasti
        inside = len(unit.loops) if unit else 0
        self._turns = [(loop, loop.turn) for loop in self._loops[:inside]]

    def _move(self, unit: Unit | None, at: int) -> list[Loop]:
        """Count the turns of the loops; return those that have ended, inner first."""
        inside = unit.loops if unit else ()
        around = (*inside, unit.node) if unit and unit.is_head else inside
        stay = 0
        for loop, node in zip(self._loops, around, strict=False):
            if loop.node is not node:
                break
            stay += 1
            if stay <= len(inside) and at <= loop.begins:
                loop.turn += 1
                break
        left = self._loops[stay:][::-1]
        self._loops = self._loops[:stay]
        for node in inside[stay:]:
            self._loops.append(Loop(node, at, len(self._loops)))
        return left

    def _leave(self, left: list[Loop], namespace: Any) -> None:
        """Make one step of all turns that were not shown, of loops that have ended."""
        for loop in left:
            outer = [(one, turn) for one, turn in self._turns if one is not loop]
            outer = outer[: loop.depth]
            if loop.collapsed and all(turn <= one.shown for one, turn in outer):
                turns = [*outer, (loop, loop.turn)]
                self._add(as_one(loop.node), turns, namespace, collapsed=True)

    def _finish(self, namespace: Any, loops: Iterable[Loop] = ()) -> None:
        """Note the step of the statement that has run, or of the head of a loop."""
        if self._unit is None:
            return
        hidden = [loop for loop, turn in self._turns if turn > loop.shown]
        begins = next((loop for loop in loops if loop.node is self._unit.node), None)
        if begins is not None and begins.turn > begins.shown:
            hidden.append(begins)
        for loop in hidden:
            loop.collapsed = True
        if not hidden:
            self._add(self._unit, self._turns, namespace)

    def _end(self, namespace: Any) -> None:
        self._finish(namespace)
        left, self._loops, self._unit = self._loops[::-1], [], None
        self._leave(left, namespace)
        self._turns, self._began, self._raised = [], -1, None
        self._deafen()

    # -- Steps

    def _look_first(self, namespace: Any) -> None:
        self._seen = look(namespace, old=self._old)

    def _add(
        self,
        unit: Unit,
        turns: list[tuple[Loop, int]],
        namespace: Any,
        collapsed: bool = False,
    ) -> None:
        if len(self._steps) >= MOST_STEPS:
            self._not_shown += 1
            return
        was = self._seen
        now = look(namespace, was, self._old)
        printed, raised = "".join(self._heard), self._raised[0] if self._raised else ""
        differ = differences(was.facts, now.facts)
        if unit.is_head and not (differ or printed or raised):
            return
        self._heard.clear()
        self._raised, self._seen = None, now
        step = Step(unit, turns, printed, raised, differ, was, now, collapsed)
        self._steps.append(step)

    # -- What is printed

    def _listen(self) -> None:
        """Hear what is written to the standard output, which gets it as before."""
        stream = sys.stdout
        own = getattr(stream, "__dict__", None)
        if self._stream is not None or own is None:
            return
        write, heard = stream.write, self._heard

        def hear(text: str) -> Any:
            heard.append(text)
            return write(text)

        # A notebook's stream may have a function of its own there already.
        self._stream = stream, own.get("write"), hear
        stream.write = hear

    def _deafen(self) -> None:
        if self._stream is None:
            return
        (stream, earlier, hear), self._stream = self._stream, None
        if vars(stream).get("write") is not hear:
            return  # someone else has taken over
        if earlier is None:
            del stream.write
        else:
            stream.write = earlier

    # -- The result

    def data(self, drawn: int = MOST_DRAWN, nodes: int = MOST_STEP_NODES) -> dict:
        """Return all steps and their drawings, as data that JSON can hold.

        Parameters
        ----------
        drawn
            How many names a picture has at most, beside the leaves of their graph.
        nodes
            How many nodes of the graph a picture has at most, beside the leaves.

        Returns
        -------
        dict
            ``format`` (1), ``title``, ``torch`` (its version), ``code`` (lines),
            ``steps``, ``drawings`` (each once) and ``captions`` (one a drawing).
            Of a step: ``first`` and ``last`` (the lines of the statement that has
            just run, from 1), ``turn`` (for each loop around it, outermost first, the
            turn and how many there were), ``said`` (a sentence), ``printed``,
            ``raised`` (only if it did), ``changed`` (names), ``graph`` and ``memory``
            (indices of drawings, or null) and ``note`` (only if there is more to say).
        """
        pictures, words = [], []
        for step, names in zip(self._steps, self.names_drawn(drawn), strict=True):
            picture, shown = pictures_of(step, names, nodes)
            said, notes = step_words(step)
            if names and (more := step.after.names - shown):
                notes.append(f"and {count_of(more, 'more tensor')}")
            pictures.append(picture)
            words.append((said, notes))
        if words and self._not_shown:
            words[-1][1].append(f"{self._not_shown} more steps are not shown")
        # Those of one kind after another: a file of them is the smaller.
        drawings = list(
            dict.fromkeys(
                picture[half]
                for half in HALVES
                for picture in pictures
                if half in picture
            )
        )
        number_of = {drawing: at for at, drawing in enumerate(drawings)}
        steps = [
            {
                **step.place(self._shift),
                "said": said,
                "printed": step.printed,
                **({"raised": step.raised} if step.raised else {}),
                "changed": step.changed,
                **{half: number_of.get(picture.get(half)) for half in HALVES},
                **({"note": "; ".join(notes)} if notes else {}),
            }
            for step, picture, (said, notes) in zip(
                self._steps, pictures, words, strict=True
            )
        ]
        return {
            "format": STEPS_FORMAT,
            "title": self.title,
            "torch": torch.__version__,
            "code": self._code,
            "steps": steps,
            "drawings": [drawing for drawing, _ in drawings],
            "captions": [caption for _, caption in drawings],
        }

    def names_drawn(self, drawn: int = MOST_DRAWN) -> list[list[str]]:
        """Return for each step the names in its picture."""
        found: list[list[str]] = []
        for step in self._steps:
            found.append(names_to_draw(step, found[-1] if found else [], drawn))
        return found

    def picture(
        self, number: int, names: list[str], nodes: int = MOST_STEP_NODES
    ) -> dict[str, tuple[str, str]]:
        """Return the drawing and the caption of each half of a step's map."""
        return pictures_of(self._steps[number], names, nodes)[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the steps as one HTML file that needs nothing else to be shown."""
        save_steps(self.data(), path)

    def _repr_html_(self) -> str:
        return steps_frame(self.data())
