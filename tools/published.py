"""The files by which hosts and registries find us: a plugin for Claude Code, and server.json.

They hold the version and the skill, so `tools/regen.py` writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from freezeframe import __version__
from freezeframe.ops._skill import NAME, skill_text

#: how a host starts the server where nothing is installed
RUNNER = ("uvx", NAME, "mcp")
#: our name in the registry of MCP servers: a namespace of the publisher's and a name
SERVER_NAME = f"io.github.{NAME}/{NAME}"
_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_SUMMARY = "The debugger that coding agents drive: one question, one call, one answer"
_PLUGIN = Path("plugins") / NAME


def files() -> dict[Path, str]:
    """Return path, from the root of the repository, and text of each file."""
    command, *arguments = RUNNER
    server = {"command": command, "args": arguments}
    return {
        Path(".claude-plugin/marketplace.json"): _json(_marketplace()),
        _PLUGIN / ".claude-plugin/plugin.json": _json(
            {"name": NAME, "version": __version__, "description": _SUMMARY, "license": "MIT"}
        ),
        _PLUGIN / ".mcp.json": _json({"mcpServers": {NAME: server}}),
        _PLUGIN / "skills" / NAME / "SKILL.md": skill_text(),
        Path("server.json"): _json(_registered()),
    }


def _marketplace() -> dict[str, Any]:
    plugin = {"name": NAME, "source": f"./{_PLUGIN.as_posix()}", "description": _SUMMARY}
    return {"name": NAME, "owner": {"name": "The Freezeframe authors"}, "plugins": [plugin]}


def _registered() -> dict[str, Any]:
    package = {
        "registryType": "pypi",
        "identifier": NAME,
        "version": __version__,
        "runtimeHint": RUNNER[0],
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": RUNNER[-1]}],
    }
    return {
        "$schema": _SCHEMA,
        "name": SERVER_NAME,
        "title": "Freezeframe",
        "description": _SUMMARY,
        "version": __version__,
        "packages": [package],
    }


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
