"""The program in motion backwards, and what is asked at a stop before anybody is told of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import StepKind
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout
from freezeframe.model.stops import StopReason

from .marks import Marks, Verdict
from .spelling import At, Halt, Spelling
from .talk import Talk
from .travel import Journey
from .values import Values


class Backward:
    """The part of `Motion` that goes back. What it stands on is made there."""

    _talk: Talk
    _marks: Marks
    _values: Values
    _spelling: Spelling
    _drain: Callable[[], None]
    _work: Callable[[Coroutine[Any, Any, None]], None]
    _kind: StepKind | None
    _first: Verdict | None
    running: bool
    rewinding: bool
    fed: bool
    thread: int
    halt: Halt
    failures: dict[int, str]

    def stand(self, halt: Halt) -> None:
        raise NotImplementedError

    async def _came(self, halt: Halt) -> None:
        raise NotImplementedError

    async def _depth(self, thread: int) -> int:
        raise NotImplementedError

    def _forget_step(self, kind: StepKind | None) -> None:
        raise NotImplementedError

    def _stayed(self, words: str | None) -> Halt:
        """Return the stop of a program that was not let run: it stands where it stood."""
        halt = replace(self.halt, reason=StopReason.OTHER, numbers=())
        return replace(halt, description=words, returned=None)

    async def _studied(self, text: str) -> str:
        """Return words of a stop with all that is needed to read them."""
        while asked := self._spelling.study(text):
            try:
                for command in asked:
                    text += await self._sent(command)
            except (DebuggerLost, DebuggerTimeout):
                raise
            except DebuggerError:
                break
        return text

    async def _sent(self, command: str) -> str:
        """Send a command beside; what the program prints on a way back it has printed before."""
        if not self._spelling.goes_back(command):
            return await self._talk.console.send(command)
        self._check_input()
        self._drain()
        self.rewinding = True
        try:
            return await self._talk.console.send(command)
        finally:
            self._drain()
            self.rewinding = False

    # --- going back

    async def back(self, kind: StepKind | None, thread: int) -> None:
        """Undo a step; without a kind, go back to the stop before. Raises DebuggerError."""
        spelling = self._spelling
        self._check_input()
        first, now = spelling.beginning, self.halt.time
        if first is not None and now is not None and now <= first:
            raise DebuggerError("this is the beginning of the program.", next="dbg next")
        if kind is StepKind.OUT and await self._depth(thread) == 1:
            raise DebuggerError(
                "this is the outermost frame: nothing called it.", next="dbg reverse-continue"
            )
        self._forget_step(kind)
        self._values.forget()
        self.failures = {}
        self._drain()
        self.running = self.rewinding = True
        self._work(self._go_back(kind, thread))

    def _check_input(self) -> None:
        """Raise DebuggerError where the program would wait for input on its way back."""
        if self.fed:
            # It runs again from a point before, where it has not read what it has read since.
            raise DebuggerError(
                "the program was given input, and would have to read it again on its way back.",
                next="dbg replay",
            )

    async def _go_back(self, kind: StepKind | None, thread: int) -> None:
        journey = Journey(
            self._spelling,
            self._moved_back,
            lambda: self._depth(thread),
            self._wants_back,
        )
        try:
            halt = await journey.back(kind, thread)
        except (DebuggerLost, DebuggerTimeout):
            raise
        except DebuggerError as error:
            halt = self._stayed(error.message)
        finally:
            self._drain()
            self.rewinding = False
        self.running = False
        self._first = await self._marks.judge(halt, At(self.thread, 0), back=True)
        await self._came(halt)

    async def _moved_back(self, command: str) -> Halt | None:
        text = await self._talk.console.send(command)
        halt = self._spelling.read_stop(text)
        if halt is None:
            raise DebuggerError(self._spelling.refusal(text) or "it did not go back.")
        self.stand(halt)
        return halt

    async def _wants_back(self, halt: Halt) -> bool:
        verdict = await self._marks.judge(halt, At(self.thread, 0), back=True)
        return bool(verdict.breakpoints) or not verdict.met
