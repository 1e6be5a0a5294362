"""Start a program under its debugger: what `start` and `test` share, and `attach` in part."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace

from freezeframe import files
from freezeframe.backends import selection
from freezeframe.backends.backend import Launch
from freezeframe.backends.fork_modes import ForkMode
from freezeframe.errors import Unsupported, UsageError, UserError
from freezeframe.model.answers import StopReport
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.locations import Location

from . import _commands, _launch_args, _launch_target
from ._context import Context
from ._launch_session import begin
from .breakpoints import enter

#: how a location error suggests the right location
_BREAK = "dbg break "


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """What to start, and how; the arguments of `start`."""

    program: str | None
    args: tuple[str, ...] = ()
    module: bool = False
    breakpoints: tuple[str, ...] = ()
    stop_on_entry: bool = False
    adapter: str | None = None
    cwd: str | None = None
    env: tuple[str, ...] = ()
    stdin: str | None = None
    tty: bool = False
    interpreter: str | None = None
    classpath: str | None = None
    name: str | None = None
    child: str | None = None
    just_my_code: bool | None = None
    wait: bool = True
    timeout: float | None = None
    record: bool | None = None
    #: the name of the test runner that the program is
    runner: str | None = None
    #: of `args`, what the user gave for that runner
    runner_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedLaunch:
    """A program that is ready to start: it was built, and its debugger was chosen."""

    target: Launch
    choice: selection.DebuggerChoice
    name: str
    #: the file that a bare line number is a line of; empty for a module
    source: str
    remarks: tuple[str, ...] = ()


async def launch(ctx: Context, request: LaunchRequest) -> StopReport:
    """Start a program, building it first if it must be, and report its first stop."""
    locations = _launch_args.locations_from(ctx, request.cwd, request.breakpoints)
    request = replace(request, breakpoints=locations)
    ready = await prepare_launch(ctx, request)
    path, source = ready.target.program, ready.source
    await enter_breakpoints(ctx, request.breakpoints, path, ready.name, source=source)
    return await begin(
        ctx,
        ready.name,
        ready.target,
        ready.choice,
        wait=request.wait,
        timeout=request.timeout,
        remarks=ready.remarks,
        record=request.record,
    )


async def prepare_launch(ctx: Context, request: LaunchRequest) -> PreparedLaunch:
    """Find the program and its debugger, and build it if it must be. Nothing is started."""
    program, args, cwd, module = request.program, request.args, request.cwd, request.module
    if request.classpath is not None:
        ctx = _launch_args.with_classes(ctx, request.classpath)
        module = _launch_args.is_class(ctx, program, request.classpath, module=module)
    if cwd is not None and program is not None:
        ctx, cwd = _launch_args.with_directory(ctx, cwd, program)
    resolved = await _launch_target.resolve_launch_target(
        ctx,
        program,
        args,
        module=module,
        interpreter=request.interpreter,
        adapter=request.adapter,
        break_files=_commands.files_of(ctx, request.breakpoints),
    )
    recipe, interpreter = resolved.recipe, resolved.interpreter
    environment = ctx.caller.env if resolved.env is None else resolved.env
    default = (recipe.run_in if recipe is not None else None) or resolved.cwd
    directory = _launch_args.working_directory(ctx, cwd, default)
    input_file = _launch_args.input_file(ctx, request.stdin, tty=request.tty)
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
        name=request.adapter,
        cwd=directory,
        env=environment,
        config=ctx.config,
    )
    choice = replace(choice, reason=reason + choice.reason)
    if resolved.runs_command and ForkMode.BOTH not in choice.debugger.forks:
        raise Unsupported(
            f"{choice.debugger.name} does not follow the programs that {program} runs.",
            next=f"dbg start {program} -- {shlex.join(args)}",
        )
    target = Launch(
        program=path,
        args=resolved.args,
        cwd=directory,
        env={**environment, **_launch_args.assignments(request.env)},
        module=resolved.module,
        stop_on_entry=request.stop_on_entry,
        stdin=input_file,
        tty=request.tty,
        follow_children=follows_children(ctx, request.child),
        forks=fork_mode(ctx, request.child, choice, "start PROGRAM"),
        just_my_code=only_user_code(ctx, request.just_my_code),
        interpreter=os.path.abspath(os.path.join(ctx.caller.cwd, interpreter))
        if interpreter and os.sep in interpreter
        else interpreter,
        interpreter_args=resolved.interpreter_args,
        written=_as_written(path, (program or "", *args), directory),
        recipe=recipe,
        runs_command=resolved.runs_command,
        runner=request.runner,
        runner_args=request.runner_args,
    )
    source = recipe.source if recipe is not None else "" if resolved.module else path
    name = request.name or ctx.session_name or resolved.name
    return PreparedLaunch(target, choice, name, source, remarks)


def _as_written(path: str, arguments: tuple[str, ...], cwd: str) -> str | None:
    """Return the command-line argument that names the file at *path* in *cwd*."""
    return next((w for w in arguments if w and os.path.abspath(os.path.join(cwd, w)) == path), None)


def follows_children(ctx: Context, child: str | None) -> bool:
    return ctx.config.defaults.follow_children if child is None else child == "follow"


def only_user_code(ctx: Context, just_my_code: bool | None) -> bool:
    return ctx.config.defaults.just_my_code if just_my_code is None else just_my_code


def fork_mode(
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


async def enter_breakpoints(
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
