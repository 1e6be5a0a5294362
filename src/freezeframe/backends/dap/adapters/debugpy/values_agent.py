"""Variables as sent to the client; runs inside the debuggee, under the rules of `agent.py`.

It becomes the module `_freezeframe_values` and answers variable requests instead of pydevd: in the
program's own order, in bounded text, without running its code, and with further facts in
`presentationHint.freezeframe`:

    count       elements of a container, characters of a string
    definition  a function, class or module under its own name
    failed      its __repr__ raised or was interrupted; the value is the reason
    changed     differs from the last stop in the same frame; absent where nothing was compared
    was         its text then; absent for a new name
    parts       [path, text now, text then] of what changed inside; null for what does not exist
    more        changed parts beyond those
    same        the variable whose parts are the same change: both lead to the changed object
    gone        the variable no longer exists

The adapter's `values.py` reads it. The result of an expression is shown by its own `__repr__`;
everything else is shown by its structure.
"""

from __future__ import annotations

import sys
import types
from typing import Any

#: characters of a variable's text, and of an evaluated expression's
_SHORT = 1_000
_LONG = 60_000
#: children of one value in one answer
_MAX_CHILDREN = 2_000
_RETURNED = "__pydevd_ret_val_dict"
_HIDDEN = frozenset({_RETURNED, "_pydev_stop_at_break", "__builtins__", ".0"})
_DEFINITIONS = (type, types.FunctionType, types.BuiltinFunctionType)
_objects: Any = sys.modules["_freezeframe_objects"]
_text: Any = sys.modules["_freezeframe_text"]
_pages: Any = sys.modules["_freezeframe_pages"]
_changes: Any = sys.modules["_freezeframe_changes"]


#: frames that an expression was evaluated in since the program stopped
_evaluated: list[Any] = []


def install(debugger: Any) -> None:
    """Answer instead of pydevd from now on, in this process."""
    frames: Any = sys.modules["_pydevd_bundle.pydevd_suspended_frames"]
    if hasattr(frames, "freezeframe"):
        return
    frames.freezeframe = True
    _end_stops_at_jumps(debugger)
    variable, of_object = frames._AbstractVariable, frames._ObjectVariable
    their_data = variable.get_var_data

    def get_var_data(self: Any, fmt: Any = None, context: Any = None, **other: Any) -> Any:
        if other or (fmt and any(fmt.values())):
            return their_data(self, fmt, context, **other)
        return _data(self, is_variable=context is None)

    def of_an_object(self: Any, fmt: Any = None, scope: Any = None) -> Any:
        # Never pydevd's resolver: to know a type it imports every library that it has a resolver
        # for.
        expression, found = self.evaluate_name, None
        if type(self.value) is _pages.Page:
            expression, found = self.value.expression, _pages.turned(self.value)
        else:
            found = _text.children(self.value, 0, _MAX_CHILDREN)
        made = []
        for name, value, path in found or ():
            whole = f"{expression}{path}" if expression and path else None
            made.append(
                of_object(
                    self.py_db, name, value, self._register_variable, False, whole, self.frame
                )
            )
        return made

    def of_a_frame(self: Any, fmt: Any = None, scope: Any = None) -> Any:
        def make(name: str, value: Any, path: str | None, is_returned: bool, facts: Any) -> Any:
            one = of_object(
                self.py_db, name, value, self._register_variable, is_returned, path, self.frame
            )
            one.freezeframe = facts
            return one

        is_global = getattr(scope, "scope", scope) == "globals"
        return [make(*each) for each in _frame_children(self.frame, is_global)]

    api: Any = sys.modules["_pydevd_bundle.pydevd_api"]
    evaluate = api.internal_evaluate_expression_json

    def internal_evaluate_expression_json(py_db: Any, request: Any, thread_id: Any) -> Any:
        if request.arguments.frameId is not None:
            _evaluated.append(request.arguments.frameId)
        agent: Any = sys.modules.get("_freezeframe")
        try:
            return evaluate(py_db, request, thread_id)
        except (agent.Unstuck, agent.UnstuckAtAll):
            # pydevd was handling an earlier request, or had to unwind: it would never answer.
            sys.modules["_pydevd_bundle.pydevd_comm"]._evaluate_response(
                py_db, request, "", error_message="Unstuck"
            )

    api.internal_evaluate_expression_json = internal_evaluate_expression_json
    variable.get_var_data = get_var_data
    of_object.get_children_variables = of_an_object
    frames._FrameVariable.get_children_variables = of_a_frame


def _frame_children(frame: Any, is_global: bool) -> list[tuple[str, Any, str | None, bool, Any]]:
    """Return name, value, expression, whether it is a returned value, and facts."""
    named = dict(frame.f_globals if is_global else frame.f_locals)
    returned = named.pop(_RETURNED, None) or {}
    shown = sys.modules["_freezeframe_templates"].without_defaults(frame, _visible(named))
    changes = {} if is_global else _looked(frame, shown)
    given = [] if is_global else _arguments(frame.f_code)
    shown = {**{name: shown[name] for name in given if name in shown}, **shown}
    made: list[tuple[str, Any, str | None, bool, Any]] = []
    for name, value in shown.items():
        facts = dict(changes.get(name, ()))
        if name not in given and _is_definition(name, value):
            facts["definition"] = True
        if not is_global:
            facts["frame"] = frame
        made.append((name, value, name, False, facts))
    if not is_global:
        returned = _changes.returned(frame, returned)
    made += [(name, value, None, True, {}) for name, value in returned.items()]
    gone = changes.get("", ())
    made += [(name, None, None, False, {"gone": True, "was": was}) for name, was in gone]
    return made


def _visible(named: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in named.items()
        if name not in _HIDDEN and not (name.startswith("__") and name.endswith("__"))
    }


def _end_stops_at_jumps(debugger: Any) -> None:
    """A jump is a new stop, although the thread goes on waiting in the same one."""
    jump = debugger.set_next_statement

    def set_next_statement(*arguments: Any, **named: Any) -> Any:
        resumed()
        return jump(*arguments, **named)

    debugger.set_next_statement = set_next_statement


def resumed() -> None:
    """The program resumes: what expressions have changed meanwhile was not its doing."""
    if _evaluated:
        _evaluated.clear()
        _changes.rebase(lambda frame: _visible(dict(frame.f_locals)))


def _looked(frame: Any, shown: dict[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = _changes.look(frame, shown)
        return found
    except Exception:
        # An unforeseen value: what it is matters more than whether it changed.
        return {}


def _arguments(code: Any) -> list[str]:
    """Return the names of a function's arguments as its signature has them."""
    if not hasattr(code, "co_argcount"):
        return []  # a template's function, which pydevd has made up
    plain, keyed = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    rest = list(code.co_varnames[keyed : keyed + bool(code.co_flags & 0x04)])
    last = keyed + len(rest)
    others = list(code.co_varnames[last : last + bool(code.co_flags & 0x08)])
    return [*code.co_varnames[:plain], *rest, *code.co_varnames[plain:keyed], *others]


def _is_definition(name: str, value: Any) -> bool:
    """Return whether it is a function, class or module under its own name, or a special form of
    typing."""
    kind = type(value)
    module = _objects.module_of(kind)
    if issubclass(kind, types.ModuleType) or module in ("typing", "__future__"):
        return True
    return issubclass(kind, _DEFINITIONS) and _objects.named(value) == name


def _data(variable: Any, is_variable: bool) -> dict[str, Any]:
    """Return a DAP Variable."""
    value, name, expression = variable.value, variable.name, variable.evaluate_name
    limit = _SHORT if is_variable else _LONG
    facts: dict[str, Any] = {}
    shown, inside = value, None
    if type(value) is _pages.Page:
        page, value = value, value.value
        expression, facts["count"] = page.expression, _pages.length(value)
        shown, inside = page.shown(), [] if page.is_text() else [page]
    else:
        facts["count"] = _text.count(value)
    try:
        text = _text.text_of(shown, limit, may_run_code=not is_variable)
    except Exception as why:
        facts["failed"] = True
        text = str(why) if isinstance(why, _text.Failed) else f"{type(why).__name__}: {why}"
    if is_variable:
        facts.update(getattr(variable, "freezeframe", ()))
        frame = facts.pop("frame", None)
        if frame is not None:
            _changes.record_text(frame, name, text)
    if inside is None:
        inside = _text.children(value, 0, 1)
    answer = {
        "name": f"(return) {name}" if variable._is_return_value else name,
        "value": text,
        "type": _objects.name_of(type(value)),
        "variablesReference": variable.get_variable_reference() if inside else 0,
        "presentationHint": {
            "freezeframe": {key: each for key, each in facts.items() if each is not None}
        },
    }
    if expression is not None:
        answer["evaluateName"] = expression
    return answer
