"""The session that shows a program's past, from its trace until a walk reaches the present.

Apart from `_past.py`, which every command uses, because traces and questions take long to import.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import Launch
from freezeframe.model.stops import StopReason
from freezeframe.session.session import Session
from freezeframe.session.stop_wait import wait_for_stop

from ._context import Context
from ._past import leave, user_frame
from ._past_backend import PastBackend
from ._retrace import traced_again
from ._stop_report import stop_report

#: seconds for the first look into a trace that is in memory
_BEGIN_S = 10.0


async def enter(ctx: Context, session: Session) -> tuple[Session, tuple[str, ...]]:
    """Begin the past of the stop that *session* is at; return its session and notes."""
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
