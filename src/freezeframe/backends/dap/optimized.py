"""Frames of optimised code, and values of theirs that the compiler left nowhere.

Asked by a raw command, of programs that have such code at all: adapters show such values as zero.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends.backend import RawFrame, RawScope, RawValue, Target
from freezeframe.backends.optimization import without
from freezeframe.errors import DebuggerError

from .wire import Wire


class Optimized:
    """What is known of the frames of the current stop."""

    def __init__(self) -> None:
        #: by frame, and by reference to something in it: paths that are gone
        self._gone: dict[int, frozenset[str]] = {}
        self._within: dict[int, frozenset[str]] = {}

    async def mark(
        self, wire: Wire, target: Target, thread: int, frames: Sequence[RawFrame], start: int
    ) -> Sequence[RawFrame]:
        """Return the frames, each with whether its code is optimised."""
        if not start:
            self._gone.clear()
            self._within.clear()
        adapter = wire.adapter
        command = adapter.frames.ask_code(target, start, len(frames), thread) if frames else None
        if command is None:
            return frames
        arguments = {
            "expression": adapter.raw.prefix + command,
            "context": adapter.raw.context,
            "frameId": frames[0].id,
        }
        body = {}
        with contextlib.suppress(DebuggerError):
            body = await wire.request("evaluate", arguments, timeout_s=wire.config.timeouts.value_s)
        codes = adapter.frames.read_code(target, str(body.get("result", "")))
        found = []
        for frame, code in zip(frames, codes, strict=False):
            found.append(replace(frame, optimized=code.optimized))
            if code.gone:
                self._gone[frame.id] = code.gone
        return [*found, *frames[len(found) :]]

    def found_scopes(self, frame: int, scopes: Sequence[RawScope]) -> None:
        if frame in self._gone:
            self._within.update((scope.ref, self._gone[frame]) for scope in scopes)

    def children(self, ref: int, values: Sequence[RawValue]) -> Sequence[RawValue]:
        gone = self._within.get(ref)
        return values if gone is None else [self._value(each, gone) for each in values]

    def result(self, frame: int | None, value: RawValue) -> RawValue:
        """Return what an expression came to in a frame."""
        gone = self._gone.get(frame) if frame is not None else None
        return value if gone is None else self._value(value, gone)

    def _value(self, value: RawValue, gone: frozenset[str]) -> RawValue:
        if value.ref:
            self._within[value.ref] = gone
        return without(value, gone)
