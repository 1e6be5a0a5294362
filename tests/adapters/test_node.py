"""What only JavaScript under node has: its breakpoints, exceptions, promises, values, noise."""

from __future__ import annotations

import subprocess

import pytest

from harness import programs, waits
from harness.reports import frame_of, functions, own, place, printed, shown, texts, values


@pytest.fixture
def script(project):
    """Write a program that only one test needs."""
    return lambda text, name="app.js": programs.write(name, text, project)


# --- breakpoints --------------------------------------------------------------------------------

LINES = """// A file with lines that have no code.
const fs = require('fs'); // @require

/**
 * Twice as much. @comment
 */
function twice(n) { // @head
  // @inside
  const result = n * 2; // @body
  return result;
}

console.log(twice(4)); // @call
"""


@pytest.mark.parametrize(
    ("asked", "taken"), [("head", "body"), ("inside", "body"), ("body", "body"), ("call", "call")]
)
def test_a_line_without_code_moves_to_the_next_that_has_some(dbg, script, asked, taken):
    p = script(LINES)

    report = dbg.data("start", p.name, "-b", p.at(asked))

    assert place(report) == p.at(taken)
    [bound] = dbg.data("breakpoint", "list")["breakpoints"]
    assert bound["line"] == p.line(taken)
    assert bound["moved_from"] == (p.line(asked) if asked != taken else None)


def test_breakpoints_of_a_module_that_is_loaded_later_are_there_before_its_first_line(dbg, script):
    inner = script(
        "globalThis.seen = 1; // @first\nfunction f() { // @head\n  return 2;\n}\nf();\n", "lib.js"
    )
    p = script("require('./lib.js');\n")

    first = dbg.data("start", p.name, "-b", inner.at("first"), "-b", inner.at("head"))

    assert place(first) == inner.at("first")
    second = dbg.data("continue")
    assert place(second) == "lib.js:3"
    assert frame_of(second)["function"] == "f"


@pytest.mark.parametrize(
    ("wanted", "marker"),
    [
        ("deposit", "method"),
        ("Account.deposit", "method"),
        ("Account.prototype.deposit", "method"),
        ("Account.open", "static"),
        ("count", "closure"),
        ("letters", "yield"),
    ],
)
def test_functions_and_methods_are_broken_at_by_name(dbg, sample, wanted, marker):
    p = sample("shapes")

    report = dbg.data("start", p.name, "-b", wanted)

    assert place(report) == p.at(marker)


def test_a_function_of_a_module_that_is_loaded_later_is_broken_at(dbg, script):
    inner = script("exports.late = (n) => {\n  return n + 1; // @late\n};\n", "lib.js")
    p = script("const { late } = require('./lib.js');\nlate(1);\n")

    assert place(dbg.data("start", p.name, "-b", "late")) == inner.at("late")


def test_a_function_that_only_the_frame_knows_is_found_by_its_value(dbg, script):
    p = script(
        "const table = { ['go' + 1]: new Function('n', 'return n + 1') };\n"
        "const alias = table.go1;\nconsole.log(alias(1)); // @call\n"
    )
    dbg.data("start", p.name, "-b", p.at("call"))

    added = dbg.data("break", "table.go1")["breakpoint"]

    assert added["state"] == "bound"
    assert dbg.data("continue")["stop"]["breakpoints"] == [added["id"]]


def test_a_function_that_is_nowhere_is_said_to_wait(dbg, sample):
    p = sample("loop")

    report = dbg.data("start", p.name, "-b", "no_such_function")

    assert report["state"] == "terminated"
    [wanted] = report["breakpoints"]
    assert wanted["state"] == "pending"
    assert "no_such_function" in wanted["message"]


def test_a_condition_that_is_no_code_is_rejected_with_the_reason(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("first"))

    answer = dbg.data("break", p.at("loop"), "-c", "number ==")

    assert answer["breakpoint"]["state"] == "rejected"
    assert "SyntaxError" in answer["breakpoint"]["message"]


def test_a_condition_that_fails_stops_and_says_why(dbg, sample):
    p = sample("loop")

    dbg.data("break", p.at("loop"), "-c", "nowhere.at_all")
    report = dbg.data("start", p.name)

    assert place(report) == p.at("loop")
    assert "ReferenceError: nowhere is not defined" in " ".join(report["notes"])


def test_a_condition_may_speak_of_private_fields(dbg, sample):
    p = sample("shapes")
    dbg.data("break", p.at("method"), "-c", "this.#secret === 7 && amount === 5")

    assert texts(dbg.data("start", p.name))["amount"] == "5"


def test_a_hit_count_of_a_hot_line_costs_no_stops(dbg, script):
    p = script("let n = 0;\nfor (let i = 0; i < 20000; i++) {\n  n += i; // @hot\n}\n")
    dbg.data("break", p.at("hot"), "--hit-count", "2000")

    assert texts(dbg.data("start", p.name))["i"] == "1999"


def test_logpoints_lose_nothing_even_when_the_program_dies_at_once(dbg, sample):
    p = sample("logs")
    dbg.data("break", p.at("turn"), "--log", "{turn}: {value}")

    report = dbg.data("start", p.name)

    assert report["exit"]["code"] == 9
    lines = printed(dbg.data("output", "--all"), "log").splitlines()
    assert len(lines) == 500
    assert lines[-1] == "499: 248004"


def test_a_logpoint_shows_values_as_they_are_and_says_what_failed(dbg, sample):
    p = sample("loop")
    dbg.data("break", p.at("loop"), "-c", "number === 0", "--log", "{item} {{}} {item.name} {no}")

    report = dbg.data("start", p.name)

    assert printed(report, "log") == (
        "{name: 'pen', price: 2, count: 3} {} pen <ReferenceError: no is not defined>\n"
    )


def test_a_debugger_statement_stops(dbg, script):
    p = script("const n = 1;\ndebugger; // @here\nconsole.log(n);\n")

    report = dbg.data("start", p.name)

    assert place(report) == p.at("here")
    assert report["stop"]["description"] == "debugger statement"


# --- steps --------------------------------------------------------------------------------------


def test_a_step_goes_by_lines_not_by_statements(dbg, script):
    p = script("let a = 1; let b = 2; let c = a + b; // @many\nlet d = c; // @next\n")
    dbg.data("start", p.name, "-b", p.at("many"))

    assert place(dbg.data("next")) == p.at("next")


def test_a_step_over_an_await_comes_back_behind_it(dbg, sample):
    p = programs.install("modules.mjs", dbg.project)
    dbg.data("start", p.name, "-b", p.at("awaits"))

    assert place(dbg.data("next")) == p.at("after")


def test_a_step_does_not_go_into_the_runtime(dbg, script):
    p = script(
        "const path = require('path');\n"
        "const x = path.join('a', 'b'); // @here\nconsole.log(x); // @after\n"
    )
    dbg.data("start", p.name, "-b", p.at("here"))

    assert place(dbg.data("step")) == p.at("after")


def test_finish_tells_what_a_recursion_returned_with(dbg, sample):
    p = sample("recursion")
    dbg.data("break", p.at("bottom"), "--temporary")
    dbg.data("start", p.name)

    returned = [dbg.data("finish")["returned"]["text"] for _ in range(3)]

    assert returned == ["1", "2", "3"]


def test_finish_returns_objects_that_can_be_opened(dbg, sample):
    p = sample("shapes")
    dbg.data("start", p.name, "-b", p.at("static"))

    returned = dbg.data("finish")["returned"]

    assert returned["text"] == "Account {kind: 'current', owner: 'Bob', _balance: 0, #secret: 7}"


def test_a_program_that_waits_for_events_can_be_paused(dbg, script):
    p = script(
        "const server = require('http').createServer();\n"
        "server.listen(0, () => console.log('listening'));\n"
    )
    dbg.data("start", p.name, "--no-wait")
    waits.wait_until(
        lambda: "listening" in printed(dbg.data("output", "--all")), "the server listens"
    )

    report = dbg.data("pause")

    assert report["stop"]["reason"] == "pause"
    assert frame_of(report)["function"] == "<event loop>"
    assert dbg.data("print", "process.argv.length")["value"]["text"] == "2"
    assert dbg.data("continue", "--timeout", 0.2, code=124)["state"] == "running"


# --- exceptions ---------------------------------------------------------------------------------


def test_what_escapes_from_a_module_stops_where_it_is_thrown_with_its_variables(dbg, project):
    p = programs.install("modules.mjs", project)

    report = dbg.data("start", p.name)

    assert shown(report) == p.at("thrown")
    assert report["stop"]["exception"]["type"] == "SyntaxError"
    assert texts(report)["text"] == "'x'"
    [stack] = dbg.data("backtrace")["stacks"]
    assert [frame["line"] for frame in own(stack["frames"])][-1] == p.line("top")
    assert dbg.data("continue")["exit"]["code"] == 1


def test_what_escapes_from_a_module_during_a_step_is_told_although_its_frames_are_gone(
    dbg, project
):
    p = programs.install("modules.mjs", project)
    dbg.data("start", p.name, "-b", p.at("top"))

    report = dbg.data("next")

    assert report["stop"]["reason"] == "exception"
    assert shown(report) == p.at("thrown")
    assert report["stop"]["exception"]["type"] == "SyntaxError"


@pytest.mark.parametrize(
    "code",
    [
        "async function f() { await null; throw new Error('lost'); }\nf();\n",
        "Promise.reject(new Error('lost'));\n",
        "new Promise((_, reject) => setTimeout(() => reject(new Error('lost')), 1));\n",
    ],
    ids=["thrown", "rejected", "later"],
)
def test_a_rejection_that_nobody_handles_stops(dbg, script, code):
    p = script(code)

    report = dbg.data("start", p.name)

    assert report["stop"]["exception"]["message"] == "lost"
    assert place(report).startswith("app.js:")
    assert dbg.data("continue")["exit"]["code"] == 1


@pytest.mark.parametrize(
    "code",
    [
        "async function f() { await null; throw new Error('x'); }\nf().catch(() => 0);\n",
        "async function f() { throw new Error('x'); }\n"
        "(async () => { try { await f(); } catch {} })();\n",
        "try { JSON.parse('{'); } catch {}\n",
        "try { require('fs').readFileSync('/no/such/file'); } catch {}\n",
    ],
)
def test_what_somebody_handles_does_not_stop(dbg, script, code):
    assert dbg.data("start", script(code).name)["state"] == "terminated"


def test_an_error_of_the_runtime_s_own_shows_the_user_s_line(dbg, script):
    p = script("const fs = require('fs');\nfs.readFileSync('/no/such/file'); // @here\n")

    report = dbg.data("start", p.name)

    assert shown(report) == p.at("here")
    assert report["stop"]["exception"]["message"].startswith("ENOENT")


def test_errors_are_caught_by_type_and_by_what_they_inherit_from(dbg, script):
    p = script(
        "class Broken extends RangeError {}\n"
        "for (const kind of [TypeError, Broken, RangeError]) {\n"
        "  try {\n    throw new kind('x');\n  } catch {}\n}\n"
    )
    dbg.data("catch", "raised", "RangeError")

    first = dbg.data("start", p.name)
    second = dbg.data("continue")

    assert first["stop"]["exception"]["type"] == "Broken"
    assert second["stop"]["exception"]["type"] == "RangeError"
    assert dbg.data("continue")["state"] == "terminated"


def test_causes_are_told_and_what_is_no_error_too(dbg, script):
    p = script("throw new Error('outer', { cause: new TypeError('inner') });\n")
    q = script("throw { code: 7 };\n", "odd.js")

    caused = dbg.data("start", p.name)["stop"]["exception"]
    odd = dbg.data("start", q.name)["stop"]["exception"]

    assert (caused["message"], caused["causes"]) == ("outer", ["TypeError: inner"])
    assert odd["message"] == "{code: 7}"


def test_a_program_that_is_no_program_says_so_itself(dbg, script):
    p = script("const = 3;\n")

    report = dbg.data("start", p.name)

    assert report["state"] == "terminated"
    assert report["exit"]["code"] == 1
    assert "SyntaxError" in printed(report, "stderr")

    # Nor do modules that do not fit together: only the runtime knows where.
    script("export const here = 1;\n", "lib.mjs")
    q = script("import { gone } from './lib.mjs';\ngone();\n", "app.mjs")
    report = dbg.data("start", q.name)
    assert report["exit"]["code"] == 1
    assert "app.mjs:1" in printed(report, "stderr")


# --- values -------------------------------------------------------------------------------------


def test_names_of_every_alphabet_are_shown(dbg, script):
    p = script(
        "function f(naïve) {\n  const число = naïve * 2;\n  return число; // @here\n}\nf(2);\n"
    )

    report = dbg.data("start", p.name, "-b", p.at("here"))

    assert texts(report) == {"naïve": "2", "число": "4"}


def test_private_fields_of_an_inner_object_are_left_out_visibly(dbg, script):
    p = script(
        "class Temp { #c = 1; open = 2; }\nclass Shut { #c = 1; }\n"
        "const both = [new Temp(), new Shut()];\nboth; // @here\n"
    )

    report = dbg.data("start", p.name, "-b", p.at("here"))

    assert texts(report)["both"] == "[Temp {open: 2, …}, Shut {…}]"
    assert dbg.data("print", "both[1]")["value"]["text"] == "Shut {#c: 1}"


def test_values_of_every_kind_are_readable_and_no_code_of_theirs_runs(dbg, sample):
    p = sample("shapes")

    seen = texts(dbg.data("start", p.name, "-b", p.at("here")))

    expected = {
        "account": "Account {kind: 'current', owner: 'Ada', _balance: 15, #secret: 7}",
        "pair": "[1, 'two', {name: 'new'}]",
        "holes": "[1, <empty>, 3]",
        "unique": "Set(2) {3, 'x'}",
        "prices": "Map(2) {'pen' => 2, {deep: true} => [1, 2]}",
        "empty": "[{}, [], '', Set(0) {}, null, undefined]",
        "numbers": "{big: 12345678901234567890n, minus: -0, nan: NaN, tiny: 1e-7}",
        "when": "1970-01-01T00:00:00.000Z",
        "never": "Invalid Date",
        "word": "/a+b/gi",
        "failed": "TypeError: bad {cause: Error: worse}",
        "bytes": "<Buffer 68 65 6c 6c 6f>",
        "floats": "Float32Array(2) [1.5, 2]",
        "symbol": "Symbol(mark)",
        "loop": "{name: 'loop', self: [circular]}",
        "bare": "[Object: null prototype] {}",
        "lazy": "{value: <getter>}",
        "promise": "Promise {4}",
        "quoted": "'it\\'s \"so\"'",
        "generator": "Generator {}",
        "iterators": "[Map Iterator {}, Set Iterator {}, AsyncGenerator {}]",
        "first": "'a'",
    }
    assert {name: seen.get(name) for name in expected} == expected
    assert seen["passed"].startswith("Arguments {'0': 1, length: 1")
    assert dbg.data("print", "trapped")["value"]["text"].startswith("Proxy")


def test_a_weak_reference_shows_what_it_refers_to(dbg, script):
    p = script(
        "const kept = { deep: { n: 42 } };\nconst ref = new WeakRef(kept);\n"
        "const weak = new WeakSet([kept]);\nconsole.log(ref); // @here\n"
    )

    seen = texts(dbg.data("start", p.name, "-b", p.at("here")))

    assert seen["ref"] == "WeakRef {{deep: {n: 42}}}"
    assert seen["weak"] == "WeakSet {<items unknown>}"
    [target] = dbg.data("print", "ref", "--depth", "1")["value"]["children"]
    assert (target["name"], target["text"]) == ("deref()", "{deep: {n: 42}}")


def test_closures_and_the_module_are_scopes_of_their_own(dbg, sample):
    p = sample("shapes")
    report = dbg.data("start", p.name, "-b", p.at("closure"))

    assert texts(report) == {"step": "2", "seen": "0"}
    module = dbg.data("globals")
    assert [value["name"] for scope in module["scopes"] for value in scope["values"]] == ["trapped"]


def test_this_is_shown_in_a_method_and_nowhere_else(dbg, sample):
    p = sample("shapes")

    inside = dbg.data("start", p.name, "-b", p.at("method"))
    outside = dbg.data("until", p.at("changed"))

    assert texts(inside)["this"].startswith("Account {")
    assert frame_of(inside)["function"] == "Account.deposit"
    assert "this" not in texts(outside)


def test_fields_elements_and_variables_are_set(dbg, sample):
    p = sample("shapes")
    dbg.data("start", p.name, "-b", p.at("here"))

    dbg.data("set", "account.owner", "'Zed'")
    dbg.data("set", "pair[0]", "pair.length * 2")
    dbg.data("set", "first", "'b'")

    seen = texts(dbg.data("locals"))
    assert (seen["pair"], seen["first"]) == ("[6, 'two', {name: 'new'}]", "'b'")
    assert printed(dbg.data("continue")).startswith("b Zed ")


def test_what_was_set_or_changed_by_code_is_shown_at_once(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("last"))

    dbg.data("set", "total", "7")
    dbg.data("eval", "items.length = 1")

    seen = texts(dbg.data("locals"))
    assert seen == {"items": "[{name: 'pen', price: 2, count: 3, done: true}]", "total": "7"}


def test_big_containers_are_paged(dbg, script):
    p = script(
        "const rows = Array.from({ length: 100000 }, (_, i) => ({ i })); // @made\nrows; // @end\n"
    )
    dbg.data("start", p.name, "-b", p.at("end"))

    page = dbg.data("print", "rows", "--range", "99998:100000")["value"]

    assert [child["text"] for child in page["children"]] == ["{i: 99998}", "{i: 99999}"]
    assert page["count"] == 100000


def test_parts_of_a_map_can_be_opened(dbg, sample):
    p = sample("shapes")
    dbg.data("start", p.name, "-b", p.at("here"))

    value = dbg.data("print", "prices", "--depth", 2)["value"]

    assert [(child["name"], child["text"]) for child in value["children"]] == [
        ("'pen'", "2"),
        ("{deep: true}", "[1, 2]"),
    ]
    assert [child["text"] for child in value["children"][1]["children"]] == ["1", "2"]


def test_an_await_is_refused_in_the_words_of_the_runtime(dbg, sample):
    p = sample("shapes")
    dbg.data("start", p.name, "-b", p.at("here"))

    assert "await" in dbg.error("print", "await promise")["message"]


def test_code_of_a_context_of_its_own_is_seen_like_any_other(dbg, script):
    p = script(
        "const vm = require('vm');\n"
        "const code = 'const inner = { a: new Map([[1, 2]]) };\\ndebugger;';\n"
        "vm.runInContext(code, vm.createContext({ outer: [1, 2] }), 'in.js');\n"
    )

    report = dbg.data("start", p.name)

    assert frame_of(report)["path"] == "in.js"
    assert dbg.data("print", "inner")["value"]["text"] == "{a: Map(1) {1 => 2}}"


@pytest.mark.parametrize(
    "run",
    [
        "vm.compileFunction(text, ['exports'], { filename })({});",
        "new vm.Script(`(exports => {${text}\n})`, { filename }).runInThisContext()({});",
    ],
    ids=["function", "script"],
)
def test_code_that_a_tool_compiles_is_stopped_in_at_the_lines_of_its_source(dbg, script, run):
    """As test runners do it: the text is another one, under the name of the source."""
    source = script("exports.one = 1; // @one\nexports.two = 2; // @two\n", "lib.js")
    p = script(
        "const vm = require('vm');\n"
        "const map = { version: 3, sources: ['lib.js'], mappings: ';;AAAA;AACA' };\n"
        "const url = 'data:application/json;base64,'\n"
        "  + Buffer.from(JSON.stringify(map)).toString('base64');\n"
        "const text = '// made\\n// by a tool\\nexports.one = 1;\\nexports.two = 2;\\n'\n"
        "  + '//# sourceMappingURL=' + url;\n"
        "const filename = require.resolve('./lib.js');\n"
        f"{run}\n"
    )

    report = dbg.data("start", p.name, "-b", source.at("two"))

    assert place(report) == source.at("two")
    assert not report["breakpoints"], "it is at the requested line"
    assert dbg.data("print", "exports")["value"]["text"] == "{one: 1}"


def test_a_step_leads_through_the_runtime_to_the_user_s_own_code_and_back(dbg, script):
    p = script(
        "const bus = new (require('events'))();\n"
        "bus.on('x', function handler(n) {\n  return n + 1; // @handler\n});\n"
        "bus.emit('x', 3); // @emit\nconsole.log('end'); // @end\n"
    )
    dbg.data("start", p.name, "-b", p.at("emit"))

    assert place(dbg.data("step")) == p.at("handler")
    back = dbg.data("finish")

    assert place(back) in (p.at("emit"), p.at("end"))
    assert back["returned"]["text"] == "4"


# --- what a program sees and prints ---------------------------------------------------------------


def test_a_program_sees_itself_as_it_is_without_a_debugger(dbg, script):
    p = script(
        "console.log(JSON.stringify([process.execArgv, process.argv.slice(2)]));\n"
        "console.error('Debugger attached.');\n"
        "process.exitCode = 4;\n"
    )
    alone = subprocess.run(
        ["node", str(p.path), "a", "b c"],
        capture_output=True,
        text=True,
        env=dbg.env,
        cwd=dbg.project,
        check=False,
    )

    report = dbg.data("start", p.name, "--", "a", "b c")

    assert printed(report, "stdout") == alone.stdout
    assert printed(report, "stderr") == alone.stderr == "Debugger attached.\n"
    assert report["exit"]["code"] == alone.returncode == 4


def test_options_of_node_before_the_program_are_used(dbg, script):
    p = script(
        "#!/usr/bin/env -S node --no-warnings --stack-size=900\n"
        "console.log(process.execArgv.join(' '));\n",
        "tool",
    )

    report = dbg.data("start", p.name)

    assert printed(report) == "--no-warnings --stack-size=900\n"


def test_a_call_of_the_protocol_s_is_made_and_a_wrong_one_is_told(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("loop"))

    assert '"usedSize"' in dbg.data("raw", "Runtime.getHeapUsage")["text"]
    evaluated = dbg.data("raw", 'Debugger.evaluateOnCallFrame {"expression": "amount"}')["text"]
    assert '"value": 6' in evaluated
    assert "wasn't found" in dbg.error("raw", "No.such")["message"]
    assert dbg.error("raw", "Runtime.evaluate {")["code"] == "usage"


def test_the_source_of_the_runtime_s_own_code_is_shown(dbg, script):
    p = script("[1].forEach(() => 0);\nsetTimeout(() => {\n  debugger;\n}, 1);\n")
    dbg.data("start", p.name)
    [stack] = dbg.data("backtrace", "--all")["stacks"]
    inner = next(f for f in stack["frames"] if f["path"].startswith("node:internal/timers"))

    answer = dbg.data("frame", inner["index"])

    assert any("Timeout" in line["text"] or line["current"] for line in answer["source"]["lines"])


def test_a_file_that_is_typed_needs_something_that_runs_it(dbg, script, project):
    p = script("const n: number = 1;\nconsole.log(n);\n", "app.ts")
    answer = dbg.envelope("start", p.name)
    if answer["ok"]:
        assert printed(answer["data"]) == "1\n"  # this node runs it by itself
        return

    assert answer["error"]["code"] == "launch-failed"
    assert "tsx" in answer["error"]["next"]


def test_values_of_an_earlier_stop_are_refused(dbg, sample):
    p = sample("loop")
    report = dbg.data("start", p.name, "-b", p.at("loop"))
    handle = values(report)["item"]["handle"]
    dbg.data("continue")

    assert dbg.error("print", handle)["code"] == "stale"


def test_a_step_enters_async_functions_and_frames_tell_who_began_what_runs_later(dbg, script):
    p = script(
        "async function inner() {\n  await null; // @first\n  return 1; // @inner\n}\n"
        "async function outer() {\n  return await inner(); // @outer\n}\n"
        "outer().then(() => {\n  [1].map(() => oops());\n});\n"
        "function oops() {\n  throw new Error('late'); // @oops\n}\n"
    )
    dbg.data("break", p.at("inner"))
    dbg.data("start", p.name, "-b", p.at("outer"))
    # V8 would stop in a hook of node's first, which runs before the function's first line.
    assert place(dbg.data("step")) == p.at("first")
    dbg.data("continue")

    [stack] = dbg.data("backtrace")["stacks"]

    assert functions(stack)[:2] == ["inner", "async outer"]
    # A function without a name is not a module, and a module body is not a function.
    report = dbg.data("continue")
    assert place(report) == p.at("oops")
    traceback = report["stop"]["exception"]["traceback"]
    assert {"<anonymous>"} == {line["function"] for line in traceback} - {"oops", "Array.map"}
    [stack] = dbg.data("backtrace")["stacks"]
    own = [frame["function"] for frame in stack["frames"] if not frame.get("library")]
    assert own == ["oops", "<anonymous>", "<anonymous>", "async <module>"]


def test_a_variable_before_its_line_is_said_to_be_not_initialised(dbg, script):
    p = script(
        "function sum(prices) {\n  let total = 0; // @let\n  for (const price of prices) {\n"
        "    const twice = price * 2; // @loop\n    total += twice; // @add\n  }\n"
        "  const shown = `${total}`;\n  return shown;\n}\n"
        "const all = sum([1, 2]); // @call\nconsole.log(all);\n"
    )
    missing = "<not initialised yet>"
    why = "ReferenceError: Cannot access 'shown' before initialization"
    dbg.data("break", p.at("loop"), "--log", "{price} {twice}")
    dbg.data("break", p.at("add"), "-c", "shown === '9'")
    report = dbg.data("start", p.name, "-b", p.at("let"))

    assert texts(report) == {"prices": "[1, 2]", "total": missing, "shown": missing}
    assert why in dbg.error("print", "shown.length")["message"]
    assert "Cannot access 'total'" in dbg.error("set", "total", "5")["message"]
    assert texts(dbg.data("up"))["all"] == missing
    dbg.data("next")
    # V8 gives undefined to a condition: the program itself would fail here, and so does this.
    report = dbg.data("continue")
    assert (place(report), texts(report)["total"]) == (p.at("add"), "0")
    assert why in " ".join(report["notes"])
    assert "<ReferenceError: Cannot access 'twice' before initialization>" in printed(report, "log")
    # In the second pass V8 has the value of the first one, which is another variable's.
    dbg.data("break", p.at("loop"))
    assert texts(dbg.data("continue"))["twice"] == missing
