"""Write docs/WIRE.md: what each operation sends to a debugger, as its wire log recorded it.

    python tools/wire_page.py           play the operations with every debugger, and write it
    python tools/wire_page.py --check   the same, compare; exits with 1 where it is stale

One debugger for each kind of connection: DAP, gdb's machine interface, the V8 inspector, a prompt.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "WIRE.md"
_DBG = [sys.executable, str(ROOT / "scripts" / "dbg")]
_NOTHING, _REFUSED = "nothing", "–"

_PYTHON = """\
def add(total, n):
    total = total + n
    return total


def main():
    total = 0
    for n in range(5):
        total = add(total, n)
    print(total)


main()
"""
_C = """\
int add(int total, int n) {
    total = total + n;
    return total;
}

int main(void) {
    int total = 0;
    for (int n = 0; n < 5; n++)
        total = add(total, n);
    return total == 10 ? 0 : 1;
}
"""
_JAVASCRIPT = """\
function add(total, n) {
  total = total + n;
  return total;
}

function main() {
  let total = 0;
  for (let n = 0; n < 5; n++) total = add(total, n);
  console.log(total);
}

main();
"""


@dataclass(frozen=True)
class Debugger:
    """One column: a debugger, its program, and the log of its connection."""

    name: str
    title: str
    file: str
    source: str
    variable: str
    raw: str


DEBUGGERS = (
    Debugger("debugpy", "DAP (debugpy)", "app.py", _PYTHON, "FREEZEFRAME_DAP_TAP", "total"),
    Debugger("gdb-mi", "GDB/MI", "app.c", _C, "FREEZEFRAME_CONSOLE_TAP", "info line"),
    Debugger(
        *("node", "CDP (node)", "app.js", _JAVASCRIPT, "FREEZEFRAME_INSPECTOR_TAP"),
        "Runtime.getHeapUsage",
    ),
    Debugger("pdb", "prompt (pdb)", "app.py", _PYTHON, "FREEZEFRAME_CONSOLE_TAP", "where"),
)
#: operation → its command line; `{file}` and `{raw}` are the debugger's
STEPS: tuple[tuple[str, str], ...] = (
    ("start", "start {file} --hold --adapter {name}"),
    ("breakpoint add", "break {file}:2"),
    ("continue", "continue"),
    ("context", "context"),
    ("backtrace", "backtrace"),
    ("locals", "locals"),
    ("args", "args"),
    ("globals", "globals"),
    ("threads", "threads"),
    ("print", "print total"),
    ("eval", "eval 'total + 1'"),
    ("set", "set total = 3"),
    ("up", "up"),
    ("down", "down"),
    ("registers", "registers pc"),
    ("memory read", "memory read '&total' --count 4"),
    ("disassemble", "disassemble"),
    ("raw", "raw '{raw}'"),
    ("watch", "watch total"),
    ("watch remove", "watch remove 1"),
    ("catch", "catch raised"),
    ("breakpoint disable", "breakpoint disable 1"),
    ("breakpoint enable", "breakpoint enable 1"),
    ("breakpoint condition", "condition 1 'n > 1'"),
    ("next", "next"),
    ("finish", "finish"),
    ("step", "step"),
    ("breakpoint remove", "breakpoint remove --all"),
    ("until", "until {file}:9"),
    ("restart", "restart"),
    ("stop", "stop"),
)


def column(debugger: Debugger) -> dict[str, str]:
    """Play every step with a debugger; return operation → what was sent for it."""
    with tempfile.TemporaryDirectory(prefix="ffw-", dir="/tmp") as folder:
        tap = Path(folder) / "tap"
        env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("FREEZEFRAME_")},
            "FREEZEFRAME_HOME": f"{folder}/home",
            debugger.variable: str(tap),
        }
        (Path(folder) / debugger.file).write_text(debugger.source)
        found: dict[str, str] = {}
        try:
            for operation, command in STEPS:
                line = command.format(file=debugger.file, name=debugger.name, raw=debugger.raw)
                before = tap.stat().st_size if tap.exists() else 0
                status = _run(line, folder, env)
                sent = list(dict.fromkeys(_sent(tap, before)))
                shown = " ".join(f"`{each}`" for each in sent) or _NOTHING
                found[operation] = _REFUSED if status and not sent else shown
        finally:
            _run("daemon stop", folder, env)
        return found


def _run(line: str, folder: str, env: Mapping[str, str]) -> int:
    import shlex

    command = [*_DBG, *shlex.split(line)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True).returncode


def _sent(tap: Path, before: int) -> Iterator[str]:
    if not tap.exists():
        return
    for line in tap.read_bytes()[before:].decode().splitlines():
        record = json.loads(line)
        if record["direction"] in ("send", "out"):
            yield from _names(record["message"])


def _names(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the request of a message, or the commands of a piece of text."""
    if "text" not in message:
        name = message.get("method") or message.get("command")
        if name and message.get("type", "request") == "request":
            yield str(name)
        return
    for line in message["text"].splitlines():
        command = re.sub(r"^\d+", "", line.strip())
        inner = re.match(r'-interpreter-exec (?:--\w+ \S+ )*console "\W*([\w-]+)', command)
        word = f"console: {inner[1]}" if inner else command.split(" ")[0]
        # Markers of the end of an answer are made for one run.
        if word and not re.search(r"[0-9a-f]{12,}", word):
            yield word


def page(columns: Mapping[str, Mapping[str, str]]) -> str:
    """Return the page with the columns by the debuggers' names."""
    lines = [
        "# What goes over the wire",
        "",
        "What each operation sends to a debugger: requests of the Debug Adapter Protocol, commands",
        "of GDB/MI, methods of the Chrome DevTools Protocol, commands at a prompt.",
        "Each name once, in the order of its first use; `ff_…` and `console: ff…` are commands of",
        "our agents. Generated from wire logs by tools/wire_page.py.",
        "`nothing`: the answer was known from the stop. `–`: the debugger cannot do it.",
        "",
        f"| operation | {' | '.join(each.title for each in DEBUGGERS)} |",
        f"| --- |{' --- |' * len(DEBUGGERS)}",
    ]
    for operation, _ in STEPS:
        cells = [columns.get(each.name, {}).get(operation, "?") for each in DEBUGGERS]
        lines.append(f"| {operation} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def read_page(text: str) -> dict[str, dict[str, str]]:
    """Return debugger → operation → what is sent, from the text of the page."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| ") and not line.startswith(("| operation", "| ---"))
    ]
    return {
        each.name: {row[0]: row[index] for row in rows} for index, each in enumerate(DEBUGGERS, 1)
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = page({each.name: column(each) for each in DEBUGGERS})
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    return 0 if PAGE.read_text(encoding="utf-8") == text else 1


if __name__ == "__main__":
    sys.exit(main())
