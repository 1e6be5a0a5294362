"""One argument of an operation, read from its annotation.

The annotation is the only declaration: `Annotated[int | None, Arg("…")]` says the type, the
help and the spelling, and the command line, the schemas, help and completion all read the
`ParamSpec` made here. Nothing in this file knows an operation.
"""

from __future__ import annotations

import inspect
import types
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from freezeframe.model.places import Location

COMPLETIONS = frozenset(
    {"file", "directory", "location", "session", "breakpoint", "command", "setting", "adapter"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ArgOptions:
    #: one letter with its dash: `-c`
    short: str | None = None
    #: the word for the value in usage lines: `EXPR`
    meta: str | None = None
    #: the spelling on the command line, where it is not the parameter's own name
    name: str | None = None
    #: its value where the option stands alone, or a program says `true`: `--wait-for`
    alone: str | None = None
    #: takes every word after `--`, and plain words once the other arguments have theirs
    rest: bool = False
    #: with `rest`: PROGRAM and these words are a command line as a shell takes it; an option that
    #: the operation does not know is the command's own (`start pytest -q`)
    command: bool = False
    #: joins all its words with spaces: `print a + b`
    greedy: bool = False
    #: in the program's language: several words are taken as they were written, quotes and all
    code: bool = False
    #: once its value was read nothing is an option any more: `-m pytest -x`, `raw bt -c 3`.
    #: On a flag: once the word after it was read.
    ends_options: bool = False
    #: works, but help and completion keep quiet about it
    hidden: bool = False
    #: what the shell offers for it, one of COMPLETIONS
    complete: str | None = None


@dataclass(frozen=True, slots=True)
class Arg(_ArgOptions):
    """What an annotation says beyond the type. Positional parameters are positional on the
    command line, keyword-only ones are options; a bool is a flag."""

    #: a clause in lower case; for a flag that is on by default, what it does when it is on
    help: str


@dataclass(frozen=True, slots=True)
class Flag(Arg):
    """An `Arg` that is refused on anything but a bool."""


@dataclass(frozen=True, slots=True)
class ArgType:
    """The type of an argument: one value, or many of `base`."""

    base: type
    #: spellings of a Literal or of an enum's values
    choices: tuple[str, ...] = ()
    #: list or tuple where there may be several
    container: type | None = None
    optional: bool = False

    @property
    def is_flag(self) -> bool:
        return self.base is bool and self.container is None

    @property
    def wants(self) -> str:
        """What a value must be, to be put after "takes"."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        return {int: "a whole number", float: "a number", Location: "a location"}.get(
            self.base, "a word"
        )

    def read(self, text: str) -> Any:
        """Return the one value that *text* spells; raise ValueError where it spells none."""
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
    #: spelling on the command line, dashes left off: `hit-count`
    spelling: str
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

    @property
    def is_flag(self) -> bool:
        return self.type.is_flag

    @property
    def many(self) -> bool:
        return self.type.container is not None

    @property
    def long(self) -> str:
        """The long spelling that is of use: `--no-x` for a flag that is on by default."""
        if self.is_flag and self.default is True:
            return f"--no-{self.spelling}"
        return f"--{self.spelling}"

    @property
    def label(self) -> str:
        """How messages name it: `--condition`, or `PROGRAM`."""
        return self.meta if self.positional or self.rest else self.long

    def spellings(self) -> dict[str, bool]:
        """Every spelling of an option, with the value it gives to a flag."""
        if self.positional or self.rest:
            return {}
        found = {f"--{self.spelling}": True}
        if self.is_flag and (self.default is True or self.type.optional):
            found[f"--no-{self.spelling}"] = False
        if self.short:
            found[self.short] = self.default is not True
        return found


class Misdeclared(TypeError):
    """An operation is declared wrongly; the message names it. Raised at import only."""


def read_type(annotation: Any) -> ArgType:
    """Return what *annotation* says a value is; raise Misdeclared where nobody can spell it."""
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
            raise Misdeclared(f"{annotation} holds items that cannot be spelled")
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
    """Return the spec of one parameter; raise Misdeclared, naming it, where it is wrong."""
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
    spelling = arg.name or parameter.name.strip("_").replace("_", "-")
    _check(arg, kind, positional=positional, required=required, default=parameter.default)
    return ParamSpec(
        name=parameter.name,
        type=kind,
        help=arg.help,
        default=None if required else parameter.default,
        required=required,
        positional=positional,
        spelling=spelling,
        short=arg.short,
        meta=arg.meta or _meta(kind, spelling),
        rest=arg.rest,
        command=arg.command,
        greedy=arg.greedy,
        code=arg.code,
        ends_options=arg.ends_options,
        hidden=arg.hidden,
        complete=arg.complete or ("location" if kind.base is Location else None),
        alone=arg.alone,
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


def _meta(kind: ArgType, spelling: str) -> str:
    if kind.choices and len(kind.choices) <= 6:
        return "|".join(kind.choices)
    if kind.base is Location:
        return "LOC"
    return spelling.upper()
