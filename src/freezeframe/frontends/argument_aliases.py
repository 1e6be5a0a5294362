"""Map the argument names and values that models use to those of the operations. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: other values of a choice, for all tools
_VALUE_ALIASES: dict[str, tuple[str, ...]] = {
    "in": ("into", "step", "step_in", "step_into", "stepin", "stepinto"),
    "over": ("next", "step_over", "stepover", "line"),
    "out": ("finish", "return", "step_out", "stepout", "up"),
    "back": ("backward", "reverse", "step_back"),
    "until": ("to", "run_to", "to_line"),
    "run": ("continue", "resume", "go", "cont"),
    "wait": ("await", "waiting"),
    "pause": ("interrupt", "halt", "break", "stop"),
    "locals": ("local", "all"),
    "args": ("arguments", "arg", "parameters"),
    "globals": ("global",),
}
_VALUE_OF_ALIAS = {other: word for word, others in _VALUE_ALIASES.items() for other in others}
#: other names of an argument, unless the operation has an argument of that name
_NAME_ALIASES: dict[str, tuple[str, ...]] = {
    "where": ("location", "at", "function", "place", "breakpoint"),
    "expression": ("expr", "code", "variable", "name"),
    "condition": ("if", "when"),
    "hit_count": ("hits", "hit_condition", "ignore_count"),
    "log": ("log_message", "message"),
    "program": ("file", "path", "script", "command"),
    "args": ("arguments", "argv"),
    "breakpoints": ("breakpoint", "break"),
    "selectors": ("selector", "tests", "test", "file", "path"),
    "which": ("id", "ids", "breakpoint", "breakpoint_id", "number", "where", "location"),
    "timeout": ("timeout_s", "timeout_secs", "seconds"),
    "text": ("line_text", "contains", "snippet"),
    "limit": ("depth", "count", "max_frames", "levels"),
    "tail": ("lines", "last"),
    "stop_on_entry": ("stop_at_entry",),
    "cwd": ("working_directory", "directory"),
    "count": ("steps", "times", "n"),
    "pid": ("process", "process_id"),
    "frame": ("frame_id", "frame_index"),
    "thread": ("thread_id", "thread_index"),
    "adapter": ("backend", "debugger"),
    "simulator": ("simulator_id", "simulator_name", "udid", "device"),
    "bundle_id": ("bundle", "app_id"),
    "matching": ("filter", "pattern"),
    "command": ("cmd", "line", "command_line"),
}
#: other names of the argument that chooses the operation
_CHOICES = ("kind", "mode", "scope", "type", "action", "direction", "step", "granularity")
_SESSIONS = ("session", "session_id", "debug_session_id")
_FILES = ("file", "path", "source", "filename")
_LINES = ("line", "line_number", "lineno")
#: several locations in one text: `app.py:3, app.py:7`
_LOCATIONS = re.compile(r"[^\s,]+:\d+(?:\s*,\s*[^\s,]+:\d+)+\s*")


#: a time with its unit
_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|sec|seconds?)\s*")


def snake(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return *arguments* with `hitCount` as `hit_count`, and times as seconds."""
    args = {
        name if name == name.lower() else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): value
        for name, value in arguments.items()
    }
    limit = args.get("timeout_ms")
    if isinstance(limit, int | float) and "timeout" not in args:
        args["timeout"] = args.pop("timeout_ms") / 1000
    if isinstance(limit := args.get("timeout"), str) and (found := _TIME.fullmatch(limit)):
        args["timeout"] = float(found[1]) / (1000 if found[2] == "ms" else 1)
    return args


def session(args: dict[str, Any]) -> object:
    """Remove the session's name from *args*, under any of its names; None if there is none."""
    names = [name for name in _SESSIONS if args.get(name) is not None]
    found = args.get(names[0]) if names else None
    for name in _SESSIONS:
        # Two names of one session are the same; another session's name is left, and refused.
        if args.get(name) in (None, found):
            args.pop(name, None)
    return found


def choice(args: dict[str, Any], argument: str, offered: Mapping[str, str], default: str) -> object:
    """Remove the value that chooses one of *offered* from *args*, under any of its names."""
    if argument in args:
        return chosen(args.pop(argument), offered)
    for name in _CHOICES:
        word = chosen(args[name], offered) if name in args else None
        if isinstance(word, str) and word in offered:
            del args[name]
            return word
    return default


def expression(args: Mapping[str, Any]) -> str | None:
    """Return the expression that *args* name, under any of its names."""
    given = (args.get(name) for name in ("expression", *_NAME_ALIASES["expression"]))
    return next((each for each in given if isinstance(each, str)), None)


def chosen(picked: object, offered: Mapping[str, str]) -> object:
    """Return the value of *offered* that *picked* is an alias of, or *picked*."""
    if not isinstance(picked, str) or picked in offered:
        return picked
    word = _VALUE_OF_ALIAS.get(picked.strip().lower().replace("-", "_"), picked)
    return word if word in offered else picked


def named(arguments: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """Return *arguments* under the names in *known*, a file and a line as one location."""
    args = dict(arguments)
    location = "where" if "where" in known else "which" if "which" in known else None
    if {"program", "args", "module"} <= known:
        _program(args)
    if isinstance(breakpoints := args.get("breakpoints"), str) and _LOCATIONS.fullmatch(
        breakpoints
    ):
        breakpoints = args["breakpoints"] = re.split(r"\s*,\s*", breakpoints.strip())
    if isinstance(breakpoints, list):
        args["breakpoints"] = [_breakpoint_location(each) for each in breakpoints]
    if "where" in known and "host" in args and "port" in args and "port" not in known:
        args["where"] = f"{args.pop('host')}:{args.pop('port')}"
    file = args.get(location) if location is not None else None
    numbered = any(isinstance(args.get(name), int) for name in _LINES) and "line" not in known
    if location is not None and numbered and isinstance(file, str) and ":" not in file:
        args["file"] = args.pop(location)  # `{"where": "app.py", "line": 3}`
    if location is not None and args.get(location) is None and "line" not in known:
        found = _location(args)
        if found is not None:
            args[location] = found
    for name, others in _NAME_ALIASES.items():
        if name not in known or args.get(name) is not None:
            continue
        for other in others:
            if other in args and other not in known:
                args[name] = args.pop(other)
                break
    return args


def _program(args: dict[str, Any]) -> None:
    """Split a program given as a list, and accept a module's name as the program."""
    if "program" not in args and isinstance(args.get("command"), list):
        args["program"] = args.pop("command")
    program, module = args.get("program"), args.get("module")
    if program is None and isinstance(module, str) and module.lower() not in ("true", "false"):
        args.update(program=module, module=True)
    if isinstance(program, list) and program and isinstance(program[0], str):
        given = args.get("args")
        rest = given if isinstance(given, list) else [] if given is None else [given]
        args.update(program=program[0], args=[*program[1:], *rest])


def _breakpoint_location(given: object) -> object:
    """Return an object with a file and a line as one location, with its condition.

    Anything else is returned as it is, and refused: nothing that was asked for may be left out.
    """
    if not isinstance(given, dict):
        return given
    args = {name: value for name, value in snake(given).items() if value is not None}
    condition = next((args.pop(n) for n in ("condition", "if", "when") if n in args), None)
    names = [name for name in ("location", "where", "function") if name in args]
    found = args.pop(names[0]) if names else _location(args)
    args.pop("column", None)
    if args.pop("enabled", True) is not True or args or not isinstance(found, str) or not found:
        return given
    if condition is None:
        return found
    return f"{found} if {condition}" if found[-1:].isdecimal() else given


def _location(args: dict[str, Any]) -> str | None:
    """Take `file` and `line` out of *args*; return them as one location."""
    line = next((name for name in _LINES if isinstance(args.get(name), int | str)), None)
    file = next((name for name in _FILES if isinstance(args.get(name), str)), None)
    if line is None:
        # Another argument has the line, or the operation reports that it is missing.
        return str(args.pop(file)) if file is not None else None
    number = args.pop(line)
    return f"{args.pop(file)}:{number}" if file is not None else str(number)
