"""Node: `finish` of functions that an exception leaves, and what follows an interrupted one."""

from __future__ import annotations

from harness.reports import place

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
async function main() {
  t();
  caught(1);
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
    assert place(dbg.data("continue")) == p.at("thrown")
    report = dbg.data("finish")
    assert (place(report), report.get("returned")) == (p.at("awaited"), None)


def test_a_finish_that_a_breakpoint_ended_stops_nowhere_later(dbg, write_program):
    p = write_program("throws.js", _THROWING)
    dbg.data("start", p.name, "-b", p.at("late"), "-b", p.at("thrown"))

    assert place(dbg.data("finish")) == p.at("thrown")
    assert dbg.data("continue")["exit"]["code"] == 0


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
