"""`start --config`: the launch configurations of the project's editor."""

from __future__ import annotations

import json


def _configure(project, *configurations, **more):
    path = project / ".vscode" / "launch.json"
    path.parent.mkdir(exist_ok=True)
    data = json.dumps({"configurations": configurations, **more})
    path.write_text(f"// launch configurations\n{data}\n")
    return path


def test_a_configuration_is_shown_confirmed_and_started(dbg, project, write_program):
    write_program("app.py", "import sys\nx = 1\nprint(sys.argv[1:], x)\n")
    app = {
        "name": "The app",
        "type": "debugpy",
        "request": "launch",
        "program": "${workspaceFolder}/app.py",
        "args": ["${input:word}", "${file}"],
        "preLaunchTask": "build",
    }
    inputs = [{"id": "word", "type": "promptString", "description": "A word", "default": "w"}]
    path = _configure(
        project,
        app,
        inputs=inputs,
        compounds=[{"name": "Twice", "configurations": ["The app", "The app"]}],
    )

    listed = dbg.data("start", "--config")["configurations"]
    assert [(each["name"], each["type"]) for each in listed] == [
        ("The app", "debugpy"),
        ("Twice", "compound"),
    ]
    asked = dbg("start", "--config", "The app", "--input", "word=hello", "app.py")
    assert asked.err.startswith("unconfirmed: ")
    assert f"dbg start --cwd {project} {project}/app.py -- hello {project}/app.py" in asked.err
    assert dbg.data("sessions")["sessions"] == []

    given = ("--input", "word=hello", "-b", "app.py:3")
    started = dbg.data("start", "--config", "The app", *given, "--yes", "app.py")
    assert started["stop"]["frame"]["line"] == 3
    assert started["notes"][0] == (
        "its preLaunchTask build was not run: run it first if it is needed"
    )
    ended = dbg.data("continue")
    assert ended["output"]["chunks"][0]["text"] == f"['hello', '{project}/app.py'] 1\n"

    # Confirmed for this content of the file only.
    assert dbg.data("start", "--config", "The app", *given, "app.py")["state"] == "stopped"
    path.write_text(path.read_text().replace("app.py", "other.py"))
    assert dbg("start", "--config", "The app", *given, "app.py").err.startswith("unconfirmed: ")


def test_the_configurations_of_a_compound_are_started_as_sessions_of_their_own(
    dbg, project, write_program
):
    write_program("app.py", "import time\nwhile True:\n    time.sleep(0.01)\n")
    both = [
        {"name": name, "type": "debugpy", "request": "launch", "program": "${file}"}
        for name in ("Web server", "Worker")
    ]
    _configure(
        project, *both, compounds=[{"name": "All", "configurations": ["Web server", "Worker"]}]
    )

    started = dbg.data("start", "--config", "All", "--yes", "--no-wait", "app.py")

    assert started["notes"][0] == "'Web server' was started as session web-server"
    sessions = dbg.data("sessions")["sessions"]
    assert {(each["name"], each["state"]) for each in sessions} == {
        ("web-server", "running"),
        ("worker", "running"),
    }


def test_an_option_of_a_program_that_start_has_too_is_the_programs(dbg, write_program):
    write_program("app.py", "import sys\nprint(sys.argv[1:])\n")
    ended = dbg.data("start", "app.py", "--config", "x", "--yes", "--input=3")
    assert ended["output"]["chunks"][0]["text"] == "['--config', 'x', '--yes', '--input=3']\n"
