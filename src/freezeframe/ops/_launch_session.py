"""Start a session for a target with its debugger, and report its first stop."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from freezeframe.backends import selection
from freezeframe.backends.backend import Feature, Launch, Target
from freezeframe.errors import DebuggerTimeout, NoSession, UsageError, UserError
from freezeframe.model.answers import StopReport
from freezeframe.model.stops import DEFAULT_FILTERS
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.stop_wait import SeenStops, wait_for_stop

from . import _launch_target
from ._background_work import run_in_background
from ._blocked_threads import with_stacks
from ._context import Context
from ._stop_report import running_report, stop_report
from .breakpoints import begin_run

#: added to the caller's time limit for the debugger's startup: gdb and a JVM take seconds on a
#: busy machine before the program has begun
_STARTING_S = 8.0


async def begin(
    ctx: Context,
    name: str,
    target: Target,
    choice: selection.DebuggerChoice,
    *,
    wait: bool,
    timeout: float | None,
    pause: bool = False,
    remarks: tuple[str, ...] = (),
    record: bool | None = None,
) -> StopReport:
    """Start a session under *name*, wait for its first stop, report."""
    if "/" in name or not name:
        raise UsageError(
            f"{name!r} cannot be the name of a session.", next="dbg start … --name NAME"
        )
    notes = [*remarks, *choice.remarks, *await prepare_debugger(ctx, target, choice)]
    notes += begin_run(ctx, name)
    # Check again after each wait: another command may have taken the name meanwhile.
    while (earlier := ctx.workspace.sessions.get(name)) is not None:
        earlier.control.check(ctx.caller.owner, name)
        if earlier.any_live:
            pid = "" if earlier.pid is None else f" (pid {earlier.pid})"
            notes.append(f"replaced: session {name}{pid} was still live and was ended")
        await earlier.end(for_good=True)
        ctx.hub.remove(earlier)
    session = ctx.hub.create(ctx.workspace, name, choice.make_backend(ctx.config), choice.reason)
    session.recorded = ctx.config.history.record if record is None else record
    if isinstance(target, Launch):
        ctx.workspace.launches.pop(name, None)
        ctx.workspace.launches[name] = (target, choice)
    session.last_command = ctx.typed
    began = time.monotonic()
    timeout_s = ctx.config.timeouts.resume_s if timeout is None else timeout
    starting = asyncio.ensure_future(session.start(target))
    # Without a limit from the caller, the limits of each request apply.
    end = None if timeout is None else asyncio.get_running_loop().time() + timeout + _STARTING_S
    try:
        async with asyncio.timeout_at(end):
            # The session belongs to the daemon: a client that disconnects does not end it.
            await _brought_up(ctx, session, starting)
            if timeout is None:
                # The debugger may have built the program first.
                began = time.monotonic()
            return await _first_stop(
                ctx, session, choice, began, timeout_s, wait=wait, pause=pause, notes=notes
            )
    except TimeoutError:
        if timeout is None:
            raise
        what = "answer" if starting.done() else "start the program"
        raise DebuggerTimeout(
            f"{choice.debugger.name} did not {what} within {timeout:g} s; it continues.",
            next="dbg await",
        ) from None


async def _brought_up(ctx: Context, session: Session, starting: asyncio.Future[None]) -> None:
    """Wait until a session has started; a session that cannot start is removed.

    If the caller disconnects or its time is up, the session stays as it is.
    """
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise
    except BaseException:
        if ctx.workspace.sessions.get(session.name) is session:
            ctx.hub.remove(session)
        raise


async def _first_stop(
    ctx: Context,
    session: Session,
    choice: selection.DebuggerChoice,
    began: float,
    timeout_s: float,
    *,
    wait: bool,
    pause: bool,
    notes: list[str],
) -> StopReport:
    """Wait for the first stop or exit of a session that has started, and report it."""
    ticket: SeenStops = {session: 0}
    notes += _unknown_filters(ctx, session)
    if (
        pause
        and session.live
        and session.current_stop is None
        and not choice.debugger.attach_can_stay_stopped
    ):
        await session.require(Feature.PAUSE).pause(None)
    left = max(0.0, timeout_s - (time.monotonic() - began))
    got = await wait_for_stop(session, ticket, left if wait else 0)
    if got is None:
        waited = time.monotonic() - began if wait else None
        report = running_report(ctx, session, waited, notes=tuple(notes), first=True)
        report = await with_stacks(session, report)
        if session.phase is Phase.RUNNING or report.state != Phase.RUNNING.value:
            return report
        # The program stopped or ended while its threads were examined.
        got = await wait_for_stop(session, ticket, 0)
        if got is None:
            return running_report(ctx, session, waited, notes=tuple(notes), first=True)
    stopped, stop = got
    return await stop_report(ctx, stopped, stop, notes=tuple(notes), first=True)


async def start_again(ctx: Context, *, wait: bool, timeout: float | None) -> StopReport:
    """Start the last ended session, or the named one, again with the same arguments.

    Raises NoSession if there was none.
    """
    launches = ctx.workspace.launches
    name = ctx.session_name or next(reversed(launches), None)
    if name is None or name not in launches:
        ctx.hub.find(ctx.session_name, ctx.workspace)
        raise NoSession("nothing was started here yet.", next="dbg start PROGRAM")
    target, choice = launches[name]
    notes: tuple[str, ...] = ()
    if target.recipe is not None:
        made = await _launch_target.built(ctx, target.recipe, target.env)
        target = replace(target, program=made.program)
        notes = (made.note(ctx.caller.cwd),) if made.new else ()
    return await begin(ctx, name, target, choice, wait=wait, timeout=timeout, remarks=notes)


async def prepare_debugger(
    ctx: Context, target: Target, choice: selection.DebuggerChoice
) -> list[str]:
    """Prepare what a debugger needs once on a machine, outside the time limit of the start.

    If the caller's time limit ends first, an error says so; the preparation continues.
    """
    prepare, name = choice.debugger.prepare, choice.debugger.name
    if prepare is None:
        return []

    def late(waited_s: float) -> UserError:
        return UserError(
            f"the one-time preparation of {name} still runs after {waited_s:.0f} s and continues; "
            "the same command waits for it.",
            code="building",
            next=f"dbg start {target.program}" if isinstance(target, Launch) else "dbg attach PID",
        )

    limit_s = ctx.config.timeouts.build_s
    note = await run_in_background(
        ctx,
        ("prepare", name, choice.found.path),
        lambda: prepare(choice.found, target.env, limit_s),
        late=late,
    )
    return [note] if note else []


def _unknown_filters(ctx: Context, session: Session) -> list[str]:
    """Return notes for filters, set before the debugger was known, that it does not have."""
    backend = session.backend
    if backend is None or not session.live or ctx.workspace.filters is None:
        return []
    offered = {f.name for f in backend.filters}
    chosen = [f for f in ctx.workspace.filters if f is not DEFAULT_FILTERS]
    unknown = [f.name for f in chosen if f.name not in offered]
    has = ", ".join(sorted(offered))
    return [f"{backend.tool} has no exception filter {name}; it has {has}" for name in unknown]
