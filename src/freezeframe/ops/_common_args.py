"""Arguments that several operations take, with one meaning and one wording."""

from __future__ import annotations

from typing import Annotated, Literal

from ._params import Arg

Timeout = Annotated[
    float | None,
    Arg("seconds to wait for a stop (default: 30, see `config`)", short="-t", meta="SECONDS"),
]
FirstStop = Annotated[bool, Arg("wait for the first stop")]
NextStop = Annotated[bool, Arg("wait for the next stop")]
Breaks = Annotated[
    tuple[str, ...], Arg("stop there, as `break` does", short="-b", name="break", meta="LOC")
]
ProgramArguments = Annotated[
    tuple[str, ...], Arg("arguments of the program", rest=True, command=True)
]
IsModule = Annotated[bool, Arg("PROGRAM is a module (`-m pytest …`)", short="-m")]
RunDirectory = Annotated[
    str | None,
    Arg("directory to run it in (default: the caller's)", meta="DIR", complete="directory"),
]
Environment = Annotated[tuple[str, ...], Arg("set an environment variable", meta="K=V")]
StdinFile = Annotated[
    str | None, Arg("file to read standard input from", meta="FILE", complete="file")
]
DebuggerName = Annotated[str | None, Arg("the debugger to use", meta="NAME", complete="adapter")]
SessionName = Annotated[
    str | None, Arg("name of the session (default: the program's)", meta="NAME")
]
Child = Annotated[
    Literal["follow", "ignore", "only"] | None,
    Arg(
        "debug child processes too, ignore them, or debug only the first one "
        "(default: follow; machine code: ignore)"
    ),
]
InFrame = Annotated[
    str | None,
    Arg("of this frame, by number or function; the selected one stays", meta="N|NAME"),
]
JustMyCode = Annotated[bool | None, Arg("never stop in library code")]
Record = Annotated[
    bool | None,
    Arg("record its stops, for `hits`, `diff` and `replay` (default: yes, see `config`)"),
]
