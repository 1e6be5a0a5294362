"""Expressions that are shown at every stop, as gdb's `display` has them.

A name, an attribute or an element is looked up among the variables that the debugger shows, which
runs no code of the program. Any other expression is evaluated as `print` does.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from freezeframe.backends.backend import RawValue
from freezeframe.errors import DebuggerError, DebuggerLost, FreezeframeError, NotFound
from freezeframe.model.answers import Display
from freezeframe.model.values import Value

from .moment import FIRST_CHILDREN, Moment

#: How long one expression may keep the answer to a stop waiting, in seconds.
LIMIT_S = 3.0
#: Characters of an error that are shown.
_LONGEST_ERROR = 120

_NAME = re.compile(r"[$@%&]*[^\W\d]\w*")
_STEP = re.compile(
    r"""(?:\.|->)(?P<field>[#@]?[^\W\d]\w*)|\[\s*(?P<index>\d+|"[^"\\]*"|'[^'\\]*')\s*\]"""
)


@dataclass(slots=True)
class DisplayEntry:
    """One expression of the user's."""

    id: int
    expression: str
    #: the session that it is shown in; None: in all of the workspace
    session: str | None
    #: why it is not evaluated any more
    off: str | None = None
    #: the stop at which it was read last (run, number), its text then, and at the stop before
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
        """Return the entry of an expression; the one that is there already where there is one."""
        for known in self:
            if (known.expression, known.session) == (expression, session):
                known.off = None
                return known
        self._last_id += 1
        entry = self.entries[self._last_id] = DisplayEntry(self._last_id, expression, session)
        return entry

    def of(self, session: str) -> list[DisplayEntry]:
        """Return what is shown at the stops of a session, or of a child of it."""
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


async def show(entry: DisplayEntry, moment: Moment) -> Display:
    """Return the value of a displayed expression in the selected frame, or why there is none.

    One that takes longer than LIMIT_S is not evaluated again. Raises DebuggerLost.
    """
    if entry.off is not None:
        return Display(entry.id, entry.expression, error=entry.off)
    try:
        async with asyncio.timeout(LIMIT_S):
            value = await _value(entry.expression, moment)
    except TimeoutError:
        entry.off = f"took longer than {LIMIT_S:g} s: not evaluated again"
        return Display(entry.id, entry.expression, error=entry.off)
    except DebuggerLost:
        raise
    except FreezeframeError as error:
        message = error.message.strip().partition("\n")[0]
        return Display(entry.id, entry.expression, error=message[:_LONGEST_ERROR])
    stop = (id(moment.backend), moment.number)
    if entry.stop != stop:
        same_run = entry.stop is not None and entry.stop[0] == stop[0]
        entry.stop, entry.before = stop, entry.text if same_run else None
    entry.text = value.text
    changed = entry.before is not None and entry.before != value.text
    shown = replace(value, changed=changed, was=entry.before if changed else None, parts=())
    return Display(entry.id, entry.expression, shown)


async def _value(expression: str, moment: Moment) -> Value:
    frame = await moment.current_frame()
    found = await _looked_up(expression, moment, moment.frame_id(frame.index))
    if found is not None:
        return found
    moment.touch()  # a property or a call may change anything
    raw = await moment.backend.evaluate(expression, moment.frame_id(frame.index))
    return await _opened(raw, moment)


async def _looked_up(expression: str, moment: Moment, frame_id: int) -> Value | None:
    """Return the value that a path of names and indexes leads to; None where it is no such path."""
    path = read_path(expression)
    if path is None:
        return None
    value = _variable(path[0], moment)
    if value is None:
        # A name alone runs no code where variables have names.
        raw = await moment.backend.evaluate(path[0], frame_id)
        if len(path) == 1:
            return await _opened(raw, moment)
        value = moment.value(raw)
    for key in path[1:]:
        child = await _child(value, key, moment)
        if child is None:
            return None
        value = child
    return value


def read_path(expression: str) -> list[str] | None:
    """Return a variable and what leads on from it: `cart`, `rows`, `0`. None for anything else."""
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


def _variable(name: str, moment: Moment) -> Value | None:
    """Return a variable as the report of the stop shows it, unless code has run since."""
    if moment.view is None or moment.touched or moment.view.frame.index != moment.selected:
        return None
    found = [v for scope in moment.view.scopes for v in scope.values if v.name == name]
    return found[0] if len(found) == 1 else None


async def _child(value: Value, key: str, moment: Moment) -> Value | None:
    if value.handle is None:
        return None
    ref = moment.handles.resolve(value.handle)
    wanted = {key, f"[{key}]", key.replace("'", '"'), key.replace('"', "'")}
    children = await moment.backend.children(ref, count=FIRST_CHILDREN)
    found = [child for child in children if child.name in wanted]
    if not found and key.isdecimal():
        try:
            children = await moment.backend.children(ref, start=int(key), count=1)
        except DebuggerError:
            return None
        found = [child for child in children if child.name in wanted]
    return await _opened(found[0], moment) if len(found) == 1 else None


async def _opened(raw: RawValue, moment: Moment) -> Value:
    moment.open_anew()
    return await moment.open(raw)
