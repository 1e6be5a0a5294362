"""The `AdapterOutput` group of an adapter's description."""

from __future__ import annotations

from collections.abc import Callable

from freezeframe.model.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AdapterOutput:
    """Output of the program, of logpoints, and of the debugger itself."""

    #: categories of output events to drop
    ignored: frozenset[str] = frozenset({"telemetry"})
    #: the program's output comes as events; otherwise such events are the debugger's
    of_program: bool = True
    #: returns what the program itself wrote of a text on standard error
    clean_stderr: Callable[[str], str] = lambda text: text
    #: the debugger's console output that no user requested
    is_noise: Callable[[str], bool] = lambda text: False
    #: logpoint messages come on the console: the markers that enclose them, to separate them from
    #: the adapter's messages
    log_delimiters: tuple[str, str] | None = None
    #: the program writes logpoint messages into a FIFO of Freezeframe (see `Breakpoints.encode`)
    log_channel: bool = False
    #: a logpoint's message as shown: evaluation errors shortened
    log_text: Callable[[str], str] = lambda text: text
