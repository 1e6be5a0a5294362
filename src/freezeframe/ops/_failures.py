"""Describe a failing test at the stop: its frames in the user's code, and the values there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from freezeframe import files
from freezeframe.backends.backend import RawValue
from freezeframe.errors import DebuggerError
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.stops import ExceptionInfo, Frame, StopReason
from freezeframe.model.testing import FailingTest, Failure, FailureFrame
from freezeframe.model.values import ScopeKind, Value
from freezeframe.questions.macro_calls import frame_at_invocation
from freezeframe.runners.runner import Runner
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState

#: frames that are searched for the test: a runner's own are 40, and recursion is limited to 1000
_FRAMES, _DEEP = 200, 1200
#: frames that are shown: the test, and those next to the failure
_SHOWN_FRAMES = 5
#: variables of a frame that are shown beside those of its statement
_OTHERS = 4
_STATEMENT_VALUES = 6
_OUTER_VALUES = 3
#: how an exception is raised that is no failure: filters of the user stopped at it
_NO_FAILURE = frozenset(("raised", "always", "throw", "catch", "rethrow"))
#: a variable with its fields and elements, as most languages write them; a call's name is not one
_PATH = re.compile(
    r"""(?<![\w.'"$@])[@$]*[^\W\d]\w*(?:(?:\.|->|::)[^\W\d]\w*|\[(?:\d+|'[^']*'|"[^"]*")\])*(?!\w)(?P<call>\s*\()?"""
)
_PART = re.compile(r"""(?:\.|->|::)(?P<field>\w+)|\[(?P<key>\d+|'[^']*'|"[^"]*")\]""")
#: bytes of a source file that are searched for the name of a test
_LONGEST_SOURCE = 1_000_000
#: variables that stand for everything: shown by the fields that a statement names
_WHOLE = frozenset(("self", "this", "cls", "t", "tc", "$this", "$self"))
#: variables of the macros `assert_eq!` and `EXPECT_EQ`
_MACRO = frozenset(("left_val", "right_val", "kind", "gtest_ar", "gtest_ar_"))
_LOCAL = frozenset({ScopeKind.ARGUMENTS, ScopeKind.LOCALS})


def is_failure(stop: StopState) -> bool:
    """Whether a stop of a test runner is the failure of a test, or a crash."""
    if stop.event.reason is StopReason.SIGNAL:
        return True
    error = stop.exception
    return stop.event.reason is StopReason.EXCEPTION and (
        error is None or error.mode not in _NO_FAILURE
    )


async def describe(
    session: Session, stop: StopState, runner: Runner | None, test: FailingTest | None = None
) -> Failure:
    """Return the failure that the program is stopped at; without *runner*, of no test."""
    error = stop.exception or ExceptionInfo(stop.event.description or "failure", "")
    frames = await stop.frames(_FRAMES)
    if len(frames) == _FRAMES:
        frames = await stop.frames(_DEEP)
    test = error.test or test
    users = _between(frames, test)
    if test is None and runner is not None:
        test, users = _found(runner, users)
    shown = users if len(users) <= _SHOWN_FRAMES else [*users[: _SHOWN_FRAMES - 1], users[-1]]
    described: list[FailureFrame] = []
    for frame in reversed(shown):
        is_innermost = frame is users[0]
        frame = frame_at_invocation(frame, session.sources.lines, error.message)
        text = _statement(session, error, frame)
        values, more = await _values(stop, frame, text, others=_OTHERS if is_innermost else 0)
        if not is_innermost:
            # What a caller has shown already is not shown again.
            known = {(each.name, each.text) for outer in described for each in outer.values}
            values = tuple(each for each in values if (each.name, each.text) not in known)
            values = values[:_OUTER_VALUES]
        described.append(
            FailureFrame(frame.index, frame.function, frame.path, frame.line, text, values, more)
        )
    details = tuple(
        f"{'while handling' if each.relation == 'context' else 'caused by'}: {each.words}"
        for each in error.links
    )
    return Failure(
        test,
        error.type,
        error.message,
        tuple(described),
        hidden=len(users) - len(shown),
        raised_in=_raised_in(frames, runner),
        details=(*error.details, *(details or (f"caused by: {each}" for each in error.causes))),
    )


def _between(frames: Sequence[Frame], test: FailingTest | None) -> list[Frame]:
    """Return the user's frames from the failure to the test, innermost first."""
    users = [each for each in frames if not each.library and each.path is not None]
    if test is None:
        return users
    names = set(re.findall(r"\w+", re.sub(r"\[.*|\(.*", "", test.id, flags=re.DOTALL)))
    for index in range(len(users) - 1, -1, -1):
        if re.split(r"\W+", users[index].function.rstrip("()"))[-1] in names:
            return users[: index + 1]
    return users


def _found(runner: Runner, users: list[Frame]) -> tuple[FailingTest | None, list[Frame]]:
    """Return the test that the nearest frame of a test names, and the frames up to it."""
    for index, frame in enumerate(users):
        name = _name_at(runner, frame)
        if name:
            return FailingTest(name), users[: index + 1]
    users = [each for each in users if not each.suspended]
    if not users:
        return None, users
    return FailingTest(f"{os.path.basename(users[-1].path or '')}:{users[-1].line}"), users


def _name_at(runner: Runner, frame: Frame) -> str | None:
    """Return the name of the test whose function, or whose code, the outermost frame runs."""
    if frame.path is None or frame.line is None:
        return None
    try:
        text = files.read_head(frame.path, _LONGEST_SOURCE).decode("utf-8", "replace")
    except OSError:
        return None
    return runner.name_at(frame.function, text, frame.line)


def _raised_in(frames: Sequence[Frame], runner: Runner | None) -> str | None:
    first = frames[0] if frames else None
    if first is None or not first.library:
        return None
    framework = runner.framework if runner is not None else None
    if framework is not None and framework.search(f"{first.path or ''} {first.function}"):
        return None
    where = f" ({os.path.basename(first.path)}:{first.line})" if first.path else ""
    return first.function + where


def _statement(session: Session, error: ExceptionInfo, frame: Frame) -> str:
    """Return the statement of a frame: all lines of it, if the debugger knows them."""
    for line in reversed(error.traceback):
        where = (line.path, line.line, line.function)
        if line.text and where == (frame.path, frame.line, frame.function):
            return line.text.strip()
    if frame.path is None or frame.line is None:
        return ""
    return (session.sources.line(frame.path, frame.line) or "").strip()


# --- values


@dataclass(frozen=True, slots=True)
class _Paths:
    """The variables that a statement names: each the variable, and the parts behind it."""

    text: str
    root: str
    parts: tuple[str, ...]


def _paths(statement: str) -> list[_Paths]:
    found: dict[str, _Paths] = {}
    for match in _PATH.finditer(statement):
        text = match[0].removesuffix(match["call"] or "")
        root = re.split(r"\.|->|::|\[", text, maxsplit=1)[0]
        parts = [m["field"] or m["key"] for m in _PART.finditer(text, len(root))]
        if match["call"]:
            if not parts:
                continue
            # The method of an object: the object is what matters.
            last = parts.pop()
            text = text[: text.rindex(last)].rstrip(".->:")
        found.setdefault(text, _Paths(text, root, tuple(parts)))
    return list(found.values())


async def _values(
    stop: StopState, frame: Frame, statement: str, *, others: int
) -> tuple[tuple[Value, ...], int]:
    """Return the variables of a statement, then *others* of the frame, and how many are left."""
    try:
        raws: dict[str, RawValue] = {}
        for scope in await stop.scopes(frame.index):
            if scope.kind in _LOCAL and not scope.expensive:
                for raw in await stop.backend.children(scope.ref):
                    if not (raw.returned or raw.gone or raw.definition):
                        raws.setdefault(raw.name, raw)
        stop.reset_expansion_budget()
        shown: dict[str, Value] = {}
        whole = set()
        for path in _paths(statement):
            if len(shown) >= _STATEMENT_VALUES or path.root not in raws:
                continue
            if not path.parts and path.root in _WHOLE:
                continue
            part = await _part(stop, raws[path.root], path.parts)
            if part is None and path.root in _WHOLE:
                continue
            name = path.root if part is None else path.text
            if name not in shown:
                value = await stop.expand(raws[path.root] if part is None else part)
                shown[name] = replace(value, name=name, changed=False)
                whole.add(path.root)
        hidden = whole | _WHOLE | _MACRO
        left = [name for name in raws if name not in hidden and not name.startswith("__")]
        for name in left[:others]:
            shown[name] = await stop.expand(raws[name])
        return tuple(shown.values()), max(0, len(left) - others) if others else 0
    except DebuggerError:
        return (), 0


async def _part(stop: StopState, raw: RawValue, parts: Sequence[str]) -> RawValue | None:
    """Return a field or element of a value, read without running code; None if there is none."""
    for part in parts:
        if not raw.ref:
            return None
        children = await stop.backend.children(raw.ref)
        keys = {part, f"[{part}]", f".{part}", part.strip("'\""), f"[{part.strip(chr(34))!r}]"}
        keys.add(repr(part.strip("'\"")))
        found = next((each for each in children if each.name in keys), None)
        if found is None:
            return None
        raw = found
    return raw
