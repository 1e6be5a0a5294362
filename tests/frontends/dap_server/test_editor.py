"""`dbg dap`: an editor beside an agent; both see what the other does."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

from harness import users
from harness.client import CLIENT, HANG_S
from harness.compilers import TYPESCRIPT_MODULES
from harness.editor import Editor
from harness.requirements import give_up

PROGRAM = """\
import sys

def total(rows):
    s = 0
    for row in rows:
        s += row
    return s

print("begin", flush=True)
print(total([1, 2, 3, {"a": 4}["a"]]))
"""


def test_an_editor_joins_the_session_of_an_agent(dbg, write_program):
    path = str(write_program("app.py", PROGRAM).path)
    dbg("start", "app.py", "-b", "app.py:6")
    with Editor(dbg) as editor:
        lines = {"source": {"path": path}, "breakpoints": [{"line": 7}]}
        filters = {"filters": ["uncaught", "userUnhandled"]}
        configuration = (("setBreakpoints", lines), ("setExceptionBreakpoints", filters))
        assert editor.begin("attach", *configuration, session="app")["success"]

        # What was there before.
        assert editor.event("output")["output"] == "begin\n"
        new = editor.event("breakpoint")
        assert (new["reason"], new["breakpoint"]["line"]) == ("new", 6)
        assert editor.event("stopped")["hitBreakpointIds"] == [new["breakpoint"]["id"]]
        frame = editor.frame()
        assert (frame["name"], frame["line"], frame["source"]["path"]) == ("total", 6, path)
        rows = editor.variables()["rows"]
        parts = {"variablesReference": rows["variablesReference"]}
        values = editor.request("variables", **parts, start=1, count=2)["variables"]
        assert [each["value"] for each in values] == ["2", "3"]

        # What the agent does.
        dbg("next")
        editor.event("continued")
        assert editor.event("stopped")["reason"] == "step"
        dbg("break", "app.py:10")
        added = editor.event("breakpoint")
        assert (added["reason"], added["breakpoint"]["line"]) == ("new", 10)
        dbg("breakpoint", "remove", str(added["breakpoint"]["id"]))
        assert editor.event("breakpoint")["reason"] == "removed"
        assert dbg("output").out.startswith("no new output"), "the agent has seen it all"

        # What the editor does.
        scope = editor.request("scopes", frameId=editor.frame()["id"])["scopes"][0]
        reference = {"variablesReference": scope["variablesReference"]}
        assert editor.request("setVariable", **reference, name="s", value="100")["value"] == "100"
        editor.request("next", threadId=1)
        assert editor.event("stopped")["reason"] == "breakpoint"
        refused = dbg("next")
        assert refused.err.startswith("taken-over: Tester has taken over app.")
        assert dbg.data("print", "s")["value"]["text"] == "100"
        editor.request("evaluate", expression="dbg control release", context="repl")
        assert "note: Tester handed back app: set" in dbg("next").out

        # Its own breakpoints go with it, those of the agent stay.
        editor.request("setBreakpoints", source={"path": path}, breakpoints=[])
        assert [each["line"] for each in dbg.data("breakpoint", "list")["breakpoints"]] == [6]
        editor.request("disconnect")
    assert dbg.data("status")["sessions"][0]["state"] == "stopped"


def test_an_editor_starts_a_program(dbg, write_program):
    path = str(write_program("app.py", PROGRAM).path)
    with Editor(dbg) as editor:
        lines = [{"line": 6, "condition": "row == 3"}, {"line": 7, "logMessage": "s is {s}"}]
        configuration = (
            ("setBreakpoints", {"source": {"path": path}, "breakpoints": lines}),
            ("setFunctionBreakpoints", {"breakpoints": [{"name": "total"}]}),
        )
        program = {"program": path, "env": {"A": "1"}, "stopOnEntry": True}
        assert editor.begin("launch", *configuration, **program)["success"]
        assert editor.event("stopped")["reason"] == "entry"
        changed = editor.event("breakpoint", lambda body: body["breakpoint"]["line"] == 6)
        assert changed["breakpoint"]["verified"]

        editor.request("continue", threadId=1)
        editor.event("stopped")
        assert editor.frame()["name"] == "total"
        watched = editor.request("dataBreakpointInfo", name="rows")["dataId"]
        made = editor.request("setDataBreakpoints", breakpoints=[{"dataId": watched}])
        assert made["breakpoints"][0]["verified"]
        editor.request("setDataBreakpoints", breakpoints=[])
        editor.request("continue", threadId=1)
        editor.event("stopped")
        assert editor.frame()["line"] == 6
        found = editor.request(
            "evaluate", expression="row", frameId=editor.frame()["id"], context="hover"
        )
        assert found["result"] == "3"
        targets = editor.request("completions", text="ro", column=3)["targets"]
        assert {each["label"] for each in targets} == {"row", "rows"}
        editor.request("setBreakpoints", source={"path": path}, breakpoints=[])
        editor.request("restart")
        assert editor.event("stopped")["reason"] == "entry"
        editor.request("setFunctionBreakpoints", breakpoints=[])
        editor.request("continue", threadId=1)
        assert editor.event("exited")["exitCode"] == 0
        editor.event("terminated")
        refused = editor.response(editor.send("stackTrace", threadId=1))
        assert not refused["success"]
        editor.request("disconnect")


def _answer(port, message):
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.sendall(message)
        link.settimeout(HANG_S)
        try:
            return link.recv(100)
        except ConnectionResetError:
            return b""


def _listening(dbg):
    command = [sys.executable, str(CLIENT), "dap", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=dbg.project, env=dbg.env)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_a_port_serves_its_owner_and_editors_only(dbg, write_program):
    write_program("app.py", PROGRAM)
    process, port = _listening(dbg)
    try:
        with Editor(dbg, port) as editor:
            refused = editor.send("attach", session="app")
            assert "no session 'app' runs" in editor.response(refused)["message"]
        # A page in a browser can make it send this.
        text = b'{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}'
        post = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
        assert _answer(port, post) == b""
        if users.is_root():
            framed = b"Content-Length: %d\r\n\r\n%s" % (len(text), text)
            assert users.run_as(users.STRANGER, lambda: _answer(port, framed)) == b""
    finally:
        process.terminate()
        process.wait(HANG_S)


CLIENT_SCRIPT = """\
const { DebugClient } = require('@vscode/debugadapter-testsupport');
const [port, program, cwd] = process.argv.slice(2);
(async () => {
  const dc = new DebugClient('', '', 'dbg');
  await dc.start(Number(port));
  await dc.hitBreakpoint({ program, cwd }, { path: program, line: 6, verified: false });
  const stack = await dc.stackTraceRequest({ threadId: 1 });
  await dc.nextRequest({ threadId: 1 });
  await dc.assertStoppedLocation('step', { path: program, line: 5 });
  await dc.setBreakpointsRequest({ source: { path: program }, breakpoints: [] });
  await Promise.all([
    dc.waitForEvent('terminated'),
    dc.assertOutput('stdout', '10'),
    dc.continueRequest({ threadId: 1 }),
  ]);
  console.log(JSON.stringify(stack.body.stackFrames.map(frame => frame.name)));
  await dc.stop();
})().catch(error => { console.error(error); process.exit(1); });
"""


def test_the_test_client_of_vs_code_debugs_a_program(dbg, write_program, project):
    if not (TYPESCRIPT_MODULES / "@vscode" / "debugadapter-testsupport").is_dir():
        give_up("@vscode/debugadapter-testsupport is missing: rm -r .cache/typescript; sh check.sh")
    path = str(write_program("app.py", PROGRAM).path)
    script = project / "client.js"
    script.write_text(CLIENT_SCRIPT)
    process, port = _listening(dbg)
    try:
        done = subprocess.run(
            ["node", str(script), str(port), path, str(project)],
            env={**dbg.env, "NODE_PATH": str(TYPESCRIPT_MODULES)},
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )
    finally:
        process.terminate()
        process.wait(HANG_S)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == ["total", "<module>"]


def test_the_configuration_of_an_editor_is_printed(dbg):
    for editor in ("vscode", "nvim", "zed", "emacs"):
        text = dbg("setup", editor, "--dap").out
        assert "attach" in text
        assert "session" in text
    assert dbg("setup", "ed", "--dap").err.startswith("usage: `setup --dap` takes an editor")
