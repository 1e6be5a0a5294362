"""`setup HOST` and `skill install` on the files that hosts really have."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from backends.async_tests import on_loop
from freezeframe.errors import UserError
from freezeframe.ops import _yaml_edit
from freezeframe.ops._agent_hosts import HostEnvironment
from freezeframe.ops._config_edit import UnreadableConfig
from freezeframe.ops._host_commands import COMMANDS, command_for, run_command
from freezeframe.ops._host_table import HOSTS

ZED = '// mine\n{\n  "context_servers": {\n    "zoo": { "command": "zoo" }, // keep\n  },\n}\n'


@pytest.fixture
def home(dbg, tmp_path: Path):
    """A home with nothing in it, and no program of a host on PATH."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME", "APPDATA"):
        dbg.env.pop(name, None)
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "dbg").write_text("#!/bin/sh\n")
    (bin / "dbg").chmod(0o755)
    dbg.env |= {"HOME": str(home), "PATH": str(bin)}
    return home


def states(answer: dict) -> list[str]:
    return [change["state"] for change in answer["changes"]]


def servers(host, file: Path) -> dict:
    text = file.read_text()
    if file.suffix == ".yaml":
        return _yaml_edit.read(text, host.key[0])
    found = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    for name in host.key:
        found = found.get(name, {})
    return found


def test_every_host_is_set_up_once_and_nothing_else_is_touched(dbg, home):
    zed = home / ".config" / "zed" / "settings.json"
    zed.parent.mkdir(parents=True)
    zed.write_text(ZED)
    zed.chmod(0o640)
    for name, host in HOSTS.items():
        before = sorted(home.rglob("*"))
        assert states(dbg.data("setup", name, "--dry-run")) == ["would change"], name
        assert sorted(home.rglob("*")) == before, name
        [change] = dbg.data("setup", name)["changes"]
        written = Path(change["path"])
        text = written.read_text()
        assert change["state"] == "written"
        assert states(dbg.data("setup", name)) == ["unchanged"], name
        assert written.read_text() == text
        if name == "zed":
            lines = text.splitlines(keepends=True)
            assert [line for line in ZED.splitlines(keepends=True) if line not in lines] == []
        else:
            [entry] = servers(host, written).values()
            command = entry.get("command") or entry["cmd"]
            words = command if isinstance(command, list) else entry["args"]
            assert words[-1] == "mcp", name
        assert states(dbg.data("setup", name, "--remove", "--dry-run")) == ["would change"], name
        assert states(dbg.data("setup", name, "--remove")) == ["written"], name
        assert states(dbg.data("setup", name, "--remove")) == ["unchanged"], name
        if name != "zed":
            assert servers(host, written) == {}
    assert zed.read_text() == ZED
    assert zed.stat().st_mode & 0o777 == 0o640
    assert not list(home.rglob(".freezeframe-*"))


def test_a_file_that_cannot_be_read_is_left_alone_and_the_text_to_write_is_shown(dbg, home):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{\n  "mcpServers": {{\n')

    error = dbg.error("setup", "cursor", code=1)

    assert error["code"] == "by-hand"
    assert "line 2" in error["message"]
    assert '"freezeframe": {"command": ' in error["next"]
    assert str(file) in error["next"]
    assert file.read_text() == '{\n  "mcpServers": {{\n'
    found = dbg.data("doctor", "hosts")["checks"][0]
    assert found["status"] == "warn"
    assert "line 2" in found["detail"]


def test_a_project_s_own_file_names_the_command_and_a_link_stays_one(dbg, home):
    shared = home / "shared.json"
    shared.write_text('{"mcpServers": {"zoo": {"command": "zoo"}}}')
    os.symlink(shared, dbg.project / ".mcp.json")

    dbg.data("setup", "claude", "--project")

    assert (dbg.project / ".mcp.json").is_symlink()
    servers = json.loads(shared.read_text())["mcpServers"]
    assert servers["zoo"] == {"command": "zoo"}
    assert servers["freezeframe"] == {"type": "stdio", "command": "dbg", "args": ["mcp"]}
    error = dbg.error("setup", "gdb-mi", "--project", code=2)
    assert error["next"] == "dbg setup HOST --project"
    assert "the nearest is codex" in dbg.error("setup", "codx", "--remove")["message"]
    assert "codex" not in dbg.error("setup", "codx", "--run")["message"]
    error = dbg.error("setup", "windsurf", "--project", code=1)
    assert (error["code"], error["next"]) == ("unsupported", "dbg setup windsurf")


def test_a_server_that_is_gone_is_reported_and_fixed_and_keeps_its_settings(dbg, home):
    file = home / ".gemini" / "settings.json"
    file.parent.mkdir()
    ours = {"command": "/gone/dbg", "args": ["mcp"], "trust": True}
    file.write_text(json.dumps({"mcpServers": {"debugger": ours}}, indent=4))

    [check] = dbg.data("doctor", "hosts")["checks"]
    assert (check["status"], check["fix"]) == ("warn", "dbg setup gemini")
    assert "/gone/dbg" in check["detail"]
    dbg.data("setup", "gemini")

    [(name, entry)] = json.loads(file.read_text())["mcpServers"].items()
    assert (name, entry["trust"]) == ("debugger", True)
    assert os.access(entry["command"], os.X_OK)
    [check] = dbg.data("doctor", "hosts")["checks"]
    assert (check["status"], check["fix"]) == ("ok", None)


def test_the_skill_is_installed_where_hosts_look_and_reported_when_stale(dbg, home):
    assert dbg.error("skill", "install", code=1)["code"] == "not-found"
    assert "the nearest is codex" in dbg.error("skill", "install", "--host", "codx")["message"]
    for folder in (".claude", ".cursor"):
        (home / folder).mkdir()

    assert states(dbg.data("skill", "install", "--dry-run")) == ["would change"] * 2
    assert states(dbg.data("skill", "install")) == ["written"] * 2
    assert states(dbg.data("skill", "install")) == ["unchanged"] * 2
    dbg.data("skill", "install", "--project", "--host", "claude")

    text = dbg("skill").out
    skill = home / ".claude" / "skills" / "freezeframe" / "SKILL.md"
    assert skill.read_text() == text
    assert (dbg.project / ".claude/skills/freezeframe/SKILL.md").read_text() == text
    skill.write_text(text + "of an earlier version\n")
    [check] = dbg.data("doctor", "hosts")["checks"]
    assert (check["status"], check["fix"]) == ("warn", "dbg skill install --host claude")
    skill.write_text("---\nname: another\n---\n")
    assert dbg.error("skill", "install", "--host", "claude", code=1)["code"] == "by-hand"


def test_a_name_that_is_neither_debugger_nor_host_is_refused_with_the_nearest(dbg):
    error = dbg.error("setup", "cusror", code=1)

    assert "the nearest is cursor" in error["message"]
    assert error["next"] == "dbg setup cursor"
    everything = dbg.error("setup", "qqqqqqqq", code=1)["message"]
    assert "debugpy" in everything
    assert "claude" in everything


FAKE_HOST = """#!/bin/sh
printf '%s\\n' "$@" > "$HOME/argv"
case "$FAKE_HOST" in
fails) echo "no such scope" >&2; exit 3;;
hangs) while :; do :; done;;
forgets) exit 0;;
esac
mkdir -p "$(dirname "$WRITES")"
echo "$ENTRY" > "$WRITES"
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_host_that_is_installed_adds_the_server_by_its_own_command(dbg, home, name):
    host = HOSTS[name]
    program = Path(dbg.env["PATH"]) / host.programs[0]
    program.write_text(FAKE_HOST)
    program.chmod(0o755)
    dbg.env["PATH"] += os.pathsep + os.defpath
    preview = dbg.data("setup", name, "--dry-run")
    assert host.programs[0] in preview["note"]
    assert not (home / "argv").exists()
    [change] = preview["changes"]
    dbg.env |= {"WRITES": change["path"], "ENTRY": ENTRIES[Path(change["path"]).suffix](host)}
    for how, why in [("fails", "status 3: no such scope"), ("forgets", "no working entry")]:
        dbg.env["FAKE_HOST"] = how
        error = dbg.error("setup", name, code=1)
        assert error["code"] == "by-hand"
        assert why in error["message"]
        assert error["next"].startswith(f"{host.programs[0]} ")
        assert not Path(change["path"]).exists()
    dbg.env["FAKE_HOST"] = "works"
    answer = dbg.data("setup", name)
    assert states(answer) == ["written"]
    assert host.programs[0] in answer["note"]
    argv = (home / "argv").read_text()
    assert "freezeframe" in argv
    assert "mcp" in argv.splitlines()[-1]
    assert states(dbg.data("setup", name)) == ["unchanged"]


ENTRIES = {
    ".json": lambda host: json.dumps(
        {host.key[0]: {"freezeframe": {"command": "dbg", "args": ["mcp"]}}}
    ),
    ".toml": lambda host: '[mcp_servers.freezeframe]\ncommand = "dbg"\nargs = ["mcp"]',
}


@on_loop
async def test_a_host_s_command_that_does_not_end_is_ended_and_shown(tmp_path):
    program = tmp_path / "claude"
    program.write_text(FAKE_HOST)
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.defpath}"
    env = {"HOME": str(tmp_path), "PATH": path, "FAKE_HOST": "hangs"}
    environment = HostEnvironment(env, str(tmp_path))
    command = command_for(HOSTS["claude"], environment)
    assert command is not None
    with pytest.raises(UserError, match="not done within") as caught:
        await run_command(HOSTS["claude"], command, environment, timeout_s=0.2)
    assert caught.value.next is not None
    assert caught.value.next.startswith("claude mcp add --scope user freezeframe")


def test_a_file_of_opencode_2_is_recognized(dbg, home):
    file = home / ".config" / "opencode" / "opencode.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"mcp": {"servers": {"zoo": {"type": "local", "command": ["zoo"]}}}}')

    dbg.data("setup", "opencode")

    assert list(json.loads(file.read_text())["mcp"]["servers"]) == ["zoo", "freezeframe"]


def test_an_entry_of_a_yaml_file_is_put_and_removed_and_the_rest_stays():
    text = "GOOSE_MODE: auto\nextensions:\n  memory:\n    enabled: true\n    args:\n    - x\nA: 1\n"
    entry = {"cmd": "dbg", "args": ["mcp"], "envs": {}}

    put = _yaml_edit.put(text, "extensions", "freezeframe", entry)

    assert _yaml_edit.read(put, "extensions")["freezeframe"] == entry
    assert "memory" in _yaml_edit.read(put, "extensions")
    assert _yaml_edit.put(put, "extensions", "freezeframe", None) == text
    assert _yaml_edit.put("", "extensions", "x", {"a": 1}) == "extensions:\n  x:\n    a: 1\n"
    with pytest.raises(UnreadableConfig):
        _yaml_edit.put("extensions: {a: {}}\n", "extensions", "x", {"a": 1})
