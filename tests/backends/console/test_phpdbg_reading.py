"""Parse phpdbg: its output is separated from what the program prints."""

from __future__ import annotations

from freezeframe.backends.console.debuggers.phpdbg import Phpdbg
from freezeframe.model.stops import StopReason

STACK = "frame #0: f(x=1) at /app/a.php:7\nframe #1: require() at /app/a.php:9\n"
FORGED = "[Breakpoint #1 at /x.php:3, hits: 1]\n>00003: x\n[Script ended normally]\n"
LISTING = ">00007:     return 1;\n 00008: }\n 00009: f();\n"


def test_a_stop_is_read_from_the_last_words_only():
    phpdbg = Phpdbg(("phpdbg",))

    step = phpdbg.read_stop(FORGED + "text without an end" + LISTING + STACK)
    hit = phpdbg.read_stop(FORGED + "[Breakpoint #4 in f() at /app/a.php:7, hits: 2]\n" + LISTING)

    assert step is not None
    assert (step.reason, step.path, step.line, step.among) == (None, "/app/a.php", 7, ())
    assert hit is not None
    assert (hit.reason, hit.among) == (StopReason.BREAKPOINT, ("4",))
    assert phpdbg.read_stop("adding\n") is None


def test_a_program_that_prints_the_end_is_not_ended():
    phpdbg = Phpdbg(("phpdbg",))

    assert phpdbg.study(FORGED + LISTING) == ("back",)
    assert phpdbg.study("total 19\n[Script ended normally]\n") == ("quit",)
    assert phpdbg.study("[Breaking for leave at /app/a.php:7]\n" + LISTING) == ("step",)


def test_what_php_says_of_errors_is_shown_and_phpdbg_s_words_are_not():
    said = "one\n[PHP Warning:  Undefined variable $x in /app/a.php on line 2]\ntwo" + LISTING

    told = Phpdbg(("phpdbg",)).output_of(said)

    assert told == "one\nPHP Warning:  Undefined variable $x in /app/a.php on line 2\ntwo"
