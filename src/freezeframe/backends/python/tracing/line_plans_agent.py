"""What each line of a code object stores and mentions; the module `_freezeframe_plans`.

Runs inside the traced program and imports nothing of this package. Which variables a line stores
is read from the bytecode; which objects it mentions, from the syntax tree of its file
(`mentions_agent.py`). Both are computed once, so that the recorder has little to do at each line.
"""

from __future__ import annotations

import opcode as _opcode
import sys
from _bisect import bisect_left
from itertools import takewhile
from typing import Any

_mentions: Any = sys.modules["_freezeframe_mentions"]
LOCAL, GLOBAL, NAME, ATTRIBUTE, ITEM, ITEM_BY = range(6)
READ = _mentions.READ


_names = _opcode.opname
_EXTENDED = _opcode.opmap["EXTENDED_ARG"]
_JUMPS = frozenset(_opcode.hasjrel) | frozenset(getattr(_opcode, "hasjump", ()))
_ENDS = frozenset(
    number
    for name, number in _opcode.opmap.items()
    if name.startswith(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"))
)
_STORES = frozenset(
    number
    for name, number in _opcode.opmap.items()
    if name.startswith(("STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF"))
    or name in ("STORE_NAME", "DELETE_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")
)


class Flow:
    """The instructions that follow a line event, up to the next line."""

    __slots__ = (
        "after", "before", "called", "calls", "end", "is_made", "is_ready", "line", "locals",
        "namespace", "nodes", "until",
    )  # fmt: skip

    def __init__(self, line: int) -> None:
        self.line = line
        #: where the next line event is if all of the instructions are executed; -1: nowhere
        self.end = -1
        #: (variable, whether it is stored for sure when the end is reached, whether it is nonlocal)
        self.locals: tuple[tuple[str, bool, bool], ...] = ()
        #: the same for global variables
        self.namespace: tuple[tuple[str, bool], ...] = ()
        #: paths of objects, prefixes first: (number of the prefix or -1, kind, key, text, flags,
        #: name as a part)
        self.nodes: tuple[Any, ...] = ()
        #: how many calls of it may change objects, and the names of the functions of these calls;
        #: -1: it may run any code
        self.calls = -1
        self.called: Any = frozenset()
        #: the line makes the objects that it stores
        self.is_made = False
        #: the functions of `line_code_agent.py`; None: nothing to do
        self.before: Any = None
        self.after: Any = None
        self.is_ready = False
        #: recording ends at this line
        self.until = False


class Plan:
    """The flows of a code object, by the offset of their line events."""

    __slots__ = (
        "_nodes", "_positions", "_units", "arguments", "calls", "code", "flows", "free", "index",
        "is_dropped", "is_module", "is_optimized", "kind", "last", "live", "local", "outer", "path",
        "running", "samples", "sites", "source", "started", "until",
    )  # fmt: skip

    def __init__(self, code: Any, path: str, kind: int, source: Any, until: int | None) -> None:
        self.code = code
        #: the code object of its frames: the same, or an instrumented one
        self.running = code
        self.path = path
        #: the index of its `FrameKind`
        self.kind = kind
        self.source = source
        self.until = until
        self.flows: dict[int, Flow] = {}
        #: frames that were recorded, and how often the clock was read in one of them
        self.calls = 0
        self.samples = 0
        #: new frames are not recorded: they take too long
        self.is_dropped = False
        #: the plan of the code that defines this one
        self.outer: Plan | None = None
        #: frames that were started, the last one, and those that are alive (of code whose
        #: variables other functions use)
        self.started = 0
        self.last = -1
        self.live: dict[int, bool] = {}
        #: of the code object in the current segment; -1: not written yet
        self.index = -1
        self.is_optimized = bool(code.co_flags & 1)
        self.is_module = code.co_name == "<module>"
        cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
        self.local = code.co_varnames + cells + code.co_freevars
        self.free = frozenset(code.co_freevars)
        self._units: list[tuple[int, int, int, int, int | None]] | None = None
        self._positions: list[Any] | None = None
        #: the function of `line_code_agent.py` that records arguments; None: there are none
        self.arguments: Any = None
        #: positions of calls by offset
        self.sites: dict[int, Any] = {}
        self._nodes: dict[int, Any] = {}

    def flow(self, offset: int, line: int) -> Flow:
        """Return the flow that begins at *offset*; computed once."""
        found = self.flows[offset] = Flow(line)
        if self._units is None:
            self._units = _instructions(self.code)
        _read_stores(found, offset, self)
        found.nodes, found.is_made, calls = self.nodes(line)
        if calls is not None:
            found.calls = len(calls)
            found.called = frozenset((*calls, "__init__"))
        found.until = line == self.until
        return found

    def nodes(self, line: int) -> Any:
        """Return what `Source.mentions` returns, with roots that this code knows."""
        found = self._nodes.get(line)
        if found is None:
            nodes, *others = self.source.mentions(line)
            rooted = [self._root(node) if node[1] == NAME else node for node in nodes]
            found = self._nodes[line] = (_needed(rooted), *others)
        return found

    def _root(self, node: Any) -> Any:
        parent, kind, name, text, flags, part = node
        if name in self.local:
            if name not in self.free:
                flags &= ~READ
            return (parent, LOCAL, name, text, flags, part)
        return (parent, GLOBAL if self.is_optimized else kind, name, text, flags, part)

    def opcode(self, offset: int) -> str:
        """Return the name of the instruction at *offset*."""
        text = self.code.co_code
        return str(_names[text[offset]]) if 0 <= offset < len(text) else ""

    def site(self, offset: int) -> tuple[int, int, int, int]:
        """Return line, column, end line and end column of the instruction at *offset*; -1 for
        what is unknown.
        """
        if self._positions is None:
            self._positions = list(self.running.co_positions())
        line, end, column, end_column = self._positions[offset // 2]
        known = (line, column, end, end_column)
        found: Any = tuple([-1 if each is None else each for each in known])
        self.sites[offset] = found
        return found  # type: ignore[no-any-return]


def _needed(nodes: Any) -> Any:
    """Return the nodes that have flags, and their prefixes, with their numbers adjusted."""
    used = [bool(node[4]) for node in nodes]
    for at in range(len(nodes) - 1, -1, -1):
        if used[at]:
            if nodes[at][0] >= 0:
                used[nodes[at][0]] = True
            if nodes[at][1] == ITEM_BY:
                used[nodes[at][2]] = True
    moved: dict[int, int] = {}
    found: list[Any] = []
    for at, (parent, kind, key, *others) in enumerate(nodes):
        if used[at]:
            moved[at] = len(found)
            key = moved[key] if kind == ITEM_BY else key
            found.append((moved.get(parent, -1), kind, key, *others))
    return tuple(found)


# --- bytecode -----------------------------------------------------------------------------------


def _instructions(code: Any) -> list[tuple[int, int, int, int, int | None]]:
    """Return start, opcode, argument, offset of the next instruction, and line of each."""
    text = code.co_code
    lines: dict[int, int | None] = {}
    for start, end, line in code.co_lines():
        for at in range(start, end, 2):
            lines[at] = line
    found = []
    at, argument, size = 0, 0, len(text)
    while at < size:
        start = at
        number, argument = text[at], text[at + 1]
        while number == _EXTENDED and at + 2 < size:
            at += 2
            number, argument = text[at], argument << 8 | text[at + 1]
        at += 2
        while at < size and text[at] == 0:  # caches
            at += 2
        found.append((start, number, argument, at, lines.get(start)))
    return found


def _read_stores(flow: Flow, offset: int, plan: Plan) -> None:
    """Set which variables a flow stores, and where it ends."""
    units: Any = plan._units
    stores: list[tuple[str, str, int]] = []
    skips: list[tuple[int, int]] = []
    exits = set()
    end = -1
    is_branched = False
    line = flow.line
    at = bisect_left(units, (offset,))
    for start, number, argument, after, its_line in _units_from(units, at):
        if its_line is not None and its_line != line:
            end = start
            break
        if number in _STORES:
            stores += [(*each, start) for each in _stored(plan, number, argument)]
        elif number in _JUMPS:
            name = _names[number]
            if name == "JUMP_BACKWARD_NO_INTERRUPT":
                continue  # an await, which stays in its line
            target = after - 2 * argument if "BACKWARD" in name else after + 2 * argument
            if name == "JUMP_BACKWARD" and offset <= target <= start:
                continue  # an inlined comprehension, which stays in its line
            if name in ("JUMP_FORWARD", "JUMP_BACKWARD"):
                if target <= start or not _stays(units, start, target, line):
                    # `if x: y = 1` in one line: a jump before it goes on behind it.
                    goes_on = _skips_beyond(skips, start)
                    is_branched |= goes_on
                    if goes_on:
                        continue
                    end = target
                    break
                skips.append((start, target))
            elif name != "SEND" and start < target:
                skips.append((start, target))
                exits.add(target)
            else:
                exits.add(target)
        elif number in _ENDS and not _skips_beyond(skips, start):
            break
        is_branched |= number in _ENDS
    if end in exits or is_branched:
        end = -1
    local: dict[str, bool] = {}
    namespace: dict[str, bool] = {}
    for name, kind, start in stores:
        if name[:1] == "@":
            continue  # pytest rewrites assertions with such variables
        is_sure = end >= 0 and not any(a < start < b < end for a, b in skips)
        kept = namespace if kind == "GLOBAL" else local
        kept[name] = kept.get(name, False) or is_sure
    flow.end = end
    flow.locals = tuple((name, sure, name in plan.free) for name, sure in local.items())
    flow.namespace = tuple(namespace.items())


def _units_from(units: Any, at: int) -> Any:
    """Return an iterator over the instructions from a number on, without a copy of them."""
    return map(units.__getitem__, range(at, len(units)))


def _skips_beyond(skips: list[tuple[int, int]], start: int) -> bool:
    """Return whether a jump before *start* goes on behind it."""
    return any(start < behind for _, behind in skips)


def _stays(units: Any, start: int, target: int, line: int) -> bool:
    """Return whether all instructions that a jump skips belong to the same line."""
    at = bisect_left(units, (start + 1,))
    skipped = takewhile(lambda each: each[0] <= target, _units_from(units, at))
    return all(each[4] is None or each[4] == line for each in skipped)


def _stored(plan: Plan, number: int, argument: int) -> list[tuple[str, str]]:
    name = _names[number]
    if name in ("STORE_NAME", "DELETE_NAME"):
        is_module = plan.code.co_name == "<module>"
        return [(plan.code.co_names[argument], "GLOBAL" if is_module else "LOCAL")]
    if name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
        return [(plan.code.co_names[argument], "GLOBAL")]
    if name == "STORE_FAST_STORE_FAST":
        return [(plan.local[argument >> 4], "LOCAL"), (plan.local[argument & 15], "LOCAL")]
    if name == "STORE_FAST_LOAD_FAST":
        return [(plan.local[argument >> 4], "LOCAL")]
    if argument < len(plan.local):
        return [(plan.local[argument], "LOCAL")]
    return []
