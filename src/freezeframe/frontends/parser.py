"""The command line: words in, one operation and its arguments out.

GNU conventions, driven by the table of operations: options anywhere before `--`, `--opt value`
and `--opt=value`, `-o value` and `-ovalue`, short flags together. Where they leave room:

- An abbreviated option is refused, and the whole one is named.
- An option that takes one value is refused the second time: the first would be lost.
- `-1` is a word, never an option.
- Greedy arguments (`print a - b`) take whatever is not exactly one of the command's options.
- Behind the program's name (`start pytest -q tests -b app.py:3`) the operation's own long options
  and `-b` are its own, whatever else there is belongs to the program; behind `--` everything does.
  Other short ones are the operation's behind the name of a file (`start app.py -e`) and the
  command's behind the name of a command (`start tox -e py`), which has letters of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from freezeframe.errors import UsageError
from freezeframe.model.places import Location
from freezeframe.ops._guesses import guess, nearest, quoted
from freezeframe.ops._registry import GLOBAL_OPTIONS, OPS, OpSpec, ParamSpec, Registry

from .lines import as_written
from .program_options import belongs_to_command, keeps_separator

_NUMBER = re.compile(r"-\.?\d")
_LONG = re.compile(r"--[a-z][a-z-]*")
_SHORT = re.compile(r"-[a-z]")

#: a corrected command line longer than this is not worth showing
_LONGEST_NEXT = 200


@dataclass(slots=True)
class Globals:
    """The options that every command takes."""

    session: str | None = None
    json: bool = False
    budget: int | None = None
    color: bool | None = None
    help: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a command line asks for.

    With `globals.help` set nothing is to be run: the reader wants the page about `words`, and
    `kwargs` is empty. Only then may `op` be None.
    """

    op: OpSpec | None
    kwargs: dict[str, Any]
    globals: Globals
    #: the words of the command's name, as typed
    words: tuple[str, ...] = ()


def parse(argv: Sequence[str], ops: Registry = OPS) -> Parsed:
    """Return the operation that *argv* (the program's name left off) names, with its arguments.

    `kwargs` holds what was given; defaults stay with the operation. Raises UsageError with the
    nearest command line that makes sense.
    """
    common = _Common()
    try:
        words, at = _read_name(argv, ops, common)
    except UsageError as wrong:
        wrong.next = wrong.next or "dbg help"
        raise
    following = list(argv[at:])
    if not words and following and following[0].startswith("-"):
        raise _unknown_global(following[0])
    found = ops.matches([*words, *following])
    if common.values.help or not (words or following):
        common.values.help = True
        if following and not found:
            raise ops.unknown([*words, *following])
        return Parsed(found[0][0] if found else None, {}, common.values, tuple(words))
    if not found:
        raise ops.unknown([*words, *following])
    # `run` alone and `run PROGRAM` are two operations: the one that can take the words is meant.
    *others, (last, used) = found
    for spec, length in others:
        attempt = _Common(_copy(common.values), set(common.given))
        try:
            return _read(spec, words, length, following, attempt, argv, ops)
        except UsageError:
            continue
    return _read(last, words, used, following, common, argv, ops)


# --- options of every command -------------------------------------------------------------------


@dataclass(slots=True)
class _Common:
    values: Globals = field(default_factory=Globals)
    given: set[str] = field(default_factory=set)

    def take(self, param: ParamSpec, value: Any) -> None:
        if param.name in self.given and not param.is_flag:
            raise _twice(param)
        if param.name == "budget" and value < 1:
            raise UsageError(f"`--budget` takes a whole number above 0, not `{value}`.")
        self.given.add(param.name)
        setattr(self.values, param.name, value)


def _split_global(token: str) -> tuple[str, str, str]:
    """Return the name, `=` where a value is attached, and the value: `--budget=9`, `-sweb`."""
    if len(token) > 2 and token[:2] in GLOBAL_OPTIONS:
        return token[:2], "=", token[2:].removeprefix("=")
    return token.partition("=")


def _copy(values: Globals) -> Globals:
    return Globals(values.session, values.json, values.budget, values.color, values.help)


def _read_name(argv: Sequence[str], ops: Registry, common: _Common) -> tuple[list[str], int]:
    """Return the words that begin a command's name, and where the rest of *argv* begins.

    Options of every command may stand before and between them.
    """
    words: list[str] = []
    at = 0
    while at < len(argv):
        token = argv[at]
        # After a command's name `-sum(x)` may be an expression: only `-s` is taken there.
        name, equals, value = token.partition("=") if words else _split_global(token)
        if name in GLOBAL_OPTIONS:
            param, flag = GLOBAL_OPTIONS[name]
            at += 1
            if param.is_flag:
                _refuse_value(name, equals)
                common.take(param, flag)
                continue
            if not equals:
                if at == len(argv):
                    raise _needs_value(name, param)
                value = argv[at]
                at += 1
            common.take(param, _value(param, name, value))
            continue
        if (token.startswith("-") and words) or not ops.extends([*words, token]):
            break
        words.append(token)
        at += 1
    return words, at


# --- options and words of one command -----------------------------------------------------------


def _read(
    spec: OpSpec,
    words: list[str],
    used: int,
    following: list[str],
    common: _Common,
    argv: Sequence[str],
    ops: Registry,
) -> Parsed:
    # Words of a longer name that did not come to be are arguments: `watch remove` is a name,
    # `watch removed` is not, and its second word is an expression.
    tokens = [*words[used:], *following]
    reader = _Arguments(spec, tokens, common, list(argv))
    try:
        kwargs = reader.read()
    except UsageError as wrong:
        wrong.next = _meant(words[:used], tokens, ops) or wrong.next or f"dbg help {spec.name}"
        raise
    return Parsed(spec, kwargs, common.values, tuple(words[:used]))


def _meant(name: list[str], tokens: list[str], ops: Registry) -> str | None:
    """Return the command line that was meant by one that is refused, where it can be told."""
    meant = guess([*name, *tokens])
    if meant and meant.split() != [*name, *tokens] and _makes_sense(meant, ops):
        return f"dbg {meant}"
    # `watch remov 3`: the second word is read as an expression, and was meant as part of the name.
    close = nearest(tokens[0], ops.subcommands(name)) if tokens else []
    if close and close[0] != tokens[0]:
        return f"dbg {quoted(*name, close[0], *tokens[1:])}"
    return None


def _makes_sense(line: str, ops: Registry) -> bool:
    import shlex  # a mistake pays for it

    words = shlex.split(line)
    for spec, used in ops.matches(words):
        try:
            _Arguments(spec, words[used:], _Common(), words).read()
        except UsageError:
            continue
        return True
    return False


class _Arguments:
    """Reads the tokens after a command's name, once."""

    def __init__(self, spec: OpSpec, tokens: list[str], common: _Common, argv: list[str]) -> None:
        self.spec = spec
        self.tokens = tokens
        self.common = common
        self.argv = argv
        self.at = 0
        self.positionals = spec.positionals
        self.filled = 0  # positionals that have all their words
        self.single: dict[str, Any] = {}
        self.several: dict[str, list[Any]] = {}
        self.options_end = False
        self.end_after_word = False
        self.rest_only = False

    def read(self) -> dict[str, Any]:
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if self.options_end:
                self._word(token)
            elif token == "--":
                self.options_end = True
                if self._is_commands_separator():
                    self._word(token)
            elif self._is_word(token) or self._is_commands(token):
                self._word(token)
            elif token.startswith("--"):
                self._long(token)
            else:
                self._cluster(token)
            if self.common.values.help:
                return {}
        return self._finish()

    def _is_word(self, token: str) -> bool:
        """Whether *token* is no option: plain, a number, or part of a greedy argument."""
        if not token.startswith("-") or token == "-" or _NUMBER.match(token):
            return True
        if self.filled >= len(self.positionals) or not self.positionals[self.filled].greedy:
            return False
        name = token.partition("=")[0]
        if name in self.spec.options or name in GLOBAL_OPTIONS:
            return False
        # What looks like one of our options is a slip (`--dpeth`, `-f` for `--format`); others
        # are text. What was meant as text can be quoted together, or stand after `--`.
        return not self._near(name)

    def _near(self, name: str) -> list[str]:
        """Return the one option that an unknown *name* was probably meant to be, or nothing."""
        own = [each for each, (param, _) in self.spec.options.items() if not param.hidden]
        if _LONG.fullmatch(name):
            # Dashes are alike in all: with them any two short words would be near.
            words = [each[2:] for each in (*own, *GLOBAL_OPTIONS) if len(each) > 2]
            return [f"--{each}" for each in nearest(name[2:], words)]
        # The `n` of `--no-wait` is not what it is about.
        begins = [each for each in own if each.startswith(f"-{name}") and each[:5] != "--no-"]
        return begins if _SHORT.fullmatch(name) and len(begins) == 1 else []

    # --- the command line of a program ----------------------------------------------------------

    def _program(self) -> str | None:
        """Return the program whose command line is being read, once its name was."""
        rest = self.spec.rest
        if rest is None or not rest.command or self.filled < len(self.positionals):
            return None
        return str(self.single[self.positionals[-1].name])

    def _is_commands(self, token: str) -> bool:
        """Whether an option behind a program's name is the program's own."""
        program = self._program()
        if program is None:
            return False
        following = self.tokens[self.at] if self.at < len(self.tokens) else ""
        module = self.single.get("module") is True
        return belongs_to_command(token, following, program, self.spec, module=module)

    def _is_commands_separator(self) -> bool:
        """Whether a `--` is the command's own: `cargo run --bin x -- a`, `npm test -- -t x`."""
        program, rest = self._program(), self.spec.rest
        begun = self.several.get(rest.name) if rest is not None else None
        return program is not None and bool(begun) and keeps_separator((program, *(begun or ())))

    # --- options --------------------------------------------------------------------------------

    def _long(self, token: str) -> None:
        name, equals, value = token.partition("=")
        found = self._option(name)
        if found is None:
            raise self._unknown(name)
        param, flag = found
        if param.is_flag:
            _refuse_value(name, equals)
            self._take(param, flag)
        else:
            self._take(param, _value(param, name, value if equals else self._next(name, param)))

    def _cluster(self, token: str) -> None:
        """Read `-x`, `-xvalue`, or flags together: `-xyz`."""
        for index in range(1, len(token)):
            name = f"-{token[index]}"
            found = self._option(name)
            if found is None:
                raise self._unknown(token if index == 1 else name)
            param, flag = found
            if param.is_flag:
                self._take(param, flag)
                continue
            attached = token[index + 1 :]
            text = attached.removeprefix("=") if attached else self._next(name, param)
            self._take(param, _value(param, name, text))
            return

    def _option(self, name: str) -> tuple[ParamSpec, bool] | None:
        return self.spec.options.get(name) or GLOBAL_OPTIONS.get(name)

    def _next(self, name: str, param: ParamSpec) -> str:
        """Take the next token as the value of an option, which some can do without."""
        following = self.tokens[self.at] if self.at < len(self.tokens) else "--"
        if param.alone is not None and following.startswith("-"):
            return param.alone
        if self.at == len(self.tokens) or self.tokens[self.at] == "--":
            raise _needs_value(name, param, self.spec)
        token = self.tokens[self.at]
        if token.startswith("--") and self._option(token.partition("=")[0]):
            # As a value it can be given with `=`; far more often the value was forgotten.
            raise _needs_value(name, param, self.spec)
        self.at += 1
        return token

    def _take(self, param: ParamSpec, value: Any) -> None:
        if GLOBAL_OPTIONS.get(f"--{param.spelling}", (None,))[0] is param:
            self.common.take(param, value)
            return
        if param.many:
            self.several.setdefault(param.name, []).append(value)
        elif param.name in self.single and not param.is_flag:
            raise _twice(param)
        else:
            self.single[param.name] = value
        if not param.ends_options:
            return
        if param.is_flag and self.filled == 0:
            self.end_after_word = True
        else:
            self.rest_only = self.rest_only or not param.is_flag
            self._end_options()

    def _end_options(self) -> None:
        self.options_end = True
        # `-m pytest -- tests` spells the separator that is not needed there.
        if self.at < len(self.tokens) and self.tokens[self.at] == "--":
            self.at += 1

    # --- words ----------------------------------------------------------------------------------

    def _word(self, text: str) -> None:
        rest = self.spec.rest
        if rest is not None and (self.rest_only or self.filled == len(self.positionals)):
            self.several.setdefault(rest.name, []).append(text)
            return
        if self.filled == len(self.positionals):
            raise self._left_over(text)
        param = self.positionals[self.filled]
        if param.greedy:
            self.several.setdefault(param.name, []).append(text)
        elif param.many:
            self.several.setdefault(param.name, []).append(_value(param, param.meta, text))
        else:
            self.single[param.name] = _value(param, param.meta, text)
            self.filled += 1
        if self.end_after_word:
            self.end_after_word = False
            self._end_options()
        if param.ends_options:
            self.options_end = True

    def _finish(self) -> dict[str, Any]:
        kwargs = self.single
        for param in self.spec.params:
            values = self.several.get(param.name)
            if values is not None:
                if param.code and len(values) > 1:
                    values = as_written(values)
                kwargs[param.name] = (
                    " ".join(values) if param.greedy else param.type.collect(values)
                )
            elif param.required and param.name not in kwargs:
                raise UsageError(
                    f"`{self.spec.name}` needs {param.label}: {_clause(param.help)}.",
                    next=f"dbg help {self.spec.name}",
                )
        return kwargs

    # --- what went wrong ------------------------------------------------------------------------

    def _left_over(self, text: str) -> UsageError:
        metas = " ".join(param.meta for param in self.positionals)
        takes = f"takes {metas} only" if metas else "takes no words"
        return UsageError(
            f"`{self.spec.name}` {takes}; `{text}` is left over.",
            next=f"dbg help {self.spec.name}",
        )

    def _unknown(self, name: str) -> UsageError:
        spec = self.spec
        typed = self.tokens[self.at - 1]
        fact = f"`{spec.name}` has no option `{name}`"
        for_program = spec.rest is not None and self.filled > 0
        close = [] if for_program and _SHORT.fullmatch(name) else self._near(name)
        if len(name) == 2 and typed != name:
            close = []  # one of several flags in a word: a correction would have to take it apart
        if close:
            fact += f"; the nearest is `{close[0]}`"
            better = [close[0] + typed[len(name) :]]
        elif for_program:
            better = ["--", typed]
        else:
            return UsageError(f"{fact}.", next=f"dbg help {spec.name}")
        if for_program:
            fact += "; options of the program go after `--`"
        # The token's place in argv: what follows it has the same length in both.
        at = len(self.argv) - (len(self.tokens) - self.at) - 1
        after = [word for word in self.argv[at + 1 :] if close or word != "--"]
        line = f"dbg {quoted(*self.argv[:at], *better, *after)}"
        if len(line) > _LONGEST_NEXT:
            line = f"dbg help {spec.name}"
        return UsageError(f"{fact}.", next=line)


def _value(param: ParamSpec, label: str, text: str) -> Any:
    """Return the value that *text* spells for *param*."""
    try:
        return param.type.read(text)
    except ValueError:
        pass
    if param.type.base is Location:
        fact = f"`{text}` is not a location: file:line, function, module!function or *address."
        raise UsageError(fact)
    fact = f"`{label}` takes {param.type.wants}, not `{text}`"
    close = nearest(text, param.type.choices) if param.type.choices else []
    raise UsageError(fact + (f"; the nearest is `{close[0]}`." if close else "."))


def _needs_value(name: str, param: ParamSpec, spec: OpSpec | None = None) -> UsageError:
    return UsageError(
        f"`{name}` needs a value, {param.meta}: {_clause(param.help)}.",
        next=f"dbg help {spec.name}" if spec else "dbg help",
    )


def _refuse_value(name: str, equals: str) -> None:
    if equals:
        raise UsageError(f"`{name}` is a flag and takes no value.")


def _twice(param: ParamSpec) -> UsageError:
    return UsageError(f"`{param.long}` was given twice, and takes one value.")


def _unknown_global(token: str) -> UsageError:
    close = nearest(token.partition("=")[0], GLOBAL_OPTIONS) if token.startswith("--") else []
    hint = f"; the nearest is `{close[0]}`" if close else ""
    return UsageError(f"no command, and `{token}` is not an option{hint}.", next="dbg help")


def _clause(text: str) -> str:
    return text.rstrip(".")
