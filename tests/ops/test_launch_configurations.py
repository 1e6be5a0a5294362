"""What the launch configurations of editors run, without running it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from freezeframe.errors import BadConfig, NotFound, Unsupported, UsageError
from freezeframe.ops import _confirmed_launches
from freezeframe.ops._launch_configurations import resolve
from freezeframe.ops._launch_files import Input, LaunchEntry, read_launch_files
from freezeframe.ops._launch_variables import LaunchVariables

FOLDER = "/p"


@pytest.mark.parametrize(
    ("fields", "command"),
    [
        (
            {"type": "debugpy", "program": "app.py", "args": ["-v", "a b"], "stopOnEntry": True},
            "start --cwd /p --stop-on-entry app.py -- -v 'a b'",
        ),
        (
            {"type": "debugpy", "module": "pytest", "args": "-x 'a b'", "cwd": "/p/sub"},
            "start --cwd /p/sub -m pytest -- -x 'a b'",
        ),
        (
            {"program": "app.py", "python": "/v e/bin/python", "console": "integratedTerminal"},
            "start --cwd /p --interpreter '/v e/bin/python' --tty app.py",
        ),
        (
            {"program": "app.py", "pythonArgs": ["-X", "dev"], "args": ["1"]},
            "start --cwd /p python3 -- -X dev app.py 1",
        ),
        (
            {"type": "node", "runtimeExecutable": "npm", "runtimeArgs": ["run", "dev"]},
            "start --cwd /p npm -- run dev",
        ),
        ({"type": "node", "program": "a.js"}, "start --cwd /p a.js"),
        (
            {"type": "go", "mode": "test", "program": "./pkg", "args": ["-test.run", "X"]},
            "start --cwd /p -m test -- ./pkg -test.run X",
        ),
        (
            {"type": "lldb", "cargo": {"args": ["build", "--bin=x"]}, "args": ["1"]},
            "start --cwd /p cargo -- build --bin=x -- 1",
        ),
        (
            {
                "type": "cppdbg",
                "program": "./a.out",
                "stopAtEntry": True,
                "environment": [{"name": "A", "value": "1"}],
            },
            "start --cwd /p --env A=1 --stop-on-entry ./a.out",
        ),
        (
            {"type": "java", "mainClass": "x.Main", "classPaths": ["$Auto", "out"]},
            "start --cwd /p --classpath out -m x.Main",
        ),
        ({"request": "attach", "processId": 42}, "attach 42"),
        (
            {
                "request": "attach",
                "connect": {"host": "h", "port": 5678},
                "pathMappings": [{"localRoot": "/p", "remoteRoot": "/app"}],
            },
            "attach h:5678 --map /app=/p",
        ),
    ],
)
def test_a_configuration_is_a_command(fields: dict[str, Any], command: str) -> None:
    assert resolve("x", fields, FOLDER).command == command


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"type": "chrome", "url": "http://localhost"}, Unsupported),
        ({"type": "debugpy"}, BadConfig),
        ({"request": "attach"}, BadConfig),
        ({"program": "a.py", "envFile": "missing"}, NotFound),
    ],
)
def test_what_cannot_be_started_is_refused(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        resolve("x", fields, FOLDER)


def test_values_of_an_env_file_are_set_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# c\nexport A='x y' \nB=1 # one\n\nnot a variable\n")
    fields = {"program": "a.py", "envFile": ".env", "env": {"B": "2"}}

    found = resolve("x", fields, str(tmp_path))

    assert found.starts.env == ("A=x y", "B=2")  # type: ignore[union-attr]
    assert "x y" not in found.command
    assert list(found.read) == [str(tmp_path / ".env")]


def _configuration(**fields: Any) -> LaunchEntry:
    inputs = {"n": Input("n", "pickString", "How many", "5", ("3", "5"))}
    return LaunchEntry("x", "/p/.vscode/launch.json", FOLDER, fields, inputs, b"")


def _variables(file: str | None = "/p/a/b.test.py", **inputs: str) -> LaunchVariables:
    env = {"HOME": "/h", "X": "1"}
    return LaunchVariables(_configuration(), file, env, inputs, cwd="/c", home="/h")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${workspaceFolder}/x", "/p/x"),
        ("${workspaceFolder:main}", "/p"),
        ("${workspaceFolderBasename}", "p"),
        ("${file}", "/p/a/b.test.py"),
        ("${relativeFile}", "a/b.test.py"),
        ("${relativeFileDirname}", "a"),
        ("${fileBasenameNoExtension}", "b.test"),
        ("${fileExtname}", ".py"),
        ("${env:X}-${env:MISSING}", "1-"),
        ("${userHome}", "/h"),
        ("${cwd}", "/c"),
        ("${input:n}", "7"),
        ("$ZED_WORKTREE_ROOT/${ZED_STEM}", "/p/b.test"),
        ("$HOME $1 ${}", "$HOME $1 ${}"),
    ],
)
def test_a_variable_has_the_value_that_it_has_in_the_editor(text: str, value: str) -> None:
    assert _variables(n="7").replace({"a": [text]}) == {"a": [value]}


@pytest.mark.parametrize(
    ("text", "next"),
    [
        ("${file}", "dbg start --config x FILE"),
        ("${input:n}", "dbg start --config x --input n=5"),
        ("${input:unknown}", "dbg start PROGRAM"),
        ("${command:pickProcess}", "dbg attach PID"),
        ("${command:cmake.launchTargetPath}", "dbg start PROGRAM"),
        ("${config:python.path}", "dbg start PROGRAM"),
    ],
)
def test_a_variable_without_a_value_names_the_way_to_give_one(text: str, next: str) -> None:
    with pytest.raises(UsageError) as caught:
        _variables(file=None).replace(text)
    assert caught.value.next == next


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_both_files_of_the_nearest_folder_are_read(tmp_path: Path) -> None:
    section = {"linux": "linux", "darwin": "osx", "win32": "windows"}[sys.platform]
    one = {"name": "One", "program": "a", section: {"program": "b"}}
    data = {"configurations": [one, {"program": "no name"}, 3], "compounds": [
        {"name": "All", "configurations": ["One", {"name": "Two"}]},
        {"name": "Bad", "configurations": ["Missing"]},
    ]}  # fmt: skip
    _write(tmp_path, ".vscode/launch.json", "// comment\n" + json.dumps(data))
    _write(tmp_path, ".zed/debug.json", '[{"label": "Two", "program": "c",},]')
    (tmp_path / "sub").mkdir()

    found = read_launch_files(str(tmp_path / "sub"), str(tmp_path))

    assert [each.name for each in found.find("All")] == ["One", "Two"]
    assert found.find("One")[0].fields["program"] == "b"
    with pytest.raises(BadConfig, match="Missing"):
        found.find("Bad")
    with pytest.raises(NotFound, match="nearest is 'One'"):
        found.find("Onee")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_launch_files(str(tmp_path), str(tmp_path))
    _write(tmp_path, ".vscode/launch.json", '{"configurations": [')
    with pytest.raises(BadConfig, match=r"launch\.json cannot be read: line 1"):
        read_launch_files(str(tmp_path), str(tmp_path))


def test_a_confirmation_holds_for_the_same_content_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FREEZEFRAME_HOME", str(tmp_path / "home"))
    digest = _confirmed_launches.digest("x", {"/f": b"1", "/e": b"2"})
    assert not _confirmed_launches.is_confirmed(digest)

    _confirmed_launches.confirm(digest)

    assert _confirmed_launches.is_confirmed(digest)
    assert digest == _confirmed_launches.digest("x", {"/e": b"2", "/f": b"1"})
    for name, contents in (
        ("y", {"/f": b"1", "/e": b"2"}),
        ("x", {"/f": b"1", "/e": b"3"}),
        ("x", {"/f": b"1"}),
    ):
        assert not _confirmed_launches.is_confirmed(_confirmed_launches.digest(name, contents))
