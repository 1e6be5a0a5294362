"""Reading JSON answers as a user reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Data = dict[str, Any]


def place(report: Data) -> str:
    """Return `file:line` of the stop in a report; the file's name only."""
    frame = frame_of(report)
    return f"{Path(frame['path']).name}:{frame['line']}"


def frame_of(report: Data) -> Data:
    stop = report["stop"]
    assert stop is not None, f"not stopped: {report}"
    frame = stop["frame"]
    assert frame is not None, f"stopped nowhere: {report}"
    return dict(frame)


def shown(report: Data) -> str:
    """Return `file:line` of what a stop report shows: the user's own code, below a library's."""
    frame = report["selected"] or frame_of(report)
    return f"{Path(frame['path']).name}:{frame['line']}"


def values(answer: Data) -> dict[str, Data]:
    """Return name → value of the arguments and locals in a report, `locals` or `args` answer.

    Without what marks a variable in some languages: `$total` is `total`.
    """
    return {
        value["name"].lstrip("$@%"): value
        for scope in answer["scopes"]
        if scope["kind"] in ("arguments", "locals")
        for value in scope["values"]
    }


def texts(answer: Data) -> dict[str, str]:
    return {name: value["text"] for name, value in values(answer).items()}


def changed(answer: Data) -> set[str]:
    """Return the names of top-level values that are marked as changed, themselves or inside."""
    return {name for name, value in values(answer).items() if changes(value)}


def changes(value: Data) -> list[Data]:
    """Return the innermost values that are marked as changed, *value* included."""
    inner = [change for child in value["children"] for change in changes(child)]
    inner += value["parts"]
    return inner or ([value] if value["changed"] else [])


def printed(answer: Data, *streams: str) -> str:
    """Return the text of an answer's output, of those streams or of all."""
    return "".join(
        chunk["text"]
        for chunk in answer["output"]["chunks"]
        if not streams or chunk["stream"] in streams
    )


def functions(stack: Data) -> list[str]:
    """Return the functions of a stack's own frames, unqualified, innermost first."""
    return [bare(frame["function"]) for frame in own(stack["frames"])]


def own(frames: Iterable[Data]) -> list[Data]:
    return [frame for frame in frames if not frame["library"]]


def bare(function: str) -> str:
    """`Account.deposit`, `crate::main`, `shop::add(int)` → `deposit`, `main`, `add`."""
    return function.partition("(")[0].replace("::", ".").rpartition(".")[2]


def unreadable(text: str, expected: dict[str, str]) -> list[str]:
    """Return the lines of a `locals` answer that do not show what *expected* (a pattern) says."""
    lines = {
        match["name"]: match["value"]
        for match in re.finditer(r"^\s*(?P<name>\w+) = (?P<value>.*)$", text, re.MULTILINE)
    }
    return [
        f"{name} = {lines.get(name)} (wanted: {pattern})"
        for name, pattern in expected.items()
        if not re.search(pattern, lines.get(name, ""))
    ]
