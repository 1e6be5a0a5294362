"""The tools as they are declared, and what a call of one requests from the daemon."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from freezeframe.errors import UsageError
from freezeframe.frontends.json_requests import command_line
from freezeframe.frontends.mcp.tool_texts import for_agents, message_for_agents
from freezeframe.frontends.mcp.tools import find_tool, tools
from freezeframe.frontends.mcp.truncate import BYTES_PER_TOKEN, DATA_PER_TEXT, fit
from freezeframe.frontends.parser import parse
from freezeframe.frontends.tokenizer import split
from freezeframe.model.locations import Location
from freezeframe.ops._json_schema import from_jsonable
from freezeframe.ops._registry import OPS

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
    assert all(find_tool(name, tools()) for name in names)


def test_a_command_of_lldb_is_for_lldb_only_and_the_tool_is_not_listed():
    tool = find_tool("debug_lldb_command", tools())

    asked = tool.request({"command": "thread backtrace", "sessionId": "s", "timeoutMs": 500})

    assert asked["command"] == "raw"
    assert asked["args"] == {"command": "thread backtrace", "language": "lldb"}
    assert (asked["session"], asked["wait_s"]) == ("s", 0.5)
    assert "debug_lldb_command" not in ALL


def test_every_operation_is_a_tool_that_need_not_be_listed():
    assert find_tool("debug_pause", tools()).request({})["command"] == "pause"
    doctor = find_tool("doctor", tools())
    assert doctor is not None
    assert doctor.request({})["command"] == "doctor"
    assert find_tool("pause", tools()) is None
    assert find_tool("debug_mcp", tools()) is None
    assert find_tool("debug_nothing", tools()) is None


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("stack", {"sessionId": "s", "threadIndex": 2}, {"session": "s", "thread": 2}),
        (
            "variables",
            {"debugSessionId": "s", "frameIndex": 1},
            {"session": "s", "args": {"frame": 1}},
        ),
        ("continue", {"threadId": 1}, {"thread": 1, "args": {}}),
        ("detach", {"session": 3}, {"session": "3"}),
    ],
)
def test_session_frame_and_thread_have_the_names_of_other_servers(tool, given, expected):
    asked = tools()[f"debug_{tool}"].request(given)

    assert {name: asked[name] for name in expected} == expected


def test_two_sessions_in_one_call_are_refused():
    asked = tools()["debug_stack"].request({"session": "a", "sessionId": "b"})
    with pytest.raises(UsageError, match="session_id"):
        from_jsonable(OPS.by_id("backtrace"), asked["args"])


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

    missing = {spec.id for spec in OPS if not spec.hidden} - covered

    assert missing <= {"mcp", "completion"}


def test_only_what_cannot_run_code_is_called_read_only():
    """Hosts let read-only tools run without asking."""
    read_only = {name for name, tool in ALL.items() if tool.hints().get("readOnlyHint")}

    assert {"debug_stack", "debug_variables", "debug_output", "debug_status"} <= read_only
    assert read_only.isdisjoint(
        {"debug_evaluate", "debug_print", "debug_eval", "debug_start", "debug_command"}
    )


def test_an_argument_can_choose_the_operation():
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
    (
        "start",
        {"file": "a", "breakpoints": [{"file": "a", "line": 3, "condition": "n > 1"}]},
        "start",
        {"breakpoints": ("a:3 if n > 1",)},
    ),
    ("breakpoint_add", {"where": "f", "hitCondition": 3}, "breakpoint_add", {"hit_count": "3"}),
    ("test", {"selector": "t.py::a"}, "test", {"selectors": ("t.py::a",)}),
    ("step", {"action": "out"}, "finish", {}),
    ("continue", {"timeoutMs": 1500}, "continue", {"timeout": 1.5}),
    ("continue", {"timeout": "500 ms"}, "continue", {"timeout": 0.5}),
    ("start", {"module": "a.b"}, "start", {"program": "a.b", "module": True}),
    ("start", {"program": ["a", "x"]}, "start", {"program": "a", "args": ("x",)}),
    ("start", {"program": "a", "stop_on_entry": 1}, "start", {"stop_on_entry": True}),
    ("breakpoint_add", {"file": "a.py"}, "breakpoint_add", {"where": "a.py"}),
    ("attach_sim", {"pid": 12}, "attach", {"pid": 12, "simulator": ""}),
    (
        "attach_sim",
        {"simulatorId": "X", "bundleId": "a.b", "waitFor": True, "backend": "dap"},
        "attach",
        {"simulator": "X", "bundle_id": "a.b", "adapter": "dap"},
    ),
    ("attach_sim", {"simulatorName": "iPhone 17", "pid": "7"}, "attach", {"pid": 7}),
    ("stack", {"maxFrames": "3"}, "backtrace", {"limit": 3}),
    ("evaluate", {"expression": "x", "frameIndex": 1}, "print", {"frame": "1"}),
    ("test", {"filter": "a or b"}, "test", {"matching": "a or b"}),
    ("attach", {"host": "127.0.0.1", "port": 5678}, "attach", {"where": "127.0.0.1:5678"}),
    ("start", {"command": ["py", "a", "x y"]}, "start", {"program": "py", "args": ("a", "x y")}),
    ("start", {"file": "a", "breakpoints": "a:3, b:4"}, "start", {"breakpoints": ("a:3", "b:4")}),
]


@pytest.mark.parametrize(("tool", "given", "operation", "arguments"), NATURAL)
def test_arguments_are_understood_as_models_write_them(tool, given, operation, arguments):
    asked = tools()[f"debug_{tool}"].request(given)
    read = from_jsonable(OPS.by_id(operation), asked["args"])

    assert asked["command"] == operation
    spelled = {name: str(v) if isinstance(v, Location) else v for name, v in read.items()}
    assert spelled == {**spelled, **arguments}
    # A next step is made of the command line that does the same.
    line = command_line(OPS.by_id(operation), read)
    assert parse(split(line)).kwargs == {**parse(split(line)).kwargs, **read}


@pytest.mark.parametrize(
    ("tool", "given", "next"),
    [
        ("variables", {"name": "a.b"}, "dbg print a.b"),
        ("step", {"kind": "sideways"}, "dbg next"),
    ],
)
def test_a_call_that_is_not_understood_names_the_next_one(tool, given, next):
    with pytest.raises(UsageError) as wrong:
        tools()[f"debug_{tool}"].request(given)
    assert wrong.value.next == next


def test_no_part_of_a_breakpoint_is_left_out():
    given = {"program": "a", "breakpoints": [{"file": "a", "line": 3, "log": "n"}]}
    asked = tools()["debug_start"].request(given)
    with pytest.raises(UsageError, match=r"breakpoints\[0\]"):
        from_jsonable(OPS.by_id("start"), asked["args"])


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("await", 'debug_continue {"mode": "wait"}'),
        ("break a.py:3", 'debug_breakpoint_add {"where": "a.py:3"}'),
        ("print a.b", 'debug_evaluate {"expression": "a.b"}'),
        ("print --reveal p", 'debug_evaluate {"reveal": true, "expression": "p"}'),
        ("frame 2", 'debug_command {"command": "frame 2"}'),
        ("break FILE:LINE", 'debug_breakpoint_add {"where": "FILE:LINE"}'),
        ("status", "debug_status"),
        ("start P  # the one in it", 'debug_start {"program": "P"}  # the one in it'),
    ],
)
def test_a_command_is_shown_as_a_tool_call(line, call):
    text = f"x (dbg {line})\n  next: dbg {line} or dbg stop\ncut: dbg {line}\n| next: dbg {line}\n"

    assert for_agents(text, tools()) == (
        f"x ({call})\n  next: {call} or debug_stop\ncut: {call}\n| next: dbg {line}\n"
    )


@pytest.mark.parametrize(
    ("tool", "message", "shown"),
    [
        (
            "evaluate",
            "print needs `args.expression`: code.",
            "debug_evaluate needs `expression`: code.",
        ),
        ("start", "`start` takes a program.", "debug_start takes a program."),
        ("start", "start: `args.env[1]` takes a string.", "debug_start: `env[1]` takes a string."),
        ("breakpoint_remove", "Name ids, or --all.", "Name ids, or `all`."),
        ("stack", "x --all-threads=3, `dbg locals --all`", "x --all-threads=3, `dbg locals --all`"),
    ],
)
def test_an_error_speaks_of_the_tool_that_was_called_and_its_arguments(tool, message, shown):
    assert message_for_agents(message, tools()[f"debug_{tool}"]) == shown


def test_a_command_line_is_handed_on_as_it_is():
    tool = tools()["debug_command"]

    asked = tool.request({"command": "dbg break 'a b.py:3' -c 'n > 1'", "session": "x"})

    assert asked == {"session": "x", "line": "dbg break 'a b.py:3' -c 'n > 1'"}
    assert tool.request({"command": "bt all", "raw": True})["command"] == "raw"
    assert tool.request({"command": ["print", "a + b"]})["line"] == "print 'a + b'"
    assert tool.request({"command": "print", "args": ["a + b"]})["line"] == "print 'a + b'"


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


@pytest.mark.parametrize(
    ("asked", "args"),
    [
        (("why", "cart.total"), {"expression": "cart.total"}),
        (("trace", "price"), {"where": "price"}),
        (
            ("diff", ["python a.py 1", "python a.py 2"]),
            {"runs": ["python a.py 1", "python a.py 2"]},
        ),
        (("hunt", "pytest -q t.py"), {"command": ["pytest -q t.py"]}),
        (("crash", "python a.py 'x y'"), {"program": "python", "args": ["a.py", "x y"]}),
        (("hang", ["python", "a.py"]), {"program": "python", "args": ["a.py"]}),
        (("try", "n = 3"), {"hypotheses": ["n = 3"]}),
        (("try", ["n = 3", "return 7"]), {"hypotheses": ["n = 3", "return 7"]}),
    ],
)
def test_each_question_is_asked_about_something(asked, args):
    tool = tools()["debug_question"]

    request = tool.request({"question": asked[0], "about": asked[1]})

    assert (request["command"], request["args"]) == (asked[0], args)


def test_a_question_takes_the_arguments_of_its_operation():
    tool = tools()["debug_question"]

    against = tool.request({"question": "diff", "about": "pytest -q", "against": "HEAD~1"})
    often = tool.request({"question": "hunt", "about": "pytest -q", "runs": 9, "shake": True})

    assert against["args"] == {"runs": ["pytest -q"], "against": "HEAD~1"}
    assert often["args"] == {"command": ["pytest -q"], "runs": 9, "shake": True}
