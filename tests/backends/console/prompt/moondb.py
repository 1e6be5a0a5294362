"""The debugger that AGENTS.md describes: `moondb --fds READ,WRITE PROGRAM ARGS`; a real process.

A line of the program is a statement of Python. Its streams are the program's alone.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_, _, descriptors, path, *given = sys.argv
commands, answers = map(int, descriptors.split(","))
lines = Path(path).read_text().splitlines()
stops: dict[str, int] = {}
names: dict[str, object] = {"given": given}
at = 1


def run(steps: int) -> None:
    global at
    while at <= len(lines):
        exec(lines[at - 1], names)
        sys.stdout.flush()
        at, steps = at + 1, steps - 1
        if at <= len(lines) and (at in stops.values() or steps == 0):
            print(f"stopped {path}:{at}", file=out)
            return
    os._exit(0)


def obey(word: str, rest: str) -> None:
    if word == "echo":
        print(rest, file=out)
    elif word in ("go", "over", "into", "out"):
        run(1 if word in ("over", "into") else -1)
    elif word == "stop":
        stops[str(len(stops) + 1)] = int(rest.rpartition(":")[2])
        print(f"stop {len(stops)} at {rest}", file=out)
    elif word == "drop":
        del stops[rest]
    elif word == "where":
        print(f"#0 main at {path}:{at}", file=out)
    elif word == "names":
        shown = {
            name: value for name, value in names.items() if name not in ("__builtins__", "given")
        }
        print("\n".join(f"{name} = {value!r}" for name, value in shown.items()), file=out)
    elif word == "show":
        try:
            print(repr(eval(rest, names)), file=out)
        except Exception as error:
            print(f"error: {error}", file=out)


with open(commands) as asked, open(answers, "w") as out:
    print(f"stopped {path}:{at}\nmoon> ", end="", file=out, flush=True)
    for line in asked:
        word, _, rest = line.strip().partition(" ")
        obey(word, rest)
        print("moon> ", end="", file=out, flush=True)
