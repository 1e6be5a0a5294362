"""Decode values sent by the agent; judge from gdb's text whether one has children. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields

from .mi_channel import Answered, rows

POINTER = re.compile(
    r"\*( const| volatile| restrict)*$|^(&|\*(mut|const) |alloc::boxed::Box<)"
    r"|^(const )?std::(unique|shared)_ptr<"
)
#: pointers whose target is shown with them or cannot be shown
FLAT_POINTER = re.compile(r"(^|\s)(char|void)( const)? \*( const| volatile| restrict)*$")


@dataclass(frozen=True, slots=True)
class Node:
    """A value from the agent, with its children."""

    name: str
    type: str | None
    text: str
    expression: str | None
    #: number of children, where not all of them are sent
    count: int | None
    children: tuple[Node, ...]


def nodes_of(output: str) -> list[Node | None]:
    """Return the nodes in the agent's output; None for an expression without a value."""
    return [None if packed is None else _node(packed) for packed in _unpacked(output)]


def levels_of(output: str) -> list[int]:
    """Return the numbers in the agent's output."""
    return [int(each) for each in _unpacked(output)]


def _unpacked(output: str) -> list[Any]:
    """Decode the agent's output: the last line, after anything else that was printed."""
    lines = output.split()
    decoded: list[Any] = json.loads(base64.b64decode(lines[-1])) if lines else []
    return decoded


def _node(packed: Sequence[Any]) -> Node:
    name, type, text, expression, count, children = packed
    return Node(name, type, text, expression, count, tuple(_node(each) for each in children or ()))


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a frame."""

    argument: bool
    line: int
    node: Node


def variables_of(output: str) -> list[Variable]:
    """Return the variables in the agent's output."""
    return [
        Variable(bool(argument), line, _node(node)) for argument, line, node in _unpacked(output)
    ]


def types_of(answered: Answered) -> dict[tuple[int, str], str]:
    listed = rows(answered.result.fields.get("variables"))
    return {
        (index, str(each.get("name", ""))): str(each["type"])
        for index, each in enumerate(listed)
        if each.get("type")
    }


def has_parts(text: str, type: str | None) -> bool:
    """Whether a value has children, judged by gdb's text for it."""
    if text.startswith("<") or not text:
        return False
    if type is not None and POINTER.search(type):
        return not FLAT_POINTER.search(type) and text != "0x0"
    return "{" in text or text.endswith("]")


def opens(made: Fields) -> bool:
    type = str(made.get("type", ""))
    if FLAT_POINTER.search(type):
        return False
    if POINTER.search(type) and str(made.get("value", "")).split()[:1] == ["0x0"]:
        return False
    return (
        int(made.get("numchild") or 0) > 0
        or made.get("has_more") == "1"
        or (made.get("dynamic") == "1" and made.get("displayhint") in ("array", "map"))
    )


def first_address(answered: Answered) -> str | None:
    match = re.search(r"0x[0-9a-f]+", str(answered.result.fields.get("value", "")))
    return match[0] if match else None


def plain_path(path: str) -> str:
    """Return `items[0].name` for gdb's `((items)[0]).name`."""
    previous = None
    while previous != path:
        previous = path
        path = re.sub(r"(?<![\w*&)])\(([\w.$:]+(?:\[\d+\]|->\w+|\.\w+)*)\)", r"\1", path)
    return path
