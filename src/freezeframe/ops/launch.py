"""Operations that create a session: start, attach, core."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import Annotated

from freezeframe.backends import selection
from freezeframe.backends.backend import (
    Attach,
    Configuration,
    Core,
    Event,
    ExitedEvent,
    Feature,
    Stopped,
)
from freezeframe.backends.capabilities import CoreFiles
from freezeframe.backends.path_mapping import PathMapping
from freezeframe.errors import DebuggerTimeout, Unsupported, UsageError
from freezeframe.model.answers import LaunchConfigurations, StopReport
from freezeframe.session.phase import Phase
from freezeframe.session.session import dispose_backend

from . import _attach_target, _cores, _launch_target
from ._attach_target import ALONE, AttachRequest
from ._common_args import (
    Breaks,
    Child,
    DebuggerName,
    Environment,
    FirstStop,
    IsModule,
    JustMyCode,
    ProgramArguments,
    Record,
    RunDirectory,
    SessionName,
    StdinFile,
    Timeout,
)
from ._configured_start import LIST, ConfiguredStart, start_configured
from ._context import Context
from ._launch_args import suggest_hold
from ._launch_program import (
    LaunchRequest,
    enter_breakpoints,
    follows_children,
    fork_mode,
    launch,
    only_user_code,
)
from ._launch_session import begin
from ._registry import Arg, Effect, op


@op(
    "start",
    aliases=("launch", "run PROGRAM", "debug"),
    group="sessions",
    effect=Effect.RESUMES,
    example="start app.py -b app.py:42",
    examples=(
        "start -m pytest tests/test_cart.py -x",
        "start app.py --stdin data.txt -- --verbose",
        "start --config 'Debug server'",
    ),
)
async def start(
    ctx: Context,
    program: Annotated[
        str | None,
        Arg("the program to debug, or its source (default: the only one here)", complete="file"),
    ] = None,
    args: ProgramArguments = (),
    *,
    module: IsModule = False,
    breakpoints: Breaks = (),
    stop_on_entry: Annotated[
        bool | None,
        Arg("stop at the first line (default: start.hold)", short="-e", also=("--hold",)),
    ] = None,
    adapter: DebuggerName = None,
    cwd: RunDirectory = None,
    env: Environment = (),
    stdin: StdinFile = None,
    tty: Annotated[bool, Arg("give the program a terminal for its streams")] = False,
    interpreter: Annotated[
        str | None,
        Arg("the runtime to run it with (default: the caller's)", meta="PATH", complete="file"),
    ] = None,
    classpath: Annotated[
        str | None,
        Arg("where a Java program's classes are found", meta="PATH", complete="directory"),
    ] = None,
    name: SessionName = None,
    child: Child = None,
    just_my_code: JustMyCode = None,
    wait: FirstStop = True,
    timeout: Timeout = None,
    record: Record = None,
    config: Annotated[
        str | None,
        Arg(
            "start this configuration of .vscode/launch.json or .zed/debug.json; without NAME, "
            "list them",
            meta="NAME",
            alone=LIST,
            before_program=True,
        ),
    ] = None,
    input: Annotated[
        tuple[str, ...], Arg("an input of the configuration", meta="ID=VALUE", before_program=True)
    ] = (),
    yes: Annotated[bool, Arg("confirm what the configuration runs", before_program=True)] = False,
) -> StopReport | LaunchConfigurations:
    """Start a program under its debugger and answer with its first stop.

    The program runs in the caller's directory and environment, with the caller's interpreter.
    Source files and projects of compiled languages are built first. Uncaught exceptions stop the
    program, so the answer for a failing program is its failure. A session of the same name is
    ended first, and the answer says so.

    With --config, PROGRAM is the file that `${file}` stands for. What a configuration runs is shown
    before the first time, and again when the file has changed: --yes confirms it.
    """
    request = LaunchRequest(
        program,
        args,
        module=module,
        breakpoints=breakpoints,
        stop_on_entry=ctx.config.start.hold if stop_on_entry is None else stop_on_entry,
        adapter=adapter,
        cwd=cwd,
        env=env,
        stdin=stdin,
        tty=tty,
        interpreter=interpreter,
        classpath=classpath,
        name=name,
        child=child,
        just_my_code=just_my_code,
        wait=wait,
        timeout=timeout,
        record=record,
    )
    if config is not None:
        return await start_configured(ctx, ConfiguredStart(config, input, yes), request)
    return suggest_hold(ctx, await launch(ctx, request))


@op(
    "attach",
    group="sessions",
    effect=Effect.RESUMES,
    example="attach 4242",
    examples=(
        "attach localhost:5678 -b app.py:42",
        "attach --wait-for worker.py --pause",
        "attach --simulator 'iPhone 15' --bundle-id com.example.Shop",
    ),
)
async def attach(
    ctx: Context,
    where: Annotated[
        str | None, Arg("a process id, a program's name, or HOST:PORT of a debug server")
    ] = None,
    *,
    wait_for: Annotated[
        str | None,
        Arg("wait until a program of this name, or the app, starts", meta="NAME", alone=ALONE),
    ] = None,
    pid: Annotated[int | None, Arg("the process with this id")] = None,
    simulator: Annotated[
        str | None,
        Arg(
            "an app in this simulator (default: defaults.simulator, or the booted one)",
            meta="NAME|UDID",
        ),
    ] = None,
    bundle_id: Annotated[str | None, Arg("the app in a simulator", meta="ID")] = None,
    breakpoints: Breaks = (),
    pause: Annotated[bool, Arg("stop it at once")] = False,
    resume: Annotated[bool, Arg("let it keep running", name="continue")] = True,
    program: Annotated[
        str | None,
        Arg(
            "local copy of the file that runs behind HOST:PORT",
            meta="FILE",
            complete="file",
        ),
    ] = None,
    map: Annotated[
        tuple[str, ...],
        Arg("a directory where the program runs, and the same directory here", meta="REMOTE=LOCAL"),
    ] = (),
    adapter: DebuggerName = None,
    name: SessionName = None,
    child: Child = None,
    just_my_code: JustMyCode = None,
    timeout: Timeout = None,
    record: Record = None,
) -> StopReport:
    """Attach to a running program, on this machine or in an Xcode simulator.

    The program keeps running; with breakpoints given, the answer waits for the first stop.
    """
    mapping = PathMapping.parse(map, ctx.caller.cwd)
    resolved = await _attach_target.resolve_attach_target(
        ctx, AttachRequest(where, wait_for, pid, simulator, bundle_id, adapter, timeout)
    )
    choice = replace(resolved.choice, mapping=mapping)
    target = Attach(
        pid=resolved.pid,
        host=resolved.host,
        port=resolved.port,
        simulator=resolved.simulator,
        program=_launch_target.existing(program, ctx.caller.cwd) if program else choice.program,
        stay_stopped=pause or not resume,
        cwd=ctx.caller.cwd,
        env=ctx.caller.env,
        follow_children=follows_children(ctx, child),
        forks=fork_mode(ctx, child, choice, f"attach {where or resolved.pid}"),
        just_my_code=only_user_code(ctx, just_my_code),
    )
    remote = resolved.host is not None
    name = name or ctx.session_name or resolved.name
    await enter_breakpoints(ctx, breakpoints, target.program, name, remote=remote)
    pause = pause or not resume
    report = await begin(
        ctx,
        name,
        target,
        choice,
        wait=bool(breakpoints) or pause,
        timeout=timeout,
        pause=pause,
        remarks=resolved.remarks,
        record=record,
    )
    if report.state == Phase.RUNNING.value and remote and breakpoints and not map:
        folders = f"dbg attach {where} --map REMOTE=LOCAL"
        note = f"breakpoints have paths of this machine; where the program's differ: {folders}"
        report = replace(report, notes=(*report.notes, note))
    return report


@op(
    "core",
    group="sessions",
    effect=Effect.WRITES,
    example="core ./app core.4242",
    examples=("core core.4242", "core 4242"),
)
async def core(
    ctx: Context,
    program: Annotated[
        str,
        Arg(
            "the program that crashed, or its core file, or the id of a live process",
            complete="file",
        ),
    ],
    core: Annotated[str | None, Arg("its core file", complete="file")] = None,
    *,
    adapter: DebuggerName = None,
    name: SessionName = None,
) -> StopReport:
    """Inspect a crashed program through its core file, or a live process through a snapshot.

    A core file alone is enough if its program is still where it was, or next to the core file. For
    a process id, the memory is written to core.PID in the current directory, and the process
    continues. Stacks of all threads, variables, memory and registers can be inspected; nothing can
    run.
    """
    alone = core is None and os.path.isfile(os.path.join(ctx.caller.cwd, program))
    if core is None and not alone:
        path, file, choice = await _snapshot(ctx, program, adapter)
        notes: tuple[str, ...] = (f"process {program} goes on; this is core.{program}",)
    else:
        named, left = (None, program) if core is None else (program, core)
        path, file, notes = _cores.opened(named, left, ctx.caller.cwd)
        choice = selection.choose(path, name=adapter, env=ctx.caller.env, config=ctx.config)
    target = Core(path, file, cwd=ctx.caller.cwd, env=ctx.caller.env)
    return await begin(
        ctx,
        name or ctx.session_name or _launch_target.name_of(path),
        target,
        choice,
        wait=True,
        timeout=None,
        remarks=notes,
    )


async def _snapshot(
    ctx: Context, process: str, adapter: str | None
) -> tuple[str, str, selection.DebuggerChoice]:
    """Write a core file of a live process; return its program, the file, and the debugger."""
    if not process.isdecimal():
        raise UsageError(
            "`core` takes a program and its core file, or a process id.",
            next="dbg core PROGRAM COREFILE",
        )
    pid = int(process)
    file = os.path.join(ctx.caller.cwd, f"core.{pid}")
    if os.path.exists(file):
        raise UsageError(f"core.{pid} is there already.", next=f"rm core.{pid}")
    # A native debugger also saves the core of an interpreter, whose own debugger cannot.
    choice = selection.choose_for_pid(
        pid, name=adapter, env=ctx.caller.env, config=ctx.config, native=True
    )
    backend = choice.make_backend(ctx.config)()
    stopped = asyncio.Event()

    def sink(event: Event) -> None:
        if isinstance(event, Stopped | ExitedEvent):
            stopped.set()

    target = Attach(pid=pid, program=choice.program, cwd=ctx.caller.cwd, env=ctx.caller.env)
    try:
        await backend.start(target, Configuration(filters=()), sink)
        if Feature.SAVE_CORE not in backend.features or not isinstance(backend, CoreFiles):
            raise Unsupported(
                f"{backend.tool} has no {Feature.SAVE_CORE.value}.", next=f"dbg attach {pid}"
            )
        await backend.pause(None)
        async with asyncio.timeout(ctx.config.timeouts.request_s):
            await stopped.wait()
        await backend.save_core(file)
        await backend.detach()
    except TimeoutError:
        raise DebuggerTimeout(f"process {pid} did not stop in time.") from None
    finally:
        await dispose_backend(backend)
    return choice.program or process, file, choice
