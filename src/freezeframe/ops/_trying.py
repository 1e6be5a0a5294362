"""Trying a debugger out: a real program is started, stopped, looked into and let end.

What a debugger turned out to be able to do is remembered beside its path and age, so that a list
of debuggers can tell it without starting any of them.
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
from freezeframe.backends import samples, select
from freezeframe.backends.backend import Backend, Feature, Launch
from freezeframe.errors import BuildFailed, FreezeframeError
from freezeframe.model.answers import AdapterInfo, Check
from freezeframe.model.places import Location
from freezeframe.model.values import Value
from freezeframe.session.breakpoints import Book, Wanted
from freezeframe.session.moment import Moment
from freezeframe.session.session import Session
from freezeframe.session.sources import Sources
from freezeframe.session.waiting import ticket, wait

from . import _programs
from ._context import Context

log = logging.getLogger(__name__)

#: for one debugger, from its start to the end of the program
_TRIAL_S = 60.0
_AT_ONCE = 3
_MEMORY = "debuggers.json"


class _Unlike(Exception):
    """The program did not do what it does without a debugger."""


async def trials(ctx: Context, infos: Sequence[AdapterInfo]) -> list[Check]:
    """Return how each debugger does, a few at one time."""
    few, building = asyncio.Semaphore(_AT_ONCE), asyncio.Lock()

    async def one(info: AdapterInfo) -> Check:
        async with few:
            return await trial(ctx, info, building)

    return list(await asyncio.gather(*map(one, infos)))


async def trial(ctx: Context, info: AdapterInfo, building: asyncio.Lock | None = None) -> Check:
    """Return how a debugger does: a stop at a breakpoint, a variable, the exit code.

    Never raises; ends within a minute, and leaves nothing behind. One program is built at a time:
    several debuggers share it.
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
    except _Unlike as unlike:
        detail = str(unlike)
    except BuildFailed as error:
        # Nothing is known of the debugger then.
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
    debugger = select.known(ctx.config)[info.name]
    sample = samples.program_for(debugger.languages, debugger.probe_program)
    if sample is None:
        return f"{info.path}; there is no program to try it with"
    suffix, text = sample
    source = _written(suffix, text)
    directory = os.path.dirname(source)
    elsewhere = replace(ctx, caller=replace(ctx.caller, cwd=directory))
    meant = await _programs.meant(
        elsewhere, source, (), module=False, interpreter=None, adapter=info.name
    )
    program, kind = meant.program, None
    if meant.recipe is not None:
        async with building:
            made = await _programs.built(elsewhere, meant.recipe, ctx.caller.env)
        program, kind = made.program, meant.recipe.kind
    choice = await asyncio.to_thread(
        select.choose,
        program,
        kind=kind,
        name=info.name,
        env=ctx.caller.env,
        config=ctx.config,
    )
    line = samples.stop_line(text)
    target = Launch(
        program,
        cwd=directory,
        env=ctx.caller.env,
        stop_on_entry=line is None,
        recipe=meant.recipe,
    )
    session = Session(
        "probe",
        book=Book(),
        config=ctx.config,
        sources=Sources(),
        make_backend=choice.make_backend(ctx.config),
        reason=choice.reason,
    )
    session.recorded = False
    if line is not None:
        session.book.add(Wanted(0, Location(file=source, line=line)))
    try:
        return await _watch(session, target, line, info)
    finally:
        await asyncio.shield(session.dispose())


def _written(suffix: str, text: str) -> str:
    """Return the program's file. It stays, so that what is built of it is built once."""
    directory = os.path.join(paths.cache_dir(), "probes", suffix.lstrip("."))
    os.makedirs(directory, mode=0o700, exist_ok=True)
    path = os.path.join(os.path.realpath(directory), samples.STEM + suffix)
    with suppress(OSError), open(path, encoding="utf-8") as file:
        if file.read() == text:
            return path
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


async def _watch(session: Session, target: Launch, line: int | None, info: AdapterInfo) -> str:
    """Run the program as a user would; return what was seen. Raises _Unlike."""
    await session.start(target)
    got = await wait(session, {session: 0}, None)
    if session.root.backend is not None:
        _remember(info, session.root.backend)
    if got is None:
        raise _Unlike(f"the program {_ended(session)} instead of stopping")
    member, moment = got
    seen = "stopped"
    if line is not None:
        frame = moment.thread.frame
        if frame is None or frame.line != line:
            raise _Unlike(f"it stopped at line {frame.line if frame else '?'} instead of {line}")
        value = await _answer(moment)
        if value != samples.VALUE:
            raise _Unlike(f"{samples.VARIABLE} was {value or 'not to be seen'} instead of 42")
        seen = f"stopped at a breakpoint, {samples.VARIABLE} = {value}"
    told = ticket(session)
    await member.resume()
    if await wait(session, told, None) is not None:
        raise _Unlike("it stopped once more although nothing asked for it")
    exit = session.exit
    code = exit.code if exit is not None else None
    if line is not None and code != samples.EXIT_CODE:
        raise _Unlike(f"the program {_ended(session)} instead of exiting with code 3")
    interpreter = session.backend.tool.interpreter if session.backend is not None else None
    with_what = f" ({interpreter})" if interpreter else ""
    return f"{seen}, exit code {code}{with_what}"


async def _answer(moment: Moment) -> str | None:
    """Return the text of the variable that every program has, however its language writes it."""
    view = moment.view
    values: list[Value] = [v for scope in view.scopes for v in scope.values] if view else []
    for value in values:
        if value.name.lstrip("$@%") == samples.VARIABLE:
            return value.text
    frames = await moment.frames(1)
    if not frames:
        return None
    found = await moment.backend.evaluate(samples.VARIABLE, moment.frame_id(0))
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
    """Return the debuggers with what they could do when they were tried last, if nothing about
    them has changed since."""
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
        # Some tell it only once they run.
        "version": backend.tool.version,
    }
    path = os.path.join(paths.cache_dir(), _MEMORY)
    draft = f"{path}.new"
    # A cache that cannot be written costs a line of a list.
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
    """Return what a debugger is known by: another version, or another file, is another one."""
    try:
        age = os.stat(info.path or "").st_mtime_ns
    except OSError:
        age = 0
    return [info.path, age, info.version]
