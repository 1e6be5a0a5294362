"""Node: `finish` of functions that an exception leaves, and what follows an interrupted one."""

from __future__ import annotations

import pytest

from harness.reports import place, texts

_THROWING = """\
function bad(n) {
  n += 1; // @bad
  throw new Error("no");
}
function caught(n) {
  let sum = 0; // @caught
  for (let i = 0; i < 3; i++) {
    try { if (i % 2) bad(i); sum += i; } catch { sum += 100; }
  }
  return sum + n;
}
function t() {
  try {
    bad(1);
  } catch (e) {
    console.log("handled"); // @handled
  }
  return 5;
}
async function late(n) {
  n += 1; // @late
  await null;
  throw new Error("late"); // @thrown
}
class Box {
  constructor(v) { this.v = v; }
  grow() {
    this.v += 1; // @grow
    return this;
  }
}
const grown = () => new Box(1).grow().v;
async function main() {
  t();
  caught(1);
  grown();
  try {
    await late(1);
  } catch (e) {
    console.log("awaited"); // @awaited
  }
  console.log("end"); // @end
}
main();
"""


def test_finish_of_a_function_that_throws_arrives_at_its_handler_with_no_value(dbg, write_program):
    p = write_program("throws.js", _THROWING)
    dbg.data("start", p.name, "-b", p.at("bad"), "-b", p.at("caught"), "-b", p.at("thrown"))

    report = dbg.data("finish")
    assert (place(report), report.get("returned")) == (p.at("handled"), None)
    assert place(dbg.data("continue")) == p.at("caught")
    dbg.data("breakpoint", "disable", "1")
    # What is thrown and caught on the way ends nothing.
    assert dbg.data("finish")["returned"]["text"] == "103"
    dbg.data("until", p.at("grow"))
    assert dbg.data("finish")["returned"]["text"] == "Box {v: 2}"
    # The caller returns something else, and at the same location.
    assert dbg.data("finish")["returned"]["text"] == "2"
    assert place(dbg.data("continue")) == p.at("thrown")
    report = dbg.data("finish")
    assert (place(report), report.get("returned")) == (p.at("awaited"), None)


def test_a_finish_that_a_breakpoint_ended_stops_nowhere_later(dbg, write_program):
    p = write_program("throws.js", _THROWING)
    dbg.data("start", p.name, "-b", p.at("late"), "-b", p.at("thrown"))

    assert place(dbg.data("finish")) == p.at("thrown")
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_breakpoint_where_a_function_returns_to_hides_no_value(dbg, write_program):
    lines = "function twice(n) {\n  return n * 2\n}\ntwice(4)\nlet y = 1 // @after\n"
    p = write_program("twice.js", lines)
    dbg.data("start", p.name, "-b", "twice.js:2", "-b", p.at("after"))

    report = dbg.data("finish")

    assert (place(report), report["returned"]["text"]) == (p.at("after"), "8")


_CONSTRUCTORS = """\
class Base {
  constructor(n) {
    this.n = n; // @base
  }
}
class Derived extends Base {
  constructor(n) {
    super(n);
    this.twice = 2 * n; // @derived
  }
}
function Old(n) {
  this.old = n; // @old
}
function plain(n) {
  this.held = n; // @plain
}
new Derived(3);
new Old(4);
plain.call({}, 5);
"""


def test_finish_of_a_constructor_tells_the_object(dbg, write_program):
    p = write_program("made.js", _CONSTRUCTORS)

    told = []
    dbg.data("start", p.name, "-b", p.at("derived"))
    told.append(dbg.data("finish")["returned"]["text"])
    for mark in ("old", "plain"):
        dbg.data("break", p.at(mark))
        dbg.data("continue")
        told.append(dbg.data("finish")["returned"]["text"])
    assert told == ["Derived {n: 3, twice: 6}", "Old {old: 4}", "undefined"]
    dbg.data("breakpoint", "remove", "--all")
    # The object is its derived class's, which goes on making it.
    dbg.data("start", p.name, "-b", p.at("base"))
    assert dbg.data("finish")["returned"]["text"] == "Derived {n: 3}"


_ASYNC = """\
let done = 0;
const sleep = (ms, v) => new Promise((r) => setTimeout(r, ms, v));
async function handle(id, ms) {
  let sum = 0; // @handle
  await sum;
  for (let i = 0; i < 300000; i++) {
    sum += i % 2;
  }
  for (const each of [sleep(1, 1), 2]) sum += await each;
  const got = add(await sleep(ms, id),
    await sleep(1, 1));
  done += 1;
  return got; // @return
}
function add(a, b) {
  return a + b;
}
async function short(id) {
  await sleep(1, id); // @short
} // @end
const arrow = async (id) => {
  const got = await sleep(1, id); // @arrow
  return got + 1; // @sum
};
async function awaits() {
  const got = await handle(5, 1);
  console.log("awaited", got); // @awaits
}
function runs() {
  const n = 7; // @runs
  return n * 6; // @product
}
setTimeout(() => { try { throw new Error("other"); } catch {} }, 3);
handle(1, 40);
handle(2, 5);
const poll = setInterval(async () => {
  if (done < 2) return;
  clearInterval(poll);
  await awaits();
  // One after the other, however long a stop takes.
  const rest = [() => setTimeout(short, 1, 1), () => setTimeout(arrow, 1, 2),
    () => setTimeout(runs, 1)];
  process.on("beforeExit", () => rest.shift()?.());
}, 1);
"""


def test_finish_follows_one_call_of_an_async_function_to_its_end(dbg, write_program):
    p = write_program("calls.js", _ASYNC)
    dbg.data("start", p.name, "-b", p.at("handle"), "-b", p.at("runs"))
    for mark in ("short", "arrow"):
        dbg.data("break", p.at(mark))
    dbg.data("breakpoint", "disable", "1")

    # Nothing awaits it, and another call of the function returns before it does.
    report = dbg.data("finish")
    assert (place(report), report["returned"]["text"]) == (p.at("return"), "Promise {2}")
    assert texts(report)["id"] == "1"

    dbg.data("breakpoint", "enable", "1")
    assert place(dbg.data("continue")) == p.at("handle")
    report = dbg.data("finish")
    assert (place(report), report["returned"]["text"]) == (p.at("awaits"), "Promise {6}")
    assert texts(report)["got"] == "6"
    # Nothing awaits these.
    for mark, end, returned in (
        ("short", "end", "Promise {undefined}"),
        ("arrow", "sum", "Promise {3}"),
    ):
        assert place(dbg.data("continue")) == p.at(mark)
        report = dbg.data("finish")
        assert (place(report), report["returned"]["text"]) == (p.at(end), returned)
    assert place(dbg.data("continue")) == p.at("runs")


def test_finish_of_a_function_that_the_runtime_calls_ends_at_its_return(dbg, write_program):
    p = write_program("calls.js", _ASYNC)
    dbg.data("start", p.name, "-b", p.at("runs"))

    report = dbg.data("finish")

    assert (place(report), report["returned"]["text"]) == (p.at("product"), "42")


_GENERATOR = """\
const sleep = (ms, v) => new Promise((r) => setTimeout(r, ms, v));
const twice = (n) => n * 2;
async function* numbers(n) {
  let a = 1; // @numbers
  a += await sleep(5, n);
  yield twice(a); // @first
  a = 10; // @second
  for (const each of [1]) {
    yield each; // @yield
  }
}
async function busy() {
  for (let i = 0; i < 20; i++) await sleep(1);
}
async function main() {
  for await (const each of numbers(2)) {
    console.log(each);
  }
  console.log("end"); // @end
}
busy();
main();
numbers(3).next();
"""


def test_steps_in_an_async_generator_stay_in_it_until_it_is_left(dbg, write_program):
    p = write_program("numbers.js", _GENERATOR)
    dbg.data("start", p.name, "-b", p.at("numbers"))
    dbg.data("breakpoint", "disable", "1")

    assert [place(dbg.data("finish")) for _ in range(3)] == [
        p.at(m) for m in ("first", "yield", "end")
    ]

    dbg.data("start", p.name, "-b", p.at("first"))
    assert place(dbg.data("next")) == p.at("second")
    dbg.data("start", p.name, "-b", p.at("yield"))
    dbg.data("step")
    assert place(dbg.data("step")) == p.at("end")


RETURNS = """\
function inBlock(x) {
  if (x) {
    const y = x * 2
    return y // @block
  }
}
function scaled(v, by = 3) {
  const out = v.map((x) => x * by)
  return out // @parameters
}
if (process.argv[2]) inBlock(4)
else {
  console.log(inBlock(1), scaled([1]), process.execArgv.length)
  require('child_process').fork(__filename, ['child'])
}
"""


def test_variables_of_blocks_are_visible_at_a_return_of_one(dbg, write_program):
    p = write_program("returns.js", RETURNS)
    lines = ("-b", p.at("block"), "-b", p.at("parameters"))

    report = dbg.data("start", "returns.js", *lines)
    assert texts(report) == {"x": "1", "y": "2"}
    assert dbg.data("print", "y + x")["value"]["text"] == "3"
    # One stop per pass, and the step leaves the function.
    assert place(dbg.data("next")).startswith("returns.js:13")
    assert texts(dbg.data("continue"))["out"] == "[3]"
    assert "returned [3]" in dbg("finish").out
    child = dbg.data("continue")
    assert texts(child) == {"x": "4", "y": "8"}
    dbg("continue")
    assert "| 2 [ 3 ] 0\n" in dbg("output", "--all").out


def test_a_variable_that_v8_has_not_kept_is_said_to_be_declared(dbg, write_program):
    write_program(
        "kept.mjs",
        "function inner(n) {\n  return n + 1\n}\nlet sum = 0\nsum += inner(1)\nconsole.log(sum)\n",
    )
    dbg("start", "kept.mjs", "-b", "kept.mjs:2")

    assert (
        "kept.mjs declares it, but V8 keeps it in no scope" in dbg.error("print", "sum")["message"]
    )
    assert dbg.error("print", "missing")["message"] == "ReferenceError: missing is not defined"


def test_finish_arrives_in_the_caller_where_a_return_goes_through_a_finally(dbg, write_program):
    # V8's own step out of such a function never ends.
    p = write_program(
        "through.js",
        "function first(list) {\n  for (const item of list) {\n    return item // @loop\n  }\n}\n"
        "function closed(n) {\n  try {\n    return n // @try\n  } finally {\n    n = 0\n  }\n}\n"
        "function run() {\n  const a = first([1])\n  const b = closed(2) // @then\n"
        "  console.log(a, b) // @last\n}\nrun()\n",
    )
    dbg("start", "through.js", "-b", p.at("loop"), "-b", p.at("try"))

    assert place(dbg.data("finish")) == p.at("then")
    dbg("continue")
    assert place(dbg.data("finish")) == p.at("last")
    assert "| 1 2\n" in dbg("continue").out


_RECURSIVE = """\
function walk(n) {
  for (const item of [n]) {
    if (n > 0) {
      const below = walk(n - 1) // @call
      return below + item // @sum
    }
    return item // @deepest
  }
}
function last(n) {
  for (const item of [n]) {
    return n > 0 ? last(n - 1) : item // @last
  }
}
const total = walk(2)
const end = last(1) // @then
const closed = (() => { // @ended
  try {
    return total
  } finally {
    console.log(end) // @finally
  }
})()
console.log(closed) // @closed
"""


@pytest.mark.parametrize("name", ["through.js", "through.mjs"])
def test_steps_arrive_in_the_caller_where_a_return_goes_through_a_finally(dbg, write_program, name):
    p = write_program(name, _RECURSIVE)
    dbg("start", name, "-b", p.at("deepest"), "-b", p.at("last"))

    assert place(dbg.data("next")) == p.at("sum")
    assert place(dbg.data("step")) == p.at("sum")
    # The first function of the file and the module begin at the same position.
    assert place(dbg.data("finish")) == p.at("then")
    dbg("continue")
    dbg("continue")
    # Nothing is left to do in the caller.
    assert place(dbg.data("next")) == p.at("ended")
    dbg("until", p.at("finally"))
    assert place(dbg.data("next")) == p.at("closed")
    dbg("breakpoint", "remove", "--all")
    dbg("start", name, "-b", p.at("call"))
    dbg("breakpoint", "remove", "--all")
    # The calls of the recursion end no step over.
    assert texts(dbg.data("next"))["n"] == "2"
    assert "| 3\n" in dbg("continue").out
