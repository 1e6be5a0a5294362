"""The view as a screen of a given size: source and variables, stack and commands, output."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from freezeframe.render.formatting import escape_control

from .view import SessionView

_RULE = "─"
_DIVIDER = " │ "
_KEYS = "q: quit   read-only: nothing here changes the program"
#: the narrowest terminal with two columns
_TWO_COLUMNS = 60


def screen(view: SessionView, width: int, height: int, cwd: str) -> Text:
    """Return *height* lines that are each *width* cells wide at most."""
    body = max(1, height - 2)
    lower = max(3, body // 3) if body >= 9 else 0
    upper = body - lower - (1 if lower else 0)
    lines = [_clipped(Text(_title(view, cwd), style="reverse"), width)]
    lines += _columns(_source(view, upper), _values(view), width, upper)
    if lower:
        lines.append(Text(_RULE * width, style="dim"))
        left = [*_stack(view, cwd, lower), *_commands(view, lower)][:lower]
        lines += _columns(left, _output(view, lower), width, lower)
    lines = (lines + [Text("")] * height)[: height - 1]
    lines.append(_clipped(Text(_KEYS, style="dim"), width))
    return Text("\n").join(lines)


def _title(view: SessionView, cwd: str) -> str:
    if view.problem:
        return f" {view.problem} "
    if not view.state:
        name = f"session {view.session}" if view.session else "session"
        return f" no {name} in {cwd}; it appears here when the agent starts one "
    if view.state == "terminated":
        exit = view.exit
        how = exit.get("signal") or f"code {exit.get('code')}" if exit else "ended"
        return f" {view.session}: exited, {how} "
    if not view.stop:
        return f" {view.session}: {view.state} "
    frame = view.stop.get("frame") or {}
    text = f" {view.session}: stopped, {view.stop.get('reason', '')} at {_location(frame, cwd)} "
    error = view.stop.get("exception")
    return f"{text}· {error.get('type')}: {error.get('message')} " if error else text


def _location(frame: Mapping[str, Any], cwd: str) -> str:
    path = frame.get("path")
    if not path:
        return str(frame.get("function", "?"))
    shown = os.path.relpath(path, cwd) if path.startswith(cwd + os.sep) else path
    return f"{shown}:{frame.get('line')} in {frame.get('function')}"


def _source(view: SessionView, height: int) -> list[Text]:
    lines = view.source.get("lines", ())
    if not lines:
        return [Text(str(view.source.get("missing") or ""), style="dim")]
    at = next((index for index, line in enumerate(lines) if line.get("current")), 0)
    first = max(0, min(at - height // 2, len(lines) - height))
    found = []
    for line in lines[first : first + height]:
        mark = "->" if line.get("current") else "  "
        text = f"{mark}{line['number']:>4}  {_plain(line.get('text', ''))}"
        found.append(Text(text, style="bold yellow" if line.get("current") else ""))
    return found


def _values(view: SessionView) -> list[Text]:
    found = []
    for value in view.values:
        changed = bool(value.get("changed"))
        mark = "*" if changed else " "
        text = f"{mark}{_plain(value['name'])} = {_plain(value.get('text', ''))}"
        found.append(Text(text, style="bold green" if changed else ""))
    return found


def _stack(view: SessionView, cwd: str, height: int) -> list[Text]:
    shown = view.frames[: max(1, height // 2)]
    return [Text(f"{frame.get('index', 0)}  {_plain(_location(frame, cwd))}") for frame in shown]


def _commands(view: SessionView, height: int) -> list[Text]:
    last = list(view.commands)[-max(1, height // 2) :]
    return [Text(f"$ dbg {_plain(each)}", style="cyan") for each in last]


def _output(view: SessionView, height: int) -> list[Text]:
    return [Text(f"| {_plain(line)}") for line in view.output[-height:]]


def _columns(left: list[Text], right: list[Text], width: int, height: int) -> list[Text]:
    """Return two lists of lines side by side; below each other where there is no room."""
    if width < _TWO_COLUMNS:
        half = height // 2
        return [_clipped(line, width) for line in (*_padded(left, height - half), *right[:half])]
    wide = (width - len(_DIVIDER)) * 3 // 5
    narrow = width - len(_DIVIDER) - wide
    return [
        _filled(one, wide) + Text(_DIVIDER, style="dim") + _clipped(other, narrow)
        for one, other in zip(_padded(left, height), _padded(right, height), strict=True)
    ]


def _padded(lines: Iterable[Text], height: int) -> list[Text]:
    found = list(lines)[:height]
    return found + [Text("")] * (height - len(found))


def _clipped(line: Text, width: int) -> Text:
    if cell_len(line.plain) <= width:
        return line
    return Text(set_cell_size(line.plain, max(0, width - 1)).rstrip() + "…", style=line.style)


def _filled(line: Text, width: int) -> Text:
    line = _clipped(line, width)
    return Text(set_cell_size(line.plain, width), style=line.style)


def _plain(text: str) -> str:
    """Return text in one line, without what a program could write into a terminal."""
    return escape_control(text.expandtabs(4)).replace("\n", "⏎")
