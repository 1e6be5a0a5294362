"""Variables without a value: optimised out by the compiler, or not initialised yet.

The former are queried by a raw command, if the program has optimised code: adapters show such
values as zero. The latter are found in the source, or by a raw command: debuggers show the old
content of the memory.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends.backend import RawFrame, RawScope, RawValue, Target
from freezeframe.backends.optimization import UNKNOWN_NAMES, FrameNames, without
from freezeframe.errors import DebuggerError
from freezeframe.model.values import PERHAPS_UNSET, UNSET, UNSIZED, ScopeKind

from .adapter_channel import AdapterChannel


class OptimizedVariables:
    """Variables without a value in the frames of the current stop."""

    def __init__(self) -> None:
        #: by frame, and by reference within a frame: paths of values that are optimised out
        self._gone: dict[int, frozenset[str]] = {}
        self._within: dict[int, frozenset[str]] = {}
        #: the frames, and whether each is the innermost; by scope: names without a value yet
        self._frames: dict[int, tuple[RawFrame, bool]] = {}
        self._names: dict[int, FrameNames] = {}
        #: by frame: the names without a value yet, as the debugger answered
        self._answered: dict[int, FrameNames] = {}
        self._channel: AdapterChannel | None = None

    async def mark(
        self,
        channel: AdapterChannel,
        target: Target,
        thread: int,
        frames: Sequence[RawFrame],
        start: int,
    ) -> Sequence[RawFrame]:
        """Return the frames, each with whether its code is optimised."""
        if not start:
            self._gone.clear()
            self._within.clear()
            self._frames.clear()
            self._names.clear()
            self._answered.clear()
        adapter, self._channel = channel.adapter, channel
        self._frames.update(
            (frame.id, (frame, not start and not index)) for index, frame in enumerate(frames)
        )
        command = adapter.frames.code_query(target, start, len(frames), thread) if frames else None
        if command is None:
            return frames
        codes = adapter.frames.read_code(target, await _answer(channel, command, frames[0].id))
        found = []
        for frame, code in zip(frames, codes, strict=False):
            found.append(replace(frame, optimized=code.optimized))
            if code.gone:
                self._gone[frame.id] = code.gone
        return [*found, *frames[len(found) :]]

    async def found_scopes(self, frame: int, scopes: Sequence[RawScope]) -> None:
        if frame in self._gone:
            self._within.update((scope.ref, self._gone[frame]) for scope in scopes)
        names = await self._names_of(frame)
        for scope in scopes:
            if names is not UNKNOWN_NAMES and scope.kind in _OF_FRAMES:
                self._names[scope.ref] = names
            else:
                self._names.pop(scope.ref, None)

    def children(self, ref: int, values: Sequence[RawValue]) -> Sequence[RawValue]:
        names, gone = self._names.get(ref), self._within.get(ref)
        if names is not None:
            values = [
                _marked(each, names)
                for each in values
                if not (each.name[:1] == "(" and each.name[1:-1] in names.twice)
            ]
        return values if gone is None else [self._value(each, gone) for each in values]

    async def result(self, frame: int | None, value: RawValue) -> RawValue:
        """Return the result of an expression in a frame; it may have assigned a value."""
        if "=" in (value.expression or ""):
            await self.assigned(value.expression or "", frame)
        gone = self._gone.get(frame) if frame is not None else None
        names = await self._names_of(frame) if frame is not None else UNKNOWN_NAMES
        # The address and the size of a native variable need no value.
        named = [value.expression] if frame in self._answered else _names_in(value.expression or "")
        if not names.unset.isdisjoint(named):
            return _unset(value)
        if value.expression in names.unsized:
            return _unset(value, UNSIZED)
        return value if gone is None else self._value(value, gone)

    async def assigned(self, expression: str, frame: int | None) -> None:
        """Note an assignment of the user's: its variable is initialised from here on."""
        if self._channel is None or frame is None or frame not in self._answered:
            return
        command = self._channel.adapter.frames.unset_command
        if command is not None and self._answered[frame].unset:
            self._read_answer(frame, await _answer(self._channel, f"{command} {expression}", frame))

    async def _names_of(self, frame: int) -> FrameNames:
        found = self._frames.get(frame)
        if found is None or self._channel is None:
            return UNKNOWN_NAMES
        raw, innermost = found
        if raw.path is None or raw.line is None:
            return UNKNOWN_NAMES
        command = self._channel.adapter.frames.unset_command
        if command is None:
            return self._channel.adapter.frames.names(raw, innermost)
        if frame not in self._answered:
            self._read_answer(frame, await _answer(self._channel, command, frame))
        return self._answered.get(frame, UNKNOWN_NAMES)

    def _read_answer(self, frame: int, text: str) -> None:
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
            names = {kind: frozenset(found) for kind, found in json.loads(text).items()}
            self._answered[frame] = FrameNames(names["unset"], unsized=names["unsized"])

    def _value(self, value: RawValue, gone: frozenset[str]) -> RawValue:
        if value.ref:
            self._within[value.ref] = gone
        return without(value, gone)


async def _answer(channel: AdapterChannel, command: str, frame: int) -> str:
    """Return the debugger's answer to a raw command; "" if it has none."""
    raw = channel.adapter.raw
    arguments = {"expression": raw.prefix + command, "context": raw.context, "frameId": frame}
    with contextlib.suppress(DebuggerError):
        body = await channel.request(
            "evaluate", arguments, timeout_s=channel.config.timeouts.value_s
        )
        return str(body.get("result", ""))
    return ""


_OF_FRAMES = (ScopeKind.LOCALS, ScopeKind.ARGUMENTS)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def _names_in(expression: str) -> list[str]:
    return _WORD.findall(_STRING.sub("", expression))


def _marked(value: RawValue, names: FrameNames) -> RawValue:
    if value.name in names.perhaps:
        return _unset(value, PERHAPS_UNSET)
    if value.name in names.unsized - names.unset:
        return _unset(value, UNSIZED)
    return _unset(value) if value.name in names.unset else value


def _unset(value: RawValue, text: str = UNSET) -> RawValue:
    return replace(value, text=text, ref=0, opaque=False, failed=False, count=None)
