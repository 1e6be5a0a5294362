"""Run a program to its end and take what it printed: bounded, cancelable, nobody waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from freezeframe.errors import DebuggerTimeout

from .drain import Drain
from .process import PIPE, Process

#: of each stream; what comes later is read and dropped
_KEPT = 4_000_000


@dataclass(frozen=True, slots=True)
class Ran:
    """How it went. *status* is negative for a signal."""

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
) -> Ran:
    """Run *argv* to its end, without input. *on_text* gets what it says, as it comes.

    Whoever is cancelled meanwhile leaves nothing of it behind. Raises LaunchFailed where it cannot
    be started, DebuggerTimeout when it was killed after *timeout_s*.
    """
    began = time.monotonic()
    process = Process.spawn(argv, cwd=cwd, env=env, stdout=PIPE, stderr=PIPE)
    kept = _Kept(), _Kept()

    def feed(stream: _Kept, text: str) -> None:
        stream.feed(text)
        on_text(text)

    drains = (
        Drain(process.take_stdout(), partial(feed, kept[0])),
        Drain(process.take_stderr(), partial(feed, kept[1])),
    )
    try:
        for drain in drains:
            drain.start()
        status = await process.wait(timeout_s)
        for drain in drains:
            drain.drain_now()
    except BaseException as error:
        await process.kill_tree()
        if isinstance(error, DebuggerTimeout):
            words = f"{process.name} was not done within {timeout_s:g} s, and was ended."
            raise DebuggerTimeout(words) from None
        raise
    finally:
        for drain in drains:
            drain.close()
        process.close()
    return Ran(status, str(kept[0]), str(kept[1]), time.monotonic() - began)


class _Kept:
    """The beginning of a text."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0

    def feed(self, text: str) -> None:
        if self._size < _KEPT:
            self._parts.append(text)
            self._size += len(text)

    def __str__(self) -> str:
        return "".join(self._parts)
