"""Resuming requests: a stop is over when the debugger has accepted one.

A debugger that does not answer in time may carry out the request later, so that until it answers
nobody knows whether the program still is where the stop was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from freezeframe.backends.backend import Continued
from freezeframe.errors import DebuggerTimeout, FreezeframeError

from .phase import Phase
from .stop_capture import before_resume
from .stop_state import StopState

if TYPE_CHECKING:
    from .session import Session


async def send_resume(
    session: Session, request: Coroutine[Any, Any, None], stop: StopState
) -> None:
    """Send a request that resumes the program from *stop*.

    The debugger may or may not report `continued` for it. A caller that is cancelled leaves the
    request as it is: it completes when the debugger answers.
    """
    await before_resume(session, stop)
    stop.resume_unanswered = True
    # In one task: an event that follows the answer is handled after what the answer means.
    sent = asyncio.ensure_future(_complete(session, request, stop))
    sent.add_done_callback(lambda done: done.cancelled() or done.exception())
    await asyncio.shield(sent)


async def _complete(session: Session, request: Coroutine[Any, Any, None], stop: StopState) -> None:
    try:
        await request
    except DebuggerTimeout:
        raise
    except FreezeframeError:
        stop.resume_unanswered = False
        raise
    stop.resume_unanswered = False
    if session.current_stop is stop and session.phase is Phase.STOPPED:
        session.on_event(Continued())
