"""Where a macro of the same file was invoked, for lines that debuggers report inside its body.

rustc gives the code of a macro the lines of the macro's definition, and only the arguments those of
the invocation. A statement of a test is where its macro is invoked. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from freezeframe.model import late_regex
from freezeframe.model.stops import Frame
from freezeframe.model.trace import Trace, TracedStep

_MACRO = late_regex.compile(r"\s*(?:pub\s+)?macro_rules!\s*(?P<name>\w+)")
_LITERAL = late_regex.compile(r"(?<![\w.])-?\d[\d_]*(?:\.\d+)?(?!\w)|\"[^\"]+\"")


def macro_of(lines: Sequence[str], line: int) -> str | None:
    """Return the name of the macro whose definition a line is in."""
    for above in range(min(line, len(lines)) - 1, 0, -1):
        found = _MACRO.match(lines[above - 1])
        if found is not None:
            return str(found["name"]) if line <= _end(lines, above) else None
    return None


def _end(lines: Sequence[str], head: int) -> int:
    """Return the last line of the block that a line opens, by indentation."""
    depth = _indent(lines[head - 1])
    for line in range(head + 1, len(lines) + 1):
        if lines[line - 1].strip() and _indent(lines[line - 1]) <= depth:
            return line
    return len(lines)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def invocations(lines: Sequence[str], line: int, function: str) -> list[int]:
    """Return the lines of *function* that invoke the macro whose definition *line* is in."""
    name = macro_of(lines, line)
    if name is None:
        return []
    own = re.split(r"::", re.sub(r"<.*?>|::\{.*", "", function))[-1]
    head = next(
        (at for at, text in enumerate(lines, 1) if re.search(rf"\bfn\s+{re.escape(own)}\b", text)),
        None,
    )
    if head is None:
        return []
    call = re.compile(rf"\b{re.escape(name)}!")
    return [at for at in range(head, _end(lines, head) + 1) if call.search(lines[at - 1])]


def invocation(lines: Sequence[str], line: int, function: str, message: str) -> int | None:
    """Return the line that invokes the macro of *line*; None for no macro, or if it is unclear.

    Of several, the one whose literals the message of the failure has.
    """
    found = invocations(lines, line, function)
    if len(found) > 1:
        texts = set(_LITERAL.findall(message))
        shared = {at: len(texts.intersection(_LITERAL.findall(lines[at - 1]))) for at in found}
        most = max(shared.values())
        found = [at for at in found if shared[at] == most and most]
    return found[0] if len(found) == 1 else None


def frame_at_invocation(frame: Frame, lines: Callable[[str], Sequence[str]], message: str) -> Frame:
    """Return a frame in a macro's body at the line that invokes it; others as they are."""
    if frame.path is None or frame.line is None or not frame.path.endswith(".rs"):
        return frame
    try:
        line = invocation(lines(frame.path), frame.line, frame.function, message)
    except OSError:
        return frame
    return replace(frame, line=line) if line is not None else frame


def at_invocations(trace: Trace, lines: Callable[[str], Sequence[str]]) -> None:
    """Make the steps in the bodies of macros parts of the steps that invoke these."""
    merged: dict[int, int] = {}
    #: by frame: its last step, and whether the last one of the debugger was in a macro
    last: dict[int, int] = {}
    inside: dict[int, bool] = {}
    steps: list[TracedStep] = []
    for step in trace.steps:
        frame, at = trace.frames[step.frame], last.get(step.frame)
        if frame.path.endswith(".rs") and at is not None:
            before = steps[at]
            in_macro = before.line in invocations(lines(frame.path), step.line, frame.function)
            if in_macro or (inside[step.frame] and step.line == before.line):
                writes, raised = (*before.writes, *step.writes), step.raised or before.raised
                steps[at] = replace(before, writes=writes, raised=raised)
                merged[step.number], inside[step.frame] = before.number, True
                continue
        last[step.frame], inside[step.frame] = len(steps), False
        steps.append(step)
    if not merged:
        return
    trace.steps = steps
    for frame in trace.frames.values():
        if frame.caller in merged:
            frame.caller = merged[frame.caller]
    outcome = trace.outcome
    if outcome.step in merged:
        trace.outcome = replace(outcome, step=merged[outcome.step])
