"""A trace of a stopped program: its launch target is run a second time, up to the same stop.

The second run is compared with the first one; what differs is said.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from freezeframe.backends.backend import Core, Launch
from freezeframe.backends.python.tracing.traced_run import run_traced
from freezeframe.backends.selection import DebuggerChoice
from freezeframe.errors import NotFound, Unsupported
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.questions import Explanation
from freezeframe.model.stops import Frame, StopReason
from freezeframe.model.trace import (
    Trace,
    TracedFrame,
    TracedStep,
    TracedValue,
    TraceLimits,
    TraceRequest,
    TraceUntil,
)
from freezeframe.model.values import is_cut
from freezeframe.questions.macro_calls import frame_at_invocation
from freezeframe.questions.provenance import explain
from freezeframe.questions.trace_index import TraceIndex
from freezeframe.questions.traced_values import shortened
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState

from ._context import Context
from ._launch_args import own_directories
from ._past_backend import PastBackend
from ._retrace_by_stepping import retrace_by_stepping
from ._stored_traces import store_trace

#: seconds that the second run may take: for each second of the first one, at least and at most
_SECONDS_PER_SECOND, _LEAST_S, _MOST_S = 15.0, 30.0, 150.0
#: frames of a stop that are compared with those of the trace
_COMPARED_FRAMES = 60
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
#: control characters, as they are or escaped
_ESCAPED = re.compile(r"\\(?:x[0-9a-fA-F]{2}|[0-9a-z])|[\x00-\x1f\x7f]|\s")
_MOST_DIFFERENCE = 90
#: characters of two long messages that are compared
_COMPARED_TEXT = 150
#: of the type of an exception: `org.opentest4j.`
_PACKAGE = re.compile(r"^(?:\w+\.)+(?=\w+(?::|$))")
_LANGUAGE = "Python"
RAN_AGAIN = "the program ran a second time to record this"
#: types of plain values, as debuggers call them
_COMPARABLE = frozenset(
    ("int", "str", "bool", "NoneType", "float", "string", "number", "boolean")
) | {
    *("int64", "uint", "float64", "rune", "long", "double", "char", "i32", "i64", "u32", "u64"),
    *("usize", "f64", "java.lang.String", "size_t", "unsigned int"),
}


@dataclass(frozen=True, slots=True)
class SecondRun:
    """A trace, and the frame and step in it that a frame of the stop is."""

    trace: Trace
    frame: int
    step: int
    #: what the answer must say about the run
    notes: tuple[str, ...] = ()


async def traced_again(
    ctx: Context,
    session: Session,
    stop: StopState,
    frame: Frame,
    target: Launch | None = None,
    expression: str = "",
    expected: str | None = None,
) -> SecondRun:
    """Return a trace of a second run up to *stop*, and the location of *frame* in it.

    *target* is what to run, if it is not all that the session's program ran: one test of many;
    *expression* and *expected* are the value in question and the one that it was compared with.
    The program is run again unless a question about this stop has done so before. Raises
    Unsupported if it cannot be run again, and NotFound if the second run never came to the stop.
    """
    if isinstance(stop.backend, PastBackend):
        trace, number, at = stop.backend.moment(frame.index)
        return SecondRun(_cut(trace, at), number, at)
    whole, choice = require_traceable(ctx, session)
    target = target or whole
    message = stop.exception.message if stop.exception is not None else ""
    lines = session.sources.lines
    frames = [
        frame_at_invocation(each, lines, message) for each in await stop.frames(_COMPARED_FRAMES)
    ]
    frame = frame_at_invocation(frame, lines, message)
    if stop.second_run is not None and stop.second_run.entered_for not in (None, expression):
        stop.second_run = None  # another value went through other calls
    is_known = stop.second_run is not None
    if stop.second_run is None and _LANGUAGE not in choice.debugger.languages:
        await ctx.announce("running the program a second time, step by step")

        async def chain(trace: Trace) -> tuple[int, Explanation] | None:
            try:
                at = await _located(session, stop, frame, frames, trace)
            except NotFound:
                return None
            found = await asyncio.to_thread(
                partial(explain, expected=expected),
                *(at.trace, at.frame, at.step, expression, session.sources),
            )
            return at.step, found

        stop.second_run = await retrace_by_stepping(
            ctx, session, stop, target, choice, chain, expression
        )
    if stop.second_run is None:
        until = _until(session, stop, frames, target)
        roots = own_directories(ctx.workspace.root, target)
        limits = TraceLimits(seconds=_limit_s(session, stop))
        request = TraceRequest(roots, until, limits=limits)
        stop.second_run = await run_traced(target, request)
    found = await _located(session, stop, frame, frames, stop.second_run)
    if not is_known and session.root.recorded:
        # A line that an exception has left was executed, with all that it called.
        is_left = stop.event.reason is StopReason.EXCEPTION
        upto = None if is_left else found.step
        store_trace(ctx, session.root.name, target, stop.second_run, upto)
    return found


def _limit_s(session: Session, stop: StopState) -> float:
    """Return how long the second run may take: the first one came to its stop in less."""
    age_s = time.monotonic() - stop.event_order if stop.event_order else 0.0
    first_s = time.time() - session.root.started - age_s
    return min(max(_LEAST_S, _SECONDS_PER_SECOND * first_s), _MOST_S)


def require_traceable(ctx: Context, session: Session) -> tuple[Launch, DebuggerChoice]:
    """Return the launch target of a session and its debugger. Raises Unsupported."""
    target = session.root.target
    if isinstance(target, Core):
        raise Unsupported(
            "a core file holds one moment, so nothing can say what happened before it.",
            next="dbg backtrace --locals",
        )
    if not isinstance(target, Launch):
        raise Unsupported(
            "this program was attached to, so it cannot be run again from its beginning; "
            "the past is known of programs that were started here.",
            next="dbg start PROGRAM",
        )
    if session.parent is not None:
        raise Unsupported(
            "this is a child process; only the program that was started is run again.",
            next="dbg backtrace --locals",
        )
    choice = next((each for kept, each in ctx.workspace.launches.values() if kept is target), None)
    launched = ctx.workspace.launches.get(session.root.name)
    debugger = choice or (launched[1] if launched else None)
    if debugger is None:
        tool = session.backend.tool if session.backend is not None else "this debugger"
        raise Unsupported(
            f"the program is run a second time, and it is not known how {tool} started it.",
            next="dbg backtrace --locals",
        )
    return target, debugger


def _until(
    session: Session, stop: StopState, frames: Sequence[Frame], target: Launch
) -> TraceUntil:
    """Return where the second run ends: as near to the stop as is known."""
    if stop.event.reason is StopReason.EXCEPTION:
        return TraceUntil(failure=target.module)
    entries = session.breakpoints.entries
    hit = [entries[number] for number in stop.event.breakpoints if number in entries]
    plain = [each for each in hit if each.condition is None and each.hit_count is None]
    first = frames[0] if frames else None
    if plain and first is not None and first.path is not None:
        return TraceUntil(first.path, first.line, plain[0].hits)
    return TraceUntil()


# --- finding the stop in the trace ----------------------------------------------------------------


async def _located(
    session: Session, stop: StopState, frame: Frame, frames: Sequence[Frame], trace: Trace
) -> SecondRun:

    def fitting() -> tuple[TraceIndex, list[TracedStep]]:
        index = TraceIndex(trace)
        return index, [
            step for step in _candidates(stop, frames, trace) if _fits(index, step, frames)
        ]

    # A trace may have hundreds of thousands of steps: the daemon answers others meanwhile.
    index, candidates = await asyncio.to_thread(fitting)
    if not candidates:
        raise NotFound(_missed(session, stop, frames, trace), next="dbg backtrace --locals")
    view = await stop.read_frame(frame.index, expand=False)
    first = {value.name: value.text for scope in view.scopes for value in scope.values}
    ranked = []
    for order, step in enumerate(candidates):
        found = _frame_of(index, step, frame)
        if found is not None:
            different = _differences(index, *found, first)
            ranked.append((len(different), order, found, different))
    if not ranked:
        raise NotFound(
            f"{frame.function} is not code of the workspace, so it was not traced.",
            next="dbg frame 0",
        )
    _, _, (number, at), different = min(ranked, key=lambda each: each[:2])
    notes = [RAN_AGAIN]
    exception = _exception(stop)
    if exception is not None and not _is_same_text(trace.outcome.exception, exception):
        different = (f"it raised {trace.outcome.exception}", *different)
    if different:
        what = "; ".join(shortened(each, _MOST_DIFFERENCE) for each in different[:3])
        notes.append(
            f"the second run differed ({what}): this chain may not be the one of this stop"
        )
    notes += trace.remarks
    if trace.dropped.steps:
        notes.append(
            f"{trace.dropped.steps} steps in the middle were not kept ({trace.dropped.limit})"
        )
    before = stop.event.reason is not StopReason.EXCEPTION
    return SecondRun(_cut(trace, at) if before else trace, number, at, tuple(notes))


def _is_same_text(second: str | None, first: str) -> bool:
    """Whether two messages are the same but for addresses, which differ from run to run.

    The message of an exception that computes it is not known to the second run: its type is.
    """
    name = first.partition(":")[0]
    if second is not None and second.startswith(f"{name}: {name}("):
        return True
    if second is None:
        return True
    one, other = _comparable(_PACKAGE.sub("", second)), _comparable(first)
    # Either may be cut where it is long, and not at the same character.
    known = min(len(one), len(other), _COMPARED_TEXT)
    return one == other or (known == _COMPARED_TEXT and one[:known] == other[:known])


def _comparable(text: str) -> str:
    """Return a message without addresses and without characters that debuggers escape."""
    return _ESCAPED.sub("", _ADDRESS.sub("0x", text))


def _candidates(stop: StopState, frames: Sequence[Frame], trace: Trace) -> list[TracedStep]:
    """Return the steps that may be the stop, the most likely one first."""
    outcome = trace.outcome
    known = trace.step(outcome.step) if outcome.step is not None else None
    found = [known] if known is not None else []
    user = [frame for frame in frames if not frame.library and frame.path is not None]
    if user:
        inner = user[0]
        same = [
            step
            for step in trace.steps
            if step.line == inner.line and _is_path(trace.frames[step.frame].path, inner.path)
        ]
        if stop.event.reason is StopReason.EXCEPTION:
            same = [step for step in same if step.raised is not None]
        found += reversed(same)
    return found


def _fits(index: TraceIndex, step: TracedStep, frames: Sequence[Frame]) -> bool:
    """Whether the callers of a step are those of the stop."""
    traced = [(frame.path, at.line) for frame, at in _stack(index, step)]
    user = [(each.path, each.line) for each in frames if not each.library and each.path]
    for (path, line), (own_path, own_line) in zip(traced, user, strict=False):
        if line != own_line or not _is_path(path, own_path):
            return False
    return True


def _stack(index: TraceIndex, step: TracedStep) -> list[tuple[TracedFrame, TracedStep]]:
    """Return the traced frames around a step, innermost first, each with its current step."""
    found: list[tuple[TracedFrame, TracedStep]] = []
    at: TracedStep | None = step
    while at is not None and len(found) < _COMPARED_FRAMES:
        frame = index.frames[at.frame]
        found.append((frame, at))
        at = index.step(frame.caller)
    return found


def _frame_of(index: TraceIndex, step: TracedStep, frame: Frame) -> tuple[int, int] | None:
    for traced, at in _stack(index, step):
        if at.line == frame.line and _is_path(traced.path, frame.path):
            return traced.number, at.number
    return None


def _is_path(traced: str, path: str | None) -> bool:
    return path is not None and (
        traced == path or os.path.realpath(traced) == os.path.realpath(path)
    )


def _differences(
    index: TraceIndex, frame: int, step: int, first: dict[str, str]
) -> tuple[str, ...]:
    """Return the variables whose plain values are not those of the first run."""
    found = []
    for name, text in first.items():
        second = index.value_of_variable(frame, name, step)
        if second is None or not _is_comparable(second) or is_cut(text):
            continue
        if second.text != text:
            found.append(f"{name} was {text}, then {second.text}")
    return tuple(found)


def _is_comparable(value: TracedValue) -> bool:
    is_whole = not is_cut(value.text) and not value.text.endswith("…")
    return value.type in _COMPARABLE and is_whole


def _exception(stop: StopState) -> str | None:
    found = stop.exception
    if found is None or stop.event.reason is not StopReason.EXCEPTION:
        return None
    name = found.type.rpartition(".")[2]
    return f"{name}: {found.message}" if found.message else name


def _missed(session: Session, stop: StopState, frames: Sequence[Frame], trace: Trace) -> str:
    code = trace.outcome.exit_code
    how = {
        "timeout": f"it did not end within {_limit_s(session, stop):.0f} s",
        "killed": "it was killed",
        "raised": f"it raised {trace.outcome.exception}",
    }.get(
        trace.outcome.how, f"it exited with code {code}" if code is not None else "it went past it"
    )
    remarks = trace.remarks
    if trace.outcome.how == "timeout" and remarks:
        how, remarks = remarks[0], remarks[1:]
    if frames and all(frame.library for frame in frames):
        return "no frame of this stack is code of the workspace, so nothing of it was traced."
    left_out = "".join(f"; {each}" for each in remarks)
    return f"the program was run a second time and never came to this stop: {how}{left_out}."


def _cut(trace: Trace, step: int) -> Trace:
    """Return the trace up to a step that is not executed yet."""
    steps = [each for each in trace.steps if each.number <= step]
    if steps and steps[-1].number == step:
        last = steps[-1]
        steps[-1] = TracedStep(last.number, last.frame, last.line, reads=last.reads)
    kept = {each.frame for each in steps}
    return replace(trace, steps=steps, frames={n: f for n, f in trace.frames.items() if n in kept})
