"""Agent hosts: the state of our server and skill in their files, and how it is changed.

The files belong to the user: only `_config_edit` and `_yaml_edit` change them.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from freezeframe import files
from freezeframe.errors import UserError
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.setup_answers import FileChange

from . import _yaml_edit
from ._config_edit import (
    UnreadableConfig,
    drop_json,
    drop_toml,
    inline_toml,
    put_json,
    put_toml,
    read_json,
    read_toml,
)
from ._host_table import AgentHost, McpServer
from ._skill import NAME, command_on_path, skill_text

_COMMANDS = frozenset({"dbg", "debugger", NAME})
_SKILL_FILE = os.path.join(NAME, "SKILL.md")


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
                return os.path.join(self.env[head[1:]], *filter(None, (rest,)))
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
        if host.named_only:
            return False
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
    if path.endswith(".yaml"):
        return _yaml_edit.read(text, host.key[0])
    data = read_toml(text) if path.endswith(".toml") else _quickly(text)
    found = _at_key(data, key or key_in(host, data))
    return found if isinstance(found, dict) else {}


def key_in(host: AgentHost, data: object) -> tuple[str, ...]:
    """Return the object that holds the servers in a file with *data*."""
    newer = host.newer_key
    return newer if newer and isinstance(_at_key(data, newer), dict) else host.key


def _at_key(data: object, key: tuple[str, ...]) -> object:
    for name in key:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _quickly(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return read_json(text)


def _command_line(entry: object) -> list[str]:
    """Return the command line of a server entry."""
    if not isinstance(entry, dict):
        return []
    command, args = entry.get("command") or entry.get("cmd"), entry.get("args")
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
        after = _put(host, path, text, entry.name, value)
    except UnreadableConfig as error:
        raise UserError(
            f"{path} cannot be changed safely: {error}.", code="by-hand", next=by_hand
        ) from None
    return _changed(path, what, before, after, by_hand, dry_run=dry_run, shared=project)


def removed(
    host: AgentHost, environment: HostEnvironment, *, project: bool, dry_run: bool
) -> list[FileChange]:
    """Remove our server from a host's configuration, and our skill. Raises UserError."""
    path = environment.config(host, project=project)
    entry = look(host, path, environment)
    what = f"the MCP servers of {host.title}"
    changes = [FileChange(path, what, "unchanged")]
    if entry.state != "absent":
        try:
            text, before = _read(path)
            after = _put(host, path, text, entry.name, None)
        except UnreadableConfig as error:
            raise UserError(
                f"{path} cannot be changed safely: {error}.",
                code="by-hand",
                next=f"remove {entry.name} from {path}",
            ) from None
        by_hand = f"remove {entry.name} from {path}"
        changes = [_changed(path, what, before, after, by_hand, dry_run=dry_run, shared=project)]
    skill = environment.skill(host, project=project)
    if skill is not None and skill_state(skill, environment) != "absent":
        text = _read(skill)[0]
        if f"name: {NAME}\n" in text:
            changes.append(_without(skill, f"the skill of {host.title}", dry_run=dry_run))
    return changes


def _without(path: str, what: str, *, dry_run: bool) -> FileChange:
    """Remove a file, and its directory if that is empty then."""
    if dry_run:
        return FileChange(path, what, "would be removed")
    try:
        os.unlink(path)
        with suppress(OSError):
            os.rmdir(os.path.dirname(path))
    except OSError as error:
        raise UserError(
            f"{path} cannot be removed: {error.strerror}.", code="by-hand", next=f"rm {path}"
        ) from None
    return FileChange(path, what, "removed")


def _put(host: AgentHost, path: str, text: str, name: str, value: dict[str, Any] | None) -> str:
    """Return *text* with the server *name*, or without it (None). Raises UnreadableConfig."""
    if path.endswith(".yaml"):
        return _yaml_edit.put(text, host.key[0], name, value)
    if path.endswith(".toml"):
        where = (*host.key, name)
        return drop_toml(text, where) if value is None else put_toml(text, where, value)
    where = (*key_in(host, read_json(text)), name)
    return drop_json(text, where) if value is None else put_json(text, where, value)


def _by_hand(host: AgentHost, path: str, value: Mapping[str, Any]) -> str:
    """Return the manual instruction, in one line."""
    if path.endswith(".yaml"):
        block = _yaml_edit.put("", host.key[0], NAME, dict(value)).strip()
        return f"write into {path}: {block}"
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
