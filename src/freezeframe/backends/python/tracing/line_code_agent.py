"""Functions that record what one line reads and changes; the module `_freezeframe_code`.

Runs inside the traced program and imports nothing of this package. What a line stores and mentions
is known beforehand (`line_plans_agent.py`), so each line gets code of its own, without loops over
its names and without questions whose answers do not change. No code of the program runs.
`hooks_agent.py` puts it into the functions that instrumented code calls.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

_log: Any = sys.modules["_freezeframe_log"]
_mentions: Any = sys.modules["_freezeframe_mentions"]
_identities: Any = sys.modules["_freezeframe_identities"]
_values: Any = sys.modules["_freezeframe_values"]
_stores: Any = sys.modules["_freezeframe_stores"]

LOCAL, GLOBAL, NAME, ATTRIBUTE, ITEM, ITEM_BY = range(6)
READ, LOOK, INSIDE = _mentions.READ, _mentions.LOOK, _mentions.INSIDE
_ASSIGNED = _mentions.ASSIGNED
_MISSING = _identities.MISSING
_VARARGS, _VARKEYWORDS = 0x04, 0x08
#: objects that were looked at before this are looked at again
_NOW = "now = first.now"


class Scope:
    """How the code that is written reads local variables, and the constants that it uses."""

    def __init__(self, passed: Any = ()) -> None:
        #: variable → the parameter that has its value
        self.passed = {name: f"L{at}" for at, name in enumerate(passed)}
        #: variables that are known to have no value
        self.unset: Any = ()
        self.needs_locals = False
        #: type and text of a constant → its number and itself
        self._constants: dict[tuple[str, str], tuple[int, Any]] = {}

    def get(self, name: str) -> str:
        """Return code for the value of a variable; `M` if it has none."""
        found = self.passed.get(name)
        if found is None and name in self.unset:
            return "M"
        if found is None:
            self.needs_locals = True
            return f"local.get({self.constant(name)}, M)"
        return found

    def constant(self, value: Any) -> str:
        """Return the name of a constant."""
        plain = type(value) in (int, str)
        key = (type(value).__name__, repr(value) if plain else str(id(value)))
        at = self._constants.setdefault(key, (len(self._constants), value))[0]
        return f"'@@{at}'"

    def function(self, header: str, lines: list[str]) -> Any:
        """Return the code of a function with these lines.

        Most lines have the code of other lines, but for their constants: it is compiled once.
        """
        body = "".join(f"\n    {line}" for line in lines)
        source = f"def {header}:{body}"
        made = _made.get(source)
        if made is None:
            made = compile(source, "<freezeframe>", "exec", 0, True).co_consts[0]
            _made[source] = made
        values = [value for _, value in self._constants.values()]
        constants = tuple(
            values[int(each[2:])] if type(each) is str and each[:2] == "@@" else each
            for each in made.co_consts
        )
        return made.replace(co_consts=constants)


#: source → the code of its function
_made: dict[str, Any] = {}


def functions_of(flow: Any, plan: Any) -> tuple[Any, Any]:
    """Return the functions to call before and after a flow is executed; None for nothing.

    `before(frame, state, step)`; `after(frame, state, is_sure)`, where *is_sure* says that all of
    the flow was executed.
    """
    before = after = None
    if is_simple(flow):
        return None, _stores.store_globals  # most lines of a module, which are executed once
    if flow.nodes:
        scope = Scope()
        before = _function(scope, "before(frame, state, step)", before_lines(flow, plan, scope))
    if flow.nodes or flow.locals or flow.namespace or flow.calls:
        scope = Scope()
        after = _function(scope, "after(frame, state, sure)", after_lines(flow, plan, scope))
    return before, after


def is_simple(flow: Any) -> bool:
    """Return whether a flow does nothing but store global variables."""
    return bool(flow.namespace) and not (flow.nodes or flow.locals or flow.is_made)


def _function(scope: Scope, header: str, lines: list[str]) -> Any:
    if not lines:
        return None
    if scope.needs_locals:
        lines = ["local = locals_of(frame)", *lines]
    return FunctionType(scope.function(header, lines), NAMES)


def arguments_of(plan: Any) -> Any:
    """Return a function that records the arguments of a frame: `arguments(frame, state, step)`
    returns name and value of each.
    """
    names = parameters(plan)
    if not names:
        return None
    scope = Scope()
    lines, given = argument_lines(names, scope)
    return _function(scope, "arguments(frame, state, step)", [*lines, f"return ({given})"])


def parameters(plan: Any) -> Any:
    """Return the names of the parameters of a function."""
    code = plan.code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & _VARARGS) + bool(code.co_flags & _VARKEYWORDS)
    return code.co_varnames[:count] if plan.is_optimized else ()


def argument_lines(names: Any, scope: Scope) -> tuple[list[str], str]:
    """Return code that records the values of parameters, and code for names and values."""
    lines = ["values = state.values"]
    found = ""
    for at, name in enumerate(names):
        lines.append(f"v = {scope.get(name)}")
        lines += index_lines(f"i{at}", "v", "value_of")
        lines.append(f"values[{scope.constant(name)}] = i{at}")
        found += f"{scope.constant(_log.name(name))}, i{at}, "
    return lines, found


# --- values -------------------------------------------------------------------------------------


def index_lines(target: str, value: str, make: str) -> list[str]:
    """Return code that sets *target* to the index of *value*."""
    return [
        f"t = type({value})",
        f"{target} = ints({value}) if t is int else strs({value}) if t is str "
        f"else floats({value}) if t is float and {value} else None",
        f"if {target} is None: {target} = {make}({value}, step)",
    ]


def before_lines(flow: Any, plan: Any, scope: Scope) -> list[str]:
    paths = _Paths(flow, plan, scope)
    lines = [_NOW, *paths.roots()]
    reads: list[str] = []
    described: list[str] = []
    for at, (parent, kind, key, text, flags, part) in enumerate(flow.nodes):
        lines += paths.resolve(at)
        if flags & LOOK:
            lines += paths.look(at, "0")
        if not flags & READ:
            continue
        lines += index_lines(f"i{at}", f"v{at}", "read_value")
        owner = paths.owner(at)
        reads += [f"i{at}", owner]
        is_dynamic = kind == ITEM_BY or (kind == ITEM and type(key) is int and key < 0)
        if is_dynamic:
            index = f"v{key}" if kind == ITEM_BY else scope.constant(key)
            lines.append(f"p{at} = key_index(v{parent}, {index}, step)")
            reads.append(f"p{at}")
        described.append(f"{text}\1{'' if is_dynamic else part}")
    if reads:
        site = scope.constant(_log.name("\2".join(described)))
        lines.append(f"extend(({_log.READS}, step, {site}, {len(reads)}, {', '.join(reads)}))")
    return lines if any(node[4] for node in flow.nodes) else []


def after_lines(flow: Any, plan: Any, scope: Scope) -> list[str]:
    paths = _Paths(flow, plan, scope)
    nodes = [at for at, node in enumerate(flow.nodes) if node[4] & LOOK]
    lines = _loud_lines(flow)
    assigned = {at for at in nodes if flow.nodes[at][4] & _ASSIGNED}
    if flow.nodes or flow.locals or flow.namespace:
        lines += [_NOW, "step = state.step"]
    count = len(lines)
    if flow.is_made:
        lines.append("first.by_step = 1")
    if nodes:
        lines += paths.roots()
    # What the line changed is recorded before it is seen as a part of what the line stores. An
    # object that a variable was set to is recorded with the variable.
    stored = {name for name, *_ in (*flow.locals, *flow.namespace)}
    late = {at for at in nodes if paths.root_name(at) in stored}
    lines += _looks(flow, paths, assigned - late)
    lines += _if_loud(flow, _looks(flow, paths, set(nodes) - assigned - late))
    if flow.locals:
        lines.append("values = state.values")
    for name, is_sure, is_free in flow.locals:
        lines += _store(name, is_sure, is_free, scope)
    if flow.namespace:
        lines += ["names = state.names", "space = state.namespace", "parts = space.parts"]
    for name, is_sure in flow.namespace:
        lines += _store_global(name, is_sure, scope)
    lines += _looks(flow, paths, assigned & late)
    lines += _if_loud(flow, _looks(flow, paths, late - assigned))
    if flow.is_made:
        lines.append("first.by_step = 0")
    return lines if len(lines) > count else _loud_lines(flow)


def _loud_lines(flow: Any) -> list[str]:
    """Return code that finds out whether a flow may have run code that is not traced."""
    if flow.calls == 0:
        return []
    if flow.calls < 0:
        return ["first.untraced += 1", "first.now += 1"]
    return [
        f"loud = state.calls != {flow.calls} or first.untraced != state.mark",
        "if loud:",
        "    first.untraced += 1",
        "    first.now += 1",
    ]


def _if_loud(flow: Any, lines: list[str]) -> list[str]:
    if flow.calls < 0 or not lines:
        return lines
    return ["if loud:", *("    " + each for each in lines)]


def _looks(flow: Any, paths: _Paths, nodes: set[int]) -> list[str]:
    """Return code that looks at objects after the line, which may have changed them."""
    paths.restart()
    lines = []
    needed = _with_prefixes(flow.nodes, nodes)
    for at in range(len(flow.nodes)):
        if at in needed:
            lines += paths.resolve(at)
            if at in nodes:
                lines += paths.look(at, "1", bool(flow.nodes[at][4] & _ASSIGNED))
    return lines


def _with_prefixes(nodes: Any, numbers: Any) -> set[int]:
    found = set(numbers)
    for at in range(len(nodes) - 1, -1, -1):
        if at in found:
            found |= {nodes[at][0]} if nodes[at][0] >= 0 else set()
            found |= {nodes[at][2]} if nodes[at][1] == ITEM_BY else set()
    return found


def _store(name: str, is_sure: bool, is_free: bool, scope: Scope) -> list[str]:
    """Return code that records the value that a local variable was set to."""
    text = scope.constant(name)
    number = scope.constant(_log.name(name))
    condition = "i != was or sure" if is_sure else "i != was"
    record = f"({_log.LOCAL}, step, {number}, i, was)"
    if is_free:
        record = f"({_log.WRITE}, step, {number}, i, -1, -1, definer(state, {text}), 1)"
    lines = [
        *index_lines("i", "v", "value_of"),
        f"was = values.get({text}, -1)",
        f"if {condition}:",
        "    if was in held: suspect(was)",
        f"    values[{text}] = i",
        f"    extend({record})",
    ]
    if name in scope.passed:  # it has a value
        return [f"v = {scope.get(name)}", *lines]
    return [
        f"v = {scope.get(name)}",
        f"if v is M: unbind(state, {text}, {number})",
        "else:",
        *("    " + each for each in lines),
    ]


def _store_global(name: str, is_sure: bool, scope: Scope) -> list[str]:
    part = "." + name
    number = scope.constant(_log.name(part))
    condition = "i != was or sure" if is_sure else "i != was"
    return [
        f"v = names.get({scope.constant(name)}, M)",
        f"was = parts.get({scope.constant(part)}, -1)",
        "if v is M:",
        f"    if was >= 0: part_missing(space, {scope.constant(part)}, step, 1)",
        "else:",
        *("    " + each for each in index_lines("i", "v", "value_of")),
        f"    if {condition}:",
        f"        parts[{scope.constant(part)}] = i",
        f"        extend(({_log.WRITE}, step, {number}, i, was, space.number, -1, 1))",
    ]


class _Paths:
    """Code that obtains the objects that a line mentions: `v0`, `v1`, … with their records `k0`,
    `k1`, …
    """

    def __init__(self, flow: Any, plan: Any, scope: Scope) -> None:
        self._nodes = flow.nodes
        self._plan = plan
        self._scope = scope
        self._calls = flow.calls
        self._parents = {node[0] for node in flow.nodes if node[0] >= 0}
        self._dicts: set[int] = set()

    def roots(self) -> list[str]:
        kinds = {node[1] for node in self._nodes if node[0] < 0}
        return ["names = state.names"] if kinds & {GLOBAL, NAME} else []

    def resolve(self, at: int) -> list[str]:
        scope = self._scope
        parent, kind, key, _, flags, _ = self._nodes[at]
        if kind == LOCAL:
            lines = [f"v{at} = {scope.get(key)}"]
        elif kind == GLOBAL or (kind == NAME and self._plan.is_module):
            lines = [f"v{at} = names.get({scope.constant(key)}, M)"]
        elif kind == NAME:
            lines = [f"v{at} = {scope.get(key)}"]
            lines.append(f"if v{at} is M: v{at} = names.get({scope.constant(key)}, M)")
        elif kind == ATTRIBUTE:
            lines = self._attribute(at, parent, key)
        else:
            index = f"v{key}" if kind == ITEM_BY else scope.constant(key)
            lines = [f"v{at} = item(v{parent}, {index}, k{parent})"]
        if at in self._parents or flags & LOOK:
            lines += [
                f"k{at} = known(id(v{at}))",
                f"if k{at} is None and id(type(v{at})) not in partless: k{at} = known_of(v{at})",
            ]
        return lines

    def _attribute(self, at: int, parent: int, name: str) -> list[str]:
        scope = self._scope
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
            f"v{at} = d{parent}.get({scope.constant(name)}, M) if d{parent} is not None "
            f"else attribute(v{parent}, {scope.constant(name)})"
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

    def _assigned_field(self, at: int) -> Any:
        """Return the only part that a line assigns, if it is a field; None otherwise."""
        if self._calls:
            return None
        parts = [node for node in self._nodes if node[0] >= 0 and node[4] & _ASSIGNED]
        is_field = len(parts) == 1 and parts[0][0] == at and parts[0][1] == ATTRIBUTE
        return parts[0][2] if is_field else None

    def look(self, at: int, by_step: str, always: bool = False) -> list[str]:
        """Return code that looks at an object, and at it as a part of a large container."""
        scope = self._scope
        parent, kind, key = self._nodes[at][:3]
        field = self._assigned_field(at) if always else None
        what = f"look(v{at}, k{at}, step, {by_step})"
        if field is not None:
            what = f"look_at_field(v{at}, k{at}, {scope.constant(field)}, step)"
        lines = [
            f"if k{at} is not None{'' if always else f' and k{at}.seen < now'}:",
            f"    if k{at}.seen < now: k{at}.seen = now",
            f"    {what}",
        ]
        if self._nodes[at][4] & INSIDE:
            lines.append(f"    look_inside(v{at}, k{at}, step, {by_step})")
        if parent >= 0 and kind != ATTRIBUTE:
            index = f"v{key}" if kind == ITEM_BY else scope.constant(key)
            lines += [
                f"if k{parent} is not None and k{parent}.parts is not None:",
                f"    look_at_item(k{parent}, v{parent}, {index}, v{at}, step, {by_step})",
            ]
        return lines


NAMES: dict[str, Any] = {
    "__name__": "_freezeframe_generated",
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
    "locals_of": _stores.locals_of,
    "held": _identities.held_values,
    "suspect": _identities.suspect_value,
    "value_of": _values.value_of,
    "read_value": _stores.read_value,
    "key_index": _stores.key_index,
    "look": _values.look,
    "look_at_field": _values.look_at_field,
    "look_inside": _values.look_inside,
    "look_at_item": _values.look_at_item,
    "part_missing": _values.look_at_missing,
    "first": _values.First,
    "unbind": _stores.unbind,
    "definer": _stores.definer,
}
