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
        depth = moment.depth
        key = (
            moment.thread.id,
            view.frame.path,
            view.frame.function,
            depth - view.frame.index if depth is not None else None,
            *(
                (f.function, f.line, f.column, f.address)
                for f in moment.known_frames()[view.frame.index + 1 :][:_CALLERS]
            ),
        )
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
