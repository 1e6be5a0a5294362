"""Export a recorded run as one self-contained HTML page."""

from __future__ import annotations

import json
from typing import Any

from freezeframe.model.history import RecordedStop, Recording
from freezeframe.model.values import Value

from . import page_files
from .event_log import describe_exit


def page(recording: Recording) -> str:
    """Return the page. Recorded text is embedded as data, never as markup."""
    return page_files.inlined(
        json.dumps(run_data(recording), ensure_ascii=False, separators=(",", ":"))
    )


def run_data(recording: Recording) -> dict[str, Any]:
    """Return what the view of a run shows."""
    run = recording.run
    return {
        "kind": "run",
        "number": run.number,
        "name": run.name,
        "label": run.label,
        "program": run.program,
        "args": run.args,
        "debugger": run.debugger,
        "started": run.started,
        "elapsed": run.elapsed_s,
        "exit": describe_exit(run.exit) if run.exit is not None else None,
        "failed": bool(run.exit and (run.exit.signal or run.exit.code)),
        "live": run.live,
        "sources": {source.file: source.text for source in recording.sources},
        "output": [[chunk.stream, chunk.text] for chunk in recording.output],
        "stops": [_stop(stop) for stop in recording.stops],
    }


def _stop(stop: RecordedStop) -> dict[str, Any]:
    return {
        "n": stop.number,
        "t": round(stop.at_s, 3),
        "r": stop.reason,
        "th": stop.thread_name or str(stop.thread),
        "d": stop.depth or len(stop.frames),
        "s": stop.shown,
        "f": [[f.function, f.path, f.line, int(f.library)] for f in stop.frames],
        "v": [_value(value) for scope in stop.scopes for value in scope.values],
        "c": stop.cursor,
        "cmd": stop.command,
        "x": stop.exception or (stop.description if stop.reason == "signal" else None),
        "w": [[each.expression, each.text] for each in stop.watched],
    }


def _value(value: Value) -> list[Any]:
    data: list[Any] = [value.name, value.text, value.type or ""]
    if value.children:
        data.append([_value(child) for child in value.children])
    return data
