"""Waiting for news of a session and its children: bounded, resumable, for many at once."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from .moment import Moment
from .phase import Phase

if TYPE_CHECKING:
    from .session import Session

#: The stop number of each member of a tree up to which everything has been told.
Ticket = dict["Session", int]


def ticket(session: Session) -> Ticket:
    """Return what has been told of the tree, to wait for what has not.

    A member that stands at a stop nobody was told of counts as news.
    """
    told: Ticket = {}
    for member in session.root.members():
        untold = member.moment is not None and not member.moment.reported
        told[member] = member.stop_number - 1 if untold else member.stop_number
    return told


async def wait_end(session: Session, timeout_s: float) -> bool:
    """Wait for the end of this one program; False when it lives on."""
    deadline = time.monotonic() + timeout_s
    while session.live and (left_s := deadline - time.monotonic()) > 0:
        await session.bell.wait(left_s)
    return not session.live


async def wait(
    session: Session, told: Ticket, timeout_s: float | None, *, own_s: float = 0.0
) -> tuple[Session, Moment] | None:
    """Wait for a stop in the tree that *told* does not have, or the end of all of it.

    Returns the session that stopped and its stop, looked at, this session's before others': for
    *own_s* it alone is waited for while it runs. Once it has ended, a stop of another that was
    told before is the answer too: nothing else will happen. None when everything ended or the
    time was up (`tree_live` tells which).
    """
    root = session.root
    began = time.monotonic()
    while True:
        found = _news(session, told)
        waited_s = time.monotonic() - began
        left_s = None if timeout_s is None else timeout_s - waited_s
        if found is not None:
            member, moment = found
            own_left_s = own_s - waited_s
            if member is not session and session.phase is Phase.RUNNING and own_left_s > 0:
                await root.bell.wait(own_left_s if left_s is None else min(own_left_s, left_s))
                if time.monotonic() - began < own_s:
                    continue
            await asyncio.shield(moment.ready)
            # It may have been killed while it was looked at.
            if member.phase.alive:
                moment.reported = True
                return member, moment
        if not root.tree_live or (left_s is not None and left_s <= 0):
            return None
        await root.bell.wait(left_s)


def _news(session: Session, told: Ticket) -> tuple[Session, Moment] | None:
    for member in (session, *session.root.members()):
        moment = member.last_moment
        if moment is not None and moment.number > told.get(member, 0) and member.live:
            return member, moment
    if not session.live:
        standing = session.root.focus()
        if standing.moment is not None:
            return standing, standing.moment
    return None
