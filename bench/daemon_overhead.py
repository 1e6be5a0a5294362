"""Times what the daemon does for a command beside waiting for the debugger; prints JSON.

Run by the interpreter that Freezeframe is installed in.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

from freezeframe.dap_framing import Framer, encode
from freezeframe.frontends.parser import parse
from freezeframe.model.answers import StopReport
from freezeframe.model.locations import Source, SourceLine
from freezeframe.model.stops import Frame, Stop, StopReason, Thread
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.render import PLAIN, render_text

FRAME = Frame(0, "work", "/project/app.py", 11)
REPORT = StopReport(
    "app",
    "stopped",
    stop=Stop(7, StopReason.STEP, Thread(1, "MainThread"), FRAME),
    source=Source(
        "/project/app.py",
        tuple(SourceLine(n, f"    total = total + {n}", n == 11) for n in range(8, 15)),
        40,
    ),
    scopes=(
        Scope(
            "Locals",
            ScopeKind.LOCALS,
            tuple(Value(f"name{n}", f"[{n}, {n + 1}, 'three']", "list") for n in range(10)),
        ),
    ),
)
VARIABLES = {
    "seq": 9,
    "type": "response",
    "request_seq": 8,
    "success": True,
    "command": "variables",
    "body": {
        "variables": [
            {"name": f"name{n}", "value": "'text'", "type": "str", "variablesReference": n}
            for n in range(30)
        ]
    },
}


def main() -> None:
    wire = encode(VARIABLES)

    def unframe() -> None:
        framer = Framer()
        framer.feed(wire)
        framer.next_message()

    costs = {
        "parse `next --count 3`": lambda: parse(("next", "--count", "3")),
        "parse `start` with eight arguments": lambda: parse(
            ("start", "app.py", "-b", "app.py:3", "--name", "x", "--", "--verbose")
        ),
        "render a stop report": lambda: render_text(
            REPORT, budget_tokens=2000, cwd="/project", style=PLAIN
        ),
        "read 30 variables": unframe,
        "write 30 variables": lambda: encode(VARIABLES),
    }
    print(json.dumps({name: _median_us(work) for name, work in costs.items()}))


def _median_us(work: Callable[[], object], rounds: int = 200) -> float:
    work()
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken) * 1e6


if __name__ == "__main__":
    main()
