"""What lines read and store, beside objects; the module `_freezeframe_stores`.

Runs inside the traced program and imports nothing of this package. Called by the functions that
`line_code_agent.py` compiles for each line.
"""

from __future__ import annotations

import sys
from typing import Any

_log: Any = sys.modules["_freezeframe_log"]
_identities: Any = sys.modules["_freezeframe_identities"]
_values: Any = sys.modules["_freezeframe_values"]
ATOMS, MISSING = _identities.ATOMS, _identities.MISSING
known_of, value_of = _identities.known_of, _values.value_of


def locals_of(frame: Any) -> Any:
    """Return the variables of a frame by name.

    Before Python 3.13 a function's frame keeps the dictionary, and with it the values: it is
    emptied, unless the program has it.
    """
    found = frame.f_locals
    if not frame.f_code.co_flags & 1 or type(found) is not dict:
        return found
    copied = found.copy()
    if sys.getrefcount(found) <= 3:  # the frame, the variable, the argument
        found.clear()
    return copied


def read_value(value: Any, step: int) -> Any:
    """Return the index of a value that a line reads; -1 for functions, classes and modules."""
    if id(type(value)) in ATOMS or known_of(value) is not None:
        return value_of(value, step)
    return -1


def key_index(container: Any, key: Any, step: int) -> Any:
    """Return the index of the key of an element; that of an element counted from the end is
    counted from the beginning.
    """
    kind = type(container)
    if type(key) is int and key < 0 and (kind is list or kind is tuple):
        key += len(container)
    return value_of(key, step) if id(type(key)) in ATOMS else -1


def unbind(state: Any, name: str, number: int) -> None:
    """Record that a variable has no value any more."""
    was = state.values.pop(name, -1)
    if was >= 0:
        if was in _identities.held_values:
            _identities.suspect_value(was)
        _log.records.extend((_log.LOCAL, state.step, number, -1, was))


def store_globals(frame: Any, state: Any, is_sure: bool) -> None:
    """Record the global variables that a line stores."""
    names, space, step = state.names, state.namespace, state.step
    for name, is_stored in state.flow.namespace:
        value = names.get(name, MISSING)
        part = "." + name
        was = space.parts.get(part, -1)
        if value is MISSING:
            _values.look_at_missing(space, part, step, 1)
            continue
        index = value_of(value, step)
        if index != was or (is_sure and is_stored):
            space.parts[part] = index
            _values.write(space, _log.name(part), index, was, step, 1)


def definer(state: Any, name: str) -> int:
    """Return the frame whose variable a nonlocal name is; -1 if several frames may be it."""
    outer = state.plan.outer
    while outer is not None and name in outer.free:
        outer = outer.outer
    if outer is None:
        return -1
    if outer.started == 1:
        return int(outer.last)
    return int(next(iter(outer.live))) if len(outer.live) == 1 else -1
