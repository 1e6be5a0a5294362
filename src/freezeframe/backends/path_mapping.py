"""Paths of a program that runs elsewhere: in a container, on another machine.

A `PathMapping` pairs folders there with folders here. `mapped` puts it around a backend, so that
the session and everything above it know paths of this machine only, the debugger those of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from freezeframe.errors import UsageError
from freezeframe.model.places import Location
from freezeframe.model.records import dataclass
from freezeframe.model.stops import ExceptionInfo, WatchHit

from .backend import (
    Backend,
    BoundBreakpoint,
    BreakpointMoved,
    ChildStarted,
    Configuration,
    Event,
    RawFrame,
    Sink,
    Stopped,
    Target,
    WantedBreakpoint,
)


@dataclass(frozen=True, slots=True)
class PathMapping:
    """Pairs of folders: where the program runs, and here. The first that contains a path counts."""

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, texts: Sequence[str], cwd: str) -> PathMapping:
        """Read `REMOTE=LOCAL` pairs; local folders are relative to *cwd*. Raises UsageError."""
        pairs = []
        for text in texts:
            remote, equals, local = text.partition("=")
            if not equals or not (remote.startswith(("/", "\\")) or ":" in remote):
                raise UsageError(
                    f"{text!r} does not map a folder there to one here.",
                    next="dbg attach HOST:PORT --map /app=.",
                )
            here = os.path.abspath(os.path.join(cwd, os.path.expanduser(local or ".")))
            if not os.path.isdir(here):
                raise UsageError(
                    f"there is no folder {local} here.", next="dbg attach HOST:PORT --map /app=."
                )
            pairs.append((remote.rstrip("/\\") or "/", here))
        return cls(tuple(pairs))

    def here(self, path: str | None) -> str | None:
        """Return a path of the program's as it is called here."""
        return _moved(path, self.pairs)

    def there(self, path: str | None) -> str | None:
        """Return a path of ours as the program's machine calls it."""
        return _moved(path, [(local, remote) for remote, local in self.pairs])


def _moved(path: str | None, pairs: Sequence[tuple[str, str]]) -> str | None:
    for before, after in pairs:
        if path is not None and (path == before or path.startswith(before.rstrip("/") + "/")):
            return after.rstrip("/") + path[len(before.rstrip("/")) :]
    return path


def mapped(make: Callable[[], Backend], mapping: PathMapping | None) -> Callable[[], Backend]:
    """Return what makes a backend whose paths are those of this machine."""
    if mapping is None or not mapping.pairs:
        return make
    return lambda: cast(Backend, _Mapped(make(), mapping))


class _Mapped:
    """A backend with every path translated on its way in or out."""

    def __init__(self, inner: Backend, mapping: PathMapping) -> None:
        self._inner = inner
        self._mapping = mapping

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def start(
        self, target: Target, configuration: Configuration, sink: Sink
    ) -> Sequence[BoundBreakpoint]:
        wanted = [self._wanted(each) for each in configuration.breakpoints]
        return [
            self._bound(each)
            for each in await self._inner.start(
                target,
                replace(configuration, breakpoints=wanted),
                lambda event: sink(self._event(event)),
            )
        ]

    async def set_breakpoints(
        self, path: str, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        there = self._mapping.there(path) or path
        bound = await self._inner.set_breakpoints(there, [self._wanted(each) for each in wanted])
        return [self._bound(each) for each in bound]

    async def set_function_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        return [self._bound(each) for each in await self._inner.set_function_breakpoints(wanted)]

    async def jump(self, thread: int, path: str, line: int) -> None:
        await self._inner.jump(thread, self._mapping.there(path) or path, line)

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        frames, total = await self._inner.frames(thread, start, count)
        return [replace(each, path=self._mapping.here(each.path)) for each in frames], total

    async def exception(self, thread: int) -> ExceptionInfo | None:
        found = await self._inner.exception(thread)
        if found is None:
            return None
        lines = (
            replace(each, path=self._mapping.here(each.path) or each.path)
            for each in found.traceback
        )
        return replace(found, traceback=tuple(lines))

    async def source(self, reference: int, path: str | None) -> str:
        return await self._inner.source(reference, self._mapping.there(path))

    def _wanted(self, wanted: WantedBreakpoint) -> WantedBreakpoint:
        location: Location = wanted.location
        there = replace(location, file=self._mapping.there(location.file))
        return replace(wanted, location=there)

    def _bound(self, bound: BoundBreakpoint) -> BoundBreakpoint:
        return replace(bound, path=self._mapping.here(bound.path))

    def _watch(self, hit: WatchHit) -> WatchHit:
        return replace(hit, path=self._mapping.here(hit.path))

    def _event(self, event: Event) -> Event:
        if isinstance(event, BreakpointMoved):
            return BreakpointMoved(self._bound(event.breakpoint))
        if isinstance(event, Stopped) and event.watch is not None:
            return replace(event, watch=self._watch(event.watch))
        if isinstance(event, ChildStarted):
            return replace(event, backend=cast(Backend, _Mapped(event.backend, self._mapping)))
        return event
