"""Insert calls into the bytecode of functions; runs inside the debuggee.

It becomes the module `_freezeframe_instrument`, and imports nothing of this package. Reading and
writing know the bytecode of CPython 3.11 to 3.13; `tracing/instrumentation_agent.py` uses them.

`instrument` inserts calls at the lines of breakpoints, in CPython 3.11 only: the version that has
neither sys.monitoring nor an evaluator that pydevd could replace. A call is inserted on exactly the
edges on which `sys.settrace` would report a `line` event, and belongs to no line itself. Everything
else stays: names, constants (new ones follow the old), the positions of every instruction and the
table of exception handlers.
"""

from __future__ import annotations

import opcode
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_OP = opcode.opmap


def _caches() -> list[int]:
    """Return the number of cache entries behind each instruction."""
    known: Any = getattr(opcode, "_inline_cache_entries", ())
    if not isinstance(known, dict):
        return [*known, *[0] * (256 - len(known))]
    found = [0] * 256
    for name, count in known.items():  # from 3.13 on by name
        if _OP.get(name, 256) < 256:
            found[_OP[name]] = count
    return found


_CACHES = _caches()
_JUMPS = frozenset(opcode.hasjrel)
_BACKWARD = frozenset(op for name, op in _OP.items() if "JUMP_BACKWARD" in name)
#: after these only a jump reaches the next instruction
NO_NEXT = frozenset(
    _OP[name]
    for name in (
        "RETURN_VALUE",
        "RETURN_CONST",
        "RAISE_VARARGS",
        "RERAISE",
        "JUMP_FORWARD",
        "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT",
    )
    if name in _OP
)
_EXTENDED = _OP["EXTENDED_ARG"]
_RESUME, _SEND = _OP.get("RESUME"), _OP.get("SEND")
_HANDLERS = frozenset(_OP.get(name) for name in ("PUSH_EXC_INFO", "END_ASYNC_FOR"))
#: the order of what is pushed before the arguments of a call
_NULL_FIRST = sys.version_info < (3, 13)
_NOWHERE = (None, None, None, None)
#: stack depth of the inserted call
_DEPTH = 6


class Instruction:
    """One instruction; *target* is the instruction that a jump leads to."""

    __slots__ = ("arg", "at", "op", "position", "size", "target")

    def __init__(self, op: int, arg: int, position: Any) -> None:
        self.op = op
        self.arg = arg
        self.position = position
        self.target: Instruction | None = None
        #: number of code units before it, and of its own including prefixes
        self.at = 0
        self.size = 1


def has_lines(code: Any, lines: Any) -> bool:
    """Return whether *code*, or code within it, has an instruction at one of *lines*."""
    return any(
        line in lines for each in nested(code) for _, _, line in each.co_lines() if line is not None
    )


def nested(code: Any) -> Iterator[Any]:
    """Yield *code* and the code of every function, class and comprehension within it."""
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from nested(constant)


def instrument(code: Any, hooks: dict[int, Any], done: dict[Any, Any]) -> Any:
    """Return *code* with a call of `hooks[line]` at each of these lines, or *code* unchanged.

    A hook is called with the globals and the locals of the frame. Nested code is treated alike;
    *done* gets each changed code: id of the new → new, old.
    """
    constants = tuple(
        instrument(constant, hooks, done) if hasattr(constant, "co_code") else constant
        for constant in code.co_consts
    )
    changed = any(new is not old for new, old in zip(constants, code.co_consts, strict=True))
    new = code.replace(co_consts=constants) if changed else code
    lines = {line for _, _, line in code.co_lines() if line in hooks}
    if lines:
        new = _insert(new, {line: hooks[line] for line in lines})
    if new is not code:
        done[id(new)] = (new, code)
    return new


# --- insertion ----------------------------------------------------------------------------------


def _insert(code: Any, hooks: dict[int, Any]) -> Any:
    old = read(code)
    handlers = read_handlers(code, old)
    constants = list(code.co_consts)
    first = next(index for index, each in enumerate(old) if each.op == _RESUME)
    new: list[Instruction] = []
    #: instruction → entry point of jumps to it that are line events; where ranges begin and end
    entries: dict[Instruction, Instruction] = {}
    starts: dict[Instruction, Instruction] = {}
    numbers = {id(each): index for index, each in enumerate(old)}
    jumps: dict[int, list[int]] = {}
    for index, each in enumerate(old):
        if each.target is not None:
            jumps.setdefault(numbers[id(each.target)], []).append(index)
    caught: dict[int, list[Any]] = {}
    for handler in handlers:
        caught.setdefault(numbers[id(handler[2])], []).append(handler)
    for index, each in enumerate(old):
        line = each.position[0]
        if index > first and line in hooks:
            jumping = any(_is_event(old, source, index) for source in jumps.get(index, ()))
            falls = index > 0 and old[index - 1].op not in NO_NEXT
            falling = falls and (index - 1 <= first or _is_event(old, index - 1, index))
            # Not the cleanup after a handler: no statement begins there.
            thrown = each.op in _HANDLERS and any(
                other.position[0] != line
                for start, end, *_ in caught.get(index, ())
                for other in old[numbers[id(start)] : _number(numbers, end, len(old))]
            )
            if jumping or falling or thrown:
                call = _call(constants, hooks[line])
                if falls and not falling:
                    skip = Instruction(_OP["JUMP_FORWARD"], 0, each.position)
                    skip.target = each
                    new.append(skip)
                    starts[each] = skip
                starts.setdefault(each, call[0])
                entries[each] = call[0]
                new.extend(call)
        new.append(each)
    for index, each in enumerate(old):
        if each.target is not None:
            target = numbers[id(each.target)]
            if each.target in entries and _is_event(old, index, target):
                each.target = entries[each.target]
    ranges = [
        (starts.get(start, start), starts.get(end, end), entries.get(target, target), rest)
        for start, end, target, rest in handlers
    ]
    lay_out(new)
    return code.replace(
        co_code=write(new),
        co_consts=tuple(constants),
        co_stacksize=code.co_stacksize + _DEPTH,
        co_linetable=write_positions(new, code.co_firstlineno),
        co_exceptiontable=write_handlers(ranges, new),
    )


def call_at_start(code: Any, function: Any, names: tuple[str, ...]) -> Any:
    """Return *code* with a call of *function* at its beginning, with some of its parameters."""
    instructions = read(code)
    handlers = read_handlers(code, instructions)
    first = next(index for index, each in enumerate(instructions) if each.op == _RESUME)
    constants = [*code.co_consts, function]
    call = [Instruction(_OP["LOAD_CONST"], len(constants) - 1, _NOWHERE)]
    call.insert(0 if _NULL_FIRST else 1, Instruction(_OP["PUSH_NULL"], 0, _NOWHERE))
    for name in names:
        index = code.co_varnames.index(name)
        op = _OP["LOAD_DEREF" if name in code.co_cellvars else "LOAD_FAST"]
        call.append(Instruction(op, index, _NOWHERE))
    if "PRECALL" in _OP:
        call.append(Instruction(_OP["PRECALL"], len(names), _NOWHERE))
    call.append(Instruction(_OP["CALL"], len(names), _NOWHERE))
    call.append(Instruction(_OP["POP_TOP"], 0, _NOWHERE))
    instructions[first + 1 : first + 1] = call
    lay_out(instructions)
    return code.replace(
        co_code=write(instructions),
        co_consts=tuple(constants),
        co_stacksize=code.co_stacksize + len(names) + 2,
        co_linetable=write_positions(instructions, code.co_firstlineno),
        co_exceptiontable=write_handlers(handlers, instructions),
    )


def _number(numbers: dict[int, int], end: Instruction | None, last: int) -> int:
    return last if end is None else numbers[id(end)]


def _is_event(instructions: list[Instruction], source: int, target: int) -> bool:
    """Return whether going from *source* to *target* is a `line` event, by the rule of 3.11."""
    there = instructions[target]
    if instructions[source].position[0] != there.position[0]:
        return True
    return source >= target and there.op != _SEND


def _call(constants: list[Any], hook: Any) -> list[Instruction]:
    """Return the instructions of `hook(globals(), locals())`."""

    def load(constant: Any) -> Instruction:
        constants.append(constant)
        return Instruction(_OP["LOAD_CONST"], len(constants) - 1, _NOWHERE)

    def plain(name: str, arg: int = 0) -> Instruction:
        return Instruction(_OP[name], arg, _NOWHERE)

    def call(function: Any, *arguments: list[Instruction]) -> list[Instruction]:
        count = len(arguments)
        parts = [plain("PUSH_NULL"), load(function)]
        for argument in arguments:
            parts.extend(argument)
        return [*parts, plain("PRECALL", count), plain("CALL", count)]

    return [*call(hook, call(globals), call(locals)), plain("POP_TOP")]


# --- reading ------------------------------------------------------------------------------------


def read(code: Any) -> list[Instruction]:
    bytecode = code.co_code
    positions = list(code.co_positions())
    found: list[Instruction] = []
    by_offset: dict[int, Instruction] = {}
    ends: list[int] = []
    extended, start, at = 0, 0, 0
    while at < len(bytecode):
        op, arg = bytecode[at], bytecode[at + 1] | extended
        at += 2
        if op == _EXTENDED:
            extended = arg << 8
            continue
        each = Instruction(op, arg, positions[at // 2 - 1])
        each.at = start // 2
        by_offset[start] = each
        found.append(each)
        at += 2 * _CACHES[op]
        ends.append(at)
        extended, start = 0, at
    for each, end in zip(found, ends, strict=True):
        if each.op in _JUMPS:
            distance = -each.arg if each.op in _BACKWARD else each.arg
            each.target = by_offset[end + 2 * distance]
    return found


def read_handlers(code: Any, instructions: list[Instruction]) -> list[Any]:
    """Return the table of handlers: start, end (or None), target, depth and flag."""
    offsets: dict[int, Instruction] = {}
    at = 0
    bytecode = code.co_code
    numbers = iter(instructions)
    start = 0
    while at < len(bytecode):
        op = bytecode[at]
        at += 2
        if op == _EXTENDED:
            continue
        offsets[start] = next(numbers)
        at += 2 * _CACHES[op]
        start = at
    table = iter(code.co_exceptiontable)

    def varint(first: int) -> int:
        value = first & 63
        while first & 64:
            first = next(table)
            value = value << 6 | first & 63
        return value

    found = []
    for first in table:
        begin = 2 * varint(first)
        end = begin + 2 * varint(next(table))
        target = 2 * varint(next(table))
        rest = varint(next(table))
        found.append((offsets[begin], offsets.get(end), offsets[target], rest))
    return found


# --- writing ------------------------------------------------------------------------------------


def lay_out(instructions: list[Instruction]) -> None:
    """Give each instruction its offset and each jump its distance."""
    settled = False
    for each in instructions:
        each.size = _units(each.arg) + _CACHES[each.op]
    while not settled:
        settled = True
        at = 0
        for each in instructions:
            each.at = at
            at += each.size
        for each in instructions:
            if each.target is None:
                continue
            after = each.at + each.size
            distance = each.target.at - after
            each.arg = -distance if each.op in _BACKWARD else distance
            size = max(each.size, _units(each.arg) + _CACHES[each.op])
            if size != each.size:
                each.size = size
                settled = False


def _units(arg: int) -> int:
    return 1 + (arg > 0xFF) + (arg > 0xFFFF) + (arg > 0xFFFFFF)


def write(instructions: list[Instruction]) -> bytes:
    out = bytearray()
    for each in instructions:
        prefixes = each.size - _CACHES[each.op] - 1
        for number in range(prefixes, 0, -1):
            out += bytes((_EXTENDED, each.arg >> 8 * number & 0xFF))
        out += bytes((each.op, each.arg & 0xFF))
        out += bytes(2 * _CACHES[each.op])
    return bytes(out)


def write_positions(instructions: list[Instruction], first_line: int) -> bytes:
    out = bytearray()
    previous = first_line
    for position, units in _runs(instructions):
        line, end_line, column, end_column = position
        while units > 0:
            length = min(units, 8)
            units -= length
            if line is None:
                out.append(0x80 | 15 << 3 | length - 1)
                continue
            whole = None not in (end_line, column, end_column)
            out.append(0x80 | (14 if whole else 13) << 3 | length - 1)
            delta = line - previous
            _varint(out, -delta << 1 | 1 if delta < 0 else delta << 1)
            previous = line
            if whole:
                _varint(out, end_line - line)
                _varint(out, column + 1)
                _varint(out, end_column + 1)
    return bytes(out)


def _runs(instructions: list[Instruction]) -> Iterator[tuple[Any, int]]:
    position, units = None, 0
    for each in instructions:
        if each.position != position:
            if units:
                yield position, units
            position, units = each.position, 0
        units += each.size
    yield position, units


def _varint(out: bytearray, value: int) -> None:
    """Six bits per byte, lowest first: the encoding of positions."""
    while value > 63:
        out.append(value & 63 | 64)
        value >>= 6
    out.append(value)


def write_handlers(ranges: list[Any], instructions: list[Instruction]) -> bytes:
    last = instructions[-1]
    out = bytearray()
    for start, end, target, rest in ranges:
        stop = last.at + last.size if end is None else end.at
        for number, value in enumerate((start.at, stop - start.at, target.at, rest)):
            _big_varint(out, value, 128 if number == 0 else 0)
    return bytes(out)


def _big_varint(out: bytearray, value: int, flag: int) -> None:
    """Six bits per byte, highest first: the encoding of handlers."""
    groups = [value & 63]
    while value > 63:
        value >>= 6
        groups.append(value & 63 | 64)
    groups[-1] |= flag
    out += bytes(reversed(groups))
