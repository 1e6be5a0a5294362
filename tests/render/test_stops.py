"""The stop report, word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freezeframe.model.answers import Chunk, Ended, Output, StepTrail, StopReport
from freezeframe.model.locations import Source
from freezeframe.model.stops import (
    Breakpoint,
    BreakpointState,
    ExceptionInfo,
    Exit,
    Frame,
    StopReason,
    Thread,
    TracebackLine,
    WatchHit,
)
from freezeframe.model.values import Value
from freezeframe.render.budget import tokens

from .samples import local_scope, report, shown, source, stop, text

PRINTED = Output((Chunk("stdout", "hel"), Chunk("stdout", "lo\n"), Chunk("stderr", "oops\n")))


def test_a_report_says_why_where_what_changed_and_what_was_printed():
    answer = report(
        source=source(),
        scopes=(
            local_scope(
                Value("n", "3"),
                Value("s", "1", changed=True, was="0"),
                Value("i", "1", changed=True),
            ),
        ),
        output=replace(PRINTED, chunks=(*PRINTED.chunks, Chunk("log", "i=1\n"))),
        via="debugpy 1.8.22",
    )

    assert shown(answer) == text("""
        stopped: breakpoint 1 at app.py:22 in total
           19  def total(n):
           20      s = 0
           21      for i in range(n):
        -> 22          s += i
           23      return s
           24
           25  print(total(3))
        * s = 1 (was 0)
        * i = 1 (new)
          n = 3
        output:
        | hello
        err| oops
        log| i=1
        via debugpy 1.8.22
    """)


def test_the_report_of_a_small_frame_costs_at_most_150_tokens():
    answer = report(
        source=source(),
        scopes=(
            local_scope(
                Value("items", "['apple', 'pear']"),
                Value("n", "3"),
                Value("owner", "None"),
                Value("s", "1", changed=True, was="0"),
                Value("i", "2", changed=True, was="1"),
            ),
        ),
        output=PRINTED,
        via="debugpy 1.8.22",
    )

    assert tokens(shown(answer)) <= 150


def test_a_nested_change_is_named_by_its_path_and_its_siblings_are_left_out():
    item = Value("0", "<Item>", opaque=True, children=(Value("qty", "2", changed=True, was="1"),))
    big = Value("name", "'x'" * 1000)
    cart = Value(
        "cart",
        "<Cart>",
        opaque=True,
        children=(Value("items", "[<Item>]", children=(item,)), big),
    )

    assert shown(report(scopes=(local_scope(cart),))) == text("""
        stopped: breakpoint 1 at app.py:22 in total
        * cart.items[0].qty = 2 (was 1)
    """)


def test_a_change_inside_a_short_list_shows_the_list():
    xs = Value("xs", "[1, 2]", changed=True, was="[1]", children=(Value("1", "2", changed=True),))

    assert "* xs = [1, 2] (was [1])\n" in shown(report(scopes=(local_scope(xs),)))


def test_two_long_values_that_differ_in_the_middle_are_shown_around_the_difference():
    old = "'" + "a" * 5000 + "'"
    new = "'" + "a" * 2000 + "b" + "a" * 2999 + "'"
    line = shown(report(scopes=(local_scope(Value("s", new, changed=True, was=old)),)))

    changed, _, was = line.partition("(was ")
    assert "ab" in changed
    assert "b" not in was.replace("chars", "")


def test_an_exception_comes_with_its_message_causes_and_the_way_to_it():
    error = ExceptionInfo(
        "KeyError",
        "'x'",
        (
            TracebackLine("/p/app.py", 25, "<module>", "print(total(3))"),
            TracebackLine("/usr/lib/json.py", 9, "loads", "…", library=True),
            TracebackLine("/usr/lib/json.py", 10, "decode", "…", library=True),
            TracebackLine("/p/app.py", 22, "total", "s += i"),
        ),
        causes=("ValueError: no",),
        mode="uncaught",
    )

    assert shown(report(stop=stop(StopReason.EXCEPTION, exception=error))) == text("""
        stopped: uncaught exception at app.py:22 in total
        exception: KeyError: 'x'
        caused by: ValueError: no
          app.py:25 in <module>: print(total(3))
          … 2 library frames
    """)


def test_the_traceback_of_an_endless_recursion_is_folded():
    deep = tuple(TracebackLine("/p/app.py", 10, "fib", "return fib(n)") for _ in range(980))
    error = ExceptionInfo("RecursionError", "maximum recursion depth exceeded", deep)
    frame = Frame(0, "fib", "/p/app.py", 9)

    answer = report(stop=stop(StopReason.EXCEPTION, exception=error, frame=frame))

    assert shown(answer) == text("""
        stopped: exception at app.py:9 in fib
        exception: RecursionError: maximum recursion depth exceeded
          app.py:10 in fib: return fib(n)
          … 978 more frames of fib
          app.py:10 in fib: return fib(n)
    """)


def test_a_traceback_that_could_not_be_parsed_is_shown_as_the_debugger_s_text():
    error = ExceptionInfo("Boom", "", raw_traceback="at f (a.js:1)\nat g (a.js:2)\n")

    assert shown(report(stop=stop(StopReason.EXCEPTION, exception=error))) == text("""
        stopped: exception at app.py:22 in total
        exception: Boom
          at f (a.js:1)
          at g (a.js:2)
    """)


def test_a_wait_that_ran_out_says_how_long_it_was_and_what_to_do():
    answer = StopReport("app", "running", waited_s=30, pid=12, output=PRINTED)

    assert shown(answer) == text("""
        running: no stop within 30 s (pid 12)
        output:
        | hello
        err| oops
        next: dbg await or dbg pause
    """)


def test_a_program_without_a_waiting_caller_is_running():
    assert shown(StopReport("app", "running")) == "running\nnext: dbg await or dbg pause\n"


@pytest.mark.parametrize(
    ("exit", "words"),
    [
        (Exit(0), "exited: code 0"),
        (Exit(3), "exited: code 3"),
        (Exit(signal="SIGSEGV"), "killed by SIGSEGV (segmentation fault)"),
        (Exit(signal="SIGKILL", how="killed"), "killed by SIGKILL"),
        (Exit(how="killed"), "killed"),
        (Exit(how="detached"), "detached"),
        (Exit(), "ended: exit code unknown"),
        (Exit(how="lost", reason="boom"), "ended: the debugger was lost: boom"),
        (None, "ended"),
    ],
)
def test_the_exit_of_a_program_is_reported(exit, words):
    assert shown(StopReport("app", "terminated", exit=exit)) == f"{words}\n"


def test_the_last_output_of_a_lost_debugger_is_shown_below_when_it_is_long():
    answer = StopReport("app", "terminated", exit=Exit(how="lost", reason="boom " * 50))

    first, second = shown(answer).splitlines()
    assert first == "ended: the debugger was lost"
    assert second == "reason: " + "boom " * 50


def test_the_session_is_named_when_there_are_several():
    assert shown(report(several=True)).startswith("app stopped: breakpoint 1 at ")


@pytest.mark.parametrize(
    ("thread", "count", "named"),
    [
        (Thread(1, "MainThread"), 1, False),
        (Thread(7, "Worker"), 1, False),
        (Thread(1, "MainThread"), 2, True),
        (Thread(1, "MainThread"), None, False),
        (Thread(7, "Worker"), None, True),
    ],
)
def test_a_thread_is_named_only_when_it_could_be_another(thread, count, named):
    first = shown(report(stop=stop(thread=thread), threads=count)).splitlines()[0]

    assert first.endswith(f", thread {thread.id} ({thread.name})") is named


def test_threads_that_keep_running_are_reported():
    answer = report(stop=stop(all_threads=False), threads=2)

    assert shown(answer).splitlines()[1] == "other threads keep running"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"breakpoints": (1, 4)}, "breakpoints 1, 4 at"),
        ({"reason": StopReason.STEP}, "step at"),
        ({"reason": StopReason.ENTRY}, "entry at"),
        ({"reason": StopReason.PAUSE}, "pause at"),
        (
            {"reason": StopReason.WATCHPOINT, "breakpoints": (1,), "watch": WatchHit(2, "x")},
            "watchpoint 2, breakpoint 1 at",
        ),
        ({"reason": StopReason.OTHER, "description": "fork"}, "fork at"),
        ({"reason": StopReason.OTHER}, "no reason given at"),
    ],
)
def test_the_reason_comes_first(facts, words):
    assert shown(report(stop=stop(**facts))).startswith(f"stopped: {words} app.py:22 in total\n")


def test_the_debugger_s_description_follows_the_location():
    answer = report(stop=stop(StopReason.SIGNAL, description="SIGSEGV: invalid address"))

    assert shown(answer) == (
        "stopped: SIGSEGV (segmentation fault) at app.py:22 in total (invalid address)\n"
    )


def test_a_stop_without_a_frame_is_still_a_stop():
    assert shown(report(stop=stop(StopReason.PAUSE, frame=None))) == "stopped: pause\n"


def test_a_frame_without_source_is_placed_by_address_and_module():
    frame = Frame(0, "memcpy", address="0x7f10", module="libc.so.6")

    assert shown(report(stop=stop(StopReason.PAUSE, frame=frame))) == (
        "stopped: pause at 0x7f10 libc.so.6 in memcpy\n"
    )


def test_a_selected_frame_that_is_not_the_innermost_is_named():
    answer = report(selected=Frame(2, "main", "/p/app.py", 30))

    assert shown(answer) == text("""
        stopped: breakpoint 1 at app.py:22 in total
        frame 2 is selected: app.py:30 in main
    """)


def test_source_that_is_gone_or_changed_is_reported():
    gone = report(source=Source("/p/app.py", (), missing="the file is gone"))
    stale = report(source=replace(source(), note="changed on disk since the start"))

    assert "no source: the file is gone\n" in shown(gone)
    assert "note: changed on disk since the start\n" in shown(stale)


def test_the_way_of_several_steps_is_one_line_each():
    trail = (
        StepTrail("/p/app.py:20", "total", 20, "    s = 0"),
        StepTrail("/p/app.py", "total", 21, "for …", (Value("s", "0", changed=True),)),
        StepTrail("/p/app.py:22", "total", 22, "s += i", (Value("i", "1", changed=True, was="0"),)),
        StepTrail("/p/lib.py:3", "add", 3, "return a"),
    )

    assert shown(report(stop=stop(StopReason.STEP), trail=trail)) == text("""
        stopped: step at app.py:22 in total
        on the way:
        app.py:20 in total  s = 0
        app.py:21  s = 0 (new)
        app.py:22  i = 1 (was 0)
        lib.py:3 in add  return a
    """)


def test_a_single_change_on_the_way_has_the_line_to_itself():
    when = "datetime.datetime(2019, 4, 20, 11, 0, 0, 900000, tzinfo=None)"
    trail = (StepTrail("/p/app.py:20", "total", 20, "x", (Value("t", when, changed=True),)),)

    assert f"app.py:20 in total  t = {when} (new)\n" in shown(report(stop=stop(), trail=trail))


def test_the_returned_value_callers_notes_and_unbound_breakpoints_are_shown():
    answer = report(
        stop=stop(StopReason.STEP),
        returned=Value("(return) total", "55"),
        callers=(Frame(3, "main", "/p/app.py", 30),),
        notes=("session old was replaced",),
        breakpoints=(
            Breakpoint(2, "app.py:99", BreakpointState.REJECTED, message="app.py has 25 lines"),
        ),
        next=("finish",),
    )

    assert shown(answer) == text("""
        stopped: step at app.py:22 in total
        note: session old was replaced
        breakpoint 2 at app.py:99, rejected: app.py has 25 lines
        returned 55
        called from app.py:30 in main
        next: dbg finish
    """)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Ended("app", "stopped", Exit(0), 12), "app ended (pid 12), exit code 0\n"),
        (
            Ended("app", "stopped", Exit(signal="SIGKILL", how="killed"), 12, children=("app/1",)),
            "app ended (pid 12), killed by SIGKILL\nand its children app/1\n",
        ),
        (Ended("app", "stopped"), "app ended\n"),
        (Ended("app", "closed", pid=12), "closed the core file of app\n"),
        (Ended("app", "detached", pid=12), "detached from app (pid 12), which keeps running\n"),
        (Ended("app", "ended already", Exit(1)), "app had ended already, exit code 1\n"),
        (
            Ended("app", "stopped", Exit(0), output=PRINTED, next=("start app.py",)),
            "app ended, exit code 0\noutput:\n| hello\nerr| oops\nnext: dbg start app.py\n",
        ),
    ],
)
def test_the_end_of_a_session_is_reported(answer, words):
    assert shown(answer) == words


def test_the_end_of_each_of_several_sessions_is_reported():
    others = (Ended("web", "detached", pid=7), Ended("old", "ended already", exit=Exit(code=3)))

    assert shown(Ended("app", "stopped", pid=5, others=others)) == (
        "app ended (pid 5)\ndetached from web (pid 7), which keeps running\n"
        "old had ended already, exit code 3\n"
    )
