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
DebuggerName = Annotated[str | None, Arg("the debugger to use", meta="NAME", complete="adapter")]
SessionName = Annotated[
    str | None, Arg("name of the session (default: the program's)", meta="NAME")
]
Child = Annotated[
    Literal["follow", "ignore", "only"] | None,
    Arg(
        "debug child processes too, leave them alone, or go with the first one instead "
        "(default: follow; machine code: ignore)"
    ),
]
JustMyCode = Annotated[bool | None, Arg("never stop in code of libraries")]
Record = Annotated[
    bool | None, Arg("keep its stops, for `hits`, `diff` and `replay` (default: yes, see `config`)")
]
