"""Debug adapters of the user's own, by `[adapters.NAME]` in config.toml and without code."""

from __future__ import annotations

import json
import sys

import pytest

import fake_adapter
from freezeframe.config import load
from freezeframe.errors import BadConfig
from harness.reports import place, printed, texts

TREE = """
[adapters.tree]
languages = ["Tree"]
patterns = ["*.tree"]
"""


def section(command: list[str], *lines: str) -> str:
    return "\n".join([TREE, f"command = {json.dumps(command)}", *lines, ""])


@pytest.fixture
def tree(project):
    (project / "oak.tree").write_text("root\n")
    return project / "oak.tree"


@pytest.mark.parametrize("transport", ["stdio", "connect"])
def test_an_adapter_of_one_s_own_debugs_its_files(dbg, tree, transport):
    script = {"stops": [{"reason": "entry", "line": 1, "variables": {"leaf": "green"}}]}
    connect = ["--connect", "{host}:{port}"] if transport == "connect" else []
    command = fake_adapter.command(script, *connect)
    dbg.configure(section(command, f'transport = "{transport}"'))

    report = dbg.data("start", "oak.tree")

    assert texts(report)["leaf"] == "green"
    tool = dbg.data("tool")
    assert (tool["name"], tool["reason"]) == ("tree", "oak.tree matches *.tree")
    assert dbg.data("continue")["exit"]["code"] == 0


def test_the_launch_template_is_filled_in_and_keeps_kinds(dbg, tree):
    dbg.configure(
        section(
            fake_adapter.command({}),
            '[adapters.tree.launch]\nfile = "{program}"\nwords = "{args}"\nlog = "{cwd}/log"',
            'entry = "{stop_on_entry}"\n[adapters.tree.launch.deep]\nlist = ["{program}", 3]',
        )
    )

    dbg.data("start", "oak.tree", "--stop-on-entry", "--", "a", "b c", code=0)

    wire = [json.loads(line)["message"] for line in dbg.tap.read_text().splitlines()]
    [launch] = [m for m in wire if m["type"] == "request" and m["command"] == "launch"]
    sent = launch["arguments"]
    folder = str(tree.parent)
    assert sent == {
        "file": str(tree),
        "words": ["a", "b c"],
        "log": f"{folder}/log",
        "entry": True,
        "deep": {"list": [str(tree), 3]},
    }


def test_a_real_adapter_by_its_command_line(dbg, program):
    p = program("loop.py")
    command = [sys.executable, "-m", "debugpy.adapter"]
    dbg.configure(
        f"[adapters.other]\ncommand = {json.dumps(command)}\n"
        'patterns = ["*.py"]\nlanguages = ["Python"]\n'
        '[adapters.other.launch]\nprogram = "{program}"\nargs = "{args}"\ncwd = "{cwd}"\n'
        f"python = {json.dumps([sys.executable])}\n"
        'console = "internalConsole"\nbreakOnSystemExit = []\n'
    )

    report = dbg.data("start", p.name, "-b", p.at("loop"))

    assert place(report) == p.at("loop")
    assert texts(report)["total"] == "0"
    assert dbg.envelope("tool")["via"] == "other"
    dbg.data("breakpoint", "remove", "--all")
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 3
    assert "total 19" in printed(dbg.data("output", "--all"), "stdout")


def test_it_is_listed_as_yours(dbg, tree):
    dbg.configure(section([sys.executable, "x"]))

    rows = {row["name"]: row for row in dbg.data("adapters")["adapters"]}

    assert rows["tree"]["yours"]
    assert rows["tree"]["found"]
    [line] = [line for line in dbg("adapters").out.splitlines() if line.startswith("tree")]
    assert "yours" in line


@pytest.mark.parametrize("named", [True, False], ids=["named", "nameless"])
def test_hit_counts_and_logpoints_are_done_for_an_adapter_that_has_none(dbg, tree, named):
    tree.write_text("root\nbranch\nleaf\n")
    hit = {"hitBreakpointIds": [1]} if named else {}
    other = {"hitBreakpointIds": [2]} if named else {}
    stops = [
        {"reason": "breakpoint", "line": 2, "variables": {"n": str(n)}, **hit} for n in range(3)
    ] + [{"reason": "breakpoint", "line": 3, "variables": {"n": "9"}, **other}]
    script = {"stops": stops, "capabilities": {"supportsConfigurationDoneRequest": True}}
    dbg.configure(section(fake_adapter.command(script)))
    dbg.data("break", "oak.tree:2", "--log", "branch {n}")
    dbg.data("break", "oak.tree:3", "--hit-count", "1")

    report = dbg.data("start", "oak.tree")

    assert place(report) == "oak.tree:3"
    assert printed(report, "log") == "branch 0\nbranch 1\nbranch 2\n"
    wire = [json.loads(line)["message"] for line in dbg.tap.read_text().splitlines()]
    [asked] = [m for m in wire if m["type"] == "request" and m["command"] == "setBreakpoints"]
    assert asked["arguments"]["breakpoints"] == [{"line": 2}, {"line": 3}]


def test_a_command_that_is_not_there_is_named(dbg, tree):
    dbg.configure(section(["no-such-adapter"], 'install = ["grow tree"]'))

    error = dbg.error("start", "oak.tree", code=4)

    assert error["code"] == "debugger-missing"
    assert "no-such-adapter" in error["message"]
    assert error["next"] == "grow tree"


def test_one_that_ends_at_once_is_told_with_its_last_words(dbg, tree):
    code = "import sys; sys.exit('no roots here')"
    command = [sys.executable, "-c", code, "{port}"]
    dbg.configure(section(command, 'transport = "listen"'))

    error = dbg.error("start", "oak.tree", code=1)

    assert error["code"] == "launch-failed"
    assert "no roots here" in error["message"]


def test_joining_without_an_attach_template_is_refused(dbg, tree):
    dbg.configure(section(fake_adapter.command({})))

    error = dbg.error("attach", "127.0.0.1:9", "--adapter", "tree", code=1)

    assert error["code"] == "unsupported"
    assert "attach" in error["message"]


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        ('patterns = ["*.x"]', "adapters.mine.command is missing"),
        ('command = ["x"]\ntransport = "carrier pigeon"', "adapters.mine.transport"),
        ('command = ["x"]\ntransport = "listen"', "adapters.mine.command must contain {port}"),
        ('command = ["x", "{wood}"]', "adapters.mine.command has {wood}"),
        ('command = ["x"]\nlaunch = "y"', "adapters.mine.launch must be a table"),
        ('command = ["x"]\n[adapters.mine.launch.a]\nb = ["{what}"]', "adapters.mine.launch.a.b"),
        ('command = ["x"]\n[adapters.mine.attach]\np = "{args}"', "adapters.mine.attach.p"),
        ('command = "x"', "adapters.mine.command must be a list"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(tmp_path, lines, key):
    path = tmp_path / "config.toml"
    path.write_text(f"[adapters.mine]\n{lines}\n")

    with pytest.raises(BadConfig) as raised:
        load(path, {})

    assert key in raised.value.message


def test_a_key_that_no_adapter_has_is_a_warning_with_the_nearest(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('[adapters.mine]\ncomand = ["x"]\n')

    [warning] = load(path, {}).warnings

    assert warning.endswith("passed over; the nearest is adapters.mine.command.")
