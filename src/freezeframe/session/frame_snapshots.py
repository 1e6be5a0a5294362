"""The last seen variables of each frame, to mark what has changed since."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.model.values import Value

from . import value_changes
from .stop_state import FrameView, StopState

#: Frames that are kept; the one seen longest ago is dropped first.
_MAX_FRAMES = 64
#: Callers of a frame that must be at the same location for it to be the same frame.
_CALLERS = 8


class FrameSnapshots:
    """The last seen variables of each frame of a program."""

    def __init__(self) -> None:
        self._views: dict[tuple[object, ...], dict[str, Value]] = {}

    def clear(self) -> None:
        self._views.clear()

    def compare(self, stop: StopState, view: FrameView) -> FrameView:
        """Return the view with changes marked against the last view of the same frame.

        A view that the debugger itself compared is returned as it is.
        A frame is the same if thread, task, function and depth are the same and its callers are at
        the same locations: a caller at another location has made another call.
        """
        if view.compared:
            return view
        key = _key(stop, view)
        values = [value for scope in view.scopes for value in scope.values]
        before = self._views.pop(key, None)
        self._views[key] = value_changes.snapshot(values, before)
        while len(self._views) > _MAX_FRAMES:
            self._views.pop(next(iter(self._views)))
        joint = stop.backend.tool.joint
        view.scopes = tuple(
            replace(scope, values=value_changes.mark(scope.values, before, joint))
            for scope in view.scopes
        )
        if view.scopes:
            lost = value_changes.gone(values, before)
            view.scopes = (*view.scopes[:-1], replace(view.scopes[-1], gone=lost))
        return view

    def renew(self, stop: StopState, seen: FrameView, view: FrameView) -> FrameView:
        """Return a later view of the same frame of the same stop, marked as the first one was.

        A difference between the two was made by the user, not by the program: it is not marked,
        neither now nor at the next stop.
        """
        view.returned = seen.returned
        if view.compared:
            return view
        known = value_changes.by_name(value for scope in seen.scopes for value in scope.values)
        key = _key(stop, view)
        if key in self._views:
            values = [value for scope in view.scopes for value in scope.values]
            self._views[key] = value_changes.by_name(values)
        gone = [scope.gone for scope in seen.scopes]
        view.scopes = tuple(
            replace(
                scope,
                values=tuple(
                    _with_changes_of(value, known.get(value.name)) for value in scope.values
                ),
                gone=gone[index] if index < len(gone) else (),
            )
            for index, scope in enumerate(view.scopes)
        )
        return view


def _with_changes_of(value: Value, before: Value | None) -> Value:
    """Return *value* with the changes of *before*, if the value is still the same."""
    same = before is not None and (value.text, value.type) == (before.text, before.type)
    if before is None or not same or len(value.children) != len(before.children):
        return value
    pairs = zip(value.children, before.children, strict=True)
    children = tuple(_with_changes_of(child, was) for child, was in pairs)
    return replace(
        value,
        changed=before.changed,
        was=before.was,
        parts=before.parts,
        more_parts=before.more_parts,
        same_change_as=before.same_change_as,
        children=children,
    )


def _key(stop: StopState, view: FrameView) -> tuple[object, ...]:
    depth = stop.depth
    frames = stop.fetched_frames()
    return (
        stop.thread.id,
        frames[0].task if frames else None,
        view.frame.path,
        view.frame.function,
        depth - view.frame.index if depth is not None else None,
        *(
            (f.function, f.line, f.column, f.address)
            for f in frames[view.frame.index + 1 :][:_CALLERS]
        ),
    )
