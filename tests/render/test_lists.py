"""Breakpoints, threads, stacks, sessions, source, output: word for word."""

from __future__ import annotations

import pytest

from freezeframe.model.answers import (
    Backtrace,
    BreakpointAnswer,
    BreakpointList,
    CatchList,
    Chunk,
    Output,
    OutputAnswer,
    SessionInfo,
    SessionList,
    SourceAnswer,
    Stack,
    Status,
    Threads,
    WatchpointList,
)
from freezeframe.model.locations import Source, SourceLine
from freezeframe.model.stops import (
    Breakpoint,
    BreakpointState,
    ExceptionFilter,
    Exit,
    Frame,
    Task,
    Thread,
    Watchpoint,
)
from freezeframe.model.values import Value
from freezeframe.render.text.output import Follower

from .samples import MAIN, TOTAL, shown, source, text

BOUND = Breakpoint(1, "app.py:22", BreakpointState.BOUND, "/p/app.py", 22)

# --- breakpoints --------------------------------------------------------------------------------


def test_a_breakpoint_is_shown_where_it_really_is():
    assert shown(BreakpointAnswer(BOUND, "added", "        s += i\n")) == (
        "added breakpoint 1 at app.py:22\n  s += i\n"
    )


def test_a_breakpoint_that_was_moved_says_from_where():
    moved = Breakpoint(
        1, "app.py:24", BreakpointState.BOUND, "/p/app.py", 25, moved_from=24, condition="n > 3"
    )

    assert shown(BreakpointAnswer(moved, "added")) == (
        "added breakpoint 1 at app.py:25 (requested line 24) if n > 3\n"
    )


@pytest.mark.parametrize(
    ("state", "message", "words"),
    [
        (BreakpointState.PENDING, "no code there yet", ", not bound yet: no code there yet"),
        (BreakpointState.REJECTED, "app.py has 25 lines", ", rejected: app.py has 25 lines"),
        (BreakpointState.REQUESTED, None, ", waits for a session"),
        (BreakpointState.DISABLED, None, ", disabled"),
    ],
)
def test_a_breakpoint_that_is_not_bound_is_shown_as_such(state, message, words):
    answer = BreakpointAnswer(Breakpoint(2, "app.py:99", state, message=message), "added")

    assert shown(answer) == f"added breakpoint 2 at app.py:99{words}\n"


@pytest.mark.parametrize(
    ("done", "words"),
    [("disabled", "disabled breakpoint 1 at"), ("exists", "exists already: breakpoint 1 at")],
)
def test_what_was_done_comes_first(done, words):
    state = BreakpointState.DISABLED if done == "disabled" else BreakpointState.BOUND

    answer = BreakpointAnswer(Breakpoint(1, "a.py:2", state), done)

    assert shown(answer) == f"{words} a.py:2\n"


def test_long_terms_of_a_breakpoint_get_lines_of_their_own():
    condition = "customer.account.balance > customer.limits.daily and not customer.vip"
    answer = BreakpointAnswer(
        Breakpoint(
            1,
            "app.py:22",
            BreakpointState.REJECTED,
            condition=condition,
            log="{customer}",
            message="the condition cannot be read",
        ),
        "added",
        next=("help break",),
    )

    assert shown(answer) == text(f"""
        added breakpoint 1 at app.py:22
          if {condition}, log {{customer}}
          rejected: the condition cannot be read
        next: dbg help break
    """)


def test_breakpoints_are_listed_with_what_is_amiss():
    answer = BreakpointList(
        (
            Breakpoint(
                1, "app.py:22", BreakpointState.BOUND, "/p/app.py", 22, condition="n > 3", hits=3
            ),
            Breakpoint(2, "total", BreakpointState.BOUND, "/p/app.py", 19, hits=1, temporary=True),
            Breakpoint(3, "x.py:1", BreakpointState.PENDING, message="not loaded"),
            Breakpoint(4, "app.py:3", BreakpointState.DISABLED, hit_count="3"),
        )
    )

    assert shown(answer) == text("""
        1  app.py:22  if n > 3  3 hits
        2  total (app.py:19)  temporary  1 hit
        3  x.py:1  not bound yet: not loaded
        4  app.py:3  hit count 3  disabled
    """)


def test_no_breakpoints_is_an_answer():
    answer = BreakpointList((), next=("break FILE:LINE",))

    assert shown(answer) == "no breakpoints\nnext: dbg break FILE:LINE\n"


def test_removed_breakpoints_are_named():
    assert shown(BreakpointList((), removed=(BOUND,))) == "removed breakpoint 1 at app.py:22\n"
    waiting = Breakpoint(2, "app.py:9", BreakpointState.REQUESTED, condition="n > 3")
    assert shown(BreakpointList((), removed=(waiting,))) == (
        "removed breakpoint 2 at app.py:9 if n > 3\n"
    )


def test_watchpoints_are_listed():
    answer = WatchpointList(
        (
            Watchpoint(1, "x", "write", "x > 3"),
            Watchpoint(2, "y", "read", verified=False, message="no register is free"),
        )
    )

    assert shown(answer) == text("""
        watchpoint 1 on x (write) if x > 3
        watchpoint 2 on y (read), not set: no register is free
    """)
    assert shown(WatchpointList(())) == "no watchpoints\n"
    assert shown(WatchpointList((), done="removed")) == "removed, no watchpoints left\n"
    assert shown(WatchpointList((Watchpoint(1, "x", "write"),), done="added")) == (
        "added watchpoint 1 on x (write)\n"
    )


def test_exception_filters_are_listed():
    answer = CatchList(
        (
            ExceptionFilter("raised", "Raised Exceptions"),
            ExceptionFilter("uncaught", "Uncaught", on=True, default=True, condition="KeyError"),
        )
    )

    assert shown(answer) == "off  raised  Raised Exceptions\non  uncaught  if KeyError\n"
    assert shown(CatchList(())) == "no exception filters\n"


# --- threads and stacks -------------------------------------------------------------------------


def test_threads_are_listed_with_their_places():
    answer = Threads(
        (Thread(1, "MainThread", "stopped", TOTAL, True), Thread(2, "Worker", "running"))
    )

    assert shown(answer) == text("""
        * 1  MainThread  stopped  app.py:22 in total
          2  Worker  running
    """)
    assert shown(Threads(())) == "no threads\n"


def test_different_names_of_tasks_are_different_texts():
    names = [f"tenant-of-europe-shard-{n:04}-fetch-and-index-its-documents" for n in range(2)]
    tasks = tuple(Task(name, "running") for name in (*names, "x" * 70))

    lines = shown(Threads((MAIN,), tasks=tasks)).splitlines()

    assert [line.split()[0] for line in lines[-3:]] == [*names, "x" * 70]
    short = shown(Threads((MAIN,), tasks=tasks[-1:])).splitlines()[-1]
    assert len(short) < 60


def stack_of(*frames: Frame, **facts: object) -> Stack:
    return Stack(MAIN, frames, **facts)  # type: ignore[arg-type]


def own(index: int, function: str = "f") -> Frame:
    return Frame(index, function, "/p/app.py", index + 1)


def library(index: int) -> Frame:
    return Frame(index, "run", "/lib/x.py", 9, library=True)


def test_a_stack_folds_libraries_but_never_the_selected_frame():
    stack = stack_of(
        library(0), library(1), own(2), library(3), library(4), library(5), own(6), selected=4
    )

    assert shown(Backtrace((stack,))) == text("""
           0  /lib/x.py:9 in run
           … 1 library frame (dbg backtrace --all)
           2  app.py:3 in f
           … 1 library frame (dbg backtrace --all)
        -> 4  /lib/x.py:9 in run
           … 1 library frame (dbg backtrace --all)
           6  app.py:7 in f
    """)


def test_a_recursion_through_two_functions_is_folded():
    frames = (TOTAL, *(own(i, "odd" if i % 2 else "even") for i in range(1, 981)), own(981, "main"))

    assert shown(Backtrace((stack_of(*frames),))) == text("""
        ->   0  app.py:22 in total
             1  app.py:2 in odd
             2  app.py:3 in even
           … 976 more frames of odd, even (dbg backtrace --all)
           979  app.py:980 in odd
           980  app.py:981 in even
           981  app.py:982 in main
    """)


def test_an_unfolded_stack_shows_every_frame():
    frames = tuple(library(i) for i in range(8))

    assert len(shown(Backtrace((stack_of(*frames),), unfold=True)).splitlines()) == 8


def test_locals_stand_below_their_frame():
    stack = stack_of(own(0), own(1), values={1: (Value("n", "3"),)})

    assert shown(Backtrace((stack,), exception="KeyError: 'x'")) == text("""
        exception: KeyError: 'x'
        -> 0  app.py:1 in f
           1  app.py:2 in f
              n = 3
    """)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (30, "   … 30 more frames (dbg backtrace --limit 31)"),
        (None, "   … more frames (dbg backtrace --limit 20)"),
    ],
)
def test_frames_beyond_the_limit_are_counted(more, words):
    assert shown(Backtrace((stack_of(own(0), more=more),))).splitlines()[-1] == words


def test_stacks_of_several_threads_are_titled_the_current_one_first():
    other = Stack(Thread(2, "Worker", "running"), (), error="the thread runs")
    current = Stack(Thread(1, "MainThread", current=True), (own(0),))

    assert shown(Backtrace((other, current))) == text("""
        thread 1 (MainThread):
        -> 0  app.py:1 in f
        thread 2 (Worker), running:
           no frames: the thread runs
    """)


# --- source and output --------------------------------------------------------------------------


def test_source_is_titled_by_its_file():
    first, *lines = shown(SourceAnswer(source(), "total")).splitlines()

    assert first == "app.py in total (25 lines)"
    assert lines[3] == "-> 22          s += i"
    assert len(lines) == 7


def test_source_that_does_not_fit_names_where_it_goes_on():
    lines = tuple(SourceLine(n, f"line({n})") for n in range(1, 101))

    *_, above, last = shown(
        SourceAnswer(Source("/p/app.py", lines, 100)), budget_tokens=60
    ).splitlines()

    shown_to = int(above.split()[0])
    middle = shown_to + 1 + (100 - shown_to) // 2
    assert last == f"… {100 - shown_to} more lines (dbg source app.py:{middle})"


def test_source_that_is_not_there_says_why():
    answer = SourceAnswer(Source("/p/gone.py", (), missing="the file is gone"))

    assert shown(answer) == "gone.py: no source: the file is gone\n"


def test_output_is_shown_as_it_was_printed():
    chunks = (
        Chunk("stdout", "a\n\nb"),
        Chunk("stderr", "oops\r\n"),
        Chunk("log", "x=3\n"),
        Chunk("console", "warning\n"),
        Chunk("stdout", "tab\there\n"),
    )

    assert shown(OutputAnswer(Output(chunks), "app", "stopped")) == (
        "| a\n| \n| b\nerr| oops\nlog| x=3\ndbg| warning\n| tab\there\n"
    )


def test_output_that_follows_is_marked_line_by_line():
    follower = Follower()
    pieces = [Chunk("stdout", "a"), Chunk("stdout", "b\nstopped: c"), Chunk("stderr", "oops\n")]

    text = "".join(map(follower.text, pieces))

    assert text == "| ab\n| stopped: c\nerr| oops\n"


def test_output_cannot_move_the_cursor():
    answer = OutputAnswer(Output((Chunk("stdout", "10%\r20%\x1b[\n"),)), "app", "stopped")

    assert shown(answer) == "| 10%\\r20%\\x1b[\n"


def test_colours_of_output_are_left_out():
    text = "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ \x1b(Bplain\x1b[2K\n"
    answer = OutputAnswer(Output((Chunk("stdout", text),)), "app", "stopped")

    assert shown(answer) == "| red link plain\n"


def test_no_output_is_an_answer():
    assert shown(OutputAnswer(Output(), "app", "running")) == "no new output (running)\n"


def test_the_newest_output_is_kept_and_the_older_counted():
    chunks = (Chunk("stdout", "old line\n" * 100_000), Chunk("stdout", "newest\n"))
    answer = OutputAnswer(Output(chunks, dropped=500, start=7), "app", "stopped")

    dropped, older, *lines = shown(answer, budget_tokens=60).splitlines()

    assert dropped == "… 500 characters lost: the buffer was full"
    assert lines[-1] == "| newest"
    left = 900_007 - sum(len(line) - 1 for line in lines)
    assert older.startswith(f"… {left:,} bytes of output (dbg output --since 7 --budget ")


def test_output_left_out_on_request_is_reported():
    answer = OutputAnswer(Output((Chunk("stdout", "z\n"),), skipped=10), "app", "stopped")

    assert shown(answer) == "… 10 characters left out (dbg output --all)\n| z\n"


# --- sessions -----------------------------------------------------------------------------------

APP = SessionInfo(
    "app",
    "stopped",
    "/p/app.py",
    True,
    "/p",
    pid=12,
    debugger="debugpy 1.8.22",
    place="/p/app.py:22",
    function="total",
    reason="breakpoint",
    command=("/p/app.py", "in.txt"),
)
CHILD = SessionInfo("app/1", "running", "/p/child.py", False, "/p", pid=13, parent="app")
GRANDCHILD = SessionInfo("app/1/1", "running", "/p/x.py", False, "/p", pid=14, parent="app/1")
OTHER = SessionInfo("job", "terminated", "/q/job.py", False, "/q", exit=Exit(3))


def test_sessions_are_a_tree():
    answer = SessionList((GRANDCHILD, CHILD, APP), elsewhere=1)

    assert shown(answer) == text("""
        * app  stopped: breakpoint at app.py:22 in total  pid 12  debugpy 1.8.22  $ app.py in.txt
            app/1  running  pid 13  $ child.py
              app/1/1  running  pid 14  $ x.py
        1 session in other workspaces (dbg sessions --everywhere)
    """)


def test_no_sessions_is_an_answer():
    answer = SessionList((), next=("start PROGRAM",))

    assert shown(answer) == "no sessions in this workspace\nnext: dbg start PROGRAM\n"


def test_status_names_the_daemon_and_what_was_lost():
    answer = Status(
        99, "0.1.0", 725, "/s/daemon.log", "/p", (APP, OTHER), notes=("session old was lost",)
    )

    assert shown(answer) == text("""
        * app  stopped: breakpoint at app.py:22 in total  pid 12  debugpy 1.8.22  $ app.py in.txt
          job  exited: code 3  $ /q/job.py  in /q
        note: session old was lost
        daemon 0.1.0, pid 99, up 12 min, log /s/daemon.log
    """)


def test_a_session_whose_parent_is_itself_is_listed():
    odd = SessionInfo("a", "running", "/p/a.py", False, "/p", parent="a")

    assert shown(SessionList((odd,))) == "  a  running  $ a.py\n"
