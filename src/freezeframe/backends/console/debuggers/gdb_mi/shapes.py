"""What gdb tells of a value beside its text: types, lines, whether it can be opened. Pure."""

from __future__ import annotations

import re

from freezeframe.backends.console.reader import Fields

from .line import Answered, rows

POINTER = re.compile(
    r"\*( const| volatile| restrict)*$|^(&|\*(mut|const) |alloc::boxed::Box<)"
    r"|^(const )?std::(unique|shared)_ptr<"
)
#: what it points to is shown with it, or cannot be shown
FLAT_POINTER = re.compile(r"(^|\s)(char|void)( const)? \*( const| volatile| restrict)*$")


def lines_of(said: str) -> dict[str, int]:
    """Return the line of each name that the probe tells; of names that come again the first."""
    found: dict[str, int] = {}
    for row in said.splitlines():
        line, _, title = row.partition("\t")
        if line.isdecimal():
            found.setdefault(title, int(line))
    return found


def types_of(answered: Answered) -> dict[tuple[int, str], str]:
    listed = rows(answered.result.fields.get("variables"))
    return {
        (index, str(each.get("name", ""))): str(each["type"])
        for index, each in enumerate(listed)
        if each.get("type")
    }


def has_parts(text: str, type: str | None) -> bool:
    """Whether a value can be opened, judged by what gdb prints for it."""
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
