"""`try`: hypotheses at a stop, each in a run of its own; nothing of them remains."""

from __future__ import annotations

from harness.requirements import need

_PRICES = """\
cfg = {"rate": 3}
def price(n):
    p = n * cfg["rate"]
    if n > 2:  # @stop
        p -= 20
    return p
def main():
    total = 0
    for n in range(1, 4):
        p = price(n)
        print("price", n, p)
        if p < 0:
            raise ValueError(f"negative {p}")  # @raises
        total += p
    print("total", total)
main()
"""
_FIX = """\
--- a/prices.py
+++ b/prices.py
@@ -3,3 +3,3 @@ def price(n):
     p = n * cfg["rate"]
-    if n > 2:  # @stop
+    if n > 20:  # @stop
         p -= 20
"""
_C = """\
#include <stdio.h>
static int price(int n) {
    int p = n * 3;
    if (n > 2)  // @stop
        p -= 20;
    return p;
}
int main(void) {
    int total = 0;
    for (int n = 1; n < 4; n++)
        total += price(n);
    printf("%d\\n", total);
    return total < 0;
}
"""


def _ends(answer: dict) -> list[tuple]:
    return [(each["text"], each["how"], each["exception"]) for each in answer["trials"]]


def test_each_hypothesis_is_run_to_its_end_and_the_stop_stays_as_it_was(dbg, write_program):
    p = write_program("prices.py", _PRICES)
    (p.path.parent / "fix.diff").write_text(_FIX)
    dbg("start", p.name, "-b", p.at("stop"))
    dbg("continue")
    dbg("continue")

    (p.path.parent / "new.py").write_text("return n * 5\n")
    changes = ("n = 1", "return 7", "p = 21", "missing.x = 1", "price = @new.py")
    answer = dbg.data("try", *changes, "--patch", "fix.diff")

    assert answer["hit"] == 3
    assert _ends(answer) == [
        ("", "raised", "ValueError: negative -11"),
        ("n = 1", "ended", None),
        ("return 7", "ended", None),
        ("p = 21", "ended", None),
        ("missing.x = 1", "refused", None),
        ("price = @new.py", "ended", None),
        ("--patch fix.diff", "ended", None),
    ]
    outputs = [each["output"].split() for each in answer["trials"]]
    assert outputs[0] == ["price", "3", "-11"], "what was printed before the stop is left out"
    assert [each[-1] for each in outputs if each] == ["-11", "18", "16", "10", "30", "18"]
    assert "'price 3 9', not 'price 3 -11'" in answer["trials"][1]["difference"]
    assert p.path.read_text() == _PRICES
    [session] = dbg.data("sessions")["sessions"]
    assert session["state"] == "stopped"
    assert dbg.data("print", "n")["value"]["text"] == "3"


def test_at_an_exception_the_change_is_made_before_the_line_that_raised(dbg, write_program):
    p = write_program("prices.py", _PRICES)
    dbg("start", p.name)

    answer = dbg.data("try", "p = 5", "total = 1")

    assert answer["at"]["line"] == p.line("raises")
    assert _ends(answer)[1:] == [
        ("p = 5", "raised", "ValueError: negative 5"),
        ("total = 1", "raised", "ValueError: negative -11"),
    ]
    assert answer["trials"][2]["difference"] == ""


def test_a_native_program_is_changed_and_returns_early_in_its_copies(dbg, write_program):
    need("gcc", "apt-get install gcc")
    p = write_program("prices.c", _C)
    dbg("start", p.name, "-b", p.at("stop"))
    dbg("continue")
    dbg("continue")

    answer = dbg.data("try", "n = 1", "return 100")

    codes = [each["exit"]["code"] for each in answer["trials"]]
    assert codes == [1, 0, 0]
    assert [each["output"].strip() for each in answer["trials"]] == ["-2", "18", "109"]


def test_a_program_that_cannot_be_run_again_is_refused(dbg, write_program):
    write_program("ends.py", "n = 3\nprint(n)\n")
    dbg("start", "ends.py", "-b", "ends.py:2")

    assert dbg("try").code == 2
    many = [f"n = {n}" for n in range(17)]
    assert "at most 16" in dbg("try", *many).err


_SHARES = """\
import os, threading
log = open("log", "a")
ends = os.pipe()
done = threading.Event()
threading.Thread(target=done.wait, name="waiter").start()
n = 1
done.set()  # @stop
print(n)
"""


def test_threads_files_and_pipes_are_told_before_anything_is_run(dbg, write_program):
    p = write_program("shares.py", _SHARES)
    dbg("start", p.name, "-b", p.at("stop"))

    answer = dbg("try", "n = 2")

    for text in ("1 other thread:", "has log open for writing", "1 pipe open besides"):
        assert text in answer.err
        assert text in " ".join(answer.out.split())
