"""Texts for agents that have tools and no command line: `dbg` commands as calls of tools.

`next: dbg await` becomes `next: debug_continue {"mode": "wait"}`. What no tool of its own does is
a call of the tool that takes command lines. Pure functions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from freezeframe.errors import FreezeframeError
from freezeframe.frontends.lines import split
from freezeframe.frontends.parser import parse
from freezeframe.model.places import Location
from freezeframe.ops._schema import to_jsonable

from .tools import CommandLine, Tool

#: where our own texts name commands: a next step, a remark in brackets or quotes, a hidden value
_NEXT = re.compile(r"^(?P<head>\s*next: )(?P<commands>dbg .*)$", re.MULTILINE)
_ASIDE = re.compile(r"(?P<open>[(`]|<hidden: )dbg (?P<line>[^()`\n<>]{1,200})(?P<close>[)`>])")
_BETWEEN = re.compile(r"(, | or )(?=dbg )")


def for_agents(text: str, tools: Mapping[str, Tool]) -> str:
    """Return an answer's text with the commands that we suggest as calls of *tools*.

    Lines that the program printed are left alone.
    """
    lines = [line if _is_printed(line) else _line(line, tools) for line in text.split("\n")]
    return "\n".join(lines)


def _is_printed(line: str) -> bool:
    return line.startswith(("| ", "err| ", "log| ", "dbg| "))


def _line(line: str, tools: Mapping[str, Tool]) -> str:
    if "dbg " not in line:
        return line
    line = _NEXT.sub(lambda found: found["head"] + _commands(found["commands"], tools), line)
    return _ASIDE.sub(
        lambda found: f"{found['open']}{call(found['line'], tools)}{found['close']}", line
    )


def _commands(text: str, tools: Mapping[str, Tool]) -> str:
    parts = _BETWEEN.split(text)
    return "".join(
        call(part.removeprefix("dbg "), tools) if part.startswith("dbg ") else part
        for part in parts
    )


def call(line: str, tools: Mapping[str, Tool]) -> str:
    """Return the call that does what the command line *line* does."""
    whole = _spelled(_command_line(tools), {"command": line})
    try:
        parsed = parse(split(line))
    except FreezeframeError:
        return whole  # with a placeholder in it: `break FILE:LINE`
    if parsed.op is None or parsed.globals.help:
        return whole
    given = to_jsonable(_given(parsed.kwargs))
    for tool in tools.values():
        arguments = _arguments(tool, parsed.op.id, given)
        if arguments is not None:
            if parsed.globals.session:
                arguments["session"] = parsed.globals.session
            return _spelled(tool.name, arguments)
    return whole


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: str(value) if isinstance(value, Location) else value
        for name, value in arguments.items()
        if value not in (None, False, ())
    }


def _arguments(tool: Tool, operation: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return how *tool* is called for an operation; None where it is not for that."""
    if isinstance(tool, CommandLine):
        return None
    if tool.choice is None:
        return dict(given) if tool.operation == operation else None
    for index, (word, id) in enumerate(tool.choice.operations.items()):
        if id == operation:
            return {**({tool.choice.argument: word} if index else {}), **given}
    return None


def _command_line(tools: Mapping[str, Tool]) -> str:
    return next((name for name, tool in tools.items() if isinstance(tool, CommandLine)), "dbg")


def _spelled(tool: str, arguments: Mapping[str, Any]) -> str:
    return f"{tool} {json.dumps(arguments, ensure_ascii=False)}" if arguments else tool
