"""What Xdebug tells of exceptions and of PHP's older kinds of errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from . import dbgp

#: PHP's words for errors that end the program
FATAL = frozenset(
    {
        "Fatal error",
        "Parse error",
        "Catchable fatal error",
        "Recoverable fatal error",
        "User error",
    }
)
#: and for those after which it goes on
MILD = frozenset(
    {
        "Warning",
        "Notice",
        "Deprecated",
        "Strict standards",
        "User warning",
        "User notice",
        "User deprecated",
        "Unknown error",
    }
)
_UNCAUGHT = re.compile(
    r"\AUncaught (?P<type>[\w\\]+)(?:: (?P<message>.*?))?(?: in \S+?:\d+)?(?:\nStack trace:|\Z)",
    re.DOTALL,
)
_NEXT = re.compile(
    r"^Next (?P<type>[\w\\]+)(?:: (?P<message>.*?))? in \S+?:\d+\nStack trace:", re.M | re.S
)


@dataclass(frozen=True, slots=True)
class Thrown:
    """An exception, or an error of one of those kinds."""

    type: str
    message: str
    causes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type

    def uncaught(self) -> Thrown | None:
        """Return the exception that a fatal error says was not caught."""
        if self.type not in FATAL:
            return None
        first = _UNCAUGHT.match(self.message)
        if first is None:
            return None
        told = (first, *_NEXT.finditer(self.message))
        chain = [Thrown(each["type"], each["message"] or "") for each in told]
        last = chain.pop()
        return Thrown(last.type, last.message, tuple(map(str, reversed(chain))))

    def repeats(self, told: Thrown) -> bool:
        """Whether this is the end that an exception which was told of leads to."""
        first = self.uncaught()
        return first is not None and first.type == told.type


def read_thrown(message: Element) -> Thrown | None:
    """Return what a stop's message tells of, where that is an exception."""
    name = message.get("exception")
    if name is None:
        return None
    return Thrown(name, dbgp.text_of(message).decode("utf-8", "replace").strip())
