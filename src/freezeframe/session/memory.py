"""The variables of frames as they were last seen, to tell what changed since."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.model.values import Value

from . import changes
from .moment import FrameView, Moment

#: Frames that are remembered; the one seen longest ago goes first.
_KEPT = 64
#: Frames below one that must stand where they stood for it to be the same.
_CALLERS = 8


class FrameMemory:
    """What was last seen of each frame of a program."""

    def __init__(self) -> None:
        self._seen: dict[tuple[object, ...], dict[str, Value]] = {}

    def clear(self) -> None:
        self._seen.clear()

    def compare(self, moment: Moment, view: FrameView) -> FrameView:
        """Return the view with changes marked against the last look at the same frame.

        Nothing is left to do where the debugger compares: it knows its values better.
        A frame is the same when thread, function and depth are, and nothing below it has moved:
        a caller that stands elsewhere now has made another call.
        """
        if view.compared:
            return view
        key = _key(moment, view)
        values = [value for scope in view.scopes for value in scope.values]
        before = self._seen.pop(key, None)
        self._seen[key] = changes.remembered(values, before)
        while len(self._seen) > _KEPT:
            self._seen.pop(next(iter(self._seen)))
        joint = moment.backend.tool.joint
        view.scopes = tuple(
            replace(scope, values=changes.mark(scope.values, before, joint))
            for scope in view.scopes
        )
        if view.scopes:
            lost = changes.gone(values, before)
            view.scopes = (*view.scopes[:-1], replace(view.scopes[-1], gone=lost))
        return view

    def renew(self, moment: Moment, seen: FrameView, view: FrameView) -> FrameView:
        """Return a later look at the same frame of the same stop, marked as the first one was.

        What differs between the two was changed from outside, not by the program: it is not
        marked, neither now nor at the next stop.
        """
        view.returned = seen.returned
        if view.compared:
            return view
        known = changes.by_name(value for scope in seen.scopes for value in scope.values)
        key = _key(moment, view)
        if key in self._seen:
            values = [value for scope in view.scopes for value in scope.values]
            self._seen[key] = changes.by_name(values)
        gone = [scope.gone for scope in seen.scopes]
        view.scopes = tuple(
            replace(
                scope,
                values=tuple(_remarked(value, known.get(value.name)) for value in scope.values),
                gone=gone[index] if index < len(gone) else (),
            )
            for index, scope in enumerate(view.scopes)
        )
        return view


def _remarked(value: Value, before: Value | None) -> Value:
    """Return *value* with the marks that it had, where it is what it was."""
    same = before is not None and (value.text, value.type) == (before.text, before.type)
    if before is None or not same or len(value.children) != len(before.children):
        return value
    pairs = zip(value.children, before.children, strict=True)
    children = tuple(_remarked(child, was) for child, was in pairs)
    return replace(
        value, changed=before.changed, was=before.was, parts=before.parts, children=children
    )


def _key(moment: Moment, view: FrameView) -> tuple[object, ...]:
    depth = moment.depth
    return (
        moment.thread.id,
        view.frame.path,
        view.frame.function,
        depth - view.frame.index if depth is not None else None,
        *(
            (f.function, f.line, f.column, f.address)
            for f in moment.known_frames()[view.frame.index + 1 :][:_CALLERS]
        ),
    )
