"""Where the wrong value of a failing test came from: the chain of its writes, in a second run."""

from __future__ import annotations

from dataclasses import replace

from freezeframe import files
from freezeframe.backends.backend import Launch
from freezeframe.errors import FreezeframeError, NotFound, Unsupported
from freezeframe.model import late_regex
from freezeframe.model.answers import RunnerReport, StopReport
from freezeframe.model.questions import Explanation
from freezeframe.model.testing import FailureFrame
from freezeframe.questions.failing_assertions import failing_assertion, passes_exceptions_on
from freezeframe.questions.failing_expressions import FailingExpression, failing_expression
from freezeframe.runners.runner import Project
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState

from ._context import Context
from ._retrace import RAN_AGAIN, require_traceable
from ._suggestions import quoted
from ._test_report import runner_of
from .questions import explained

#: links of the chain: the answer stays short, and `why` shows more
_LINKS = 11
#: calls that may have decided the value
_CALLS = 3
_LONGEST_SOURCE = 1_000_000
_PYTHON = (".py", ".pyw")
_FUNCTION = late_regex.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


async def with_origin(ctx: Context, report: StopReport) -> StopReport:
    """Return the report of a failing test with where its wrong value came from.

    The test is run a second time, alone. Other reports are returned as they are.
    """
    if report.test is None or len(report.test.failures) != 1 or report.stop is None:
        return report
    session = ctx.hub.find(report.session, ctx.workspace)
    stop = session.current_stop
    if stop is None:
        return report
    return replace(report, test=await _explained(ctx, session, stop, report.test))


async def _explained(
    ctx: Context, session: Session, stop: StopState, report: RunnerReport
) -> RunnerReport:
    [failure] = report.failures
    frame = failure.frames[-1] if failure.frames else None
    found = _expression(frame, failure.type, failure.message) if frame is not None else None
    if frame is None or found is None:
        return report
    origin: Explanation | None = None
    notes: tuple[str, ...] = ()
    try:
        whole, _ = require_traceable(ctx, session)
        target = _alone(whole, session, report)
        shown = await stop.frame(frame.index)
        origin = await explained(
            ctx,
            session,
            stop,
            shown,
            found.text,
            depth=_LINKS,
            expected=_text_of(frame, found.compared),
            target=target,
            calls=_CALLS,
        )
        # That a failing test is run again is what this command does.
        origin = replace(origin, notes=tuple(n for n in origin.notes if n != RAN_AGAIN))
    except Unsupported:
        pass
    except NotFound as error:
        notes = (f"no chain: {_missed(stop) or error.message}",)
    except FreezeframeError as error:
        notes = (f"no chain: {error.message}",)
    if origin is not None and not (origin.links or origin.ends or origin.calls):
        what = found.text or "what failed"
        notes = (f"no chain: where {what} came from was not seen in the steps to the failure",)
        origin = None
    next = _next(found.text, origin, report) if origin is not None else report.next
    failure = replace(failure, origin=origin)
    return replace(report, failures=(failure,), notes=(*report.notes, *notes), next=next)


def _next(expression: str, origin: Explanation, report: RunnerReport) -> tuple[str, ...]:
    """Return what shows more than this answer: the rest of the chain, the call most of it is in."""
    named = f"why {quoted(expression)}" if expression else "why"
    more = f"{named} --depth {_LINKS * 2}" if origin.left_out else named
    [failure] = report.failures
    own = {origin.path, *(each.path for each in failure.frames[:1])}
    named_calls = [each.function for each in origin.calls if _FUNCTION.fullmatch(each.function)]
    if named_calls:
        return (more, f"trace {named_calls[0]}", "continue")
    inside = [
        each.function
        for each in origin.links
        if each.path not in own and _FUNCTION.fullmatch(each.function)
    ]
    if not inside:
        return (more, "continue")
    return (more, f"trace {max(inside, key=inside.count)}", "continue")


def _missed(stop: StopState) -> str | None:
    """Return that the second run did not fail, if so: that is a fact about the test."""
    second = stop.second_run.outcome if stop.second_run is not None else None
    if second is None or second.how != "exited" or second.exit_code != 0:
        return None
    return (
        "run a second time, alone, the test passed; other tests or chance decide whether it fails"
    )


def _expression(frame: FailureFrame, type: str, message: str) -> FailingExpression | None:
    if frame.path is None or frame.line is None:
        return None
    try:
        source = files.read_head(frame.path, _LONGEST_SOURCE).decode("utf-8", "replace")
    except OSError:
        return None
    if frame.path.endswith(_PYTHON):
        return failing_expression(source, frame.line, type, message)
    lines = source.split("\n")
    if passes_exceptions_on(lines, frame.line):
        return None  # what it evaluates says nothing about the exception
    found = failing_assertion(lines, frame.path, frame.line, message)
    return found or FailingExpression("")


def _text_of(frame: FailureFrame, expression: str | None) -> str | None:
    """Return the text of the value that the wrong one was compared with; None if not known."""
    if expression is None:
        return None
    known = next((each.text for each in frame.values if each.name == expression), None)
    if known is not None:
        return known
    is_literal = expression[:1] in "'\"[({-0123456789" or expression in ("None", "True", "False")
    return expression if is_literal else None


def _alone(target: Launch, session: Session, report: RunnerReport) -> Launch:
    """Return the target that runs the failing test alone; all of them if it has no selector."""
    runner, [failure] = runner_of(session), report.failures
    if runner is None or runner.alone is None or failure.test is None:
        return target
    path = failure.frames[0].path if failure.frames else None
    project = Project(target.cwd, target.env)
    args = runner.alone(project, target.args, failure.test, path)
    return replace(target, args=(*args, *target.runner_args))
