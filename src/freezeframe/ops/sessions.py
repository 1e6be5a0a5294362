"""Sessions: start, attach, detach, stop, restart, and which ones there are."""

from __future__ import annotations

import asyncio
import difflib
import os
import time
from typing import Annotated, Literal

from freezeframe.backends import select
from freezeframe.backends.backend import Attach, Feature, Launch, Target
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.answers import Ended, SessionInfo, SessionList, Status, StopReport
from freezeframe.model.places import Location
from freezeframe.session.session import Session
from freezeframe.session.waiting import Ticket
from freezeframe.session.waiting import wait as wait_for_news

from ._context import Context
from ._registry import Arg, Effect, Needs, op
from ._reports import running_report, stop_report
from .breakpoints import enter

_Breaks = Annotated[
    tuple[str, ...],
    Arg("stop there", short="-b", name="break", meta="LOC"),
]
_Timeout = Annotated[float | None, Arg("seconds to wait for a stop", meta="SECONDS")]
_Wait = Annotated[bool, Arg("wait for the first stop")]


@op(
    "start",
    aliases=("launch", "run PROGRAM", "debug"),
    group="sessions",
    effect=Effect.RESUMES,
    example="start app.py -b app.py:42",
    examples=(
        "start -m pytest tests/test_cart.py -x",
        "start app.py --stdin data.txt -- --verbose",
    ),
)
async def start(
    ctx: Context,
    program: Annotated[str, Arg("the program to debug", complete="file")],
    args: Annotated[tuple[str, ...], Arg("arguments of the program", rest=True)] = (),
    *,
    module: Annotated[
        bool, Arg("PROGRAM is a module (`-m pytest …`)", short="-m", ends_options=True)
    ] = False,
    breakpoints: _Breaks = (),
    stop_on_entry: Annotated[bool, Arg("stop at the first line", short="-e")] = False,
    adapter: Annotated[
        str | None, Arg("the debugger to use", meta="NAME", complete="adapter")
    ] = None,
    cwd: Annotated[
        str | None, Arg("directory to run it in", meta="DIR", complete="directory")
    ] = None,
    env: Annotated[tuple[str, ...], Arg("set an environment variable", meta="K=V")] = (),
    stdin: Annotated[
        str | None, Arg("file to read standard input from", meta="FILE", complete="file")
    ] = None,
    interpreter: Annotated[
        str | None, Arg("the runtime to run it with", meta="PATH", complete="file")
    ] = None,
    name: Annotated[str | None, Arg("name of the session", meta="NAME")] = None,
    child: Annotated[
        Literal["follow", "ignore"] | None, Arg("debug child processes too, or leave them alone")
    ] = None,
    just_my_code: Annotated[bool | None, Arg("never stop in code of libraries")] = None,
    wait: _Wait = True,
    timeout: _Timeout = None,
) -> StopReport:
    """Start a program under its debugger and answer with its first stop.

    It runs in the caller's directory and environment, with the caller's interpreter. Uncaught
    exceptions stop it, so a failing program answers with its failure. A session of the same name
    is ended first, and the answer says so.
    """
    if not module:
        program, args, interpreter = _without_runtime(ctx, program, args, interpreter)
    directory = os.path.join(ctx.caller.cwd, cwd) if cwd else ctx.caller.cwd
    if not os.path.isdir(directory):
        raise NotFound(f"there is no directory {cwd}.", next="dbg start PROGRAM --cwd DIR")
    path = program if module else _program(program, ctx.caller.cwd)
    input_file = None
    if stdin is not None:
        input_file = os.path.abspath(os.path.join(ctx.caller.cwd, stdin))
        if not os.path.isfile(input_file):
            raise NotFound(f"there is no file {stdin} to read input from.")
    choice = select.choose(path, module=module, name=adapter, env=ctx.caller.env, config=ctx.config)
    target = Launch(
        program=path,
        args=args,
        cwd=os.path.abspath(directory),
        env={**ctx.caller.env, **_assignments(env)},
        module=module,
        stop_on_entry=stop_on_entry,
        stdin=input_file,
        follow_children=ctx.config.defaults.follow_children if child is None else child == "follow",
        just_my_code=ctx.config.defaults.just_my_code if just_my_code is None else just_my_code,
        interpreter=os.path.abspath(os.path.join(ctx.caller.cwd, interpreter))
        if interpreter and os.sep in interpreter
        else interpreter,
    )
    await _enter_breakpoints(ctx, breakpoints)
    session_name = name or _name_of(path, module)
    return await _begin(ctx, session_name, target, choice, wait=wait, timeout=timeout)


@op(
    "attach",
    group="sessions",
    effect=Effect.RESUMES,
    example="attach 4242",
    examples=("attach localhost:5678 -b app.py:42", "attach 4242 --pause"),
)
async def attach(
    ctx: Context,
    where: Annotated[str, Arg("a process id, or HOST:PORT of a debug server")],
    *,
    breakpoints: _Breaks = (),
    pause: Annotated[bool, Arg("stop it at once")] = False,
    adapter: Annotated[
        str | None, Arg("the debugger to use", meta="NAME", complete="adapter")
    ] = None,
    name: Annotated[str | None, Arg("name of the session", meta="NAME")] = None,
    child: Annotated[
        Literal["follow", "ignore"] | None, Arg("debug child processes too, or leave them alone")
    ] = None,
    just_my_code: Annotated[bool | None, Arg("never stop in code of libraries")] = None,
    timeout: _Timeout = None,
) -> StopReport:
    """Join a program that runs already.

    It goes on running; with breakpoints given, the answer waits for the first stop.
    """
    follow = ctx.config.defaults.follow_children if child is None else child == "follow"
    mine = ctx.config.defaults.just_my_code if just_my_code is None else just_my_code
    host, colon, port = where.rpartition(":")
    if where.isdecimal():
        pid = int(where)
        choice = select.choose_for_pid(pid, name=adapter, env=ctx.caller.env, config=ctx.config)
        target = Attach(
            pid=pid,
            program=choice.program,
            cwd=ctx.caller.cwd,
            env=ctx.caller.env,
            follow_children=follow,
            just_my_code=mine,
        )
        label = name or (_name_of(choice.program, False) if choice.program else f"pid-{pid}")
    elif colon and port.isdecimal() and int(port) < 65536:
        choice = select.choose_for_server(name=adapter, env=ctx.caller.env, config=ctx.config)
        target = Attach(
            host=host.strip("[]") or "127.0.0.1",
            port=int(port),
            cwd=ctx.caller.cwd,
            env=ctx.caller.env,
            follow_children=follow,
            just_my_code=mine,
        )
        label = name or f"port-{port}"
    else:
        raise UsageError(
            f"{where!r} is neither a process id nor HOST:PORT.", next="dbg attach 127.0.0.1:5678"
        )
    await _enter_breakpoints(ctx, breakpoints, remote=target.host is not None)
    wait = bool(breakpoints) or pause
    return await _begin(ctx, label, target, choice, wait=wait, timeout=timeout, pause=pause)


async def _begin(
    ctx: Context,
    name: str,
    target: Target,
    choice: select.Choice,
    *,
    wait: bool,
    timeout: float | None,
    pause: bool = False,
) -> StopReport:
    """Start a session under *name*, wait for its first stop, report."""
    if "/" in name or not name:
        raise UsageError(
            f"{name!r} cannot be the name of a session.", next="dbg start … --name NAME"
        )
    notes: list[str] = []
    earlier = ctx.workspace.sessions.get(name)
    if earlier is not None:
        if earlier.tree_live:
            notes.append(
                f"replaced: session {name} (pid {earlier.pid}) was still live and was ended"
            )
        await earlier.end()
        ctx.hub.remove(earlier)
    session = ctx.hub.create(ctx.workspace, name, choice.make_backend(ctx.config), choice.reason)
    began = time.monotonic()
    timeout_s = ctx.config.timeouts.resume_s if timeout is None else timeout
    ticket: Ticket = {session: 0}
    starting = asyncio.ensure_future(session.start(target))
    try:
        # The session belongs to the daemon: a client that goes away does not end it.
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise
    except BaseException:
        if ctx.workspace.sessions.get(name) is session:
            ctx.hub.remove(session)
        raise
    if pause and session.live and session.moment is None:
        await session.require(Feature.PAUSE).pause(None)
    left = max(0.0, timeout_s - (time.monotonic() - began))
    got = await wait_for_news(session, ticket, left if wait else 0)
    if got is None:
        waited = time.monotonic() - began if wait else None
        return running_report(ctx, session, waited, notes=tuple(notes), first=True)
    stopped, moment = got
    return await stop_report(ctx, stopped, moment, notes=tuple(notes), first=True)


async def _enter_breakpoints(
    ctx: Context, locations: tuple[str, ...], *, remote: bool = False
) -> None:
    """Enter all of them or none: a typo in one must not leave the others behind."""
    parsed = []
    for text in locations:
        try:
            parsed.append(Location.parse(text))
        except ValueError as error:
            raise UsageError(f"{error}.", next="dbg start PROGRAM -b FILE:LINE") from None
    for location in parsed:
        await enter(ctx, location, remote=remote, dry=True)
    for location in parsed:
        await enter(ctx, location, remote=remote)


def _program(program: str, cwd: str) -> str:
    path = os.path.abspath(os.path.join(cwd, os.path.expanduser(program)))
    if os.path.exists(path):
        return path
    directory = os.path.dirname(path)
    try:
        near = difflib.get_close_matches(os.path.basename(path), os.listdir(directory), 1, 0.6)
    except OSError:
        near = []
    beside = os.path.join(os.path.dirname(program), near[0]) if near else None
    raise NotFound(
        f"there is no program {program} in {cwd}.",
        next=f"dbg start {beside}" if beside else "dbg start PROGRAM",
    )


def _without_runtime(
    ctx: Context, program: str, args: tuple[str, ...], interpreter: str | None
) -> tuple[str, tuple[str, ...], str | None]:
    """Read `start python app.py` as what was meant: app.py, run by that python."""
    is_file = os.sep not in program and os.path.exists(os.path.join(ctx.caller.cwd, program))
    if is_file or not args or not select.is_runtime(program):
        return program, args, interpreter
    return args[0], args[1:], interpreter or program


def _assignments(pairs: tuple[str, ...]) -> dict[str, str]:
    made = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--env takes NAME=VALUE, not {pair!r}.")
        made[key] = value
    return made


def _name_of(program: str, module: bool) -> str:
    name = program if module else os.path.splitext(os.path.basename(program.rstrip("/")))[0]
    return name.replace("/", "-") or "program"


@op(
    "restart",
    group="sessions",
    effect=Effect.RESUMES,
    needs=Needs.SESSION,
    example="restart",
)
async def restart(
    ctx: Context,
    *,
    wait: _Wait = True,
    timeout: _Timeout = None,
) -> StopReport:
    """Start the program again, as it was started, with the breakpoints as they are now."""
    session = ctx.session.root
    began = time.monotonic()
    timeout_s = ctx.config.timeouts.resume_s if timeout is None else timeout
    session.output.seen = session.output.end
    ticket: Ticket = {session: session.stop_number}
    async with session.turn():
        await asyncio.shield(asyncio.ensure_future(session.restart()))
    left = max(0.0, timeout_s - (time.monotonic() - began))
    got = await wait_for_news(session, ticket, left if wait else 0)
    if got is None:
        return running_report(ctx, session, time.monotonic() - began if wait else None, first=True)
    return await stop_report(ctx, got[0], got[1], first=True)


@op(
    "stop",
    aliases=("kill", "quit", "q", "exit", "terminate"),
    group="sessions",
    effect=Effect.ENDS,
    needs=Needs.SESSION,
    control=True,
    example="stop",
    examples=("stop --all",),
)
async def stop(
    ctx: Context,
    *,
    all: Annotated[bool, Arg("every session of this workspace")] = False,
) -> Ended:
    """End the program, its children and its debugger."""
    roots = list(ctx.workspace.sessions.values()) if all else [ctx.session.root]
    ended: Ended | None = None
    for root in roots:
        was_live = root.tree_live
        children = tuple(m.name for m in root.members() if m is not root)
        await root.end()
        ended = Ended(
            session=", ".join(r.name for r in roots),
            how="stopped" if was_live else "ended already",
            exit=None if was_live else root.exit,
            pid=root.pid,
            output=root.output.take_new(4000),
            children=children,
        )
        ctx.hub.remove(root)
    assert ended is not None
    return ended


@op(
    "detach",
    group="sessions",
    effect=Effect.ENDS,
    needs=Needs.LIVE,
    control=True,
    feature=Feature.DETACH,
    example="detach",
)
async def detach(ctx: Context) -> Ended:
    """Leave the program running without a debugger."""
    root = ctx.session.root
    children = tuple(m.name for m in root.members() if m is not root)
    for member in root.members():
        if member.pid is not None and isinstance(member.target, Launch):
            ctx.house.release(member.pid)
    await root.detach()
    ctx.hub.left += [m.backend for m in root.members() if m.backend is not None]
    ended = Ended(
        session=root.name,
        how="detached",
        pid=root.pid,
        output=root.output.take_new(4000),
        children=children,
    )
    ctx.hub.remove(root)
    return ended


@op("status", group="sessions", control=True, aliases=("info",), example="status")
async def status(ctx: Context) -> Status:
    """Show the daemon and every session: phase, debugger, process, place."""
    sessions = _infos(ctx, everywhere=True)
    return Status(
        daemon_pid=ctx.house.pid,
        version=ctx.house.version,
        uptime_s=time.monotonic() - ctx.house.started,
        log=ctx.house.log_path,
        workspace=ctx.workspace.root,
        sessions=sessions,
        next=() if sessions else ("start PROGRAM -b FILE:LINE",),
    )


@op("sessions", group="sessions", control=True, example="sessions")
async def sessions(
    ctx: Context,
    *,
    everywhere: Annotated[bool, Arg("those of other workspaces too", short="-a")] = False,
) -> SessionList:
    """List the sessions of this workspace, children below their parents."""
    shown = _infos(ctx, everywhere=everywhere)
    total = sum(1 for root in ctx.hub.roots() for _ in root.members())
    return SessionList(
        sessions=shown,
        elsewhere=0 if everywhere else total - len(shown),
        next=() if shown else ("start PROGRAM -b FILE:LINE",),
    )


def _infos(ctx: Context, *, everywhere: bool) -> tuple[SessionInfo, ...]:
    here = list(ctx.workspace.sessions.values())
    others = [root for root in ctx.hub.roots() if root not in here] if everywhere else []
    now = time.time()
    return tuple(
        ctx.hub.info(member, ctx.workspace, now)
        for root in [*here, *others]
        for member in root.members()
    )


@op("use", group="sessions", control=True, effect=Effect.WRITES, example="use server")
async def use(
    ctx: Context,
    name: Annotated[str, Arg("the session that later commands speak to", complete="session")],
) -> SessionList:
    """Make a session the current one of this workspace."""
    session: Session = ctx.hub.find(name, ctx.workspace)
    ctx.hub.workspace_of(session).current = session.name
    return SessionList((ctx.hub.info(session, ctx.workspace, time.time()),))
