"""Programs that do not stop in time: where their threads wait, as far as it can be seen."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends.backend import Backend, Feature, Stopped
from freezeframe.backends.snapshots import ExplainsBlindness, HaltsBriefly, Snapshot, TakesSnapshots
from freezeframe.backends.transport.system_calls import waits_for_standard_input
from freezeframe.errors import DebuggerError
from freezeframe.model.answers import Backtrace, Stack, StopReport
from freezeframe.model.stops import Frame, StopReason, Thread
from freezeframe.model.values import Value
from freezeframe.session.handles import Handles
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState

from ._context import Context

_MOST_THREADS = 8
_DEEPEST = 60
_IN_STEP = "dbg pause shows where it waits, and ends the step"
#: User frames of each briefly halted thread whose variables are shown.
_LOOKS = 2
#: How long a program is kept halted for inspection, and how many threads are inspected.
_LOOK_S = 1.0
_MOST_LOOKED_AT = 200


async def with_stacks(session: Session, report: StopReport, *, paused: bool = False) -> StopReport:
    """Add the locations of threads and tasks to the report of a running program.

    *paused*: a pause was requested and has not happened. Returns *report* if nothing can be seen.
    """
    if report.state != Phase.RUNNING.value or report.waited_s is None or not session.live:
        return report
    if waits_for_input(session):
        report = replace(report, next=("input TEXT", *report.next[1:]))
    return await _with_stacks(session, report, paused=paused)


async def stacks_of_running(session: Session, report: StopReport) -> StopReport:
    """Return *report* with the stacks of a running program's threads, if they can be read."""
    return await _with_stacks(session, report, paused=False)


async def running_backtrace(
    ctx: Context,
    *,
    limit: int = 50,
    locals: bool = False,
    all_threads: bool = False,
    all: bool = False,
) -> Backtrace | None:
    """Return where the threads of a running program are; None where that cannot be read."""
    session = ctx.session
    empty = StopReport(session=session.name, state=Phase.RUNNING.value)
    report = await _with_stacks(session, empty, paused=False)
    if not report.stacks:
        return None
    stacks = []
    for stack in report.stacks:
        more = None if stack.more is None else stack.more + len(stack.frames[limit:])
        values = stack.values if locals else {}
        stacks.append(replace(stack, frames=stack.frames[:limit], more=more, values=values))
    return Backtrace(
        tuple(stacks), unfold=all, running=True, tasks=report.tasks, notes=report.notes
    )


def waits_for_input(session: Session) -> bool:
    """Whether the program is blocked reading the standard input that `input` writes to."""
    root = session.root
    if root.backend is None or not root.live or Feature.STDIN not in root.backend.features:
        return False
    pids = {member.pid for member in root.tree() if member.live and member.pid is not None}
    return any(map(waits_for_standard_input, pids))


async def _with_stacks(session: Session, report: StopReport, *, paused: bool) -> StopReport:
    backend = session.require_backend()
    seen: Snapshot | None = None
    if isinstance(backend, TakesSnapshots):
        try:
            seen = await backend.snapshot()
        except DebuggerError:
            seen = None
    if seen is None and not paused and isinstance(backend, HaltsBriefly):
        return await _with_halt(session, backend, report)
    if seen is None:
        notes = await _where_it_waits(session) if paused else ()
        return replace(report, notes=(*report.notes, *notes))
    notes = ("it stops as soon as a thread returns from its wait",) if paused else ()
    notes = (*report.notes, *seen.notes, *notes)
    return replace(report, stacks=seen.stacks, tasks=seen.tasks, notes=notes)


async def _with_halt(session: Session, backend: HaltsBriefly, report: StopReport) -> StopReport:
    """Add the stacks of a program that is halted briefly to read them."""
    async with session.exclusive():
        if session.phase is not Phase.RUNNING:
            return report
        try:
            async with backend.halt_briefly() as halted:
                if halted is False:
                    return replace(report, notes=(*report.notes, _IN_STEP))
                if halted is None:
                    return replace(report, notes=(*report.notes, *_blindness(backend)))
                stacks, missing = await _halted_stacks(session.require_backend())
                seen = None
                if isinstance(backend, TakesSnapshots):
                    seen = await backend.snapshot(stacks=False)
        except DebuggerError:
            return report
    notes = (f"{missing} more threads",) if missing else ()
    tasks = seen.tasks if seen is not None else ()
    return replace(report, stacks=stacks, tasks=tasks, notes=(*report.notes, *notes))


def _blindness(backend: object) -> tuple[str, ...]:
    why = backend.blind_because if isinstance(backend, ExplainsBlindness) else None
    return () if why is None else (why,)


async def _halted_stacks(backend: Backend) -> tuple[tuple[Stack, ...], int]:
    """Return the stacks of threads, identical ones once, and how many threads were left out."""
    until = time.monotonic() + _LOOK_S
    halt = StopState(0, Stopped(StopReason.PAUSE, None), backend, Thread(-1, ""), Handles(0))
    found: dict[tuple[tuple[str, str | None, int | None], ...], list[Stack]] = {}
    threads = await backend.threads()
    for thread in threads[:_MOST_LOOKED_AT]:
        if time.monotonic() > until:
            break
        frames = await halt.frames(_DEEPEST, thread=thread.id)
        locations = tuple((each.function, each.path, each.line) for each in frames)
        found.setdefault(locations, []).append(_seen(thread, frames))
    # Runtime threads matter only if no thread runs the user's code.
    own = [alike for alike in found.values() if not all(f.library for f in alike[0].frames)]
    shown = (own or list(found.values()))[:_MOST_THREADS]
    stacks = []
    for alike in shown:
        stack = alike[0]
        if time.monotonic() < until:
            _, values = await halt.read_thread(
                stack.thread.id, len(stack.frames), _LOOKS, libraries=False
            )
            # Handles become invalid when the program resumes.
            kept = {index: tuple(map(_without_handle, each)) for index, each in values.items()}
            stack = replace(stack, values=kept)
        stacks.append(_grouped(stack, len(alike) - 1))
    foreign = sum(map(len, found.values())) - sum(map(len, own)) if own else 0
    return tuple(stacks), len(threads) - foreign - sum(map(len, shown))


def _seen(thread: Thread, frames: Sequence[Frame]) -> Stack:
    thread = replace(thread, state=waiting_for(frames), frame=frames[0] if frames else None)
    return Stack(thread, tuple(frames), None if len(frames) == _DEEPEST else 0, -1)


def waiting_for(frames: Sequence[Frame]) -> str:
    """Return what a thread does in the innermost user frame: runs, or what it waits in."""
    found = next((frame.index for frame in frames if not frame.library), None)
    waits = next((frame.waits for frame in frames[:found] if frame.waits), None)
    return waits or (f"in {frames[found - 1].function}" if found else "running")


def with_lock(thread: Thread, frames: Sequence[Frame]) -> Thread:
    """Return the thread with the lock that it waits for as its state."""
    waits = any(frame.waits for frame in frames)
    return replace(thread, state=waiting_for(frames)) if waits else thread


def _without_handle(value: Value) -> Value:
    return replace(value, handle=None, children=tuple(map(_without_handle, value.children)))


def _grouped(stack: Stack, alike: int) -> Stack:
    if not alike:
        return stack
    text = f"and {alike} more like it"
    name = f"{stack.thread.name}, {text}" if stack.thread.name else text
    return replace(stack, thread=replace(stack.thread, name=name))


async def other_stacks(stop: StopState) -> tuple[Stack, ...]:
    """Return the stacks of the threads other than the one reported as paused."""
    try:
        threads = [each for each in await stop.backend.threads() if each.id != stop.thread.id]
    except DebuggerError:
        return ()
    stacks = []
    for thread in threads[:_MOST_THREADS]:
        try:
            frames = await stop.frames(_DEEPEST, thread=thread.id)
        except DebuggerError as error:
            stacks.append(Stack(thread, (), error=error.message, selected=-1))
            continue
        more = None if len(frames) == _DEEPEST else 0
        stacks.append(Stack(with_lock(thread, frames), tuple(frames), more, selected=-1))
    return tuple(stacks)


async def _where_it_waits(session: Session) -> tuple[str, ...]:
    """Return a line for each thread of a program that did not stop after a pause.

    Empty if the debugger shows stacks of stopped programs only.
    """
    backend = session.backend
    if backend is None or Feature.RUNNING_STACKS not in backend.features:
        return ()
    try:
        threads = await backend.threads()
    except DebuggerError:
        return ()
    shown = threads[:_MOST_THREADS]
    lines = await asyncio.gather(*(_line(session, backend, thread) for thread in shown))
    found = tuple(line for line in lines if line)
    if not found:
        return ()
    more = len(threads) - len(shown)
    return (
        "it stops as soon as a thread returns from its wait:",
        *found,
        *((f"{more} more threads",) if more else ()),
    )


async def _line(session: Session, backend: Backend, thread: Thread) -> str | None:
    """Return the location of a thread, in the user's code if possible."""
    try:
        frames, _ = await backend.frames(thread.id, 0, _DEEPEST)
    except DebuggerError:
        return None
    known = [frame for frame in frames if frame.path is not None and frame.line is not None]
    own = next((frame for frame in known if not frame.library), None)
    if own is None or own.path is None or own.line is None:
        return None
    text = (session.sources.line(own.path, own.line) or "").strip()
    called = known[0].function if known[0] is not own else ""
    inside = f" (within {called})" if called else ""
    location = f"{os.path.basename(own.path)}:{own.line}"
    return f"{thread.name} is at {location} in {own.function}{inside}: {text}"
