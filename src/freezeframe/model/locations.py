"""Locations in a program and lines of source."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from . import late_regex
from .fast_dataclass import dataclass

#: `app.py:"total += x"`; `_BARE_TEXT` is what remains when a shell removes the quotes, unless it is
#: a function name
_QUOTED_TEXT = late_regex.compile(r"""(?P<file>[^"']+):(?P<quote>["'])(?P<text>.*\S.*)(?P=quote)""")
#: `app.py:14 if n > 3`, as gdb's `break` takes it
_CONDITIONAL = late_regex.compile(
    r"(?P<where>[^\"']+?:\d+|:?\d+|\*0x[0-9a-fA-F]+|[^\W\d][\w.~$!]*(?:::[\w~$]+)*)"
    r"\s+if\s+(?P<condition>\S.*)",
    re.DOTALL,
)
_BARE_TEXT = late_regex.compile(
    r"(?P<file>[^\s:]+\.\w+):(?!:)(?P<text>(?![\w:~$.]+$)(?!\d+[,-]\d+$).*\S.*)"
)


@dataclass(frozen=True, slots=True)
class Location:
    """A location given by the user, in exactly one of five forms.

    `file:line`, `file:"text of the line"`, a function, `module!function`, or `*0xADDR`.
    """

    file: str | None = None
    line: int | None = None
    function: str | None = None
    module: str | None = None
    address: int | None = None
    #: of a file: text of the line, until the line number is resolved
    text: str | None = None
    #: of a breakpoint: the condition written after the location, `app.py:14 if n > 3`
    condition: str | None = None

    @classmethod
    def parse(cls, text: str) -> Location:
        """Return the location in *text*. Raises ValueError if it is not a location."""
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
        if colon and line.isdecimal() and not file:
            return cls(function=line)  # `:14` is line 14 of the current file, as `14` is
        if colon and line.isdecimal() and not file.endswith(":"):
            return cls(file=file, line=int(line))
        if bare := _BARE_TEXT.fullmatch(text):
            return cls(file=bare["file"], text=bare["text"])
        module, bang, function = text.partition("!")
        if bang and module and function:
            return cls(module=module, function=function)
        if re.fullmatch(r"[-+]\[\w+ [\w:]+\]", text):  # a method of Objective-C
            return cls(function=text)
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
    """A source line of disassembled instructions."""

    path: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """Lines of a file, as on disk or as the debugger provides it."""

    path: str
    lines: tuple[SourceLine, ...]
    total_lines: int | None = None
    #: why there are no lines: the file is missing, or the debugger has no source
    missing: str | None = None
    #: a remark, such as "changed on disk since the program started"
    note: str | None = None
