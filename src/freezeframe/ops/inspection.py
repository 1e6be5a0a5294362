"""Inspecting a stopped program: context, stack, variables, threads."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from freezeframe.backends.backend import Backend
from freezeframe.backends.capabilities import ArgumentNames
from freezeframe.backends.snapshots import TakesSnapshots
from freezeframe.errors import DebuggerError, NotFound, UsageError
from freezeframe.model.answers import (
    Backtrace,
    FrameAnswer,
    Stack,
    StopReport,
    Threads,
    Variables,
)
from freezeframe.model.stops import Frame, Task, Thread
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.session.phase import Phase
from freezeframe.session.stop_capture import current_view
from freezeframe.session.stop_state import FrameView, StopState

from ._blocked_threads import running_backtrace, with_lock
from ._common_args import InFrame
from ._context import Context
from ._frames import frame_at, number_of
from ._registry import Arg, Effect, Needs, op
from ._stop_report import running_report, source_at, stop_report

#: Frames of each thread that are searched for the user's code.
_LOOKED_AT = 16

_Range = Annotated[
    str | None, Arg("only this range: 100:200, counted from 0", short="-r", meta="FROM:TO")
]
_Definitions = Annotated[bool, Arg("functions, classes and modules too", short="-a")]
_Types = Annotated[bool, Arg("with their types")]

#: frames of other threads whose variables `backtrace --locals` shows: goroutines are thousands
_MOST_LOOKED_AT = 60
#: frames of a backtrace whose values are expanded
_OPENED_FRAMES = 5


def read_range(text: str | None) -> tuple[int, int] | None:
    """Return the two ends of FROM:TO. Raises UsageError."""
    if text is None:
        return None
    first, colon, last = text.partition(":")
    try:
        begin = int(first) if first else 0
        end = int(last) if last else begin + 100
        if not colon:
            end = begin + 1
    except ValueError:
        begin, end = 0, -1
    if begin < 0 or end < begin:
        raise UsageError(
            f"--range takes FROM:TO, not {text!r}.", next="dbg print EXPR --range 0:100"
        )
    return begin, end


@op(
    "context",
    aliases=("where", "w", "ctx", "info frame"),
    group="inspect",
    needs=Needs.SESSION,
    control=True,
    example="context",
)
async def context(
    ctx: Context,
    *,
    context: Annotated[
        int | None, Arg("lines of source on either side", meta="N", short="-C")
    ] = None,
    type: _Types = False,
) -> StopReport:
    """Show where the program is stopped: reason, source, variables, new output."""
    session = ctx.session
    if session.phase is not Phase.STOPPED:
        return running_report(ctx, session, None)
    async with session.exclusive():
        stop = await session.require_stopped()
        report = await stop_report(ctx, session, stop, context_lines=context, in_turn=True)
    return replace(report, show_type=type)


@op(
    "backtrace",
    aliases=("bt", "stack", "stacktrace", "info stack"),
    group="inspect",
    needs=Needs.STOPPED,
    example="backtrace",
    examples=("backtrace 5", "backtrace --locals --limit 5", "backtrace --all-threads"),
    when_running=running_backtrace,
)
async def backtrace(
    ctx: Context,
    *,
    limit: Annotated[int, Arg("at most this many frames", short="-n", meta="N", bare=True)] = 50,
    locals: Annotated[bool, Arg("with the variables of each frame", short="-l")] = False,
    all_threads: Annotated[bool, Arg("of every thread")] = False,
    all: Annotated[bool, Arg("frames of libraries too", short="-a")] = False,
) -> Backtrace:
    """Show how the program got where it is, innermost frame first.

    Of a running program: where each of its threads is, if its debugger can see that.
    """
    session = ctx.session
    stop = await session.require_stopped()
    stacks = [await _stack(stop, limit, locals, all)]
    if all_threads:
        looks = _MOST_LOOKED_AT if locals else 0
        for thread in await stop.backend.threads():
            if thread.id != stop.thread.id:
                stacks.append(await _other_stack(stop, thread, limit, looks, all))
                looks = max(0, looks - len(stacks[-1].values))
    exception = None
    if stop.exception is not None:
        error = stop.exception
        exception = f"{error.type}: {error.message}" if error.message else error.type
    return Backtrace(tuple(stacks), exception, unfold=all)


async def _stack(stop: StopState, limit: int, locals: bool, all: bool) -> Stack:
    frames = await stop.frames(limit)
    values: dict[int, tuple[Value, ...]] = {}
    if locals:
        for frame in frames:
            if not frame.library or all:
                view = await stop.read_frame(frame.index, expand=len(values) < _OPENED_FRAMES)
                values[frame.index] = tuple(v for s in view.scopes for v in s.values)
    depth = stop.depth
    more = max(0, depth - len(frames)) if depth is not None else None
    return Stack(with_lock(stop.thread, frames), tuple(frames), more, stop.selected, values)


async def _other_stack(stop: StopState, thread: Thread, limit: int, looks: int, all: bool) -> Stack:
    """Return the stack of a thread, with the variables of up to *looks* of its frames."""
    try:
        frames, values = await stop.read_thread(thread.id, limit, looks, libraries=all)
    except DebuggerError as error:
        return Stack(thread, (), error=error.message)
    more = None if len(frames) == limit else 0
    return Stack(with_lock(thread, frames), tuple(frames), more, selected=-1, values=values)


async def _frame_answer(ctx: Context, view: FrameView, note: str | None = None) -> FrameAnswer:
    session = ctx.session
    stop = await session.require_stopped()
    return FrameAnswer(
        view.frame,
        stop.depth,
        await source_at(ctx, session, view.frame),
        view.scopes,
        note,
    )


@op(
    "frame",
    group="inspect",
    needs=Needs.STOPPED,
    effect=Effect.WRITES,
    aliases=("f",),
    example="frame 2",
    examples=("frame handle_request",),
)
async def frame(
    ctx: Context,
    which: Annotated[
        str | None, Arg("its number (0 is the innermost), or its function", meta="N|NAME")
    ] = None,
) -> FrameAnswer:
    """Select a frame of the stack for later commands. Without a number: show the selected frame.

    A function's name selects its innermost frame; given again, the next outer one.
    """
    stop = await ctx.session.require_stopped()
    if which is None:
        return await _frame_answer(ctx, await ctx.session.select(stop.selected))
    index = await number_of(stop, which, outward=True)
    return await _frame_answer(ctx, await ctx.session.select(index))


async def _move(ctx: Context, by: int) -> FrameAnswer:
    session = ctx.session
    stop = await session.require_stopped()
    goal = stop.selected + by
    note = None
    if goal < 0:
        goal, note = 0, "this is the innermost frame"
    try:
        view = await session.select(goal)
    except NotFound:
        depth = stop.depth or len(stop.fetched_frames())
        view = await session.select(depth - 1)
        note = "this is the outermost frame"
    return await _frame_answer(ctx, view, note)


@op("up", group="inspect", needs=Needs.STOPPED, effect=Effect.WRITES, example="up", aliases=("u",))
async def up(
    ctx: Context, count: Annotated[int, Arg("how many frames", meta="N")] = 1
) -> FrameAnswer:
    """Select the caller of the current frame."""
    return await _move(ctx, count)


@op("down", group="inspect", needs=Needs.STOPPED, effect=Effect.WRITES, example="down")
async def down(
    ctx: Context, count: Annotated[int, Arg("how many frames", meta="N")] = 1
) -> FrameAnswer:
    """Select the frame that the current one called."""
    return await _move(ctx, -count)


async def _variables(
    ctx: Context,
    kinds: frozenset[ScopeKind],
    range: str | None,
    expand: bool,
    all: bool = False,
    frame: str | None = None,
) -> Variables:
    stop = await ctx.session.require_stopped()
    shown = await frame_at(stop, frame)
    requested = read_range(range)
    start, end = requested or (0, 1000)
    scopes = []
    raw_scopes = await stop.scopes(shown.index)
    for raw in raw_scopes:
        if raw.kind in kinds:
            scope, returned = await stop.scope(
                raw, start, end - start, expand=expand, definitions=all
            )
            if returned is not None:
                scope = replace(scope, values=(*scope.values, returned))
            scopes.append(scope)
    if not scopes and (not raw_scopes or (shown.path is None and ScopeKind.LOCALS in kinds)):
        thrown = stop.exception
        raise NotFound(
            f"the debugger knows no variables of {shown.function}.",
            next=f"dbg catch raised {thrown.type}" if thrown is not None else "dbg backtrace",
        )
    if not scopes and ScopeKind.LOCALS in kinds:
        # Some debuggers leave out empty scopes (GDB's DAP server).
        scopes.append(Scope("Locals", ScopeKind.LOCALS, ()))
    if not scopes:
        raise NotFound(
            f"the debugger lists no separate {'/'.join(sorted(kinds))} of {shown.function}.",
            next="dbg locals",
        )
    return Variables(shown, tuple(scopes), all=all)


@op(
    "locals",
    aliases=("vars", "variables", "info locals"),
    group="inspect",
    needs=Needs.STOPPED,
    example="locals",
)
async def locals_(
    ctx: Context,
    *,
    range: _Range = None,
    all: _Definitions = False,
    frame: InFrame = None,
    type: _Types = False,
) -> Variables:
    """Show the arguments and local variables of the current frame."""
    kinds = frozenset({ScopeKind.LOCALS, ScopeKind.ARGUMENTS})
    answer = await _variables(ctx, kinds, range, expand=True, all=all, frame=frame)
    return replace(answer, show_type=type)


@op(
    "args", group="inspect", needs=Needs.STOPPED, aliases=("arguments", "info args"), example="args"
)
async def args(ctx: Context, *, frame: InFrame = None, type: _Types = False) -> Variables:
    """Show the arguments of the current function."""
    return replace(await _arguments(ctx, frame), show_type=type)


async def _arguments(ctx: Context, frame: str | None) -> Variables:
    stop = await ctx.session.require_stopped()
    index = (await frame_at(stop, frame)).index
    scopes = {raw.kind for raw in await stop.scopes(index)}
    if ScopeKind.ARGUMENTS in scopes:
        kinds = frozenset({ScopeKind.ARGUMENTS})
        return await _variables(ctx, kinds, None, expand=True, frame=frame)
    names = None
    if isinstance(stop.backend, ArgumentNames):
        names = await stop.backend.argument_names(stop.frame_id(index))
    kinds = frozenset({ScopeKind.LOCALS})
    answer = await _variables(ctx, kinds, None, expand=True, frame=frame)
    if names is None:
        return answer
    by_name = {v.name: v for scope in answer.scopes for v in scope.values}
    chosen = tuple(by_name[name] for name in names if name in by_name)
    return replace(answer, scopes=(Scope("Arguments", ScopeKind.ARGUMENTS, chosen),))


@op("globals", group="inspect", needs=Needs.STOPPED, example="globals")
async def globals_(
    ctx: Context,
    *,
    range: _Range = None,
    all: _Definitions = False,
    frame: InFrame = None,
    type: _Types = False,
) -> Variables:
    """Show the global variables that the current frame sees.

    What a module defines and imports is left out without --all.
    """
    kinds = frozenset({ScopeKind.GLOBALS})
    answer = await _variables(ctx, kinds, range, expand=False, all=all, frame=frame)
    return replace(answer, show_type=type)


@op(
    "threads",
    group="inspect",
    needs=Needs.LIVE,
    aliases=("info threads", "tasks", "threads list", "thread list"),
    control=True,
    example="threads",
)
async def threads(ctx: Context) -> Threads:
    """List the threads, the location of each, and the tasks of event loops."""
    session = ctx.session
    backend = session.require_backend()
    stop = session.current_stop if session.phase is Phase.STOPPED else None
    listed = []
    tasks: tuple[Task, ...] = ()
    running: dict[int, Stack] = {}
    if stop is None:
        traced = await running_backtrace(ctx)
        running = {stack.thread.id: stack for stack in traced.stacks} if traced else {}
        tasks = traced.tasks if traced is not None else ()
    elif isinstance(backend, TakesSnapshots):
        with contextlib.suppress(DebuggerError):
            seen = await backend.snapshot(stacks=False)
            tasks = seen.tasks if seen is not None else ()
    for thread in await _known_threads(backend, running):
        if stop is None:
            stack = running.get(thread.id)
            location = _user_frame(stack.frames)[0] if stack is not None else None
            state = stack.thread.state if stack is not None else "running"
            listed.append(replace(thread, frame=location, state=state))
            continue
        location, state = None, "running"
        if thread.id == stop.thread.id or stop.event.all_threads:
            with contextlib.suppress(DebuggerError):
                location, state = _user_frame(await stop.frames(_LOOKED_AT, thread=thread.id))
        if thread.state not in _PLAIN_STATES:
            # The debugger knows what the thread waits for, and which thread holds it.
            state = thread.state if state in _PLAIN_STATES else f"{thread.state}, {state}"
        current = thread.id == stop.thread.id
        listed.append(replace(thread, frame=location, current=current, state=state))
    return Threads(tuple(listed), tasks)


async def _known_threads(backend: Backend, running: Mapping[int, Stack]) -> Sequence[Thread]:
    """Return the threads; of a running program those whose stacks are known, if there are any.

    Some debuggers do not list threads while the program runs, or list one in place of all.
    """
    if not running:
        return await backend.threads()
    known: Sequence[Thread] = ()
    with contextlib.suppress(DebuggerError):
        known = await backend.threads()
    if any(thread.id in running for thread in known):
        return known
    return [stack.thread for stack in running.values()]


#: states of a thread that waits for nothing in particular
_PLAIN_STATES = ("stopped", "running")


def _user_frame(frames: Sequence[Frame]) -> tuple[Frame | None, str]:
    """Return the innermost frame of the user's code, and what the thread does from there."""
    if not frames:
        return None, "running"
    own = next((frame for frame in frames if not frame.library), frames[0])
    if own.index == 0:
        return own, "stopped"
    inner = frames[: own.index]
    waits = next((frame.waits for frame in inner if frame.waits), None)
    return own, waits or f"in {inner[-1].function}"


@op("thread", group="inspect", needs=Needs.STOPPED, effect=Effect.WRITES, example="thread 2")
async def thread(
    ctx: Context,
    id: Annotated[
        int | None, Arg("id of the thread, or its position in `threads`", meta="ID")
    ] = None,
) -> FrameAnswer:
    """Select a thread for later commands. Without an id: show the current one."""
    session = ctx.session
    stop = await session.require_stopped()
    if id is not None and id != stop.thread.id:
        known = [t.id for t in await stop.backend.threads()]
        if id not in known and not 0 < id <= len(known):
            raise NotFound(
                f"there is no thread {id}; there are {', '.join(map(str, known))}.",
                next="dbg threads",
            )
        # Some debuggers list ids of the system, and their users know threads as 1, 2, 3.
        await session.select_thread(id if id in known else known[id - 1])
        stop = await session.require_stopped()
    chosen = stop.thread
    view = await current_view(session, stop)
    if view is None:
        raise NotFound(f"thread {chosen.id} has no frames.", next="dbg threads")
    note = f"thread {chosen.id} {chosen.name}".rstrip()
    if stop.error:
        note += f": {stop.error}"
    return await _frame_answer(ctx, view, note)
