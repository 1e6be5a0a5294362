"""Resolve the arguments of `attach`: a process, a debug server, an app in a simulator."""

from __future__ import annotations

import asyncio

from freezeframe.backends import selection
from freezeframe.backends.transport import process_table
from freezeframe.errors import UsageError
from freezeframe.model.fast_dataclass import dataclass

from . import _launch_target
from ._context import Context

#: `--wait-for` without a name: another argument names the program
ALONE = ""


@dataclass(frozen=True, slots=True)
class AttachRequest:
    """The arguments of one `attach`."""

    where: str | None = None
    wait_for: str | None = None
    pid: int | None = None
    simulator: str | None = None
    bundle_id: str | None = None
    adapter: str | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class AttachTarget:
    """What to attach to, and with which debugger."""

    choice: selection.DebuggerChoice
    name: str
    pid: int | None = None
    host: str | None = None
    port: int | None = None
    remarks: tuple[str, ...] = ()
    simulator: str | None = None


async def resolve_attach_target(ctx: Context, request: AttachRequest) -> AttachTarget:
    """Return what to attach to. Raises NotFound or UsageError with the candidates."""
    env, config = ctx.caller.env, ctx.config
    if request.simulator is not None or request.bundle_id is not None:
        return await _in_simulator(ctx, request)
    ways = (request.where, request.wait_for, request.pid)
    if sum(way is not None for way in ways) != 1 or request.wait_for == ALONE:
        raise UsageError(
            "`attach` takes one of a process id, a name, HOST:PORT, --wait-for NAME, "
            "or --simulator NAME.",
            next="dbg attach PID",
        )
    pid, host, port = await _process_or_server(ctx, request)
    if pid is None:
        assert host is not None
        assert port is not None
        choice = selection.choose_for_server(
            host, port, name=request.adapter, env=env, config=config
        )
        return AttachTarget(choice, f"port-{port}", None, host, port)
    choice = selection.choose_for_pid(pid, name=request.adapter, env=env, config=config)
    label = _launch_target.name_of(choice.program) if choice.program else f"pid-{pid}"
    return AttachTarget(choice, label, pid)


async def _process_or_server(
    ctx: Context, request: AttachRequest
) -> tuple[int | None, str | None, int | None]:
    """Return a process id, or the host and port of a debug server."""
    if request.pid is not None:
        return request.pid, None, None
    where = request.where
    if where is None:
        assert request.wait_for is not None
        return (
            await process_table.wait_for(request.wait_for, _time_limit_s(ctx, request)),
            None,
            None,
        )
    host, colon, port = where.rpartition(":")
    if where.isdecimal():
        return int(where), None, None
    if colon and port.isdecimal() and 0 < int(port) < 65536:
        return None, host.strip("[]") or "127.0.0.1", int(port)
    if colon:
        raise UsageError(
            f"{where!r} is neither a process id nor HOST:PORT.", next="dbg attach 127.0.0.1:5678"
        )
    return process_table.one(where), None, None


def _time_limit_s(ctx: Context, request: AttachRequest) -> float:
    return ctx.config.timeouts.await_s if request.timeout is None else request.timeout


# --- simulators ---------------------------------------------------------------------------------


async def _in_simulator(ctx: Context, request: AttachRequest) -> AttachTarget:
    """Return the process of a simulator's app, by bundle id or process id."""
    env = ctx.caller.env
    names = [request.bundle_id, request.wait_for or None, None if request.pid else request.where]
    pid, ids = request.pid, [name for name in names if name is not None]
    if pid is None and not ids and ctx.config.defaults.bundle_id is not None:
        ids = [ctx.config.defaults.bundle_id]
    if pid is None and len(ids) == 1 and ids[0].isdecimal():
        pid, ids = int(ids[0]), []
    if (pid is not None) == (len(ids) == 1) or len(ids) > 1:
        raise UsageError(
            "`attach --simulator` takes one of --bundle-id ID and --pid PID.",
            next="dbg attach --simulator NAME --bundle-id ID",
        )
    if pid is not None and request.wait_for is not None:
        raise UsageError(
            f"process {pid} already runs: --wait-for needs --bundle-id ID.",
            next=f"dbg attach --simulator NAME --pid {pid}",
        )
    from freezeframe.backends import simulators  # on machines with Xcode only

    device = await simulators.find(request.simulator or ctx.config.defaults.simulator, env)
    if pid is None:
        wait_s = None if request.wait_for is None else _time_limit_s(ctx, request)
        pid = await simulators.process(device, ids[0], env, wait_s=wait_s)
    else:
        process_table.command_line(pid)  # raises if there is none
    # Finding a debugger may run xcrun.
    choice = await asyncio.to_thread(
        selection.choose_for_simulator, pid, name=request.adapter, env=env, config=ctx.config
    )
    app = ids[0] if ids else f"process {pid}"
    label = _launch_target.name_of(choice.program) if choice.program else app
    runs = f"{app} runs as pid {pid}" if ids else f"process {pid} runs"
    where = str(device)
    return AttachTarget(choice, label, pid, remarks=(f"{runs} on {where}",), simulator=where)
