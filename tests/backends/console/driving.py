"""Drive a console backend directly: no session, no daemon."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from freezeframe.backends.backend import (
    Backend,
    BoundBreakpoint,
    BreakpointRequest,
    Configuration,
    Event,
    ExitedEvent,
    Launch,
    OutputEvent,
    ProcessStarted,
    RawFrame,
    RawValue,
    Stopped,
    Target,
)
from freezeframe.backends.console.debuggers import known
from freezeframe.backends.debugger import Found
from freezeframe.config import AdapterConfig, Config
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter
from freezeframe.model.values import ScopeKind

NAME = "gdb-mi"


def backend(config: Config | None = None) -> Backend:
    debugger = known()[NAME]
    found = debugger.find(os.environ, AdapterConfig())
    if not isinstance(found, Found):
        pytest.skip(f"{found.reason}; {debugger.install[0]}")
    return debugger.make(found, config or Config())


class Driver:
    """A backend with everything that it reported, waited for in order."""

    def __init__(self, config: Config | None = None, made: Backend | None = None) -> None:
        self.backend = made or backend(config)
        self.events: list[Event] = []
        self.bound: dict[int, BoundBreakpoint] = {}
        self._news = asyncio.Event()
        self._seen = 0

    def _sink(self, event: Event) -> None:
        self.events.append(event)
        self._news.set()

    async def start(
        self,
        target: Target,
        *breakpoints: BreakpointRequest,
        filters: Sequence[ExceptionFilter] | None = None,
    ) -> None:
        configuration = Configuration(breakpoints, filters)
        bound = await self.backend.start(target, configuration, self._sink)
        self.bound = {each.id: each for each in bound}

    async def next(self, timeout_s: float = 15.0) -> Stopped | ExitedEvent:
        """Return the next stop, or the end."""
        async with asyncio.timeout(timeout_s):
            while True:
                while self._seen < len(self.events):
                    event = self.events[self._seen]
                    self._seen += 1
                    if isinstance(event, Stopped | ExitedEvent):
                        return event
                self._news.clear()
                await self._news.wait()

    async def until_printed(self, words: str, stream: str = "stdout") -> None:
        async with asyncio.timeout(15):
            while words not in self.printed(stream):
                self._news.clear()
                await self._news.wait()

    async def stop(self) -> Stopped:
        event = await self.next()
        assert isinstance(event, Stopped), event
        return event

    async def end(self) -> ExitedEvent:
        event = await self.next()
        assert isinstance(event, ExitedEvent), event
        return event

    async def go(self, thread: int = 1) -> Stopped | ExitedEvent:
        await self.backend.resume(thread)
        return await self.next()

    def printed(self, stream: str = "stdout") -> str:
        return "".join(
            e.text for e in self.events if isinstance(e, OutputEvent) and e.stream == stream
        )

    @property
    def pid(self) -> int:
        found = [e.pid for e in self.events if isinstance(e, ProcessStarted) and e.pid]
        assert found
        return found[-1]

    async def frames(self, thread: int | None = None, count: int = 50) -> Sequence[RawFrame]:
        stops = [event.thread for event in self.events if isinstance(event, Stopped)]
        stopped = stops[-1] if stops else None
        chosen = thread if thread is not None else 1 if stopped is None else stopped
        return (await self.backend.frames(chosen, 0, count))[0]

    async def values(self, kind: ScopeKind, frame: int | None = None) -> dict[str, RawValue]:
        if frame is None:
            frame = (await self.frames())[0].id
        found = {}
        for scope in await self.backend.scopes(frame):
            if scope.kind is kind:
                found |= {v.name: v for v in await self.backend.children(scope.ref)}
        return found

    async def locals(self, frame: int | None = None) -> dict[str, str]:
        values = await self.values(ScopeKind.LOCALS, frame)
        return {name: value.text for name, value in values.items() if not value.returned}

    async def all_locals(self) -> list[RawValue]:
        """Return the variables of the innermost frame, and what a function returned with."""
        return list((await self.values(ScopeKind.LOCALS)).values())

    async def evaluate(self, expression: str) -> RawValue:
        return await self.backend.evaluate(expression, (await self.frames())[0].id)

    async def place(self) -> tuple[str, int | None]:
        frame = (await self.frames())[0]
        return frame.function, frame.line

    async def __aenter__(self) -> Driver:
        return self

    async def __aexit__(self, *_: object) -> None:
        process = self.backend.process  # type: ignore[attr-defined]
        await self.backend.terminate()
        await self.backend.dispose()
        assert process is None or process.returncode is not None


class Source:
    """A program and its binary; `// @name` in a line names its number."""

    def __init__(self, path: Path, binary: Path) -> None:
        self.path = str(path)
        self.binary = str(binary)
        self._lines = path.read_text().splitlines()

    def line(self, marker: str) -> int:
        found = [i for i, text in enumerate(self._lines, 1) if text.rstrip().endswith(f"@{marker}")]
        assert len(found) == 1, f"{marker}: {found}"
        return found[0]

    def at(self, marker: str, id: int = 1, **how: str) -> BreakpointRequest:
        return BreakpointRequest(id, Location(file=self.path, line=self.line(marker)), **how)

    def launch(self, *args: str, **how: object) -> Launch:
        settings = {"cwd": os.path.dirname(self.path), "env": dict(os.environ), **how}
        return Launch(self.binary, args, **settings)  # type: ignore[arg-type]


def on(function: str, id: int = 1, **how: str) -> BreakpointRequest:
    return BreakpointRequest(id, Location.parse(function), **how)


_COMPILERS = {".c": ["gcc"], ".cpp": ["g++"], ".rs": ["rustc"]}


def build(directory: Path, name: str, text: str, *flags: str, output: str | None = None) -> Source:
    """Write a program and compile it; skips where there is no compiler."""
    path = directory / name
    path.write_text(text)
    binary = directory / (output or path.stem)
    command = _COMPILERS[path.suffix]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    options = ["-g", *flags, "-o", str(binary), str(path)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=directory)
    assert done.returncode == 0, done.stderr
    return Source(path, binary)
