"""The commands by which agent hosts add an MCP server to the user's configuration themselves.

A host's own command knows where its version keeps the servers. It is run where the host's program
is installed and has no entry for us yet; an entry that no longer works is corrected in its file,
because the commands refuse a name that exists.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable

from freezeframe.backends.transport.run_command import run
from freezeframe.errors import FreezeframeError, UserError

from ._agent_hosts import HostEnvironment, look, server
from ._host_table import AgentHost, McpServer
from ._skill import NAME

#: some hosts start a runtime of their own for it
_COMMAND_S = 60.0


def _assignments(server: McpServer, option: str) -> list[str]:
    return [word for key, value in server.env.items() for word in (option, f"{key}={value}")]


def _claude(server: McpServer) -> list[str]:
    # `--env` takes several values: it must not come right before the name.
    before = ["mcp", "add", "--scope", "user", NAME, *_assignments(server, "--env")]
    return [*before, "--", server.command, *server.args]


def _vscode(server: McpServer) -> list[str]:
    entry = {"name": NAME, "command": server.command, "args": list(server.args)}
    return ["--add-mcp", json.dumps({**entry, "env": dict(server.env)} if server.env else entry)]


def _gemini(server: McpServer) -> list[str]:
    before = ["mcp", "add", "--scope", "user", *_assignments(server, "-e")]
    return [*before, NAME, server.command, *server.args]


#: host → the arguments of its program
COMMANDS: dict[str, Callable[[McpServer], list[str]]] = {
    "claude": _claude,
    "vscode": _vscode,
    "gemini": _gemini,
}


def command_for(host: AgentHost, environment: HostEnvironment) -> list[str] | None:
    """Return the host's command that adds us for the user; None if its file is to be edited."""
    arguments = COMMANDS.get(host.name)
    path = environment.env.get("PATH", os.defpath)
    program = shutil.which(host.programs[0], path=path) if arguments is not None else None
    if arguments is None or program is None:
        return None
    if look(host, environment.config(host, project=False), environment).state != "absent":
        return None
    entry = server(environment, project=False)
    if host.name == "gemini" and any(each.startswith("-") for each in entry.args):
        return None  # it would read them as its own options
    return [program, *arguments(entry)]


async def run_command(
    host: AgentHost,
    command: list[str],
    environment: HostEnvironment,
    *,
    timeout_s: float = _COMMAND_S,
) -> None:
    """Run the host's command. Raises UserError with the command to type if it adds nothing."""
    typed = shlex.join([host.programs[0], *command[1:]])
    try:
        ran = await run(command, cwd=environment.root, env=environment.env, timeout_s=timeout_s)
    except FreezeframeError as error:
        raise UserError(error.message, code="by-hand", next=typed) from None
    lines = (ran.err.strip() or ran.out.strip()).splitlines()
    why = f": {lines[-1].strip().rstrip('.')}" if lines else ""
    if ran.status:
        message = f"{host.programs[0]} exited with status {ran.status}{why}."
        raise UserError(message, code="by-hand", next=typed)
    path = environment.config(host, project=False)
    if look(host, path, environment).state != "works":
        message = f"{host.programs[0]} reported no error, but {path} has no working entry{why}."
        raise UserError(message, code="by-hand", next=typed)
