"""How values are shown; runs inside the debuggee, under the rules of `debugpy_probe.py`.

It becomes the module `_freezeframe_values` and answers in pydevd's place when variables are asked
for: in the order of the program, in bounded text, without running a property, and with what we
want to know of each in `presentationHint.freezeframe`:

    count       elements of a container, characters of a string
    definition  a function, class or module under its own name
    failed      its __repr__ raised or was interrupted; the value is the reason
    changed     differs from the last stop in the same frame; absent where nothing was compared
    was         its text then; absent for a new name
    parts       [path, text now, text then] of what changed inside; None for what is not there
    more        changed parts beyond those
    gone        not a variable any more

The only code of the program's own that runs is a `__repr__` written in Python.
"""

from __future__ import annotations

import enum
import itertools
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: characters of a variable's text, and of an evaluated expression's
_SHORT = 1_000
_LONG = 60_000
#: children of one value in one answer
_MAX_CHILDREN = 2_000
_RETURNED = "__pydevd_ret_val_dict"
_HIDDEN = frozenset({"_pydev_stop_at_break", "__builtins__", ".0"})
_DEFINITIONS = (type, types.FunctionType, types.BuiltinFunctionType)
text: Any = sys.modules["_freezeframe_text"]


class Page:
    """Some children of a value under their real names; see `page`."""

    def __init__(self, expression: str, value: Any, start: int, end: int) -> None:
        self.expression, self.value, self.start, self.end = expression, value, start, end


def page(expression: str, value: Any, start: int, end: int) -> Page:
    """Return what *value* holds from *start* to *end*. Raises TypeError for an iterator: looking
    at its items would use them up."""
    if hasattr(value, "__next__"):
        raise TypeError(f"a {type(value).__name__} has no items before it is run")
    return Page(expression, value, start, end)


# --- in pydevd's place --------------------------------------------------------------------------


def facts(value: Any, limit: int) -> tuple[str, dict[str, Any]]:
    """Return a value's text, and what else is told of it."""
    told: dict[str, Any] = {}
    size = count(value)
    if size is not None:
        told["count"] = size
    try:
        return _text(value, limit, 0, ()), told
    except _Failed as why:
        told["failed"] = True
        return str(why), told


def is_definition(name: str, value: Any) -> bool:
    """A function, class or module that stands under its own name."""
    kind = type(value)
    if issubclass(kind, types.ModuleType):
        return True
    if kind.__module__ == "typing" or kind.__module__ == "__future__":
        return True
    return issubclass(kind, _DEFINITIONS) and getattr(value, "__name__", None) == name


def install(debugger: Any) -> None:
    """Answer in pydevd's place from now on; it is asked where we do not know better."""
    changes = sys.modules["_freezeframe_changes"]
    wait = debugger.do_wait_suspend

    def do_wait_suspend(*arguments: Any, **named: Any) -> Any:
        changes.stopped()
        return wait(*arguments, **named)

    debugger.do_wait_suspend = do_wait_suspend
    frames = sys.modules["_pydevd_bundle.pydevd_suspended_frames"]
    if getattr(frames, "freezeframe", False):
        return
    base, of_object, of_frame = (
        frames._AbstractVariable,
        frames._ObjectVariable,
        frames._FrameVariable,
    )
    data, theirs = base.get_var_data, of_object.get_children_variables

    def get_var_data(self: Any, fmt: Any = None, context: Any = None, **other: Any) -> Any:
        if other or (fmt and any(fmt.values())) or type(self.value).__name__ == "DAPGrouper":
            return data(self, fmt, context, **other)
        return _data(self, _SHORT if context is None else _LONG, context is None)

    def of_an_object(self: Any, fmt: Any = None, scope: Any = None) -> Any:
        value, expression, start, end = self.value, self.evaluate_name, 0, _MAX_CHILDREN
        if type(value) is Page:
            expression, start, end = value.expression, value.start, value.end
            value = value.value
        found = _children_of(value, start, end)
        if found is None:
            return theirs(self, fmt, scope)
        made = []
        for name, each, path in found:
            whole = f"{expression}{path}" if expression and path else None
            made.append(
                of_object(
                    self.py_db,
                    name,
                    each,
                    self._register_variable,
                    evaluate_name=whole,
                    frame=self.frame,
                )
            )
        return made

    def of_a_frame(self: Any, fmt: Any = None, scope: Any = None) -> Any:
        frame, globals_too = self.frame, getattr(scope, "scope", scope) == "globals"
        named = dict(frame.f_globals if globals_too else frame.f_locals)
        returned = named.pop(_RETURNED, None)
        given = set() if globals_too else _arguments(frame)
        shown = {
            name: value
            for name, value in named.items()
            if name not in _HIDDEN and not (name.startswith("__") and name.endswith("__"))
        }
        told = {} if globals_too else changes.look(frame, shown)
        made = []

        def add(name: str, value: Any, expression: str | None, is_returned: bool) -> Any:
            one = of_object(
                self.py_db, name, value, self._register_variable, is_returned, expression, frame
            )
            made.append(one)
            return one

        for name, value in shown.items():
            one = add(name, value, name, False)
            one.freezeframe = dict(told.get(name) or {})
            one.freezeframe_said = None if globals_too else changes.said(frame)
            if name not in given and is_definition(name, value):
                one.freezeframe["definition"] = True
        for name, value in (returned or {}).items():
            add(name, value, f"{_RETURNED}[{name!r}]", True)
        for name, was in told.get("", {}).get("gone", ()):
            add(name, None, None, False).freezeframe = {"gone": True, "was": was}
        return made

    base.get_var_data = get_var_data
    of_object.get_children_variables = of_an_object
    of_frame.get_children_variables = of_a_frame
    frames.freezeframe = True  # type: ignore[attr-defined]


def _arguments(frame: Any) -> set[str]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return set(code.co_varnames[:count])


def _children_of(value: Any, start: int, end: int) -> list[tuple[str, Any, str | None]] | None:
    found = children(value, start, end)
    if found is not None or (start, end) == (0, _MAX_CHILDREN):
        return found
    # Asked for by the user, so its own methods may be run: an array, a table, a view.
    total = len(value)
    if hasattr(value, "__getitem__") and not hasattr(value, "keys"):
        return [(str(i), value[i], f"[{i}]") for i in range(start, min(end, total))]
    items = enumerate(value) if not hasattr(value, "items") else value.items()
    return [(show(key, 200), each, None) for key, each in itertools.islice(items, start, end)]


def _data(variable: Any, limit: int, compared: bool) -> dict[str, Any]:
    value, name = variable.value, variable.name
    expression, extra = variable.evaluate_name, {}
    if type(value) is Page:
        expression, page, value = value.expression, value, value.value
        if issubclass(type(value), (str, bytes, bytearray)):
            text, _ = facts(value[page.start : page.end], limit)
            return _answer(name, text, value, expression, 0, {"count": len(value)})
        extra["count"] = count(value)
        if extra["count"] is None and hasattr(value, "__len__"):
            extra["count"] = len(value)
    text, told = facts(value, limit)
    told.update({key: each for key, each in extra.items() if each is not None})
    if compared:
        told.update(getattr(variable, "freezeframe", {}))
        said = getattr(variable, "freezeframe_said", None)
        if said is not None:
            # What it says now is what it was, at the next stop.
            said[name] = text
    if variable._is_return_value:
        name = f"(return) {name}"
    inside = children(value, 0, 1)
    if inside is None:
        resolver = sys.modules["_pydevd_bundle.pydevd_xml"].get_type(value)[2]
        inside = [] if resolver is None else [("", None, None)]
    reference = variable.get_variable_reference() if inside else 0
    return _answer(name, text, value, expression, reference, told)


def _answer(
    name: str, text: str, value: Any, expression: str | None, reference: int, told: dict[str, Any]
) -> dict[str, Any]:
    answer = {
        "name": name,
        "value": text,
        "type": type(value).__name__,
        "variablesReference": reference,
        "presentationHint": {"freezeframe": told},
    }
    if expression is not None:
        answer["evaluateName"] = expression
    return answer
