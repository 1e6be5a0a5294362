"""Parse the stops that ocamldebug prints: `Time: 20 - pc: 0:122820 - module A`."""

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
class OcamlStop:
    """One reported stop, or the end of the program."""

    time: int
    address: int | None
    #: the debugger's numbers of the breakpoints that were hit
    breakpoints: frozenset[int]
    exited: bool
    #: the exception that ended the program
    uncaught: str | None
    interrupted: bool
    #: the text after it
    rest: str

    @property
    def ended(self) -> bool:
        return self.exited or self.uncaught is not None


def parse_stops(text: str) -> list[OcamlStop]:
    """Return every stop in the debugger's output, in order."""
    found = list(_TIME.finditer(text))
    stops = []
    begin = 0
    ends = [each.start() for each in found[1:]] + [len(text)]
    for each, end in zip(found, ends[: len(found)], strict=True):
        rest = text[each.end() : end]
        hit = _HIT.search(rest)
        uncaught = _UNCAUGHT.search(rest)
        stops.append(
            OcamlStop(
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
    return stops


def frames(text: str) -> list[tuple[int, int]]:
    """Return level and address of the frames in a backtrace."""
    return [(int(each["level"]), int(each["address"])) for each in _FRAME.finditer(text)]


def has_result(rest: str) -> bool:
    """Whether the text after a stop has the value computed there, or says that there is none."""
    return _RESULT.search(rest) is not None


def exception(what: str) -> ExceptionInfo:
    """Parse an exception from its text: `Failure "boom"`."""
    what = " ".join(what.split())
    type, _, message = what.partition(" ")
    quoted = re.fullmatch(r'\(?"((?:[^"\\]|\\.)*)"\)?', message)
    if quoted is not None:
        message = re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), quoted[1])
    return ExceptionInfo(type, message, mode="uncaught")
