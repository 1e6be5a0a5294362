"""Runs inside gdb and LLDB: decides whether a variable is not initialised yet.

Compilers describe a variable for its whole block. The rules hold for unoptimised code.
"""

import re
from typing import NamedTuple

import control_flow_agent as control_flow  # type: ignore[import-not-found]

#: maximum lines of a declaration
_LONG = 20
#: maximum lines between a declaration and the current line
_FAR = 400
#: comments; and string and character literals
_ASIDE = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])+'")
_NO_TYPE = re.compile(r"\s*(?:for|while|if|switch|return|else|case|do|static|using)\b")
#: what a line has that gives its variables values, or may
_GIVES_VALUES = re.compile(r"[=(]|\bin\b")
#: a destructor, as written and as mangled
_DESTRUCTOR = re.compile(r"~|D[0-2]Ev")
#: code that may jump back unseen, and macros that may use a name without its letters
_BACK = re.compile(r"\bgoto\s*\*|\b\w*setjmp\b")
_MACRO = re.compile(
    r"\b[A-Z_][A-Z0-9_]{2,}\s*\(|^\s*[A-Z_][A-Z0-9_]{2,}\s*;?\s*$|#\s*(?:include|def)", re.MULTILINE
)


#: addresses of variables that the user has assigned a value to
assigned: set[int] = set()
#: an expression that assigns to a variable, or to a part of one: `x = 1`, `s.a[2] += 3`
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_]\w*)((?:\.\w+|\[[^\]=]*\])*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")


def assigned_variable(expression: str) -> "tuple[str, bool]":
    """Return the variable that an expression assigns to, and whether as a whole; "": none."""
    found = _ASSIGNMENT.match(expression)
    return (found[1], not found[2]) if found is not None else ("", False)


class Variable(NamedTuple):
    """A variable of a function, with the line of its declaration."""

    name: str
    line: int
    #: whether a declaration without a value leaves it uninitialised
    is_bare: bool
    #: where it is; 0 if it is not in memory
    address: int = 0


class Position(NamedTuple):
    """Where a frame is."""

    path: str
    line: int
    #: line of the function
    function: int
    #: address of the current instruction: of the call if the frame has called another function
    address: int
    #: name of the function that the frame has called; None for the innermost frame, and if unknown
    callee: str | None


def is_unset(variable: Variable, position: Position, flow: control_flow.ControlFlow) -> bool:
    """Whether the program has not yet reached the initialisation of a variable."""
    if variable.address in assigned:
        return False
    if variable.line > position.line:
        return True
    # A loop passes the same positions again and again.
    key = (variable.name, variable.line, variable.is_bare, position)
    if key not in flow.unset:
        flow.unset[key] = _decide(variable, position, flow)
    return bool(flow.unset[key])


def _decide(variable: Variable, position: Position, flow: control_flow.ControlFlow) -> bool:
    at = flow.containing(position.address)
    if _is_before(variable, position, flow, at) or _is_never_named(variable, position, flow, at):
        return True
    if position.callee is not None:
        return _is_being_set(variable, position, position.callee)
    # A scalar is stored after the call that returned it; an object is made by the call.
    returned = flow.returns.get(position.address) if variable.is_bare else None
    return returned is not None and _is_being_set(variable, position, returned)


def _is_before(
    variable: Variable, position: Position, flow: control_flow.ControlFlow, at: int | None
) -> bool:
    """Whether the current instruction can be reached without the variable's declaration.

    It must lie before the declaration, too: calls through tables may never return, unseen.
    """
    if position.function > variable.line or at is None:
        return False
    # The code that allocates the variables carries the line of the function.
    firsts: dict[int, int] = {}
    for address, line in sorted(flow.lines.items()):
        is_own = variable.line <= line < variable.line + _LONG and address > flow.start
        if is_own and address in flow.ordinary and address in flow.entries:
            firsts.setdefault(line, address)
    if not firsts:
        return False
    first = firsts[min(firsts)]
    return at == first or (at < first and at in flow.reached([flow.start], [first]))


def _is_never_named(
    variable: Variable, position: Position, flow: control_flow.ControlFlow, at: int | None
) -> bool:
    """Whether a variable was declared without a value, and no line that may have run names it."""
    if not variable.is_bare or at is None or not 0 < position.line - variable.line <= _FAR:
        return False
    last = _last_line(position, flow, at)
    if last is None or not variable.line <= last < variable.line + _FAR:
        return False
    text = _plain("".join(control_flow.source_lines(position.path, variable.line, last)))
    declared, _, since = text.partition("\n")
    if _GIVES_VALUES.search(declared):
        return False  # a pattern or a structured binding: `for (n, item) in`, `auto [a, b] =`
    name = rf"\b{re.escape(variable.name)}\b"
    # In Rust the type follows the name.
    without = re.search(rf"{name}\s*(?:\[[^\]]*\]\s*|:[^:=;]+)*[;,]", declared)
    if without is None or len(re.findall(name, declared)) != 1:
        return False
    return not any(each.search(since) for each in (re.compile(name), _MACRO, _BACK))


def _last_line(position: Position, flow: control_flow.ControlFlow, at: int) -> int | None:
    """Return the last line of a function that may have run before an instruction."""
    if flow.is_indirect or at not in flow.ordinary:
        return None
    last = max((flow.lines[each] for each in flow.ordinary if each in flow.lines), default=0)
    text = "".join(control_flow.source_lines(position.path, last, last))
    final = control_flow.final_code(flow, last, text)
    before = {each for to in flow.before(at) for each in flow.leading_to([to])}
    run = {
        flow.lines[each]
        for each in before & flow.ordinary & flow.lines.keys()
        if not final or flow.lines[each] != last or each in final
    }
    # Lines without code belong to the line above.
    after = min((line for line in flow.lines.values() if line > max(run, default=0)), default=None)
    return after - 1 if after is not None and run else None


def _is_being_set(variable: Variable, position: Position, callee: str) -> bool:
    """Whether the call that a frame is in, or has returned from, initialises a variable of it.

    True if the source from the declaration to the call is one statement of one variable.
    Destructors run afterwards.
    """
    if position.line - variable.line >= _LONG or _DESTRUCTOR.search(callee):
        return False
    text = "".join(control_flow.source_lines(position.path, variable.line, position.line))
    text = _plain(text).strip().removesuffix(";")
    found = re.match(r"[\w:<>,&*\s]+[\s&*>]" + re.escape(variable.name) + r"\b", text)
    if found is None or _NO_TYPE.match(text) or ";" in text:
        return False
    # A comma outside of brackets begins another variable.
    inner = text[found.end() :]
    while inner != (inner := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", inner)):
        pass
    return re.search(r"[,)\]}]", re.split(r"[(\[{]", inner)[0]) is None


def _plain(text: str) -> str:
    """Return source without comments and literals; line breaks are kept."""
    bare = _ASIDE.sub(lambda found: "\n" * found[0].count("\n") or " ", text)
    return _QUOTED.sub("0", bare)
