"""`trace FUNCTION -- COMMAND`: a program is started for the answer, and nothing of it remains."""

from __future__ import annotations

_SHOP = """\
import sys


class Cart:
    def __init__(self):
        self.total = 0

    def add(self, prices):
        for price in prices:
            if price < 0:
                raise ValueError(f"bad {price}")
            self.total += price
        return self.total


def depth(n):
    if n == 0:
        return 0
    return depth(n - 1) + 1


cart = Cart()
print(cart.add([2, 3]), depth(3))
try:
    cart.add([5, -1])
except ValueError:
    sys.exit(7)
"""


def test_a_python_command_is_traced_inside_and_every_call_is_counted(dbg, write_program):
    write_program("shop.py", _SHOP)

    answer = dbg.data("trace", "Cart.add", "--call", 2, "--", "python", "shop.py")

    assert (answer["number"], answer["calls"], answer["at_least"]) == (2, 2, False)
    assert [each["name"] for each in answer["arguments"]] == ["self", "prices"]
    assert answer["raised"] == "ValueError: bad -1"
    assert answer["exit"]["code"] == 7
    rows = {row["line"]: row for row in answer["lines"]}
    assert rows[9]["rounds"] == 2
    assert (rows[10]["not_taken_in"], rows[10]["taken_in"]) == ([1], [2])
    assert rows[11]["raised"] == "ValueError: bad -1"
    assert rows[12]["in_rounds"] == [1]
    [change] = rows[12]["changes"]
    assert (change["name"], change["values"], change["old"]) == ("self.total", ["10"], "5")

    table = dbg.data("trace", "shop.py:19", "--calls", "--", "python", "shop.py")
    assert [(row["arguments"][0]["value"], row["returned"]) for row in table["rows"]] == [
        ("3", "3"),
        ("2", "2"),
        ("1", "1"),
        ("0", "0"),
    ]
    assert [row["left_at"] for row in table["rows"]] == [19, 19, 19, 18]

    error = dbg.error("trace", "Cart.add", "--call", 3, "--", "python", "shop.py")
    assert error["message"].startswith("the program made only 2 calls of Cart.add")
    assert dbg.data("sessions")["sessions"] == []
    assert dbg.data("breakpoint", "list")["breakpoints"] == []


def test_a_call_is_chosen_by_a_condition_and_bounded_in_steps(dbg, write_program):
    write_program("shop.py", _SHOP)

    chosen = dbg.data("trace", "depth", "--if", "n == 1", "--", "python", "shop.py")
    assert [each["value"] for each in chosen["arguments"]] == ["1"]
    assert chosen["returned"] == "1"

    cut = dbg.data("trace", "add", "-c", "True", "--steps", 3, "--", "python", "shop.py")
    assert (cut["limit"], cut["steps"], cut["returned"]) == ("steps", 3, "5")
    assert dbg.data("sessions")["sessions"] == []


def test_a_call_that_an_exception_left_has_not_returned_and_the_session_goes_on(dbg, write_program):
    write_program("shop.py", _SHOP.replace("except ValueError", "except KeyError"))
    dbg.data("start", "shop.py", "-b", "shop.py:25")

    answer = dbg.data("trace", "Cart.add")

    assert (answer["raised"], answer["returned"]) == ("ValueError", None)
    assert answer["now"]["function"] == "<module>"
    stopped = dbg.data("continue")
    assert stopped["stop"]["exception"]["message"] == "bad -1"

    # At an exception the calls before it are shown, and the stop stays.
    answer = dbg.data("trace", "Cart.add", "--call", 2)
    assert (answer["number"], answer["calls"], answer["exit"]) == (2, 2, None)
    assert answer["raised"] == "ValueError: bad -1"
    assert len(dbg.data("trace", "depth", "--calls")["rows"]) == 4
    assert "recorded on the way" in dbg.error("trace", "depth", "--call", 9)["message"]
    assert dbg.data("context")["stop"]["reason"] == "exception"


def test_a_call_that_an_untraced_child_may_have_made_is_not_denied(dbg, write_program):
    write_program("kid.py", "def kid(n):\n    return n + 1\nprint(kid(3))\n")
    write_program(
        "parent.py",
        "import os, subprocess, sys\n"
        "subprocess.run([sys.executable, 'kid.py'], env={'PATH': os.environ['PATH']})\n",
    )

    missing = dbg.error("trace", "kid", "--", "python", "parent.py")

    assert "; a child with an environment of its own was not traced: " in missing["message"]
    assert "kid.py" in missing["message"]


def test_a_call_in_code_that_exec_compiled_is_not_said_to_be_no_execution(dbg, write_program):
    write_program("made.py", "ns = {}\nexec('def made(x):\\n    return x', ns)\nns['made'](2)\n")

    message = dbg.error("trace", "made", "--", "python", "made.py")["message"]

    assert "no code of the workspace was executed" not in message
    assert "code that exec or eval compiles is in no file, and is not traced" in message
