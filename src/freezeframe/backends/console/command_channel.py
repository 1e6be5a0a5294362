"""The connection to one debugger with a prompt: its process, and its commands one after another.

Nothing here depends on the debugger. A `Codec` encodes a command so that its answer can be
identified (a token, a sentinel) and decodes the bytes that come back. The order of messages and the
end of the connection: `backends/request_channel.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from freezeframe.backends.request_channel import RequestChannel, copy_of
from freezeframe.backends.transport.fd_reader import Tail, TextReader
from freezeframe.backends.transport.process import PIPE, Process, signal_name
from freezeframe.backends.transport.streams import StdioStream, Stream
from freezeframe.backends.transport.wire_log import WireLog
from freezeframe.errors import DebuggerLost

log = logging.getLogger(__name__)

#: The environment variable that names a wire log file, for development and tests.
TAP_VARIABLE = "FREEZEFRAME_CONSOLE_TAP"
#: how long a debugger that closed its output may take to exit
_EXIT_GRACE_S = 0.3

A = TypeVar("A", covariant=True)
N = TypeVar("N", covariant=True)
Answer = TypeVar("Answer")
Notice = TypeVar("Notice")


@dataclass(frozen=True, slots=True)
class ImmediateReply:
    """Bytes that a codec sends at once, outside the command queue: a request for an end marker."""

    data: bytes


class Codec(Protocol[A, N]):
    """Encode commands for one kind of console and decode its output. Pure."""

    #: a command may be sent before the previous one is answered
    pipelined: bool

    def encode(self, token: int, command: str) -> bytes:
        """Return the bytes of a command whose answer will carry *token*."""

    def feed(self, data: bytes) -> Sequence[tuple[int | None, A] | N | ImmediateReply]:
        """Decode *data*: return answers as (token, answer), anything else as a notice."""


class LateReply(Exception):
    """An answer that came after its time limit, once the debugger was interrupted."""

    def __init__(self, answer: object) -> None:
        super().__init__(answer)
        self.answer = answer


class CommandChannel(RequestChannel[tuple[int | None, Answer] | Notice, Answer]):
    """One debugger at its prompt.

    *on_notice* is called with everything that is not an answer; it must not block.
    """

    def __init__(
        self,
        name: str,
        codec: Codec[Answer, Notice],
        *,
        on_notice: Callable[[Notice], None],
        on_lost: Callable[[DebuggerLost], None],
        timeout_s: float,
    ) -> None:
        super().__init__(name, on_lost=on_lost, timeout_s=timeout_s)
        self.process: Process | None = None
        #: the end of what the debugger wrote to its standard error
        self.stderr_tail = Tail()
        #: the end of what the debugger wrote to the channel
        self.output_tail = Tail()
        self._codec = codec
        self._on_notice = on_notice
        self._stream: Stream | None = None
        self._stderr: TextReader | None = None
        #: what the debugger writes to its standard error while `stderr_of` waits
        self._collected: list[str] | None = None
        self._tap: WireLog | None = None
        self._last_token = 0
        self._unsent: deque[tuple[int, str]] = deque()
        self._in_flight: int | None = None
        self._ended: str | None = None
        self._exit_timer: asyncio.TimerHandle | None = None

    # --- lifecycle

    def spawn(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], tap: str | None
    ) -> None:
        """Start the debugger; *tap* is a file for the wire log. Raises LaunchFailed."""
        process = Process.spawn(argv, cwd=cwd, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        self.open(process, StdioStream(process), tap=tap)

    def open(self, process: Process, stream: Stream, *, tap: str | None) -> None:
        """Use *stream* to talk to a started debugger; takes over its standard error."""
        self._tap = WireLog(tap) if tap else None
        self.process = process
        if process.stderr is not None:
            self._stderr = TextReader(process.take_stderr(), self._on_stderr)
            self._stderr.start()
        self._stream = stream
        stream.open(self._on_data, self._on_eof)

    @property
    def alive(self) -> bool:
        return self._stream is not None and self.lost is None

    def close(self) -> None:
        """Close the connection. Every pending command fails; the process is left running."""
        super().close()
        if self._stderr is not None:
            self._stderr.close()
        if self._tap is not None:
            self._tap.close()
        if self.process is not None:
            self.process.close()

    # --- commands

    async def request(
        self,
        command: str,
        *,
        timeout_s: float | None = None,
        rescue: Callable[[], None] | None = None,
        grace_s: float = 0.0,
    ) -> Answer:
        """Send a command and return its answer.

        At the time limit *rescue* is called, which may interrupt the debugger; an answer that comes
        within another *grace_s* is raised as `LateReply`.

        Raises DebuggerTimeout, or DebuggerLost at once when the debugger is gone. An answer that
        comes later is dropped, never taken for the answer to another command.
        """
        limit_s = self._limit(timeout_s)
        future = self.send(command)
        token = self._last_token
        try:
            async with asyncio.timeout(limit_s):
                return await future
        except TimeoutError:
            pass
        if rescue is not None and self.lost is None:
            again = self._expect(token)
            rescue()
            try:
                async with asyncio.timeout(grace_s):
                    raise LateReply(await again)
            except TimeoutError:
                pass
        raise self._unanswered(command, limit_s)

    def send(self, command: str) -> asyncio.Future[Answer]:
        """Send a command and return the future of its answer. The caller bounds the wait."""
        if self.lost is not None or self._stream is None:
            error = self.lost or DebuggerLost(f"{self.name} was not started.")
            return self._refused(copy_of(error))
        self._last_token += 1
        token = self._last_token
        future = self._expect(token)
        self._unsent.append((token, command))
        self._flush()
        return future

    async def stderr_of(self, command: str) -> str:
        """Send a command; return what the debugger wrote to its standard error meanwhile."""
        collected: list[str] = []
        self._collected = collected
        try:
            await self.send(command)
            if self._stderr is not None:
                # Written before the answer, so the text is in the pipe by now.
                self._stderr.drain_now()
        finally:
            self._collected = None
        return "".join(collected)

    def _on_stderr(self, text: str) -> None:
        if self._collected is None:
            self.stderr_tail.feed(text)
        else:
            self._collected.append(text)

    def _flush(self) -> None:
        assert self._stream is not None
        while self._unsent and (self._codec.pipelined or self._in_flight is None):
            token, command = self._unsent.popleft()
            if token not in self._pending:
                continue  # its caller has given up: it must not take effect later
            self._in_flight = token
            self._log_wire("out", command)
            # Not before: a codec waits for the answer to the command that it encoded last.
            self._stream.write(self._codec.encode(token, command))

    # --- incoming messages

    def _on_data(self, data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        self.output_tail.feed(text)
        self._log_wire("in", text)
        try:
            arrived = self._codec.feed(data)
        except DebuggerLost as error:
            # The debugger broke its protocol: nothing after this can be decoded.
            assert self._stream is not None
            self._stream.close()
            self._on_eof(error.message)
            return
        messages: list[tuple[int | None, Answer] | Notice] = []
        for each in arrived:
            if isinstance(each, ImmediateReply):
                assert self._stream is not None
                self._log_wire("out", each.data.decode("utf-8", "replace"))
                self._stream.write(each.data)
            else:
                messages.append(each)
        self._receive(messages)

    def _on_eof(self, reason: str | None) -> None:
        self._ended = f"the connection to {self.name} broke: {reason}." if reason else ""
        self._receive(())

    def _set_reading(self, on: bool) -> None:
        if self._stream is not None:
            (self._stream.resume if on else self._stream.pause)()

    def _handle(self, incoming: tuple[int | None, Answer] | Notice) -> bool:
        if isinstance(incoming, tuple):
            return self._on_answer(*incoming)
        try:
            self._on_notice(incoming)
        except Exception:
            log.exception("%s: %r was not handled", self.name, incoming)
        return False

    def _drained(self) -> None:
        if self._ended is not None:
            self._end()

    def _end(self) -> None:
        """Report the loss of the debugger once its exit status is known, or after a grace
        period.
        """
        process = self.process
        if process is None or process.returncode is not None:
            self._report_lost()
        elif self._exit_timer is None:
            self._exit_timer = self._loop.call_later(_EXIT_GRACE_S, self._report_lost)
            process.on_exit(lambda _: self._report_lost())

    def _report_lost(self) -> None:
        if self.lost is None:
            self._fail(self._with_stderr(self._describe_end()))

    def _describe_end(self) -> str:
        process = self.process
        if process is not None and process.returncode is not None and process.returncode < 0:
            return f"{self.name} was killed by {signal_name(-process.returncode)}."
        return self._ended or f"{self.name} ended."

    def _on_answer(self, token: int | None, answer: Answer) -> bool:
        if token == self._in_flight:
            self._in_flight = None
        if self._unsent and self.lost is None:
            self._flush()
        return token is not None and self._resolve(token, answer)

    # --- the end

    def _with_stderr(self, fact: str) -> DebuggerLost:
        if self._stderr is not None:
            self._stderr.drain_now()
        return self._lost_with(fact, str(self.stderr_tail))

    def _disconnect(self) -> None:
        if self._exit_timer is not None:
            self._exit_timer.cancel()
        self._unsent.clear()
        if self._stream is not None:
            self._stream.close()

    def _log_wire(self, direction: str, text: str) -> None:
        if self._tap is not None:
            self._tap.write(self.name, direction, {"text": text})
