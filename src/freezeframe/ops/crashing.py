"""How a program crashed, and on which value: crash."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from freezeframe import files
from freezeframe.backends.backend import Core, Launch
from freezeframe.backends.transport import corefile, signal_actions
from freezeframe.errors import FreezeframeError, NotRunning, NotStopped, Unsupported
from freezeframe.model.answers import Output, StopReport
from freezeframe.model.crashes import CrashReport
from freezeframe.model.stops import StopReason
from freezeframe.model.testing import Failure, FailureFrame
from freezeframe.model.values import Value
from freezeframe.questions.crash_operands import faulting_expression, operands
from freezeframe.questions.failing_expressions import failing_expression
from freezeframe.questions.sanitizer_reports import sanitizer_report
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState

from . import execution
from ._common_args import (
    DebuggerName,
    Environment,
    IsModule,
    ProgramArguments,
    RunDirectory,
    StdinFile,
)
from ._context import Context
from ._failures import describe
from ._launch_args import is_below
from ._launch_program import LaunchRequest, launch
from ._python_faults import fatal_error
from ._registry import Arg, Effect, Needs, op
from ._suggestions import quoted
from ._test_report import printed
from .launch import core as open_core
from .questions import explained

#: seconds until the crash, unless the caller says how many
_SECONDS = 60.0
#: seconds for the chain of the bad value
_CHAIN_S = 45.0
_LINKS = 6
#: stops that are no crash and are passed
_MOST_PASSED = 200
_LONGEST_SOURCE = 1_000_000
_PYTHON = (".py", ".pyw")
#: sanitizers stop at their first error, where the frames are alive; they do not look for leaks,
#: which needs a process without a debugger
_SANITIZERS = (
    ("ASAN_OPTIONS", "abort_on_error=1:detect_leaks=0"),
    ("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1:abort_on_error=1"),
    ("TSAN_OPTIONS", "halt_on_error=1:abort_on_error=1"),
    ("MSAN_OPTIONS", "abort_on_error=1"),
)
#: JavaScript: `Cannot read properties of undefined`
_MISSING = re.compile(r"(?<=properties of )(?:undefined|null)")
#: functions in which a runtime ends a program
_RUNTIME = re.compile(r"_|runtime\.|std::panicking|core::panicking|raise\b|abort\b|gsignal")
_CRASHES = frozenset((StopReason.EXCEPTION, StopReason.SIGNAL))
#: where the code of libraries lies
_LIBRARIES = ("/usr/", "/lib/", "../", "<")


@op(
    "crash",
    group="questions",
    effect=Effect.RESUMES,
    needs=Needs.WORKSPACE,
    example="crash ./app --size 3",
    examples=("crash core.4242", "crash -- go run ./cmd/shop", "crash"),
)
async def crash(
    ctx: Context,
    program: Annotated[
        str | None,
        Arg("the program, or a core file (default: the current stop)", complete="file"),
    ] = None,
    args: ProgramArguments = (),
    *,
    module: IsModule = False,
    adapter: DebuggerName = None,
    cwd: RunDirectory = None,
    env: Environment = (),
    stdin: StdinFile = None,
    timeout: Annotated[
        float | None, Arg("seconds to wait for the crash (default: 60)", meta="SECONDS")
    ] = None,
) -> CrashReport:
    """Show what a program crashes with: message, operands, frames, and who made the bad value.

    The program is started and stays stopped at its crash; breakpoints on the way are passed. The
    last writes of the bad value come from a second run. Reports of sanitizers are read from their
    beginning. A core file is opened with the program that it names.
    """
    if program is None:
        session = ctx.hub.find(ctx.session_name, ctx.workspace)
        return await _at_stop(ctx, session)
    named_core = _core_file(ctx, program, args)
    if named_core is not None:
        report = await open_core(ctx, *named_core, adapter=adapter)
        answer = await _at_stop(ctx, ctx.hub.find(report.session, ctx.workspace))
        notes = tuple(dict.fromkeys((*report.notes, *answer.notes)))
        return replace(answer, left="core", notes=notes)
    limit_s = _SECONDS if timeout is None else timeout
    request = LaunchRequest(
        program,
        args,
        module=module,
        adapter=adapter,
        cwd=cwd,
        env=(*_options(ctx, env), *env),
        stdin=stdin,
        timeout=limit_s,
    )
    report = await launch(ctx, request)
    session = ctx.hub.find(report.session, ctx.workspace)
    report, passed = await _passed_stops(ctx, session, report, limit_s)
    session = ctx.hub.find(report.session, ctx.workspace)
    if report.state == Phase.STOPPED.value:
        answer = await _at_stop(ctx, session)
    else:
        answer = _without_stop(ctx, session, report)
        root = session.root
        await asyncio.shield(root.end(for_good=True))
        ctx.hub.remove(root)
    if not passed:
        return answer
    note = f"passed {passed} stop{'s' if passed > 1 else ''} before the crash"
    return replace(answer, notes=(*answer.notes, note))


def _core_file(
    ctx: Context, program: str, args: tuple[str, ...]
) -> tuple[str] | tuple[str, str] | None:
    """Return the arguments of `core`, if a core file is named."""
    last = args[0] if len(args) == 1 else program
    path = os.path.join(ctx.caller.cwd, last)
    if len(args) > 1 or not os.path.isfile(path) or corefile.read(path) is None:
        return None
    return (program, last) if args else (program,)


def _options(ctx: Context, env: tuple[str, ...]) -> list[str]:
    """Return settings that keep the frames of a crash alive; those of the caller go last."""
    given = {**ctx.caller.env, **dict(each.split("=", 1) for each in env if "=" in each)}
    found = [
        f"{name}={value}:{given[name]}" if given.get(name) else f"{name}={value}"
        for name, value in _SANITIZERS
    ]
    return [*found, *([] if given.get("PYTHONFAULTHANDLER") else ["PYTHONFAULTHANDLER=1"])]


async def _passed_stops(
    ctx: Context, session: Session, report: StopReport, limit_s: float
) -> tuple[StopReport, int]:
    """Continue past stops that are no crash; return the first other report, and their number."""
    passed = 0
    while _is_passed(report) and passed < _MOST_PASSED:
        passed += report.stop is not None and report.stop.exception is None
        member = ctx.hub.find(report.session, ctx.workspace)
        report = await execution.answer_to(ctx, member, member.resume, limit_s)
    return report, passed


def _is_passed(report: StopReport) -> bool:
    """Whether a stop is no crash, as a signal with a handler, or one before its message is
    written."""
    if report.stop is None:
        return False
    error = report.stop.exception
    if report.stop.reason is StopReason.SIGNAL and error is None:
        name = (report.stop.description or "").partition(": ")[0]
        return not signal_actions.ends(report.pid, name)
    is_unwritten = error is not None and "its report is written when" in error.message
    return report.stop.reason not in _CRASHES or is_unwritten


# --- at the stop


async def _at_stop(ctx: Context, session: Session) -> CrashReport:
    if not session.root.any_live:
        raise NotRunning("the program has ended.", next="dbg crash PROGRAM")
    stop = await session.require_stopped()
    if stop.event.reason not in _CRASHES and not isinstance(session.target, Core):
        raise NotStopped("the program is not stopped at a crash.", next="dbg crash PROGRAM")
    failure = await describe(session, stop, None)
    if stop.exception is None:
        name, _, rest = (stop.event.description or "signal").partition(": ")
        failure = replace(failure, type=name, message=rest)
    sanitizer = sanitizer_report(printed(session), _is_user(ctx, session))
    if failure.raised_in is not None and (sanitizer or _RUNTIME.match(failure.raised_in)):
        failure = replace(failure, raised_in=None)  # how the runtime ends a program
    frame = failure.frames[-1] if failure.frames else None
    shown = (
        operands(frame.text, _by_name(frame), f"{failure.type} {failure.message}") if frame else ()
    )
    notes = list(stop.notes)
    if frame is not None and sanitizer is None:
        failure, problem = await _with_origin(ctx, session, stop, failure, frame)
        notes += problem
    backend = session.backend
    return CrashReport(
        session.root.name,
        "crashed",
        failure=failure,
        operands=shown,
        sanitizer=sanitizer,
        left="stopped",
        pid=session.pid,
        output=session.root.output.take_new(600),
        notes=tuple(notes),
        via=f"{backend.tool}" if backend is not None else None,
        next=("backtrace --locals", "stop"),
    )


def _by_name(frame: FailureFrame) -> dict[str, Value]:
    return {value.name: value for value in frame.values}


def _is_user(ctx: Context, session: Session) -> Callable[[str], bool]:
    target = session.root.target
    roots = [ctx.workspace.root, *((target.cwd,) if target is not None else ())]
    if isinstance(target, Launch) and not target.module:
        roots.append(os.path.dirname(target.program))

    def is_user(path: str) -> bool:
        if path.startswith(_LIBRARIES):
            return False
        return not os.path.isabs(path) or is_below(path, roots)

    return is_user


async def _with_origin(
    ctx: Context, session: Session, stop: StopState, failure: Failure, frame: FailureFrame
) -> tuple[Failure, list[str]]:
    """Return the failure with the chain of the value that it failed on, and why there is none."""
    expression = _expression(frame, failure, stop.notes)
    if expression is None or isinstance(session.target, Core):
        return failure, []
    try:
        async with asyncio.timeout(_CHAIN_S):
            shown = await stop.frame(frame.index)
            origin = await explained(ctx, session, stop, shown, expression, depth=_LINKS)
    except Unsupported:
        return failure, []
    except TimeoutError:
        hint = f"dbg why {quoted(expression)}"
        return failure, [f"the chain of {expression} takes longer than {_CHAIN_S:.0f} s: {hint}"]
    except FreezeframeError as error:
        return failure, [f"no chain: {error.message}"]
    if not origin.links or _is_another(origin.value, expression, failure, frame):
        return failure, []
    return replace(failure, origin=origin), []


def _is_another(value: str | None, expression: str, failure: Failure, frame: FailureFrame) -> bool:
    """Whether the value that a chain explains is not the one that the program failed on."""
    missing = _MISSING.search(failure.message)
    known = next((each.text for each in frame.values if each.name == expression), None)
    failed = missing[0] if missing is not None else known
    return None not in (value, failed) and _plain(value or "") != _plain(failed or "")


def _plain(text: str) -> str:
    """Return the text of a value without addresses, which differ from run to run."""
    return re.sub(r"0x[0-9a-f]{4,}", "0x", text)


def _expression(frame: FailureFrame, failure: Failure, notes: tuple[str, ...]) -> str | None:
    if (frame.path or "").endswith(_PYTHON) and frame.path is not None:
        try:
            source = files.read_head(frame.path, _LONGEST_SOURCE).decode("utf-8", "replace")
        except OSError:
            return None
        found = failing_expression(source, frame.line or 0, failure.type, failure.message)
        return found.text if found is not None else None
    return faulting_expression(frame.text, f"{failure.type} {failure.message}", notes)


# --- without a stop


def _without_stop(ctx: Context, session: Session, report: StopReport) -> CrashReport:
    """Return how a program ended that did not stop: by a sanitizer, a signal, or well."""
    root = session.root
    text = printed(root)
    sanitizer = sanitizer_report(text, _is_user(ctx, session))
    fatal = fatal_error(text, _is_user(ctx, session))
    exit = root.exit
    running = report.state == Phase.RUNNING.value
    crashed = sanitizer or fatal or (exit is not None and exit.signal is not None)
    answer = CrashReport(
        root.name,
        "running" if running else "crashed" if crashed else "ended",
        failure=fatal,
        sanitizer=sanitizer,
        exit=exit,
        pid=root.pid,
        output=Output() if fatal else report.output,
        via=report.via,
    )
    if running:
        seconds = report.waited_s or 0.0
        note = f"it neither crashed nor ended within {seconds:.0f} s"
        return replace(answer, notes=(note,), next=(ctx.typed.replace("crash", "hang", 1),))
    return answer
