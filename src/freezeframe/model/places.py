"""Places in a program: where a breakpoint is wanted, where a frame stands."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from .records import dataclass

#: `app.py:"total += x"`, and what a shell that takes the quotes away leaves of it, where that is
#: no name of a function
_QUOTED_TEXT = re.compile(r"""(?P<file>[^"']+):(?P<quote>["'])(?P<text>.*\S.*)(?P=quote)""")
#: `app.py:14 if n > 3`, as gdb's `break` takes it
_CONDITIONAL = re.compile(
    r"(?P<where>[^\"']+?:\d+|\d+|\*0x[0-9a-fA-F]+|[^\W\d][\w.~$!]*(?:::[\w~$]+)*)"
    r"\s+if\s+(?P<condition>\S.*)",
    re.DOTALL,
)
_BARE_TEXT = re.compile(
    r"(?P<file>[^\s:]+\.\w+):(?!:)(?P<text>(?![\w:~$.]+$)(?!\d+[,-]\d+$).*\S.*)"
)


@dataclass(frozen=True, slots=True)
class Location:
    """Where the user wants to stop or look: exactly one of the five forms.

    `file:line`, `file:"text of the line"`, a function, `module!function`, or `*0xADDR`.
    """

    file: str | None = None
    line: int | None = None
    function: str | None = None
    module: str | None = None
    address: int | None = None
    #: of a file: what the wanted line contains, until the line is looked up
    text: str | None = None
    #: of a breakpoint: where it was written behind the place, `app.py:14 if n > 3`
    condition: str | None = None

    @classmethod
    def parse(cls, text: str) -> Location:
        """Return the location that *text* names; raise ValueError where it names none."""
        text = text.strip()
        if not text:
            raise ValueError("an empty location")
        if conditional := _CONDITIONAL.fullmatch(text):
            return replace(cls.parse(conditional["where"]), condition=conditional["condition"])
        if text.startswith("*"):
            return cls(address=int(text[1:], 0))
        if quoted := _QUOTED_TEXT.fullmatch(text):
            return cls(file=quoted["file"], text=quoted["text"])
        file, colon, line = text.rpartition(":")
        if colon and line.isdecimal() and file and not file.endswith(":"):
            return cls(file=file, line=int(line))
        if bare := _BARE_TEXT.fullmatch(text):
            return cls(file=bare["file"], text=bare["text"])
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
        return f"{self.file}:{self.line if self.text is None else json.dumps(self.text)}"


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
