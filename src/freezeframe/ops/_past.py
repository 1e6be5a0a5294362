"""Time travel at a live stop: commands that go back look into a trace of the program's past.

The past is a session of its own, without a program. While a session has one, commands that inspect
or walk apply to it, commands that would change the program are refused, and the walk forwards ends
in the present. It ends by itself when the program has moved.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import Feature, Launch
from freezeframe.errors import Unsupported
from freezeframe.model.answers import StopReport
from freezeframe.model.stops import Frame, StopReason
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState
from freezeframe.session.stop_wait import wait_for_stop

from ._context import Context
from ._past_backend import PastBackend
from ._registry import Effect, Needs, OpSpec
from ._retrace import traced_again
from ._stop_report import stop_report

#: seconds for the first look into a trace that is in memory
_BEGIN_S = 10.0
#: operations that resume a program and can walk through its past
_WALKS = frozenset(("next", "step", "finish", "continue", "until", "reverse-step"))
_WALKS |= {"back", "reverse-continue", "reverse-finish"}
#: operations that change what is shown, not the program
_LOOKS = frozenset(("frame", "up", "down", "display", "undisplay", "why", "present"))


async def choose_time(spec: OpSpec, ctx: Context) -> tuple[str, ...]:
    """Make `ctx.found` the past of the session if the operation is about it; return notes.

    Raises Unsupported for an operation that would change the program while its past is shown.
    """
    session = ctx.session
    inspects = spec.effect is Effect.READS and spec.group == "inspect"
    if spec.needs is not Needs.STOPPED and not inspects:
        return ()
    if session.past is not None and session.current_stop is not session.past[1]:
        await leave(session)
    if session.past is None:
        if not _goes_back(spec, session):
            return ()
        ctx.found, notes = await _enter(ctx, session)
        return notes
    if spec.effect is Effect.READS or spec.name in _WALKS | _LOOKS:
        ctx.found = session.past[0]
        return ()
    require_present(session, spec.name)
    return ()


def require_present(session: Session, operation: str) -> None:
    """Raise Unsupported while the past is shown: the operation would change the program itself."""
    if session.past is not None and session.current_stop is session.past[1]:
        raise Unsupported(
            f"the past of the program is shown, and {operation} would change the program itself.",
            next="dbg present",
        )


def _goes_back(spec: OpSpec, session: Session) -> bool:
    """Whether an operation needs a past that the debugger itself does not have."""
    if spec.feature != Feature.STEP_BACK.value or session.backend is None:
        return False
    return Feature.STEP_BACK not in session.backend.features


async def _enter(ctx: Context, session: Session) -> tuple[Session, tuple[str, ...]]:
    stop = await session.require_stopped()
    frame = await user_frame(stop)
    second = await traced_again(ctx, session, stop, frame)
    location = f"{os.path.basename(frame.path or '?')}:{frame.line}"
    is_left = stop.event.reason is StopReason.EXCEPTION
    backend = PastBackend(session, second.trace, second.step, location, is_left=is_left)
    past = Session(
        session.name,
        breakpoints=session.breakpoints,
        config=session.config,
        sources=session.sources,
        make_backend=lambda: backend,
        reason="the past of a program was requested",
    )
    past.recorded = False
    await past.start(Launch(session.name, cwd=ctx.workspace.root))
    await wait_for_stop(past, {past: 0}, _BEGIN_S)
    session.past = (past, stop)
    return past, second.notes


async def user_frame(stop: StopState) -> Frame:
    """Return the innermost frame that is the program's own."""
    frames = await stop.frames(60)
    return next((frame for frame in frames if not frame.library), frames[0])


async def in_present(ctx: Context, live: Session, answer: Any) -> Any:
    """Return the answer of an operation in the past; the present stop if it came back to that."""
    backend = live.past[0].backend if live.past is not None else None
    if not isinstance(backend, PastBackend) or not backend.is_present:
        return answer
    await leave(live)
    ctx.found = live
    stop = await live.require_stopped()
    report = await stop_report(ctx, live, stop)
    return replace(report, notes=("this is the present again", *report.notes))


async def leave(session: Session) -> None:
    """Show the present again."""
    past, session.past = session.past, None
    if past is not None:
        await past[0].end(for_good=True)


def with_notes(answer: Any, notes: tuple[str, ...]) -> Any:
    if notes and isinstance(answer, StopReport):
        return replace(answer, notes=(*notes, *answer.notes))
    return answer
