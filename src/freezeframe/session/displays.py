"""Expressions that are shown at every stop, like gdb's `display`.

A name, an attribute or an element is looked up among the variables that the debugger reports,
which runs no code of the program. Any other expression is evaluated as `print` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from freezeframe.backends.backend import RawValue
from freezeframe.errors import DebuggerError, DebuggerLost, FreezeframeError, NotFound
from freezeframe.model import late_regex
from freezeframe.model.answers import Display
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.values import Value

from .stop_state import FIRST_CHILDREN, StopState

#: How long one expression may delay the report of a stop, in seconds.
LIMIT_S = 3.0
#: Characters of an error that are shown.
_LONGEST_ERROR = 120

_NAME = late_regex.compile(r"[$@%&]*[^\W\d]\w*")
_STEP = late_regex.compile(
    r"""(?:\.|->)(?P<field>[#@]?[^\W\d]\w*)|\[\s*(?P<index>\d+|"[^"\\]*"|'[^'\\]*')\s*\]"""
)


@dataclass(slots=True)
class DisplayEntry:
    """One displayed expression."""

    id: int
    expression: str
    #: the session whose stops show it; None: every session of the workspace
    session: str | None
    #: why the expression is not evaluated any more
    disabled_reason: str | None = None
    #: the stop at which it was read last (run, number), its text there, and at the stop before
    stop: tuple[int, int] | None = None
    text: str | None = None
    before: str | None = None


@dataclass(slots=True)
class Displays:
    """The displayed expressions of a workspace, by id."""

    entries: dict[int, DisplayEntry] = field(default_factory=dict)
    _last_id: int = 0

    def __iter__(self) -> Iterator[DisplayEntry]:
        return iter(self.entries.values())

    def add(self, expression: str, session: str | None) -> DisplayEntry:
        """Return the entry of an expression, an existing one if there is one."""
        for known in self:
            if (known.expression, known.session) == (expression, session):
                known.disabled_reason = None
                return known
        self._last_id += 1
        entry = self.entries[self._last_id] = DisplayEntry(self._last_id, expression, session)
        return entry

    def of(self, session: str) -> list[DisplayEntry]:
        """Return the entries shown at the stops of a session or of its children."""
        root = session.partition("/")[0]
        return [entry for entry in self if entry.session in (None, root)]

    def get(self, id: int) -> DisplayEntry:
        if id not in self.entries:
            have = ", ".join(map(str, self.entries))
            raise NotFound(
                f"there is no display {id}" + (f"; there are {have}." if have else "."),
                next="dbg display",
            )
        return self.entries[id]


async def show(entry: DisplayEntry, stop: StopState) -> Display:
    """Return the value of a displayed expression in the selected frame, or why it has none.

    An expression that takes longer than LIMIT_S is not evaluated again. Raises DebuggerLost.
    """
    if entry.disabled_reason is not None:
        return Display(entry.id, entry.expression, error=entry.disabled_reason)
    try:
        async with asyncio.timeout(LIMIT_S):
            value = await _value(entry.expression, stop)
    except TimeoutError:
        entry.disabled_reason = f"took longer than {LIMIT_S:g} s: not evaluated again"
        return Display(entry.id, entry.expression, error=entry.disabled_reason)
    except DebuggerLost:
        raise
    except FreezeframeError as error:
        message = error.message.strip().partition("\n")[0]
        return Display(entry.id, entry.expression, error=message[:_LONGEST_ERROR])
    at = (id(stop.backend), stop.number)
    if entry.stop != at:
        same_run = entry.stop is not None and entry.stop[0] == at[0]
        entry.stop, entry.before = at, entry.text if same_run else None
    entry.text = value.text
    changed = entry.before is not None and entry.before != value.text
    shown = replace(value, changed=changed, was=entry.before if changed else None, parts=())
    return Display(entry.id, entry.expression, shown)


async def _value(expression: str, stop: StopState) -> Value:
    frame = await stop.current_frame()
    found = await _look_up(expression, stop, stop.frame_id(frame.index))
    if found is not None:
        return found
    stop.invalidate()  # a property or a call may change anything
    raw = await stop.backend.evaluate(expression, stop.frame_id(frame.index))
    return await _expanded(raw, stop)


async def _look_up(expression: str, stop: StopState, frame_id: int) -> Value | None:
    """Return the value at a path of names and indexes; None if it is not such a path."""
    path = read_path(expression)
    if path is None:
        return None
    value = _variable(path[0], stop)
    if value is None:
        # Evaluating a plain name runs no code of the program.
        raw = await stop.backend.evaluate(path[0], frame_id)
        if len(path) == 1:
            return await _expanded(raw, stop)
        value = stop.value(raw)
    for key in path[1:]:
        child = await _child(value, key, stop)
        if child is None:
            return None
        value = child
    return value


def read_path(expression: str) -> list[str] | None:
    """Return a variable and its path of fields and indexes: `cart`, `rows`, `0`; otherwise None."""
    name = _NAME.match(expression.strip())
    if name is None:
        return None
    path, rest = [name[0]], expression.strip()[name.end() :]
    while rest:
        step = _STEP.match(rest)
        if step is None:
            return None
        path.append(step["field"] or step["index"])
        rest = rest[step.end() :]
    return path


def _variable(name: str, stop: StopState) -> Value | None:
    """Return a variable from the view of the stop, unless code has run since."""
    if stop.view is None or stop.invalidated or stop.view.frame.index != stop.selected:
        return None
    found = [v for scope in stop.view.scopes for v in scope.values if v.name == name]
    return found[0] if len(found) == 1 else None


async def _child(value: Value, key: str, stop: StopState) -> Value | None:
    if value.handle is None:
        return None
    ref = stop.handles.resolve(value.handle)
    names = {key, f"[{key}]", key.replace("'", '"'), key.replace('"', "'")}
    children = await stop.backend.children(ref, count=FIRST_CHILDREN)
    found = [child for child in children if child.name in names]
    if not found and key.isdecimal():
        try:
            children = await stop.backend.children(ref, start=int(key), count=1)
        except DebuggerError:
            return None
        found = [child for child in children if child.name in names]
    return await _expanded(found[0], stop) if len(found) == 1 else None


async def _expanded(raw: RawValue, stop: StopState) -> Value:
    stop.reset_expansion_budget()
    return await stop.expand(raw)
