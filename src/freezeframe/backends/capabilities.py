"""Optional parts of a backend, each a protocol of its own.

What a backend supports follows from what it implements: `supported` finds the features behind the
protocols. A backend that speaks to many debuggers, such as DAP's, implements all of them and
narrows `features` to what its debugger advertises. `session.Session.capability` is the way to one:
it refuses a feature that the debugger lacks, with the nearest step.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from freezeframe.model.answers import Instruction

from .backend import Backend, BoundBreakpoint, BreakpointRequest, Feature, HitBreakpoints, StepKind
from .raw_values import RawValue

# --- features: named in `dbg tool`, and refused where they are missing


@runtime_checkable
class AddressBreakpoints(Protocol):
    async def set_address_breakpoints(
        self, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]: ...


@runtime_checkable
class Watchpoints(Protocol):
    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint: ...
    async def unwatch(self, id: int) -> None: ...


@runtime_checkable
class Assignment(Protocol):
    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        """Assign, and return the value read back. Raises EvaluationFailed if that failed."""


@runtime_checkable
class Jumps(Protocol):
    async def jump(self, thread: int, path: str, line: int) -> None: ...


@runtime_checkable
class ForcedReturns(Protocol):
    async def force_return(self, thread: int, value: str | None) -> None:
        """Return from the innermost function of a thread at once, with the value of an expression.

        The rest of it does not run; the program stops in the caller. Raises DebuggerError.
        """


@runtime_checkable
class FrameRestarts(Protocol):
    async def restart_frame(self, frame: int) -> None:
        """Unwind to a frame and stop at the beginning of its function again.

        Side effects of the function remain. Raises DebuggerError.
        """


@runtime_checkable
class ReverseExecution(Protocol):
    async def step_back(self, thread: int, kind: StepKind | None = StepKind.OVER) -> None:
        """Step backward; without *kind*, run back to a breakpoint. Raises DebuggerError."""


@runtime_checkable
class ProgramInput(Protocol):
    async def write_stdin(self, data: bytes) -> None: ...
    async def close_stdin(self) -> None: ...


@runtime_checkable
class MemoryAccess(Protocol):
    async def read_memory(self, address: str, count: int) -> tuple[str, bytes, int]:
        """Return the address, the bytes, and how many of the requested bytes cannot be read."""

    async def write_memory(self, address: str, data: bytes) -> int: ...


@runtime_checkable
class InstructionAccess(Protocol):
    async def disassemble(
        self, address: str, count: int, offset: int = 0
    ) -> Sequence[Instruction]: ...


@runtime_checkable
class CoreFiles(Protocol):
    async def save_core(self, path: str) -> None:
        """Write the memory of the stopped program into a file that `Core` can open."""


@runtime_checkable
class RawCommands(Protocol):
    async def raw(self, command: str, frame: int | None) -> str: ...


async def set_address_breakpoints(
    backend: Backend, requests: Sequence[BreakpointRequest]
) -> Sequence[BoundBreakpoint]:
    """Set breakpoints at addresses; a backend that has none rejects them."""
    if isinstance(backend, AddressBreakpoints):
        return await backend.set_address_breakpoints(requests)
    why = f"{backend.tool} has no {Feature.ADDRESS_BREAKPOINTS.value}"
    return [BoundBreakpoint(each.id, False, message=why, rejected=True) for each in requests]


#: The protocol behind each feature that has one.
PROTOCOLS: Mapping[Feature, type] = MappingProxyType(
    {
        Feature.ADDRESS_BREAKPOINTS: AddressBreakpoints,
        Feature.WATCHPOINTS: Watchpoints,
        Feature.SET: Assignment,
        Feature.JUMP: Jumps,
        Feature.FORCE_RETURN: ForcedReturns,
        Feature.RESTART_FRAME: FrameRestarts,
        Feature.STEP_BACK: ReverseExecution,
        Feature.STDIN: ProgramInput,
        Feature.MEMORY_READ: MemoryAccess,
        Feature.MEMORY_WRITE: MemoryAccess,
        Feature.DISASSEMBLE: InstructionAccess,
        Feature.SAVE_CORE: CoreFiles,
        Feature.RAW: RawCommands,
    }
)


def implements(backend: Backend, feature: Feature) -> bool:
    """Whether a backend has the methods of a feature; features without any need none."""
    return isinstance(backend, PROTOCOLS.get(feature, object))


@functools.cache
def supported(backend: type) -> frozenset[Feature]:
    """Return the features whose protocols a class of backends implements."""
    return frozenset(
        feature for feature, protocol in PROTOCOLS.items() if issubclass(backend, protocol)
    )


# --- refinements: without them the answer is the plain one


@runtime_checkable
class ConditionChecks(Protocol):
    """A backend that knows before the program runs that an expression is wrong."""

    def check_condition(self, expression: str) -> str | None:
        """Return why *expression* can never be evaluated, or None."""

    def check_log(self, message: str) -> str | None:
        """Return why a logpoint's *message* can never be evaluated, or None."""


@runtime_checkable
class HitQueries(Protocol):
    """A backend whose stops may name breakpoints whose conditions it has still to evaluate."""

    async def hit_breakpoints(self, breakpoints: Sequence[int]) -> HitBreakpoints:
        """Return which of the breakpoints named by a stop really caused it.

        Valid only at that stop. Costs a round trip if one of them has a condition.
        """


@runtime_checkable
class ArgumentNames(Protocol):
    """A backend whose scopes do not separate arguments from other variables."""

    async def argument_names(self, frame: int) -> Sequence[str] | None:
        """Return the names of a function's arguments; None if they are not known."""


@runtime_checkable
class HexValues(Protocol):
    async def evaluate_hex(
        self, expression: str, frame: int | None
    ) -> tuple[RawValue, Sequence[RawValue]] | None:
        """Return a value and its children with integers as hexadecimal bits.

        None if the debugger cannot format them so.
        """


@runtime_checkable
class SliceExpressions(Protocol):
    def slice_expression(self, expression: str, start: int, end: int) -> str | None:
        """Return an expression for a slice of a container; None if the language has none."""


@runtime_checkable
class DebuggerSources(Protocol):
    """A backend that holds sources which are not files."""

    async def source(self, reference: int, path: str | None) -> str: ...


@runtime_checkable
class SelectableGlobals(Protocol):
    """A backend whose debugger reads all global variables with each frame."""

    async def read_globals(self, *, on: bool) -> None:
        """Read them or leave them out, from the next frame on. Raises DebuggerError."""


@runtime_checkable
class SelectableReturns(Protocol):
    """A backend that works to know what a function returns before it steps out of it."""

    def read_returns(self, *, on: bool) -> None:
        """Read what functions return, or leave it out, from the next step on."""


@runtime_checkable
class UnfollowedChildren(Protocol):
    """A backend that reports children it did not follow, when the program has ended."""

    @property
    def unfollowed(self) -> tuple[str, ...]:
        """Children that ran without the debugger: their command lines, and why."""
