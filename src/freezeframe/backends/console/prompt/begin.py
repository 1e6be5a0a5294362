"""How a debugger is started: by which words, over which line, with the program where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Line(Enum):
    """How the debugger is reached."""

    #: its standard input and output
    STDIO = "stdio"
    #: two pipes; `{read}` and `{write}` in its words are their numbers
    PIPES = "pipes"
    #: a terminal of its own; `{terminal}` in its words and environment is its name
    TERMINAL = "terminal"
    #: it connects to a port of ours; `{host}` and `{port}` in its words
    CALL = "call"


class Home(Enum):
    """Where the program runs, and so whose its standard streams are."""

    #: in the debugger's process, whose standard streams are the program's
    INSIDE = "inside"
    #: in a process that the debugger starts; `{stdin}`, `{stdout}` and `{stderr}` in a `run`
    #: command or a setting are files for it to open, `{socket}` is a name for a socket of its own
    LAUNCHED = "launched"
    #: in a process that we start (`Begin.program`) before the debugger, which joins it
    BESIDE = "beside"
    #: it was there before us, or has none
    APART = "apart"
    #: in the debugger's process, which speaks through the same streams
    SHARED = "shared"
    #: in the debugger's process, whose streams are not the program's: that opens files as above
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Begin:
    """How a debugger is started on a target."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    line: Line = Line.STDIO
    home: Home = Home.LAUNCHED
    #: the program's own command, where it runs beside its debugger
    program: tuple[str, ...] = ()
    program_env: Mapping[str, str] = field(default_factory=dict)
    #: commands that prepare the debugger; what they answer is of no interest
    settings: tuple[str, ...] = ()
    #: how many of its words names are put into, where the rest is the program's
    own: int | None = None
