"""Export recordings as JSON lines, and read them back for `import`.

The first line is the run, the others its files, its output and its stops, one object each with a
`kind`. An imported file is untrusted: every field is validated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from freezeframe.errors import UsageError
from freezeframe.model.answers import Chunk
from freezeframe.model.history import RecordedStop, Recording, SourceText, Watched
from freezeframe.model.runs import Logpoint, Run
from freezeframe.model.stops import Exit, Frame, StopReason
from freezeframe.model.values import Scope, ScopeKind, Value

from . import inserts
from .inserts import RunRow, StopRow
from .redaction import Secrets

if TYPE_CHECKING:
    import sqlite3

FORMAT = 1
#: How deep values may be nested.
_MAX_DEPTH = 6


# --- writing ------------------------------------------------------------------------------------


def lines(recording: Recording) -> Iterator[str]:
    """Yield a recording as lines of JSON, without newlines."""
    run = recording.run
    yield _line(
        kind="run",
        freezeframe=FORMAT,
        number=run.number,
        name=run.name,
        label=run.label,
        program=run.program,
        args=list(run.args),
        debugger=run.debugger,
        started=run.started,
        elapsed_s=run.elapsed_s,
        exit=_exit(run.exit),
        breakpoints=list(run.breakpoints),
        logpoints=[_logpoint(each) for each in run.logpoints],
        printed=run.printed,
        stops=len(recording.stops),
        traced=run.traced or None,
        workspace=recording.workspace,
    )
    for source in recording.sources:
        yield _line(kind="source", file=source.file, text=source.text)
    for chunk in recording.output:
        yield _line(kind="output", stream=chunk.stream, text=chunk.text)
    for stop in recording.stops:
        yield _line(
            kind="stop",
            number=stop.number,
            at_s=stop.at_s,
            reason=stop.reason,
            thread=stop.thread,
            thread_name=stop.thread_name,
            command=stop.command,
            cursor=stop.cursor,
            depth=stop.depth,
            shown=stop.shown,
            description=stop.description,
            exception=stop.exception,
            entry=stop.entry or None,
            watched={each.expression: each.text for each in stop.watched},
            frames=[_frame(frame) for frame in stop.frames],
            scopes=[
                _without_empty(
                    kind=scope.kind.value,
                    name=scope.name,
                    more=scope.more,
                    values=[value_data(each) for each in scope.values],
                )
                for scope in stop.scopes
            ],
        )


def _line(**fields: object) -> str:
    return json.dumps(_without_empty(**fields), ensure_ascii=False, separators=(",", ":"))


def _without_empty(**fields: object) -> dict[str, object]:
    return {name: field for name, field in fields.items() if field not in (None, [], {}, "")}


def _exit(exit: Exit | None) -> dict[str, object] | None:
    if exit is None:
        return None
    return _without_empty(code=exit.code, signal=exit.signal, how=exit.how, reason=exit.reason)


def _logpoint(logpoint: Logpoint) -> dict[str, object]:
    return _without_empty(
        location=logpoint.location, message=logpoint.message, function=logpoint.function
    )


def _frame(frame: Frame) -> dict[str, object]:
    return _without_empty(
        function=frame.function,
        file=frame.path,
        line=frame.line,
        library=frame.library or None,
        arguments=frame.arguments,
    )


def value_data(value: Value) -> dict[str, object]:
    """Return a value as plain data."""
    data = _without_empty(
        name=value.name,
        type=value.type,
        count=value.count,
        opaque=value.opaque or None,
        children=[value_data(child) for child in value.children],
    )
    return {**data, "text": value.text}


# --- reading ------------------------------------------------------------------------------------


def read(text: str) -> Recording:
    """Return the recording in *text*. Raises UsageError with the number of the invalid line."""
    run: Run | None = None
    workspace = ""
    stops: list[RecordedStop] = []
    sources: list[SourceText] = []
    output: list[Chunk] = []
    # Not `splitlines`: a value may hold U+2028, U+2029 and U+0085, which JSON leaves as they are.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            kind = data["kind"]
            if (run is None) != (kind == "run"):
                raise ValueError("the first line, and only that, must be the run")
            if kind == "run":
                if data.get("freezeframe") != FORMAT:
                    raise ValueError(f"its format is {data.get('freezeframe')}, not {FORMAT}")
                run, workspace = _read_run(data), _text(data, "workspace")
            elif kind == "source":
                sources.append(SourceText(_text(data, "file"), _text(data, "text")))
            elif kind == "output":
                output.append(Chunk(_text(data, "stream"), _text(data, "text")))
            elif kind == "stop":
                stops.append(_read_stop(data, len(stops) + 1))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise UsageError(
                f"line {number} is not a line of a recording: {what}.", next="dbg export RUN FILE"
            ) from None
    if run is None:
        raise UsageError("the file does not contain a recording.", next="dbg export RUN FILE")
    return Recording(run, workspace, tuple(stops), tuple(sources), tuple(output))


def _text(data: Mapping[str, Any], name: str, default: str = "") -> str:
    found = data.get(name, default)
    if not isinstance(found, str):
        raise ValueError(f"{name} must be a string")
    return found


def _optional_text(data: Mapping[str, Any], name: str) -> str | None:
    return _text(data, name) if data.get(name) is not None else None


def _number(data: Mapping[str, Any], name: str, default: int | None = 0) -> Any:
    found = data.get(name, default)
    if found is not None and (isinstance(found, bool) or not isinstance(found, int | float)):
        raise ValueError(f"{name} must be a number")
    if isinstance(found, int) and abs(found) >= 1 << 63:
        raise ValueError(f"{name} is out of range")
    return found


def _integer(data: Mapping[str, Any], name: str, default: int | None = 0) -> Any:
    found = _number(data, name, default)
    if isinstance(found, float):
        raise ValueError(f"{name} must be a whole number")
    return found


def _strings(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = data.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{name} must be a list of strings")
    return tuple(found)


def _read_run(data: Mapping[str, Any]) -> Run:
    ended = data.get("exit")
    exit = None
    if ended is not None:
        exit = Exit(
            _integer(ended, "code", None),
            _optional_text(ended, "signal"),
            _text(ended, "how", "ended"),
            _optional_text(ended, "reason"),
        )
    return Run(
        number=0,
        name=_text(data, "name", "imported"),
        program=_text(data, "program"),
        args=_strings(data, "args"),
        label=_optional_text(data, "label"),
        debugger=_optional_text(data, "debugger"),
        started=float(_number(data, "started")),
        elapsed_s=_number(data, "elapsed_s", None),
        exit=exit,
        breakpoints=_strings(data, "breakpoints"),
        logpoints=tuple(_read_logpoint(each) for each in data.get("logpoints", [])),
        printed=_integer(data, "printed"),
        traced=_integer(data, "traced"),
    )


def _read_logpoint(data: Mapping[str, Any]) -> Logpoint:
    return Logpoint(
        _text(data, "location"), _text(data, "message"), _optional_text(data, "function")
    )


def _read_stop(data: Mapping[str, Any], number: int) -> RecordedStop:
    frames = tuple(
        Frame(
            index,
            _text(each, "function"),
            _optional_text(each, "file"),
            _integer(each, "line", None),
            library=bool(each.get("library")),
            arguments=_optional_text(each, "arguments"),
        )
        for index, each in enumerate(data.get("frames", [])[:20])
    )
    return RecordedStop(
        number=number,
        at_s=float(_number(data, "at_s")),
        reason=StopReason(_text(data, "reason", "other")).value,
        thread=_integer(data, "thread"),
        thread_name=_text(data, "thread_name"),
        frames=frames,
        shown=max(0, min(_integer(data, "shown"), max(0, len(frames) - 1))),
        depth=_integer(data, "depth", None),
        scopes=tuple(
            Scope(
                _text(each, "name"),
                ScopeKind(_text(each, "kind", "locals")),
                tuple(_read_value(value, _MAX_DEPTH) for value in each.get("values", [])),
                _integer(each, "more"),
            )
            for each in data.get("scopes", [])
        ),
        description=_optional_text(data, "description"),
        exception=_optional_text(data, "exception"),
        watched=tuple(Watched(str(k), str(v)) for k, v in data.get("watched", {}).items()),
        cursor=_integer(data, "cursor"),
        command=_text(data, "command"),
        entry=bool(data.get("entry")),
    )


def _read_value(data: Mapping[str, Any], depth: int) -> Value:
    if not depth:
        raise ValueError("values are nested too deep")
    children = tuple(_read_value(child, depth - 1) for child in data.get("children", []))
    return Value(
        _text(data, "name"),
        _text(data, "text"),
        _optional_text(data, "type"),
        children,
        bool(children),
        _integer(data, "count", None),
        opaque=bool(data.get("opaque")),
    )


def insert(connection: sqlite3.Connection, recording: Recording, workspace: str) -> int:
    """Insert an imported recording into the database; return the number of its new run."""
    run = recording.run
    row = RunRow(workspace, run.name, run.program, run.args, run.started, debugger=run.debugger)
    no_secrets = Secrets(())
    connection.execute("BEGIN IMMEDIATE")
    inserts.add_run(connection, row)
    inserts.update_run(connection, row, run.debugger, run.breakpoints, run.logpoints)
    if run.traced:
        # The stops of a file are numbered anew.
        inserts.set_traced(connection, row, len(recording.stops))
    for source in recording.sources:
        inserts.add_source(connection, row, source.file, source.text)
    inserts.add_output(connection, row, 0, recording.output, run.printed)
    for stop in recording.stops:
        inserts.add_stop(connection, row, stop_row(stop), no_secrets)
    if run.exit is not None:
        inserts.finish_run(connection, row, run.started + (run.elapsed_s or 0), run.exit)
    connection.execute("COMMIT")
    assert row.number is not None
    return row.number


def stop_row(stop: RecordedStop) -> StopRow:
    """Return a stop as it is inserted."""
    return StopRow(
        number=stop.number,
        at_s=stop.at_s,
        reason=stop.reason,
        thread=stop.thread,
        thread_name=stop.thread_name,
        frames=stop.frames,
        shown=stop.shown,
        depth=stop.depth,
        scopes=stop.scopes,
        cursor=stop.cursor,
        command=stop.command,
        description=stop.description,
        exception=stop.exception,
        breakpoints=stop.breakpoints,
        watched=stop.watched,
        entry=stop.entry,
    )
