"""Smoke test of a debugger: start a program, stop it, read a variable, let it end.

The capabilities found are cached with the debugger's path and modification time, so that a list
of debuggers can show them without starting any.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from freezeframe import paths
from freezeframe.backends import selection, smoke_programs
from freezeframe.backends.backend import Backend, Feature, Launch
from freezeframe.errors import BuildFailed, FreezeframeError
from freezeframe.model.locations import Location
from freezeframe.model.setup_answers import AdapterInfo, Check
from freezeframe.model.values import Value
from freezeframe.session.breakpoints import LogicalBreakpoint, LogicalBreakpoints
from freezeframe.session.session import Session
from freezeframe.session.source_cache import Sources
from freezeframe.session.stop_state import StopState
from freezeframe.session.stop_wait import seen_stops, wait_for_stop

from . import _launch_target
from ._context import Context

log = logging.getLogger(__name__)

#: time limit of one debugger, from its start to the end of the program
_TRIAL_S = 60.0
_AT_ONCE = 3
_MEMORY = "debuggers.json"


class _SmokeTestFailed(Exception):
    """The program did not behave as it does without a debugger."""


async def trials(ctx: Context, infos: Sequence[AdapterInfo]) -> list[Check]:
    """Return the result for each debugger, testing a few at a time."""
    few, building = asyncio.Semaphore(_AT_ONCE), asyncio.Lock()

    async def one(info: AdapterInfo) -> Check:
        async with few:
            return await trial(ctx, info, building)

    return list(await asyncio.gather(*map(one, infos)))


async def trial(ctx: Context, info: AdapterInfo, building: asyncio.Lock | None = None) -> Check:
    """Return the result for a debugger: a stop at a breakpoint, a variable, the exit code.

    Never raises; ends within a minute and leaves nothing behind. One program is built at a time,
    because several debuggers share it.
    """
    if not info.found:
        fix = f"dbg setup {info.name}" if info.install else None
        return Check(info.name, "skip", info.note or "not installed", fix, debugger=True)
    began = time.monotonic()
    status, fix = "fail", "dbg logs"
    try:
        async with asyncio.timeout(_TRIAL_S):
            status, detail, fix = "ok", await _try(ctx, info, building or asyncio.Lock()), ""
    except TimeoutError:
        detail = f"a program of three lines was not done within {_TRIAL_S:g} s"
    except _SmokeTestFailed as unlike:
        detail = str(unlike)
    except BuildFailed as error:
        # The debugger was not reached.
        status, detail, fix = "warn", f"not tried: {error.message}", error.next or ""
    except FreezeframeError as error:
        detail, fix = error.message, error.next or fix
    except Exception as error:
        log.exception("trying %s", info.name)
        detail = f"{type(error).__name__}: {error}"
    who = f"{info.version}: " if info.version else ""
    took_s = time.monotonic() - began
    took = f", {took_s:.1f} s" if status == "ok" else ""
    return Check(info.name, status, f"{who}{detail}{took}", fix or None, debugger=True)


async def _try(ctx: Context, info: AdapterInfo, building: asyncio.Lock) -> str:
    debugger = selection.known(ctx.config)[info.name]
    sample = smoke_programs.program_for(debugger.languages, debugger.probe_program)
    if sample is None:
        return f"{info.path}; there is no program to try it with"
    suffix, text = sample
    source = _written(suffix, text)
    directory = os.path.dirname(source)
    elsewhere = replace(ctx, caller=replace(ctx.caller, cwd=directory))
    resolved = await _launch_target.resolve_launch_target(
        elsewhere, source, (), module=False, interpreter=None, adapter=info.name
    )
    program, kind = resolved.program, None
    if resolved.recipe is not None:
        async with building:
            made = await _launch_target.built(elsewhere, resolved.recipe, ctx.caller.env)
        program, kind = made.program, resolved.recipe.kind
    choice = await asyncio.to_thread(
        selection.choose,
        program,
        kind=kind,
        name=info.name,
        env=ctx.caller.env,
        config=ctx.config,
    )
    line = smoke_programs.stop_line(text)
    target = Launch(
        program,
        cwd=directory,
        env=ctx.caller.env,
        stop_on_entry=line is None,
        recipe=resolved.recipe,
    )
    session = Session(
        "agent",
        breakpoints=LogicalBreakpoints(),
        config=ctx.config,
        sources=Sources(),
        make_backend=choice.make_backend(ctx.config),
        reason=choice.reason,
    )
    session.recorded = False
    if line is not None:
        session.breakpoints.add(LogicalBreakpoint(0, Location(file=source, line=line)))
    try:
        return await _watch(session, target, line, info)
    finally:
        await asyncio.shield(session.dispose())


def _written(suffix: str, text: str) -> str:
    """Return the program's source file. It is kept, so that it is built only once."""
    directory = os.path.join(paths.cache_dir(), "agents", suffix.lstrip("."))
    os.makedirs(directory, mode=0o700, exist_ok=True)
    path = os.path.join(os.path.realpath(directory), smoke_programs.STEM + suffix)
    with suppress(OSError), open(path, encoding="utf-8") as file:
        if file.read() == text:
            return path
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


async def _watch(session: Session, target: Launch, line: int | None, info: AdapterInfo) -> str:
    """Run the program as a user would; return what was seen. Raises _SmokeTestFailed."""
    await session.start(target)
    got = await wait_for_stop(session, {session: 0}, None)
    if session.root.backend is not None:
        _remember(info, session.root.backend)
    if got is None:
        raise _SmokeTestFailed(f"the program {_ended(session)} instead of stopping")
    member, stop = got
    seen = "stopped"
    if line is not None:
        frame = stop.thread.frame
        if frame is None or frame.line != line:
            raise _SmokeTestFailed(
                f"it stopped at line {frame.line if frame else '?'} instead of {line}"
            )
        value = await _answer(stop)
        if value != smoke_programs.VALUE:
            raise _SmokeTestFailed(
                f"{smoke_programs.VARIABLE} was {value or 'not visible'} instead of 42"
            )
        seen = f"stopped at a breakpoint, {smoke_programs.VARIABLE} = {value}"
    seen_before = seen_stops(session)
    await member.resume()
    if await wait_for_stop(session, seen_before, None) is not None:
        raise _SmokeTestFailed("it stopped again without a reason")
    exit = session.exit
    code = exit.code if exit is not None else None
    if line is not None and code != smoke_programs.EXIT_CODE:
        raise _SmokeTestFailed(f"the program {_ended(session)} instead of exiting with code 3")
    interpreter = session.backend.tool.interpreter if session.backend is not None else None
    with_what = f" ({interpreter})" if interpreter else ""
    return f"{seen}, exit code {code}{with_what}"


async def _answer(stop: StopState) -> str | None:
    """Return the text of the variable that every smoke program has."""
    view = stop.view
    values: list[Value] = [v for scope in view.scopes for v in scope.values] if view else []
    for value in values:
        if value.name.lstrip("$@%") == smoke_programs.VARIABLE:
            return value.text
    frames = await stop.frames(1)
    if not frames:
        return None
    found = await stop.backend.evaluate(smoke_programs.VARIABLE, stop.frame_id(0))
    return found.text


def _ended(session: Session) -> str:
    exit = session.exit
    if exit is None:
        return "ended"
    if exit.reason and exit.how == "lost":
        return f"was lost ({exit.reason})"
    if exit.signal:
        return f"was ended by {exit.signal}"
    return f"exited with code {exit.code}" if exit.code is not None else "ended"


# --- what is known of earlier trials --------------------------------------------------------------


def remembered(infos: tuple[AdapterInfo, ...]) -> tuple[AdapterInfo, ...]:
    """Return the debuggers with the capabilities of their last smoke test, unless they have changed
    since."""
    memory = _memory()
    known = {feature.value for feature in Feature}
    completed = []
    for info in infos:
        entry = memory.get(info.name)
        if isinstance(entry, dict) and info.found and entry.get("of") == _identity(info):
            had = {word for word in entry.get("can", ()) if word in known}
            can = tuple(each.value for each in Feature if each.value in had)
            cannot = tuple(each.value for each in Feature if each.value not in had)
            version = info.version or entry.get("version")
            info = replace(info, can=can, cannot=cannot, version=version)
        completed.append(info)
    return tuple(completed)


def _remember(info: AdapterInfo, backend: Backend) -> None:
    memory = _memory()
    memory[info.name] = {
        "of": _identity(info),
        "can": sorted(each.value for each in backend.features),
        # Some report their capabilities only once they run.
        "version": backend.tool.version,
    }
    path = os.path.join(paths.cache_dir(), _MEMORY)
    draft = f"{path}.new"
    # Without the cache, the list only lacks the capabilities.
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(memory, file)
        os.replace(draft, path)


def _memory() -> dict[str, object]:
    try:
        with open(os.path.join(paths.cache_dir(), _MEMORY), encoding="utf-8") as file:
            memory = json.load(file)
    except (OSError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}


def _identity(info: AdapterInfo) -> list[object]:
    """Return the cache key of a debugger: it changes with the version and the file."""
    try:
        age = os.stat(info.path or "").st_mtime_ns
    except OSError:
        age = 0
    return [info.path, age, info.version]
