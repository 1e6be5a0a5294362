"""Another user of the machine reaches for the ports of debuggers, and gets nothing."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from freezeframe.backends.transport.tcp import Listener, dial
from freezeframe.errors import DebuggerError, DebuggerTimeout
from harness.users import STRANGER, is_root, run_as

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can become two users")


@contextmanager
def port_of(uid: int) -> Iterator[int]:
    """A port of the loopback interface that a process of *uid*'s listens at."""
    read, write = os.pipe()
    stop, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(end)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            os.write(write, str(server.getsockname()[1]).encode())
            os.read(stop, 1)
        os._exit(0)
    os.close(stop)
    yield int(os.read(read, 16))
    for fd in (end, read, write):
        os.close(fd)
    os.waitpid(pid, 0)


def test_a_debugger_s_port_that_another_user_took_or_called_first_is_not_spoken_to():
    async def reach(port: int) -> None:
        stream = await dial("127.0.0.1", port, timeout_s=5, retry=True, own=True)
        stream.close()

    with (
        port_of(STRANGER) as port,
        pytest.raises(DebuggerError, match="another user listens there"),
    ):
        asyncio.run(reach(port))
    with port_of(os.geteuid()) as port:
        asyncio.run(reach(port))
        os.seteuid(STRANGER)  # a socket is whose it was made by
        try:
            caller = socket.create_connection(("127.0.0.1", port), timeout=10)
        finally:
            os.seteuid(0)
        with caller, pytest.raises(DebuggerError, match="another user has connected"):
            asyncio.run(reach(port))


def test_another_user_who_calls_our_port_first_is_dropped_and_hears_nothing():
    async def listen() -> bytes:
        listener = await Listener.open()

        def call() -> bytes:
            with socket.create_connection(("127.0.0.1", listener.port), timeout=10) as caller:
                caller.sendall(b"Content-Length: 2\r\n\r\n{}")
                return b"heard " + caller.recv(100)

        try:
            heard = await asyncio.to_thread(run_as, STRANGER, lambda: _quietly(call))
            with pytest.raises(DebuggerTimeout):
                await listener.accept(timeout_s=0.05)
            accepting = asyncio.ensure_future(listener.accept(timeout_s=10))
            ours = socket.create_connection(("127.0.0.1", listener.port))
            (await accepting).close()
            ours.close()
            return heard
        finally:
            listener.close()

    assert asyncio.run(listen()) in (b"heard ", b"reset")


def _quietly(call) -> bytes:
    try:
        return call()
    except ConnectionResetError:
        return b"reset"
