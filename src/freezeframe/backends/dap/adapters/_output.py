"""The group of an adapter's description that is about output."""

from __future__ import annotations

from collections.abc import Callable

from freezeframe.model.records import dataclass


@dataclass(frozen=True, slots=True)
class Output:
    """What is said on the way: by the program, by logpoints, by the debugger itself."""

    #: categories of output events that nobody wants
    ignored: frozenset[str] = frozenset({"telemetry"})
    #: the program's own output comes as events; else what comes so is the debugger's
    of_program: bool = True
    #: words of its own that it passes off as the program's errors
    disguised: Callable[[str], bool] = lambda text: False
    #: console output of its own that nobody asked for
    chatter: Callable[[str], bool] = lambda text: False
    #: logpoints speak through the console: what their messages are put between, to be told from
    #: the adapter's own words
    log_marks: tuple[str, str] | None = None
    #: logpoints are written by the program into a FIFO of ours (see `Breakpoints.wire`)
    log_channel: bool = False
    #: a logpoint's message as it is shown: what could not be evaluated, in few words
    log_text: Callable[[str], str] = lambda text: text
