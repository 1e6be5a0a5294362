"""The line to gdb: commands in MI out, answers and happenings in."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freezeframe.backends.console.queue import TAP_VARIABLE, Console, Late
from freezeframe.backends.console.reader import Async, Fields, Reader, Result, Text, quote
from freezeframe.backends.transport.process import Process
from freezeframe.config import Timeouts
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout

from .warnings import Warnings

#: begins a piece of console text that is a logpoint's message, written by the probe
LOG_MARK = "\x1elog "
#: the kind of a happening: the program was to run, and does not
REFUSED = "refused"
#: text kept for the command under way; what a person would not read either is cut
_MAX_SAID = 4 << 20


class GdbRefused(DebuggerError):
    """gdb answered a command with an error, in its words."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to one command, and what was printed since the one before."""

    result: Result
    said: str
    complaint: str


@dataclass(frozen=True, slots=True)
class Happened:
    """Something happened; for a stop also what was printed since the last answer."""

    record: Async
    said: str = ""
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """The first prompt."""


@dataclass(frozen=True, slots=True)
class Wrote:
    """A logpoint's message, a warning of gdb's, or what the program printed through a remote."""

    stream: str
    text: str


Notice = Happened | Ready | Wrote


class Mi:
    """The dialect: tokens match answers, so a late one is never taken for another's."""

    pipelined = True

    def __init__(self) -> None:
        self._reader = Reader("(gdb)")
        self._warnings = Warnings()
        self._said: list[str] = []
        self._complaint: list[str] = []
        self._size = 0
        self._greeted = False
        #: the token of the last command that let the program run
        self._resumed: int | None = None

    def spell(self, token: int, command: str) -> bytes:
        return f"{token}{command}\n".encode("utf-8", "surrogateescape")

    def feed(self, data: bytes) -> Sequence[tuple[int | None, Answered] | Notice]:
        found: list[tuple[int | None, Answered] | Notice] = []
        for record in self._reader.feed(data):
            if isinstance(record, Result):
                found.append(self._answered(record))
            elif isinstance(record, Async):
                words = self._take() if record.kind == "stopped" else ("", "")
                found.append(Happened(record, *words))
            elif isinstance(record, Text):
                notice = self._heard(record)
                if notice is not None:
                    found.append(notice)
            elif not self._greeted:
                # A prompt; anything that is no record may stand before the first one.
                self._greeted = True
                found.append(Ready())
        return found

    def _answered(self, result: Result) -> tuple[int | None, Answered] | Happened:
        """An answer; after `running` an error is no second one, but a resumption that failed."""
        said, complaint = self._take()
        if result.kind == "error" and result.token is not None and result.token == self._resumed:
            return Happened(Async("*", REFUSED, result.fields), said, complaint)
        if result.kind == "running":
            self._resumed = result.token
        return result.token, Answered(result, said, complaint)

    def _heard(self, text: Text) -> Wrote | None:
        if text.stream == "target":
            return Wrote("stdout", text.text)
        if text.stream == "console" and text.text.startswith(LOG_MARK):
            return Wrote("log", text.text.removeprefix(LOG_MARK))
        if self._size < _MAX_SAID:
            self._size += len(text.text)
            (self._said if text.stream == "console" else self._complaint).append(text.text)
        if text.stream == "console":
            return None
        warning = self._warnings.read(text.text)
        return None if warning is None else Wrote("console", warning)

    def _take(self) -> tuple[str, str]:
        words = "".join(self._said), "".join(self._complaint)
        self._said.clear()
        self._complaint.clear()
        self._size = 0
        return words


class Line:
    """Commands to one gdb, in order, each bounded."""

    def __init__(
        self,
        name: str,
        timeouts: Timeouts,
        hear: Callable[[Happened | Wrote], None],
        on_lost: Callable[[DebuggerLost], None],
    ) -> None:
        self._name = name
        self._timeouts = timeouts
        self._ready = asyncio.Event()
        self._hear = hear
        self._tell_lost = on_lost
        #: gdb was interrupted, and the program with it
        self.on_nudge: Callable[[], None] = lambda: None
        self._console: Console[Answered, Notice] = Console(
            name, Mi(), hear=self._heard, on_lost=self._lost, timeout_s=timeouts.request_s
        )

    @property
    def process(self) -> Process | None:
        return self._console.process

    @property
    def alive(self) -> bool:
        return self._console.alive

    async def open(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], tap: str | None
    ) -> None:
        """Start gdb and return at its first prompt. Raises LaunchFailed, Lost or Timeout."""
        self._console.spawn(argv, cwd=cwd, env=env, tap=tap)
        limit_s = self._timeouts.initialize_s
        try:
            async with asyncio.timeout(limit_s):
                await self._ready.wait()
        except TimeoutError:
            raise DebuggerTimeout(
                f"{self._name} did not get ready within {limit_s:g} s.", next="dbg logs"
            ) from None
        if not self.alive:
            await self.ask("-gdb-version")  # raises, with its last words

    def close(self) -> None:
        self._console.close()

    def _heard(self, notice: Notice) -> None:
        if isinstance(notice, Ready):
            self._ready.set()
        else:
            self._hear(notice)

    def _lost(self, error: DebuggerLost) -> None:
        self._ready.set()
        self._tell_lost(error)

    # --- commands

    async def ask(self, command: str, *, timeout_s: float | None = None) -> Fields:
        """Return the fields of the answer. Raises GdbRefused in gdb's words."""
        return (await self.answer(command, timeout_s=timeout_s)).result.fields

    async def answer(self, command: str, *, timeout_s: float | None = None) -> Answered:
        """Return the answer with what was printed. Raises GdbRefused."""
        answered = await self._patiently(command, timeout_s)
        _check(answered)
        return answered

    def post(self, command: str) -> asyncio.Future[Answered]:
        """Send a command before whatever is sent next; the caller bounds the wait."""
        return self._console.send(command)

    async def _patiently(self, command: str, timeout_s: float | None) -> Answered:
        """Wait for an answer; one that does not come in time is interrupted, once.

        gdb may be calling a function of the program's that never returns: it gives that up, puts
        the program back to where it stood, and answers. Without that it would hear nothing more.
        """
        limit_s = self._timeouts.request_s if timeout_s is None else timeout_s
        try:
            return await self._console.ask(
                command, timeout_s=limit_s, rescue=self._nudge, grace_s=self._timeouts.value_s
            )
        except Late as late:
            answer = late.answer
        if isinstance(answer, Answered) and answer.result.kind != "error":
            return answer
        raise GdbRefused(f"it took longer than {limit_s:g} s and was interrupted.")

    def _nudge(self) -> None:
        if self.process is not None:
            self.process.signal(signal.SIGINT)
            self.on_nudge()

    async def cli(self, command: str, *, where: str = "", timeout_s: float | None = None) -> str:
        """Run a command of gdb's own language and return what it printed."""
        text = f"-interpreter-exec{where} console {quote(command)}"
        answered = await self.answer(text, timeout_s=timeout_s)
        return answered.said

    async def together(
        self, commands: Sequence[str], *, timeout_s: float | None = None
    ) -> list[Answered | GdbRefused]:
        """Send commands that do not depend on each other at once; one that fails is its error."""
        waiting = [asyncio.ensure_future(self._patiently(each, timeout_s)) for each in commands]
        answers: list[Answered | GdbRefused] = []
        try:
            for each in waiting:
                try:
                    answered = await each
                    _check(answered)
                except GdbRefused as error:
                    answers.append(error)
                else:
                    answers.append(answered)
        finally:
            for each in waiting:
                each.cancel()
        return answers


def _check(answered: Answered) -> None:
    if answered.result.kind == "error":
        words = str(answered.result.fields.get("msg") or answered.complaint).strip()
        raise GdbRefused(sentence(words) or "gdb refused without a word.")


def sentence(words: str) -> str:
    """Return gdb's words as one sentence: they end in a full stop or in nothing."""
    words = words.strip()
    return words if not words or words[-1] in ".!?" else words + "."


def tap_of(env: Mapping[str, str]) -> str | None:
    return env.get(TAP_VARIABLE) or None


def at(thread: int | None, level: int | None) -> str:
    """Return the options that make a command speak of a frame."""
    words = "" if thread is None else f" --thread {thread}"
    return words if level is None or thread is None else f"{words} --frame {level}"


def rows(value: Any) -> list[Any]:
    """Return what may be one or several values of a name as a list."""
    return value if isinstance(value, list) else [] if value is None else [value]
