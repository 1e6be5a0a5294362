"""Node: what is told of a program that does not come to a stop."""

from __future__ import annotations

import os
import signal

from harness import waits
from harness.reports import place

_IDLE = """\
const server = require("http").createServer(() => {});
server.listen(0, "127.0.0.1", () => console.log("ready"));
setInterval(() => {}, 3600000);
let turns = 0;
process.on("SIGUSR2", () => {
  turns += 1; // @turn
});
"""
_BUSY = """\
function spin(number) {
  let total = 0;
  while (total >= 0) total += number; // @spin
}
spin("abc".length);
"""


def test_an_idle_event_loop_says_what_is_active_and_runs_on(dbg, write_program):
    p = write_program("idle.js", _IDLE)
    dbg.data("start", p.name, "-b", p.at("turn"), "-t", 1)

    def told():
        state = str(dbg.data("await", "-t", 1)["stacks"])
        return state if "listening TCP socket" in state else None

    state = waits.wait_until(told, "an idle event loop is reported")
    assert "1 timer" in state
    [session] = dbg.data("status")["sessions"]
    assert session["state"] == "running"
    # Nothing is left over that its next code would stop at.
    os.kill(session["pid"], signal.SIGUSR2)
    assert place(dbg.data("await")) == p.at("turn")


def test_a_busy_program_shows_its_stack_and_variables_and_runs_on(dbg, write_program):
    p = write_program("busy.js", _BUSY)
    dbg.data("start", p.name, "-b", p.at("spin"))
    dbg.data("breakpoint", "remove", "1")

    report = dbg.data("continue", "-t", 1)
    [stack] = report["stacks"]

    assert [each["function"] for each in stack["frames"]][:2] == ["spin", "<module>"]
    assert ("number", "3") in [(each["name"], each["text"]) for each in stack["values"]["0"]]
    assert dbg.data("status")["sessions"][0]["state"] == "running"
    assert place(dbg.data("pause")) == p.at("spin")
