"""Code objects with calls of the recorder in them; the module `_freezeframe_instrumentation`.

Runs inside the traced program and imports nothing of this package. Calls are inserted where a
frame begins, at each line, before it returns or yields, where an exception is handled and where
one leaves the frame. They get the state of the frame, which stays at the bottom of its stack, and
the variables that the line uses: no name is added, and `locals()` is what it was. CPython 3.11 to
3.13 can be instrumented.
"""

from __future__ import annotations

import sys
from typing import Any

_bytecode: Any = sys.modules["_freezeframe_instrument"]
_stack_effect = _bytecode.opcode.stack_effect
_OP: Any = _bytecode.opcode.opmap
Instruction = _bytecode.Instruction
_IS_311 = sys.version_info < (3, 12)
_NULL_FIRST = sys.version_info < (3, 13)

LINE, RETURN, YIELD, RAISED, UNWIND, START = range(6)
_RESUME, _RETURN, _YIELD = _OP["RESUME"], _OP["RETURN_VALUE"], _OP["YIELD_VALUE"]
_RETURN_CONST = _OP.get("RETURN_CONST", -1)
_COPY, _CALL, _POP, _FAST = _OP["COPY"], _OP["CALL"], _OP["POP_TOP"], _OP["LOAD_FAST"]
_CONST, _JUMP, _RERAISE = _OP["LOAD_CONST"], _OP["JUMP_FORWARD"], _OP["RERAISE"]
_ALWAYS_JUMP = (_JUMP, _OP["JUMP_BACKWARD"])
_PUSH_EXC = _OP["PUSH_EXC_INFO"]
_SEND = _OP["SEND"]
#: a loop that ends skips this instruction, and from 3.13 on the one behind it
_END_FOR = _OP.get("END_FOR", -1)
#: opcode → which of the variables in its argument it sets: the only one, the first, both
_SETS = {
    _OP[name]: how
    for name, how in (
        ("STORE_FAST", "one"), ("STORE_FAST_LOAD_FAST", "first"),
        ("STORE_FAST_STORE_FAST", "both"), ("DELETE_FAST", "unset"),
        ("LOAD_FAST_AND_CLEAR", "unset"), ("LOAD_FAST", "one"), ("LOAD_FAST_CHECK", "one"),
        ("LOAD_FAST_LOAD_FAST", "both"),
    )
    if _OP.get(name, 256) < 256
}  # fmt: skip
_LOADS = {_OP.get(name) for name in ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST")}
_CLEAR = _OP.get("LOAD_FAST_AND_CLEAR", -1)
_HAVE_ARGUMENT = getattr(_bytecode.opcode, "HAVE_ARGUMENT", 90)
_NOWHERE = (None, None, None, None)
#: variables that one call gets
_MAX_PASSED = 12


class Unsupported(Exception):
    """Code that is not instrumented."""


class Site:
    """A place in a code object that calls the recorder."""

    __slots__ = ("before", "hook", "kind", "line", "names", "offset", "passed", "plan", "unset")

    def __init__(self, kind: int, plan: Any, offset: int, line: int) -> None:
        self.kind = kind
        self.plan = plan
        self.offset = offset
        self.line = line
        #: offset and line of the flows that the frame may come from
        self.before: list[tuple[int, int]] = []
        #: names of the variables that the call gets
        self.passed: list[str] = []
        #: names of all variables, and bits of those that have no value or that the line only sets
        self.names: Any = ()
        self.unset = 0
        #: the function that is called; `hooks_agent.py` writes its code when that happens first
        self.hook: Any = None


class _Reached:
    """What is known of a frame that is about to execute an instruction."""

    __slots__ = ("bound", "depth", "flows")

    def __init__(self, depth: int, bound: int, flows: frozenset[int]) -> None:
        self.depth = depth
        #: bits of the variables that have a value
        self.bound = bound
        #: numbers of the instructions whose line events may be the last one
        self.flows = flows


def instrumented(code: Any, plan: Any, constants: Any, make_hook: Any) -> Any:
    """Return *code* with calls; its constants are *constants*. Raises Unsupported.

    *make_hook* returns the function that a site calls.
    """
    return _Writer(code, plan, constants, make_hook).write()


class _Graph:
    """The instructions of a code object, and how each may be reached."""

    def __init__(self, code: Any) -> None:
        self.code = code
        self.old = _bytecode.read(code)
        self.numbers = {id(each): at for at, each in enumerate(self.old)}
        self.first = next(at for at, each in enumerate(self.old) if each.op == _RESUME)
        self.handlers = [
            (
                self.numbers[id(start)],
                len(self.old) if end is None else self.numbers[id(end)],
                self.numbers[id(target)],
                rest,
            )
            for start, end, target, rest in _bytecode.read_handlers(code, self.old)
        ]
        self.lines: list[Any] = []
        line, is_reached = None, True
        for each in self.old:
            line = each.position[0] or (line if is_reached else None)
            is_reached = each.op not in _bytecode.NO_NEXT
            self.lines.append(line)
        self.covering: list[Any] = [None] * len(self.old)
        for handler in self.handlers:
            for at in range(handler[0], handler[1]):
                self.covering[at] = handler
        #: handlers of exceptions of other lines
        self.thrown = {
            target
            for start, end, target, _ in self.handlers
            if self.old[target].op == _PUSH_EXC
            and any(self.lines[at] != self.lines[target + 1] for at in range(start, end))
        }
        self.sources: dict[int, list[int]] = {}
        for at, each in enumerate(self.old):
            for target in self.next_of(at, each):
                self.sources.setdefault(target, []).append(at)
        self.reached: list[Any] = [None] * len(self.old)
        self._follow()

    def next_of(self, at: int, each: Any) -> list[int]:
        found = [] if each.op in _bytecode.NO_NEXT else [at + 1]
        if each.target is not None:
            found.append(self.numbers[id(each.target)])
        return found

    def is_event(self, source: int, target: int) -> bool:
        """Return whether going from one instruction to another begins a line."""
        there = self.old[target]
        if source <= self.first:
            return True
        if there.op == _END_FOR or (not _NULL_FIRST and self.old[source].op == _END_FOR):
            return False
        if there.position[0] is None:
            return False
        if self.old[source].op == _PUSH_EXC:
            return source in self.thrown
        if self.lines[source] != self.lines[target]:
            return True
        return _IS_311 and source >= target and there.op != _SEND

    def _follow(self) -> None:
        """Find what is known before each instruction, from the beginning on."""
        code = self.code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & 4) + bool(code.co_flags & 8)
        self.reached[self.first] = _Reached(0, (1 << count) - 1, frozenset())
        pending = [self.first]
        while pending:
            at = pending.pop()
            each, known = self.old[at], self.reached[at]
            handler = self.covering[at]
            if handler is not None and at > self.first:
                _, _, target, rest = handler
                depth = (rest >> 1) + 1 + (rest & 1)
                if self._reach(target, depth, known.bound, known.flows):
                    pending.append(target)
            bound = _bound_after(each, known.bound)
            argument = each.arg if each.op >= _HAVE_ARGUMENT else None
            for target in self.next_of(at, each):
                jumps = each.target is not None and target != at + 1
                depth = known.depth + _stack_effect(each.op, argument, jump=jumps)
                is_event = self.is_event(at, target)
                flows = frozenset((target,)) if is_event else known.flows
                if self._reach(target, depth, bound, flows):
                    pending.append(target)

    def _reach(self, target: int, depth: int, bound: int, flows: frozenset[int]) -> bool:
        known = self.reached[target]
        if known is None:
            self.reached[target] = _Reached(depth, bound, flows)
            return True
        if known.depth != depth:
            raise Unsupported
        if known.bound & bound == known.bound and flows <= known.flows:
            return False
        known.bound &= bound
        known.flows |= flows
        return True


def _bound_after(each: Any, bound: int) -> Any:
    how = _SETS.get(each.op)
    if how is None:
        return bound
    if how == "one":
        return bound | 1 << each.arg
    if how == "unset":
        return bound & ~(1 << each.arg)
    bound |= 1 << (each.arg >> 4)
    return bound | 1 << (each.arg & 15) if how == "both" else bound


class _Writer:
    """Writes the code of a code object with calls in it."""

    def __init__(self, code: Any, plan: Any, constants: Any, make_hook: Any) -> None:
        self.code = code
        self.plan = plan
        self.graph = _Graph(code)
        self.constants = list(constants)
        self.make_hook = make_hook
        self.new: list[Any] = []
        #: instruction → where events and other jumps to it lead, and where ranges begin
        self.entries: dict[int, Any] = {}
        self.plain: dict[int, Any] = {}
        self.starts: dict[int, Any] = {}
        self.most = 0
        #: bits of the variables that the instructions of each line mention, and load
        self.used: dict[Any, int] = {}
        self.loaded: dict[Any, int] = {}
        self._find_used()
        # A comprehension may leave a variable of its own without a value.
        cleared = {each.arg for each in self.graph.old if each.op == _CLEAR}
        cells = set(code.co_cellvars)
        self.names: list[Any] = [
            None if name in cells or name[:1] in ".@" or at in cleared else name
            for at, name in enumerate(code.co_varnames)
        ]

    def write(self) -> Any:
        graph = self.graph
        for at, each in enumerate(graph.old):
            if graph.reached[at] is not None and at > graph.first:
                self._insert(at, each)
            self.starts.setdefault(at, each)
            self.plain.setdefault(at, each)
            self.new.append(each)
            if at == graph.first:
                self._insert_start()
        for at, each in enumerate(graph.old):
            if each.target is not None:
                target = graph.numbers[id(each.target)]
                is_event = graph.reached[at] is not None and graph.is_event(at, target)
                is_event = is_event and each.op not in _ALWAYS_JUMP
                table = self.entries if is_event and target in self.entries else self.plain
                each.target = table[target]
        unwind = self._insert_unwind()
        ranges = self._ranges(unwind)
        _bytecode.lay_out(self.new)
        return self.code.replace(
            co_code=_bytecode.write(self.new),
            co_consts=tuple(self.constants),
            co_stacksize=self.code.co_stacksize + self.most + 4,
            co_linetable=_bytecode.write_positions(self.new, self.code.co_firstlineno),
            co_exceptiontable=_bytecode.write_handlers(ranges, self.new),
        )

    def _insert(self, at: int, each: Any) -> None:
        graph, known = self.graph, self.graph.reached[at]
        begin = len(self.new)
        skip = None
        # Behind the instruction that makes it the handled one: a call may be interrupted.
        if graph.old[at - 1].op == _PUSH_EXC:
            self._insert_call(Site(RAISED, self.plan, 2 * each.at, graph.lines[at] or 0), at, True)
        sources = [s for s in graph.sources.get(at, ()) if graph.reached[s] is not None]
        events = [
            s for s in sources if graph.is_event(s, at) and graph.old[s].op not in _ALWAYS_JUMP
        ]
        if events:
            falls = at - 1 in sources and graph.old[at - 1].op not in _bytecode.NO_NEXT
            if falls and at - 1 not in events:
                skip = Instruction(_JUMP, 0, each.position)
                self.new.append(skip)
            site = Site(LINE, self.plan, 2 * each.at, graph.lines[at] or 0)
            known_flows = (graph.reached[source].flows for source in events)
            site.before = self._flows(frozenset().union(*known_flows))
            self.entries[at] = self._insert_call(site, at, False)
        if each.op in _ALWAYS_JUMP:
            # What has a value here may have none where other ways lead to the same line.
            target = graph.numbers[id(each.target)]
            if graph.is_event(at, target):
                there = graph.old[target]
                site = Site(LINE, self.plan, 2 * there.at, graph.lines[target] or 0)
                site.before = self._flows(known.flows)
                self.plain[at] = self._insert_call(site, at, False)
        if each.op in (_RETURN, _RETURN_CONST, _YIELD):
            kind = YIELD if each.op == _YIELD else RETURN
            site = Site(kind, self.plan, 2 * each.at, graph.lines[at] or 0)
            site.before = self._flows(known.flows)
            self.plain[at] = self._insert_call(site, at, True)
        if skip is not None:
            skip.target = self.plain.get(at, each)
        if len(self.new) > begin:
            self.starts[at] = self.new[begin]

    def _flows(self, numbers: frozenset[int]) -> list[tuple[int, int]]:
        old, lines = self.graph.old, self.graph.lines
        return [(2 * old[at].at, lines[at]) for at in sorted(numbers)]

    # --- calls

    def _find_used(self) -> None:
        for at, each in enumerate(self.graph.old):
            bits = _bound_after(each, 0)
            if not bits:
                continue
            line = self.graph.lines[at]
            loaded = bits if each.op in _LOADS else 0
            if _SETS.get(each.op) == "first":
                loaded = 1 << (each.arg & 15)
            self.used[line] = self.used.get(line, 0) | bits | loaded
            self.loaded[line] = self.loaded.get(line, 0) | loaded

    def _passed(self, site: Site, bound: int) -> list[int]:
        bits = self.used.get(site.line, 0) if site.kind == LINE else 0
        for _, line in site.before:
            bits |= self.used.get(line, 0)
        bits &= bound
        found: list[int] = []
        while bits and len(found) < _MAX_PASSED:
            at = (bits & -bits).bit_length() - 1
            bits ^= 1 << at
            if at < len(self.names) and self.names[at] is not None:
                found.append(at)
        return found

    def _insert_call(self, site: Site, at: int, has_value: bool) -> Any:
        """Insert a call at an instruction; return its first instruction."""
        known = self.graph.reached[at]
        each = self.graph.old[at]
        passed = [] if site.kind == RAISED else self._passed(site, known.bound)
        site.passed = [self.names[each] for each in passed]
        if site.kind == LINE:
            site.names = self.names
            site.unset = ~(known.bound | self.loaded.get(site.line, 0))
        # The state is at the bottom of the stack; two objects are pushed before it is copied.
        arguments: list[tuple[int, int]] = [(_COPY, known.depth + 3)]
        if each.op == _RETURN_CONST and site.kind == RETURN:
            arguments.append((_CONST, each.arg))
        elif has_value:
            arguments.append((_COPY, 4))
        arguments += [(_FAST, index) for index in passed]
        call = self._call(self.make_hook(site), arguments, each.position)
        call.append(Instruction(_POP, 0, call[-1].position))
        self.new += call
        return call[0]

    def _call(self, function: Any, arguments: list[tuple[int, int]], position: Any) -> list[Any]:
        line = position[0]
        where = (line, line, None, None)
        self.constants.append(function)
        pushed = [(_CONST, len(self.constants) - 1), (_OP["PUSH_NULL"], 0)]
        if _NULL_FIRST:
            pushed.reverse()
        self.most = max(self.most, len(arguments))
        parts = [*pushed, *arguments]
        if _IS_311:
            parts.append((_OP["PRECALL"], len(arguments)))
        parts.append((_CALL, len(arguments)))
        return [Instruction(op, arg, where) for op, arg in parts]

    def _insert_start(self) -> None:
        """Insert the call that makes the state of the frame, which stays on the stack."""
        code = self.code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & 4) + bool(code.co_flags & 8)
        if not self.plan.is_optimized:
            count = 0
        site = Site(START, self.plan, 0, code.co_firstlineno)
        site.passed = list(code.co_varnames[:count])
        cells = set(code.co_cellvars)
        arguments = [
            (_OP["LOAD_DEREF"] if name in cells else _FAST, at)
            for at, name in enumerate(site.passed)
        ]
        self.new += self._call(self.make_hook(site), arguments, _NOWHERE)

    def _insert_unwind(self) -> Any:
        """Insert what is executed when an exception leaves the frame."""
        site = Site(UNWIND, self.plan, 0, 0)
        # state, offset, exception
        call = self._call(self.make_hook(site), [(_COPY, 5), (_COPY, 4)], _NOWHERE)
        call += [Instruction(_POP, 0, _NOWHERE), Instruction(_RERAISE, 1, _NOWHERE)]
        self.new += call
        return call[0]

    def _ranges(self, unwind: Any) -> list[Any]:
        """Return the table of handlers, which covers everything behind the first call."""
        graph = self.graph
        found = []
        begin, count = graph.first + 1, len(graph.old)

        def label(at: int) -> Any:
            return unwind if at >= count else self.starts[at]

        for start, end, target, rest in sorted(graph.handlers):
            start = max(start, begin)
            if start >= end:
                continue
            if begin < start:
                found.append((label(begin), label(start), unwind, 3))
            found.append((label(start), label(end), label(target), rest + 2))
            begin = end
        if begin < count:
            found.append((label(begin), unwind, unwind, 3))
        return found
