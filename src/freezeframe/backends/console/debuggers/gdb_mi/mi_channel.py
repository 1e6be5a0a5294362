"""The MI channel to gdb: send commands, receive results and async records."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freezeframe.backends.console.command_channel import TAP_VARIABLE, CommandChannel, LateReply
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import (
    Async,
    Fields,
    MiReader,
    Result,
    StreamRecord,
    quote,
)
from freezeframe.backends.transport.process import Process
from freezeframe.config import Timeouts
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout

from .warnings import Warnings

#: prefix of console text that is a logpoint's message, written by the agent
LOG_PREFIX = "\x1elog "
#: kind of an async record: gdb failed to resume the program
REFUSED = "refused"
#: maximum text kept for the command in progress; the rest is dropped
_MAX_TEXT = 4 << 20


class MiError(DebuggerError):
    """gdb answered a command with an error; carries gdb's message."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of one command, and the text printed since the result before."""

    result: Result
    console_text: str
    log_text: str


@dataclass(frozen=True, slots=True)
class AsyncRecord:
    """An async record; for a stop also the text printed since the last result."""

    record: Async
    console_text: str = ""
    log_text: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """gdb printed its first prompt."""


@dataclass(frozen=True, slots=True)
class Wrote:
    """A logpoint's message, a gdb warning, or output of a remote program."""

    stream: str
    text: str


Notice = AsyncRecord | Ready | Wrote


class MiProtocol:
    """MI as a protocol of `CommandChannel`: tokens match results to commands."""

    pipelined = True

    def __init__(self) -> None:
        self._reader = MiReader("(gdb)")
        self._warnings = Warnings()
        self._console_text: list[str] = []
        self._log_text: list[str] = []
        self._size = 0
        self._greeted = False
        #: the token of the last command that resumed the program
        self._resumed: int | None = None

    def encode(self, token: int, command: str) -> bytes:
        return f"{token}{command}\n".encode("utf-8", "surrogateescape")

    def feed(self, data: bytes) -> Sequence[tuple[int | None, Answered] | Notice]:
        found: list[tuple[int | None, Answered] | Notice] = []
        for record in self._reader.feed(data):
            if isinstance(record, Result):
                found.append(self._answered(record))
            elif isinstance(record, Async):
                texts = self._take() if record.kind == "stopped" else ("", "")
                found.append(AsyncRecord(record, *texts))
            elif isinstance(record, StreamRecord):
                notice = self._on_text(record)
                if notice is not None:
                    found.append(notice)
            elif not self._greeted:
                # A prompt. Unparsed text may precede the first one.
                self._greeted = True
                found.append(Ready())
        return found

    def _answered(self, result: Result) -> tuple[int | None, Answered] | AsyncRecord:
        """Return a result; an error after `running` is a failed resume, not a second result."""
        console_text, log_text = self._take()
        if result.kind == "error" and result.token is not None and result.token == self._resumed:
            return AsyncRecord(Async("*", REFUSED, result.fields), console_text, log_text)
        if result.kind == "running":
            self._resumed = result.token
        return result.token, Answered(result, console_text, log_text)

    def _on_text(self, text: StreamRecord) -> Wrote | None:
        if text.stream == "target":
            return Wrote("stdout", text.text)
        if text.stream == "console" and text.text.startswith(LOG_PREFIX):
            return Wrote("log", text.text.removeprefix(LOG_PREFIX))
        if self._size < _MAX_TEXT:
            self._size += len(text.text)
            (self._console_text if text.stream == "console" else self._log_text).append(text.text)
        if text.stream == "console":
            return None
        warning = self._warnings.read(text.text)
        return None if warning is None else Wrote("console", warning)

    def _take(self) -> tuple[str, str]:
        texts = "".join(self._console_text), "".join(self._log_text)
        self._console_text.clear()
        self._log_text.clear()
        self._size = 0
        return texts


class MiChannel:
    """Send commands to one gdb in order, each with a time limit."""

    def __init__(
        self,
        name: str,
        timeouts: Timeouts,
        on_notice: Callable[[AsyncRecord | Wrote], None],
        on_lost: Callable[[DebuggerLost], None],
    ) -> None:
        self._name = name
        self._timeouts = timeouts
        self._ready = asyncio.Event()
        self._notify = on_notice
        self._notify_lost = on_lost
        #: called when gdb, and the program with it, was interrupted
        self.on_interrupt: Callable[[], None] = lambda: None
        self._console: CommandChannel[Answered, Notice] = CommandChannel(
            name,
            MiProtocol(),
            on_notice=self._on_notice,
            on_lost=self._lost,
            timeout_s=timeouts.request_s,
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
            await self.request("-gdb-version")  # raises, with gdb's last output

    def close(self) -> None:
        self._console.close()

    def _on_notice(self, notice: Notice) -> None:
        if isinstance(notice, Ready):
            self._ready.set()
            return
        record = notice.record if isinstance(notice, AsyncRecord) else None
        kind = None if record is None else record.kind
        thread = None if record is None else str(record.fields.get("thread-id"))
        if kind == "running":
            self._console.resumed()
        if kind != "stopped" or not self._console.is_flood(thread):
            self._notify(notice)

    def _lost(self, error: DebuggerLost) -> None:
        self._ready.set()
        self._notify_lost(error)

    # --- commands

    async def request(self, command: str, *, timeout_s: float | None = None) -> Fields:
        """Return the fields of the result. Raises MiError with gdb's message."""
        return (await self.answer(command, timeout_s=timeout_s)).result.fields

    async def answer(self, command: str, *, timeout_s: float | None = None) -> Answered:
        """Return the result with the printed text. Raises MiError."""
        answered = await self._request_or_interrupt(command, timeout_s)
        _check(answered)
        return answered

    def post(self, command: str) -> asyncio.Future[Answered]:
        """Send a command without waiting; the caller limits the wait."""
        return self._console.send(command)

    async def _request_or_interrupt(self, command: str, timeout_s: float | None) -> Answered:
        """Wait for a result; interrupt gdb once if it does not come in time.

        gdb may be calling a function of the program that never returns: when interrupted it
        abandons the call, restores the program and answers. Otherwise it would process no further
        command.
        """
        limit_s = self._timeouts.request_s if timeout_s is None else timeout_s
        try:
            return await self._console.request(
                command, timeout_s=limit_s, rescue=self._interrupt, grace_s=self._timeouts.value_s
            )
        except LateReply as late:
            answer = late.answer
        if isinstance(answer, Answered) and answer.result.kind != "error":
            return answer
        raise MiError(f"it took longer than {limit_s:g} s and was interrupted.")

    def _interrupt(self) -> None:
        if self.process is not None:
            self.process.signal(signal.SIGINT)
            self.on_interrupt()

    async def cli(self, command: str, *, where: str = "", timeout_s: float | None = None) -> str:
        """Run a CLI command and return the text it printed."""
        text = f"-interpreter-exec{where} console {quote(command)}"
        answered = await self.answer(text, timeout_s=timeout_s)
        return answered.console_text

    async def request_all(
        self, commands: Sequence[str], *, timeout_s: float | None = None
    ) -> list[Answered | MiError]:
        """Send independent commands at once; return a result or an error for each."""
        waiting = [
            asyncio.ensure_future(self._request_or_interrupt(each, timeout_s)) for each in commands
        ]
        answers: list[Answered | MiError] = []
        try:
            for each in waiting:
                try:
                    answered = await each
                    _check(answered)
                except MiError as error:
                    answers.append(error)
                else:
                    answers.append(answered)
        finally:
            for each in waiting:
                each.cancel()
        return answers


def _check(answered: Answered) -> None:
    if answered.result.kind == "error":
        message = str(answered.result.fields.get("msg") or answered.log_text).strip()
        raise MiError(sentence(message) or "gdb refused without a reason.")


def sentence(message: str) -> str:
    """Return gdb's message with a full stop at its end."""
    message = message.strip()
    return message if not message or message[-1] in ".!?" else message + "."


def tap_of(env: Mapping[str, str]) -> str | None:
    return env.get(TAP_VARIABLE) or None


def at(thread: int | None, level: int | None) -> str:
    """Return the options that select a thread and frame for a command."""
    options = "" if thread is None else f" --thread {thread}"
    return options if level is None or thread is None else f"{options} --frame {level}"


def rows(value: Any) -> list[Any]:
    """Return a field that may hold one or several values as a list."""
    return value if isinstance(value, list) else [] if value is None else [value]
