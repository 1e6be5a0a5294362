"""Who controls a session: every caller, or the one person or editor that has taken over.

While a session has an owner, commands of others that resume or change it are refused. The owner
renews its control while it is connected; control that was not renewed in time is released, so that
an owner that crashed blocks nobody. There is at most one owner: who takes over last has the
session. What an owner did is told once to the callers that were refused meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from freezeframe.errors import TakenOver
from freezeframe.model.fast_dataclass import dataclass

from .broadcast import Broadcast

OwnerKind = Literal["person", "editor"]

#: control ends when its owner has not renewed it for this long, in seconds
LEASE_S = 60.0
#: actions of one owner that are kept; earlier ones are only counted
_MAX_ACTIONS = 20


@dataclass(frozen=True, slots=True)
class SessionOwner:
    """A person at a page, or an editor. Requests with the same `id` are its own."""

    id: str
    kind: OwnerKind = "person"
    #: of an editor: `Neovim`
    name: str = ""

    def __str__(self) -> str:
        return self.name or f"{'an' if self.kind == 'editor' else 'a'} {self.kind}"


@dataclass(frozen=True, slots=True)
class Handback:
    """What an owner did until it released the session."""

    owner: SessionOwner
    #: the last commands, and how many were left out before them
    actions: tuple[str, ...] = ()
    omitted: int = 0
    #: the owner did not release the session itself: its control was not renewed
    expired: bool = False


class Control:
    """The control of one session and its children."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._owner: SessionOwner | None = None
        self._until = 0.0
        self._lease_s = LEASE_S
        self._actions: list[str] = []
        self._omitted = 0
        self._handbacks: list[Handback] = []
        #: notified when the owner changes
        self.changed = Broadcast()

    @property
    def owner(self) -> SessionOwner | None:
        """The owner, if there is one now."""
        if self._owner is not None and self._clock() >= self._until:
            self._end(expired=True)
        return self._owner

    @property
    def left_s(self) -> float:
        """The time until the control ends unless it is renewed; 0 without an owner."""
        return max(0.0, self._until - self._clock()) if self.owner is not None else 0.0

    def acquire(self, owner: SessionOwner, lease_s: float = LEASE_S) -> None:
        """Make *owner* the only owner, also where another one has the session."""
        before = self.owner
        if before is not None and before.id != owner.id:
            self._end(expired=False)
        self._owner = owner
        self._lease_s = lease_s
        self._until = self._clock() + lease_s
        if before != owner:
            self.changed.notify_all()

    def renew(self, id: str) -> bool:
        """Extend the control of an owner; return False if it is not the owner any more."""
        if self.owner is None or self.owner.id != id:
            return False
        self._until = self._clock() + self._lease_s
        return True

    def release(self, id: str) -> bool:
        """Hand the session back; return False if *id* is not the owner."""
        if self.owner is None or self.owner.id != id:
            return False
        self._end(expired=False)
        return True

    def check(self, caller: SessionOwner | None, session: str) -> None:
        """Raise TakenOver if somebody else than *caller* controls the session."""
        owner = self.owner
        if owner is not None and (caller is None or caller.id != owner.id):
            raise TakenOver(f"{owner} has taken over {session}.", next="dbg await")

    def log(self, caller: SessionOwner | None, action: str) -> None:
        """Note what the owner did. Actions of others are not noted."""
        if self.owner is None or caller is None or caller.id != self.owner.id:
            return
        self._actions.append(action)
        if len(self._actions) > _MAX_ACTIONS:
            del self._actions[0]
            self._omitted += 1

    def take_handbacks(self) -> tuple[Handback, ...]:
        """Return what owners did since the last call, once the session has no owner."""
        if self.owner is not None or not self._handbacks:
            return ()
        taken, self._handbacks = tuple(self._handbacks), []
        return taken

    async def wait_released(self, timeout_s: float) -> bool:
        """Wait until there is no owner; return False when the time is up."""
        deadline = self._clock() + timeout_s
        while self.owner is not None:
            left_s = deadline - self._clock()
            if left_s <= 0:
                return False
            # Nothing notifies when the control ends by itself.
            await self.changed.wait(min(left_s, self.left_s))
        return True

    def _end(self, *, expired: bool) -> None:
        assert self._owner is not None
        back = Handback(self._owner, tuple(self._actions), self._omitted, expired)
        self._handbacks.append(back)
        self._owner = None
        self._actions, self._omitted = [], 0
        self.changed.notify_all()
