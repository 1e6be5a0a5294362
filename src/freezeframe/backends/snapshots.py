"""What can be seen of a program without stopping it: stacks of its threads, and its tasks."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from freezeframe.model.answers import Stack
from freezeframe.model.records import dataclass
from freezeframe.model.stops import Task


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Threads, each with the variables of its own frames, and tasks of event loops."""

    stacks: tuple[Stack, ...] = ()
    tasks: tuple[Task, ...] = ()
    #: what it means
    notes: tuple[str, ...] = ()


@runtime_checkable
class TakesSnapshots(Protocol):
    """A backend that sees a running program."""

    async def snapshot(self, *, stacks: bool = True) -> Snapshot | None:
        """Return what is seen; without *stacks*, tasks alone. None where nothing can be.

        Bounded: a program that does not answer in time is not waited for.
        """


@runtime_checkable
class HaltsBriefly(Protocol):
    """A backend that sees a program only while that stands."""

    def halt_briefly(self) -> AbstractAsyncContextManager[bool | None]:
        """Halt a running program and let it go on afterwards, without a stop being reported.

        The program is left alone where that cannot be (None), or where a step is under way that
        would end with it (False). A stop of the program's own that comes at the same time is
        reported as always.
        """
