"""One operation, as every front end sees it, and what its function declares."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Coroutine
from dataclasses import is_dataclass
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

from freezeframe.model.fast_dataclass import dataclass, field

from ._params import ArgType, Misdeclared, ParamSpec, read_param

Operation = Callable[..., Coroutine[Any, Any, Any]]


class Effect(StrEnum):
    """What an operation does to the program or to stored state."""

    READS = "reads"
    WRITES = "writes"
    RESUMES = "resumes"
    ENDS = "ends"


class Needs(StrEnum):
    """What an operation requires; the runner raises the same errors for all operations."""

    NOTHING = "nothing"
    WORKSPACE = "workspace"
    SESSION = "session"
    LIVE = "live"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One operation, as every front end sees it."""

    name: str
    #: `breakpoint_add`: its name in JSON requests
    id: str
    #: further names; a last word in capitals (`run PROGRAM`) means "only with arguments"
    aliases: tuple[str, ...]
    group: str
    #: first line of the docstring
    summary: str
    #: the rest of it
    description: str
    params: tuple[ParamSpec, ...]
    result: Any
    effect: Effect
    needs: Needs
    feature: str | None
    #: never queues behind a waiting command
    control: bool
    func: Operation
    #: answers for a program that runs, although a stopped one is needed; None from it: refuse
    when_running: Operation | None
    examples: tuple[str, ...]
    hidden: bool
    #: options by every name, with the value that the name gives to a flag
    options: dict[str, tuple[ParamSpec, bool]] = field(repr=False, compare=False)

    @property
    def positionals(self) -> tuple[ParamSpec, ...]:
        return tuple(param for param in self.params if param.positional)

    @property
    def rest(self) -> ParamSpec | None:
        return next((param for param in self.params if param.rest), None)

    def param(self, name: str) -> ParamSpec:
        return next(param for param in self.params if param.name == name)


def _global(name: str, kind: ArgType, help: str, short: str | None, meta: str) -> ParamSpec:
    return ParamSpec(
        name=name,
        type=kind,
        help=help,
        default=False if kind.base is bool and not kind.optional else None,
        required=False,
        positional=False,
        cli_name=name,
        short=short,
        meta=meta,
        rest=False,
        greedy=False,
        code=False,
        ends_options=False,
        hidden=False,
        complete="session" if name == "session" else None,
    )


#: options that every operation takes; no operation may use their names for its own
GLOBALS: tuple[ParamSpec, ...] = (
    _global("session", ArgType(str, optional=True), "the session to use", "-s", "NAME"),
    _global("json", ArgType(bool), "answer in JSON", None, "JSON"),
    _global("budget", ArgType(int, optional=True), "at most this many tokens", None, "TOKENS"),
    _global("color", ArgType(bool, optional=True), "colour, or none", None, "COLOR"),
    _global("help", ArgType(bool), "explain the command", "-h", "HELP"),
)

GLOBAL_OPTIONS: dict[str, tuple[ParamSpec, bool]] = {
    option: (param, value) for param in GLOBALS for option, value in param.option_names().items()
}


def read_docstring(func: Operation) -> tuple[str, str]:
    """Return summary and description. Raises Misdeclared."""
    text = inspect.cleandoc(func.__doc__ or "").strip()
    summary, _, description = text.partition("\n")
    if not summary:
        raise Misdeclared("no docstring")
    if description and not description.startswith("\n"):
        raise Misdeclared("the docstring's first line is not followed by an empty one")
    return summary.strip(), description.strip()


def read_signature(func: Operation) -> tuple[tuple[ParamSpec, ...], Any]:
    """Return the arguments and the type of the answer. Raises Misdeclared."""
    if not inspect.iscoroutinefunction(func):
        raise Misdeclared("not a coroutine function")
    try:
        hints = get_type_hints(func, include_extras=True)
    except NameError as missing:
        raise Misdeclared(f"an annotation cannot be read: {missing}") from None
    parameters = list(inspect.signature(func).parameters.values())
    if not parameters or parameters[0].name != "ctx":
        raise Misdeclared("its first parameter is not `ctx`")
    for parameter in parameters[1:]:
        if parameter.name not in hints:
            raise Misdeclared(f"parameter `{parameter.name}` has no annotation")
    params = tuple(read_param(parameter, hints[parameter.name]) for parameter in parameters[1:])
    _check_order(params)
    return params, _read_result(hints)


def _read_result(hints: dict[str, Any]) -> Any:
    result = hints.get("return")
    if result is None or result is type(None):
        raise Misdeclared("no return annotation")
    members = get_args(result) if get_origin(result) in (Union, types.UnionType) else (result,)
    for member in members:
        if not is_dataclass(member):
            raise Misdeclared(f"the result {member!r} is not a dataclass")
    return result


def _check_order(params: tuple[ParamSpec, ...]) -> None:
    """Raise Misdeclared for arguments that are ambiguous on a command line."""
    ended: ParamSpec | None = None
    optional: ParamSpec | None = None
    for param in params:
        if not (param.positional or param.rest):
            continue
        # After words of any number, the rest is what follows `--`.
        if ended is not None and not (param.rest and ended.many and not param.command):
            raise Misdeclared(f"`{param.name}` after `{ended.name}`, which takes all arguments")
        if param.positional and param.required and optional is not None:
            raise Misdeclared(f"required `{param.name}` after optional `{optional.name}`")
        if param.many or param.greedy:
            ended = param
        if not param.required:
            optional = param


def read_options(params: tuple[ParamSpec, ...]) -> dict[str, tuple[ParamSpec, bool]]:
    """Return the options among *params* by every name. Raises Misdeclared."""
    found: dict[str, tuple[ParamSpec, bool]] = {}
    for param in params:
        for option, value in param.option_names().items():
            if option in GLOBAL_OPTIONS:
                raise Misdeclared(f"`{option}` is an option of every command")
            if option in found:
                raise Misdeclared(f"`{option}` names two parameters")
            found[option] = (param, value)
    return found
