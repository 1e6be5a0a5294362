"""Wait for stops and exits of a session and its children: bounded, for several callers at once."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from .phase import Phase
from .stop_state import StopState

if TYPE_CHECKING:
    from .session import Session

#: The number of the last reported stop of each session of a tree.
SeenStops = dict["Session", int]


def seen_stops(session: Session) -> SeenStops:
    """Return the last reported stop of each session of the tree, as a baseline for a wait.

    A current stop that was not reported yet counts as unseen.
    """
    seen: SeenStops = {}
    for member in session.root.tree():
        unreported = member.current_stop is not None and not member.current_stop.reported
        seen[member] = member.stop_number - 1 if unreported else member.stop_number
    return seen


async def wait_end(session: Session, timeout_s: float) -> bool:
    """Wait for this session's program to end. Return False if it is still alive."""
    deadline = time.monotonic() + timeout_s
    while session.live and (left_s := deadline - time.monotonic()) > 0:
        await session.changed.wait(left_s)
    return not session.live


async def wait_for_stop(
    session: Session, seen: SeenStops, timeout_s: float | None, *, prefer_self_s: float = 0.0
) -> tuple[Session, StopState] | None:
    """Wait for a stop in the tree that is newer than *seen*, or for the end of the whole tree.

    Return the session that stopped and its captured stop, this session's before others': for
    *prefer_self_s* seconds only this session counts while it runs. Once this session has ended, an
    already seen stop of another member is returned too, because nothing else will happen. Return
    None when every member ended or the time is up (`any_live` says which).
    """
    root = session.root
    began = time.monotonic()
    while True:
        found = _unseen_stop(session, seen)
        waited_s = time.monotonic() - began
        left_s = None if timeout_s is None else timeout_s - waited_s
        if found is not None:
            member, stop = found
            own_left_s = prefer_self_s - waited_s
            if member is not session and session.phase is Phase.RUNNING and own_left_s > 0:
                await root.changed.wait(own_left_s if left_s is None else min(own_left_s, left_s))
                if time.monotonic() - began < prefer_self_s:
                    continue
            await asyncio.shield(stop.ready)
            # The program may have been killed while its stop was captured.
            if member.phase.alive:
                stop.reported = True
                return member, stop
        if not root.any_live or (left_s is not None and left_s <= 0):
            return None
        await root.changed.wait(left_s)


def _unseen_stop(session: Session, seen: SeenStops) -> tuple[Session, StopState] | None:
    for member in (session, *session.root.tree()):
        stop = member.last_stop
        if stop is not None and stop.number > seen.get(member, 0) and member.live:
            return member, stop
    if not session.live:
        focused = session.root.focus()
        if focused.current_stop is not None:
            return focused, focused.current_stop
    return None
