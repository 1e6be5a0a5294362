"""Store the trace of a question as a run: `hits`, `diff`, `replay` and `export` work on it."""

from __future__ import annotations

import os
import time

from freezeframe.backends.backend import Launch
from freezeframe.history.inserts import RunRow
from freezeframe.history.redaction import Secrets
from freezeframe.history.traced_runs import TracedRun
from freezeframe.model.history import SourceText
from freezeframe.model.stops import Exit
from freezeframe.model.trace import Outcome, Trace
from freezeframe.questions.traced_stops import TracedStops

from ._context import Context

#: the program's own lines were traced inside of it, or by stepping
_TRACER = "trace"


def store_trace(
    ctx: Context, name: str, target: Launch, trace: Trace, upto: int | None = None
) -> str | None:
    """Store a trace up to a step as the run NAME-trace. Returns its name at once.

    None: nothing was executed, or runs are not recorded.
    """
    if not ctx.config.history.record or not trace.steps:
        return None
    stops = TracedStops(trace, upto)
    secrets = Secrets(ctx.config.history.exclude)
    now = time.time()
    row = RunRow(
        workspace=ctx.workspace.root,
        name=f"{name}-trace",
        program=target.program,
        args=secrets.redact_arguments(target.args),
        started=now,
        debugger=_TRACER,
    )
    exit = _exit(trace.outcome)
    sources = _sources(ctx, trace)
    ctx.history.traces.add(TracedRun(row, stops, sources, trace.output, exit, now), secrets)
    return row.name


def _exit(outcome: Outcome) -> Exit:
    """Return how the run ended: one that is ended where recording ends has no exit code."""
    if outcome.how == "exited":
        return Exit(outcome.exit_code)
    return Exit(how="killed")


def _sources(ctx: Context, trace: Trace) -> tuple[SourceText, ...]:
    found = []
    for path in sorted({frame.path for frame in trace.frames.values()}):
        try:
            lines = ctx.hub.sources.lines(path) if os.path.isabs(path) else None
        except OSError:
            continue
        if lines is not None:
            found.append(SourceText(path, "\n".join(lines)))
    return tuple(found)
