"""Records the values of expressions at one line; the module `_freezeframe_probe`.

Runs inside the program and imports nothing of this package. Only code that has the line is
observed: by `sys.monitoring` from Python 3.12 on, by `sys.settrace` before. A hit stores the values
that cannot change, and the texts of the others; they are written in blocks.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
from typing import Any

_show: Any = sys.modules["_freezeframe_text"].show
_system: Any = __import__(os.name)
_monitoring: Any = getattr(sys, "monitoring", None)
_getframe = sys._getframe
_FLAGS = _system.O_WRONLY | _system.O_CREAT | _system.O_APPEND | getattr(_system, "O_BINARY", 0)
#: hits that are written at once
_BLOCK = 4096
#: characters of one value
_TEXT = 120


class _Text(str):
    """The text of a value that could change."""

    __slots__ = ()


class Probe:
    """The probe of a process."""

    def __init__(self, settings: Any, directory: str) -> None:
        self.line: int = settings["line"]
        self._path: str = settings["path"]
        self._expressions: list[str] = settings["expressions"]
        self._until: str | None = settings["until"]
        self._directory = directory
        self._files: dict[str, bool] = {}
        #: the values of all hits that are not written yet, hit by hit
        self._rows: list[Any] = []
        self._width = len(self._expressions) + bool(self._until)
        self._lock = threading.Lock()
        self._hits = 0
        self._found: int | None = None
        #: hits at which the condition raised, and what it raised last
        self._undecided = 0
        self._problem = ""
        self._is_loaded = self._has_line = self._is_over = False
        self._names = self._names_read()
        #: what is called at each hit, and the function that installs it
        self.callback: Any = None
        self.install: Any = None

    def has_line(self, code: Any) -> bool:
        """Return whether a code object has the line."""
        name = code.co_filename
        if name not in self._files:
            self._files[name] = name[:1] != "<" and os.path.realpath(name) == self._path
        if not self._files[name]:
            return False
        self._is_loaded = True
        if all(line != self.line for _, _, line in code.co_lines()):
            return False
        self._has_line = True
        return True

    def start(self, frame: Any) -> Any:
        """Record the values in a frame; from then on a function that is compiled for it does, as
        long as it fits. Returns what the interpreter's callback returns.
        """
        if self._is_over:
            return None
        self._compile(frame)(frame)
        return self.callback if _monitoring is None else None

    def _fail(self, frame: Any) -> None:
        """Record a hit at which an expression raises."""
        row = self._one_by_one(frame)
        if self._until:
            self._add_checked(row)
        else:
            self._rows.extend(row[1:])

    def _names_read(self) -> tuple[str, ...]:
        found: set[str] = set()
        for text in (*self._expressions, *([self._until] if self._until else ())):
            try:
                stack = [compile(f"({text}\n)", "<probe>", "eval")]
            except (SyntaxError, ValueError):
                continue
            while stack:
                code = stack.pop()
                found.update(code.co_names)
                stack += [each for each in code.co_consts if hasattr(each, "co_code")]
        return tuple(sorted(found))

    def _compile(self, frame: Any) -> Any:
        """Install the function that records a hit, for the variables that a frame has now.

        It is the interpreter's callback for each hit, so it is one function without a loop. It
        calls `start` in a frame of another module, or in which other variables have a value.
        Returns the part of it that records the hit of a frame. The interpreter reports no line
        that the expressions reach.
        """
        values, code = frame.f_locals, frame.f_code
        own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        local = [name for name in self._names if name in values]
        unbound = sorted(own.intersection(self._names).difference(local))
        cells = "".join(
            f"(_ff{i} if (_ff_t := type(_ff{i} := (\n{each}\n))) is int or _ff_t is float"
            f" or _ff_t is str else _ff_text(_ff{i})),"
            for i, each in enumerate(self._expressions)
        )
        until = f"(\n{self._until}\n)," if self._until else ""
        body = [
            "  _ff_values = _ff_frame.f_locals",
            *(f"  if {name!r} in _ff_values: return _ff_start(_ff_frame)" for name in unbound),
            "  try:",
            "   pass",
            *(f"   {name} = _ff_values[{name!r}]" for name in local),
            "  except KeyError: return _ff_start(_ff_frame)",
            f"  try: _ff_add(({until} {cells}))",
            "  except Exception: _ff_fail(_ff_frame)",
            f"  if _ff_len(_ff_rows) >= {_BLOCK * self._width}: _ff_flush()",
        ]
        other = "_ff_frame.f_globals is not _ff_globals: return _ff_start(_ff_frame)"
        lines = [
            "def _ff_make(_ff_globals, _ff_start, _ff_fail, _ff_flush, _ff_text, _ff_rows,"
            " _ff_add, _ff_len, _ff_getframe, _ff_disable, _ff_known):",
            " def _ff_record(_ff_frame):",
            *body,
            *(
                [
                    " def _ff_callback(_ff_code, _ff_line):",
                    f"  if _ff_line != {self.line}: return _ff_disable",
                    "  _ff_frame = _ff_getframe(1)",
                    f"  if _ff_code is not _ff_known and {other}",
                ]
                if _monitoring is not None
                else [
                    " def _ff_callback(_ff_frame, _ff_event, _ff_arg):",
                    f"  if _ff_frame.f_lineno != {self.line} or _ff_event != 'line':"
                    " return _ff_callback",
                    f"  if {other}",
                ]
            ),
            *body,
            "  return None" if _monitoring is not None else "  return _ff_callback",
            " return _ff_record, _ff_callback",
        ]
        made: dict[str, Any] = {}
        exec("\n".join(lines), frame.f_globals, made)
        add = self._add_checked if self._until else self._rows.extend
        record, self.callback = made["_ff_make"](
            frame.f_globals, self.start, self._fail, self._flush, _text, self._rows, add, len,
            _getframe, getattr(_monitoring, "DISABLE", None), code,
        )  # fmt: skip
        self.install(self.callback)
        return record

    def _add_checked(self, row: Any) -> None:
        self._rows.extend(row)
        if row[0]:
            self._flush()
            end(leave=True)

    def _one_by_one(self, frame: Any) -> Any:
        """Return the row of a hit at which an expression raises."""
        row: list[Any] = []
        scope = {**frame.f_globals, **frame.f_locals}
        try:
            row.append(bool(eval(f"(\n{self._until or False}\n)", scope)))
        except Exception as error:
            row.append(False)
            self._undecided += 1
            self._problem = f"{type(error).__name__}: {error}"[:_TEXT]
        for each in self._expressions:
            try:
                value = eval(f"(\n{each}\n)", scope)
                row.append(value if type(value) in (int, float, str) else _text(value))
            except Exception as error:
                row.append(_Text(f"<{type(error).__name__}: {error}>"[:_TEXT]))
        return tuple(row)

    def _flush(self) -> None:
        with self._lock:
            if self._is_over:
                self._rows.clear()  # of frames that are still traced
                return
            # Other threads add rows meanwhile, to the same list.
            rows, width = self._rows[:], self._width
            del self._rows[: len(rows)]
            if self._until:
                for at, holds in enumerate(rows[::width]):
                    if holds:
                        rows = rows[: (at + 1) * width]
                        self._found, self._is_over = self._hits + at + 1, True
                        break
            self._hits += len(rows) // width
            if rows:
                first = 1 if self._until else 0
                self._write_columns([rows[at::width] for at in range(first, width)])

    def _write_columns(self, columns: Any) -> None:
        """Write the columns of a block: integers packed behind it, the others as texts."""
        packed, described = b"", []
        for column in columns:
            try:
                packed += struct.pack(f"{len(column)}q", *column)
                described.append({"q": len(column)})
            except struct.error:  # not only integers, or large ones
                texts = [each if type(each) is _Text else _show(each, _TEXT) for each in column]
                described.append(texts)  # type: ignore[arg-type]
        self._write({"columns": described}, packed)

    def _write(self, record: Any, packed: bytes = b"") -> None:
        path = os.path.join(self._directory, f"probe.{_system.getpid()}")
        data = memoryview(json.dumps(record).encode() + b"\n" + packed)
        descriptor = _system.open(path, _FLAGS, 0o600)
        try:
            while data:
                data = data[_system.write(descriptor, data) :]
        finally:
            _system.close(descriptor)

    def finish(self, error: str | None) -> None:
        """Write what is left, and how the process ends."""
        self._flush()
        self._is_over = True
        self._write(
            {
                "undecided": self._undecided,
                "problem": self._problem,
                "found": self._found,
                "loaded": self._is_loaded,
                "has_line": self._has_line,
                "exception": error,
            }
        )

    def forked(self) -> None:
        """Begin anew in a child."""
        self._lock, self._hits, self._undecided = threading.Lock(), 0, 0
        self._rows.clear()


def _text(value: Any) -> _Text:
    if value is True or value is False or value is None:
        return _CONSTANTS[value]
    return _Text(_show(value, _TEXT))


_CONSTANTS: dict[Any, _Text] = {each: _Text(str(each)) for each in (True, False, None)}


_state: dict[str, Any] = {"probe": None}


def begin(settings: Any, directory: str) -> None:
    """Begin to record, and write the end when the process ends, however it does."""
    import atexit

    probe = _state["probe"] = Probe(settings, directory)
    if _monitoring is not None:
        _monitor(probe)
    else:
        _trace(probe)
    atexit.register(end)
    if hasattr(_system, "register_at_fork"):
        _system.register_at_fork(after_in_child=probe.forked)
    leave = _system._exit

    def _exit(status: int) -> Any:
        end()
        leave(status)

    os._exit = _exit


def end(leave: bool = False) -> None:
    """Write the end once; *leave*: end the process too."""
    probe = _state["probe"]
    if probe is not None:
        _state["probe"] = None
        error = getattr(sys, "last_value", None)
        try:
            probe.finish(None if error is None else f"{type(error).__name__}: {error}"[:_TEXT])
        except Exception:
            pass  # the disk is full, or the directory is gone
    if leave:
        for stream in (sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()  # type: ignore[union-attr]
            except Exception:
                continue
        _system._exit(0)


def _monitor(probe: Probe) -> None:
    events, disable = _monitoring.events, _monitoring.DISABLE
    tool = next(each for each in (4, 3, 2, 5, 1, 0) if _monitoring.get_tool(each) is None)
    _monitoring.use_tool_id(tool, "freezeframe")
    line = probe.line

    def on_start(code: Any, offset: int) -> Any:
        try:
            if probe.has_line(code):
                _monitoring.set_local_events(tool, code, events.LINE)
        except Exception:
            pass
        return disable

    def on_first(code: Any, number: int) -> Any:
        return disable if number != line else probe.start(_getframe(1))

    def install(callback: Any) -> None:
        _monitoring.register_callback(tool, events.LINE, callback)

    probe.install = install
    install(on_first)
    _monitoring.register_callback(tool, events.PY_START, on_start)
    _monitoring.set_events(tool, events.PY_START)


def _trace(probe: Probe) -> None:
    known: dict[int, tuple[Any, bool]] = {}
    line = probe.line

    def on_first(frame: Any, event: str, arg: Any) -> Any:
        if event == "line" and frame.f_lineno == line:
            return probe.start(frame)
        return on_first

    current = [on_first]

    def on_call(frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        found = known.get(id(code))
        if found is None:
            found = known[id(code)] = (code, probe.has_line(code))
        return current[0] if found[1] else None

    def install(callback: Any) -> None:
        current[0] = callback

    probe.install = install
    threading.settrace(on_call)
    sys.settrace(on_call)
