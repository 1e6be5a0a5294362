"""Operations that create a session: start, attach, core."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import Annotated

from freezeframe import files
from freezeframe.backends import selection
from freezeframe.backends.backend import (
    Attach,
    Configuration,
    Core,
    Event,
    ExitedEvent,
    Feature,
    Launch,
    Stopped,
)
from freezeframe.backends.capabilities import CoreFiles
from freezeframe.backends.fork_modes import ForkMode
from freezeframe.backends.path_mapping import PathMapping
from freezeframe.errors import DebuggerTimeout, Unsupported, UsageError, UserError
from freezeframe.model.answers import StopReport
from freezeframe.model.locations import Location
from freezeframe.session.phase import Phase
from freezeframe.session.session import dispose_backend

from . import _attach_target, _commands, _cores, _launch_args, _launch_target
from ._attach_target import ALONE, AttachRequest
from ._common_args import (
    Breaks,
    Child,
    DebuggerName,
    FirstStop,
    JustMyCode,
    Record,
    SessionName,
    Timeout,
)
from ._context import Context
from ._launch_session import begin
from ._registry import Arg, Effect, op
from .breakpoints import enter


def _as_written(path: str, arguments: tuple[str, ...], cwd: str) -> str | None:
    """Return the command-line argument that names the file at *path* in *cwd*."""
    return next((w for w in arguments if w and os.path.abspath(os.path.join(cwd, w)) == path), None)


#: how a location error suggests the right location
_BREAK = "dbg break "


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
    program: Annotated[
        str | None,
        Arg("the program to debug, or its source (default: the only one here)", complete="file"),
    ] = None,
    args: Annotated[tuple[str, ...], Arg("arguments of the program", rest=True, command=True)] = (),
    *,
    module: Annotated[bool, Arg("PROGRAM is a module (`-m pytest …`)", short="-m")] = False,
    breakpoints: Breaks = (),
    stop_on_entry: Annotated[bool, Arg("stop at the first line", short="-e")] = False,
    adapter: DebuggerName = None,
    cwd: Annotated[
        str | None,
        Arg("directory to run it in (default: the caller's)", meta="DIR", complete="directory"),
    ] = None,
    env: Annotated[tuple[str, ...], Arg("set an environment variable", meta="K=V")] = (),
    stdin: Annotated[
        str | None, Arg("file to read standard input from", meta="FILE", complete="file")
    ] = None,
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
) -> StopReport:
    """Start a program under its debugger and answer with its first stop.

    The program runs in the caller's directory and environment, with the caller's interpreter.
    Source files and projects of compiled languages are built first. Uncaught exceptions stop the
    program, so the answer for a failing program is its failure. A session of the same name is
    ended first, and the answer says so.
    """
    if classpath is not None:
        ctx = _launch_args.with_classes(ctx, classpath)
        module = _launch_args.is_class(ctx, program, classpath, module=module)
    if cwd is not None and program is not None:
        ctx, cwd = _launch_args.with_directory(ctx, cwd, program)
    resolved = await _launch_target.resolve_launch_target(
        ctx,
        program,
        args,
        module=module,
        interpreter=interpreter,
        adapter=adapter,
        break_files=_commands.files_of(ctx, breakpoints),
    )
    recipe, interpreter = resolved.recipe, resolved.interpreter
    environment = ctx.caller.env if resolved.env is None else resolved.env
    default = (recipe.run_in if recipe is not None else None) or resolved.cwd
    directory = _launch_args.working_directory(ctx, cwd, default)
    input_file = _launch_args.input_file(ctx, stdin, tty=tty)
    path, reason = resolved.program, resolved.reason
    remarks = (*resolved.remarks, *_launch_args.left_to_program(ctx, args))
    if recipe is not None:
        made = await _launch_target.built(ctx, recipe, environment)
        path, remarks = made.program, (*remarks, made.note(ctx.caller.cwd))
        reason = f"{os.path.basename(recipe.source)} was built with {recipe.display}; "
    choice = selection.choose(
        path,
        module=resolved.module,
        language=resolved.language,
        kind=recipe.kind if recipe is not None else None,
        name=adapter,
        cwd=directory,
        env=environment,
        config=ctx.config,
    )
    choice = replace(choice, reason=reason + choice.reason)
    target = Launch(
        program=path,
        args=resolved.args,
        cwd=directory,
        env={**environment, **_launch_args.assignments(env)},
        module=resolved.module,
        stop_on_entry=stop_on_entry,
        stdin=input_file,
        tty=tty,
        follow_children=ctx.config.defaults.follow_children if child is None else child == "follow",
        forks=_forks(ctx, child, choice, "start PROGRAM"),
        just_my_code=ctx.config.defaults.just_my_code if just_my_code is None else just_my_code,
        interpreter=os.path.abspath(os.path.join(ctx.caller.cwd, interpreter))
        if interpreter and os.sep in interpreter
        else interpreter,
        interpreter_args=resolved.interpreter_args,
        written=_as_written(path, (program or "", *args), directory),
        recipe=recipe,
        runs_command=resolved.runs_command,
    )
    source = recipe.source if recipe is not None else "" if resolved.module else path
    name = name or ctx.session_name or resolved.name
    await _enter_breakpoints(ctx, breakpoints, path, name, source=source)
    return await begin(
        ctx,
        name,
        target,
        choice,
        wait=wait,
        timeout=timeout,
        remarks=remarks,
        record=record,
    )


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
        Arg("an app in this simulator (default: the booted one)", meta="NAME|UDID"),
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
    follow = ctx.config.defaults.follow_children if child is None else child == "follow"
    mine = ctx.config.defaults.just_my_code if just_my_code is None else just_my_code
    target = Attach(
        pid=resolved.pid,
        host=resolved.host,
        port=resolved.port,
        program=_launch_target.existing(program, ctx.caller.cwd) if program else choice.program,
        stay_stopped=pause or not resume,
        cwd=ctx.caller.cwd,
        env=ctx.caller.env,
        follow_children=follow,
        forks=_forks(ctx, child, choice, f"attach {where or resolved.pid}"),
        just_my_code=mine,
    )
    remote = resolved.host is not None
    name = name or ctx.session_name or resolved.name
    await _enter_breakpoints(ctx, breakpoints, target.program, name, remote=remote)
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


def _forks(
    ctx: Context, child: str | None, choice: selection.DebuggerChoice, command: str
) -> ForkMode:
    """Return how to handle child processes. Raises Unsupported if the debugger cannot do that."""
    can = choice.debugger.forks
    if child is None:
        return can[0] if ctx.config.defaults.follow_children else ForkMode.PARENT
    requested = ForkMode(child)
    if requested in can:
        return requested
    if requested is ForkMode.CHILD:
        why = "does not leave a program for its child"
    elif ForkMode.CHILD in can:
        why = "holds one process: the parent, or with `--child only` its child"
    else:
        why = "does not follow child processes"
    other = ForkMode.BOTH if requested is ForkMode.CHILD else ForkMode.CHILD
    instead = other if other in can else ForkMode.PARENT
    raise Unsupported(
        f"{choice.debugger.name} {why}.", next=f"dbg {command} --child {instead.value}"
    )


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


async def _enter_breakpoints(
    ctx: Context,
    locations: tuple[str, ...],
    program: str | None,
    session: str,
    *,
    remote: bool = False,
    source: str = "",
) -> None:
    """Enter all breakpoints or none: a typo in one must not leave the others behind.

    A bare number is a line of *source*, never of the file where another session is stopped.
    """
    parsed = []
    for text in locations:
        try:
            location = Location.parse(text)
        except ValueError as error:
            raise UsageError(f"{error}.", next="dbg start PROGRAM -b FILE:LINE") from None
        line = location.function or ""
        if line.isdecimal():
            if not _is_text(source):
                raise UsageError(f"line {line} of which file?", next=f"dbg break FILE:{line}")
            location = Location(file=source, line=int(line), condition=location.condition)
        parsed.append(location)
    for text, location in zip(locations, parsed, strict=True):
        try:
            await enter(ctx, location, remote=remote, program=program, dry=True)
        except UserError as wrong:
            if wrong.next is not None and wrong.next.startswith(_BREAK):
                # The whole command with the right location, not the breakpoint alone.
                right = wrong.next.removeprefix(_BREAK)
                wrong.next = f"dbg {ctx.typed.replace(text, right, 1)}"
            raise
    await ctx.workspace.remove_ended_breakpoints(session)
    for location in parsed:
        await enter(ctx, location, remote=remote, program=program, owner=session)


def _is_text(path: str) -> bool:
    try:
        return b"\0" not in files.read_head(path, 4096)
    except OSError:  # a directory, or missing
        return False
