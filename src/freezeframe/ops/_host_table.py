"""The agent hosts: where each keeps its MCP servers and its skills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from freezeframe.model.fast_dataclass import dataclass

from ._skill import NAME

#: variables that choose a program's runtime and libraries, and the directory of our socket
_HANDED_ON = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "NODE_PATH", "JAVA_HOME", "GOPATH", "GOROOT"),
    *("CARGO_HOME", "RUSTUP_HOME", "GEM_HOME", "LD_LIBRARY_PATH", "XDG_RUNTIME_DIR"),
)


@dataclass(frozen=True, slots=True)
class McpServer:
    """The command that starts `dbg mcp`."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


def _plain(server: McpServer) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": server.command, "args": list(server.args)}
    return {**entry, "env": dict(server.env)} if server.env else entry


def _typed(server: McpServer) -> dict[str, Any]:
    return {"type": "stdio", **_plain(server)}


def _all_tools(server: McpServer) -> dict[str, Any]:
    return {"type": "local", **_plain(server), "tools": ["*"]}


def _patient(server: McpServer) -> dict[str, Any]:
    # Codex ends a server that is not ready within 10 s and a call after 60 s, and hands on few
    # variables; without these a program runs in another environment than in the user's shell.
    return {
        **_plain(server),
        "startup_timeout_sec": 30,
        "tool_timeout_sec": 120,
        "env_vars": list(_HANDED_ON),
    }


def _extension(server: McpServer) -> dict[str, Any]:
    return {
        "enabled": True,
        "type": "stdio",
        "name": NAME,
        "cmd": server.command,
        "args": list(server.args),
        "envs": dict(server.env),
        "timeout": 300,
    }


def _one_list(server: McpServer) -> dict[str, Any]:
    entry = {"type": "local", "command": [server.command, *server.args]}
    return {**entry, "environment": dict(server.env)} if server.env else entry


@dataclass(frozen=True, slots=True)
class AgentHost:
    """One agent host. Of several paths, the first whose variables are set is used."""

    name: str
    title: str
    #: the user's configuration, and that of a project, relative to the project's root
    user: tuple[str, ...]
    project: str | None = None
    #: the object in the configuration that holds the servers
    key: tuple[str, ...] = ("mcpServers",)
    entry: Callable[[McpServer], dict[str, Any]] = _plain
    #: other objects that may hold servers; `{root}` is the project's root
    also: tuple[str, ...] = ()
    #: directories of skills, for the user and in a project
    user_skills: tuple[str, ...] = ()
    project_skills: str | None = None
    #: programs and directories that show that the host is installed
    programs: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    #: the same of a later version of the host: used where the file has it
    newer_key: tuple[str, ...] | None = None
    #: set up by its name only; nothing shows that it is installed
    named_only: bool = False


#: `~`, variables, and `{support}`: the platform's directory for application data
HOSTS: dict[str, AgentHost] = {
    host.name: host
    for host in (
        AgentHost(
            "claude",
            "Claude Code",
            user=("$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json"),
            project=".mcp.json",
            entry=_typed,
            also=("projects", "{root}", "mcpServers"),
            user_skills=("$CLAUDE_CONFIG_DIR/skills", "~/.claude/skills"),
            project_skills=".claude/skills",
            programs=("claude",),
            evidence=("~/.claude",),
        ),
        AgentHost(
            "claude-desktop",
            "Claude Desktop",
            user=("{support}/Claude/claude_desktop_config.json",),
            evidence=("{support}/Claude",),
        ),
        AgentHost(
            "codex",
            "Codex",
            user=("$CODEX_HOME/config.toml", "~/.codex/config.toml"),
            project=".codex/config.toml",
            key=("mcp_servers",),
            entry=_patient,
            user_skills=("~/.agents/skills",),
            project_skills=".agents/skills",
            programs=("codex",),
            evidence=("$CODEX_HOME", "~/.codex"),
        ),
        AgentHost(
            "cursor",
            "Cursor",
            user=("~/.cursor/mcp.json",),
            project=".cursor/mcp.json",
            user_skills=("~/.cursor/skills",),
            project_skills=".cursor/skills",
            programs=("cursor", "cursor-agent"),
            evidence=("~/.cursor",),
        ),
        AgentHost(
            "vscode",
            "VS Code",
            user=("{support}/Code/User/mcp.json",),
            project=".vscode/mcp.json",
            key=("servers",),
            entry=_typed,
            user_skills=("~/.copilot/skills",),
            project_skills=".github/skills",
            programs=("code",),
            evidence=("{support}/Code",),
        ),
        AgentHost(
            "copilot",
            "Copilot CLI",
            user=("$COPILOT_HOME/mcp-config.json", "~/.copilot/mcp-config.json"),
            project=".github/mcp.json",
            entry=_all_tools,
            user_skills=("$COPILOT_HOME/skills", "~/.copilot/skills"),
            project_skills=".github/skills",
            programs=("copilot",),
            evidence=("~/.copilot",),
        ),
        AgentHost(
            "gemini",
            "Gemini CLI",
            user=("~/.gemini/settings.json",),
            project=".gemini/settings.json",
            user_skills=("~/.gemini/skills",),
            project_skills=".gemini/skills",
            programs=("gemini",),
            evidence=("~/.gemini",),
        ),
        AgentHost(
            "kiro",
            "Kiro",
            user=("~/.kiro/settings/mcp.json",),
            project=".kiro/settings/mcp.json",
            user_skills=("~/.kiro/skills",),
            project_skills=".kiro/skills",
            programs=("kiro", "kiro-cli"),
            evidence=("~/.kiro",),
        ),
        AgentHost(
            "opencode",
            "OpenCode",
            user=("$XDG_CONFIG_HOME/opencode/opencode.json", "~/.config/opencode/opencode.json"),
            project="opencode.json",
            key=("mcp",),
            newer_key=("mcp", "servers"),
            entry=_one_list,
            user_skills=("$XDG_CONFIG_HOME/opencode/skills", "~/.config/opencode/skills"),
            project_skills=".opencode/skills",
            programs=("opencode",),
            evidence=("$XDG_CONFIG_HOME/opencode", "~/.config/opencode"),
        ),
        AgentHost(
            "opencode-v2",
            "OpenCode 2",
            user=("$XDG_CONFIG_HOME/opencode/opencode.json", "~/.config/opencode/opencode.json"),
            project="opencode.json",
            key=("mcp", "servers"),
            entry=_one_list,
            user_skills=("$XDG_CONFIG_HOME/opencode/skills", "~/.config/opencode/skills"),
            project_skills=".opencode/skills",
            named_only=True,
        ),
        AgentHost(
            "windsurf",
            "Windsurf (before it became Devin Desktop)",
            user=("~/.codeium/windsurf/mcp_config.json",),
            user_skills=("~/.codeium/windsurf/skills",),
            project_skills=".windsurf/skills",
            programs=("windsurf",),
            evidence=("~/.codeium/windsurf",),
        ),
        AgentHost(
            "zed",
            "Zed",
            user=("$XDG_CONFIG_HOME/zed/settings.json", "~/.config/zed/settings.json"),
            project=".zed/settings.json",
            key=("context_servers",),
            user_skills=("~/.agents/skills",),
            project_skills=".agents/skills",
            programs=("zed", "zeditor"),
            evidence=("$XDG_CONFIG_HOME/zed", "~/.config/zed"),
        ),
        AgentHost(
            "devin",
            "Devin Desktop",
            user=("$APPDATA/devin/mcp_config.json", "~/.config/devin/mcp_config.json"),
            project=".devin/mcp_config.json",
            programs=("devin-desktop",),
            evidence=("$APPDATA/devin", "~/.config/devin"),
        ),
        AgentHost(
            "antigravity",
            "Antigravity",
            user=("~/.gemini/config/mcp_config.json",),
            project=".agents/mcp_config.json",
            user_skills=("~/.gemini/config/skills",),
            project_skills=".agents/skills",
            programs=("antigravity", "agy"),
            evidence=("~/.gemini/antigravity", "~/.gemini/config"),
        ),
        AgentHost(
            "cline",
            "Cline",
            user=(
                "$CLINE_MCP_SETTINGS_PATH",
                "~/.cline/data/settings/cline_mcp_settings.json",
            ),
            user_skills=("~/.cline/skills",),
            project_skills=".cline/skills",
            programs=("cline",),
            evidence=("~/.cline",),
        ),
        AgentHost(
            "goose",
            "Goose",
            user=("$APPDATA/Block/goose/config/config.yaml", "~/.config/goose/config.yaml"),
            key=("extensions",),
            entry=_extension,
            user_skills=("~/.config/agents/skills",),
            project_skills=".agents/skills",
            programs=("goose",),
            evidence=("~/.config/goose",),
        ),
        AgentHost(
            "junie",
            "Junie",
            user=("~/.junie/mcp/mcp.json",),
            project=".junie/mcp/mcp.json",
            user_skills=("~/.junie/skills",),
            project_skills=".junie/skills",
            programs=("junie",),
            evidence=("~/.junie",),
        ),
    )
}
