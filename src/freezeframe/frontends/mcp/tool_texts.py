"""Rewrite `dbg` commands in texts as tool calls, for agents without a command line.

`next: dbg await` becomes `next: debug_continue {"mode": "wait"}`. A command without its own tool
becomes a call of debug_command. No I/O.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from freezeframe.errors import FreezeframeError
from freezeframe.frontends.parser import parse
from freezeframe.frontends.tokenizer import split
from freezeframe.model.locations import Location
from freezeframe.ops._json_schema import to_jsonable

from .tools import CommandLineTool, McpTool

#: where texts name commands: a next step, the way into a value that was cut, a remark in brackets
#: or backquotes, a hidden value
_NEXT = re.compile(r"^(?P<head>\s*(?:next|cut): )(?P<commands>dbg .*)$", re.MULTILINE)
_ASIDE = re.compile(r"(?P<open>[(`]|<hidden: )dbg (?P<line>[^()`\n<>]{1,200})(?P<close>[)`>])")
#: an option of a command line in a message
_OPTION = re.compile(r"(?<![\w`-])--([a-z][a-z-]*)(?![\w=`-])")
_BETWEEN = re.compile(r"(, | or )(?=dbg )")


def for_agents(text: str, tools: Mapping[str, McpTool]) -> str:
    """Return an answer's text with suggested commands as calls of *tools*.

    Lines that the program printed stay as they are.
    """
    lines = [line if _is_printed(line) else _line(line, tools) for line in text.split("\n")]
    return "\n".join(lines)


def _is_printed(line: str) -> bool:
    return line.startswith(("| ", "err| ", "log| ", "dbg| "))


def _line(line: str, tools: Mapping[str, McpTool]) -> str:
    if "dbg " not in line:
        return line
    line = _NEXT.sub(lambda found: found["head"] + _commands(found["commands"], tools), line)
    return _ASIDE.sub(
        lambda found: f"{found['open']}{call(found['line'], tools)}{found['close']}", line
    )


def _commands(text: str, tools: Mapping[str, McpTool]) -> str:
    parts = _BETWEEN.split(text)
    return "".join(
        call(part.removeprefix("dbg "), tools) if part.startswith("dbg ") else part
        for part in parts
    )


def call(line: str, tools: Mapping[str, McpTool]) -> str:
    """Return the tool call for the command line *line*; a comment stays behind it."""
    line, mark, comment = line.partition("  # ")
    if mark:
        return f"{call(line, tools)}{mark}{comment}"
    whole = _format_call(_command_line(tools), {"command": line})
    try:
        parsed = parse(split(line))
    except FreezeframeError:
        return whole  # it has a placeholder: `break FILE:LINE`
    if parsed.op is None or parsed.globals.help:
        return whole
    given = to_jsonable(_given(parsed.kwargs))
    for tool in tools.values():
        arguments = _arguments(tool, parsed.op.id, given)
        if arguments is not None:
            if parsed.globals.session:
                arguments["session"] = parsed.globals.session
            return _format_call(tool.name, arguments)
    return whole


def message_for_agents(message: str, tool: McpTool) -> str:
    """Return an error message about a call of *tool*, with the names of the tool and its arguments
    in place of the operation's."""
    for spec in tool.specs():
        for name in (spec.id, f"`{spec.name}`"):
            rest = message.removeprefix(name)
            if rest != message and rest.startswith((" needs ", " takes ", ": `args.")):
                unknown = rest.startswith(" takes no `args.")
                known = f"; it takes {', '.join(tool.input_schema()['properties'])}."
                message = f"{tool.name}{rest.removesuffix('.') + known if unknown else rest}"
    options = {param.name for spec in tool.specs() for param in spec.params}
    message = _OPTION.sub(
        lambda found: f"`{name}`" if (name := found[1].replace("-", "_")) in options else found[0],
        message,
    )
    return message.replace("`args.", "`")


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: str(value) if isinstance(value, Location) else value
        for name, value in arguments.items()
        if value not in (None, False, ())
    }


def _arguments(tool: McpTool, operation: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments that make *tool* run an operation; None if it cannot."""
    if isinstance(tool, CommandLineTool):
        return None
    if tool.choice is None:
        return dict(given) if tool.operation == operation else None
    for index, (word, id) in enumerate(tool.choice.operations.items()):
        if id == operation:
            return {**({tool.choice.argument: word} if index else {}), **given}
    return None


def _command_line(tools: Mapping[str, McpTool]) -> str:
    return next((name for name, tool in tools.items() if isinstance(tool, CommandLineTool)), "dbg")


def _format_call(tool: str, arguments: Mapping[str, Any]) -> str:
    return f"{tool} {json.dumps(arguments, ensure_ascii=False)}" if arguments else tool
