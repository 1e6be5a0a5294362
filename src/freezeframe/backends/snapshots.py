"""Stacks and tasks of a program, read without a reported stop."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from freezeframe.model.answers import Stack
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.stops import Task
from freezeframe.model.waits import WaitFacts


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Threads, each with the variables of its frames, and tasks of event loops."""

    stacks: tuple[Stack, ...] = ()
    tasks: tuple[Task, ...] = ()
    #: explanations for the user
    notes: tuple[str, ...] = ()
    #: what threads and tasks wait for; None if the debugger does not tell
    waits: WaitFacts | None = None


@runtime_checkable
class TakesSnapshots(Protocol):
    """A backend that can read the stacks of a running program."""

    async def snapshot(self, *, stacks: bool = True, waits: bool = False) -> Snapshot | None:
        """Return a snapshot; without *stacks*, only tasks. None if nothing can be read.

        With *waits*: also what each thread and task waits for, and who holds it.

        Bounded, also if the program does not answer.
        """


@runtime_checkable
class HaltsBriefly(Protocol):
    """A backend that can read stacks only while the program is stopped."""

    def halt_briefly(self) -> AbstractAsyncContextManager[bool | None]:
        """Halt a running program and resume it afterwards, without reporting a stop.

        The program is not halted if that is impossible (None), or if a step is in progress, which
        would be lost (False). Another stop that happens at the same time is reported as always.
        """


@runtime_checkable
class ExplainsBlindness(Protocol):
    """A backend that knows why the stacks of a running program cannot be read."""

    @property
    def blind_because(self) -> str | None:
        """The reason, for a note; None if the stacks can be read."""
