"""Places in a program: where a breakpoint is wanted, where a frame stands."""

from __future__ import annotations

import re

from .records import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """Where the user wants to stop or look: exactly one of the four forms.

    `file:line`, a function, `module!function`, or `*0xADDR`.
    """

    file: str | None = None
    line: int | None = None
    function: str | None = None
    module: str | None = None
    address: int | None = None

    @classmethod
    def parse(cls, text: str) -> Location:
        """Return the location that *text* names; raise ValueError where it names none."""
        text = text.strip()
        if not text:
            raise ValueError("an empty location")
        if text.startswith("*"):
            return cls(address=int(text[1:], 0))
        file, colon, line = text.rpartition(":")
        if colon and line.isdecimal() and file and not file.endswith(":"):
            return cls(file=file, line=int(line))
        module, bang, function = text.partition("!")
        if bang and module and function:
            return cls(module=module, function=function)
        if re.search(r"[\s]", text) and "(" not in text and "<" not in text:
            raise ValueError(f"{text!r} is neither file:line nor a function name")
        return cls(function=text)

    def __str__(self) -> str:
        if self.address is not None:
            return f"*{self.address:#x}"
        if self.function is not None:
            return f"{self.module}!{self.function}" if self.module else self.function
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class SourceLine:
    number: int
    text: str
    current: bool = False


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of source that instructions come from."""

    path: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """Some lines of a file, as it is on disk now or as the debugger holds it."""

    path: str
    lines: tuple[SourceLine, ...]
    total_lines: int | None = None
    #: why there are no lines: the file is gone, or the debugger has none
    missing: str | None = None
    #: what the reader must know: "changed on disk since the program started"
    note: str | None = None
