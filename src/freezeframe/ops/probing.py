"""What passes at a line, without stopping: probe."""

from __future__ import annotations

import ast
import os
import time
from dataclasses import replace
from typing import Annotated

from freezeframe.backends.backend import Launch
from freezeframe.backends.python.tracing.probed_run import ProbedRun, ProbeRequest, run_probed
from freezeframe.backends.selection import DebuggerChoice
from freezeframe.errors import NoSession, NotFound, UsageError
from freezeframe.model.locations import Location
from freezeframe.model.probes import ProbeReport, ProbeRow
from freezeframe.model.stops import Exit
from freezeframe.questions.probe_table import ProbeTable
from freezeframe.session.breakpoints import LogicalBreakpoint
from freezeframe.session.session import Session
from freezeframe.session.stop_wait import wait_for_stop

from ._common_args import Timeout
from ._context import Context
from ._launch_program import LaunchRequest, prepare_launch
from ._locations import located
from ._registry import Arg, Effect, Needs, op
from ._second_session import second_session
from ._suggestions import quoted

#: seconds for the whole answer unless the caller says how many
_SECONDS = 60.0
_PYTHON = "Python"
#: between the values in a log message; no debugger and few programs print it
_BETWEEN = "\u241f"


@op(
    "probe",
    group="questions",
    effect=Effect.RESUMES,
    needs=Needs.WORKSPACE,
    example="probe price.py:18 p n -- python app.py",
    examples=(
        "probe price.py:18 p 'cfg[\"rate\"]' --until 'p < 0' -- pytest -q",
        "probe main.c:40 sum -- ./app",
    ),
)
async def probe(
    ctx: Context,
    where: Annotated[Location, Arg("the line, as file:line", complete="location")],
    expressions: Annotated[
        tuple[str, ...], Arg("values to record there, in the program's language", code=True)
    ] = (),
    command: Annotated[
        tuple[str, ...],
        Arg("after `--`: the command to run (default: what was started last)", rest=True),
    ] = (),
    *,
    until: Annotated[
        str | None, Arg("end at the first hit where this holds", short="-u", meta="EXPR")
    ] = None,
    timeout: Timeout = None,
) -> ProbeReport:
    """Record values each time the program passes a line, without stopping: a table of the hits.

    The program is run for this answer alone, to its end: how often it passed, the first and last
    values, the different ones, the smallest and largest. The current session stays as it is.
    Python programs are probed from inside, at nearly full speed; others by a logpoint.
    """
    if where.condition is not None:
        raise UsageError(
            "a probe records every hit; --until ends it at a condition.",
            next=f"dbg probe {quoted(str(replace(where, condition=None)))} EXPR --until EXPR",
        )
    target, choice = await _target(ctx, command)
    location = located(ctx, where, program=target.program)
    seconds = _SECONDS if timeout is None else timeout
    if _PYTHON in choice.debugger.languages and location.file is not None and location.line:
        return await _inside(ctx, target, location, expressions, until, seconds)
    if until is not None:
        raise UsageError(
            "--until is for Python programs; elsewhere a breakpoint with a condition stops.",
            next=f"dbg break {quoted(str(where))} -c {quoted(until)}",
        )
    return await _by_logpoint(ctx, target, choice, location, expressions, seconds)


async def _target(ctx: Context, command: tuple[str, ...]) -> tuple[Launch, DebuggerChoice]:
    if command:
        ready = await prepare_launch(ctx, LaunchRequest(command[0], command[1:]))
        return ready.target, ready.choice
    launches = ctx.workspace.launches
    name = ctx.session_name or next(reversed(launches), None)
    if name is None or name not in launches:
        raise NoSession("nothing was started here yet.", next="dbg probe FILE:LINE EXPR -- COMMAND")
    return launches[name]


# --- inside a Python program


async def _inside(
    ctx: Context,
    target: Launch,
    location: Location,
    expressions: tuple[str, ...],
    until: str | None,
    seconds: float,
) -> ProbeReport:
    path, line = location.file or "", location.line or 0
    for text in (*expressions, *((until,) if until is not None else ())):
        _check_expression(text)
    table = ProbeTable(expressions or ("",))
    request = ProbeRequest(path, line, expressions or ("None",), until, seconds)
    run = await run_probed(target, request, table.add)
    notes: list[str] = []
    if run.status is None:
        notes.append(f"the program was ended after {seconds:g} s, the time limit of the answer")
    if run.undecided:
        times = f"{run.undecided} hit{'s' if run.undecided > 1 else ''}"
        notes.append(f"{until} could not be evaluated at {times}: {run.problem}")
    if run.unfinished:
        notes.append("a process was killed before it wrote its last hits")
    if not table.hits:
        notes.append(_why_never(ctx, run, path, line))
    report = _report(location, expressions, table)
    ended = run.status is None or run.found is not None
    return replace(
        report,
        until=until,
        found=_row_of(report, run.found),
        exit=None if ended else Exit(run.status),
        exception=run.exception,
        notes=tuple(notes),
        next=() if table.hits else (f"source {quoted(f'{path}:{line}')}",),
    )


def _check_expression(text: str) -> None:
    try:
        ast.parse(f"({text}\n)", mode="eval")
    except (SyntaxError, ValueError):
        raise UsageError(
            f"{text!r} is not an expression.", next="dbg probe FILE:LINE NAME -- COMMAND"
        ) from None


def _why_never(ctx: Context, run: ProbedRun, path: str, line: int) -> str:
    shown = os.path.relpath(path, ctx.caller.cwd)
    if not run.processes:
        return "no Python process of the program could be probed"
    if not run.loaded:
        return f"{shown} was not loaded by the program"
    if not run.has_line:
        return f"line {line} has no code in the functions of {shown} that were called"
    return f"the function of line {line} was called, and the line was not reached"


def _row_of(report: ProbeReport, hit: int | None) -> ProbeRow | None:
    return next((row for row in (*report.first, *report.last) if row.hit == hit), None)


# --- by a logpoint


async def _by_logpoint(
    ctx: Context,
    target: Launch,
    choice: DebuggerChoice,
    location: Location,
    expressions: tuple[str, ...],
    seconds: float,
) -> ProbeReport:
    message = _BETWEEN + _BETWEEN.join(f"{{{each}}}" for each in expressions) + _BETWEEN
    entry = LogicalBreakpoint(0, location, log=message)
    table = ProbeTable(expressions or ("",))
    notes: list[str] = []
    exception = None
    async with second_session(ctx, target, choice, [entry]) as session:
        ends_at = time.monotonic() + seconds
        got = await wait_for_stop(session, {session: 0}, seconds)
        bound = session.bound_breakpoints.last_verified(entry.id)
        if got is not None:
            stopped = got[1].exception
            exception = f"{stopped.type}: {stopped.message}" if stopped is not None else None
            notes.append("the program was ended where it stopped")
        elif time.monotonic() >= ends_at:
            notes.append(f"the program was ended after {seconds:g} s, the time limit of the answer")
        _add_messages(session, table, notes)
        if not table.hits and (bound is None or not bound.verified):
            why = f": {bound.message}" if bound is not None and bound.message else ""
            raise NotFound(f"no logpoint could be set at {location}{why}.", next="dbg help probe")
        via = session.backend.tool if session.backend is not None else choice.debugger.name
        notes.append(f"recorded by a logpoint of {via}")
        report = _report(location, expressions, table)
        return replace(report, exit=session.exit, exception=exception, notes=tuple(notes))


def _add_messages(session: Session, table: ProbeTable, notes: list[str]) -> None:
    """Add what the logpoint wrote, in all processes of the program."""
    for member in session.root.tree():
        written = member.output.read(streams=frozenset({"log"}))
        if written.dropped:
            notes.append(f"{written.dropped} characters of early hits were not kept")
        text = "".join(chunk.text for chunk in written.chunks)
        for message in text.split(f"{_BETWEEN}\n"):
            cells = message.partition(_BETWEEN)[2].split(_BETWEEN)
            if _BETWEEN in message:
                table.add([[each] for each in cells])


def _report(location: Location, expressions: tuple[str, ...], table: ProbeTable) -> ProbeReport:
    return ProbeReport(
        str(location),
        location.file,
        location.line,
        table.hits,
        table.columns if expressions else (),
        table.first if expressions else (),
        table.last if expressions else (),
    )
