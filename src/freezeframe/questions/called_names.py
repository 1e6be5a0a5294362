"""What the callers of functions call them, where a debugger names the functions otherwise.

V8 calls a function after what it was first assigned to (`module.exports`), Java a constructor
`<init>`. A call in a statement is that of a frame only if nothing else of the statement can be.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from freezeframe.model.trace import Trace, TracedFrame

from .any_source import AnySource
from .expressions import Expression, Form, Statement
from .traced_values import called_name, own_name

#: what is never code of the workspace: assertions, and objects of the language
_LIBRARY = re.compile(
    r"(?:assert|expect|chai|should|console|Object|Array|JSON|Math|String|Number|Promise|require|t)\b"
    r"(?!\s*\.\s*(?:constructor|prototype))"
)

#: functions that an operator, a macro or the end of a block calls: no call of the source is theirs
_OPERATORS = re.compile(
    r"eq|ne|cmp|partial_cmp|lt|le|gt|ge|hash|drop|deref|deref_mut|borrow|as_ref|index|index_mut|fmt|neg|not"
    r"|(?:add|sub|mul|div|rem|bit\w+|shl|shr)(?:_assign)?|operator\W*|~\w+|Equal|Less|compareTo|hashCode"
)


def name_calls(trace: Trace, file: Callable[[str], AnySource | None]) -> None:
    """Set `called_as` of the frames whose callers use another name."""
    called: dict[int, list[TracedFrame]] = {}
    for frame in trace.frames.values():
        if frame.caller is not None and frame.call_site is None:
            called.setdefault(frame.caller, []).append(frame)
    for number, frames in called.items():
        step = trace.step(number)
        source = file(trace.frames[step.frame].path) if step is not None else None
        statement = source.statement(step.line) if source is not None and step is not None else None
        if statement is not None:
            _name(frames, statement)


def _name(frames: list[TracedFrame], statement: Statement) -> None:
    own = {own_name(each) for each in frames}
    unknown: dict[str, Expression] = {}
    for call in _calls(statement):
        name = called_name(call)
        if name and name not in own and not _LIBRARY.match(call.text):
            unknown.setdefault(call.text, call)
    names = {called_name(each) for each in _calls(statement)}
    unmatched = [
        each
        for each in frames
        if own_name(each) not in names and not _OPERATORS.fullmatch(own_name(each))
    ]
    functions = {(each.path, each.function) for each in unmatched}
    if len(functions) != 1:
        return
    fitting = [each for each in unknown.values() if _fits(each, unmatched[0])]
    if len({called_name(each) for each in fitting}) == 1:
        for frame in unmatched:
            frame.called_as = called_name(fitting[0])


def _calls(statement: Statement) -> list[Expression]:
    roots = [statement.value, *(each.value for each in statement.writes)]
    return [
        call for root in roots if root is not None for call in root.walk() if call.form is Form.CALL
    ]


def _fits(call: Expression, frame: TracedFrame) -> bool:
    """Whether the literals of a call are the frame's arguments."""
    values = [value.text for name, value in frame.arguments if name not in ("this", "self")]
    if len(call.operands) - 1 > len(values) and not any(call.labels):
        return False
    return all(
        node.form is not Form.CONSTANT or _plain(node.text) == _plain(text)
        for node, text in zip(call.operands[1:], values, strict=False)
    )


def _plain(text: str) -> str:
    return text.replace('"', "'")
