"""Finding the inspector of a program that runs already."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

from freezeframe.backends.transport import processes, websocket
from freezeframe.errors import DebuggerError, DebuggerLost, NotFound, Unsupported

from . import agent
from .agent import Caller, MessageSocket
from .runtime import Runtime
from .wire import Wire


async def listening(pid: int, runtime: Runtime, timeout_s: float) -> tuple[str, int, bool]:
    """Return where a process's inspector listens, and whether it was we who opened it.

    A process that has none yet is asked by a signal, as the runtime provides for.
    Raises NotFound, Unsupported or DebuggerError.
    """
    words = processes.command_line(pid)
    program = os.path.basename(processes.executable(pid) or (words[0] if words else ""))
    if not program.startswith(runtime.executables):
        # The signal would end any other program.
        raise Unsupported(
            f"process {pid} runs {program or 'something unknown'}, not {runtime.name}.",
            next=f"dbg attach {pid}",
        )
    before = processes.ports(pid)
    named = _asked_for(words)
    wanted = runtime.port if named is None else named
    if wanted in before:
        return "127.0.0.1", wanted, False
    _refuse_taken(wanted, runtime)
    try:
        os.kill(pid, signal.SIGUSR1)
    except ProcessLookupError:
        raise NotFound(f"there is no process {pid}.", next="ps") from None
    except PermissionError:
        raise DebuggerError(
            f"process {pid} belongs to another user.", code="connect", next=f"sudo dbg attach {pid}"
        ) from None
    opened = await processes.wait_for_port(pid, before, timeout_s)
    if opened is None:
        _refuse_taken(wanted, runtime)  # another one may have been faster
        raise DebuggerError(
            f"process {pid} did not open its inspector when it was asked to by SIGUSR1: "
            "it may handle that signal itself, or be busy in a call that never returns.",
            code="connect",
            next=f"{runtime.name} --inspect PROGRAM",
        )
    return "127.0.0.1", opened, True


def _refuse_taken(port: int, runtime: Runtime) -> None:
    """Raise DebuggerError when somebody else has the port; 0 is whichever is free."""
    taken = processes.listener(port) if port else None
    if taken is not None:
        raise DebuggerError(
            f"port {port}, where {runtime.name} would listen, is taken by {taken[1]} "
            f"(pid {taken[0]}).",
            code="connect",
            next=f"dbg attach 127.0.0.1:{port}",
        )


def _asked_for(words: list[str]) -> int | None:
    """Return the port that a command line names for the inspector."""
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in ("--inspect", "--inspect-brk", "--inspect-port", "--inspect-wait"):
            port = value.rpartition(":")[2]
            if port.isdecimal():
                return int(port)
    return None


async def find(host: str, port: int, timeout_s: float) -> str:
    """Return the address of the inspector behind a port. Raises DebuggerError."""
    listed = await websocket.fetch_json(host, port, "/json/list", timeout_s=timeout_s)
    for each in listed if isinstance(listed, list) else ():
        url = str(each.get("webSocketDebuggerUrl") or "") if isinstance(each, dict) else ""
        if url:
            # It names itself by the address that it listens on, which may not be the way to it.
            path = url.partition("//")[2].partition("/")[2]
            shown = f"[{host}]" if ":" in host else host
            return f"ws://{shown}:{port}/{path}"
    raise DebuggerError(
        f"{host}:{port} has no program to debug, or another debugger is connected to it.",
        code="connect",
    )


async def move_to_agent(
    where: tuple[str, int, str], pid: int, name: str, timeout_s: float
) -> MessageSocket | None:
    """Return a session with an agent in the process, and close the inspector's port.

    While the port is open any user of the machine can debug the process, since it hands out its id.
    None, and the port still open, where no agent can be had. Bounded.
    """
    arrived: asyncio.Future[Caller] = asyncio.get_running_loop().create_future()

    def called(caller: Caller) -> None:
        if arrived.done() or caller.pid != pid:
            caller.socket.close()
        else:
            arrived.set_result(caller)

    listener = await agent.listen(called)
    socket = await websocket.connect(*where, timeout_s=timeout_s)
    lost = asyncio.Event()
    wire = Wire(
        socket,
        name=name,
        on_event=lambda event: None,
        on_lost=lambda error: lost.set(),
        tap=None,
        timeout_s=timeout_s,
    )
    try:
        code = agent.start_code(listener.path)
        options = {"includeCommandLineAPI": True, "silent": True}
        answer = await wire.request((), "Runtime.evaluate", {"expression": code, **options})
        if "exceptionDetails" in answer:
            return None
        async with asyncio.timeout(timeout_s):
            caller = await arrived
        # It ends the connection, answer and all; node 20 dies at times when we end it at the same
        # moment.
        with contextlib.suppress(DebuggerLost):
            await wire.request((), "Runtime.evaluate", {"expression": "process._debugEnd()"})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await lost.wait()
        return caller.socket
    except (DebuggerError, TimeoutError):
        return None
    finally:
        wire.close()
        listener.close()
