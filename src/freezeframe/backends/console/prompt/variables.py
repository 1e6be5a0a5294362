"""Scopes, values and their children, by expression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from freezeframe.backends.backend import RawFrame, RawScope, RawValue
from freezeframe.errors import DebuggerError, EvaluationFailed, Stale, Unsupported
from freezeframe.model.values import ScopeKind

from .command_set import CommandSet, FrameRef
from .frame_queries import FrameQueries


@dataclass(frozen=True, slots=True)
class _Scope:
    kind: ScopeKind
    at: FrameRef


@dataclass(frozen=True, slots=True)
class _Opened:
    expression: str
    at: FrameRef


class ConsoleVariables:
    """Frames, scopes and values of the current stop, with ids that are invalid after it."""

    def __init__(self, queries: FrameQueries, command_set: CommandSet) -> None:
        self._queries = queries
        self._command_set = command_set
        self._last = 0
        self._frames: dict[int, FrameRef] = {}
        self._refs: dict[int, _Scope | _Opened] = {}
        #: the return value of the function that was just left
        self.returned: RawValue | None = None

    def forget(self) -> None:
        """Invalidate all ids: the program resumes."""
        self._frames.clear()
        self._refs.clear()
        self.returned = None

    def _new_id(self) -> int:
        # Never reused: an old id must not mean something new.
        self._last += 1
        return self._last

    # --- frames

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        # One more than requested shows whether there are more.
        found_frames = await self._queries.run(self._command_set.frames(thread, start, count + 1))
        frames_shown = []
        for level, frame in enumerate(found_frames[:count], start):
            id = self._new_id()
            self._frames[id] = FrameRef(thread, level)
            frames_shown.append(replace(frame, id=id))
        return frames_shown, start + len(found_frames) if len(found_frames) <= count else None

    def at(self, frame: int | None, default: FrameRef) -> FrameRef:
        """Return the frame with an id. Raises Stale."""
        if frame is None:
            return default
        at = self._frames.get(frame)
        if at is None:
            raise Stale("that frame is of an earlier stop.", next="dbg backtrace")
        return at

    # --- variables

    def scopes(self, at: FrameRef) -> list[RawScope]:
        found = []
        for kind, name in self._command_set.scopes:
            ref = self._new_id()
            self._refs[ref] = _Scope(kind, at)
            costly = kind in (ScopeKind.GLOBALS, ScopeKind.REGISTERS)
            found.append(RawScope(name, kind, ref, expensive=costly))
        return found

    async def children(self, ref: int, start: int, count: int | None) -> Sequence[RawValue]:
        target = self._refs.get(ref)
        if target is None:
            raise Stale("that value is of an earlier stop.", next="dbg locals")
        if isinstance(target, _Scope):
            values = await self._scope_values(target)
            return values[start : None if count is None else start + count]
        query = self._command_set.children(target.expression, target.at, start, count)
        if query is None:
            raise Unsupported(
                f"{self._command_set.name} does not open values.",
                next=f"dbg print {target.expression}",
            )
        return self._with_refs(await self._queries.run(query, target.at, slow=False), target.at)

    async def _scope_values(self, scope: _Scope) -> list[RawValue]:
        query = self._command_set.scope(scope.kind, scope.at)
        if query is None:
            return []
        values = self._with_refs(await self._queries.run(query, scope.at, slow=False), scope.at)
        if scope.kind is ScopeKind.LOCALS and scope.at.level == 0 and self.returned is not None:
            values += self._with_refs([replace(self.returned, returned=True)], scope.at)
        return values

    def _with_refs(self, values: Iterable[RawValue], at: FrameRef) -> list[RawValue]:
        return [self._with_ref(value, at) for value in values]

    def _with_ref(self, value: RawValue, at: FrameRef) -> RawValue:
        if not value.ref or value.expression is None:
            return replace(value, ref=0) if value.ref else value
        ref = self._new_id()
        self._refs[ref] = _Opened(value.expression, at)
        return replace(value, ref=ref)

    # --- expressions

    async def evaluate(self, expression: str, at: FrameRef, *, statement: bool) -> RawValue:
        make_query = self._command_set.execute if statement else self._command_set.evaluate
        value = await self._queries.run(make_query(expression, at), at, slow=statement)
        return self._with_ref(value, at)

    async def assign(self, target: str, value: str, at: FrameRef) -> RawValue:
        query = self._command_set.assign(target, value, at)
        if query is None:
            raise Unsupported(f"{self._command_set.name} sets no variables.", next="dbg tool")
        try:
            exists = self._command_set.has_variable(target.strip(), at)
            if exists is not None and not await self._queries.run(exists, at):
                raise EvaluationFailed(f"there is no variable {target.strip()} to assign to.")
            await self._queries.run(query, at)
        except EvaluationFailed:
            raise
        except DebuggerError as error:
            raise EvaluationFailed(error.message) from None
        return await self.evaluate(target, at, statement=False)
