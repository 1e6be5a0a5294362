"""Commands of jdb: done by queries of the agent, or refused with the command that does the same."""

from __future__ import annotations

import re

from freezeframe.backends.console.prompt.command_set import CommandSet, ConsoleQuery, FrameRef
from freezeframe.backends.console.prompt.native_commands import (
    locals_text,
    not_passed_on,
    value_text,
)

_EVALUATION = re.compile(r"(?:print|eval|dump)\s+(.+)", re.DOTALL)
_ASSIGNMENT = re.compile(r"set\s+(.+?)\s*=\s*(.+)", re.DOTALL)
#: `stop at CLASS:LINE`, `stop in CLASS.METHOD`
_STOP_AT = re.compile(r"(?:stop|clear)\s+(?:at\s+)?([\w.$]+):(\d+)")
_STOP_IN = re.compile(r"(?:stop|clear)\s+(?:in\s+)?([\w.$<>]+)(?:\(.*\))?")
#: jdb's command → the one that does it and that the session knows of
_ELSEWHERE = {
    "step up": "finish",
    "stop": "breakpoint list",
    "clear": "breakpoint list",
    "cont": "continue",
    "resume": "continue",
    "run": "continue",
    "next": "next",
    "step": "step",
    "stepi": "step",
    "suspend": "pause",
    "list": "source",
    "up": "up",
    "down": "down",
    "thread": "thread ID",
    "catch": "catch raised",
    "ignore": "catch off",
    "watch": "watch EXPR",
    "unwatch": "watch list",
    "pop": "restart-frame",
    "quit": "stop",
    "exit": "stop",
    "help": "help",
}


def query(commands: CommandSet, command: str, at: FrameRef) -> ConsoleQuery[str] | None:
    """Return the query that does a command of jdb; None for a command of the agent's own.

    Raises Unsupported with the command of ours for what must not happen behind the session's back.
    """
    command = command.strip().rstrip(";")
    if found := _EVALUATION.fullmatch(command):
        return value_text(commands, found[1], at)
    if command == "locals":
        return locals_text(commands, at)
    if found := _ASSIGNMENT.fullmatch(command):
        raise not_passed_on("jdb", command, f"set {found[1]} = {found[2]}")
    tokens = command.split()
    for name in (" ".join(tokens[:2]), *tokens[:1]):
        if name in _ELSEWHERE:
            raise not_passed_on("jdb", name, _breakpoint(command) or _ELSEWHERE[name])
    return None


def _breakpoint(command: str) -> str | None:
    """Return the command that sets or removes the breakpoint of `stop at` and `clear`."""
    verb = "breakpoint remove" if command.startswith("clear") else "break"
    if found := _STOP_AT.fullmatch(command):
        return f"{verb} {found[1].partition('$')[0].rpartition('.')[2]}.java:{found[2]}"
    if (found := _STOP_IN.fullmatch(command)) and "." in found[1]:
        return f"{verb} {found[1]}"
    return None
