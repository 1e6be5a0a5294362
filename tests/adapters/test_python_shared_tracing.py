"""Programs that use sys.settrace themselves keep it, and the debugger keeps its breakpoints."""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.reports import frame_of, place, printed, texts

TRACING = """\
import sys, threading
seen = []
class Measuring:
    '''Installs itself at each call, as trace functions in C do, and asks for some lines only.'''
    def __call__(self, frame, event, arg):
        if event == 'call':
            sys.settrace(self)
            frame.f_trace_lines = frame.f_code.co_name != 'unmeasured'
        if frame.f_code.co_filename == __file__:
            seen.append((frame.f_code.co_name, event, frame.f_lineno))
        return self
def unmeasured(n):
    n += 1
    n += 1  # @unmeasured
    return n
def work(n):
    total = 0
    for i in range(n):
        total += i  # @line
    return unmeasured(total)
def named(n):
    return n + 1
def run():
    sys.settrace(measuring)
    a = work(2)
    b = named(a)
    shown = sys.gettrace() is measuring
    sys.settrace(None)
    c = work(1)
    return a, b, c, shown
measuring = Measuring()
threading.settrace(measuring)
other = threading.Thread(target=named, args=(1,))
other.start(); other.join()
threading.settrace(None)
print(run(), len(seen), sys.gettrace())
print(*seen)
"""


@pytest.mark.parametrize("adapter", ["debugpy", "pdb"])
def test_a_program_that_traces_itself_stops_at_breakpoints_and_traces_the_same(
    dbg, write_program, adapter
):
    p = write_program("tracing.py", TRACING)
    plain = subprocess.run(
        [sys.executable, p.path], capture_output=True, text=True, check=True
    ).stdout

    points = [word for mark in ("line", "unmeasured") for word in ("-b", p.at(mark))]
    stops = [dbg.data("start", p.name, "--adapter", adapter, *points, "-b", "named")]
    assert frame_of(stops[0])["function"] == "named"
    for _ in range(3):
        stops.append(dbg.data("continue"))
    assert [place(each) for each in stops[1:]] == [p.at("line")] * 2 + [p.at("unmeasured")]
    assert texts(dbg.data("next"))["n"] == "3"
    assert frame_of(dbg.data("finish"))["function"] == "work"
    assert frame_of(dbg.data("continue"))["function"] == "named"
    assert [place(dbg.data("continue")) for _ in range(2)] == [p.at("line"), p.at("unmeasured")]
    assert dbg.data("continue")["exit"]["code"] == 0

    assert printed(dbg.data("output", "--all")) == plain
