"""What the debugger says where the program stands: `Time: 20 - pc: 0:122820 - module A`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from freezeframe.model.stops import ExceptionInfo

_TIME = re.compile(
    r"^(?:\(ocd\) )*Time: (?P<time>\d+)"
    r"(?: - pc: (?:\d+:)?(?P<address>\d+) - module (?P<module>\S+))?[ \t]*$",
    re.MULTILINE,
)
_HIT = re.compile(r"^Breakpoints?: (?P<numbers>[\d ,]+)$", re.MULTILINE)
_FRAME = re.compile(r"^#(?P<level>\d+)\s+Pc: (?:\d+:)?(?P<address>\d+)\s", re.MULTILINE)
_UNCAUGHT = re.compile(r"^Uncaught exception: (?P<what>.*?)\s*(?:\x1a\x1aH|\Z)", re.M | re.DOTALL)
_RESULT = re.compile(r"^(?:\$\d+: |No result available)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program stands, or that it has ended."""

    time: int
    address: int | None
    #: the debugger's own numbers
    breakpoints: frozenset[int]
    exited: bool
    #: the exception that it ended with
    uncaught: str | None
    interrupted: bool
    #: the words behind it
    rest: str

    @property
    def ended(self) -> bool:
        return self.exited or self.uncaught is not None


def places(text: str) -> list[Place]:
    """Return every place that words of the debugger tell of, in their order."""
    found = list(_TIME.finditer(text))
    told = []
    begin = 0
    ends = [each.start() for each in found[1:]] + [len(text)]
    for each, end in zip(found, ends[: len(found)], strict=True):
        rest = text[each.end() : end]
        hit = _HIT.search(rest)
        uncaught = _UNCAUGHT.search(rest)
        told.append(
            Place(
                int(each["time"]),
                int(each["address"]) if each["address"] else None,
                frozenset(map(int, re.findall(r"\d+", hit["numbers"]))) if hit else frozenset(),
                "Program exit." in rest,
                uncaught["what"] if uncaught else None,
                "Interrupted." in text[begin : each.start()],
                rest,
            )
        )
        begin = each.end()
    return told


def frames(text: str) -> list[tuple[int, int]]:
    """Return level and address of the frames in a backtrace."""
    return [(int(each["level"]), int(each["address"])) for each in _FRAME.finditer(text)]


def has_result(rest: str) -> bool:
    """Whether the words behind a place tell what was computed there, or that nothing was."""
    return _RESULT.search(rest) is not None


def exception(what: str) -> ExceptionInfo:
    """Return an exception of its text: `Failure "boom"`."""
    what = " ".join(what.split())
    type, _, message = what.partition(" ")
    quoted = re.fullmatch(r'\(?"((?:[^"\\]|\\.)*)"\)?', message)
    if quoted is not None:
        message = re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), quoted[1])
    return ExceptionInfo(type, message, mode="uncaught")
