"""Agent hosts: where each keeps its MCP servers and its skills, and their current state.

A host is a row of `HOSTS`. Its files belong to the user: only `_config_edit` changes them.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from freezeframe import files
from freezeframe.errors import UserError
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.setup_answers import FileChange

from ._config_edit import UnreadableConfig, inline_toml, put_json, put_toml, read_json, read_toml
from ._skill import NAME, command_on_path, skill_text

_COMMANDS = frozenset({"dbg", "debugger", NAME})
_SKILL_FILE = os.path.join(NAME, "SKILL.md")


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
            entry=_one_list,
            user_skills=("$XDG_CONFIG_HOME/opencode/skills", "~/.config/opencode/skills"),
            project_skills=".opencode/skills",
            programs=("opencode",),
            evidence=("$XDG_CONFIG_HOME/opencode", "~/.config/opencode"),
        ),
        AgentHost(
            "windsurf",
            "Windsurf",
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
    )
}


@dataclass(frozen=True, slots=True)
class HostEnvironment:
    """The caller's environment and project root, which decide whose files are used."""

    env: Mapping[str, str]
    root: str

    def path(self, paths: tuple[str, ...]) -> str:
        """Return the first path whose variables are set, expanded."""
        for each in paths:
            head, _, rest = each.partition("/")
            if not head.startswith("$"):
                return self._at(each)
            if self.env.get(head[1:]):
                return os.path.join(self.env[head[1:]], rest)
        return self._at(paths[-1])

    def config(self, host: AgentHost, *, project: bool) -> str:
        """Return the path of a host's configuration. Raises UserError."""
        if not project:
            return self.path(host.user)
        if host.project is None:
            raise UserError(
                f"{host.title} has no configuration per project.",
                code="unsupported",
                next=f"dbg setup {host.name}",
            )
        return os.path.join(self.root, host.project)

    def skill(self, host: AgentHost, *, project: bool) -> str | None:
        """Return the path of the skill's file; None if the host does not load skills."""
        if project:
            folder = host.project_skills and os.path.join(self.root, host.project_skills)
        else:
            folder = self.path(host.user_skills) if host.user_skills else None
        return os.path.join(folder, _SKILL_FILE) if folder else None

    def uses(self, host: AgentHost) -> bool:
        """Whether the host is installed or has files here."""
        path = self.env.get("PATH", os.defpath)
        return (
            any(shutil.which(name, path=path) for name in host.programs)
            or any(os.path.isdir(self.path((mark,))) for mark in host.evidence)
            or os.path.isfile(self.path(host.user))
        )

    def _at(self, path: str) -> str:
        home = self.env.get("HOME") or os.path.expanduser("~")
        if sys.platform == "darwin":
            support = os.path.join(home, "Library", "Application Support")
        elif sys.platform == "win32":
            support = self.env.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
        else:
            support = self.env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        if path.startswith("~"):
            path = home + path[1:]
        return os.path.normpath(path.replace("{support}", support))


def server(environment: HostEnvironment, *, project: bool) -> McpServer:
    """Return the server entry: by path for the user, by name in a file shared with others."""
    path = environment.env.get("PATH", os.defpath)
    beside = os.path.join(os.path.dirname(sys.executable), "dbg")
    named = shutil.which("dbg", path=path)
    home = environment.env.get("FREEZEFRAME_HOME")
    env = {"FREEZEFRAME_HOME": os.path.abspath(home)} if home and not project else {}
    if project and named:
        return McpServer("dbg", ("mcp",), env)
    command = beside if os.access(beside, os.X_OK) else named
    if command is not None:
        return McpServer(command, ("mcp",), env)
    # Keep the caller's directory out of sys.path.
    return McpServer(sys.executable, ("-P", "-m", NAME, "mcp"), env)


# --- what is there --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HostEntry:
    """State of the server in a configuration: `absent`, `works`, `broken` or `unreadable`."""

    path: str
    state: str
    #: the command that no longer exists, or why the file cannot be read
    why: str = ""
    #: its name among the servers
    name: str = NAME


def look(host: AgentHost, path: str, environment: HostEnvironment) -> HostEntry:
    """Return the state of the server in the configuration at *path*."""
    try:
        text, _ = _read(path)
        found = _servers(host, path, text)
        also = tuple(name.replace("{root}", environment.root) for name in host.also)
        found = {**(_servers(host, path, text, also) if also else {}), **found}
    except UnreadableConfig as error:
        return HostEntry(path, "unreadable", str(error))
    dbg_entries = {name: each for name, each in found.items() if name == NAME or _starts_us(each)}
    for name, each in dbg_entries.items():
        command_line = _command_line(each)
        if command_line and shutil.which(
            command_line[0], path=environment.env.get("PATH", os.defpath)
        ):
            return HostEntry(path, "works", name=name)
    if dbg_entries:
        name, each = next(iter(dbg_entries.items()))
        command_line = _command_line(each)
        return HostEntry(path, "broken", command_line[0] if command_line else "", name)
    return HostEntry(path, "absent")


def _servers(host: AgentHost, path: str, text: str, key: tuple[str, ...] = ()) -> dict[str, Any]:
    there: Any = read_toml(text) if path.endswith(".toml") else _quickly(text)
    for name in key or host.key:
        there = there.get(name) if isinstance(there, dict) else None
    return there if isinstance(there, dict) else {}


def _quickly(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return read_json(text)


def _command_line(entry: object) -> list[str]:
    """Return the command line of a server entry."""
    if not isinstance(entry, dict):
        return []
    command, args = entry.get("command"), entry.get("args")
    command_line = command if isinstance(command, list) else [command]
    command_line = [*command_line, *(args if isinstance(args, list) else [])]
    return [word for word in command_line if isinstance(word, str)]


def _starts_us(entry: object) -> bool:
    command_line = _command_line(entry)
    if "mcp" not in command_line:
        return False
    name = os.path.splitext(os.path.basename(command_line[0]))[0]
    return name in _COMMANDS or f"-m {NAME} mcp" in " ".join(command_line[1:])


# --- what changes ---------------------------------------------------------------------------------


def configured(
    host: AgentHost, environment: HostEnvironment, *, project: bool, dry_run: bool
) -> FileChange:
    """Add `dbg mcp` to a host's servers, unless it is there. Raises UserError."""
    path = environment.config(host, project=project)
    entry = look(host, path, environment)
    what = f"the MCP servers of {host.title}"
    if entry.state == "works":
        return FileChange(path, what, "unchanged")
    value = host.entry(server(environment, project=project))
    by_hand = _by_hand(host, path, value)
    try:
        text, before = _read(path)
        if entry.state == "broken":
            old = _servers(host, path, text)[entry.name]
            value = {**(old if isinstance(old, dict) else {}), **value}
        put = put_toml if path.endswith(".toml") else put_json
        after = put(text, (*host.key, entry.name), value)
    except UnreadableConfig as error:
        raise UserError(
            f"{path} cannot be changed safely: {error}.", code="by-hand", next=by_hand
        ) from None
    return _changed(path, what, before, after, by_hand, dry_run=dry_run, shared=project)


def _by_hand(host: AgentHost, path: str, value: Mapping[str, Any]) -> str:
    """Return the manual instruction, in one line."""
    if path.endswith(".toml"):
        return f"write at the end of {path}: {inline_toml((*host.key, NAME), value)}"
    inner = {NAME: value}
    return f"write into {'.'.join(host.key)} of {path}: {json.dumps(inner)[1:-1]}"


def with_skill(
    host: AgentHost, environment: HostEnvironment, *, project: bool, dry_run: bool
) -> FileChange:
    """Write the skill to the host's directory. Raises UserError."""
    path = environment.skill(host, project=project)
    if path is None:
        raise UserError(
            f"{host.title} does not load skills from files.",
            code="unsupported",
            next=f"dbg setup {host.name}",
        )
    what = f"the skill of {host.title}"
    try:
        text, before = _read(path)
    except UnreadableConfig as error:
        raise UserError(f"{path}: {error}.", code="by-hand", next=f"rm {path}") from None
    skill = skill_text(command_on_path(environment.env))
    if text == skill:
        return FileChange(path, what, "unchanged")
    if before is not None and f"name: {NAME}\n" not in text:
        raise UserError(
            f"{path} was not written by dbg.", code="by-hand", next=f"mv {path} {path}.old"
        )
    by_hand = f"dbg skill > {path}"
    change = _changed(path, what, before, skill, by_hand, dry_run=dry_run, shared=project)
    return change if dry_run else replace(change, diff="")


def skill_state(path: str, environment: HostEnvironment) -> str:
    """Return `absent`, `current` or `stale`."""
    try:
        text, before = _read(path)
    except UnreadableConfig:
        return "stale"
    if before is None:
        return "absent"
    return "current" if text == skill_text(command_on_path(environment.env)) else "stale"


def _read(path: str) -> tuple[str, bytes | None]:
    """Return a file's text and its bytes; ("", None) if it is missing. Raises UnreadableConfig."""
    try:
        data = files.read_bytes(path)
        return data.decode("utf-8"), data
    except FileNotFoundError:
        return "", None
    except OSError as error:
        raise UnreadableConfig(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise UnreadableConfig("it is not text in UTF-8") from None


def _changed(
    path: str,
    what: str,
    before: bytes | None,
    after: str,
    by_hand: str,
    *,
    dry_run: bool,
    shared: bool,
) -> FileChange:
    old = (before or b"").decode("utf-8").splitlines()
    # Without context lines: those may hold keys of other servers.
    lines = list(difflib.unified_diff(old, after.splitlines(), n=0, lineterm=""))[2:]
    diff = "\n".join(line for line in lines if not line.startswith("@@"))
    if not dry_run:
        try:
            _replace(path, before, after, 0o644 if shared else 0o600)
        except OSError as error:
            raise UserError(
                f"{path} cannot be written: {error.strerror}.", code="by-hand", next=by_hand
            ) from None
    return FileChange(path, what, "would change" if dry_run else "written", diff)


def _replace(path: str, before: bytes | None, after: str, mode: int) -> None:
    """Replace a file atomically.

    A symbolic link stays a link. Raises OSError, also when the file was changed since it was read.
    """
    import tempfile  # imported here: rarely needed

    real = os.path.realpath(path)
    folder = os.path.dirname(real)
    os.makedirs(folder, exist_ok=True)
    if before is not None:
        mode = os.stat(real).st_mode & 0o777
    handle, scratch = tempfile.mkstemp(prefix=f".{NAME}-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(after.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, mode)
        try:
            now: bytes | None = files.read_bytes(real)
        except FileNotFoundError:
            now = None
        if now != before:
            raise OSError(0, "another program changed it at the same time")
        os.replace(scratch, real)
    except BaseException:
        os.unlink(scratch)
        raise
