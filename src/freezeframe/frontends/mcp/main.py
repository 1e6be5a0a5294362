"""`dbg mcp`: a separate process, started by an agent host, that is a client of the daemon."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
from types import ModuleType
from typing import Any, NoReturn

from freezeframe.errors import UsageError, UserError
from freezeframe.frontends import cli_ops, help
from freezeframe.frontends.own_process import run_and_exit
from freezeframe.frontends.parser import parse

assert cli_ops  # declares operations

TOKEN_VARIABLE = "FREEZEFRAME_MCP_TOKEN"
HOST = "127.0.0.1"


def main(argv: list[str]) -> NoReturn:
    """Serve with the options of *argv*, and end the process."""
    run_and_exit(run, argv)


def run(argv: list[str]) -> int:
    """Return the exit status after the client has disconnected. Raises FreezeframeError."""
    parsed = parse(argv)
    if parsed.globals.help or parsed.op is None:
        sys.stdout.write(help.page(["mcp"]))
        return 0
    options = parsed.kwargs
    port = options.get("http")
    if port is not None and not 0 < port < 65536:
        raise UsageError(f"--http takes a port, not {port}.", next="dbg mcp --http 8765")
    modes = {
        "structured": bool(options.get("structured")),
        "for_suite": bool(options.get("conformance")),
    }
    asyncio.run(_serve(options.get("tools") == "all", port, parsed.globals.budget, modes))
    return 0


async def _serve(
    all_tools: bool, port: int | None, budget: int | None, modes: dict[str, bool]
) -> None:
    mcp = _load_server()
    from freezeframe.frontends.daemon_client import DaemonClient

    from .tools import tools

    daemon = DaemonClient(_directory(), dict(os.environ), budget=budget)
    server: Any = mcp.make_server(daemon, tools(all=all_tools), budget=budget, **modes)
    try:
        if port is None:
            await mcp.serve_stdio(server)
            return
        token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(32)
        with _listen(port) as listener:
            sys.stderr.write(f"http://{HOST}:{port}/mcp\nAuthorization: Bearer {token}\n")
            sys.stderr.flush()
            await mcp.serve_http(server, listener, token)
    finally:
        daemon.close()


def _load_server() -> ModuleType:
    """Import and return the server's module, and with it the package `mcp`.

    The package has hundreds of pydantic models, of which a client uses a few: each is built on
    first use, and the garbage collector is off during the import.
    """
    import gc

    import pydantic

    gc.disable()
    pydantic.BaseModel.model_config["defer_build"] = True
    try:
        from . import server
    finally:
        gc.enable()
    gc.freeze()
    return server


def _listen(port: int) -> socket.socket:
    """Return a listening socket on the loopback interface. Raises UserError."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise UserError(
            f"port {port} cannot be used: {os.strerror(error.errno or 0)}.",
            code="port",
            next=f"dbg mcp --http {port + 1 if port < 65535 else 8765}",
        ) from None


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # the directory was removed
        return os.path.expanduser("~")
