"""Locks as the statements of frames take and hold them; runs inside the program.

Becomes the module `_freezeframe_locks`. Works in every Python from 3.8 on, imports nothing of this
package, and runs no code of the program: names and fields are read, nothing is called. A lock of
`threading` does not know its owner: the `with` statements around the line of each frame tell.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_objects: Any = sys.modules["_freezeframe_objects"]
_LOCK = type(threading.Lock())
_RLOCK = type(threading.RLock())
_rlock_text: Any = _RLOCK.__repr__
_OWNER = re.compile(r"owner=(\d+) count=([1-9]\d*)")
_ASYNC_LOCKS = ("Lock", "Semaphore", "BoundedSemaphore", "Condition")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
MISSING = object()
_parsed: dict[str, Any] = {}


# --- locks ----------------------------------------------------------------------------------------


def field(value: Any, name: str) -> Any:
    """Return a field of an instance; no code of its class runs."""
    if value is MISSING or value is None:
        return MISSING
    own = _objects.own_dict(value)
    if own is not None and name in own:
        return own[name]
    return _objects.slots(value).get(name, MISSING)


def lock_in(value: Any) -> Any:
    """Return the lock that a value is: of a condition or a user's class, the one inside of it."""
    if value is MISSING:
        return None
    if type(value) in (_LOCK, _RLOCK) or _is_async_lock(value):
        return value
    if type(value) is threading.Condition:
        return lock_in(field(value, "_lock"))
    locks = [each for _, each in _objects.fields(value) if type(each) in (_LOCK, _RLOCK)]
    return locks[0] if len(locks) == 1 else None


def _is_async_lock(value: Any) -> bool:
    return bool(_objects.is_exactly(type(value), "asyncio.locks", *_ASYNC_LOCKS))


def is_locked(lock: Any) -> bool:
    if type(lock) is _LOCK:
        return bool(lock.locked())
    if type(lock) is _RLOCK:
        return _OWNER.search(_rlock_text(lock)) is not None
    found = field(lock, "_locked")
    return found is not False


def lock_facts(lock: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"resource": str(id(lock))}
    owner = _OWNER.search(_rlock_text(lock)) if type(lock) is _RLOCK else None
    if owner is not None:
        found["targets"] = [f"thread {owner[1]}"]
    return found


# --- statements -----------------------------------------------------------------------------------


def lock_expressions(called: str, frame: Any) -> list[Any]:
    """Return the expressions of the lock that a statement takes: `with X`, `X.acquire()`."""
    with_head = called.startswith("with ")
    try:
        source = f"{called}:\n  pass" if with_head else called
        statement = ast.parse(source).body[0]
    except (SyntaxError, ValueError):
        return []
    if isinstance(statement, ast.With):
        items = [each.context_expr for each in statement.items]
        return items if len(items) == 1 else _entered_item(items, frame)
    value = getattr(statement, "value", None)
    function = value.func if isinstance(value, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr in ("acquire", "__enter__"):
        return [function.value]
    return []


def _entered_item(items: list[Any], frame: Any) -> list[Any]:
    """Return the item of `with a, b` that is being entered: those before it were."""
    import opcode

    code, entered = frame.f_code.co_code, 0
    lines = _line_of(frame)
    for offset in range(0, min(frame.f_lasti, len(code) - 1), 2):
        name = opcode.opname[code[offset]]
        if name in ("BEFORE_WITH", "SETUP_WITH") and lines(offset) == frame.f_lineno:
            entered += 1
    return items[entered : entered + 1]


def _line_of(frame: Any) -> Callable[[int], int | None]:
    positions = getattr(frame.f_code, "co_positions", None)
    known = [each[0] for each in positions()] if positions is not None else []
    return lambda offset: known[offset // 2] if offset // 2 < len(known) else None


def entered_name(frame: Any, lock: Any) -> str | None:
    """Return how the `async with` at a frame's line, or its call of `acquire`, names a lock."""
    tree = _tree(frame.f_code.co_filename)
    function = _function_around(tree, frame) if tree is not None else None
    for node in _statements(function) if function is not None else ():
        expressions: list[Any] = []
        if getattr(node, "lineno", None) != frame.f_lineno:
            continue
        if isinstance(node, ast.AsyncWith):
            expressions = [each.context_expr for each in node.items]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            expressions = [node.func.value]
        for expression in expressions:
            if value_of(expression, frame) is lock:
                return ast_text(expression)
    return None


def held_expressions(frame: Any) -> Iterator[tuple[Any, int, bool]]:
    """Yield expressions of locks that a frame holds at its line, where each was taken, and
    whether a `with` statement shows it."""
    tree = _tree(frame.f_code.co_filename)
    line = frame.f_lineno
    function = _function_around(tree, frame) if tree is not None and line is not None else None
    if function is None:
        return
    taken: dict[str, tuple[Any, int]] = {}
    for node in _statements(function):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            last = getattr(node, "end_lineno", None) or node.lineno
            if node.body[0].lineno <= line <= last and line > node.lineno:
                for item in node.items:
                    yield item.context_expr, node.lineno, True
            elif node.lineno <= line < node.body[0].lineno and len(node.items) > 1:
                items = [item.context_expr for item in node.items]
                waiting = _entered_item(items, frame)
                for each in items[: items.index(waiting[0])] if waiting else ():
                    yield each, node.lineno, True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.lineno >= line:
                continue
            if node.func.attr == "acquire":
                taken[ast.dump(node.func.value)] = (node.func.value, node.lineno)
            elif node.func.attr == "release":
                taken.pop(ast.dump(node.func.value), None)
    for expression, at in taken.values():
        yield expression, at, False


def _tree(path: str) -> Any:
    if path not in _parsed:
        try:
            _parsed[path] = ast.parse("".join(linecache.getlines(path)))
        except (SyntaxError, ValueError, RecursionError):
            _parsed[path] = None
    return _parsed[path]


def _function_around(tree: Any, frame: Any) -> Any:
    """Return the syntax node of a frame's function."""
    code = frame.f_code
    if code.co_name == "<module>":
        return tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def _statements(function: Any) -> Iterator[Any]:
    """Yield the nodes of a function in the order of the source, without nested functions."""
    waiting = [function]
    while waiting:
        node = waiting.pop()
        yield node
        children = list(ast.iter_child_nodes(node))
        waiting += [each for each in reversed(children) if not isinstance(each, _FUNCTIONS)]


def value_of(expression: Any, frame: Any) -> Any:
    """Return the value of a name with fields and constant keys; no code of the program runs."""
    if isinstance(expression, ast.Name):
        for names in (frame.f_locals, frame.f_globals):
            if expression.id in names:
                return names[expression.id]
        return MISSING
    if isinstance(expression, ast.Attribute):
        owner = value_of(expression.value, frame)
        found = field(owner, expression.attr)
        if found is MISSING and owner is not MISSING:
            # An attribute of the class; a descriptor would be code.
            kind = owner if issubclass(type(owner), type) else type(owner)
            found = _objects.find(kind, expression.attr)
            return found if type(found) in (_LOCK, _RLOCK) else MISSING
        return found
    if isinstance(expression, ast.Subscript):
        owner = value_of(expression.value, frame)
        key: Any = expression.slice
        key = getattr(key, "value", key) if type(key).__name__ == "Index" else key
        key = key.value if isinstance(key, ast.Constant) else value_of(key, frame)
        plain = type(key) in (int, str)
        if plain and type(owner) in (dict, list, tuple):
            try:
                return owner[key]
            except LookupError:
                return MISSING
    return MISSING


def ast_text(expression: Any) -> str:
    unparse = getattr(ast, "unparse", None)
    return unparse(expression) if unparse is not None else ""
