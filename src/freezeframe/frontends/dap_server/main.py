"""`dbg dap`: a separate process, started by an editor or at a terminal, a client of the daemon."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from contextlib import suppress
from typing import NoReturn

from freezeframe import loopback_peers
from freezeframe.errors import UsageError, UserError
from freezeframe.frontends import cli_ops, help
from freezeframe.frontends.daemon_client import DaemonClient
from freezeframe.frontends.own_process import run_and_exit
from freezeframe.frontends.parser import parse

from .connection import EditorConnection
from .editor import Editor

assert cli_ops  # declares operations

HOST = "127.0.0.1"
#: an operation that waits for nothing may still build a program first
_LIMIT_S = 3600.0


def main(argv: list[str]) -> NoReturn:
    """Serve with the options of *argv*, and end the process."""
    run_and_exit(run, argv)


def run(argv: list[str]) -> int:
    """Return the exit status after the editor has disconnected. Raises FreezeframeError."""
    parsed = parse(argv)
    if parsed.globals.help or parsed.op is None:
        sys.stdout.write(help.page(["dap"]))
        return 0
    port = parsed.kwargs.get("port")
    if port is not None and not 0 <= port < 65536:
        raise UsageError(f"--port takes a port, not {port}.", next="dbg dap --port 0")
    asyncio.run(_serve_stdio() if port is None else _serve_port(port))
    return 0


def _client() -> DaemonClient:
    try:
        cwd = os.getcwd()
    except OSError:  # the directory was removed
        cwd = os.path.expanduser("~")
    return DaemonClient(cwd, dict(os.environ), limit_s=_LIMIT_S, budget=None)


async def _serve_stdio() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await _serve(EditorConnection(reader, _StandardOutput()), token=None)


class _StandardOutput:
    """Standard output as something to write messages to.

    It may be a file, which an event loop cannot wait for; an editor reads what it is sent.
    """

    def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    async def drain(self) -> None:
        return None

    def close(self) -> None:
        with suppress(OSError, ValueError):
            sys.stdin.close()


async def _serve_port(port: int) -> None:
    """Serve every editor of this user that connects, each with a session of its own."""
    # Where the system does not tell whose a connection is, a token does.
    token = None if loopback_peers.lists_owners() else secrets.token_urlsafe(32)

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not loopback_peers.is_from(writer.get_extra_info("socket"), {loopback_peers.own_user()}):
            writer.close()
            return
        await _serve(EditorConnection(reader, writer), token)

    try:
        server = await asyncio.start_server(accepted, HOST, port)
    except OSError as error:
        raise UserError(
            f"port {port} cannot be used: {os.strerror(error.errno or 0)}.",
            code="port",
            next="dbg dap --port 0",
        ) from None
    print(server.sockets[0].getsockname()[1], flush=True)
    if token is not None:
        print(f"token: {token}", flush=True)
    async with server:
        await server.serve_forever()


async def _serve(connection: EditorConnection, token: str | None) -> None:
    daemon = _client()
    try:
        await Editor(connection, daemon, token).serve()
    finally:
        daemon.close()
