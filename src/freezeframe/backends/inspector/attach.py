"""Find the inspector of a running program."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

from freezeframe.backends.transport import process_table, websocket
from freezeframe.errors import DebuggerError, DebuggerLost, NotFound, Unsupported

from . import agent_sessions
from .agent_sessions import MessageSocket, WaitingProcess
from .channel import InspectorChannel
from .runtime import Runtime


async def listening(pid: int, runtime: Runtime, timeout_s: float) -> tuple[str, int, bool]:
    """Return the host and port of a process's inspector, and whether we opened it.

    A process without an open inspector is sent SIGUSR1, on which the runtime opens it. Raises
    NotFound, Unsupported or DebuggerError.
    """
    argv = process_table.command_line(pid)
    program = os.path.basename(process_table.executable(pid) or (argv[0] if argv else ""))
    if not program.startswith(runtime.executables):
        # The signal would kill any other program.
        raise Unsupported(
            f"process {pid} runs {program or 'something unknown'}, not {runtime.name}.",
            next=f"dbg attach {pid}",
        )
    before = process_table.ports(pid)
    configured_port = _port_in(argv)
    port = runtime.port if configured_port is None else configured_port
    if port in before:
        return "127.0.0.1", port, False
    _refuse_taken(port, runtime)
    try:
        os.kill(pid, signal.SIGUSR1)
    except ProcessLookupError:
        raise NotFound(f"there is no process {pid}.", next="ps") from None
    except PermissionError:
        raise DebuggerError(
            f"process {pid} belongs to another user.", code="connect", next=f"sudo dbg attach {pid}"
        ) from None
    opened = await process_table.wait_for_port(pid, before, timeout_s)
    if opened is None:
        _refuse_taken(port, runtime)  # another process may have been faster
        raise DebuggerError(
            f"process {pid} did not open its inspector when it was asked to by SIGUSR1: "
            "it may handle that signal itself, or be busy in a call that never returns.",
            code="connect",
            next=f"{runtime.name} --inspect PROGRAM",
        )
    return "127.0.0.1", opened, True


def _refuse_taken(port: int, runtime: Runtime) -> None:
    """Raise DebuggerError if another process has the port; port 0 means any free one."""
    taken = process_table.listener(port) if port else None
    if taken is not None:
        raise DebuggerError(
            f"port {port}, where {runtime.name} would listen, is taken by {taken[1]} "
            f"(pid {taken[0]}).",
            code="connect",
            next=f"dbg attach 127.0.0.1:{port}",
        )


def _port_in(argv: list[str]) -> int | None:
    """Return the inspector port that a command line names."""
    for word in argv:
        name, equals, value = word.partition("=")
        if equals and name in ("--inspect", "--inspect-brk", "--inspect-port", "--inspect-wait"):
            port = value.rpartition(":")[2]
            if port.isdecimal():
                return int(port)
    return None


async def find(host: str, port: int, timeout_s: float) -> str:
    """Return the URL of the inspector behind a port. Raises DebuggerError."""
    listed = await websocket.fetch_json(host, port, "/json/list", timeout_s=timeout_s)
    for each in listed if isinstance(listed, list) else ():
        url = str(each.get("webSocketDebuggerUrl") or "") if isinstance(each, dict) else ""
        if url:
            # The URL has the address it listens on, which may not be reachable from here.
            path = url.partition("//")[2].partition("/")[2]
            shown = f"[{host}]" if ":" in host else host
            return f"ws://{shown}:{port}/{path}"
    raise DebuggerError(
        f"{host}:{port} has no program to debug, or another debugger is connected to it.",
        code="connect",
    )


async def move_to_agent(
    address: tuple[str, int, str], pid: int, name: str, timeout_s: float
) -> MessageSocket | None:
    """Return a session with an agent in the process, and close the inspector's port.

    While the port is open any user of the machine can debug the process, because it publishes its
    id. Return None, with the port still open, if no agent can be started. Bounded.
    """
    arrived: asyncio.Future[WaitingProcess] = asyncio.get_running_loop().create_future()

    def called(caller: WaitingProcess) -> None:
        if arrived.done() or caller.pid != pid:
            caller.socket.close()
        else:
            arrived.set_result(caller)

    listener = await agent_sessions.listen(called)
    socket = await websocket.connect(*address, timeout_s=timeout_s)
    lost = asyncio.Event()
    channel = InspectorChannel(
        socket,
        name=name,
        on_event=lambda event: None,
        on_lost=lambda error: lost.set(),
        tap=None,
        timeout_s=timeout_s,
    )
    try:
        code = agent_sessions.start_code(listener.path)
        options = {"includeCommandLineAPI": True, "silent": True}
        answer = await channel.request((), "Runtime.evaluate", {"expression": code, **options})
        if "exceptionDetails" in answer:
            return None
        async with asyncio.timeout(timeout_s):
            caller = await arrived
        # `_debugEnd` closes the connection before it answers; node 20 sometimes dies when we close
        # the connection at the same time.
        with contextlib.suppress(DebuggerLost):
            await channel.request((), "Runtime.evaluate", {"expression": "process._debugEnd()"})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await lost.wait()
        return caller.socket
    except (DebuggerError, TimeoutError):
        return None
    finally:
        channel.close()
        listener.close()
