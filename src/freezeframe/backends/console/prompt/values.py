"""Variables and what they hold, by expression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from freezeframe.backends.backend import RawFrame, RawScope, RawValue
from freezeframe.errors import DebuggerError, EvaluationFailed, Stale, Unsupported
from freezeframe.model.values import ScopeKind

from .spelling import At, Spelling
from .talk import Talk


@dataclass(frozen=True, slots=True)
class _Scope:
    kind: ScopeKind
    at: At


@dataclass(frozen=True, slots=True)
class _Opened:
    expression: str
    at: At


class Values:
    """Frames, scopes and values of the current stop, under numbers that die with it."""

    def __init__(self, talk: Talk, spelling: Spelling) -> None:
        self._talk = talk
        self._spelling = spelling
        self._last = 0
        self._frames: dict[int, At] = {}
        self._refs: dict[int, _Scope | _Opened] = {}
        #: what the function that was just left returned with
        self.returned: RawValue | None = None

    def forget(self) -> None:
        """The program runs: everything that was numbered is of the past."""
        self._frames.clear()
        self._refs.clear()
        self.returned = None

    def _number(self) -> int:
        # Never used again: an old number must not mean something new.
        self._last += 1
        return self._last

    # --- frames

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        # One more than asked for: whether there are more is told by its being there.
        told = await self._talk.ask(self._spelling.frames(thread, start, count + 1))
        shown = []
        for level, frame in enumerate(told[:count], start):
            number = self._number()
            self._frames[number] = At(thread, level)
            shown.append(replace(frame, id=number))
        return shown, start + len(told) if len(told) <= count else None

    def at(self, frame: int | None, default: At) -> At:
        """Return the frame behind a number. Raises Stale."""
        if frame is None:
            return default
        at = self._frames.get(frame)
        if at is None:
            raise Stale("that frame is of an earlier stop.", next="dbg backtrace")
        return at

    # --- variables

    def scopes(self, at: At) -> list[RawScope]:
        found = []
        for kind, name in self._spelling.scopes:
            ref = self._number()
            self._refs[ref] = _Scope(kind, at)
            costly = kind in (ScopeKind.GLOBALS, ScopeKind.REGISTERS)
            found.append(RawScope(name, kind, ref, expensive=costly))
        return found

    async def children(self, ref: int, start: int, count: int | None) -> Sequence[RawValue]:
        what = self._refs.get(ref)
        if what is None:
            raise Stale("that value is of an earlier stop.", next="dbg locals")
        if isinstance(what, _Scope):
            values = await self._variables(what)
            return values[start : None if count is None else start + count]
        asked = self._spelling.children(what.expression, what.at, start, count)
        if asked is None:
            raise Unsupported(
                f"{self._spelling.name} does not open values.", next=f"dbg print {what.expression}"
            )
        return self._numbered(await self._talk.ask(asked, what.at, slow=False), what.at)

    async def _variables(self, scope: _Scope) -> list[RawValue]:
        asked = self._spelling.scope(scope.kind, scope.at)
        if asked is None:
            return []
        values = self._numbered(await self._talk.ask(asked, scope.at, slow=False), scope.at)
        if scope.kind is ScopeKind.LOCALS and scope.at.level == 0 and self.returned is not None:
            values += self._numbered([replace(self.returned, returned=True)], scope.at)
        return values

    def _numbered(self, values: Iterable[RawValue], at: At) -> list[RawValue]:
        return [self._openable(value, at) for value in values]

    def _openable(self, value: RawValue, at: At) -> RawValue:
        if not value.ref or value.expression is None:
            return replace(value, ref=0) if value.ref else value
        ref = self._number()
        self._refs[ref] = _Opened(value.expression, at)
        return replace(value, ref=ref)

    # --- expressions

    async def evaluate(self, expression: str, at: At, *, statement: bool) -> RawValue:
        spell = self._spelling.execute if statement else self._spelling.evaluate
        value = await self._talk.ask(spell(expression, at), at, slow=statement)
        return self._openable(value, at)

    async def assign(self, target: str, value: str, at: At) -> RawValue:
        asked = self._spelling.assign(target, value, at)
        if asked is None:
            raise Unsupported(f"{self._spelling.name} sets no variables.", next="dbg tool")
        try:
            named = self._spelling.has_variable(target.strip(), at)
            if named is not None and not await self._talk.ask(named, at):
                raise EvaluationFailed(f"there is no variable {target.strip()} to assign to.")
            await self._talk.ask(asked, at)
        except EvaluationFailed:
            raise
        except DebuggerError as error:
            raise EvaluationFailed(error.message) from None
        return await self.evaluate(target, at, statement=False)
