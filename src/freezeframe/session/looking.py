"""The first look at a stop: what the debugger is asked, once, for everyone who reports it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from freezeframe.errors import DebuggerError
from freezeframe.model.stops import Stop, StopReason, Thread

from .faults import explain
from .moment import FIRST_FRAMES, FrameView, Moment, inlined_into

if TYPE_CHECKING:
    from .session import Session


async def look(session: Session, moment: Moment) -> None:
    """Fill in the moment and make it ready. Bounded; what went wrong is its `trouble`."""
    try:
        async with asyncio.timeout(session.config.timeouts.request_s):
            await _ask(session, moment)
    except DebuggerError as error:
        moment.trouble = error.message
    except TimeoutError:
        moment.trouble = "the debugger did not say where the program stands in time"
    finally:
        moment.backend.drain()
        if not moment.ready.done():
            moment.ready.set_result(None)


async def _ask(session: Session, moment: Moment) -> None:
    event = moment.event
    if event.thread is None:
        threads = await moment.backend.threads()
        if threads:
            moment.thread = replace(threads[0], current=True)
    frames = await moment.frames(FIRST_FRAMES)
    if moment.thread.id not in session.thread_names:
        await _learn_threads(session, moment)
        if moment.thread.id not in session.thread_names:
            # lldb-dap 22 leaves out a thread that has only just begun, the first time.
            await _learn_threads(session, moment)
    moment.thread = Thread(
        moment.thread.id,
        session.thread_names.get(moment.thread.id, ""),
        frame=frames[0] if frames else None,
        current=True,
    )
    if event.reason is StopReason.PAUSE:
        waits = next((frame.waits for frame in frames if frame.waits), None)
        moment.remarks += (f"the thread waits: {waits}",) if waits else ()
    if event.reason in (StopReason.EXCEPTION, StopReason.SIGNAL):
        moment.exception = await moment.backend.exception(moment.thread.id)
    for hit in (event.watch, *event.watch.also) if event.watch is not None else ():
        if hit.ended:
            session.watchpoints.pop(hit.id, None)
    await _tell_passed(moment)
    for id in moment.event.breakpoints:
        if id in session.book.wanted:
            session.book.wanted[id].hits += 1
    if session.parent is not None:
        moment.remarks += tuple(
            f"breakpoint {id} was set at `{session.book.wanted[id].text}`; an edit has put another "
            "line there"
            for id in moment.event.breakpoints
            if id in session.edits.replaced and id in session.book.wanted
        )
    await _forget_passing_breakpoints(session, moment)
    if frames:
        moment.selected = moment.choose_frame(frames)
        if moment.selected == 0 and session.sources.unreadable(frames[0]):
            moment.selected = inlined_into(frames) or 0
            moment.inlined = moment.selected > 0
        moment.first_selected = moment.selected
        moment.view = session.memory.compare(moment, await moment.look(moment.selected))
        if (path := moment.view.frame.path) and session.target is not None:
            newer = session.edits.newer(path, session.target.program, session.started)
            moment.remarks += (newer,) if newer else ()
        if not session.finishing or event.reason is not StopReason.STEP:
            # Debuggers keep what any function returned with in view, long after.
            moment.view.returned = None
        if event.reason is StopReason.EXCEPTION and not await moment.scopes(moment.selected):
            kind = f" {moment.exception.type}" if moment.exception is not None else ""
            remark = f"the stack has unwound and its variables are gone: dbg catch raised{kind}"
            moment.remarks += (remark,)
        if event.reason is StopReason.SIGNAL and moment.exception is None:
            at = moment.view.frame
            line = session.sources.line(at.path, at.line) if at.path and at.line else None
            cause = await explain(moment, frames, line)
            moment.remarks += (cause,) if cause else ()


async def _learn_threads(session: Session, moment: Moment) -> None:
    known = await moment.backend.threads()
    session.thread_names = {thread.id: thread.name for thread in known}
    # Debuggers that do not report threads as they come and go tell them now.
    session.threads |= {thread.id for thread in known}


async def _tell_passed(moment: Moment) -> None:
    """Keep the breakpoints that made the program stop, of those that share its place."""
    event = moment.event
    if not event.breakpoints:
        return
    passed = await moment.backend.passed(event.breakpoints)
    moment.event = replace(event, breakpoints=passed.breakpoints)
    moment.remarks = tuple(
        f"the condition of breakpoint {id} fails: {why}" for id, why in passed.failures.items()
    )


async def _forget_passing_breakpoints(session: Session, moment: Moment) -> None:
    """Remove what was only meant to bring the program here."""
    if session.private:
        passing, session.private = session.private, []
        await session.apply(passing)
    wanted = session.book.wanted
    hit = [wanted[id] for id in moment.event.breakpoints if id in wanted]
    gone = [wanted.pop(entry.id) for entry in hit if entry.temporary]
    if gone:
        await session.tell(gone)


async def current_view(session: Session, moment: Moment) -> FrameView | None:
    """Return the variables of the selected frame as they are now."""
    seen = moment.view
    if seen is not None and moment.touched and session.moment is moment:
        moment.touched = False
        fresh = await moment.look(seen.frame.index)
        moment.view = session.memory.renew(moment, seen, fresh)
    return moment.view


def stop_of(moment: Moment) -> Stop:
    """Return the reader's form of a stop."""
    event = moment.event
    reached = event.breakpoints and all(id < 0 for id in event.breakpoints)
    reached = reached and event.watch is None
    return Stop(
        number=moment.number,
        # A breakpoint of `until` is how it got there, not why it stopped.
        reason=StopReason.STEP if reached else event.reason,
        thread=moment.thread,
        frame=moment.standing,
        description=event.description,
        breakpoints=tuple(id for id in event.breakpoints if id > 0),
        exception=moment.exception,
        all_threads=event.all_threads,
        watch=event.watch,
    )
