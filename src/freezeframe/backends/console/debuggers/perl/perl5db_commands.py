"""Commands of perl5db: done by queries of the agent, or refused with our command for the same.

The agent replaces perl5db, so its commands are known here only.
"""

from __future__ import annotations

import re

from freezeframe.backends.console.prompt.command_set import CommandSet, ConsoleQuery, FrameRef
from freezeframe.backends.console.prompt.native_commands import (
    locals_text,
    not_passed_on,
    value_text,
)

_PRINTED = re.compile(r"[px]\s+(.+)", re.DOTALL)
_SUBROUTINES = re.compile(r"S(?:\s+(!?)\s*(\S+))?")
_MODULES = r'join("\n", map { "$_ => $INC{$_}" } sort keys %INC)'
#: frames of `T`
_MOST_FRAMES = 100
#: perl5db's command → the one that does it and that the session knows of
_ELSEWHERE = {
    "b": "break FILE:LINE",
    "B": "breakpoint list",
    "L": "breakpoint list",
    "c": "continue",
    "n": "next",
    "s": "step",
    "r": "finish",
    "R": "restart",
    "q": "stop",
    "l": "source",
    ".": "source",
    "v": "source",
    "w": "watch EXPR",
    "W": "watch list",
    "a": "break FILE:LINE --log TEXT",
    "A": "breakpoint list",
    "V": "globals",
    "X": "globals",
    "h": "help",
}


def query(commands: CommandSet, command: str, at: FrameRef) -> ConsoleQuery[str]:
    """Return the query for a command of perl5db, or for Perl code.

    Raises Unsupported with the command of ours for what must not happen behind the session's back.
    """
    command = command.strip()
    if command == "T":
        frames = commands.frames(at.thread, at.level, _MOST_FRAMES)
        return ConsoleQuery(
            frames.command,
            lambda text: "".join(
                f"{each.function} at {each.path}:{each.line}\n" for each in frames.read(text)
            ),
        )
    if command == "y":
        return locals_text(commands, at)
    if command == "M":
        return _text(commands, _MODULES, at)
    if found := _SUBROUTINES.fullmatch(command):
        pattern = (found[2] or ".").replace("/", r"\/")
        return _text(
            commands, f'join("\\n", sort grep {{ {found[1] or ""}/{pattern}/ }} keys %DB::sub)', at
        )
    if found := _PRINTED.fullmatch(command):
        command = found[1]
    elif command.split()[:1] and (name := command.split()[0]) in _ELSEWHERE:
        raise not_passed_on("perl5db", name, _ELSEWHERE[name])
    return value_text(commands, command, at)


def _text(commands: CommandSet, expression: str, at: FrameRef) -> ConsoleQuery[str]:
    """Return the text that an expression makes, without the quotes of a value."""
    made = commands.log_text(expression, at)
    assert made is not None
    return ConsoleQuery(made.command, lambda text: made.read(text) + "\n")
