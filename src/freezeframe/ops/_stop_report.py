"""Build the stop report, the answer of every resuming operation."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace

from freezeframe.backends.backend import BoundBreakpoint, Feature
from freezeframe.backends.capabilities import DebuggerSources, UnfollowedChildren
from freezeframe.errors import DebuggerError
from freezeframe.model.answers import Display, Instruction, StepTrail, StopReport
from freezeframe.model.locations import Source
from freezeframe.model.stops import Breakpoint, BreakpointState, Exit, Frame, StopReason
from freezeframe.model.values import Value
from freezeframe.session.breakpoints import describe_best
from freezeframe.session.displays import show
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.stop_capture import current_view, stop_of
from freezeframe.session.stop_state import StopState

from ._context import Context
from ._disassembly import machine_level
from ._failed_runs import after_failure, disturbed
from ._misspelt_functions import misspelt_function
from ._never_hit import is_of_another_program, never_hit
from ._test_report import at_end, at_stop

#: Limit of output in a stop report; the rest stays in the ring buffer.
_OUTPUT_LIMIT = 20_000
#: User frames that are named below a library's.
_CALLERS = 3


async def stop_report(
    ctx: Context,
    session: Session,
    stop: StopState,
    *,
    trail: tuple[StepTrail, ...] = (),
    notes: tuple[str, ...] = (),
    context_lines: int | None = None,
    first: bool = False,
    in_turn: bool = False,
) -> StopReport:
    """Return the report of a stop. *first*: the first report of this session.

    *in_turn*: the caller holds the session's lock.
    """
    peeks = ctx.caller.peeks
    displays = () if peeks else await _displays(ctx, session, stop, in_turn=in_turn)
    view = await current_view(session, stop)
    shown = view.frame if view is not None else stop.thread.frame
    described = stop_of(stop)
    is_other = shown is not None and shown.index and shown != described.frame
    selected = shown if is_other else None
    root = session.root
    if not peeks:
        stop.reported = True
        root.last_reported = session
    notes = (*notes, *stop.notes, *((stop.error,) if stop.error else ()))
    notes += _other_unreported_stops(session)
    scopes = view.scopes if view is not None else ()
    instructions: tuple[Instruction, ...] = ()
    if shown is not None and shown.path is None:
        instructions, registers = await machine_level(stop, shown)
        scopes = (*scopes, *registers)
    output = ctx.take_output(root, _OUTPUT_LIMIT)
    return StopReport(
        session=session.name,
        state=Phase.STOPPED.value,
        stop=described,
        source=await source_at(ctx, session, shown, context_lines),
        scopes=scopes,
        instructions=instructions,
        returned=view.returned if view is not None else None,
        output=output,
        trail=trail,
        callers=_callers(stop),
        breakpoints=unbound(ctx, session) if first else (),
        notes=notes,
        pid=session.pid,
        via=str(session.backend.tool) if first and session.backend is not None else None,
        several=several(ctx, session),
        selected=selected,
        threads=len(session.threads) or None,
        displays=displays,
        # `context` shows the stop itself.
        test=None if in_turn else await at_stop(session, stop, output),
    )


async def _displays(
    ctx: Context, session: Session, stop: StopState, *, in_turn: bool
) -> tuple[Display, ...]:
    entries = ctx.workspace.displays.of(session.name)
    if not entries:
        return ()
    async with nullcontext() if in_turn else session.exclusive():
        # Another command may have resumed the program meanwhile.
        return tuple([await show(e, stop) for e in entries if session.current_stop is stop])


def _other_unreported_stops(session: Session) -> tuple[str, ...]:
    """Return notes for stops of the same tree that have not been reported."""
    notes = []
    for member in session.root.tree():
        stop = member.current_stop
        if member is session or stop is None or stop.reported:
            continue
        frame = stop.thread.frame
        where = ""
        if frame is not None and frame.path is not None:
            where = f" at {os.path.basename(frame.path)}:{frame.line}"
        notes.append(f"{member.name} has stopped too{where} (dbg -s {member.name} context)")
    return tuple(notes)


def _callers(stop: StopState) -> tuple[Frame, ...]:
    """Return the user frames that called into a library; empty if a traceback shows them."""
    exception = stop.exception
    if exception is not None and (exception.traceback or exception.raw_traceback):
        return ()
    innermost = stop.thread.frame
    broken = stop.event.reason is StopReason.SIGNAL or exception is not None
    if innermost is None or not (innermost.library or broken):
        return ()
    shown = stop.view.frame.index if stop.view is not None else 0
    users = [frame for frame in stop.fetched_frames() if not frame.library and frame.index > shown]
    return tuple(users)[:_CALLERS]


async def source_at(
    ctx: Context, session: Session, frame: Frame | None, context_lines: int | None = None
) -> Source | None:
    """Return the lines around a frame; from the debugger if the file does not exist."""
    if frame is None or frame.path is None or frame.line is None:
        return None
    lines = ctx.config.answers.context_lines if context_lines is None else context_lines
    found = session.sources.excerpt(
        frame.path, frame.line, lines, current=frame.line, newer_than=session.started
    )
    backend = session.backend if found.missing and frame.source_reference else None
    if backend is not None and isinstance(backend, DebuggerSources):
        try:
            text = await backend.source(frame.source_reference, frame.path)
        except DebuggerError:
            # Generated code: report the stop without source.
            return replace(found, missing="the debugger does not know its text")
        return session.sources.cut(
            frame.path,
            text.splitlines(),
            max(1, frame.line - lines),
            frame.line + lines,
            frame.line,
        )
    return found


def running_report(
    ctx: Context,
    session: Session,
    waited_s: float | None,
    *,
    trail: tuple[StepTrail, ...] = (),
    notes: tuple[str, ...] = (),
    first: bool = False,
) -> StopReport:
    """Return the report of a program that still runs, or that ended during the wait."""
    root = session.root
    ended = not root.any_live
    if not ended and not root.live and root.exit is not None:
        live = ", ".join(m.name for m in root.tree() if m.live)
        notes = (*notes, f"{root.name} {how_it_ended(root.exit)}; {live} still runs")
    if ended and root.exit is not None and root.exit.how == "ended":
        notes += (*never_hit(ctx, session), *disturbed(session, root.exit))
        backend: object = root.backend
        notes += backend.unfollowed if isinstance(backend, UnfollowedChildren) else ()
    output = ctx.take_output(root, _OUTPUT_LIMIT)
    return StopReport(
        session=(root if ended else session).name,
        state=Phase.TERMINATED.value if ended else Phase.RUNNING.value,
        exit=root.exit if ended else None,
        output=output,
        trail=trail,
        breakpoints=unbound(ctx, session) if first or ended else (),
        notes=notes,
        waited_s=None if ended else waited_s,
        pid=session.pid,
        via=str(session.backend.tool) if first and session.backend is not None else None,
        next=_after_end(ctx, session, root.exit) if ended else _while_running(session),
        several=several(ctx, session),
        test=at_end(session, output) if ended else None,
    )


def _while_running(session: Session) -> tuple[str, ...]:
    backend = session.backend
    can_pause = backend is None or Feature.PAUSE in backend.features
    return ("await", "pause" if can_pause else "stop")


def _after_end(ctx: Context, session: Session, exit: Exit | None) -> tuple[str, ...]:
    return misspelt_function(session) or after_failure(ctx, session, exit)


def how_it_ended(exit: Exit) -> str:
    if exit.how == "detached":
        return "was detached from"
    if exit.signal:
        return f"was ended by {exit.signal}"
    return f"exited with code {exit.code}" if exit.code is not None else "ended"


def unbound(ctx: Context, session: Session) -> tuple[Breakpoint, ...]:
    """Return the breakpoints that moved, or that are not set.

    What *session* itself says of a breakpoint that it has set goes before what others say. A
    breakpoint that is set in another program here, even an ended one, is left out, and one that was
    not set for this session, in a language that its debugger does not know.
    """
    members = [m for root in ctx.workspace.sessions.values() for m in root.tree()]
    members.sort(key=lambda member: (member is not session, member.root is not session.root))
    entries = (
        describe_best(entry, [_bound_in(member, entry.id) for member in members])
        for entry in session.breakpoints
        if not is_of_another_program(ctx, session, entry)
    )
    return tuple(
        entry
        for entry in entries
        # A breakpoint that was hit was set: its library is unloaded by now.
        if (entry.state in (BreakpointState.PENDING, BreakpointState.REJECTED) and not entry.hits)
        or entry.moved_from is not None
        or (entry.message and entry.state is BreakpointState.BOUND)
    )


def _bound_in(session: Session, id: int) -> BoundBreakpoint | None:
    # After an exec, breakpoints of the old program are not set; after the exit, they were.
    return (
        session.bound_breakpoints.get(id)
        if session.live
        else session.bound_breakpoints.last_verified(id)
    )


def several(ctx: Context, session: Session) -> bool:
    """Whether more than one session is live here, so that a report must name its session."""
    return session.parent is not None or len(ctx.workspace.live_sessions()) > 1


def trail_of(session: Session, before: StopState, stop: StopState) -> StepTrail:
    """Return the one-line record of an intermediate step.

    Its line is the one that was executed, with the changes it made.
    """
    changed: list[Value] = []
    if stop.view is not None:
        values = [value for scope in stop.view.scopes for value in scope.values]
        changed = [v for v in values if v.changed and v.same_change_as is None]
    frame = before.thread.frame
    if changed and before.depth is not None and stop.depth is not None:
        # After a return, changes in the caller are due to the calling line.
        left, frames = before.depth - stop.depth, before.fetched_frames()
        frame = frames[left] if 0 < left < len(frames) else frame
    path = frame.path if frame is not None else None
    line = frame.line if frame is not None else None
    text = session.sources.line(path, line) if path is not None and line is not None else None
    return StepTrail(
        place=f"{path}:{line}" if path else "?",
        function=frame.function if frame is not None else "?",
        line=line,
        text=(text or "").strip(),
        changed=tuple(changed),
    )
