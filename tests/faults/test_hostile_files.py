"""A name of a file may be anything: nothing that is named keeps the daemon from answering."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from harness.client import Dbg
from harness.programs import Program

#: what every command below answers within; a daemon that opened a FIFO never does
QUICK_S = 30.0


def test_a_fifo_and_a_device_are_refused_wherever_a_file_is_named(
    dbg: Dbg, project: Path, write_program: Callable[[str, str], Program]
):
    write_program("x.py", "x = 1\nprint(x)\n")
    os.mkfifo(project / "fifo.py")
    kinds = {"fifo.py": "named pipe", "/dev/zero": "device"}
    reasons = {"fifo.py": "named pipe", "/dev/zero": "there is no file"}
    for name, kind in kinds.items():
        assert f"it is a {kind}, not a regular file" in dbg("import", name, timeout_s=QUICK_S).err
        shown = dbg("source", f"{name}:1", timeout_s=QUICK_S)
        assert reasons[name] in shown.err, shown
        # A debugger would read it to find out which lines have code.
        refused = dbg("break", f"{name}:1", timeout_s=QUICK_S)
        assert refused.code == 1, refused
        assert name in refused.err, refused
    refused = dbg("start", "x.py", "--stdin", "fifo.py", timeout_s=QUICK_S)
    assert "fifo.py" in refused.err, refused
    assert dbg("start", "x.py", "-b", "x.py:2", timeout_s=QUICK_S).code == 0


def test_a_source_that_is_a_fifo_is_one_that_cannot_be_read(
    dbg: Dbg, project: Path, write_program: Callable[[str, str], Program]
):
    fifo = str(project / "made.py")
    os.mkfifo(fifo)
    text = "def g():\n    x = 1\n    f()\n"
    write_program(
        "x.py",
        f"def f():\n    return 1\nexec(compile({text!r}, {fifo!r}, 'exec'))\ng()\n",
    )
    stop = dbg("start", "x.py", "-b", "x.py:2", timeout_s=QUICK_S)
    assert "x.py:2" in stop.out, stop
    assert "made.py:3" in dbg("bt", timeout_s=QUICK_S).out
    dbg("up", timeout_s=QUICK_S)
    shown = dbg("source", timeout_s=QUICK_S)
    assert "made.py" in shown.out
    assert "named pipe" in shown.out + shown.err, shown
