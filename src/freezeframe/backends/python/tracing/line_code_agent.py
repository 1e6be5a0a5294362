"""Functions that record what one line reads and changes; the module `_freezeframe_code`.

Runs inside the traced program and imports nothing of this package. What a line stores and mentions
is known beforehand (`line_plans_agent.py`), so each line gets functions of its own, without loops
over its names and without questions whose answers do not change. No code of the program runs.
"""

from __future__ import annotations

import _thread
import sys
from typing import Any

_log: Any = sys.modules["_freezeframe_log"]
_mentions: Any = sys.modules["_freezeframe_mentions"]
_identities: Any = sys.modules["_freezeframe_identities"]
_values: Any = sys.modules["_freezeframe_values"]
_stores: Any = sys.modules["_freezeframe_stores"]

LOCAL, GLOBAL, NAME, ATTRIBUTE, ITEM, ITEM_BY = range(6)
READ, LOOK, INSIDE = _mentions.READ, _mentions.LOOK, _mentions.INSIDE
_MISSING = _identities.MISSING
_VARARGS, _VARKEYWORDS = 0x04, 0x08
#: objects that were looked at before this are looked at again; the recorder has set it
_NOW = "now = first.now"


def functions_of(flow: Any, plan: Any) -> tuple[Any, Any]:
    """Return the functions to call before and after a flow is executed; None for nothing.

    `before(frame, state, step)`; `after(frame, state, is_sure)`, where *is_sure* says that all of
    the flow was executed.
    """
    before = after = None
    if flow.namespace and not (flow.nodes or flow.locals or flow.is_made):
        return None, _stores.store_globals  # most lines of a module, which are executed once
    with _lock:
        if flow.nodes:
            before = _compiled("before(frame, state, step", _before(flow, plan))
        if flow.nodes or flow.locals or flow.namespace:
            after = _compiled("after(frame, state, sure", _after(flow, plan))
    return before, after


def arguments_of(plan: Any) -> Any:
    """Return a function that records the arguments of a frame: `arguments(frame, state, step)`
    returns name and value of each.
    """
    code = plan.code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & _VARARGS) + bool(code.co_flags & _VARKEYWORDS)
    if not count or not plan.is_optimized:
        return None
    with _lock:
        return _compiled("arguments(frame, state, step", _arguments(code.co_varnames[:count]))


def _arguments(names: Any) -> list[str]:
    lines = ["local = frame.f_locals", "values = state.values"]
    found = []
    for at, name in enumerate(names):
        lines.append(f"v = local.get({_constant(name)})")
        lines += _index(f"i{at}", "v", "value_of")
        lines.append(f"values[{_constant(name)}] = i{at}")
        found.append(f"{_constant(_log.name(name))}, i{at}")
    lines.append(f"return ({', '.join(found)})")
    return lines


def _compiled(header: str, lines: list[str]) -> Any:
    """Return a function with this code, for the constants that it uses.

    Most lines have the code of other lines, but for their constants: it is compiled once.
    """
    constants = [value for _, value in _constants.values()]
    _constants.clear()
    if not lines:
        return None
    body = "".join(f"\n        {line}" for line in lines)
    numbered = ", ".join(f"c{at}" for at in range(len(constants)))
    source = f"def make({numbered}):\n    def {header}):{body}\n    return "
    source += header.partition("(")[0]
    make = _made.get(source)
    if make is None:
        names = dict(_NAMES, __name__="_freezeframe_generated")
        exec(source, names)
        make = _made[source] = names["make"]
    return make(*constants)


#: source → the function that makes functions of it
_made: dict[str, Any] = {}
#: type and text of a constant of the function that is being written → its number and itself
_constants: dict[tuple[str, str], tuple[int, Any]] = {}
#: held while a function is written
_lock = _thread.allocate_lock()


def _constant(value: Any) -> str:
    """Return the name of a constant in the function that is being written."""
    key = (type(value).__name__, repr(value))
    return f"c{_constants.setdefault(key, (len(_constants), value))[0]}"


# --- values -------------------------------------------------------------------------------------


def _index(target: str, value: str, make: str) -> list[str]:
    """Return code that sets *target* to the index of *value*."""
    return [
        f"t = type({value})",
        f"{target} = ints({value}) if t is int else strs({value}) if t is str "
        f"else floats({value}) if t is float and {value} else None",
        f"if {target} is None: {target} = {make}({value}, step)",
    ]


def _before(flow: Any, plan: Any) -> list[str]:
    paths = _Paths(flow, plan)
    lines = [_NOW, *paths.roots()]
    reads: list[str] = []
    described: list[str] = []
    for at, (parent, kind, key, text, flags, part) in enumerate(flow.nodes):
        lines += paths.resolve(at)
        if flags & LOOK:
            lines += paths.look(at, "0")
        if not flags & READ:
            continue
        lines += _index(f"i{at}", f"v{at}", "read_value")
        owner = paths.owner(at)
        reads += [f"i{at}", owner]
        is_dynamic = kind == ITEM_BY or (kind == ITEM and type(key) is int and key < 0)
        if is_dynamic:
            index = f"v{key}" if kind == ITEM_BY else _constant(key)
            lines.append(f"p{at} = key_index(v{parent}, {index}, step)")
            reads.append(f"p{at}")
        described.append(f"{text}\1{'' if is_dynamic else part}")
    if reads:
        site = _constant(_log.name("\2".join(described)))
        lines.append(f"extend(({_log.READS}, step, {site}, {len(reads)}, {', '.join(reads)}))")
    return lines if any(node[4] for node in flow.nodes) else []


def _after(flow: Any, plan: Any) -> list[str]:
    paths = _Paths(flow, plan)
    nodes = [at for at, node in enumerate(flow.nodes) if node[4] & LOOK]
    lines = [_NOW, "step = state.step"]
    if flow.is_made:
        lines.append("first.by_step = 1")
    if flow.locals or nodes:
        lines += paths.roots(bool(flow.locals))
    # What the line changed is recorded before it is seen as a part of what the line stores. An
    # object that a variable was set to is recorded with the variable.
    stored = {name for name, *_ in (*flow.locals, *flow.namespace)}
    late = {at for at in nodes if paths.root_name(at) in stored}
    lines += _looks(flow, paths, set(nodes) - late)
    if flow.locals:
        lines.append("values = state.values")
    for name, is_sure, is_free in flow.locals:
        lines += _store(name, is_sure, is_free)
    if flow.namespace:
        lines += ["names = frame.f_globals", "space = state.namespace", "parts = space.parts"]
    for name, is_sure in flow.namespace:
        lines += _store_global(name, is_sure)
    lines += _looks(flow, paths, late)
    if flow.is_made:
        lines.append("first.by_step = 0")
    return lines if len(lines) > 2 else []


def _looks(flow: Any, paths: _Paths, nodes: set[int]) -> list[str]:
    """Return code that looks at objects after the line, which may have changed them."""
    paths.restart()
    lines = []
    needed = _with_prefixes(flow.nodes, nodes)
    for at in range(len(flow.nodes)):
        if at in needed:
            lines += paths.resolve(at)
            if at in nodes:
                lines += paths.look(at, "1")
    return lines


def _with_prefixes(nodes: Any, numbers: Any) -> set[int]:
    found = set(numbers)
    for at in range(len(nodes) - 1, -1, -1):
        if at in found:
            found |= {nodes[at][0]} if nodes[at][0] >= 0 else set()
            found |= {nodes[at][2]} if nodes[at][1] == ITEM_BY else set()
    return found


def _store(name: str, is_sure: bool, is_free: bool) -> list[str]:
    """Return code that records the value that a local variable was set to."""
    number = _constant(_log.name(name))
    condition = "i != was or sure" if is_sure else "i != was"
    record = f"({_log.LOCAL}, step, {number}, i, was)"
    if is_free:
        record = f"({_log.WRITE}, step, {number}, i, -1, -1, definer(state, {_constant(name)}), 1)"
    return [
        f"v = local.get({_constant(name)}, M)",
        f"if v is M: unbind(state, {_constant(name)}, {number})",
        "else:",
        *("    " + each for each in _index("i", "v", "value_of")),
        f"    was = values.get({_constant(name)}, -1)",
        f"    if {condition}:",
        "        if was in held: suspect(was)",
        f"        values[{_constant(name)}] = i",
        f"        extend({record})",
    ]


def _store_global(name: str, is_sure: bool) -> list[str]:
    part = "." + name
    number = _constant(_log.name(part))
    condition = "i != was or sure" if is_sure else "i != was"
    return [
        f"v = names.get({_constant(name)}, M)",
        f"was = parts.get({_constant(part)}, -1)",
        "if v is M:",
        f"    if was >= 0: part_missing(space, {_constant(part)}, step, 1)",
        "else:",
        *("    " + each for each in _index("i", "v", "value_of")),
        f"    if {condition}:",
        f"        parts[{_constant(part)}] = i",
        f"        extend(({_log.WRITE}, step, {number}, i, was, space.number, -1, 1))",
    ]


class _Paths:
    """Code that obtains the objects that a line mentions: `v0`, `v1`, … with their records `k0`,
    `k1`, …
    """

    def __init__(self, flow: Any, plan: Any) -> None:
        self._nodes = flow.nodes
        self._plan = plan
        self._parents = {node[0] for node in flow.nodes if node[0] >= 0}
        self._dicts: set[int] = set()

    def roots(self, needs_locals: bool = False) -> list[str]:
        kinds = {node[1] for node in self._nodes if node[0] < 0}
        is_class = NAME in kinds and not self._plan.is_module
        lines = []
        if needs_locals or LOCAL in kinds or is_class:
            lines.append("local = frame.f_locals")
        if kinds & {GLOBAL, NAME}:
            lines.append("names = frame.f_globals")
        return lines

    def resolve(self, at: int) -> list[str]:
        parent, kind, key, _, flags, _ = self._nodes[at]
        if kind == LOCAL:
            lines = [f"v{at} = local.get({_constant(key)}, M)"]
        elif kind == GLOBAL or (kind == NAME and self._plan.is_module):
            lines = [f"v{at} = names.get({_constant(key)}, M)"]
        elif kind == NAME:
            lines = [f"v{at} = local.get({_constant(key)}, M)"]
            lines.append(f"if v{at} is M: v{at} = names.get({_constant(key)}, M)")
        elif kind == ATTRIBUTE:
            lines = self._attribute(at, parent, key)
        else:
            index = f"v{key}" if kind == ITEM_BY else _constant(key)
            lines = [f"v{at} = item(v{parent}, {index}, k{parent})"]
        if at in self._parents or flags & LOOK:
            lines += [
                f"k{at} = known(id(v{at}))",
                f"if k{at} is None and id(type(v{at})) not in partless: k{at} = known_of(v{at})",
            ]
        return lines

    def _attribute(self, at: int, parent: int, name: str) -> list[str]:
        lines = []
        if parent not in self._dicts:
            self._dicts.add(parent)
            lines += [
                f"d{parent} = None",
                f"if k{parent} is not None and k{parent}.get_dict is not None:",
                f"    d{parent} = k{parent}.get_dict(v{parent})",
                f"    if type(d{parent}) is not dict: d{parent} = None",
            ]
        lines.append(
            f"v{at} = d{parent}.get({_constant(name)}, M) if d{parent} is not None "
            f"else attribute(v{parent}, {_constant(name)})"
        )
        return lines

    def owner(self, at: int) -> str:
        """Return code for the number of the object that holds a node."""
        parent, kind = self._nodes[at][:2]
        if parent >= 0:
            return f"-1 if k{parent} is None else k{parent}.number"
        return "-1" if kind == LOCAL else "state.namespace.number"

    def restart(self) -> None:
        """Forget what was obtained: the line's variables may be set meanwhile."""
        self._dicts.clear()

    def root_name(self, at: int) -> Any:
        """Return the variable that a path begins with."""
        while self._nodes[at][0] >= 0:
            at = self._nodes[at][0]
        return self._nodes[at][2]

    def look(self, at: int, by_step: str) -> list[str]:
        """Return code that looks at an object, and at it as a part of a large container."""
        parent, kind, key = self._nodes[at][:3]
        lines = [
            f"if k{at} is not None and k{at}.seen < now:",
            f"    k{at}.seen = now",
            f"    look(v{at}, k{at}, step, {by_step})",
        ]
        if self._nodes[at][4] & INSIDE:
            lines.append(f"    look_inside(v{at}, k{at}, step, {by_step})")
        if parent >= 0 and kind != ATTRIBUTE:
            index = f"v{key}" if kind == ITEM_BY else _constant(key)
            lines += [
                f"if k{parent} is not None and k{parent}.parts is not None:",
                f"    look_at_item(k{parent}, v{parent}, {index}, v{at}, step, {by_step})",
            ]
        return lines


_NAMES = {
    "M": _MISSING,
    "extend": _log.records.extend,
    "ints": _log.ints.get,
    "strs": _log.strs.get,
    "floats": _log.floats.get,
    "known": _identities.get_known,
    "known_of": _identities.known_of,
    "partless": _identities.PARTLESS,
    "attribute": _identities.attribute,
    "item": _identities.item,
    "held": _identities.held_values,
    "suspect": _identities.suspect_value,
    "value_of": _values.value_of,
    "read_value": _stores.read_value,
    "key_index": _stores.key_index,
    "look": _values.look,
    "look_inside": _values.look_inside,
    "look_at_item": _values.look_at_item,
    "part_missing": _values.look_at_missing,
    "first": _values.First,
    "unbind": _stores.unbind,
    "definer": _stores.definer,
}
