"""Watchpoints in Python: the line that wrote, the value before and after, and the end of scope."""

from __future__ import annotations

from harness.reports import place, printed

CART = """\
import threading
RUNS = 0
class Cart:
    looks = 0
    def __init__(self):
        self.items, self.total = [], 0
    def __eq__(self, other):
        raise RuntimeError('compared')
    @property
    def size(self):
        Cart.looks += 1
        return len(self.items)
    def add(self, price):
        self.items.append(price)  # @append
        self.total += price  # @add
def bump():
    global RUNS
    RUNS += 1  # @bump
def main():
    cart, rates = Cart(), {'a': 1}
    n = 0  # @begin
    cart.add(3)
    bump()  # @after
    rates.update(a=7)  # @update
    for i in range(3):  # @loop
        n += i  # @n
    other = threading.Thread(target=cart.add, args=(-9,))
    other.start(); other.join()
    return n
print(main(), Cart.looks)
print('end')  # @end
"""


def _hits(report):
    watch = report["stop"]["watch"]
    return [watch, *watch["also"]]


def _hit(report):
    (hit,) = _hits(report)
    return hit["expression"], hit["old"], hit["new"], hit["line"]


def test_a_watched_value_stops_the_program_after_the_line_that_wrote_it(dbg, write_program):
    p = write_program("cart.py", CART)
    dbg.data("start", p.name, "-b", p.at("begin"), "-b", p.at("after"))
    for expression in ("cart.total", "rates['a']", "RUNS", "cart.items"):
        dbg.data("watch", expression)
    dbg.data("watch", "n", "-c", "n > 1")
    assert dbg.data("watch", "len(cart.items)")["watchpoints"][0]["message"].startswith("evaluated")
    later = dbg.data("watch", "cart.later")["watchpoints"][0]
    assert later["message"] == "it has no value yet"
    assert dbg.error("watch", "nothing.at.all")["code"] == "evaluation"
    assert dbg.error("watch", "--read", "n")["code"] == "unsupported"

    first = dbg.data("continue")
    assert [each["expression"] for each in _hits(first)] == ["cart.items", "len(cart.items)"]
    assert [each["line"] for each in _hits(first)] == [p.line("append")] * 2
    assert place(first) == p.at("add")
    dbg.data("watch", "remove", "4")
    dbg.data("watch", "remove", "6")
    # One stop for the breakpoint and for what the line before it changed.
    stop = dbg.data("continue")
    assert (place(stop), len(stop["stop"]["breakpoints"])) == (p.at("after"), 1)
    assert _hit(stop) == ("cart.total", "0", "3", p.line("add"))
    assert _hit(dbg.data("next")) == ("RUNS", "0", "1", p.line("bump"))
    # What a library, or C, changes is written by the line that called it.
    assert _hit(dbg.data("continue")) == ("rates['a']", "1", "7", p.line("update"))
    dbg.data("set", "rates['a']", "8")  # by the user: no line wrote it
    assert _hit(dbg.data("continue")) == ("n", "1", "3", p.line("n"))
    thread = dbg.data("continue")
    assert _hit(thread) == ("cart.total", "3", "-6", p.line("add"))
    assert "Thread" in thread["stop"]["thread"]["name"]
    listed = dbg.data("breakpoint", "list")["watchpoints"]
    assert {each["expression"]: each["hits"] for each in listed if each["hits"]} == {
        "cart.total": 2,
        "rates['a']": 1,
        "RUNS": 1,
        "n": 1,
    }
    ended = dbg.data("continue")
    assert place(ended) == p.at("end")
    assert {each["expression"]: each["ended"] for each in _hits(ended)} == {
        "cart.later": True,
        "cart.total": True,
        "rates['a']": True,
        "n": True,
    }
    final = dbg.data("continue")
    assert final["exit"]["code"] == 0
    assert "3 0\n" in printed(dbg.data("output", "--all"))


def test_a_local_variable_is_watched_from_a_stop_at_the_call_of_its_function(dbg, write_program):
    p = write_program(
        "called.py",
        "def work(n):\n    s = 0  # @first\n    for i in range(n):\n        s += i  # @add\n"
        "    return s\n\n\nwork(2)\n",
    )
    dbg.data("start", p.name, "-b", "work")
    dbg.data("watch", "s")

    assert _hit(dbg.data("continue")) == ("s", "unset", "0", p.line("first"))
    assert _hit(dbg.data("continue")) == ("s", "0", "1", p.line("add"))
