"""Runs inside gdb and LLDB: finds where executions of a line begin, by the jumps of the function.

The first instruction of a line need not be there: rustc and g++ give code that unwinds an exception
the line of a closing brace, and g++ gives the temporaries of an initializer list the last line of
the function.
"""

import itertools
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

#: maximum instructions of a function
MOST_INSTRUCTIONS = 20000
#: jumps, unconditional jumps, instructions without a successor, returns, calls (x86 and ARM)
_JUMP = re.compile(r"(?:bnd |notrack )?(?:j\w+|b|b\.\w+|br|cbn?z|tbn?z)(?=\s|$)")
_ALWAYS = re.compile(r"(?:bnd |notrack )?(?:jmpq?|b|br)(?=\s|$)")
_ENDS = re.compile(r"(?:repz? |bnd )?ret|ud2|udf|hlt|brk\b")
_LEAVES = re.compile(r"(?:repz? |bnd )?ret")
_CALL = re.compile(r"(?:bnd |notrack )?(?:call|bl)")
#: the target of a direct jump; what gdb writes behind `#` is a comment
_COMMENT = re.compile(r"\s#\s.*")
_TARGET = re.compile(r"[\s,]0x([0-9a-f]+)(?=\s|$)")
#: functions that never return, mangled or not
_NO_RETURN = re.compile(
    r"\b(_Unwind_Resume|__cxa_(re)?throw|__stack_chk_fail|__assert_fail|abort|exit|_exit"
    r"|std::(__throw_\w+|terminate)|core::panicking::\w+|\w*(unwrap|expect)_failed"
    r"|_ZSt\d+__throw_\w+|_ZSt9terminatev|_ZN4core9panicking\w+)\b"
)


class Instruction(NamedTuple):
    """One instruction of a function."""

    address: int
    size: int
    #: as the debugger disassembles it: `jmp 0x24c9 <main+192>`
    text: str
    #: source line; None for code of another file, and without a line
    line: int | None
    #: whether an entry of the line table begins with it
    begins_entry: bool
    #: what a call calls
    callee: str


class ControlFlow:
    """The instructions of one function, and which of them follow which.

    *slide* is the difference between the targets of jumps and the addresses of instructions.
    """

    def __init__(self, instructions: Iterable[Instruction], slide: int = 0) -> None:
        self._follow: dict[int, list[int]] = {}
        self._before: dict[int, list[int]] = {}
        self._exits: set[int] = set()
        self._ends: dict[int, int] = {}
        #: whether a table of jumps hides what follows
        self.is_indirect = False
        #: by the address after a call: what was called
        self.returns: dict[int, str] = {}
        #: by variable and position: whether the variable is not initialised yet, once decided
        self.unset: dict[Any, bool] = {}
        #: source lines of instructions in the function's own file
        self.lines: dict[int, int] = {}
        #: the first instructions of entries of the line table
        self.entries: set[int] = set()
        for each in instructions:
            if each.line is not None:
                self.lines[each.address] = each.line
            if each.begins_entry:
                self.entries.add(each.address)
            self._ends[each.address] = each.address + each.size
            self._follow[each.address] = self._read(each, slide)
        self.start = min(self._follow, default=0)
        for at, following in self._follow.items():
            for to in following:
                self._before.setdefault(to, []).append(at)
        #: the instructions that run without an exception or a panic
        self.ordinary = self._find_ordinary()

    def _read(self, instruction: Instruction, slide: int) -> list[int]:
        at, text, after = instruction.address, instruction.text, self._ends[instruction.address]
        if _ENDS.match(text):
            if _LEAVES.match(text):
                self._exits.add(at)
            return []
        if _CALL.match(text):
            self.returns[after] = instruction.callee
            return [] if _NO_RETURN.search(instruction.callee) else [after]
        if not _JUMP.match(text):
            return [after]
        # A jump out of the function is a call in tail position.
        self._exits.add(at)
        following = [] if _ALWAYS.match(text) else [after]
        found = _TARGET.search(_COMMENT.sub("", text))
        if found is None:
            self.is_indirect = True
            return following
        return [*following, int(found[1], 16) - slide]

    def _find_ordinary(self) -> set[int]:
        """Where a table of jumps hides what follows: those from which the function can return."""
        known = set(self._follow)
        exits = {
            at
            for at in self._exits
            if not (self._follow[at] and known.issuperset(self._follow[at]))
        }
        if not self.is_indirect:
            return self.reached([self.start])
        return _closure(exits, self._before) & known

    def reached(self, starts: Iterable[int], barriers: Iterable[int] = ()) -> set[int]:
        """Return what runs from some instructions on, them included, up to *barriers*."""
        return _closure(starts, self._follow, barriers) & self._follow.keys()

    def leading_to(self, ends: Iterable[int]) -> set[int]:
        """Return the instructions that some instructions may run after, them included."""
        return _closure(ends, self._before) & self._follow.keys()

    def following(self, at: int) -> list[int]:
        return [each for each in self._follow.get(at, ()) if each in self._follow]

    def before(self, at: int) -> list[int]:
        return self._before.get(at, [])

    def is_jump(self, at: int) -> bool:
        """Whether an instruction only continues elsewhere, or at the next one by a jump."""
        return at in self._exits and len(self._follow[at]) == 1

    def jumps_back(self, at: int) -> bool:
        return at in self._exits and any(to <= at for to in self._follow[at])

    def end_of(self, at: int) -> int:
        return self._ends[at]

    def containing(self, address: int) -> int | None:
        """Return the instruction that an address is in."""
        at = max((each for each in self._follow if each <= address), default=None)
        return at if at is not None and address < self._ends[at] else None


def _closure(
    starts: Iterable[int], follow: Mapping[int, list[int]], barriers: Iterable[int] = ()
) -> set[int]:
    blocked = set(barriers)
    found: set[int] = set()
    waiting = list(starts)
    while waiting:
        at = waiting.pop()
        if at not in found:
            found.add(at)
            waiting += [each for each in follow.get(at, ()) if each not in blocked]
    return found


def starts(flow: ControlFlow, line: int, given: list[int], text: str) -> list[int]:
    """Return the addresses, given or others, where executions of a line begin.

    *given* are the debugger's locations of the line in a function, *text* is the line's source.
    """
    own = {at for at, each in flow.lines.items() if each == line and at in flow.ordinary}
    if not own:
        return given  # code that only an exception reaches: a handler
    found = [at for at in given if at in flow.ordinary] or _first_of_each(flow, own, line)
    if len(found) == 1:
        found = [_through_jump(flow, line, found[0])]
    final = final_code(flow, line, text)
    if final:
        found = [at for at in found if at in final] or _first_of_each(flow, final, line)
    if len(found) < 2:
        return found
    inner = {at: _within(flow, line, at) for at in found}
    return [at for at in found if not any(at in inner[other] for other in found if other != at)]


def _first_of_each(flow: ControlFlow, code: set[int], line: int) -> list[int]:
    """Return the instructions of a line that are not reached from others of the line."""
    inner = set()
    for at in sorted(code):
        if at not in inner:
            inner |= _within(flow, line, at) - {at}
    return sorted(code - inner)


def _within(flow: ControlFlow, line: int, start: int) -> set[int]:
    """Return the addresses reached after an address of a line, before another line."""
    others = [at for at, each in flow.lines.items() if each != line]
    return flow.reached(flow.following(start), [*others, start]) - set(others)


def _through_jump(flow: ControlFlow, line: int, at: int) -> int:
    """Return where an address only jumps to, if that is code of the same line; else the address.

    g++ makes such a jump of `return o;` after an `if`: the other branch does not run it. rustc
    jumps to the condition at the head of a loop. A condition at the end of a loop begins the line
    only once.
    """
    following = flow.following(at)
    if not flow.is_jump(at) or not following or flow.lines.get(following[0]) != line:
        return at
    end = to = following[0]
    while flow.lines.get(end) == line:
        if flow.jumps_back(end):
            return at
        end = flow.end_of(end)
    return to


def final_code(flow: ControlFlow, line: int, text: str) -> set[int]:
    """Return the code of a function's last line that runs after the lines above.

    Empty for another line, and where it does not: of one statement on several lines, the last one
    may run first. It runs last if it begins with the closing brace, or if the lines above run in
    order.
    """
    lines = {at: each for at, each in flow.lines.items() if at in flow.ordinary}
    if line != max(lines.values(), default=0):
        return set()
    own = {at for at, each in lines.items() if each == line}
    final = own - flow.leading_to(at for at, each in lines.items() if each != line)
    if text.lstrip().startswith("}"):
        return final
    firsts: dict[int, int] = {}
    for at, each in sorted(lines.items()):
        if at > min(own) and each != line:
            firsts.setdefault(each, at)
    above = list(firsts)
    return final if len(above) > 1 and above == sorted(above) else set()


def source_lines(path: str, first: int, last: int) -> list[str]:
    """Return lines of a source file; none if it is unreadable."""
    try:
        if not os.path.isfile(path):
            return []
        with open(path, encoding="utf-8", errors="replace") as source:
            return list(itertools.islice(source, first - 1, last))
    except OSError:
        return []
