"""Programs that agents live in: where each keeps its MCP servers and its skills, and what is there.

A host is a row of `HOSTS`. Its files are the user's: they are read as they are, and changed by
`_configfiles` only.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from freezeframe import files
from freezeframe.errors import UserError
from freezeframe.model.answers import FileChange

from ._configfiles import Unreadable, inline_toml, put_json, put_toml, read_json, read_toml

#: our name among a host's servers, and the folder of the skill
NAME = "freezeframe"
_COMMANDS = frozenset({"dbg", "debugger", NAME})
_SKILL_FILE = os.path.join(NAME, "SKILL.md")

#: what an agent reads before it decides to read more
SKILL_HEADER = f"""---
name: {NAME}
description: Debug a running program with `dbg` instead of adding prints. Use it when a test fails \
for a reason the source does not show, a value is wrong, a program crashes or hangs, or a child \
process or thread misbehaves.
---
"""
#: the file in a host's folder: what it leads to always fits the version that is installed
THIN_SKILL = f"""{SKILL_HEADER}
Run `dbg skill` and work as it says: it prints how to debug with the version that is installed.
Where only the tools `debug_…` are at hand, call `debug_lldb_command` with command `skill`.
"""


@dataclass(frozen=True, slots=True)
class Server:
    """How the host starts us."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


def _plain(server: Server) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": server.command, "args": list(server.args)}
    return {**entry, "env": dict(server.env)} if server.env else entry


def _typed(server: Server) -> dict[str, Any]:
    return {"type": "stdio", **_plain(server)}


def _all_tools(server: Server) -> dict[str, Any]:
    return {"type": "local", **_plain(server), "tools": ["*"]}


def _one_list(server: Server) -> dict[str, Any]:
    entry = {"type": "local", "command": [server.command, *server.args]}
    return {**entry, "environment": dict(server.env)} if server.env else entry


@dataclass(frozen=True, slots=True)
class Host:
    """One program. Of several places the first counts whose variables are set."""

    name: str
    title: str
    #: its configuration for the user, and that of a project, below the project's root
    user: tuple[str, ...]
    project: str | None = None
    #: the object in there that holds the servers
    key: tuple[str, ...] = ("mcpServers",)
    entry: Callable[[Server], dict[str, Any]] = _plain
    #: where else the host looks for servers in its own file; `{root}` is the project's
    also: tuple[str, ...] = ()
    #: folders of skills, for the user and in a project
    user_skills: tuple[str, ...] = ()
    project_skills: str | None = None
    #: programs and folders that tell that it is used here
    programs: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


#: `~`, variables, and `{support}`: where the platform's applications keep their files
HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
        Host(
            "claude",
            "Claude Code",
            user=("$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json"),
            project=".mcp.json",
            entry=_typed,
            also=("projects", "{root}", "mcpServers"),
            user_skills=("$CLAUDE_CONFIG_DIR/skills", "~/.claude/skills"),
            project_skills=".claude/skills",
            programs=("claude",),
            marks=("~/.claude",),
        ),
        Host(
            "claude-desktop",
            "Claude Desktop",
            user=("{support}/Claude/claude_desktop_config.json",),
            marks=("{support}/Claude",),
        ),
        Host(
            "codex",
            "Codex",
            user=("$CODEX_HOME/config.toml", "~/.codex/config.toml"),
            project=".codex/config.toml",
            key=("mcp_servers",),
            user_skills=("~/.agents/skills",),
            project_skills=".agents/skills",
            programs=("codex",),
            marks=("$CODEX_HOME", "~/.codex"),
        ),
        Host(
            "cursor",
            "Cursor",
            user=("~/.cursor/mcp.json",),
            project=".cursor/mcp.json",
            user_skills=("~/.cursor/skills",),
            project_skills=".cursor/skills",
            programs=("cursor", "cursor-agent"),
            marks=("~/.cursor",),
        ),
        Host(
            "vscode",
            "VS Code",
            user=("{support}/Code/User/mcp.json",),
            project=".vscode/mcp.json",
            key=("servers",),
            entry=_typed,
            user_skills=("~/.copilot/skills",),
            project_skills=".github/skills",
            programs=("code",),
            marks=("{support}/Code",),
        ),
        Host(
            "copilot",
            "Copilot CLI",
            user=("$COPILOT_HOME/mcp-config.json", "~/.copilot/mcp-config.json"),
            entry=_all_tools,
            user_skills=("$COPILOT_HOME/skills", "~/.copilot/skills"),
            project_skills=".github/skills",
            programs=("copilot",),
            marks=("~/.copilot",),
        ),
        Host(
            "gemini",
            "Gemini CLI",
            user=("~/.gemini/settings.json",),
            project=".gemini/settings.json",
            user_skills=("~/.gemini/skills",),
            project_skills=".gemini/skills",
            programs=("gemini",),
            marks=("~/.gemini",),
        ),
        Host(
            "kiro",
            "Kiro",
            user=("~/.kiro/settings/mcp.json",),
            project=".kiro/settings/mcp.json",
            user_skills=("~/.kiro/skills",),
            project_skills=".kiro/skills",
            programs=("kiro", "kiro-cli"),
            marks=("~/.kiro",),
        ),
        Host(
            "opencode",
            "OpenCode",
            user=("$XDG_CONFIG_HOME/opencode/opencode.json", "~/.config/opencode/opencode.json"),
            project="opencode.json",
            key=("mcp",),
            entry=_one_list,
            user_skills=("$XDG_CONFIG_HOME/opencode/skills", "~/.config/opencode/skills"),
            project_skills=".opencode/skills",
            programs=("opencode",),
            marks=("$XDG_CONFIG_HOME/opencode", "~/.config/opencode"),
        ),
        Host(
            "windsurf",
            "Windsurf",
            user=("~/.codeium/windsurf/mcp_config.json",),
            user_skills=("~/.codeium/windsurf/skills",),
            project_skills=".windsurf/skills",
            programs=("windsurf",),
            marks=("~/.codeium/windsurf",),
        ),
        Host(
            "zed",
            "Zed",
            user=("$XDG_CONFIG_HOME/zed/settings.json", "~/.config/zed/settings.json"),
            project=".zed/settings.json",
            key=("context_servers",),
            user_skills=("~/.agents/skills",),
            project_skills=".agents/skills",
            programs=("zed", "zeditor"),
            marks=("$XDG_CONFIG_HOME/zed", "~/.config/zed"),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Ground:
    """Whose files are meant: the caller's environment, and the root of his project."""

    env: Mapping[str, str]
    root: str

    def place(self, places: tuple[str, ...]) -> str:
        """Return the first place whose variables are set, as a path."""
        for each in places:
            head, _, rest = each.partition("/")
            if not head.startswith("$"):
                return self._at(each)
            if self.env.get(head[1:]):
                return os.path.join(self.env[head[1:]], rest)
        return self._at(places[-1])

    def config(self, host: Host, *, project: bool) -> str:
        """Return the path of a host's configuration. Raises UserError."""
        if not project:
            return self.place(host.user)
        if host.project is None:
            raise UserError(
                f"{host.title} has no configuration of a project's own.",
                code="unsupported",
                next=f"dbg setup {host.name}",
            )
        return os.path.join(self.root, host.project)

    def skill(self, host: Host, *, project: bool) -> str | None:
        """Return the path of the skill's file; None where the host takes no skills."""
        if project:
            folder = host.project_skills and os.path.join(self.root, host.project_skills)
        else:
            folder = self.place(host.user_skills) if host.user_skills else None
        return os.path.join(folder, _SKILL_FILE) if folder else None

    def uses(self, host: Host) -> bool:
        """Is there anything of this host here?"""
        path = self.env.get("PATH", os.defpath)
        return (
            any(shutil.which(name, path=path) for name in host.programs)
            or any(os.path.isdir(self.place((mark,))) for mark in host.marks)
            or os.path.isfile(self.place(host.user))
        )

    def _at(self, place: str) -> str:
        home = self.env.get("HOME") or os.path.expanduser("~")
        if sys.platform == "darwin":
            support = os.path.join(home, "Library", "Application Support")
        elif sys.platform == "win32":
            support = self.env.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
        else:
            support = self.env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        if place.startswith("~"):
            place = home + place[1:]
        return os.path.normpath(place.replace("{support}", support))


def server(ground: Ground, *, project: bool) -> Server:
    """Return how a host starts us: by path for the user, by name in a file that others share."""
    path = ground.env.get("PATH", os.defpath)
    beside = os.path.join(os.path.dirname(sys.executable), "dbg")
    named = shutil.which("dbg", path=path)
    home = ground.env.get("FREEZEFRAME_HOME")
    env = {"FREEZEFRAME_HOME": os.path.abspath(home)} if home and not project else {}
    if project and named:
        return Server("dbg", ("mcp",), env)
    command = beside if os.access(beside, os.X_OK) else named
    if command is not None:
        return Server(command, ("mcp",), env)
    # Without the directory of the caller among those that modules are taken from.
    return Server(sys.executable, ("-P", "-m", NAME, "mcp"), env)


# --- what is there --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """What a configuration says about us: `absent`, `works`, `broken` or `unreadable`."""

    path: str
    state: str
    #: the command that is not there any more, or why the file cannot be read
    why: str = ""
    #: its name among the servers
    name: str = NAME


def look(host: Host, path: str, ground: Ground) -> Entry:
    """Return what the configuration at *path* says about us."""
    try:
        text, _ = _read(path)
        found = _servers(host, path, text)
        also = tuple(name.replace("{root}", ground.root) for name in host.also)
        found = {**(_servers(host, path, text, also) if also else {}), **found}
    except Unreadable as error:
        return Entry(path, "unreadable", str(error))
    ours = {name: each for name, each in found.items() if name == NAME or _starts_us(each)}
    for name, each in ours.items():
        words = _words(each)
        if words and shutil.which(words[0], path=ground.env.get("PATH", os.defpath)):
            return Entry(path, "works", name=name)
    if ours:
        name, each = next(iter(ours.items()))
        words = _words(each)
        return Entry(path, "broken", words[0] if words else "", name)
    return Entry(path, "absent")


def _servers(host: Host, path: str, text: str, key: tuple[str, ...] = ()) -> dict[str, Any]:
    there: Any = read_toml(text) if path.endswith(".toml") else _quickly(text)
    for name in key or host.key:
        there = there.get(name) if isinstance(there, dict) else None
    return there if isinstance(there, dict) else {}


def _quickly(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return read_json(text)


def _words(entry: object) -> list[str]:
    """Return the command line of a server that is started."""
    if not isinstance(entry, dict):
        return []
    command, args = entry.get("command"), entry.get("args")
    words = command if isinstance(command, list) else [command]
    words = [*words, *(args if isinstance(args, list) else [])]
    return [word for word in words if isinstance(word, str)]


def _starts_us(entry: object) -> bool:
    words = _words(entry)
    if "mcp" not in words:
        return False
    name = os.path.splitext(os.path.basename(words[0]))[0]
    return name in _COMMANDS or f"-m {NAME} mcp" in " ".join(words[1:])


# --- what changes ---------------------------------------------------------------------------------


def configured(host: Host, ground: Ground, *, project: bool, dry_run: bool) -> FileChange:
    """Put us among a host's servers, unless we are there. Raises UserError."""
    path = ground.config(host, project=project)
    entry = look(host, path, ground)
    what = f"the MCP servers of {host.title}"
    if entry.state == "works":
        return FileChange(path, what, "unchanged")
    wanted = host.entry(server(ground, project=project))
    by_hand = _by_hand(host, path, wanted)
    try:
        text, before = _read(path)
        if entry.state == "broken":
            old = _servers(host, path, text)[entry.name]
            wanted = {**(old if isinstance(old, dict) else {}), **wanted}
        put = put_toml if path.endswith(".toml") else put_json
        after = put(text, (*host.key, entry.name), wanted)
    except Unreadable as error:
        raise UserError(
            f"{path} cannot be changed safely: {error}.", code="by-hand", next=by_hand
        ) from None
    return _changed(path, what, before, after, by_hand, dry_run=dry_run, shared=project)


def _by_hand(host: Host, path: str, wanted: Mapping[str, Any]) -> str:
    """Return what a person would write, in one line."""
    if path.endswith(".toml"):
        return f"write at the end of {path}: {inline_toml((*host.key, NAME), wanted)}"
    inner = {NAME: wanted}
    return f"write into {'.'.join(host.key)} of {path}: {json.dumps(inner)[1:-1]}"


def with_skill(host: Host, ground: Ground, *, project: bool, dry_run: bool) -> FileChange:
    """Put the thin skill where a host looks. Raises UserError."""
    path = ground.skill(host, project=project)
    if path is None:
        raise UserError(
            f"{host.title} takes no skills from files.",
            code="unsupported",
            next=f"dbg setup {host.name}",
        )
    what = f"the skill of {host.title}"
    try:
        text, before = _read(path)
    except Unreadable as error:
        raise UserError(f"{path}: {error}.", code="by-hand", next=f"rm {path}") from None
    if text == THIN_SKILL:
        return FileChange(path, what, "unchanged")
    if before is not None and f"name: {NAME}\n" not in text:
        raise UserError(f"{path} is somebody else's.", code="by-hand", next=f"mv {path} {path}.old")
    by_hand = f"dbg skill > {path}"
    change = _changed(path, what, before, THIN_SKILL, by_hand, dry_run=dry_run, shared=project)
    return change if dry_run else replace(change, diff="")


def skill_state(path: str) -> str:
    """Return `absent`, `current` or `stale`."""
    try:
        text, before = _read(path)
    except Unreadable:
        return "stale"
    if before is None:
        return "absent"
    return "current" if text == THIN_SKILL else "stale"


def _read(path: str) -> tuple[str, bytes | None]:
    """Return a file's text and its bytes; ("", None) where there is none. Raises Unreadable."""
    try:
        data = files.read_bytes(path)
        return data.decode("utf-8"), data
    except FileNotFoundError:
        return "", None
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise Unreadable("it is not text in UTF-8") from None


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
    # Without the lines around: those may hold keys of other servers.
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
    """Replace a file in one step; who reads it sees the old one or the new one.

    A link stays a link. Raises OSError, also when the file was changed since it was read.
    """
    import tempfile  # few daemons ever write such a file

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
            raise OSError(0, "it was changed by somebody else at the same time")
        os.replace(scratch, real)
    except BaseException:
        os.unlink(scratch)
        raise
