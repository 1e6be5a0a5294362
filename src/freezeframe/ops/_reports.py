"""The stop report: everything a resuming operation answers with, in one place."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext

from freezeframe import files
from freezeframe.backends import select
from freezeframe.backends.backend import BoundBreakpoint, Launch, TellsUnfollowed
from freezeframe.backends.forks import STAYS, Forks
from freezeframe.backends.native import binary_kind, can_fork
from freezeframe.model.answers import Display, Instruction, StepTrail, StopReport
from freezeframe.model.places import Location, Source
from freezeframe.model.stops import Breakpoint, BreakpointState, Exit, Frame, StopReason
from freezeframe.model.values import Value
from freezeframe.session.breakpoints import describe_best
from freezeframe.session.displays import show
from freezeframe.session.looking import current_view, stop_of
from freezeframe.session.moment import Moment
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session

from ._context import Context
from ._failed_runs import after_failure
from ._guesses import nearest
from ._machine import machine_level

#: Output carried in a stop report; the rest stays in the ring.
_OUTPUT_LIMIT = 20_000
#: Characters of a program that are searched for a name that was misspelt.
_LONGEST_SOURCE = 1_000_000
#: Breakpoints that were never hit and are named when the program has ended.
_NEVER_HIT = 4
#: Frames of the user's own that are named below a library's.
_CALLERS = 3


async def stop_report(
    ctx: Context,
    session: Session,
    moment: Moment,
    *,
    trail: tuple[StepTrail, ...] = (),
    notes: tuple[str, ...] = (),
    context_lines: int | None = None,
    first: bool = False,
    in_turn: bool = False,
) -> StopReport:
    """Return the report of a stop. *first*: the reader has not seen this session before.

    *in_turn*: the caller holds the session's turn.
    """
    displays = await _displays(ctx, session, moment, in_turn=in_turn)
    view = await current_view(session, moment)
    shown = view.frame if view is not None else moment.thread.frame
    stop = stop_of(moment)
    selected = shown if shown is not None and shown.index and shown != stop.frame else None
    moment.reported = True
    root = session.root
    root.speaker = session
    notes = (*notes, *moment.remarks, *((moment.trouble,) if moment.trouble else ()))
    notes += _stopped_too(session)
    scopes = view.scopes if view is not None else ()
    instructions: tuple[Instruction, ...] = ()
    if shown is not None and shown.path is None:
        instructions, registers = await machine_level(moment, shown)
        scopes = (*scopes, *registers)
    return StopReport(
        session=session.name,
        state=Phase.STOPPED.value,
        stop=stop,
        source=await source_at(ctx, session, shown, context_lines),
        scopes=scopes,
        instructions=instructions,
        returned=view.returned if view is not None else None,
        output=root.output.take_new(_OUTPUT_LIMIT),
        trail=trail,
        callers=_callers(moment),
        breakpoints=unbound(ctx, session) if first else (),
        notes=notes,
        pid=session.pid,
        via=str(session.backend.tool) if first and session.backend is not None else None,
        several=several(ctx, session),
        selected=selected,
        threads=len(session.threads) or None,
        displays=displays,
    )


async def _displays(
    ctx: Context, session: Session, moment: Moment, *, in_turn: bool
) -> tuple[Display, ...]:
    entries = ctx.workspace.displays.of(session.name)
    if not entries:
        return ()
    async with nullcontext() if in_turn else session.turn():
        # Another command may have let the program run meanwhile.
        return tuple([await show(e, moment) for e in entries if session.moment is moment])


def _stopped_too(session: Session) -> tuple[str, ...]:
    """Name the stops of the same tree that nobody has been told of."""
    notes = []
    for member in session.root.members():
        moment = member.moment
        if member is session or moment is None or moment.reported:
            continue
        frame = moment.thread.frame
        where = ""
        if frame is not None and frame.path is not None:
            where = f" at {os.path.basename(frame.path)}:{frame.line}"
        notes.append(f"{member.name} has stopped too{where} (dbg -s {member.name} context)")
    return tuple(notes)


def _callers(moment: Moment) -> tuple[Frame, ...]:
    """The way of the user's own code into a library; where a traceback shows it, nothing."""
    exception = moment.exception
    if exception is not None and (exception.traceback or exception.raw_traceback):
        return ()
    innermost = moment.thread.frame
    broken = moment.event.reason is StopReason.SIGNAL or exception is not None
    if innermost is None or not (innermost.library or broken):
        return ()
    shown = moment.view.frame.index if moment.view is not None else 0
    users = [frame for frame in moment.known_frames() if not frame.library and frame.index > shown]
    return tuple(users)[:_CALLERS]


async def source_at(
    ctx: Context, session: Session, frame: Frame | None, context_lines: int | None = None
) -> Source | None:
    """Return the lines around a frame; from the debugger where the disk has none."""
    if frame is None or frame.path is None or frame.line is None:
        return None
    lines = ctx.config.answers.context_lines if context_lines is None else context_lines
    found = session.sources.excerpt(
        frame.path, frame.line, lines, current=frame.line, newer_than=session.started
    )
    if found.missing and frame.source_reference and session.backend is not None:
        text = await session.backend.source(frame.source_reference, frame.path)
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
    """Return the report of a program that runs on, or that has ended while it was waited for."""
    root = session.root
    ended = not root.tree_live
    if not ended and not root.live and root.exit is not None:
        living = ", ".join(m.name for m in root.members() if m.live)
        notes = (*notes, f"{root.name} {how_it_ended(root.exit)}; {living} still runs")
    if ended and root.exit is not None and root.exit.how == "ended":
        notes += _never_hit(ctx, session)
        backend: object = root.backend
        notes += backend.unfollowed if isinstance(backend, TellsUnfollowed) else ()
    return StopReport(
        session=(root if ended else session).name,
        state=Phase.TERMINATED.value if ended else Phase.RUNNING.value,
        exit=root.exit if ended else None,
        output=root.output.take_new(_OUTPUT_LIMIT),
        trail=trail,
        breakpoints=unbound(ctx, session) if first or ended else (),
        notes=notes,
        waited_s=None if ended else waited_s,
        pid=session.pid,
        via=str(session.backend.tool) if first and session.backend is not None else None,
        next=_after_end(ctx, session, root.exit) if ended else ("await", "pause"),
        several=several(ctx, session),
    )


def _after_end(ctx: Context, session: Session, exit: Exit | None) -> tuple[str, ...]:
    return _meant(session) or after_failure(ctx, session, exit)


def _meant(session: Session) -> tuple[str, ...]:
    """Return the breakpoint that was probably meant by one on a function that is nowhere."""
    target = session.root.target
    if not isinstance(target, Launch):
        return ()
    source = target.recipe.source if target.recipe is not None else target.program
    words: set[str] | None = None
    for entry in session.book:
        name = (entry.location.function or "").rpartition(".")[2]
        if not name or entry.hits or not entry.enabled:
            continue
        words = words if words is not None else _words_of(source)
        near = nearest(name, words) if name not in words else []
        if near:
            return (f"break {near[0]}",)
    return ()


def _words_of(path: str) -> set[str]:
    try:
        text = files.read_head(path, _LONGEST_SOURCE).decode("utf-8", "replace")
        return set(re.findall(r"[^\W\d]\w+", text))
    except OSError:
        return set()


def _never_hit(ctx: Context, session: Session) -> tuple[str, ...]:
    """Name breakpoints that were in place, as far as is known, and were not hit.

    Nothing is said about why: debuggers take any function's name, and a condition may not hold.
    """
    found = [
        entry
        for entry in session.book
        if entry.enabled
        and not entry.hits
        and entry.log is None
        and (entry.location.function or entry.location.file)
        # One that was never in place is told as such.
        and all(bound is None or bound.verified for bound in [session.bindings.at_best(entry.id)])
    ]
    notes = tuple(
        f"breakpoint {entry.id} at {_named(entry.location)} was never hit"
        for entry in found[:_NEVER_HIT]
    )
    if len(found) > _NEVER_HIT:
        notes += (f"{len(found) - _NEVER_HIT} more breakpoints were never hit",)
    if not notes:
        return ()
    target = session.root.target
    own = target.program if isinstance(target, Launch) and not target.module else None
    elsewhere = any(entry.location.file not in (None, own) for entry in found)
    return notes + _unfollowed(ctx, session.root, elsewhere)


def _named(location: Location) -> str:
    if location.function:
        return location.function
    return f"{os.path.basename(location.file or '')}:{location.line}"


def _unfollowed(ctx: Context, root: Session, elsewhere: bool) -> tuple[str, ...]:
    """Say that a breakpoint may have been passed in a child, and how to see that.

    *elsewhere*: one of them is in another file than the program's own.
    """
    target, backend = root.target, root.backend
    if not isinstance(target, Launch) or backend is None or target.forks is not Forks.PARENT:
        return ()
    known = select.known(ctx.config)
    debugger = known.get(backend.tool.name)
    ways = [way.value for way in debugger.forks if way is not Forks.PARENT] if debugger else []
    if not ways and debugger is not None and elsewhere:
        others = (each for each in known.values() if each.forks != STAYS)
        other = next((o.name for o in others if {*o.languages} & {*debugger.languages}), None)
        words = f"{debugger.name} sets no breakpoints in child processes"
        return (f"{words}: --adapter {other}" if other else words,)
    if not ways:
        return ()
    if target.module or binary_kind(target.program) is None:
        # Nothing in a script or a module says whether it starts any.
        return (f"breakpoints were not set in child processes: --child {' or '.join(ways)}",)
    if not can_fork(target.program):
        return ()
    return (f"child processes were left alone: --child {' or '.join(ways)}",)


def how_it_ended(exit: Exit) -> str:
    if exit.how == "detached":
        return "was detached from"
    if exit.signal:
        return f"was ended by {exit.signal}"
    return f"exited with code {exit.code}" if exit.code is not None else "ended"


def unbound(ctx: Context, session: Session) -> tuple[Breakpoint, ...]:
    """Return the breakpoints that are not where they were asked for, or not in place.

    One that is in place in another program here, also one that has ended, is that program's.
    """
    members = [m for root in ctx.workspace.sessions.values() for m in root.members()]
    entries = (
        describe_best(entry, [_bound_in(member, entry.id) for member in members])
        for entry in session.book
    )
    return tuple(
        entry
        for entry in entries
        # One that was hit was in place: its library is unloaded by now.
        if (entry.state in (BreakpointState.PENDING, BreakpointState.REJECTED) and not entry.hits)
        or entry.moved_from is not None
        or (entry.message and entry.state is BreakpointState.BOUND)
    )


def _bound_in(session: Session, id: int) -> BoundBreakpoint | None:
    # What was in place is not in place in the program that this one became; at the end, it was.
    return session.bindings.get(id) if session.live else session.bindings.at_best(id)


def several(ctx: Context, session: Session) -> bool:
    """More than one session lives here, so that the reader must be told which one speaks."""
    return session.parent is not None or len(ctx.workspace.live_sessions()) > 1


def trail_of(session: Session, before: Moment, moment: Moment) -> StepTrail:
    """Return the one-line record of a step that is not the last of several.

    Its line is the one that was run, with what it has changed.
    """
    changed: list[Value] = []
    if moment.view is not None:
        changed = [v for scope in moment.view.scopes for v in scope.values if v.changed]
    frame = before.thread.frame
    if changed and before.depth is not None and moment.depth is not None:
        # What changed in the caller of a function that has returned, the calling line has done.
        left, frames = before.depth - moment.depth, before.known_frames()
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
