"""Path mapping for a program that runs elsewhere: in a container, on another machine.

A `PathMapping` pairs remote folders with local ones. `mapped` wraps a backend, so that the session
and everything above it see only local paths, and the debugger only remote ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from freezeframe.errors import UsageError
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionInfo, WatchHit

from .backend import (
    Backend,
    BoundBreakpoint,
    BreakpointChanged,
    BreakpointRequest,
    ChildStarted,
    Configuration,
    Event,
    EventSink,
    RawFrame,
    Stopped,
    Target,
)
from .capabilities import DebuggerSources, Jumps


@dataclass(frozen=True, slots=True)
class PathMapping:
    """Pairs of remote and local folders. The first pair that contains a path applies."""

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
            folder = os.path.abspath(os.path.join(cwd, os.path.expanduser(local or ".")))
            if not os.path.isdir(folder):
                raise UsageError(
                    f"there is no folder {local} here.", next="dbg attach HOST:PORT --map /app=."
                )
            pairs.append((remote.rstrip("/\\") or "/", folder))
        return cls(tuple(pairs))

    def here(self, path: str | None) -> str | None:
        """Return the local path of a remote one."""
        return _replace_prefix(path, self.pairs)

    def there(self, path: str | None) -> str | None:
        """Return the remote path of a local one."""
        return _replace_prefix(path, [(local, remote) for remote, local in self.pairs])


def _replace_prefix(path: str | None, pairs: Sequence[tuple[str, str]]) -> str | None:
    for before, after in pairs:
        if path is not None and (path == before or path.startswith(before.rstrip("/") + "/")):
            return after.rstrip("/") + path[len(before.rstrip("/")) :]
    return path


def mapped(make: Callable[[], Backend], mapping: PathMapping | None) -> Callable[[], Backend]:
    """Return a factory of backends with local paths."""
    if mapping is None or not mapping.pairs:
        return make
    return lambda: _map(make(), mapping)


def _map(backend: Backend, mapping: PathMapping) -> Backend:
    """Return a backend with local paths that has the optional parts of *backend*."""
    names = {name for name in dir(backend) if not name.startswith("_")}
    parts = {name: _forwarded(name) for name in names if not hasattr(_Mapped, name)}
    return cast(Backend, type("MappedBackend", (_Mapped,), parts)(backend, mapping))


def _forwarded(name: str) -> property:
    return property(lambda self: getattr(self._inner, name))


class _Mapped:
    """A backend with all paths mapped in both directions."""

    def __init__(self, inner: Backend, mapping: PathMapping) -> None:
        self._inner = inner
        self._mapping = mapping

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def start(
        self, target: Target, configuration: Configuration, sink: EventSink
    ) -> Sequence[BoundBreakpoint]:
        requests = [self._to_remote(each) for each in configuration.breakpoints]
        return [
            self._bound(each)
            for each in await self._inner.start(
                target,
                replace(configuration, breakpoints=requests),
                lambda event: sink(self._event(event)),
            )
        ]

    async def set_breakpoints(
        self, path: str, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        remote = self._mapping.there(path) or path
        bound = await self._inner.set_breakpoints(
            remote, [self._to_remote(each) for each in requests]
        )
        return [self._bound(each) for each in bound]

    async def set_function_breakpoints(
        self, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        return [self._bound(each) for each in await self._inner.set_function_breakpoints(requests)]

    async def jump(self, thread: int, path: str, line: int) -> None:
        assert isinstance(self._inner, Jumps)
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
        assert isinstance(self._inner, DebuggerSources)
        return await self._inner.source(reference, self._mapping.there(path))

    def _to_remote(self, request: BreakpointRequest) -> BreakpointRequest:
        location: Location = request.location
        remote = replace(location, file=self._mapping.there(location.file))
        return replace(request, location=remote)

    def _bound(self, bound: BoundBreakpoint) -> BoundBreakpoint:
        return replace(bound, path=self._mapping.here(bound.path))

    def _watch(self, hit: WatchHit) -> WatchHit:
        return replace(hit, path=self._mapping.here(hit.path))

    def _event(self, event: Event) -> Event:
        if isinstance(event, BreakpointChanged):
            return BreakpointChanged(self._bound(event.breakpoint))
        if isinstance(event, Stopped) and event.watch is not None:
            return replace(event, watch=self._watch(event.watch))
        if isinstance(event, ChildStarted):
            return replace(event, backend=_map(event.backend, self._mapping))
        return event
