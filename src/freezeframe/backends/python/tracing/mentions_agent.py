"""The objects that each line of a file mentions; the module `_freezeframe_mentions`.

Runs inside the traced program and imports nothing of this package. Paths such as `self.items` and
`cfg['rate']` are read from the syntax tree, once per file.
"""

from __future__ import annotations

import _ast
import os
from typing import Any

_ONLY_AST = 0x400
#: characters of a source file that is parsed
_MAX_SOURCE = 4_000_000
#: nodes of the paths that one statement mentions
_MAX_NODES = 40

# Kinds of nodes: how a node's value is obtained.
LOCAL, GLOBAL, NAME, ATTRIBUTE, ITEM, ITEM_BY = range(6)
# Flags of nodes: its value is recorded before the line is executed; the line may change it; the
# line may change one of its parts, and which one is not known beforehand (`d[len(w)].append(w)`).
# The line assigns one of its parts, whatever it calls.
READ, LOOK, INSIDE, ASSIGNED = 1, 2, 4, 8


class Source:
    """The statements of a file by line, and what they mention."""

    def __init__(self, statements: dict[int, Any]) -> None:
        self._statements = statements
        self._mentions: dict[int, Any] = {}

    def mentions(self, line: int) -> Any:
        """Return the paths that the statements of a line mention, whether the line makes what it
        stores, and the names of what it calls that may change objects; None: it may run any code.
        """
        nodes: Any = ()
        is_made = False
        calls: Any = () if line in self._statements else None
        for statement, parts in self._statements.get(line, ()):
            found = self._mentions.get(id(statement))
            if found is None:
                found = self._mentions[id(statement)] = _mentions_of(statement, parts)
            nodes = _joined(nodes, found[0]) if nodes else found[0]
            is_made = is_made or found[1]
            calls = None if calls is None or found[2] is None else calls + found[2]
        return nodes, is_made, calls


def read_source(path: str) -> Source:
    """Return the statements of a file; none if it cannot be read."""
    try:
        system: Any = __import__(os.name)
        names = ("O_CLOEXEC", "O_NONBLOCK", "O_NOINHERIT", "O_BINARY")
        flags = sum(getattr(system, name, 0) for name in names)
        handle = system.open(path, system.O_RDONLY | flags)
        try:
            text = b""
            while len(text) < _MAX_SOURCE and (more := system.read(handle, 1 << 20)):
                text += more
        finally:
            system.close(handle)
        tree = compile(text, path, "exec", _ONLY_AST, True)
    except Exception:
        return Source({})
    found: dict[int, Any] = {}
    _read_body(tree.body, found)
    return Source(found)


_HEADERS = {
    _ast.If: ("test",),
    _ast.While: ("test",),
    _ast.For: ("target", "iter"),
    _ast.AsyncFor: ("target", "iter"),
    _ast.With: ("items",),
    _ast.AsyncWith: ("items",),
    _ast.FunctionDef: (),
    _ast.AsyncFunctionDef: (),
    _ast.ClassDef: (),
    _ast.Match: ("subject",),
    _ast.Try: (),
    _ast.ExceptHandler: ("type",),
    _ast.match_case: ("guard",),
}
if hasattr(_ast, "TryStar"):
    _HEADERS[_ast.TryStar] = ()
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def _read_body(body: Any, found: dict[int, Any]) -> None:
    pending = list(body)
    while pending:
        statement = pending.pop()
        header = _HEADERS.get(type(statement))
        if header is None:
            parts: list[Any] = [statement]
            first, last = statement.lineno, statement.end_lineno
        else:
            parts = [getattr(statement, name) for name in header]
            lines = [each for part in parts for each in _lines_of(part)]
            first = getattr(statement, "lineno", lines[0] if lines else 0)
            last = max(lines, default=first)
            for name in _BODIES:
                pending += getattr(statement, name, None) or ()
        if type(statement) in (_ast.Import, _ast.ImportFrom):
            continue
        for line in range(first, last + 1):
            found.setdefault(line, []).append((statement, parts))


def _mentions_of(statement: Any, parts: Any) -> tuple[Any, bool, Any]:
    walk = _Walk()
    for part in parts:
        walk.visit(part, True)
    changes = walk.may_change or type(statement) in _CHANGING
    for at, node in enumerate(walk.nodes):
        if changes or at in walk.changed:
            inside = INSIDE if at in walk.inside else 0
            assigned = ASSIGNED if at in walk.changed else 0
            walk.nodes[at] = (*node[:4], node[4] | LOOK | inside | assigned, node[5])
    is_made = type(getattr(statement, "value", None)) in _DISPLAYS or _is_made(statement)
    is_unknown = walk.is_unknown or type(statement) in (*_CHANGING, *_DEFINITIONS)
    return tuple(walk.nodes), is_made, None if is_unknown else tuple(walk.calls)


_DEFINITIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)
_CHANGING = (_ast.With, _ast.AsyncWith, _ast.AsyncFor)
_DISPLAYS = (_ast.Dict, _ast.List, _ast.Set, _ast.ListComp, _ast.DictComp, _ast.SetComp)
_CONSTRUCTORS = ("dict", "list", "set", "sorted")


def _is_made(statement: Any) -> bool:
    value = getattr(statement, "value", None)
    if type(value) is not _ast.Call or type(value.func) is not _ast.Name:
        return False
    return value.func.id in _CONSTRUCTORS


def _joined(before: Any, nodes: Any) -> Any:
    """Append nodes to those of another statement in the same line."""
    shift = len(before)
    moved = [
        (
            parent + shift if parent >= 0 else parent,
            kind,
            key + shift if kind == ITEM_BY else key,
            *others,
        )
        for parent, kind, key, *others in nodes
    ]
    return (*before, *moved)


def _lines_of(part: Any) -> list[int]:
    if type(part) is list:
        return [line for each in part for line in _lines_of(each)]
    if type(part) is _ast.withitem:
        return _lines_of(part.context_expr) + _lines_of(part.optional_vars)
    end = getattr(part, "end_lineno", None)
    return [part.lineno, end] if end is not None else []


#: builtin functions, and methods of builtin objects, that change no object of the program
#: themselves; what they call of the program is traced
_HARMLESS = frozenset(
    (
        "abs", "all", "any", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "float",
        "format", "frozenset", "hash", "id", "int", "isinstance", "issubclass", "len", "list",
        "max", "min", "ord", "print", "range", "repr", "reversed", "round", "set", "sorted",
        "str", "sum", "super", "tuple", "type", "zip",
    )
)  # fmt: skip
_HARMLESS_METHODS = frozenset(
    (
        "capitalize", "casefold", "copy", "count", "decode", "encode", "endswith", "format", "get",
        "index", "isalnum", "isalpha", "isdigit", "isspace", "items", "join", "keys", "ljust",
        "lower", "lstrip", "partition", "replace", "rjust", "rpartition", "rsplit", "rstrip",
        "split", "splitlines", "startswith", "strip", "title", "upper", "values", "zfill",
    )
)  # fmt: skip


def _is_harmless(func: Any) -> bool:
    if type(func) is _ast.Name:
        return func.id in _HARMLESS
    return type(func) is _ast.Attribute and func.attr in _HARMLESS_METHODS


_SUSPENDING = (_ast.Await, _ast.Yield, _ast.YieldFrom)
_LOOPS = (_ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)
#: what may run any code, or the same code more often than once
_UNKNOWN = (*_SUSPENDING, *_LOOPS, _ast.Lambda)


class _Walk:
    """The paths of names, attributes and subscripts in an expression, prefixes first."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        #: a call that may change what the statement mentions
        self.may_change = False
        #: nodes whose parts are assigned
        self.changed: list[int] = []
        #: containers with an element whose key is computed
        self.inside: list[int] = []
        #: names of the functions of such calls, and whether others may be called, or more often
        self.calls: list[str] = []
        self.is_unknown = False
        self._known: dict[str, int] = {}

    def visit(self, node: Any, is_read: bool) -> None:
        kind = type(node)
        if kind is list:
            for each in node:
                self.visit(each, is_read)
            return
        if kind in (_ast.Name, _ast.Attribute, _ast.Subscript):
            if kind is not _ast.Name and type(node.ctx) is not _ast.Load:
                self.changed.append(self.path(node.value, False))
                self.changed.append(self.path(node, False))
            if self.path(node, is_read and type(node.ctx) is _ast.Load) >= 0:
                return
        elif kind in _UNKNOWN:
            self.is_unknown = True
            self.may_change |= kind in _SUSPENDING
        elif kind is _ast.Call:
            func = node.func
            if not _is_harmless(func):
                self.may_change = True
                self.calls.append(getattr(func, "attr", getattr(func, "id", "")))
            # A method is no field: only its object is looked at.
            if type(func) is _ast.Attribute:
                self.visit(func.value, is_read)
            elif type(func) is not _ast.Name:
                self.visit(func, is_read)
            self.visit(node.args, is_read)
            self.visit(node.keywords, is_read)
            return
        elif kind is _ast.AugAssign:
            target = node.target
            # A list is changed by it, and so is the owner of a part.
            changed = target if type(target) is _ast.Name else target.value
            self.changed.append(self.path(changed, False))
            self.changed.append(self.path(target, True))
            self.visit(node.value, is_read)
            return
        for name in getattr(node, "_fields", ()) if kind is not _ast.Lambda else ():
            child = getattr(node, name, None)
            if name != "annotation" and type(child) not in (type(None), str, int):
                self.visit(child, is_read)

    def path(self, node: Any, is_read: bool) -> int:
        """Add the path of a node; return its number, -1 if it has none."""
        kind = type(node)
        if kind is _ast.Name:
            return self._add(-1, NAME, node.id, node.id, is_read, "." + node.id)
        if kind is _ast.Attribute:
            parent = self.path(node.value, False)
            if parent < 0:
                return -1
            text = f"{self.nodes[parent][3]}.{node.attr}"
            return self._add(parent, ATTRIBUTE, node.attr, text, is_read, "." + node.attr)
        if kind is _ast.Subscript:
            return self._subscript(node, is_read)
        return -1

    def _subscript(self, node: Any, is_read: bool) -> int:
        parent = self.path(node.value, False)
        index = node.slice
        negative = type(index) is _ast.UnaryOp and type(index.op) is _ast.USub
        literal = index.operand if negative else index
        if type(literal) is _ast.Constant:
            key = literal.value
            if negative and type(key) is int:
                key = -key
            if parent < 0 or type(key) not in (str, int, bool, bytes, type(None)):
                return -1
            text = f"{self.nodes[parent][3]}[{key!r}]"
            return self._add(parent, ITEM, key, text, is_read, f"[{key!r}]")
        by = self.path(index, True) if type(index) in (_ast.Name, _ast.Attribute) else -1
        if by < 0:
            self.visit(index, True)
        if parent < 0 or by < 0:
            if parent >= 0 and type(index) is not _ast.Slice:
                self.inside.append(parent)
            return parent if parent >= 0 else -1
        text = f"{self.nodes[parent][3]}[{self.nodes[by][3]}]"
        return self._add(parent, ITEM_BY, by, text, is_read, "")

    def _add(self, parent: int, kind: int, key: Any, text: str, is_read: bool, part: str) -> int:
        at = self._known.get(text)
        if at is None:
            if len(self.nodes) >= _MAX_NODES:
                return -1
            at = self._known[text] = len(self.nodes)
            self.nodes.append((parent, kind, key, text, READ if is_read else 0, part))
        elif is_read and not self.nodes[at][4]:
            self.nodes[at] = (parent, kind, key, text, READ, part)
        return at
