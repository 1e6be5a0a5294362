"""Bringing programs under a debugger: start, attach, core."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import Annotated

from freezeframe import files
from freezeframe.backends import select
from freezeframe.backends.backend import (
    Attach,
    Configuration,
    Core,
    Ended,
    Event,
    Feature,
    Launch,
    Stopped,
)
from freezeframe.backends.forks import Forks
from freezeframe.backends.path_mapping import PathMapping
from freezeframe.errors import DebuggerTimeout, NotFound, Unsupported, UsageError
from freezeframe.model.answers import StopReport
from freezeframe.model.places import Location
from freezeframe.session.phase import Phase
from freezeframe.session.release import release

from . import _commands, _cores, _joining, _programs, _words
from ._arguments import (
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
from ._joining import ALONE, Wanted
from ._launching import begin
from ._registry import Arg, Effect, op
from .breakpoints import enter


def _as_written(path: str, words: tuple[str, ...], cwd: str) -> str | None:
    """Return the word of a command line that names the file at *path* in *cwd*."""
    return next((w for w in words if w and os.path.abspath(os.path.join(cwd, w)) == path), None)


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

    It runs in the caller's directory and environment, with the caller's interpreter. Source files
    and projects of compiled languages are built first. Uncaught exceptions stop it, so a failing
    program answers with its failure. A session of the same name is ended first, and the answer
    says so.
    """
    if classpath is not None:
        ctx = _words.with_classes(ctx, classpath)
        module = _words.is_class(ctx, program, classpath, module=module)
    if cwd is not None and program is not None:
        ctx, cwd = _words.with_directory(ctx, cwd, program)
    meant = await _programs.meant(
        ctx,
        program,
        args,
        module=module,
        interpreter=interpreter,
        adapter=adapter,
        break_files=_commands.files_of(ctx, breakpoints),
    )
    recipe, interpreter = meant.recipe, meant.interpreter
    environment = ctx.caller.env if meant.env is None else meant.env
    default = (recipe.run_in if recipe is not None else None) or meant.cwd
    directory = os.path.join(ctx.caller.cwd, cwd) if cwd else default or ctx.caller.cwd
    if not os.path.isdir(directory):
        raise NotFound(f"there is no directory {cwd}.", next="dbg start PROGRAM --cwd DIR")
    input_file = None
    if stdin is not None:
        input_file = os.path.abspath(os.path.join(ctx.caller.cwd, stdin))
        if not os.path.isfile(input_file):
            raise NotFound(
                f"there is no file {stdin} to read input from.",
                next="dbg start PROGRAM --stdin FILE",
            )
    path, reason = meant.program, meant.reason
    remarks = (*meant.remarks, *_words.left_to_program(ctx, args))
    if recipe is not None:
        made = await _programs.built(ctx, recipe, environment)
        path, remarks = made.program, (*remarks, made.note(ctx.caller.cwd))
        reason = f"{os.path.basename(recipe.source)} was built with {recipe.words}; "
    choice = select.choose(
        path,
        module=meant.module,
        language=meant.language,
        kind=recipe.kind if recipe is not None else None,
        name=adapter,
        cwd=os.path.abspath(directory),
        env=environment,
        config=ctx.config,
    )
    choice = replace(choice, reason=reason + choice.reason)
    target = Launch(
        program=path,
        args=meant.args,
        cwd=os.path.abspath(directory),
        env={**environment, **_words.assignments(env)},
        module=meant.module,
        stop_on_entry=stop_on_entry,
        stdin=input_file,
        tty=tty,
        follow_children=ctx.config.defaults.follow_children if child is None else child == "follow",
        forks=_forks(ctx, child, choice, "start PROGRAM"),
        just_my_code=ctx.config.defaults.just_my_code if just_my_code is None else just_my_code,
        interpreter=os.path.abspath(os.path.join(ctx.caller.cwd, interpreter))
        if interpreter and os.sep in interpreter
        else interpreter,
        interpreter_args=meant.interpreter_args,
        written=_as_written(path, (program or "", *args), os.path.abspath(directory)),
        recipe=recipe,
    )
    source = recipe.source if recipe is not None else "" if meant.module else path
    name = name or ctx.session_name or meant.name
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
        Arg("wait until a program of that name, or the app, starts", meta="NAME", alone=ALONE),
    ] = None,
    pid: Annotated[int | None, Arg("the process of that number")] = None,
    simulator: Annotated[
        str | None,
        Arg("an app in this simulator (default: the booted one)", meta="NAME|UDID"),
    ] = None,
    bundle_id: Annotated[str | None, Arg("the app in a simulator", meta="ID")] = None,
    breakpoints: Breaks = (),
    pause: Annotated[bool, Arg("stop it at once")] = False,
    resume: Annotated[bool, Arg("let it run on", name="continue")] = True,
    program: Annotated[
        str | None,
        Arg(
            "the file that runs behind HOST:PORT, where it is here too",
            meta="FILE",
            complete="file",
        ),
    ] = None,
    map: Annotated[
        tuple[str, ...],
        Arg("a folder where the program runs, and the same one here", meta="REMOTE=LOCAL"),
    ] = (),
    adapter: DebuggerName = None,
    name: SessionName = None,
    child: Child = None,
    just_my_code: JustMyCode = None,
    timeout: Timeout = None,
    record: Record = None,
) -> StopReport:
    """Join a program that runs already, here or in a simulator of Xcode's.

    It goes on running; with breakpoints given, the answer waits for the first stop.
    """
    mapping = PathMapping.parse(map, ctx.caller.cwd)
    meant = await _joining.meant(
        ctx, Wanted(where, wait_for, pid, simulator, bundle_id, adapter, timeout)
    )
    choice = replace(meant.choice, mapping=mapping)
    follow = ctx.config.defaults.follow_children if child is None else child == "follow"
    mine = ctx.config.defaults.just_my_code if just_my_code is None else just_my_code
    target = Attach(
        pid=meant.pid,
        host=meant.host,
        port=meant.port,
        program=_programs.existing(program, ctx.caller.cwd) if program else choice.program,
        hold=pause or not resume,
        cwd=ctx.caller.cwd,
        env=ctx.caller.env,
        follow_children=follow,
        forks=_forks(ctx, child, choice, f"attach {where or meant.pid}"),
        just_my_code=mine,
    )
    remote = meant.host is not None
    name = name or ctx.session_name or meant.name
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
        remarks=meant.remarks,
        record=record,
    )
    if report.state == Phase.RUNNING.value and remote and breakpoints and not map:
        folders = f"dbg attach {where} --map REMOTE=LOCAL"
        note = f"breakpoints have paths of this machine; where the program's differ: {folders}"
        report = replace(report, notes=(*report.notes, note))
    return report


def _forks(ctx: Context, child: str | None, choice: select.Choice, command: str) -> Forks:
    """Return what is done about children. Raises Unsupported where the debugger cannot do it."""
    can = choice.debugger.forks
    if child is None:
        return can[0] if ctx.config.defaults.follow_children else Forks.PARENT
    wanted = Forks(child)
    if wanted in can:
        return wanted
    if wanted is Forks.CHILD:
        why = "does not leave a program for its child"
    elif Forks.CHILD in can:
        why = "holds one process: the parent, or with `--child only` its child"
    else:
        why = "does not follow child processes"
    other = Forks.BOTH if wanted is Forks.CHILD else Forks.CHILD
    instead = other if other in can else Forks.PARENT
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
        Arg("the program that died, or its core file, or a live process's id", complete="file"),
    ],
    core: Annotated[str | None, Arg("its core file", complete="file")] = None,
    *,
    adapter: DebuggerName = None,
    name: SessionName = None,
) -> StopReport:
    """Look at a program that died, through its core file; or at a live one, through a snapshot.

    A core file alone is enough where its program lies where it was, or beside it. Of a process id
    the memory is written to core.PID in the current directory, and the process goes on. Stacks of
    all threads, variables, memory and registers can be seen; nothing can run.
    """
    alone = core is None and os.path.isfile(os.path.join(ctx.caller.cwd, program))
    if core is None and not alone:
        path, file, choice = await _snapshot(ctx, program, adapter)
        notes: tuple[str, ...] = (f"process {program} goes on; this is core.{program}",)
    else:
        named, left = (None, program) if core is None else (program, core)
        path, file, notes = _cores.opened(named, left, ctx.caller.cwd)
        choice = select.choose(path, name=adapter, env=ctx.caller.env, config=ctx.config)
    target = Core(path, file, cwd=ctx.caller.cwd, env=ctx.caller.env)
    return await begin(
        ctx,
        name or ctx.session_name or _programs.name_of(path),
        target,
        choice,
        wait=True,
        timeout=None,
        remarks=notes,
    )


async def _snapshot(
    ctx: Context, process: str, adapter: str | None
) -> tuple[str, str, select.Choice]:
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
    choice = select.choose_for_pid(pid, name=adapter, env=ctx.caller.env, config=ctx.config)
    backend = choice.make_backend(ctx.config)()
    stopped = asyncio.Event()

    def sink(event: Event) -> None:
        if isinstance(event, Stopped | Ended):
            stopped.set()

    target = Attach(pid=pid, program=choice.program, cwd=ctx.caller.cwd, env=ctx.caller.env)
    try:
        await backend.start(target, Configuration(filters=()), sink)
        if Feature.SAVE_CORE not in backend.features:
            raise Unsupported(
                f"{backend.tool} has no {Feature.SAVE_CORE.value}.", next=f"dbg attach {pid}"
            )
        await backend.pause(None)
        async with asyncio.timeout(ctx.config.timeouts.request_s):
            await stopped.wait()
        await backend.save_core(file)
        await backend.detach()
    except TimeoutError:
        raise DebuggerTimeout(f"process {pid} did not come to a stop in time.") from None
    finally:
        await release(backend)
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
    """Enter all of them or none: a typo in one must not leave the others behind.

    A bare number is a line of *source*; never of where another session happens to stand.
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
    for location in parsed:
        await enter(ctx, location, remote=remote, program=program, dry=True)
    await ctx.workspace.drop_owned(session)
    for location in parsed:
        await enter(ctx, location, remote=remote, program=program, owner=session)


def _is_text(path: str) -> bool:
    try:
        return b"\0" not in files.read_head(path, 4096)
    except OSError:  # a folder, or nothing at all
        return False
