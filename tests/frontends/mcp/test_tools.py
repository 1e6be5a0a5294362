"""The tools as they are declared, and what a call of one asks of the daemon."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from freezeframe.errors import UsageError
from freezeframe.frontends import commands
from freezeframe.frontends.mcp.shrink import BYTES_PER_TOKEN, DATA_PER_TEXT, fit
from freezeframe.frontends.mcp.tools import tools
from freezeframe.frontends.mcp.wording import for_agents
from freezeframe.model.places import Location
from freezeframe.ops import table
from freezeframe.ops._schema import from_jsonable

PACKAGE = Path(commands.__file__).parent.parent
ALL = tools(all=True)


def test_the_seven_names_that_hosts_know_are_there():
    names = {
        "debug_breakpoint_add",
        "debug_breakpoint_remove",
        "debug_continue",
        "debug_stack",
        "debug_variables",
        "debug_lldb_command",
        "debug_detach",
    }
    assert names <= set(tools())


@pytest.mark.parametrize("name", ALL)
def test_a_tool_s_schemas_are_schemas_and_say_every_listed_argument(name):
    declaration = ALL[name].declaration(structured=True)

    Draft202012Validator.check_schema(declaration["inputSchema"])
    Draft202012Validator.check_schema(declaration["outputSchema"])
    assert declaration["description"]
    assert "session" in declaration["inputSchema"]["properties"]
    wanted = ALL[name].arguments.split()
    assert set(wanted) <= set(declaration["inputSchema"]["properties"])


def test_every_operation_for_programs_is_within_reach():
    covered = {spec.id for tool in ALL.values() for spec in tool.specs()}

    missing = {spec.id for spec in table.OPS if not spec.hidden} - covered

    assert missing <= {"mcp", "completion"}


def test_only_what_cannot_run_code_is_called_read_only():
    """Hosts let read-only tools run without asking."""
    read_only = {name for name, tool in ALL.items() if tool.hints().get("readOnlyHint")}

    assert {"debug_stack", "debug_variables", "debug_output", "debug_status"} <= read_only
    assert read_only.isdisjoint(
        {"debug_evaluate", "debug_print", "debug_eval", "debug_start", "debug_lldb_command"}
    )


def test_an_argument_can_say_which_operation_is_meant():
    step = tools()["debug_step"]

    assert step.request({"kind": "out", "count": 2})["command"] == "finish"
    assert step.request({})["command"] == "next"
    with pytest.raises(UsageError, match=r"`args\.kind` takes over, in, out, until"):
        step.request({"kind": ["out"]})


NATURAL = [
    ("breakpoint_add", {"file": "a.py", "line": 3}, "breakpoint_add", {"where": "a.py:3"}),
    (
        "breakpoint_add",
        {"file": "a.py", "text": "n += 1"},
        "breakpoint_add",
        {"where": "a.py", "text": "n += 1"},
    ),
    ("breakpoint_add", {"function": "f", "hit_count": 3}, "breakpoint_add", {"hit_count": "3"}),
    ("breakpoint_remove", {"id": 1}, "breakpoint_remove", {"which": ("1",)}),
    ("breakpoint_remove", {"which": "a.py:3"}, "breakpoint_remove", {"which": ("a.py:3",)}),
    ("attach", {"pid": 12}, "attach", {"where": "12"}),
    ("attach", {"where": 12}, "attach", {"where": "12"}),
    ("step", {"kind": "into"}, "step", {}),
    ("step", {"kind": "step_over", "count": "2"}, "next", {"count": 2}),
    ("step", {"where": "a.py:5"}, "until", {"where": "a.py:5"}),
    ("continue", {"mode": "continue"}, "continue", {}),
    ("variables", {"scope": "arguments"}, "args", {}),
    ("start", {"program": "a", "env": {"K": 1}}, "start", {"program": "a", "env": ("K=1",)}),
    ("start", {"program": "a", "args": "x"}, "start", {"program": "a", "args": ("x",)}),
    ("start", {"program": "a", "breakpoints": "a:3"}, "start", {"breakpoints": ("a:3",)}),
    ("output", {"tail": "5"}, "output", {"tail": 5}),
    ("breakpoint_add", {"path": "a.py", "lineNumber": 3}, "breakpoint_add", {"where": "a.py:3"}),
    ("breakpoint_add", {"where": "a.py", "line": 3}, "breakpoint_add", {"where": "a.py:3"}),
    ("breakpoint_add", {"where": "f", "hitCount": 3}, "breakpoint_add", {"hit_count": "3"}),
    ("start", {"file": "a", "breakpoints": [{"file": "a", "line": 3}]}, "start", {"program": "a"}),
    ("step", {"action": "out"}, "finish", {}),
    ("continue", {"timeoutMs": 1500}, "continue", {"timeout": 1.5}),
    ("attach", {"host": "127.0.0.1", "port": 5678}, "attach", {"where": "127.0.0.1:5678"}),
]


@pytest.mark.parametrize(("tool", "given", "operation", "arguments"), NATURAL)
def test_arguments_are_understood_as_models_write_them(tool, given, operation, arguments):
    asked = tools()[f"debug_{tool}"].request(given)
    read = from_jsonable(table.OPS.by_id(operation), asked["args"])

    assert asked["command"] == operation
    spelled = {name: str(v) if isinstance(v, Location) else v for name, v in read.items()}
    assert spelled == {**spelled, **arguments}


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("await", 'debug_continue {"mode": "wait"}'),
        ("break a.py:3", 'debug_breakpoint_add {"where": "a.py:3"}'),
        ("print --reveal p", 'debug_evaluate {"reveal": true, "expression": "p"}'),
        ("frame 2", 'debug_lldb_command {"command": "frame 2"}'),
        ("break FILE:LINE", 'debug_breakpoint_add {"where": "FILE:LINE"}'),
        ("status", "debug_status"),
    ],
)
def test_a_command_is_told_as_the_call_of_a_tool(line, call):
    text = f"x (dbg {line})\n  next: dbg {line} or dbg stop\n| next: dbg {line}\n"

    assert for_agents(text, tools()) == (
        f"x ({call})\n  next: {call} or debug_stop\n| next: dbg {line}\n"
    )


def test_a_command_line_is_handed_on_as_it_is():
    tool = tools()["debug_lldb_command"]

    asked = tool.request({"command": "dbg break 'a b.py:3' -c 'n > 1'", "session": "x"})

    assert asked == {"session": "x", "line": "dbg break 'a b.py:3' -c 'n > 1'"}
    assert tool.request({"command": "bt all", "raw": True})["command"] == "raw"


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=60,
)


@given(st.dictionaries(st.sampled_from(["session", "state", "stop", "scopes"]), _json))
def test_data_that_fits_is_left_alone_and_other_data_says_that_it_was_cut(data):
    smaller = fit(data, 50)

    assert set(data) <= set(smaller)
    if len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()) <= 600:
        assert smaller == data
    else:
        assert smaller["truncated"] is True


def test_a_mountain_of_data_is_made_to_fit():
    deep = {"name": "x" * 5000, "children": [{"name": "y" * 500, "n": n} for n in range(5000)]}

    smaller = fit({"state": "stopped", "scopes": [deep] * 40}, 400)

    assert smaller["state"] == "stopped"
    assert len(json.dumps(smaller).encode()) <= 400 * BYTES_PER_TOKEN * DATA_PER_TEXT


def test_the_package_mcp_is_known_in_one_place():
    knows = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            if any(name.split(".")[0] in ("mcp", "mcp_types") for name in names):
                knows.add(file.relative_to(PACKAGE).as_posix())
    assert knows == {f"frontends/mcp/{name}.py" for name in ("refusals", "server", "telling")}
