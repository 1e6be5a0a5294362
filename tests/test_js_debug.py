"""js-debug, where the user has it: its programs are children that it hands out."""

from __future__ import annotations

from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from freezeframe.backends.transport import process_table
from harness.reports import place, printed, texts
from harness.requirements import give_up

_FOLDER = Path(__file__).parents[1] / ".cache" / "js-debug"


@pytest.fixture(autouse=True)
def js_debug(dbg):
    if not _FOLDER.is_dir():
        give_up("js-debug is not in .cache: sh check.sh fetches it")
    dbg.env["FREEZEFRAME_JS_DEBUG"] = str(_FOLDER)
    dbg.env["FREEZEFRAME_DEBUGGER"] = "js-debug"


def test_a_program_is_debugged_in_the_session_that_it_is_handed_out_to(dbg, program):
    p = program("loop.js")

    report = dbg.data("start", p.name, "-b", p.at("loop"))

    assert place(report) == p.at("loop")
    seen = texts(report)
    assert (seen["number"], seen["amount"], seen["total"]) == ("0", "6", "0")
    assert printed(dbg.data("output", "--all"), "stdout") == "adding\n"
    assert dbg.data("print", "amount * 7")["value"]["text"] == "42"
    dbg.data("set", "total", "100")
    assert dbg.data("next")["stop"]["reason"] == "step"
    dbg.data("breakpoint", "remove", "--all")
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 4
    assert "total 119" in printed(dbg.data("output", "--all"), "stdout")
    assert "Process exited" not in printed(dbg.data("output", "--all"))


def test_an_uncaught_exception_stops_where_it_was_thrown(dbg, project):
    (project / "fails.js").write_text(
        "function half(n) {\n  if (n % 2) throw new RangeError('odd');\n  return n / 2;\n}\n"
        "try { half(1); } catch (e) { console.log('caught'); }\nhalf(3);\n"
    )

    report = dbg.data("start", "fails.js")

    assert place(report) == "fails.js:2"
    # Any user of the machine can ask a port; none tells the id that opens the inspector.
    for port in (port for pid in dbg.processes() for port in process_table.ports(pid)):
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10)
    exception = report["stop"]["exception"]
    assert (exception["type"], exception["message"]) == ("RangeError", "odd")
    assert texts(report)["n"] == "3"
    assert dbg.data("continue")["exit"]["code"] == 1


def test_a_variable_that_is_not_initialised_has_no_value(dbg, project):
    (project / "early.js").write_text(
        "function f(n) {\n  const a = n + 1;\n  { let b = a; n = b; }\n  return n;\n}\n"
        "const r = f(1); const s = r;\n"
    )

    report = dbg.data("start", "early.js", "-b", "early.js:2", "-b", "early.js:4")

    assert texts(report)["a"] == "<not initialised yet>"
    assert dbg.data("print", "a")["value"]["text"] == "<not initialised yet>"
    seen = texts(dbg.data("up"))
    assert (seen["r"], seen["s"]) == ("<not initialised yet>",) * 2
    assert texts(dbg.data("continue"))["a"] == "2"


def test_finish_of_an_async_generator_is_refused_and_the_program_lives_on(dbg, project):
    (project / "pages.js").write_text(
        "async function* pages(n) {\n  for (let i = 0; i < n; i++) {\n    yield i;\n  }\n}\n"
        "async function main() {\n  for await (const page of pages(2)) console.log(page);\n"
        "  process.exitCode = 6;\n}\nmain();\n"
    )
    dbg.data("start", "pages.js", "-b", "pages.js:3")

    assert "async generator" in dbg.error("finish")["message"]

    dbg.data("breakpoint", "remove", "--all")
    assert dbg.data("continue")["exit"]["code"] == 6


def test_output_is_what_the_program_and_its_children_wrote_to_its_streams(dbg, project):
    (project / "speaks.js").write_text(
        "const { spawn } = require('child_process');\n"
        "console.log('node begins');\nprocess.stdout.write('written\\n');\n"
        "console.error('Debugger attached?');\n"
        "const kid = spawn(process.execPath, ['-e', 'console.log(\"kid\")']);\n"
        "kid.stdout.on('data', (text) => console.log('got', String(text).trim()));\n"
        "kid.on('exit', () => console.log(process.execArgv.join().includes('agent')));\n"
    )

    ended = dbg.data("start", "speaks.js")

    assert ended["exit"]["code"] == 0
    written = dbg.data("output", "--all")
    # What the child wrote went to the parent, which did not print all of it.
    stdout = printed(written, "stdout").splitlines()
    assert stdout[:2] == ["node begins", "written"]
    assert sorted(stdout[2:]) == ["false", "got kid"]
    assert printed(written, "stderr") == "Debugger attached?\n"
