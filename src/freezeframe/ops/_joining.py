"""What the words of `attach` mean: a process, a debug server, an app in a simulator."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from freezeframe.backends import select
from freezeframe.backends.transport import processes
from freezeframe.errors import UsageError

from . import _programs
from ._context import Context

#: `--wait-for` that names nothing: what it waits for is named beside it
ALONE = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The words of one `attach`."""

    where: str | None = None
    wait_for: str | None = None
    pid: int | None = None
    simulator: str | None = None
    bundle_id: str | None = None
    adapter: str | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Meant:
    """What is to be joined, and by whom."""

    choice: select.Choice
    name: str
    pid: int | None = None
    host: str | None = None
    port: int | None = None
    remarks: tuple[str, ...] = ()


async def meant(ctx: Context, wanted: Wanted) -> Meant:
    """Return what the user wants to join. Raises NotFound or UsageError with what there is."""
    env, config = ctx.caller.env, ctx.config
    if wanted.simulator is not None or wanted.bundle_id is not None:
        return await _in_simulator(ctx, wanted)
    ways = (wanted.where, wanted.wait_for, wanted.pid)
    if sum(way is not None for way in ways) != 1 or wanted.wait_for == ALONE:
        raise UsageError(
            "`attach` takes one of a process id, a name, HOST:PORT, --wait-for NAME, "
            "or --simulator NAME.",
            next="dbg attach PID",
        )
    pid, host, port = await _process_or_server(ctx, wanted)
    if pid is None:
        assert host is not None
        assert port is not None
        choice = select.choose_for_server(host, port, name=wanted.adapter, env=env, config=config)
        return Meant(choice, f"port-{port}", None, host, port)
    choice = select.choose_for_pid(pid, name=wanted.adapter, env=env, config=config)
    label = _programs.name_of(choice.program) if choice.program else f"pid-{pid}"
    return Meant(choice, label, pid)


async def _process_or_server(
    ctx: Context, wanted: Wanted
) -> tuple[int | None, str | None, int | None]:
    """Return a process id, or the host and port of a debug server."""
    if wanted.pid is not None:
        return wanted.pid, None, None
    where = wanted.where
    if where is None:
        assert wanted.wait_for is not None
        return await processes.wait_for(wanted.wait_for, _patience_s(ctx, wanted)), None, None
    host, colon, port = where.rpartition(":")
    if where.isdecimal():
        return int(where), None, None
    if colon and port.isdecimal() and 0 < int(port) < 65536:
        return None, host.strip("[]") or "127.0.0.1", int(port)
    if colon:
        raise UsageError(
            f"{where!r} is neither a process id nor HOST:PORT.", next="dbg attach 127.0.0.1:5678"
        )
    return processes.one(where), None, None


def _patience_s(ctx: Context, wanted: Wanted) -> float:
    return ctx.config.timeouts.await_s if wanted.timeout is None else wanted.timeout


# --- simulators ---------------------------------------------------------------------------------


async def _in_simulator(ctx: Context, wanted: Wanted) -> Meant:
    """Return the process of an app, by its bundle id, or the one of a number."""
    env = ctx.caller.env
    names = [wanted.bundle_id, wanted.wait_for or None, None if wanted.pid else wanted.where]
    pid, ids = wanted.pid, [name for name in names if name is not None]
    if pid is None and len(ids) == 1 and ids[0].isdecimal():
        pid, ids = int(ids[0]), []
    if (pid is not None) == (len(ids) == 1) or len(ids) > 1:
        raise UsageError(
            "`attach --simulator` takes one of --bundle-id ID and --pid PID.",
            next="dbg attach --simulator NAME --bundle-id ID",
        )
    if pid is not None and wanted.wait_for is not None:
        raise UsageError(
            f"process {pid} is there already: only an app can be waited for, by --bundle-id ID.",
            next=f"dbg attach --simulator NAME --pid {pid}",
        )
    from freezeframe.backends import simulators  # on machines with Xcode only

    device = await simulators.find(wanted.simulator, env)
    if pid is None:
        wait_s = None if wanted.wait_for is None else _patience_s(ctx, wanted)
        pid = await simulators.process(device, ids[0], env, wait_s=wait_s)
    else:
        processes.command_line(pid)  # there must be one
    # Finding a debugger may start Xcode's own finder.
    choice = await asyncio.to_thread(
        select.choose_for_simulator, pid, name=wanted.adapter, env=env, config=ctx.config
    )
    app = ids[0] if ids else f"process {pid}"
    label = _programs.name_of(choice.program) if choice.program else app
    runs = f"{app} runs as pid {pid}" if ids else f"process {pid} runs"
    return Meant(choice, label, pid, remarks=(f"{runs} on {device}",))
