"""A Python program finds under a debugger what it finds without one."""

from __future__ import annotations

import subprocess
import sys
import zipapp

import pytest

from harness.interpreters import interpreters

_SHOW = """\
import os, sys, threading

names = sorted(name for name in globals() if name.startswith("__"))
spec = __spec__ and __spec__.name
print(sys.argv, sys.path[:2], __name__, repr(__package__), spec, __file__)
print(names, "DEBUGPY_RUNNING" in os.environ)
thread = threading.Thread(target=lambda: print(threading.current_thread().name))
thread.start()
thread.join()


def fail():
    raise ValueError("x")


try:
    fail()
except ValueError as error:
    print(vars(error))
"""


@pytest.mark.parametrize("python", [interpreters()[0], interpreters()[-1]], ids=str)
def test_a_program_sees_the_names_and_paths_of_a_plain_run(dbg, write_program, python):
    path = write_program("show.py", _SHOW).path
    inside = path.parent / "inside"
    (inside / "pkg").mkdir(parents=True)
    (inside / "__main__.py").write_text(_SHOW)
    (inside / "pkg" / "show.py").write_text(_SHOW)
    zipapp.create_archive(inside, path.parent / "app.pyz")

    ways = {
        "debugpy": (("show.py", "a"), ("inside/pkg/show.py",), ("app.pyz",), ("inside",)),
        "pdb": (("show.py", "a"), ("-m", "inside.pkg.show", "b"), ("inside",)),
    }
    for adapter, lines in ways.items():
        for line in lines:
            plain = subprocess.run(
                [python.path, *line], cwd=path.parent, capture_output=True, text=True, timeout=30
            )
            started = dbg("start", python.path, "--adapter", adapter, "--", *line)
            shown = [each for each in started.out.splitlines() if each.startswith("| ")]
            whole = dbg("output", "--all").out if "chars…" in started.out else "\n".join(shown)
            said = [each.removeprefix("| ") for each in whole.splitlines() if each[:2] == "| "]
            assert said == plain.stdout.splitlines(), (adapter, line, str(started))


def test_a_debugger_that_stays_with_its_process_says_so_of_breakpoints_never_hit(
    dbg, write_program
):
    write_program("child.py", "x = 1\nprint(x)\n")
    write_program(
        "parent.py",
        "import os, subprocess, sys\ndef f():\n    print('f')\nif not os.fork():\n    f()\n"
        "    os._exit(0)\nos.wait()\nsubprocess.run([sys.executable, 'child.py'])\n",
    )

    for place in ("child.py:2", "f"):  # in another file, and in its own
        missed, alone = dbg.data("start", "parent.py", "--adapter", "pdb", "-b", place)["notes"]
        assert missed.endswith(f"at {place} was never hit")
        assert alone == (
            "pdb sets no breakpoints in child processes or after an exec: --adapter debugpy"
        )


def test_a_condition_that_never_held_is_not_called_a_line_that_was_never_reached(
    dbg, write_program
):
    write_program("loop.py", "for i in range(5):\n    print(i)\n")
    dbg("break", "loop.py:2", "--condition", "i > 9")
    ended = dbg.data("start", "loop.py")
    assert ended["notes"] == [
        "breakpoint 1 at loop.py:2 never stopped the program: it was not reached, or its condition "
        "i > 9 did not hold"
    ]
    dbg("break", "loop.py:2", "--condition", "i > 1", "--hit-count", "4")
    ended = dbg.data("restart")
    assert ended["notes"][0].endswith(
        "or its condition i > 1 did not hold or its hit count 4 was not reached"
    )
    dbg("break", "loop.py:2", "--condition", "i > 1", "--hit-count", "2")
    assert dbg.data("restart")["stop"]["reason"] == "breakpoint"
    assert "i = 3" in dbg("print", "i").out


def test_code_in_an_archive_is_shown_as_its_source(dbg, write_program):
    path = write_program("inside/__main__.py", "import lib\nlib.f(3)\n").path
    write_program("inside/lib.py", "def f(x):\n    y = x + 1\n    return y\n")
    zipapp.create_archive(path.parent, path.parent.parent / "app.pyz")

    shown = dbg("start", "app.pyz", "-b", "f").out

    assert "app.pyz/lib.py:1 in f" in shown
    assert "2      y = x + 1" in shown


def test_code_on_the_command_line_is_shown_as_its_source(dbg):
    code = (
        "from __future__ import annotations\ndef f(x):\n    y = x + 1\n    return y\nexec('f(3)')"
    )

    shown = dbg("start", sys.executable, "-b", "f", "--", "-c", code).out
    made = dbg("up").out
    outer = dbg("up").out

    assert "1  from __future__ import annotations\n" in shown
    assert "3      y = x + 1" in shown
    assert "5  exec('f(3)')" in outer
    # Not its bytecode, which looks like Python and is none.
    assert "no source: the debugger does not know its text" in made


def test_a_program_on_the_standard_input_is_run(dbg, write_program):
    write_program("lib.py", "def f(x):\n    return x + 1\n")
    write_program("given.py", "import lib\nprint(lib.f(3))\n")

    report = dbg.data("start", sys.executable, "--stdin", "given.py", "-b", "lib.py:2", "--", "-")

    assert report["stop"]["frame"]["line"] == 2
    assert "1  import lib\n-> 2  print(lib.f(3))" in dbg("up").out
    assert dbg.data("continue")["exit"]["code"] == 0


def test_what_gdb_s_users_type_for_lines_frames_and_filters_is_understood(dbg, write_program):
    write_program(
        "cart.py",
        "def total(n):\n    m = n + 1\n    return m\n\n"
        "def main():\n    print(total(3))\n\nmain()\n",
    )
    assert dbg.data("start", "cart.py", "-b", "cart.py:total")["stop"]["reason"] == "breakpoint"
    assert "cart.py:3" in dbg("break", ":3").out
    assert "… 2 more frames" in dbg("bt", "1").out
    assert "   5  def main():" in dbg("source", "4:6").out
    assert dbg("locals", "--type").out.splitlines()[0] == "  n: int = 3"
    assert "on  uncaught" in dbg("catch").out
    assert "on " not in dbg("catch", "remove", "2").out
    assert "on " not in dbg("catch", "none").out
    assert dbg.data("next", "2")["stop"]["frame"]["line"] == 6


def test_hits_are_counted_from_zero_in_every_run(dbg, write_program):
    write_program("twice.py", "import sys\nif sys.argv[1:]:\n    print('hit')\n")
    dbg("break", "twice.py:3")
    assert dbg.data("start", "twice.py", "--", "x")["state"] == "stopped"
    dbg("continue")

    ended = dbg.data("start", "twice.py")

    assert ended["notes"] == ["breakpoint 1 at twice.py:3 was never hit"]
    assert dbg.data("breakpoint", "list")["breakpoints"][0]["hits"] == 0
