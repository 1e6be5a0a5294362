"""What the live page shows: the sessions of a workspace, and what is new of one run."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Annotated, Any

from freezeframe.errors import NotFound
from freezeframe.model.answers import Text
from freezeframe.session.session import Session

from ._context import Context
from ._registry import Arg, op

if TYPE_CHECKING:
    from freezeframe.history.queries import FoundRun

#: stops in one answer: a long run comes in parts
_MOST_STOPS = 500
#: A wait ends by then, so that the control of the page is renewed in time.
_WAIT_S = 10.0
_LISTED_RUNS = 200


@op("live", group="history", control=True, hidden=True, example="live")
async def live(
    ctx: Context,
    *,
    run: Annotated[int, Arg("number of the shown run; 0: none")] = 0,
    stops: Annotated[int, Arg("stops of it that are known")] = 0,
    pieces: Annotated[int, Arg("pieces of its output that are known")] = 0,
    commands: Annotated[int, Arg("cursor of the commands that are known")] = 0,
    daemon: Annotated[int, Arg("pid of the daemon that these are of")] = 0,
    version: Annotated[int, Arg("wait until more than this is known")] = 0,
) -> Text:
    """Return the state of the sessions and what is new of a run, as JSON for the page.

    Waits while nothing is new. Renews the control that the caller has of sessions.
    """
    recorder = ctx.history.recorder
    _renew(ctx)
    if daemon != ctx.daemon.pid:
        commands = version = 0
    limit_s = min(_WAIT_S, ctx.config.timeouts.control_s / 3)
    deadline = time.monotonic() + limit_s
    while version >= recorder.version and (left_s := deadline - time.monotonic()) > 0:
        await recorder.published.wait(left_s)
    now = recorder.version
    _renew(ctx)
    await _number_runs(ctx)
    state: dict[str, Any] = {
        "daemon": ctx.daemon.pid,
        "version": now,
        "workspace": ctx.workspace.root,
        "sessions": [
            _session(ctx, member)
            for root in ctx.workspace.sessions.values()
            for member in root.tree()
        ],
        "breakpoints": [_breakpoint(ctx, entry) for entry in ctx.workspace.breakpoints],
        "commands": [_command(entry) for entry in ctx.workspace.commands.since(commands)],
        "known": ctx.workspace.commands.end,
        "run": None,
    }
    if version == 0 or any(each["state"] == "terminated" for each in state["sessions"]):
        state["runs"] = await _runs(ctx)
    found = await _found(ctx, run) if run else None
    if found is not None:
        state["run"] = await _part(ctx, found, stops, pieces)
    return Text(await asyncio.to_thread(_encode, state), whole=True)


@op("live source", group="history", control=True, hidden=True, example="live source 3 app.py")
async def live_source(
    ctx: Context,
    run: Annotated[int, Arg("number of the run")],
    file: Annotated[str, Arg("the file, as the stops of the run name it")],
) -> Text:
    """Return the recorded text of a file."""
    found = await _found(ctx, run)
    text = None if found is None else await ctx.history.source(found, file)
    if text is None:
        raise NotFound(f"the text of {file} was not recorded.", next="dbg sessions --all")
    return Text(text, whole=True)


def _encode(state: dict[str, Any]) -> str:
    return json.dumps(state, ensure_ascii=True, separators=(",", ":"))


def _renew(ctx: Context) -> None:
    if ctx.caller.owner is not None:
        for root in ctx.workspace.sessions.values():
            root.control.renew(ctx.caller.owner.id)


async def _number_runs(ctx: Context) -> None:
    """Give each live session a run that can be shown, also before its first stop."""
    live = [each for root in ctx.workspace.sessions.values() for each in root.tree() if each.live]
    rows = [ctx.history.recorder.run_of(each) for each in live]
    if any(row is not None and row.number is None for row in rows):
        ctx.history.recorder.save_messages()
        await ctx.history.runs(ctx.workspace.root)  # what was put into the store before is done


async def _found(ctx: Context, number: int) -> FoundRun | None:
    try:
        return await ctx.history.find(ctx.workspace.root, f"#{number}", whole=False)
    except NotFound:
        return None


async def _part(ctx: Context, found: FoundRun, stops: int, pieces: int) -> dict[str, Any]:
    from freezeframe.history import html_export
    from freezeframe.history.queries import RunPart

    part = RunPart(stops, pieces, _MOST_STOPS, sources=False)
    recording = await ctx.history.recording(found, ctx.workspace.root, part)
    data = await asyncio.to_thread(html_export.run_data, recording)
    del data["sources"]
    return {
        **data,
        "before": stops,
        "pieces": pieces + len(recording.output),
        "more": len(recording.stops) == _MOST_STOPS,
    }


async def _runs(ctx: Context) -> list[dict[str, Any]]:
    from freezeframe.history.event_log import describe_exit

    recorded = await ctx.history.runs(ctx.workspace.root)
    return [
        {
            "number": run.number,
            "name": run.name,
            "label": run.label,
            "started": run.started,
            "stops": run.stops,
            "live": run.live,
            "exit": describe_exit(run.exit) if run.exit is not None else None,
        }
        for run in reversed(recorded[-_LISTED_RUNS:])
    ]


def _session(ctx: Context, session: Session) -> dict[str, Any]:
    info = ctx.hub.info(session, ctx.workspace, time.time())
    row = ctx.history.recorder.run_of(session)
    owner, caller = session.control.owner, ctx.caller.owner
    from freezeframe.history.event_log import describe_exit

    return {
        "name": info.name,
        "root": session.root.name,
        "state": info.state,
        "program": info.program,
        "pid": info.pid,
        "debugger": info.debugger,
        "current": info.current,
        "location": info.place,
        "function": info.function,
        "reason": info.reason,
        "exit": describe_exit(info.exit) if info.exit is not None else None,
        "run": row.number if row is not None else None,
        "stop": session.stop_number,
        "features": sorted(str(each.value) for each in session.backend.features)
        if session.backend is not None
        else [],
        "owner": str(owner) if owner is not None else None,
        "own": owner is not None and caller is not None and owner.id == caller.id,
    }


def _breakpoint(ctx: Context, entry: Any) -> dict[str, Any]:
    shown = ctx.workspace.describe(entry)
    bound = next(
        (b for s in ctx.workspace.live_sessions() if (b := s.bound_breakpoints.get(entry.id))), None
    )
    return {
        "id": entry.id,
        "file": (bound.path if bound else None) or entry.location.file,
        "line": (bound.line if bound else None) or entry.location.line,
        "location": str(entry.location),
        "enabled": entry.enabled,
        "condition": entry.condition,
        "log": entry.log,
        "verified": bool(getattr(shown, "verified", True)),
    }


def _command(entry: Any) -> dict[str, Any]:
    return {
        "number": entry.number,
        "at": entry.at,
        "caller": entry.caller,
        "text": entry.text,
        "session": entry.session,
        "ok": entry.ok,
        "answer": entry.answer,
        "took": entry.took_s,
    }
