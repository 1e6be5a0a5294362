"""Watched expressions: read, compared, and who wrote them; runs inside the debuggee.

It becomes the module `_freezeframe_watch`. Written for Python 3.8; imports nothing of this package.
A path of fields and elements is read as it is stored, so no code of the program runs. Everything
else is evaluated after each line, because the user asked for it: what it calls runs in the program.

Another agent calls `passed` for what the traced code does, and stops the program for its hits.
"""

from __future__ import annotations

import ast
import sys
import threading
from itertools import islice
from typing import Any

_objects: Any = sys.modules["_freezeframe_objects"]
_text: Any = sys.modules["_freezeframe_text"]
#: characters of a value that are compared and shown
_LIMIT = 400
#: elements of a container that are compared by identity
_ELEMENTS = 1_000
_UNSET: Any = type("Unset", (), {})()
_NEVER: Any = type("Never", (), {})()
_PLAIN = frozenset(map(id, (int, bool, str, bytes, type(None))))
_NUMBERS = frozenset(map(id, (float, complex)))
_SEQUENCES = (list, tuple)
#: id → watch
watches: dict[int, Watch] = {}
#: thread → the code and line that it executes
_lines: dict[int, tuple[Any, int]] = {}
#: thread → its innermost frame and instruction when a thread last compared
_instructions: dict[int, tuple[int, int]] = {}
#: threads that evaluate a watched expression
_busy: set[int] = set()
#: hits that no stop has reported, by thread
_pending: dict[int, list[dict[str, Any]]] = {}


class CodeNeeded(Exception):
    """A part of a path is what code of the program returns; the message says whose."""


class Watch:
    """A watched expression and its last value."""

    __slots__ = (
        "_fields",
        "code",
        "condition",
        "expression",
        "frame",
        "id",
        "narrow",
        "only",
        "root",
        "state",
        "steps",
        "value",
    )

    def __init__(self, id: int, expression: str, condition: str | None, frame: Any) -> None:
        self.id, self.expression = id, expression
        tree = ast.parse(expression.strip(), mode="eval").body
        self.code = compile(expression.strip(), "<expression>", "eval")
        self.condition = compile(condition.strip(), "<condition>", "eval") if condition else None
        self.steps = _path(tree)
        self.root = next((n.id for n in ast.walk(tree) if isinstance(n, ast.Name)), "")
        names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
        self.frame = frame
        #: the frame whose variable it is; a global variable has none
        self.only = frame if names & _local_names(frame) else None
        #: class and its function that reads `__dict__`, by field: the same class comes every time
        self._fields: dict[str, tuple[type, Any]] = {}
        #: what is compared; the value itself if that is enough, as it is for a number
        self.state: Any = None
        self.value: Any = None
        try:
            self.set(self.read())
        except CodeNeeded:
            self.steps = None
            self.set(self.read())
        cells = frame.f_code.co_cellvars + frame.f_code.co_freevars
        #: only code of its frame can change it
        self.narrow = self.only is not None and self.steps == [] and self.root not in cells

    def set(self, value: Any) -> None:
        """Take *value* as the last one."""
        self.state = _state(value)
        self.value = value if value is _UNSET or id(type(value)) in _PLAIN else _NEVER

    @property
    def is_evaluated(self) -> bool:
        return self.steps is None

    def read(self, owner: bool = False) -> Any:
        """Return the present value, or `_UNSET`; of a path, its *owner*. Raises CodeNeeded."""
        frame = self.frame
        if self.steps is None:
            try:
                return eval(self.code, frame.f_globals, frame.f_locals)
            except (LookupError, AttributeError, NameError):
                return _UNSET
        value = _variable(frame, self.root)
        for kind, key in self.steps[:-1] if owner else self.steps:
            if value is _UNSET:
                break
            if kind == "field":
                value = self._field(value, key)
            else:
                value = _element(value, _variable(frame, key) if kind == "index" else key)
        return value

    def _field(self, value: Any, name: str) -> Any:
        known = self._fields.get(name)
        if known is not None and known[0] is type(value):
            own = known[1](value)
            if type(own) is dict and name in own:
                return own[name]
        found = _field(value, name)
        if _is_own_field(value, name):
            self._fields[name] = (type(value), _objects.dict_getter(type(value)))
        return found

    def is_changed(self, frame: Any) -> bool:
        """Return whether code of *frame* has changed it; the new value is the last one then."""
        if self.narrow and self.only is not frame:
            return False
        try:
            value = self.read()
            if value is self.value:
                return False
            before = self.state
            self.set(value)
        except Exception:
            return False  # another thread changes it at this moment, or what is evaluated raises
        return bool(self.state != before)

    def holds(self) -> bool:
        """Return whether the condition holds; one that raises stops the program."""
        if self.condition is None:
            return True
        try:
            return bool(eval(self.condition, self.frame.f_globals, self.frame.f_locals))
        except Exception:
            return True


def _local_names(frame: Any) -> set[str]:
    """Return the local variables of a frame, also those that are not set yet."""
    if frame.f_locals is frame.f_globals:
        return set()
    code = frame.f_code
    return {*frame.f_locals, *code.co_varnames, *code.co_cellvars, *code.co_freevars}


# --- reading --------------------------------------------------------------------------------------


def _path(tree: Any) -> list[tuple[str, Any]] | None:
    """Return the fields and elements after a variable; None if it is no such path."""
    steps: list[tuple[str, Any]] = []
    while not isinstance(tree, ast.Name):
        if isinstance(tree, ast.Attribute):
            steps.append(("field", tree.attr))
        elif isinstance(tree, ast.Subscript):
            index = tree.slice
            if isinstance(index, ast.Name):
                steps.append(("index", index.id))
            else:
                try:
                    steps.append(("key", ast.literal_eval(index)))
                except ValueError:
                    return None
        else:
            return None
        tree = tree.value
    return steps[::-1]


def _variable(frame: Any, name: str) -> Any:
    for scope in (frame.f_locals, frame.f_globals):
        if name in scope:
            return scope[name]
    return frame.f_builtins.get(name, _UNSET)


def _field(value: Any, name: str) -> Any:
    kind = type(value)
    if issubclass(kind, type):
        # A class: its own attributes and those of its bases.
        for base in type.__dict__["__mro__"].__get__(value):
            own = type.__dict__["__dict__"].__get__(base)
            if name in own:
                return own[name]
        return _UNSET
    getter = _objects.slot_getters(kind).get(name)
    if getter is not None:
        try:
            return getter(value)
        except AttributeError:
            return _UNSET
    found = _objects.find(kind, name)
    if found is not None and _objects.find(type(found), "__set__") is not None:
        raise CodeNeeded(f"{name} is a property")
    own = _objects.own_dict(value)
    if own is not None and name in own:
        return own[name]
    if found is not None:
        return found
    if _objects.find(kind, "__getattr__") is not None:
        raise CodeNeeded(f"{_objects.name_of(kind)} has __getattr__")
    return _UNSET


def _is_own_field(value: Any, name: str) -> bool:
    """Return whether a field is read from the `__dict__` of its object and nowhere else."""
    kind = type(value)
    own = _objects.own_dict(value)
    return own is not None and name in own and _objects.find(kind, name) is None


def _element(value: Any, key: Any) -> Any:
    getter = _objects.find(type(value), "__getitem__")
    if getter is dict.__dict__["__getitem__"]:
        try:
            return dict.get(value, key, _UNSET)
        except TypeError:
            return _UNSET
    for kind in _SEQUENCES:
        if getter is kind.__dict__["__getitem__"]:
            try:
                return getter(value, key)
            except (IndexError, TypeError):
                return _UNSET
    raise CodeNeeded(f"elements of {_objects.name_of(type(value))} are what its code returns")


# --- comparing ------------------------------------------------------------------------------------


def _state(value: Any) -> tuple[Any, ...]:
    """Return what is compared; its last part is the text, or a value whose text is made later."""
    if value is _UNSET:
        return ()
    kind = type(value)
    # By the type's id: comparing classes of the program could run code of their metaclass.
    if id(kind) in _PLAIN:
        return (id(kind), value)
    if id(kind) in _NUMBERS:
        return (id(kind), repr(value))  # nan is not equal to itself
    text = _text.show(value, _LIMIT)
    if kind is list or kind is tuple:
        return (id(kind), len(value), tuple(map(id, value[:_ELEMENTS])), text)
    if kind is dict:
        return (id(kind), len(value), tuple(map(id, islice(value.values(), _ELEMENTS))), text)
    if kind is set or kind is frozenset:
        return (id(kind), len(value), text)
    return (id(kind), id(value), text)


def _shown(state: tuple[Any, ...]) -> str:
    if not state:
        return "unset"
    return str(_text.show(state[-1], _LIMIT)) if state[0] in _PLAIN else str(state[-1])


def refresh() -> None:
    """Take the present values as the last ones: the user may have changed them at a stop."""
    for watch in list(watches.values()):
        try:
            watch.set(watch.read())
        except Exception:
            continue


def passed(frame: Any, code: Any, line: int | None, leaves: bool = False) -> bool:
    """Note what the thread does, after comparing; return whether there is something to report.

    *code* and *line* are what it executes from now on; *leaves*: *frame* ends.
    """
    ident = threading.get_ident()
    if _busy and ident in _busy:
        return False
    _busy.add(ident)
    try:
        for watch in list(watches.values()):
            before = watch.state
            if watch.is_changed(frame) and watch.holds():
                _hit(watch, before, ident)
        if leaves:
            _end_scopes(frame, ident)
    finally:
        _busy.discard(ident)
    if len(_lines) > 1:
        _instructions.update(_present())
    if line is None:
        _lines.pop(ident, None)
    else:
        _lines[ident] = (code, line)
    return ident in _pending


def _hit(watch: Watch, before: tuple[Any, ...], ident: int) -> None:
    hit: dict[str, Any] = {"id": watch.id, "old": _shown(before), "new": _shown(watch.state)}
    writer = _writer(watch, ident)
    if writer is not None:
        hit["path"], hit["line"] = writer[0].co_filename, writer[1]
    _pending.setdefault(ident, []).append(hit)


def _end_scopes(frame: Any, ident: int) -> None:
    for watch in list(watches.values()):
        if watch.only is frame:
            del watches[watch.id]
            _pending.setdefault(ident, []).append({"id": watch.id, "ended": True})


def is_pending() -> bool:
    return bool(_pending)


def take() -> list[dict[str, Any]]:
    """Return the hits that this thread is to report, and forget them."""
    return _pending.pop(threading.get_ident(), [])


# --- the writer -----------------------------------------------------------------------------------


def _present() -> dict[int, tuple[int, int]]:
    frames = sys._current_frames()
    return {ident: (id(frame), frame.f_lasti) for ident, frame in frames.items()}


def _writer(watch: Watch, ident: int) -> tuple[Any, int] | None:
    """Return the line that wrote it; None if lines of several threads may have."""
    own = _lines.get(ident)
    present = _present() if len(_lines) > 1 else {}
    others = {
        location
        for thread, location in list(_lines.items())
        # A thread that is where it was has done nothing since: it waits.
        if thread != ident and present.get(thread) != _instructions.get(thread)
    }
    if not others or own is None:
        return own
    names = {watch.root, *(key for kind, key in watch.steps or () if kind == "field")}
    likely = {location: _likelihood(*location, names) for location in {own, *others}}
    best = max(likely.values())
    found = [location for location, each in likely.items() if each == best]
    return found[0] if len(found) == 1 else None


def _likelihood(code: Any, line: int, names: set[str]) -> int:
    """Return 2 for a line that stores to one of the names or to an element, 1 for a call."""
    import dis

    found, inside = 0, False
    for each in dis.get_instructions(code):
        at = getattr(each, "line_number", None) or each.starts_line
        if type(at) is int and at is not True:
            inside = at == line
        if not inside:
            continue
        if each.opname.startswith(("STORE_", "DELETE_")):
            if each.opname.endswith("SUBSCR") or each.argval in names:
                return 2
        elif each.opname.startswith("CALL"):
            found = 1
    return found


def add(id: int, expression: str, condition: str | None, frame: Any) -> str:
    """Watch an expression; return `evaluated` if code of the program runs for it, or `unset`.

    Raises what evaluating it raises if it has no value.
    """
    watch = Watch(id, expression, condition, frame)
    if not watch.state and not _may_come(watch):
        eval(watch.code, frame.f_globals, frame.f_locals)  # raises what the user is to see
    watches[id] = watch
    if not watch.state:
        return "unset"
    return "evaluated" if watch.is_evaluated else ""


def _may_come(watch: Watch) -> bool:
    """Return whether a value that does not exist can be set later: its owner exists."""
    if watch.steps:
        return watch.read(owner=True) is not _UNSET
    return watch.root in _local_names(watch.frame)


def at(ident: int, code: Any, line: int) -> None:
    """Note the line that a thread executes."""
    _lines[ident] = (code, line)


def forget(id: int) -> None:
    watches.pop(id, None)


def clear() -> None:
    """Forget everything: this is a forked process, or the debugger detaches."""
    for kept in (watches, _lines, _pending, _instructions):
        kept.clear()
    _busy.clear()
