"""A handler without a debugger: what the daemon's tests ask for, and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys

from freezeframe.config import Config
from freezeframe.daemon.ipc import ClientRequest
from freezeframe.daemon.server import Reply
from freezeframe.daemon.state import DaemonState, SessionRecord
from freezeframe.errors import NoSession


def _unblock() -> None:
    """As programs are started by the real one: the daemon holds signals back for itself."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


class Echo:
    def __init__(self, house: DaemonState, config: Config) -> None:
        self.house = house
        self.is_busy = False
        self.waiting = 0
        self.cancelled = 0

    async def argv(self, request: ClientRequest, reply: Reply) -> int:
        for note in self.house.take_notes():
            await reply.err(f"note: {note}\n")
        verb, *rest = request.argv or ("echo",)
        method = getattr(self, f"on_{verb}")
        status = await method(request, reply, *rest)
        return int(status or 0)

    async def on_echo(self, request: ClientRequest, reply: Reply, *words: str) -> None:
        await reply.out(" ".join(words) + "\n")

    async def on_facts(self, request: ClientRequest, reply: Reply, *words: str) -> None:
        facts = {
            "pid": self.house.pid,
            "cwd": request.cwd,
            "argv": request.argv,
            "env": request.env,
            "tty": [request.stdin_tty, request.stdout_tty, request.stderr_tty],
            "columns": request.columns,
            "waiting": self.waiting,
            "cancelled": self.cancelled,
            "loaded": sorted(sys.modules),
        }
        await reply.out(json.dumps(facts) + "\n")

    async def on_exit(self, request: ClientRequest, reply: Reply, status: str) -> int:
        await reply.err(f"leaving with {status}\n")
        return int(status)

    async def on_stdin(self, request: ClientRequest, reply: Reply) -> None:
        self.waiting += 1
        await reply.out(b"got " + await reply.read_stdin())

    async def on_flood(self, request: ClientRequest, reply: Reply, megabytes: str) -> None:
        for _ in range(int(megabytes)):
            await reply.out(b"x" * (1 << 20))

    async def on_wait(self, request: ClientRequest, reply: Reply) -> None:
        self.waiting += 1
        await reply.out("waiting\n")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1

    async def on_bug(self, request: ClientRequest, reply: Reply) -> None:
        raise ZeroDivisionError("a bug of ours")

    async def on_refuse(self, request: ClientRequest, reply: Reply) -> None:
        raise NoSession("there is no session here.", next="dbg start PROGRAM")

    async def on_busy(self, request: ClientRequest, reply: Reply) -> None:
        self.is_busy = True

    async def on_idle(self, request: ClientRequest, reply: Reply) -> None:
        self.is_busy = False

    async def on_spawn(self, request: ClientRequest, reply: Reply, *words: str) -> None:
        """Start a program with a child of its own, as a debuggee is; print both pids."""
        own = [word for word in words if word != "released"]
        script = own[0] if own else "sleep 300 & echo $$ $!; wait"
        process = subprocess.Popen(  # noqa: ASYNC220 - it returns at once
            ["sh", "-c", script],
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
            preexec_fn=_unblock,
        )
        assert process.stdout is not None
        pids = process.stdout.readline()
        self.house.track(process.pid)
        if "released" in words:
            self.house.release(process.pid)
        self.house.record([SessionRecord("app", "app.py", pid=process.pid, place="app.py:3")])
        self.is_busy = True
        await reply.out(pids)

    async def on_die(self, request: ClientRequest, reply: Reply) -> None:
        os._exit(7)

    async def on_leave(self, request: ClientRequest, reply: Reply) -> None:
        self.house.request_exit()
        await reply.out("leaving\n")

    async def call(self, request: dict[str, object]) -> dict[str, object]:
        command = request.get("command")
        if command == "wait":
            await asyncio.Event().wait()
        if command == "bug":
            raise ZeroDivisionError("a bug of ours")
        if command == "refuse":
            raise NoSession("there is no session here.", next="dbg start PROGRAM")
        return {"success": True, "result": request.get("args")}

    def busy(self) -> bool:
        return self.is_busy

    async def close(self) -> None:
        self.is_busy = False


def make(house: DaemonState, config: Config) -> Echo:
    return Echo(house, config)


def broken(house: DaemonState, config: Config) -> Echo:
    raise RuntimeError("this handler never starts")


def slow(house: DaemonState, config: Config) -> Echo:
    """Start only when the test has opened the FIFO that it put beside the socket."""
    with open(os.path.join(os.path.dirname(house.log_path), "daemon.log.go")) as gate:
        gate.read()
    return Echo(house, config)
