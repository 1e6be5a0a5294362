"""Capture a stop: the requests sent to the debugger once, before the stop is reported."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from freezeframe.backends.backend import Stopped
from freezeframe.backends.capabilities import HitQueries
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import Frame, Stop, StopReason, Thread

from .fault_analysis import explain_fault
from .stop_state import FIRST_FRAMES, FrameView, StopState, inlined_into

if TYPE_CHECKING:
    from .session import Session


async def capture_stop(session: Session, stop: StopState) -> None:
    """Fill in *stop* and make it ready. Bounded; a failure is kept in `stop.error`."""
    try:
        async with asyncio.timeout(session.config.timeouts.request_s):
            await _read_stop(session, stop)
    except DebuggerError as error:
        stop.error = error.message
    except TimeoutError:
        stop.error = "the debugger did not report in time where the program stopped"
    finally:
        stop.backend.drain()
        if not stop.ready.done():
            stop.ready.set_result(None)


async def _read_stop(session: Session, stop: StopState) -> None:
    event = stop.event
    frames = await _read_thread(session, stop)
    if event.reason is StopReason.PAUSE:
        waits = next((frame.waits for frame in frames if frame.waits), None)
        stop.notes += (f"the thread waits: {waits}",) if waits else ()
    if event.reason in (StopReason.EXCEPTION, StopReason.SIGNAL):
        stop.exception = await stop.backend.exception(stop.thread.id)
    count_watch_hits(session, event)
    await _keep_hit_breakpoints(stop)
    _count_hits(session, stop)
    await _remove_temporary_breakpoints(session, stop)
    if frames and not session.root.captures_frames_only:
        await read_selected_frame(session, stop, frames)


async def _read_thread(session: Session, stop: StopState) -> list[Frame]:
    """Identify the stopped thread; return its innermost frames."""
    if stop.event.thread is None:
        threads = await stop.backend.threads()
        if threads:
            stop.thread = replace(threads[0], current=True)
    frames = await stop.frames(FIRST_FRAMES)
    # lldb-dap 22 omits a thread that has just started, the first time.
    for _ in range(2):
        if stop.thread.id not in session.thread_names:
            await _learn_threads(session, stop)
    name = session.thread_names.get(stop.thread.id, "")
    # A thread names itself when it begins: the names of the others may change until they stop.
    session.thread_names = {stop.thread.id: name}
    stop.thread = Thread(
        stop.thread.id,
        name,
        frame=frames[0] if frames else None,
        current=True,
    )
    return frames


def count_watch_hits(session: Session, event: Stopped) -> None:
    """Count the watchpoints that a stop was for; forget those that are out of scope."""
    for hit in (event.watch, *event.watch.also) if event.watch is not None else ():
        point = session.watchpoints.pop(hit.id, None)
        if point is not None and not hit.ended:
            session.watchpoints[hit.id] = replace(point, hits=point.hits + 1)


def _count_hits(session: Session, stop: StopState) -> None:
    """Count the hit breakpoints; note those that an edit has moved to another line."""
    entries = session.breakpoints.entries
    hit = [id for id in stop.event.breakpoints if id in entries]
    for id in hit:
        entries[id].hits += 1
    if session.parent is not None:
        stop.notes += tuple(
            f"breakpoint {id} was set at `{entries[id].text}`; an edit has put another line there"
            for id in hit
            if id in session.edited_files.replaced
        )


async def read_selected_frame(session: Session, stop: StopState, frames: list[Frame]) -> None:
    """Select the frame to show, read it, and note what makes it misleading."""
    reason = stop.event.reason
    stop.selected = await stop.choose_frame(frames)
    if stop.selected == 0 and session.sources.unreadable(frames[0]):
        stop.selected = inlined_into(frames) or 0
        stop.inlined = stop.selected > 0
    stop.first_selected = stop.selected
    stop.view = session.frame_snapshots.compare(stop, await stop.read_frame(stop.selected))
    at = stop.view.frame
    if at.path and session.target is not None:
        newer = session.edited_files.newer(at.path, session.target.program, session.started)
        stop.notes += (newer,) if newer else ()
    if not _has_finished(session.step_out_origin, stop):
        # Debuggers keep the return value of any function in the scope, long after.
        stop.view.returned = None
    if reason is StopReason.EXCEPTION and not await stop.scopes(stop.selected):
        kind = f" {stop.exception.type}" if stop.exception is not None else ""
        note = f"the stack has unwound and its variables are gone: dbg catch raised{kind}"
        stop.notes += (note,)
    if reason is StopReason.SIGNAL and stop.exception is None:
        line = session.sources.line(at.path, at.line) if at.path and at.line else None
        cause = await explain_fault(stop, frames, line)
        stop.notes += (cause,) if cause else ()


def _has_finished(before: StopState | None, now: StopState) -> bool:
    """Whether *now* is the end of the step out that began at *before*.

    Most debuggers report a breakpoint at that location as the reason; a breakpoint inside the
    function is another stop.
    """
    if before is None or now.event.reason is StopReason.STEP:
        return before is not None
    if now.event.reason is not StopReason.BREAKPOINT or before.thread.id != now.thread.id:
        return False
    if before.depth is not None and now.depth is not None and now.depth >= before.depth:
        return False
    callers, here = before.fetched_frames()[1:], now.fetched_frames()
    pairs = zip(callers, here, strict=False)
    return bool(callers) and all((a.path, a.function) == (b.path, b.function) for a, b in pairs)


async def _learn_threads(session: Session, stop: StopState) -> None:
    known = await stop.backend.threads()
    session.thread_names = {thread.id: thread.name for thread in known}
    # Some debuggers send no thread events: their threads are learned here.
    session.threads |= {thread.id for thread in known}


async def _keep_hit_breakpoints(stop: StopState) -> None:
    """Keep only the breakpoints that caused the stop, of those that share its location."""
    event = stop.event
    if not event.breakpoints or not isinstance(stop.backend, HitQueries):
        return
    hit = await stop.backend.hit_breakpoints(event.breakpoints)
    stop.event = replace(event, breakpoints=hit.breakpoints)
    stop.notes = tuple(
        f"the condition of breakpoint {id} fails: {why}" for id, why in hit.failures.items()
    )


async def _remove_temporary_breakpoints(session: Session, stop: StopState) -> None:
    """Remove internal breakpoints and the temporary ones that were hit."""
    if session.internal_breakpoints:
        internal, session.internal_breakpoints = session.internal_breakpoints, []
        await session.apply(internal)
    entries = session.breakpoints.entries
    hit = [entries[id] for id in stop.event.breakpoints if id in entries]
    removed = [entries.pop(entry.id) for entry in hit if entry.temporary]
    if removed:
        await session.apply_to_workspace(removed)


async def current_view(session: Session, stop: StopState) -> FrameView | None:
    """Return the variables of the selected frame as they are now."""
    seen = stop.view
    if seen is not None and stop.invalidated and session.current_stop is stop:
        stop.invalidated = stop.user_changed = False
        fresh = await stop.read_frame(seen.frame.index)
        stop.view = session.frame_snapshots.renew(stop, seen, fresh)
    return stop.view


async def before_resume(session: Session, stop: StopState) -> None:
    """Read what the user has changed, so that the next stop does not show it as a change.

    A debugger that compares the values of two stops itself knows.
    """
    if stop.user_changed and stop.view is not None and not stop.view.compared:
        with contextlib.suppress(DebuggerError):
            await current_view(session, stop)


def stop_of(stop: StopState) -> Stop:
    """Return the stop as answers show it."""
    event = stop.event
    reached = event.breakpoints and all(id < 0 for id in event.breakpoints)
    reached = reached and event.watch is None
    return Stop(
        number=stop.number,
        # A stop at an internal breakpoint (of `until`) is reported as a step.
        reason=StopReason.STEP if reached else event.reason,
        thread=stop.thread,
        frame=stop.user_frame,
        description=event.description,
        breakpoints=tuple(id for id in event.breakpoints if id > 0),
        exception=stop.exception,
        all_threads=event.all_threads,
        watch=event.watch,
    )
