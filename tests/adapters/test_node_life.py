"""Programs of node's from their start to their end: workers, children, attach, detach."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess

import pytest

from harness import programs, waits
from harness.reports import frame_of, functions, place, printed, texts


@pytest.fixture
def script(project):
    return lambda text, name="app.js": programs.write(name, text, project)


@pytest.fixture
def spawns(sample):
    """The parent, with the child beside it."""
    return sample("spawns"), sample("child")


# --- children -----------------------------------------------------------------------------------


def test_a_program_with_children_ends_as_it_does_without_a_debugger(dbg, spawns):
    parent, _ = spawns

    report = dbg.data("start", parent.name)

    assert report["exit"]["code"] == 5
    assert printed(dbg.data("output", "--all"), "stdout") == (
        "from child: child 2 4\nfrom child: child 3 6\ncodes 5\n"
    )


def test_a_breakpoint_in_a_child_is_hit_and_the_tree_is_shown(dbg, spawns):
    parent, child = spawns

    report = dbg.data("start", parent.name, "-b", child.at("child"))

    assert place(report) == child.at("child")
    assert texts(report)["number"] == "2"
    sessions = {each["name"]: each for each in dbg.data("sessions")["sessions"]}
    assert sessions[report["session"]]["parent"] in sessions
    assert sessions[report["session"]]["command"][-2:] == [str(child.path), "2"]

    second = dbg.data("continue")
    assert texts(second)["number"] == "3"
    dbg.data("breakpoint", "remove", "--all")
    assert dbg.data("continue")["state"] == "terminated"


def test_the_first_child_of_a_command_stops_at_its_entry_as_a_module_too(dbg, project):
    programs.write("job.mjs", "import os from 'node:os';\nconst n = 1;\nconsole.log(n);\n", project)
    # not executable, and more than commands in a row
    (project / "run.sh").write_text("for n in 1 2; do node job.mjs $n; done\n")

    entered = dbg.data("start", "--stop-on-entry", "sh", "run.sh")

    assert (entered["stop"]["reason"], place(entered)) == ("entry", "job.mjs:2")
    assert place(dbg.data("next")) == "job.mjs:3"
    assert dbg.data("continue")["exit"]["code"] == 0


def test_children_that_nobody_is_to_follow_run_alone(dbg, spawns):
    parent, child = spawns

    report = dbg.data("start", parent.name, "--child", "ignore", "-b", child.at("child"))

    assert report["exit"]["code"] == 5


def test_children_with_an_environment_of_their_own_are_followed_too(dbg, script):
    p = script(
        "const { spawn, spawnSync } = require('child_process');\n"
        "const depth = Number(process.argv[2] ?? 0);\n"
        "const own = [{ NODE_OPTIONS: '--no-warnings', DEPTH: '1' }, {}][depth];\n"
        "const started = [spawnSync, spawn][depth]?.(process.execPath,\n"
        "  ['--pending-deprecation', __filename, depth + 1], { env: own, stdio: 'inherit' });\n"
        "if (depth === 2)\n"
        "  console.log('grandchild'); // @deep\n"
        "else if (depth === 1) console.log(process.env.DEPTH, process.noDeprecation);\n"
    )

    assert place(dbg.data("start", p.name, "-b", p.at("deep"))) == p.at("deep")
    assert dbg.data("continue")["state"] == "terminated"
    whole = dbg.data("output", "--all")
    assert printed(whole, "stdout") == "1 undefined\ngrandchild\n"
    assert "DEP0111" not in printed(whole, "stderr")


def test_a_forked_child_has_its_channel_and_its_exit_code(dbg, script):
    p = script(
        "const { fork } = require('child_process');\n"
        "if (process.argv[2] === 'child') {\n"
        "  process.send({ seen: process.execArgv.length });\n"
        "  process.exitCode = 6; // @child\n"
        "  process.disconnect();\n"
        "} else if (process.argv[2] === 'fails') {\n"
        "  process.on('exit', () => console.log('bye'));\n"
        "  throw new Error('of a child'); // @fails\n"
        "} else if (process.argv[2] === 'bare') {\n"
        "  process.removeAllListeners('exit');\n"
        "  process.exit(2);\n"
        "} else {\n"
        "  const { spawnSync } = require('child_process');\n"
        "  for (const kind of ['fails', 'bare']) {\n"
        "    const done = spawnSync(process.execPath, [__filename, kind], { encoding: 'utf8' });\n"
        "    console.log(done.status, done.stdout, done.stderr.trim().split('\\n').pop());\n"
        "  }\n"
        "  const child = fork(__filename, ['child']);\n"
        "  child.on('message', (m) => console.log(JSON.stringify(m)));\n"
        "  child.on('exit', (code) => console.log('exit', code));\n"
        "}\n"
    )

    report = dbg.data("start", p.name, "-b", p.at("child"))
    assert place(report) == p.at("fails")
    assert place(dbg.data("continue")) == p.at("child")
    ended = dbg.data("continue")

    assert ended["state"] == "terminated"
    # What node says of a debugger at its end is not the program's to read.
    first, second, *rest = printed(dbg.data("output", "--all"), "stdout").splitlines()
    assert (first, second.startswith(" Node.js v")) == ("1 bye", True)
    assert rest == ["2  ", '{"seen":0}', "exit 6"]
    child = [each for each in dbg.data("sessions")["sessions"] if each["parent"]][-1]
    assert child["exit"]["code"] == 6


def test_a_child_that_outlives_its_parent_is_still_debugged(dbg, script, project):
    p = script(
        "const { spawn } = require('child_process');\n"
        "if (process.argv[2]) {\n"
        "  setTimeout(() => {\n    console.log('late'); // @late\n  }, 50);\n"
        "} else {\n"
        "  const how = { stdio: 'inherit', detached: true };\n"
        "  spawn(process.execPath, [__filename, 'child'], how).unref();\n"
        "}\n"
    )

    report = dbg.data("start", p.name, "-b", p.at("late"))

    assert place(report) == p.at("late")
    assert dbg.data("continue")["state"] == "terminated"
    assert "late\n" in printed(dbg.data("output", "--all"))


def test_stop_ends_the_children_too(dbg, script):
    p = script(
        "const { spawn } = require('child_process');\n"
        "if (process.argv[2]) setInterval(() => 0, 1000);\n"
        "else spawn(process.execPath, [__filename, 'child'], { stdio: 'inherit' });\n"
        "console.log('pid', process.pid);\n"
    )
    dbg.data("start", p.name, "--no-wait")
    waits.wait_until(
        lambda: printed(dbg.data("output", "--all")).count("pid") == 2, "both have begun"
    )
    pids = re.findall(r"pid (\d+)", printed(dbg.data("output", "--all")))

    dbg.data("stop")

    for pid in pids:
        waits.wait_for_exit(int(pid))


# --- workers ------------------------------------------------------------------------------------


def test_all_threads_stand_while_one_does_and_go_on_together(dbg, sample):
    p = sample("threads")
    dbg.data("start", p.name, "-b", p.at("worker"))

    listed = {each["name"]: each for each in dbg.data("threads")["threads"]}

    assert {"main", "worker-1", "worker-2", "worker-3"} == set(listed)
    assert listed["worker-1"]["state"] in ("stopped", "in wait")
    ended = dbg.data("continue")
    assert printed(ended) == "1 4 9\n"


def test_stops_of_several_threads_are_told_one_after_the_other(dbg, script):
    p = script(
        "const { Worker, isMainThread, workerData } = require('worker_threads');\n"
        "if (isMainThread) {\n"
        "  for (const n of [1, 2, 3]) new Worker(__filename, { workerData: n });\n"
        "} else {\n"
        "  const square = workerData * workerData;\n"
        "  globalThis.done = square; // @here\n"
        "}\n"
    )

    seen = [texts(dbg.data("start", p.name, "-b", p.at("here")))["square"]]
    seen += [texts(dbg.data("continue"))["square"] for _ in range(2)]

    assert sorted(seen) == ["1", "4", "9"]
    assert dbg.data("continue")["exit"]["code"] == 0


def test_an_uncaught_exception_of_a_worker_stops_there(dbg, script):
    p = script(
        "const { Worker, isMainThread } = require('worker_threads');\n"
        "if (isMainThread) {\n"
        "  new Worker(__filename).on('error', (e) => console.log('heard', e.message));\n"
        "} else {\n  throw new Error('in a worker'); // @thrown\n}\n"
    )

    report = dbg.data("start", p.name)

    assert place(report) == p.at("thrown")
    assert report["stop"]["exception"]["message"] == "in a worker"
    assert printed(dbg.data("continue")) == "heard in a worker\n"


def test_a_module_in_a_worker_is_debugged(dbg, script):
    inner = script(
        "import { workerData } from 'node:worker_threads';\n"
        "const twice = workerData * 2; // @first\nconsole.log(twice); // @second\n",
        "worker.mjs",
    )
    p = script(
        "import { Worker } from 'node:worker_threads';\n"
        "new Worker(new URL('./worker.mjs', import.meta.url), { workerData: 4 });\n",
        "app.mjs",
    )

    report = dbg.data("start", p.name, "-b", inner.at("second"))

    assert place(report) == inner.at("second")
    assert texts(report)["twice"] == "8"
    assert printed(dbg.data("continue")) == "8\n"


# --- attach and detach --------------------------------------------------------------------------


@pytest.fixture
def living(dbg, project):
    """Start a program without us; it is ended afterwards."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["node", *words], cwd=project, env=dbg.env, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stderr.close()


def test_a_program_that_waits_for_its_debugger_is_joined_before_its_first_line(dbg, sample, living):
    p = sample("loop")
    process = living("--inspect-brk=127.0.0.1:0", p.name)
    port = re.search(r":(\d+)/", process.stderr.readline())[1]

    report = dbg.data("attach", f"127.0.0.1:{port}", "-b", p.at("first"))

    assert place(report) == p.at("first")
    assert report["pid"] == process.pid
    dbg.data("detach")
    assert process.wait(20) == 3


def test_a_joined_program_can_be_paused_stepped_and_left_as_it_was(dbg, sample, living, project):
    p = sample("endless")
    process = living("--inspect-port=0", p.name)
    waits.wait_for_file(project / "spinning.txt", "spinning")

    report = dbg.data("attach", process.pid, "--pause")
    assert frame_of(report)["function"] == "spin"
    dbg.data("next")
    dbg.data("detach")

    assert process.poll() is None
    waits.wait_until(
        lambda: not dbg_ports(process.pid), "the inspector that was opened is closed again"
    )
    again = dbg.data("attach", process.pid, "-b", p.at("turn"))
    assert place(again) == p.at("turn")


def dbg_ports(pid: int) -> set[int]:
    from freezeframe.backends.transport import process_table

    return process_table.ports(pid)


def test_a_port_that_somebody_else_has_is_named_and_the_process_left_alone(dbg, sample, living):
    p = sample("endless")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = living(f"--inspect-port={port}", p.name)

        error = dbg.error("attach", process.pid)

    assert error["code"] == "connect"
    assert f"port {port}" in error["message"]
    assert str(os.getpid()) in error["message"]
    assert process.poll() is None


def test_a_process_that_is_no_node_is_not_sent_a_signal_that_would_end_it(dbg, project):
    other = subprocess.Popen(["sleep", "60"], cwd=project, env=dbg.env)
    try:
        error = dbg.error("attach", other.pid, "--adapter", "node")
        assert error["code"] == "unsupported"
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_port_where_no_inspector_is_is_told(dbg, sample):
    sample("loop")

    error = dbg.error("attach", f"127.0.0.1:{waits.free_port()}", "--adapter", "node")

    assert error["code"] == "connect"


def test_a_program_that_was_started_here_runs_on_when_it_is_left(dbg, sample, project):
    sample("endless")
    report = dbg.data("start", "endless.js", "--no-wait")
    waits.wait_for_file(project / "spinning.txt", "spinning")
    dbg.data("pause")

    dbg.data("detach")

    assert waits.alive(report["pid"])
    assert waits.state_of(report["pid"]) not in ("T", "t")
    os.kill(report["pid"], signal.SIGKILL)
    waits.wait_for_exit(report["pid"])


def test_a_signal_s_end_is_told_as_one(dbg, script):
    p = script("process.kill(process.pid, 'SIGTERM');\nsetInterval(() => 0, 1000);\n")

    assert dbg.data("start", p.name)["exit"]["signal"] == "SIGTERM"


def test_a_program_that_closes_its_inspector_goes_on_without_us_and_that_is_told(dbg, script):
    p = script(
        "setTimeout(() => process.exit(3), 300);\n"
        "require('inspector').close();\nconsole.log('on');\n"
    )

    report = dbg.data("start", p.name)

    assert report["state"] == "terminated"
    assert report["exit"]["code"] == 3


def test_two_hundred_exceptions_that_are_caught_cost_little(dbg, script):
    p = script(
        "let n = 0;\nfor (let i = 0; i < 2000; i++) {\n"
        "  try { JSON.parse('{'); } catch { n += 1; }\n}\nconsole.log(n);\n",
        "app.mjs",
    )

    assert printed(dbg.data("start", p.name, timeout_s=20)) == "2000\n"


def test_the_stack_of_another_thread_is_its_own(dbg, sample):
    p = sample("threads")
    dbg.data("start", p.name, "-b", p.at("worker"))
    threads = {each["name"]: each["id"] for each in dbg.data("threads")["threads"]}

    dbg.data("thread", threads["worker-1"])

    [stack] = dbg.data("backtrace")["stacks"]
    assert functions(stack)[:2] == ["wait", "work"]


def test_finish_on_the_line_of_a_return_shows_the_value_also_of_an_async_function(dbg, script):
    p = script(
        "function twice(n) {\n"
        "  const m = n * 2;\n"
        "  return m; // @return\n"
        "}\n"
        "async function later(x) {\n"
        "  await null;\n"
        "  return x; // @late\n"
        "}\n"
        "const v = twice(4);\n"
        "later(v).then((r) => {\n"
        "  console.log(r); // @then\n"
        "});\n"
    )
    dbg.data("start", p.name, "-b", p.at("return"), "-b", p.at("late"))

    report = dbg.data("finish")
    assert report["returned"]["text"] == "8"

    dbg.data("continue")
    report = dbg.data("finish")
    # No function awaits it, so that it has no caller; a step goes on to who takes its promise.
    assert (place(report), report["returned"]["text"]) == (p.at("late"), "Promise {8}")
    assert place(dbg.data("step")) == p.at("then")


def test_an_assertion_that_fails_a_test_stops_and_those_that_are_expected_do_not(dbg, script):
    p = script(
        "const test = require('node:test');\n"
        "const assert = require('assert');\n"
        "test('expected', () => assert.throws(() => assert.equal(1, 2)));\n"
        "test('caught', () => {\n"
        "  try {\n"
        "    assert.equal(3, 4);\n"
        "  } catch {}\n"
        "});\n"
        "test.describe('sums', () => test('fails', () => {\n"
        "  const got = 1 + 1;\n"
        "  assert.strictEqual(got, 3); // @failing\n"
        "}));\n"
        "test('rejects', async () => {\n"
        "  try { await assert.rejects(Promise.resolve(1)); } catch {}\n"
        "  await assert.rejects(Promise.resolve(2)); // @rejects\n"
        "});\n",
        "sums.test.js",
    )

    report = dbg.data("start", p.name)

    assert report["stop"]["exception"]["type"] == "AssertionError"
    assert "2 !== 3" in report["stop"]["exception"]["message"]
    # The assertion's own frames are the runtime's: the user's is selected.
    assert texts(report)["got"] == "2"
    # What the runtime throws into an await of the test.
    thrown = dbg.data("continue")["stop"]["exception"]
    assert (thrown["mode"], thrown["message"]) == ("test-failing", "Missing expected rejection.")
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 1
    assert ended["next"] == [f"break {p.at('rejects')}"]  # not where the suite begins


def test_an_error_that_a_test_s_runner_catches_stops_where_it_is_thrown(dbg, script):
    p = script(
        "const test = require('node:test');\n"
        "const assert = require('assert');\n"
        "const own = (text) => { try { return JSON.parse(text); } catch { return null; } };\n"
        "test('expected', () => assert.throws(() => null.x));\n"
        "test('caught', () => assert.equal(own('{'), null));\n"
        "test('handled', async () => {\n"
        "  const f = async () => { throw new Error('handled'); };\n"
        "  await f().catch(() => {});\n"
        "});\n"
        "test('errs', () => {\n"
        "  const cart = { a: 1 };\n"
        "  cart.b.c; // @error\n"
        "});\n"
        "test('errs later', async () => {\n"
        "  const cart = await null;\n"
        "  cart.d; // @later\n"
        "});\n",
        "cart.test.js",
    )

    for marker, value in (("error", "{a: 1}"), ("later", "null")):
        report = dbg.data("start", p.name) if marker == "error" else dbg.data("continue")
        assert report["stop"]["exception"]["mode"] == "test-failing"
        assert (place(report), texts(report)["cart"]) == (p.at(marker), value)

    assert dbg.data("continue")["exit"]["code"] == 1


def test_steps_of_a_test_stop_at_failures_and_pass_what_is_caught(dbg, script):
    p = script(
        "const test = require('node:test');\n"
        "const assert = require('assert');\n"
        "function odd(n) { if (n % 2) throw new Error('odd'); return n; }\n"
        "async function later(n) { if (n) throw new Error('late'); }\n"
        "test('caught', async () => {\n"
        "  let n = 0; // @first\n"
        "  try {\n"
        "    n = odd(1); // @throws\n"
        "  } catch {\n"
        "    n = 2; // @handler\n"
        "  }\n"
        "  try { await later(n); } catch { n = 3; } // @awaits\n"
        "  assert.equal(n, 4); // @failing\n"
        "});\n"
        "test('fails too', () => {\n"
        "  assert.equal(5, 6);\n"
        "});\n",
        "odd.test.js",
    )
    dbg.data("start", p.name, "-b", p.at("first"))

    for marker in ("throws", "handler", "awaits"):
        assert place(dbg.data("next")) == p.at(marker)
    dbg.data("next")
    assert place(dbg.data("context")) == p.at("failing")
    assert "3 == 4" in dbg.data("next")["stop"]["exception"]["message"]
    # The test is over: the next stop is the next failure.
    assert "5 == 6" in dbg.data("next")["stop"]["exception"]["message"]


#: a runner that transforms a file of tests, maps its stacks and rejects with them, as jest does
RUNNER = """\
const vm = require("vm"), fs = require("fs");
const file = process.argv[2];
// Two lines of the source are gone in the script; a segment at the first column and the third.
const code = fs.readFileSync(file, "utf8").split("\\n").slice(2);
const mappings = ["AAEA,EAAE", ...code.slice(1).map(() => "AACF,EAAE")].join(";");
const map = JSON.stringify({ version: 3, sources: [file], names: [], mappings });
const inline = Buffer.from(map).toString("base64");
code.push(`//# sourceMappingURL=data:application/json;base64,${inline}`);
const box = vm.createContext({ moved: (name) => (name === file ? 2 : 0) });
box.test = (name, fn) => new Promise((resolve, reject) => {
  try { fn(); } catch (error) { reject(error); }
}).catch((error) => { console.log(error.stack); process.exitCode = 1; });
const line = "(f.getLineNumber() + moved(f.getFileName()))";
const at = `(f) => f.getFileName() + ":" + ${line} + ":" + f.getColumnNumber()`;
const rows = `frames.map(${at}).map((f) => "\\\\n    at f (" + f + ")").join("")`;
const prepare = `(error, frames) => error + ${rows}`;
vm.runInContext(`Error.prepareStackTrace = ${prepare}`, box);
vm.runInContext(code.join("\\n"), box, { filename: file });
"""
TESTS = """\
// a
// b
test('raises', () => { // @test
  const value = { a: 1 };
  boom(value); // @call
  boom(value);
});
function boom(x) {
  const it = x.b;
  return it.c; // @error
}
"""


def test_a_stack_that_a_test_s_runner_has_mapped_is_not_mapped_again(dbg, project, write_program):
    p = write_program("cart.js", TESTS)
    runner = project / "node_modules" / "jest-circus" / "run.js"
    runner.parent.mkdir(parents=True)
    runner.write_text(RUNNER)

    report = dbg.data("start", "node", runner, project / p.name)

    assert (place(report), texts(report)["it"]) == (p.at("error"), "undefined")
    told = report["stop"]["exception"]["traceback"]
    assert [each["line"] for each in told if not each["library"]] == [
        p.line(marker) for marker in ("test", "call", "error")
    ]
    # What the runner rejects with is what has been shown.
    report = dbg.data("continue")
    assert report["exit"]["code"] == 1
    assert f"cart.js:{p.line('call')}:3" in printed(report)


def test_a_module_that_begins_with_a_class_with_private_names_runs(dbg, script):
    p = script(
        "class Box {\n  #held = 3;\n  get() {\n    return this.#held; // @get\n  }\n}\n"
        "console.log(new Box().get(), process.execArgv);\nthrow new Error('end'); // @end\n",
        "app.mjs",
    )

    # Node 20 itself crashes where it stops at the first line of such a module.
    report = dbg.data("start", p.name, "-b", p.at("get"))

    assert (place(report), texts(report)["this"]) == (p.at("get"), "Box {#held: 3}")
    report = dbg.data("continue")
    assert (place(report), printed(report)) == (p.at("end"), "3 []\n")
