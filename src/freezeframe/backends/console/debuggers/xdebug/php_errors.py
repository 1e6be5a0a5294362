"""Exceptions and PHP's older kinds of errors, as Xdebug reports them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from . import dbgp

#: PHP's names for errors that end the program
FATAL = frozenset(
    {
        "Fatal error",
        "Parse error",
        "Catchable fatal error",
        "Recoverable fatal error",
        "User error",
    }
)
#: and for errors after which the program continues
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
class PhpException:
    """An exception, or an error of one of the kinds above."""

    type: str
    message: str
    causes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type

    def uncaught(self) -> PhpException | None:
        """Return the uncaught exception that a fatal error reports, or None."""
        if self.type not in FATAL:
            return None
        first = _UNCAUGHT.match(self.message)
        if first is None:
            return None
        matches = (first, *_NEXT.finditer(self.message))
        chain = [PhpException(each["type"], each["message"] or "") for each in matches]
        last = chain.pop()
        return PhpException(last.type, last.message, tuple(map(str, reversed(chain))))

    def repeats(self, reported: PhpException) -> bool:
        """Whether this is the fatal error that follows an exception that was reported already."""
        first = self.uncaught()
        return first is not None and first.type == reported.type


def read_thrown(message: Element) -> PhpException | None:
    """Return the exception that a stop's message reports, or None."""
    name = message.get("exception")
    if name is None:
        return None
    return PhpException(name, dbgp.text_of(message).decode("utf-8", "replace").strip())
