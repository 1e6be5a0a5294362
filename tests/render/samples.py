"""Small answers that the tests of rendering share."""

from __future__ import annotations

from textwrap import dedent

from freezeframe.model.answers import StopReport
from freezeframe.model.locations import Source, SourceLine
from freezeframe.model.stops import Frame, Stop, StopReason, Thread
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.render import render_text

CWD = "/p"
MAIN = Thread(1, "MainThread")
TOTAL = Frame(0, "total", "/p/app.py", 22)
_CODE = """\
def total(n):
    s = 0
    for i in range(n):
        s += i
    return s

print(total(3))
"""


def shown(answer: object, **options: object) -> str:
    return render_text(answer, cwd=CWD, **options)  # type: ignore[arg-type]


def text(block: str) -> str:
    """Return an indented block as it is expected to be printed."""
    return dedent(block).removeprefix("\n")


def source(current: int = 22) -> Source:
    lines = enumerate(_CODE.splitlines(), 19)
    return Source("/p/app.py", tuple(SourceLine(n, line, n == current) for n, line in lines), 25)


def local_scope(*values: Value, more: int = 0) -> Scope:
    return Scope("Locals", ScopeKind.LOCALS, values, more)


def stop(reason: StopReason = StopReason.BREAKPOINT, **facts: object) -> Stop:
    facts.setdefault("breakpoints", (1,) if reason is StopReason.BREAKPOINT else ())
    facts.setdefault("thread", MAIN)
    facts.setdefault("frame", TOTAL)
    return Stop(3, reason, **facts)  # type: ignore[arg-type]


def report(**facts: object) -> StopReport:
    facts.setdefault("stop", stop())
    return StopReport("app", "stopped", **facts)  # type: ignore[arg-type]
