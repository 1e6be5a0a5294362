"""Time travel at a live stop: commands that go back look into a trace of the program's past.

The past is a session of its own, without a program. While a session has one, commands that inspect
or walk apply to it, commands that would change the program are refused, and the walk forwards ends
in the present. It ends by itself when the program has moved.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import Feature
from freezeframe.errors import Unsupported
from freezeframe.model.answers import StopReport
from freezeframe.model.stops import Frame
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState

from ._context import Context
from ._registry import Effect, Needs, OpSpec

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
        from ._past_session import enter

        ctx.found, notes = await enter(ctx, session)
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


async def user_frame(stop: StopState) -> Frame:
    """Return the innermost frame that is the program's own."""
    frames = await stop.frames(60)
    return next((frame for frame in frames if not frame.library), frames[0])


async def leave(session: Session) -> None:
    """Show the present again."""
    past, session.past = session.past, None
    if past is not None:
        await past[0].end(for_good=True)


def with_notes(answer: Any, notes: tuple[str, ...]) -> Any:
    if notes and isinstance(answer, StopReport):
        return replace(answer, notes=(*notes, *answer.notes))
    return answer
