"""The line to one console debugger: its process, its commands in order, every wait bounded.

Nothing here knows a debugger. A `Dialect` says how a command is written so that its answer can be
told from any other's (a token, a sentinel), and what the bytes that come back mean.

Order is that of the wire: whoever awaits an answer goes on, as far as its next wait, before
anything that stands behind that answer is handled.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from freezeframe.backends.transport.drain import Drain, Tail
from freezeframe.backends.transport.process import PIPE, Process, signal_name
from freezeframe.backends.transport.streams import StdioStream, Stream
from freezeframe.backends.transport.tap import Tap
from freezeframe.errors import DebuggerLost, DebuggerTimeout

log = logging.getLogger(__name__)

#: Names a file that every line is written to, for us and for tests.
TAP_VARIABLE = "FREEZEFRAME_CONSOLE_TAP"
#: how long a debugger whose line has ended may take to end itself
_FAREWELL_S = 0.3
_SLICE_S = 0.01  # of dispatching, before the rest of the loop has its turn

A = TypeVar("A", covariant=True)
N = TypeVar("N", covariant=True)
Answer = TypeVar("Answer")
Notice = TypeVar("Notice")


@dataclass(frozen=True, slots=True)
class Reply:
    """Bytes that a dialect sends at once, beside the commands: what it asks to know an end."""

    data: bytes


class Dialect(Protocol[A, N]):
    """How one kind of console is written and read. Pure."""

    #: it may be sent a command before it has answered the one before
    pipelined: bool

    def spell(self, token: int, command: str) -> bytes:
        """Return the bytes of a command whose answer will be known by *token*."""

    def feed(self, data: bytes) -> Sequence[tuple[int | None, A] | N | Reply]:
        """Return what has arrived: answers as (token, answer), anything else as a notice."""


class Late(Exception):
    """An answer that came after its time, once its debugger was interrupted."""

    def __init__(self, answer: object) -> None:
        super().__init__(answer)
        self.answer = answer


class Console(Generic[Answer, Notice]):
    """One debugger at its prompt.

    *hear* is called with everything that is no answer; it must not block. *on_lost* is called
    once when the debugger is gone, after everything pending has failed; not after `close`.
    """

    def __init__(
        self,
        name: str,
        dialect: Dialect[Answer, Notice],
        *,
        hear: Callable[[Notice], None],
        on_lost: Callable[[DebuggerLost], None],
        timeout_s: float,
    ) -> None:
        self.name = name
        self.process: Process | None = None
        #: the end of what it wrote to its standard error
        self.words = Tail()
        #: the end of what it said on the line
        self.said = Tail()
        self._dialect = dialect
        self._hear = hear
        self._on_lost: Callable[[DebuggerLost], None] | None = on_lost
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._stream: Stream | None = None
        self._stderr: Drain | None = None
        self._tap: Tap | None = None
        self._last_token = 0
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._unsent: deque[tuple[int, bytes]] = deque()
        self._in_flight: int | None = None
        self._inbox: deque[tuple[int | None, Answer] | Notice] = deque()
        self._turn: asyncio.Handle | None = None
        self._ended: str | None = None
        self._farewell: asyncio.TimerHandle | None = None
        self._lost: DebuggerLost | None = None

    # --- life

    def spawn(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], tap: str | None
    ) -> None:
        """Start the debugger; *tap* is a file for the wire log. Raises LaunchFailed."""
        process = Process.spawn(argv, cwd=cwd, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        self.open(process, StdioStream(process), tap=tap)

    def open(self, process: Process, stream: Stream, *, tap: str | None) -> None:
        """Speak through *stream* to a debugger that was started; takes what it says over."""
        self._tap = Tap(tap) if tap else None
        self.process = process
        if process.stderr is not None:
            self._stderr = Drain(process.take_stderr(), self.words.feed)
            self._stderr.start()
        self._stream = stream
        stream.open(self._data, self._eof)

    @property
    def alive(self) -> bool:
        return self._stream is not None and self._lost is None

    def close(self) -> None:
        """Let go of it. Everything pending fails; no callback follows; the process is left."""
        self._on_lost = None
        self._fail(DebuggerLost(f"the connection to {self.name} was closed."))
        if self._stderr is not None:
            self._stderr.close()
        if self._tap is not None:
            self._tap.close()
        if self.process is not None:
            self.process.close()

    # --- commands

    async def ask(
        self,
        command: str,
        *,
        timeout_s: float | None = None,
        rescue: Callable[[], None] | None = None,
        grace_s: float = 0.0,
    ) -> Answer:
        """Send a command and return its answer.

        When the time is up *rescue* is called, which may interrupt what the debugger does, and
        the answer is waited for *grace_s* longer; it is raised as `Late` then.

        Raises DebuggerTimeout, or DebuggerLost at once when the debugger is gone. An answer that
        comes after its time is dropped, never taken for another's.
        """
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        future = self.send(command)
        token = self._last_token
        # Awaited itself, not through another future: whoever asks must go on before what stands
        # behind the answer is handled.
        try:
            async with asyncio.timeout(limit_s):
                return await future
        except TimeoutError:
            pass
        if rescue is not None and self._lost is None:
            again: asyncio.Future[Answer] = self._loop.create_future()
            self._expect(token, again)
            rescue()
            try:
                async with asyncio.timeout(grace_s):
                    raise Late(await again)
            except TimeoutError:
                pass
        shown = command if len(command) < 60 else command[:57] + "…"
        raise DebuggerTimeout(
            f"{self.name} did not answer `{shown}` within {limit_s:g} s.", next="dbg stop"
        )

    def send(self, command: str) -> asyncio.Future[Answer]:
        """Send a command; the future becomes its answer. The caller bounds the wait."""
        future: asyncio.Future[Answer] = self._loop.create_future()
        if self._lost is not None or self._stream is None:
            error = self._lost or DebuggerLost(f"{self.name} was not started.")
            future.set_exception(DebuggerLost(error.message, next=error.next))
            future.exception()
            return future
        self._last_token += 1
        token = self._last_token
        self._expect(token, future)
        self._note("out", command)
        self._unsent.append((token, self._dialect.spell(token, command)))
        self._flush()
        return future

    def _expect(self, token: int, future: asyncio.Future[Answer]) -> None:
        self._waiting[token] = future

        def forget(done: asyncio.Future[Answer]) -> None:
            if self._waiting.get(token) is done:
                del self._waiting[token]

        future.add_done_callback(forget)

    def _flush(self) -> None:
        assert self._stream is not None
        while self._unsent and (self._dialect.pipelined or self._in_flight is None):
            token, data = self._unsent.popleft()
            self._in_flight = token
            self._stream.write(data)

    # --- what comes back

    def _data(self, data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        self.said.feed(text)
        self._note("in", text)
        try:
            arrived = self._dialect.feed(data)
        except DebuggerLost as error:
            # It does not speak what it should: nothing after this can be read.
            assert self._stream is not None
            self._stream.close()
            self._eof(error.message)
            return
        for each in arrived:
            if isinstance(each, Reply):
                assert self._stream is not None
                self._note("out", each.data.decode("utf-8", "replace"))
                self._stream.write(each.data)
            else:
                self._inbox.append(each)
        if self._turn is None:
            self._dispatch()

    def _eof(self, reason: str | None) -> None:
        self._ended = f"the connection to {self.name} broke: {reason}." if reason else ""
        if self._turn is None:
            self._dispatch()

    def _dispatch(self) -> None:
        """Handle what has arrived, as far as this turn of the loop allows."""
        self._turn = None
        until = time.monotonic() + _SLICE_S
        while self._inbox:
            incoming = self._inbox.popleft()
            woken = False
            if isinstance(incoming, tuple):
                woken = self._answered(*incoming)
            else:
                self._tell(incoming)
            # A future wakes its task through the loop's queue; standing behind it in that queue
            # lets it run before we go on.
            if self._inbox and (woken or time.monotonic() > until):
                self._turn = self._loop.call_soon(self._dispatch)
                return
        if self._ended is not None:
            self._end()

    def _end(self) -> None:
        """The line is closed: say how the debugger ended, which is known a moment later."""
        process = self.process
        if process is None or process.returncode is not None:
            self._give_up()
        elif self._farewell is None:
            self._farewell = self._loop.call_later(_FAREWELL_S, self._give_up)
            process.on_exit(lambda _: self._give_up())

    def _give_up(self) -> None:
        if self._lost is None:
            self._fail(self._last(self._ending()))

    def _ending(self) -> str:
        process = self.process
        if process is not None and process.returncode is not None and process.returncode < 0:
            return f"{self.name} was killed by {signal_name(-process.returncode)}."
        return self._ended or f"{self.name} ended."

    def _tell(self, notice: Notice) -> None:
        try:
            self._hear(notice)
        except Exception:
            log.exception("%s: %r was not handled", self.name, notice)

    def _answered(self, token: int | None, answer: Answer) -> bool:
        if token == self._in_flight:
            self._in_flight = None
        future = self._waiting.get(token) if token is not None else None
        if self._unsent and self._lost is None:
            self._flush()
        if future is None or future.done():
            return False
        future.set_result(answer)
        return True

    # --- the end

    def _last(self, fact: str) -> DebuggerLost:
        """Join the fact with the debugger's last words."""
        if self._stderr is not None:
            self._stderr.drain_now()
        words = str(self.words).strip()
        if words:
            gap = "\n" if "\n" in words else " "
            fact = f"{fact.rstrip('.')}; its last words:{gap}{words}"
        return DebuggerLost(fact, next="dbg logs")

    def _fail(self, error: DebuggerLost) -> None:
        if self._lost is not None:
            return
        self._lost = error
        if self._farewell is not None:
            self._farewell.cancel()
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        self._inbox.clear()
        self._unsent.clear()
        if self._stream is not None:
            self._stream.close()
        for future in list(self._waiting.values()):
            if not future.done():
                future.set_exception(DebuggerLost(error.message, next=error.next))
                future.exception()
        if self._on_lost is not None:
            self._on_lost(error)

    def _note(self, direction: str, text: str) -> None:
        if self._tap is not None:
            self._tap.write(self.name, direction, {"text": text})
