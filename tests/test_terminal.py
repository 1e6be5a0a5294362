"""`start --tty`: a terminal of its own for the program, in each family of debuggers."""

from __future__ import annotations

import pytest

from harness import waits
from harness.reports import printed
from harness.requirements import need

PYTHON = """import sys

print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty())
for line in sys.stdin:
    print("got", line.strip())
print("end")
"""

NODE = """console.log(process.stdin.isTTY + ' ' + process.stdout.isTTY + ' ' + process.stderr.isTTY)
process.stdin.on('data', data => console.log('got ' + String(data).trim()))
process.stdin.on('end', () => console.log('end'))
"""

C = """#include <stdio.h>
#include <unistd.h>

int main(void) {
    char line[80];
    const char *names[] = {"false", "true"};
    printf("%s %s %s\\n", names[isatty(0)], names[isatty(1)], names[isatty(2)]);
    while (fgets(line, sizeof line, stdin)) printf("got %s", line);
    puts("end");
    return 0;
}
"""


@pytest.mark.parametrize(
    ("name", "text", "adapter", "tool"),
    [
        ("app.py", PYTHON, "debugpy", "python3"),
        ("app.py", PYTHON, "pdb", "python3"),
        ("app.js", NODE, "node", "node"),
        ("app.c", C, "gdb-mi", "gdb"),
        ("app.c", C, "lldb-dap", "gcc"),
    ],
)
def test_a_program_that_wants_a_terminal_gets_one(dbg, write_program, name, text, adapter, tool):
    need(tool, "sh check.sh installs it")
    p = write_program(name, text)
    dbg.data("start", p.name, "--adapter", adapter, "--tty", "--no-wait")

    def seen() -> str:
        return printed(dbg.data("output", "--all"))

    waits.wait_until(lambda: "true true true\n" in seen().lower(), "it has a terminal")
    dbg.data("input", "world")
    waits.wait_until(lambda: "got world\n" in seen(), "it reads lines")
    dbg.data("input", "--eof")

    assert dbg.data("await")["exit"]["code"] == 0
    assert seen().endswith("end\n")
    assert "\r" not in seen()
