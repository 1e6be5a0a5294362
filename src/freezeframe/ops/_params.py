"""One argument of an operation, read from its annotation.

The annotation is the only declaration: `Annotated[int | None, Arg("…")]` says the type, the
help and the name to type. The command line, the schemas, help and completion all read the
`ParamSpec` made here. Nothing in this file knows an operation.
"""

from __future__ import annotations

import inspect
import types
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.locations import Location

COMPLETIONS = frozenset(
    {"file", "directory", "location", "session", "breakpoint", "command", "setting", "adapter"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ArgOptions:
    #: one letter with its dash: `-c`
    short: str | None = None
    #: other accepted names, known from other tools: `--if`
    also: tuple[str, ...] = ()
    #: the word for the value in usage lines: `EXPR`
    meta: str | None = None
    #: the name on the command line, if it is not the parameter's name
    name: str | None = None
    #: its value if the option is given without one, or as JSON `true`: `--wait-for`
    alone: str | None = None
    #: takes every word after `--`, and plain arguments once the other positionals are filled
    rest: bool = False
    #: with `rest`: PROGRAM and the rest are a shell command line; an option that the operation
    #: does not have belongs to that command (`start pytest -q`)
    command: bool = False
    #: joins all its words with spaces: `print a + b`
    greedy: bool = False
    #: in the program's language: several words are kept as written, with their quotes
    code: bool = False
    #: after its value no word is an option: `-m pytest -x`, `raw bt -c 3`.
    #: On a flag: after the word that follows it.
    ends_options: bool = False
    #: with a `rest` that is a command: after PROGRAM it belongs to the program (`jest --config x`)
    before_program: bool = False
    #: an option whose value may also be a plain number: `next 3` for `next --count 3`
    bare: bool = False
    #: a number that may be negative
    signed: bool = False
    #: works, but help and completion do not show it
    hidden: bool = False
    #: what shell completion offers, one of COMPLETIONS
    complete: str | None = None


@dataclass(frozen=True, slots=True)
class Arg(_ArgOptions):
    """What an annotation says beyond the type. Positional parameters are positional on the
    command line, keyword-only ones are options; a bool is a flag."""

    #: a clause in lower case; for a flag that is on by default, what it does when it is on
    help: str


@dataclass(frozen=True, slots=True)
class Flag(Arg):
    """An `Arg` that only a bool may have."""


@dataclass(frozen=True, slots=True)
class ArgType:
    """The type of an argument: one value, or many of `base`."""

    base: type
    #: the values of a Literal or an enum
    choices: tuple[str, ...] = ()
    #: list or tuple where there may be several
    container: type | None = None
    optional: bool = False

    @property
    def is_flag(self) -> bool:
        return self.base is bool and self.container is None

    @property
    def expected(self) -> str:
        """What a value must be, as text after "takes"."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        return {int: "a whole number", float: "a number", Location: "a location"}.get(
            self.base, "a word"
        )

    def read(self, text: str) -> Any:
        """Return the value that *text* represents. Raises ValueError."""
        if self.choices:
            if text not in self.choices:
                raise ValueError(text)
            return self.base(text) if issubclass(self.base, Enum) else text
        if self.base is int:
            try:
                return int(text)
            except ValueError:
                return int(text, 0)
        if self.base is float:
            return float(text)
        if self.base is Location:
            return Location.parse(text)
        return text

    def collect(self, values: list[Any]) -> Any:
        """Return *values* in the container that the operation declared."""
        return values if self.container is list else tuple(values)


@dataclass(frozen=True, slots=True)
class ParamSpec:
    """One argument, as every front end sees it."""

    name: str
    type: ArgType
    help: str
    default: Any
    required: bool
    positional: bool
    #: the name on the command line without dashes: `hit-count`
    cli_name: str
    short: str | None
    meta: str
    rest: bool
    greedy: bool
    code: bool
    ends_options: bool
    hidden: bool
    complete: str | None
    alone: str | None = None
    command: bool = False
    also: tuple[str, ...] = ()
    bare: bool = False
    signed: bool = False
    before_program: bool = False

    @property
    def is_flag(self) -> bool:
        return self.type.is_flag

    @property
    def many(self) -> bool:
        return self.type.container is not None

    @property
    def long(self) -> str:
        """The long option that changes the default: `--no-x` for a flag that is on by default."""
        if self.is_flag and self.default is True:
            return f"--no-{self.cli_name}"
        return f"--{self.cli_name}"

    def negative(self, value: object) -> bool:
        """Return whether *value* is, or has, a negative number where none is meant."""
        each = value if self.many and isinstance(value, list | tuple) else (value,)
        return not self.signed and any(
            isinstance(number, int | float) and number < 0 for number in each
        )

    @property
    def label(self) -> str:
        """The name in messages: `--condition`, or `PROGRAM`."""
        return self.meta if self.positional or self.rest else self.long

    def option_names(self) -> dict[str, bool]:
        """Every name of an option, with the value it gives to a flag."""
        if self.positional or self.rest:
            return {}
        found = {f"--{self.cli_name}": True}
        found |= dict.fromkeys(self.also, True)
        if self.is_flag and (self.default is True or self.type.optional):
            found |= {f"--no-{name.removeprefix('--')}": False for name in found}
        if self.short:
            found[self.short] = self.default is not True
        return found


class Misdeclared(TypeError):
    """An operation is declared wrongly; the message names it. Raised at import only."""


def read_type(annotation: Any) -> ArgType:
    """Return the type that *annotation* declares. Raises Misdeclared if no front end can read
    it.
    """
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        if len(inner) != 1 or len(inner) == len(args):
            raise Misdeclared(f"{annotation} is a union other than `X | None`")
        found = read_type(inner[0])
        return ArgType(found.base, found.choices, found.container, optional=True)
    if origin is list or (origin is tuple and len(args) == 2 and args[1] is Ellipsis):
        item = read_type(args[0])
        if item.container or item.optional or item.base is bool:
            raise Misdeclared(f"{annotation} holds items that cannot be typed")
        return ArgType(item.base, item.choices, container=origin)
    if origin is Literal:
        if not all(isinstance(arg, str) for arg in args):
            raise Misdeclared(f"{annotation} has choices that are not strings")
        return ArgType(str, choices=args)
    if isinstance(annotation, type):
        if issubclass(annotation, Enum):
            values = tuple(member.value for member in annotation)
            if not all(isinstance(value, str) for value in values):
                raise Misdeclared(f"{annotation.__name__} has values that are not strings")
            return ArgType(annotation, choices=values)
        if annotation in (str, int, float, bool, Location):
            return ArgType(annotation)
    raise Misdeclared(f"{annotation!r} is a type that no front end can spell")


def read_param(parameter: inspect.Parameter, annotation: Any) -> ParamSpec:
    """Return the spec of one parameter. Raises Misdeclared with its name."""
    name = parameter.name
    try:
        return _read_param(parameter, annotation)
    except Misdeclared as problem:
        raise Misdeclared(f"parameter `{name}`: {problem}") from None


def _read_param(parameter: inspect.Parameter, annotation: Any) -> ParamSpec:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise Misdeclared("neither plain nor keyword-only")
    if get_origin(annotation) is not Annotated:
        raise Misdeclared("no Annotated[…, Arg(…)]")
    declared, *extras = get_args(annotation)
    args = [extra for extra in extras if isinstance(extra, Arg)]
    if len(args) != 1:
        raise Misdeclared("not exactly one Arg")
    arg, kind = args[0], read_type(declared)
    required = parameter.default is parameter.empty
    positional = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and not arg.rest
    cli_name = arg.name or parameter.name.strip("_").replace("_", "-")
    _check(arg, kind, positional=positional, required=required, default=parameter.default)
    return ParamSpec(
        name=parameter.name,
        type=kind,
        help=arg.help,
        default=None if required else parameter.default,
        required=required,
        positional=positional,
        cli_name=cli_name,
        short=arg.short,
        also=arg.also,
        meta=arg.meta or _meta(kind, cli_name),
        rest=arg.rest,
        command=arg.command,
        greedy=arg.greedy,
        code=arg.code,
        ends_options=arg.ends_options,
        hidden=arg.hidden,
        complete=arg.complete or ("location" if kind.base is Location else None),
        alone=arg.alone,
        bare=arg.bare,
        signed=arg.signed,
        before_program=arg.before_program,
    )


def _check(arg: Arg, kind: ArgType, *, positional: bool, required: bool, default: Any) -> None:
    problem = None
    if not arg.help.strip():
        problem = "no help"
    elif arg.short and (len(arg.short) != 2 or arg.short[0] != "-" or not arg.short[1].isalpha()):
        problem = f"short form {arg.short!r} is not a dash and a letter"
    elif isinstance(arg, Flag) and not kind.is_flag:
        problem = "a Flag that is not a bool"
    elif kind.is_flag and positional:
        problem = "a bool cannot be positional"
    elif kind.is_flag and required:
        problem = "a flag needs a default"
    elif arg.rest and (kind.base is not str or kind.container is not tuple):
        problem = "rest=True takes tuple[str, ...]"
    elif arg.greedy and (kind.base is not str or kind.container or not positional):
        problem = "greedy=True takes a positional str"
    elif arg.complete is not None and arg.complete not in COMPLETIONS:
        problem = f"complete={arg.complete!r} is none of {', '.join(sorted(COMPLETIONS))}"
    elif arg.alone is not None and (kind.base is not str or kind.container or positional):
        problem = "alone=… takes an option with one word"
    elif (positional or arg.rest) and arg.short:
        problem = "a positional has no short form"
    elif not required and default is None and not kind.optional:
        problem = "the default is None and the type is not `X | None`"
    elif not required and kind.container and default is not None and len(default):
        problem = "a repeatable argument has a default that is not empty"
    if problem:
        raise Misdeclared(problem)


def _meta(kind: ArgType, cli_name: str) -> str:
    if kind.choices and len(kind.choices) <= 6:
        return "|".join(kind.choices)
    if kind.base is Location:
        return "LOC"
    return cli_name.upper()
