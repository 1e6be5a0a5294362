"""Core files by themselves: they name their program, and one that was rebuilt since is detected."""

from __future__ import annotations

import subprocess

from harness.reports import place
from harness.requirements import need

CRASH = r"""
struct order { int amount; char *note; };

static void mark(struct order *order) {
    order->note[0] = 'x';  // @crash
}

int main(void) {
    struct order order = {3, 0};
    mark(&order);
    return 0;
}
"""


def test_a_core_file_finds_its_program_and_tells_that_it_was_built_anew(dbg, native, project):
    need("gdb", "apt-get install gdb")
    p = native(CRASH, name="crash")
    gdb = ("gdb", "-q", "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file core.1")
    subprocess.run([*gdb, "-ex", "kill", p.path], cwd=project, capture_output=True, check=True)

    report = dbg.data("core", "core.1")
    assert place(report) == p.at("crash")
    assert dbg.data("print", "order->amount")["value"]["text"] == "3"
    assert "built anew" not in dbg("context").out

    native(CRASH.replace("{3, 0}", "{4, 0}"), name="crash")
    assert "crash was rebuilt since" in dbg("core", "core.1").out
    p.path.unlink()
    assert "which no longer exists" in dbg.error("core", "core.1")["message"]
