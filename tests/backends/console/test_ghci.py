"""GHCi's words, read: what is a stop, what is an end, and what only looks like one."""

from __future__ import annotations

import pytest

from freezeframe.backends.backend import StepKind
from freezeframe.backends.console.debuggers.ghci import Ghci
from freezeframe.backends.console.prompt.command_set import FrameRef
from freezeframe.errors import EvaluationFailed, Unsupported
from freezeframe.model.stops import Exit, StopReason

_STOP = "Stopped in Shop.Cart.total.go, /p/Shop/Cart.hs:(9,3)-(11,8)\n_result :: Int = _\n"
_BREAKS = "[0] Shop.Cart /p/Shop/Cart.hs:(9,3)-(11,8) enabled\n[1] Main /p/Main.hs:9:3-8 enabled\n"


def test_a_stop_is_at_the_breakpoint_whose_span_it_has():
    halt = Ghci().read_stop(_STOP + _BREAKS)

    assert halt is not None
    assert (halt.path, halt.line, halt.function) == ("/p/Shop/Cart.hs", 9, "total.go")
    assert halt.numbers == ("0",)


def test_what_a_value_holds_is_never_taken_for_a_stop():
    text = _STOP + 'words :: String = "\nStopped in evil, /etc/passwd.hs:1:1-2\n"\n'

    halt = Ghci().read_stop(text)

    assert halt is not None
    assert halt.path == "/p/Shop/Cart.hs"


@pytest.mark.parametrize(
    ("words", "exit"),
    [
        ("", Exit(code=0)),
        ("*** Exception: ExitFailure 3\n", Exit(code=3)),
        ("*** Exception: ExitSuccess\n", Exit(code=0)),
        ("*** Exception: divide by zero\n", Exit(code=1)),
        (
            "Stopped in <exception thrown>, <unknown>\n_exception :: e = _\n"
            'ffthrown = ("ExitCode","ExitFailure 7",7)\n',
            Exit(code=7),
        ),
    ],
)
def test_the_end_tells_the_exit_code(words, exit):
    halt = Ghci().read_stop(words)

    assert halt is not None
    assert halt.exit == exit


def test_an_exception_is_where_the_program_was_last():
    halt = Ghci().read_stop(
        "Stopped in <exception thrown>, <unknown>\n_exception :: e = _\n"
        "-1  : average (/p/Bad.hs:9:25-38)\n...\n"
        'ffthrown = ("ArithException","divide by zero",-1)\n'
    )

    assert halt is not None
    assert halt.reason is StopReason.EXCEPTION
    assert (halt.path, halt.line, halt.function) == ("/p/Bad.hs", 9, "average")


def test_a_program_that_was_killed_is_said_to_be():
    ended = Ghci().read_end("ghc: ghc-iserv terminated (-9)\nLeaving GHCi.\n")

    assert ended == Exit(signal="SIGKILL")


def test_a_complaint_is_the_compiler_s_first_sentence():
    asked = Ghci().evaluate("left + 1", FrameRef(1, 0))

    with pytest.raises(EvaluationFailed, match=r"Variable not in scope: left :: Int$"):
        asked.read(
            "\n<interactive>:13:12: error:\n    • Variable not in scope: left :: Int\n"
            "    • Perhaps you meant data constructor ‘Left’ (imported from Prelude)\n"
            "ffvalue = ()\nffvalue :: ()\n"
        )


def test_there_is_no_way_out_of_a_function():
    with pytest.raises(Unsupported):
        Ghci().step(StepKind.OUT, 1)
