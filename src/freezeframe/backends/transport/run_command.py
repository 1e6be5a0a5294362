"""Run a program to its end and return its output, with a time limit; cancellation kills it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from freezeframe.errors import DebuggerTimeout
from freezeframe.model.fast_dataclass import dataclass

from .fd_reader import TextReader
from .process import PIPE, Process

#: characters kept of each stream; later output is read and dropped
_LIMIT = 4_000_000


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command. *status* is negative for a signal."""

    status: int
    out: str
    err: str
    took_s: float


async def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout_s: float,
    on_text: Callable[[str], None] = lambda text: None,
) -> CommandResult:
    """Run *argv* to its end, without input. *on_text* receives the output as it arrives.

    Cancellation kills the program and its descendants. Raises LaunchFailed if it cannot be started,
    DebuggerTimeout when it was killed after *timeout_s*.
    """
    began = time.monotonic()
    process = Process.spawn(argv, cwd=cwd, env=env, stdout=PIPE, stderr=PIPE)
    outputs = _Head(), _Head()

    def feed(stream: _Head, text: str) -> None:
        stream.feed(text)
        on_text(text)

    readers = (
        TextReader(process.take_stdout(), partial(feed, outputs[0])),
        TextReader(process.take_stderr(), partial(feed, outputs[1])),
    )
    try:
        for reader in readers:
            reader.start()
        status = await process.wait(timeout_s)
        for reader in readers:
            reader.drain_now()
    except BaseException as error:
        await process.kill_tree()
        if isinstance(error, DebuggerTimeout):
            message = f"{process.name} was not done within {timeout_s:g} s, and was ended."
            raise DebuggerTimeout(message) from None
        raise
    finally:
        for reader in readers:
            reader.close()
        process.close()
    return CommandResult(status, str(outputs[0]), str(outputs[1]), time.monotonic() - began)


class _Head:
    """The beginning of a text."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0

    def feed(self, text: str) -> None:
        if self._size < _LIMIT:
            self._parts.append(text)
            self._size += len(text)

    def __str__(self) -> str:
        return "".join(self._parts)
