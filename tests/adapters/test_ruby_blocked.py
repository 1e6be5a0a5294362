"""Ruby programs that do not come to a stop: where their threads are."""

from __future__ import annotations

from harness import waits
from harness.reports import Data

DEADLOCK = """\
def transfer(from, to, ready)
  from.synchronize do
    ready << true
    Thread.pass until ready.size == 2
    to.synchronize { puts "done" } # @locks
  end
end

a, b, ready = Mutex.new, Mutex.new, Queue.new
threads = [[a, b], [b, a]].map { |from, to| Thread.new { transfer(from, to, ready) } }
threads.first.name = "first"
$stdin.gets # @reads
threads.each(&:join) # @joins
"""


def own(stack: Data) -> Data:
    return next(frame for frame in stack["frames"] if not frame["library"])


def test_a_hang_shows_where_each_thread_waits_while_it_runs(dbg, write_program, debugger):
    p = write_program("stuck.rb", DEADLOCK)
    dbg.data("break", p.at("locks"), "-c", "false")
    # The program is not read yet when its breakpoints are set.
    assert "rejected" not in dbg("start", p.name, "--no-wait").out

    def seen() -> Data:
        report = dbg.data("await", "--timeout", "0.1")
        assert report["state"] == "running"
        return report

    def stands(marker: str, report: Data) -> list[Data]:
        return [s for s in report["stacks"] if f"stuck.rb:{own(s)['line']}" == p.at(marker)]

    def waiting() -> bool:
        report = seen()
        return len(stands("locks", report)) == 2 and len(stands("reads", report)) == 1

    waits.wait_until(waiting, "every thread waits")
    report = seen()
    first, second = (stack["thread"] for stack in stands("locks", report))
    assert "first" in (first["name"], second["name"])
    assert first["state"] == "in synchronize"
    assert own(stands("locks", report)[1])["function"] == "block in transfer"
    assert second["state"] == "in synchronize"
    [main] = stands("reads", report)
    assert (main["thread"]["name"], main["thread"]["state"]) == ("main", "in gets")
    assert not report["notes"]

    # Now no thread can continue, and only the debugger keeps Ruby from reporting that.
    dbg("input", "")
    waits.wait_until(lambda: stands("joins", seen()), "the program goes on")
    waits.wait_until(lambda: seen()["notes"], "every thread waits for another one")
    assert "No live threads left. Deadlock?" in seen()["notes"][0]
    assert "thread 1 (main), in join:" in dbg("await", "--timeout", "0.1").out

    # Ruby gives the variables of a frame to its own thread only.
    dbg("pause")
    [other, _] = dbg.data("backtrace", "--all-threads", "--locals")["stacks"][1:]
    [unreadable] = other["values"][str(own(other)["index"])]
    assert unreadable["text"] == "<not readable: the thread waits in a call>"
