from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from backends.async_tests import on_loop, until
from freezeframe.backends.transport import streams, tcp, unix
from freezeframe.backends.transport.process import PIPE, Process
from freezeframe.backends.transport.streams import StdioStream, Stream
from freezeframe.errors import DebuggerError, DebuggerTimeout

PYTHON = [sys.executable, "-I", "-S", "-c"]


class Log:
    """What a stream delivered."""

    def __init__(self, stream: Stream) -> None:
        self.data = b""
        self.ends: list[str | None] = []
        stream.open(self._data, self.ends.append)

    def _data(self, data: bytes) -> None:
        assert not self.ends
        self.data += data


@on_loop
async def test_the_stdio_of_a_process_is_a_stream() -> None:
    process = Process.spawn(["cat"], stdin=PIPE, stdout=PIPE)
    stream = StdioStream(process)
    stream.write(b"before it was opened ")
    log = Log(stream)
    stream.write(b"and after")
    await until(lambda: log.data == b"before it was opened and after")
    assert "cat (pid " in stream.peer
    process.signal(9)
    await until(lambda: log.ends == [None])
    stream.write(b"to nobody")
    stream.close()
    stream.close()


@pytest.mark.parametrize("quick", [True, False])
@on_loop
async def test_both_ends_of_a_tcp_connection_are_streams(
    quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not quick:  # as on macOS
        monkeypatch.setattr(streams, "_TCP_QUICKACK", None)
    listener = await tcp.Listener.open()
    near = await tcp.dial(listener.host, listener.port, timeout_s=5)
    far = await listener.accept(timeout_s=5)
    near.write(b"early")
    log = Log(far)
    await until(lambda: log.data == b"early")
    back = Log(near)
    far.write(b"x" * 5_000_000)
    await until(lambda: len(back.data) == 5_000_000)
    far.close()
    await until(lambda: back.ends == [None])
    assert log.ends == []
    listener.close()


@on_loop
async def test_early_data_is_delivered_even_after_the_peer_closed() -> None:
    listener = await tcp.Listener.open()
    near = await tcp.dial(listener.host, listener.port, timeout_s=5)
    far = await listener.accept(timeout_s=5)
    near.write(b"last words")
    near.close()
    log = Log(far)
    await until(lambda: log.ends == [None])
    assert log.data == b"last words"
    listener.close()


@on_loop
async def test_several_connections_go_to_the_callback_in_turn() -> None:
    arrived: list[Stream] = []
    listener = await tcp.Listener.open(arrived.append)
    dialled = [await tcp.dial(listener.host, listener.port, timeout_s=5) for _ in range(3)]
    await until(lambda: len(arrived) == 3)
    listener.close()
    for stream in (*arrived, *dialled):
        stream.close()


@on_loop
async def test_a_listener_is_on_loopback_and_its_wait_is_bounded() -> None:
    listener = await tcp.Listener.open()
    assert listener.host == "127.0.0.1"
    with pytest.raises(DebuggerTimeout, match=f"port {listener.port}"):
        await listener.accept(timeout_s=0.02)
    listener.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the owners of sockets")
@on_loop
async def test_data_of_a_vanished_peer_is_not_trusted() -> None:
    # Another user who connects, writes and closes before we look cannot be recognized any more.
    arrived: list[Stream] = []
    listener = await tcp.Listener.open(arrived.append)
    stranger = socket.create_connection((listener.host, listener.port))
    stranger.sendall(b"do as I say")
    stranger.close()
    honest = await tcp.dial(listener.host, listener.port, timeout_s=5)
    await until(lambda: len(arrived) == 1)
    log = Log(arrived[0])
    honest.write(b"hello")
    await until(lambda: log.data == b"hello")
    listener.close()
    honest.close()


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="needs a second user to connect as"
)
@on_loop
async def test_a_connection_of_another_user_is_closed_unread() -> None:
    arrived: list[Stream] = []
    listener = await tcp.Listener.open(arrived.append)
    code = f"""
import os, socket
"loaded while we may read it".encode("idna")
os.setuid(65534)
s = socket.create_connection(("127.0.0.1", {listener.port}))
s.sendall(b"do as I say")
try:
    dropped = s.recv(1) == b""
except ConnectionResetError:
    dropped = True
raise SystemExit(0 if dropped else 1)
"""
    process = Process.spawn([*PYTHON, code])
    assert await process.wait(10) == 0
    assert arrived == []
    listener.close()


@on_loop
async def test_a_failed_dial_reports_the_reason() -> None:
    listener = await tcp.Listener.open()
    listener.close()
    for host in ("127.0.0.1", "localhost"):
        with pytest.raises(DebuggerError, match="nothing listens at") as caught:
            await tcp.dial(host, listener.port, timeout_s=5)
        assert caught.value.error_code == "connect"
    with pytest.raises(DebuggerTimeout, match="nothing answered"):
        await tcp.dial("127.0.0.1", listener.port, timeout_s=0.1, retry=True)


@on_loop
async def test_dialling_with_retry_waits_for_the_listener() -> None:
    # Bound from the beginning, so that no other process gets the port; it listens later.
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        dialling = asyncio.ensure_future(tcp.dial("127.0.0.1", port, timeout_s=10, retry=True))
        await asyncio.sleep(0)
        assert not dialling.done()
        server.listen()
        stream = await dialling
        stream.close()


SLOW_WRITER = """
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
f = s.makefile("rb")
for _ in range(20):
    f.read(1)
    s.send(b"header")
    s.send(b"body")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="TCP_QUICKACK is Linux's")
@on_loop
async def test_a_peer_that_sends_in_two_writes_costs_no_delayed_acknowledgement() -> None:
    listener = await tcp.Listener.open()
    process = Process.spawn([*PYTHON, SLOW_WRITER, str(listener.port)])
    stream = await listener.accept(timeout_s=10)
    data = bytearray()
    # The kernel clears the option when it sends: then it delays acknowledgements by 40 ms.
    quick: list[int] = []

    def on_data(received: bytes) -> None:
        data.extend(received)
        quick.append(stream.raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))

    stream.open(on_data, lambda reason: None)
    for turn in range(1, 21):
        stream.write(b"?")
        await until(lambda size=10 * turn: len(data) == size)  # type: ignore[misc]
    assert set(quick) == {1}
    await process.wait(5)
    listener.close()


@on_loop
async def test_unix_sockets_are_streams_in_a_directory_of_the_owner() -> None:
    listener = await unix.UnixListener.open()
    directory = Path(listener.path).parent
    assert directory.stat().st_mode & 0o777 == 0o700
    near = await unix.dial(listener.path, timeout_s=5)
    far = await listener.accept(timeout_s=5)
    log = Log(far)
    near.write(b"hello")
    await until(lambda: log.data == b"hello")
    near.close()
    await until(lambda: log.ends == [None])
    listener.close()
    assert not directory.exists()
    with pytest.raises(DebuggerError, match="there is no socket"):
        await unix.dial(listener.path, timeout_s=5)
