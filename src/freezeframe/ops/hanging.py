"""Why a program makes no progress: hang."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace
from typing import Annotated

from freezeframe.backends.backend import Attach, Feature, Launch
from freezeframe.backends.javascript import pending_promises
from freezeframe.backends.snapshots import TakesSnapshots
from freezeframe.backends.transport.processor_times import is_runnable, processor_seconds
from freezeframe.errors import DebuggerError, NotRunning, UsageError
from freezeframe.model.answers import Output, StopReport
from freezeframe.model.calls import CallSite
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.stops import Frame
from freezeframe.model.waits import HangReport, LoopValue, Wait, WaitFacts
from freezeframe.questions.waits import described_waits, find_cycle
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState
from freezeframe.session.stop_wait import SeenStops, seen_stops, wait_for_stop

from ._blocked_threads import waits_for_input
from ._common_args import (
    DebuggerName,
    Environment,
    IsModule,
    ProgramArguments,
    RunDirectory,
    StdinFile,
)
from ._context import Context
from ._endless_loop import BusyThread, observed_loop, paused, sample
from ._frames import site_of
from ._launch_args import is_below
from ._launch_program import LaunchRequest, launch
from ._python_faults import fatal_error
from ._registry import Arg, Effect, Needs, op
from ._stop_report import stop_report
from ._stopped_waits import stopped_waits
from ._test_report import printed
from .launch import attach

#: share of a processor, or of the moments when a thread could run, above which a program is busy:
#: on a machine with other load a busy program gets a part of a processor only
_BUSY, _RUNNABLE = 0.3, 0.5
#: moments that are looked at
_OBSERVED = 20
#: seconds that the share of a processor is measured for
_MEASURED_S = 1.0
#: seconds of a program that goes on printing, unless the caller says how many
_SECONDS = 60.0
_MOST_VALUES = 6
#: seconds for the end of a program that a signal ends
_FAULT_S = 5.0
#: how often a program is looked at again that has not begun
_RETRIES = 4


@op(
    "hang",
    group="questions",
    effect=Effect.RESUMES,
    needs=Needs.WORKSPACE,
    example="hang app.py",
    examples=("hang 4242", "hang --after 2 -- go test ./queue -run TestDrain"),
)
async def hang(
    ctx: Context,
    program: Annotated[
        str | None,
        Arg("the program, or a process id (default: the current session)", complete="file"),
    ] = None,
    args: ProgramArguments = (),
    *,
    after: Annotated[
        float, Arg("seconds without output and exit that count as a hang", meta="SECONDS")
    ] = 5.0,
    module: IsModule = False,
    adapter: DebuggerName = None,
    cwd: RunDirectory = None,
    env: Environment = (),
    stdin: StdinFile = None,
    timeout: Annotated[
        float | None,
        Arg("examine it after this time even if it prints (default: 60)", meta="SECONDS"),
    ] = None,
) -> HangReport | StopReport:
    """Show why a program makes no progress: who waits for whom, or one round of its loop.

    The program is started, or attached to, and examined once it neither prints nor exits. A
    deadlock is shown as the cycle of who holds what; a loop with what does not change in a round
    and what grows. A program that was started stays stopped there if its debugger can stop it, and
    is ended otherwise; a process that was attached to goes on.
    """
    if after <= 0:
        raise UsageError("--after takes more than 0 seconds.")
    limit_s = max(after, _SECONDS if timeout is None else timeout)
    if program is None:
        session = ctx.hub.find(ctx.session_name, ctx.workspace)
        if not session.root.any_live:
            raise NotRunning("the program has ended.", next="dbg hang PROGRAM")
        return await _examined(ctx, session, after, limit_s, keep=True)
    if _is_process(ctx, program, args):
        report = await attach(ctx, program, adapter=adapter, record=False)
        session = ctx.hub.find(report.session, ctx.workspace)
        try:
            return await _examined(ctx, session, min(after, 2.0), limit_s, keep=False)
        finally:
            await asyncio.shield(_ended(ctx, session))
    request = LaunchRequest(
        program,
        args,
        module=module,
        adapter=adapter,
        cwd=cwd,
        env=(pending_promises.options(ctx.caller.env), "PYTHONFAULTHANDLER=1", *env),
        stdin=stdin,
        wait=False,
    )
    report = await launch(ctx, request)
    session = ctx.hub.find(report.session, ctx.workspace)
    answer = await _examined(ctx, session, after, limit_s, keep=True, retries=_RETRIES, fresh=True)
    if isinstance(answer, HangReport) and answer.left == "ended":
        await asyncio.shield(_ended(ctx, session))
    return answer


def _is_process(ctx: Context, program: str, args: tuple[str, ...]) -> bool:
    is_file = os.path.exists(os.path.join(ctx.caller.cwd, program))
    return program.isdecimal() and not args and not is_file


async def _ended(ctx: Context, session: Session) -> None:
    """End a session; a program that was attached to goes on."""
    root = session.root
    if isinstance(root.target, Attach) and root.live:
        try:
            if root.phase is Phase.STOPPED:
                async with root.exclusive():
                    await root.resume()
            await root.detach()
        except DebuggerError:
            pass  # `end` detaches as well
    await root.end(for_good=True)
    ctx.hub.remove(root)


# --- waiting for the hang


@dataclass(slots=True)
class _Quiet:
    """A program that has not printed for some time."""

    seconds: float
    #: share of one processor that it used; None if unknown
    processor: float | None
    #: it computed most of the time
    is_busy: bool = False
    #: it printed until the time was up
    prints: bool = False


async def _examined(
    ctx: Context,
    session: Session,
    after: float,
    limit_s: float,
    *,
    keep: bool,
    retries: int = 0,
    fresh: bool = False,
) -> HangReport | StopReport:
    """Wait until the program hangs, and diagnose it; *fresh*: its first stop is news."""
    seen = {} if fresh else await _resumed(session)
    quiet = await _quiet(session, after, limit_s)
    member = session.focus()
    if not session.root.any_live:
        return _ended_report(session.root)
    if member.phase is Phase.STOPPED:
        got = await wait_for_stop(session, seen, 0)
        if got is not None and _is_deadlock(got[1]):
            return await _diagnosed(ctx, got[0], quiet, keep=keep)
        if got is not None:
            return await stop_report(ctx, *got, notes=("it stopped; no hang was seen",))
    answer = await _diagnosed(ctx, _leaf(member), quiet, keep=keep)
    is_empty = answer.how == "waits" and not answer.waits and answer.left == "stopped"
    if is_empty and retries > 0:
        # No thread has reached the user's code: the debugger still loads the program.
        return await _examined(ctx, session, after, limit_s, keep=keep, retries=retries - 1)
    return answer


async def _resumed(session: Session) -> SeenStops:
    """Resume a program that was stopped before; return the stops that are no news."""
    if session.phase is not Phase.STOPPED or session.current_stop is None:
        return {}
    async with session.exclusive():
        seen = seen_stops(session)
        seen[session] = session.stop_number
        await session.resume()
    return seen


def _is_deadlock(stop: StopState) -> bool:
    """Whether the program's runtime has found the deadlock itself."""
    return stop.exception is not None and "deadlock" in stop.exception.message


def _leaf(session: Session) -> Session:
    """Return the process to examine: of a command, the program that it runs."""
    target = session.target
    if getattr(target, "runs_command", False):
        live = [member for member in session.tree() if member.live and member is not session]
        return live[-1] if live else session
    return session


async def _quiet(session: Session, after: float, limit_s: float) -> _Quiet:
    """Wait until the program has neither printed nor stopped for *after* seconds."""
    root = session.root
    began = last = time.monotonic()
    printed = _printed(root)
    measured: list[tuple[float, float]] = []
    runnable: list[bool] = []
    while root.any_live and session.focus().phase is not Phase.STOPPED:
        now = time.monotonic()
        count = _printed(root)
        if count != printed:
            printed, last = count, now
        used = _processor_seconds(root)
        measured += [(now, used)] if used is not None else []
        runnable.append(any(map(is_runnable, _pids(root))))
        if now - last >= after or now - began >= limit_s:
            break
        await root.changed.wait(min(0.25, max(0.01, after - (now - last))))
    now = time.monotonic()
    share, recent = _share(measured), runnable[-_OBSERVED:]
    is_busy = share is None or share >= _BUSY or sum(recent) >= _RUNNABLE * max(1, len(recent))
    return _Quiet(now - last, share, is_busy=is_busy, prints=now - last < after)


def _printed(root: Session) -> int:
    return sum(member.output.end for member in root.tree())


def _processor_seconds(root: Session) -> float | None:
    times = [used for pid in _pids(root) if (used := processor_seconds(pid)) is not None]
    return sum(times) if times else None


def _pids(root: Session) -> set[int]:
    return {member.pid for member in root.tree() if member.live and member.pid is not None}


def _share(measured: list[tuple[float, float]]) -> float | None:
    """Return the share of one processor during the last seconds."""
    if len(measured) < 2:
        return None
    now, used = measured[-1]
    early = [each for each in measured if now - each[0] >= _MEASURED_S]
    then, before = early[-1] if early else measured[0]
    return (used - before) / (now - then) if now > then else None


def _ended_report(root: Session) -> HangReport:
    return HangReport(
        root.name, "ended", exit=root.exit, output=root.output.take_new(1200), pid=root.pid
    )


# --- what it does


async def _diagnosed(ctx: Context, session: Session, quiet: _Quiet, *, keep: bool) -> HangReport:
    via = f"{session.require_backend().tool}"
    report = HangReport(
        session.root.name,
        "waits",
        quiet_s=quiet.seconds,
        processor=quiet.processor,
        pid=session.pid,
        via=via,
        notes=_notes(session, quiet),
    )
    busy = BusyThread(0, None, None)
    if quiet.is_busy and session.phase is Phase.RUNNING:
        busy = await sample(session)
    if busy.frame is not None:
        report = await _with_loop(ctx, session, report, busy)
    if busy.is_silent and keep:
        report = await _with_fault(ctx, session, report)
    if report.loop is None and report.frame is None and session.live:
        report = await _with_waits(session, report)
    report = replace(report, samples=busy.samples)
    output = session.root.output.take_new(600) if session.live else Output()
    left = "stopped" if session.phase is Phase.STOPPED else "ended"
    if not keep:
        left = "detached"
    elif not session.live:
        left = "ended"
    hints = ("backtrace --all-threads", "stop") if left == "stopped" else ()
    return replace(report, left=left, output=output, next=hints)


def _notes(session: Session, quiet: _Quiet) -> tuple[str, ...]:
    stop = session.current_stop
    if stop is not None and stop.exception is not None:
        return (f"{stop.exception.type}: {stop.exception.message}",)
    return ("it still prints",) if quiet.prints else ()


async def _with_loop(
    ctx: Context, session: Session, report: HangReport, busy: BusyThread
) -> HangReport:
    frame = busy.frame
    assert frame is not None
    report = replace(report, how="busy", frame=site_of(frame, session.sources))
    target = session.root.target
    roots = [ctx.workspace.root, *((target.cwd,) if target is not None else ())]
    try:
        loop = await observed_loop(session, busy, roots)
    except DebuggerError as error:
        return replace(report, notes=(*report.notes, error.message))
    if loop is not None:
        return replace(report, how="loop", loop=loop)
    stop = session.current_stop
    if stop is not None:
        report = replace(report, values=await _values(stop, frame))
    return report


async def _with_fault(ctx: Context, session: Session, report: HangReport) -> HangReport:
    """End a Python program that answers nothing, and read the frames that it leaves.

    Code in C that holds the interpreter's lock (a regular expression) silences the debugger; the
    fault handler, which prints the stacks of a process that a signal ends, needs no lock.
    """
    pid, target = session.pid, session.root.target
    is_python = (
        isinstance(target, Launch) and session.require_backend().tool.interpreter is not None
    )
    if pid is None or not is_python or session.phase is not Phase.RUNNING:
        return report
    os.kill(pid, signal.SIGABRT)
    ends_at = time.monotonic() + _FAULT_S
    while session.live and time.monotonic() < ends_at:
        await session.changed.wait(0.1)
    roots = (ctx.workspace.root, target.cwd if target is not None else "/")
    found = fatal_error(printed(session), lambda path: is_below(path, roots))
    if found is None or not found.frames:
        return report
    inner = found.frames[-1]
    text = session.sources.line(inner.path or "", inner.line or 0) or ""
    site = CallSite(inner.path or "", inner.line or 0, inner.function, text.strip())
    note = "code in C holds the interpreter's lock; its fault handler gave this frame"
    return replace(report, how="busy", frame=site, notes=(note,))


async def _values(stop: StopState, frame: Frame) -> tuple[LoopValue, ...]:
    """Return variables of the frame that stays."""
    frames = await stop.frames(60)
    at = next((i for i, each in enumerate(frames) if each.function == frame.function), None)
    if at is None:
        return ()
    view = await stop.read_frame(at, expand=False)
    values = [value for scope in view.scopes for value in scope.values]
    return tuple(LoopValue(each.name, each.text) for each in values[:_MOST_VALUES])


async def _with_waits(session: Session, report: HangReport) -> HangReport:
    """Add who waits for whom: as the program itself tells it, or at a stop."""
    facts = await _facts(session)
    if facts is None:
        return replace(report, notes=(*report.notes, "its threads could not be read"))
    cycle = find_cycle(facts)
    waits = described_waits(facts, cycle)
    if cycle is not None:
        return replace(
            report,
            how="deadlock",
            cycle=cycle.waiters,
            is_certain=cycle.is_certain,
            waits=waits,
        )
    how = report.how if report.how == "busy" else "waits"
    if session.current_stop is not None and _is_deadlock(session.current_stop):
        how = "deadlock"
    return replace(report, how=how, waits=waits)


async def _facts(session: Session) -> WaitFacts | None:
    backend = session.require_backend()
    input_wait = _input_wait(session)
    if isinstance(backend, TakesSnapshots) and session.phase is Phase.RUNNING:
        try:
            seen = await backend.snapshot(stacks=False, waits=True)
        except DebuggerError:
            seen = None
        if seen is not None and seen.waits is not None:
            return replace(seen.waits, waits=(*input_wait, *seen.waits.waits))
    stop = await paused(session)
    if stop is None:
        return WaitFacts(input_wait) if input_wait else None
    facts = await stopped_waits(session, stop)
    return replace(facts, waits=(*input_wait, *facts.waits))


def _input_wait(session: Session) -> tuple[Wait, ...]:
    if Feature.STDIN in session.require_backend().features and waits_for_input(session):
        return (Wait("input", "the program", "input", "standard input"),)
    return ()
