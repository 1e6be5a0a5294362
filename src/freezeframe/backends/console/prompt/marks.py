"""Breakpoints at a prompt: conditions, hit counts and logpoints are ours where it has none."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from freezeframe.backends.backend import (
    BoundBreakpoint,
    BreakpointMoved,
    Event,
    Printed,
    WantedBreakpoint,
)
from freezeframe.backends.counting import read_hits, read_log, wants
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout
from freezeframe.model.places import Location
from freezeframe.model.stops import WatchHit

from .spelling import At, Halt, Made, Spelling
from .talk import Talk

#: a place, and the condition that the debugger itself was given
_Key = tuple[Location, str | None]


@dataclass(slots=True)
class Mark:
    """One breakpoint of the user's."""

    wanted: WantedBreakpoint
    key: _Key
    hits: tuple[str, int] | None = None
    log: Sequence[str | list[str]] | None = None
    passes: int = 0


@dataclass(slots=True)
class Verdict:
    """What a stop at breakpoints comes down to."""

    #: those that made the program stop
    breakpoints: tuple[int, ...] = ()
    #: breakpoints lie there, whether they want this pass or not
    met: bool = False
    failures: dict[int, str] = field(default_factory=dict)


class Marks:
    """What was set at one prompt; knows our ids behind the debugger's numbers."""

    def __init__(self, talk: Talk, spelling: Spelling, emit: Callable[[Event], None]) -> None:
        self._talk = talk
        self._spelling = spelling
        self._emit = emit
        self._marks: dict[str, dict[int, Mark]] = {}
        self._made: dict[str, dict[_Key, Made]] = {}
        self._last_watch = 0
        #: our ids → the debugger's number and the expression
        self.watches: dict[int, tuple[str, str]] = {}

    # --- setting

    async def set(self, group: str, wanted: Sequence[WantedBreakpoint]) -> list[BoundBreakpoint]:
        """Make *wanted* the breakpoints of a group; those that are there as wanted stay."""
        refused: dict[int, BoundBreakpoint] = {}
        marks: dict[int, Mark] = {}
        before = self._marks.get(group, {})
        for want in wanted:
            old = before.get(want.id)
            try:
                mark = self._read(want, wanted)
            except ValueError as error:
                refused[want.id] = _refused(want.id, str(error))
                continue
            if old is not None and old.wanted == want:
                mark.passes = old.passes
            marks[want.id] = mark
        self._marks[group] = marks
        made = self._made.setdefault(group, {})
        keys = dict.fromkeys(mark.key for mark in marks.values())
        for key in [key for key in made if key not in keys]:
            await self._talk.tell(self._spelling.unbreak(made.pop(key).number))
        for key in keys:
            if key in made:
                continue
            try:
                made[key] = await self._make(*key)
            except (DebuggerLost, DebuggerTimeout):
                raise
            except DebuggerError as error:
                for id in [id for id, mark in marks.items() if mark.key == key]:
                    refused[id] = _refused(id, error.message)
                    del marks[id]
        return [
            refused[want.id]
            if want.id in refused
            else _bound(want.id, made[marks[want.id].key], want.location)
            for want in wanted
        ]

    def _read(self, want: WantedBreakpoint, beside: Sequence[WantedBreakpoint]) -> Mark:
        """Return what is to be done for a breakpoint. Raises ValueError in a sentence."""
        if want.condition is not None:
            wrong = self._spelling.check_condition(want.condition)
            if wrong is not None:
                raise ValueError(wrong)
        alone = [each.location for each in beside].count(want.location) == 1
        given = self._spelling.own_conditions and (alone or not self._spelling.one_a_place)
        return Mark(
            want,
            (want.location, want.condition if given else None),
            None if want.hit_count is None else read_hits(want.hit_count),
            None if want.log is None else read_log(want.log),
        )

    async def _make(self, location: Location, condition: str | None) -> Made:
        lacking = self._spelling.takes(location)
        asked = None if lacking else self._spelling.break_at(location, condition)
        if asked is None:
            what = lacking.value if lacking else "breakpoints there"
            raise DebuggerError(f"{self._spelling.name} has no {what}.")
        return await self._talk.ask(asked)

    def bound(self, made: Made) -> list[BoundBreakpoint]:
        """Note where a breakpoint lies now; return what that means for those of the user's."""
        moved = []
        for group, there in self._made.items():
            for key in [key for key, each in there.items() if each.number == made.number]:
                there[key] = made
                moved += [
                    _bound(id, made, mark.wanted.location)
                    for id, mark in self._marks.get(group, {}).items()
                    if mark.key == key
                ]
        return moved

    def moved(self, made: Sequence[Made]) -> list[BoundBreakpoint]:
        """Take in where breakpoints lie that had found no code; return them as the user's."""
        found = {each.number: each for each in made}
        bound = []
        for group, marks in self._marks.items():
            for key, old in self._made.get(group, {}).items():
                if old.number not in found:
                    continue
                self._made[group][key] = found[old.number]
                bound += [
                    _bound(id, found[old.number], mark.wanted.location)
                    for id, mark in marks.items()
                    if mark.key == key
                ]
        return bound

    # --- what a stop comes down to

    async def judge(self, halt: Halt, at: At, *, back: bool = False) -> Verdict:
        """Tell which breakpoints made the program stop; count passes and write logpoints.

        A condition that cannot be evaluated holds, and why is told. On the way *back* nothing is
        counted and nothing written.
        """
        verdict = Verdict()
        met = [
            (mark, self._made[group][mark.key])
            for group, marks in self._marks.items()
            for mark in marks.values()
            if mark.key in self._made[group] and _is_at(self._made[group][mark.key], mark, halt)
        ]
        verdict.met = bool(met)
        held = []
        for mark, made in met:
            if not made.verified:
                self._bind(mark, made, halt)
            if mark.wanted.condition is not None:
                try:
                    asked = self._spelling.truth(mark.wanted.condition, at)
                    if not await self._talk.ask(asked, at, slow=False):
                        continue
                except DebuggerLost:
                    raise
                except DebuggerError as error:
                    verdict.failures[mark.wanted.id] = error.message.rstrip(".")
            if mark.hits is not None and not back:
                mark.passes += 1
                if not wants(mark.hits, mark.passes):
                    continue
            if mark.log is not None and back:
                continue
            if mark.log is not None:
                text = await self._message(mark.log, at)
                self._emit(Printed("log", text + "\n"))
                continue
            held.append(mark.wanted.id)
        verdict.breakpoints = tuple(held)
        return verdict

    def _bind(self, mark: Mark, made: Made, halt: Halt) -> None:
        """There was no code for a breakpoint, and the program stands at it."""
        for each in self.bound(replace(made, verified=True, message=None)):
            self._emit(BreakpointMoved(replace(each, path=halt.path, line=halt.line)))

    async def _message(self, parts: Sequence[str | list[str]], at: At) -> str:
        text = ""
        for part in parts:
            if isinstance(part, str):
                text += part
                continue
            try:
                text += await self._talk.ask(self._spelling.log_text(part[0], at), at, slow=False)
            except DebuggerLost:
                raise
            except DebuggerError as error:
                text += f"<{error.message.rstrip('.')}>"
        return text

    @property
    def silent(self) -> bool:
        """Some breakpoint may be passed without a stop."""
        return any(
            mark.hits is not None or mark.log is not None or mark.wanted.condition is not None
            for marks in self._marks.values()
            for mark in marks.values()
        )

    # --- watchpoints

    async def watch(
        self, expression: str, access: str, condition: str | None, at: At
    ) -> BoundBreakpoint | None:
        asked = self._spelling.watch(expression, access, condition, at)
        if asked is None:
            return None
        made = await self._talk.ask(asked, at)
        self._last_watch += 1
        self.watches[self._last_watch] = (made.number, expression)
        return BoundBreakpoint(self._last_watch, made.verified, message=made.message)

    def seen(self, hit: WatchHit) -> WatchHit | None:
        """Return what a watchpoint of the debugger's saw under our own number."""
        for id, (number, expression) in self.watches.items():
            if number == str(hit.id):
                if hit.ended:
                    del self.watches[id]
                also = tuple(each for each in map(self.seen, hit.also) if each is not None)
                return replace(hit, id=id, expression=expression, also=also)
        return None

    async def unwatch(self, id: int) -> None:
        watch = self.watches.pop(id, None)
        if watch is not None:
            await self._talk.tell(self._spelling.unwatch(watch[0]))


def _is_at(made: Made, mark: Mark, halt: Halt) -> bool:
    """Whether a stop is at a breakpoint: by its number, where the debugger says, else by place."""
    if halt.numbers is not None:
        return made.number in halt.numbers
    if made.number in halt.among:
        return True
    if made.line is not None and halt.line is not None:
        return made.line == halt.line and _same_file(made.path, halt.path)
    function = mark.wanted.location.function
    return function is not None and halt.function is not None and halt.function == function


def _same_file(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _bound(id: int, made: Made, location: Location) -> BoundBreakpoint:
    if not made.verified:
        return BoundBreakpoint(id, False, message=made.message or "no code for it is loaded yet")
    path = location.file if _same_file(location.file, made.path) else made.path
    return BoundBreakpoint(id, True, path, made.line, made.message, edited=made.edited)


def _refused(id: int, message: str) -> BoundBreakpoint:
    return BoundBreakpoint(id, False, message=message.rstrip("."), rejected=True)
