"""Parse a command line into one operation and its arguments.

GNU conventions, driven by the registry of operations: options anywhere before `--`, `--opt value`
and `--opt=value`, `-o value` and `-ovalue`, short flags together. Where these leave a choice:

- An abbreviated option is refused, and the error names the full one.
- An option that takes one value is refused the second time: the first would be lost.
- `-1` is a word, never an option.
- Greedy arguments (`print a - b`) take whatever is not exactly one of the command's options.
- After the program's name (`start pytest -q tests -b app.py:3`) the operation's long options and
  `-b` belong to the operation, all other options to the program; after `--` everything belongs to
  the program. Other short options belong to the operation after the name of a file
  (`start app.py -e`) and to the command after the name of a command (`start tox -e py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from freezeframe.errors import UsageError
from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.locations import Location
from freezeframe.ops._registry import GLOBAL_OPTIONS, OPS, OpSpec, ParamSpec, Registry
from freezeframe.ops._suggestions import guess, nearest, quoted

from .program_options import belongs_to_command, keeps_separator, precedes_separator
from .tokenizer import as_written

_NUMBER = late_regex.compile(r"-\.?\d")
_LONG = late_regex.compile(r"--[a-z][a-z-]*")
_SHORT = late_regex.compile(r"-[a-z]")

#: options that users of other tools put before a condition
_CONDITIONS = ("--if", "--when", "--condition")
#: options whose value is a location to stop at
_BREAKS = ("-b", "--break")
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
    """A parsed command line.

    With `globals.help` set, nothing is run: the help page about `name_tokens` is requested, and
    `kwargs` is empty. Only then may `op` be None.
    """

    op: OpSpec | None
    kwargs: dict[str, Any]
    globals: Globals
    #: the command's name as typed, split at spaces
    name_tokens: tuple[str, ...] = ()


def parse(argv: Sequence[str], ops: Registry = OPS) -> Parsed:
    """Return the operation that *argv* (without the program's name) names, with its arguments.

    `kwargs` holds only the given arguments, no defaults. Raises UsageError with the nearest valid
    command line.
    """
    common = _Common()
    try:
        name_tokens, at = _read_name(argv, ops, common)
    except UsageError as wrong:
        wrong.next = wrong.next or "dbg help"
        raise
    following = list(argv[at:])
    if not name_tokens and following and following[0].startswith("-"):
        raise _unknown_global(following[0])
    found = ops.matches([*name_tokens, *following])
    if common.values.help or not (name_tokens or following):
        common.values.help = True
        if following and not found:
            raise ops.unknown([*name_tokens, *following])
        return Parsed(found[0][0] if found else None, {}, common.values, tuple(name_tokens))
    if not found:
        raise ops.unknown([*name_tokens, *following])
    # `run` alone and `run PROGRAM` are two operations: take the one that accepts the arguments.
    *others, (last, used) = found
    for spec, length in others:
        attempt = _Common(_copy(common.values), set(common.given))
        try:
            return _read(spec, name_tokens, length, following, attempt, argv, ops)
        except UsageError:
            continue
    return _read(last, name_tokens, used, following, common, argv, ops)


# --- options of every command -------------------------------------------------------------------


@dataclass(slots=True)
class _Common:
    values: Globals = field(default_factory=Globals)
    given: set[str] = field(default_factory=set)

    def take(self, param: ParamSpec, value: Any) -> None:
        if param.name in self.given and not param.is_flag:
            raise UsageError(f"`{param.long}` was given twice, and takes one value.")
        if param.name == "budget" and value < 1:
            raise UsageError(f"`--budget` takes a whole number above 0, not `{value}`.")
        self.given.add(param.name)
        setattr(self.values, param.name, value)


def _split_global(token: str) -> tuple[str, str, str]:
    """Return the name, `=` if a value is attached, and the value: `--budget=9`, `-sweb`."""
    if len(token) > 2 and token[:2] in GLOBAL_OPTIONS:
        return token[:2], "=", token[2:].removeprefix("=")
    return token.partition("=")


def _copy(values: Globals) -> Globals:
    return Globals(values.session, values.json, values.budget, values.color, values.help)


def _read_name(argv: Sequence[str], ops: Registry, common: _Common) -> tuple[list[str], int]:
    """Return the tokens that begin a command's name, and where the rest of *argv* begins.

    Global options may come before and between them.
    """
    name_tokens: list[str] = []
    at = 0
    while at < len(argv):
        token = argv[at]
        # After a command's name `-sum(x)` may be an expression: only `-s` is an option there.
        name, equals, value = token.partition("=") if name_tokens else _split_global(token)
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
        if (token.startswith("-") and name_tokens) or not ops.extends([*name_tokens, token]):
            break
        name_tokens.append(token)
        at += 1
    return name_tokens, at


# --- options and arguments of one command -------------------------------------------------------


def _read(
    spec: OpSpec,
    name_tokens: list[str],
    used: int,
    following: list[str],
    common: _Common,
    argv: Sequence[str],
    ops: Registry,
) -> Parsed:
    # Words that do not complete a longer name are arguments: `watch remove` is a name,
    # `watch removed` is not, and its second word is an expression.
    tokens = [*name_tokens[used:], *following]
    reader = _Arguments(spec, tokens, common, list(argv))
    try:
        kwargs = reader.read()
    except UsageError as wrong:
        wrong.next = (
            _correction(name_tokens[:used], tokens, ops) or wrong.next or f"dbg help {spec.name}"
        )
        raise
    return Parsed(spec, kwargs, common.values, tuple(name_tokens[:used]))


def _correction(name: list[str], tokens: list[str], ops: Registry) -> str | None:
    """Return the probable correction of a refused command line; None if there is none."""
    corrected = guess([*name, *tokens])
    if corrected and corrected.split() != [*name, *tokens] and _makes_sense(corrected, ops):
        return f"dbg {corrected}"
    # `watch remov 3`: the second word parses as an expression, and is a misspelt part of the name.
    close = nearest(tokens[0], ops.subcommands(name)) if tokens else []
    if close and close[0] != tokens[0]:
        return f"dbg {quoted(*name, close[0], *tokens[1:])}"
    return None


def _makes_sense(line: str, ops: Registry) -> bool:
    import shlex  # imported here: only a mistake needs it

    tokens = shlex.split(line)
    for spec, used in ops.matches(tokens):
        try:
            _Arguments(spec, tokens[used:], _Common(), tokens).read()
        except UsageError:
            continue
        return True
    return False


class _Arguments:
    """Parser of the tokens after a command's name; used once."""

    def __init__(self, spec: OpSpec, tokens: list[str], common: _Common, argv: list[str]) -> None:
        self.spec = spec
        self.tokens = tokens
        self.common = common
        self.argv = argv
        self.at = 0
        self.positionals = spec.positionals
        self.filled = 0  # positionals that have all their tokens
        self.many = any(param.many for param in self.positionals)  # only `--` ends them
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
        """Whether *token* is not an option: plain, a number, or part of a greedy argument."""
        if not token.startswith("-") or token == "-" or _NUMBER.match(token):
            return True
        if self.filled >= len(self.positionals) or not self.positionals[self.filled].greedy:
            return False
        name = token.partition("=")[0]
        if name in self.spec.options or name in GLOBAL_OPTIONS:
            return False
        # A token like one of the operation's options is a typo (`--dpeth`, `-f` for `--format`);
        # other tokens are text. Text can be quoted as one word, or put after `--`.
        return not self._near(name)

    def _near(self, name: str) -> list[str]:
        """Return the one option that *name* is probably a misspelling of, or nothing."""
        own = [each for each, (param, _) in self.spec.options.items() if not param.hidden]
        if _LONG.fullmatch(name):
            # Without the dashes: with them any two short names would be similar.
            names = [each[2:] for each in (*own, *GLOBAL_OPTIONS) if len(each) > 2]
            return [f"--{each}" for each in nearest(name[2:], names)]
        # `-n` is not a short form of `--no-wait`.
        begins = [each for each in own if each.startswith(f"-{name}") and each[:5] != "--no-"]
        return begins if _SHORT.fullmatch(name) and len(begins) == 1 else []

    # --- the command line of a program ----------------------------------------------------------

    def _program(self) -> str | None:
        """Return the program whose command line is being parsed, once its name has been read."""
        rest = self.spec.rest
        if rest is None or not rest.command or self.filled < len(self.positionals):
            return None
        return str(self.single[self.positionals[-1].name])

    def _is_commands(self, token: str) -> bool:
        """Whether an option after a program's name belongs to the program."""
        program, rest = self._program(), self.tokens[self.at - 1 :]
        if program is None:
            return False
        following = rest[1] if len(rest) > 1 else ""
        if token == "--hit-count" and token not in self.spec.options:
            before = self.tokens[max(self.at - 3, 0) : self.at - 1]
            if len(before) == 2 and before[0] in _BREAKS:
                line = quoted("break", before[1], token, following)
                raise UsageError(f"`-b` takes no `{token}`; `break` does.", next=f"dbg {line}")
        if not self._arguments() and precedes_separator(rest, self.spec):
            return False
        module = self.single.get("module") is True
        return belongs_to_command(token, following, program, self.spec, module=module)

    def _arguments(self) -> list[Any]:
        return self.several.get(self.spec.rest.name, []) if self.spec.rest is not None else []

    def _is_commands_separator(self) -> bool:
        """Whether a `--` belongs to the command: `cargo run --bin x -- a`, `npm test -- -t x`."""
        program, begun = self._program(), self._arguments()
        return program is not None and bool(begun) and keeps_separator((program, *begun))

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
        """Take the next token as the value of an option; some options have a default value."""
        following = self.tokens[self.at] if self.at < len(self.tokens) else "--"
        if param.alone is not None and following.startswith("-"):
            return param.alone
        if self.at == len(self.tokens) or self.tokens[self.at] == "--":
            raise _needs_value(name, param, self.spec)
        token = self.tokens[self.at]
        if token.startswith("--") and self._option(token.partition("=")[0]):
            # Such a value can be given with `=`; far more often the value was forgotten.
            raise _needs_value(name, param, self.spec)
        self.at += 1
        return self._with_condition(token) if name in _BREAKS else token

    def _with_condition(self, location: str) -> str:
        """Return the value of `-b` with the condition behind it: `-b app.py:3 -c 'n > 3'`."""
        option, *rest = self.tokens[self.at : self.at + 2] or [""]
        if option not in ("-c", *_CONDITIONS) or option in self.spec.options or not rest:
            return location
        self.at += 2
        return f"{location} if {rest[0]}"

    def _take(self, param: ParamSpec, value: Any) -> None:
        if GLOBAL_OPTIONS.get(f"--{param.cli_name}", (None,))[0] is param:
            self.common.take(param, value)
            return
        if param.many:
            self.several.setdefault(param.name, []).append(value)
        elif param.name in self.single and not param.is_flag:
            raise UsageError(f"`{param.long}` was given twice, and takes one value.")
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
        # The separator of `-m pytest -- tests` is redundant.
        if self.at < len(self.tokens) and self.tokens[self.at] == "--":
            self.at += 1

    # --- arguments ------------------------------------------------------------------------------

    def _word(self, text: str) -> None:
        rest, full = self.spec.rest, self.filled == len(self.positionals)
        if rest is not None and (self.rest_only or full or (self.many and self.options_end)):
            self.several.setdefault(rest.name, []).append(text)
            return
        if full:
            self._bare(text)
            return
        param = self.positionals[self.filled]
        if param.greedy or param.many:
            value = text if param.greedy else _value(param, param.meta, text)
            self.several.setdefault(param.name, []).append(value)
        else:
            self.single[param.name] = _value(param, param.meta, text)
            self.filled += 1
        if self.end_after_word:
            self.end_after_word = False
            self._end_options()
        if param.ends_options:
            self.options_end = True

    def _bare(self, text: str) -> None:
        """Take a number as the value of the option that may be given without its name: `next 3`."""
        param = next((each for each in self.spec.params if each.bare), None)
        if param is None or param.name in self.single or not text.isdecimal():
            raise self._left_over(text)
        self.single[param.name] = param.type.read(text)

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
                    f"`{self.spec.name}` needs {param.label}: {param.help.rstrip('.')}.",
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
        for_program = spec.rest is not None and (self.filled > 0 or self.many)
        close = [] if for_program and _SHORT.fullmatch(name) else self._near(name)
        if len(name) == 2 and typed != name:
            close = []  # one of several flags in a token: a correction would have to split it
        if close:
            fact += f"; the nearest is `{close[0]}`"
            better = [close[0] + typed[len(name) :]]
        elif for_program:
            better = ["--", typed]
        else:
            return UsageError(f"{fact}.", next=f"dbg help {spec.name}")
        if for_program:
            fact += "; options of the program go after `--`"
        # The token's index in argv: the rest after it has the same length in both.
        at = len(self.argv) - (len(self.tokens) - self.at) - 1
        after = [word for word in self.argv[at + 1 :] if close or word != "--"]
        line = f"dbg {quoted(*self.argv[:at], *better, *after)}"
        if len(line) > _LONGEST_NEXT:
            line = f"dbg help {spec.name}"
        return UsageError(f"{fact}.", next=line)


def _value(param: ParamSpec, label: str, text: str) -> Any:
    """Return the value of *text* for *param*. Raises UsageError."""
    try:
        return param.type.read(text)
    except ValueError:
        pass
    if param.type.base is Location:
        fact = f"`{text}` is not a location: file:line, function, module!function or *address."
        raise UsageError(fact)
    fact = f"`{label}` takes {param.type.expected}, not `{text}`"
    close = nearest(text, param.type.choices) if param.type.choices else []
    raise UsageError(fact + (f"; the nearest is `{close[0]}`." if close else "."))


def _needs_value(name: str, param: ParamSpec, spec: OpSpec | None = None) -> UsageError:
    return UsageError(
        f"`{name}` needs a value, {param.meta}: {param.help.rstrip('.')}.",
        next=f"dbg help {spec.name}" if spec else "dbg help",
    )


def _refuse_value(name: str, equals: str) -> None:
    if equals:
        raise UsageError(f"`{name}` is a flag and takes no value.")


def _unknown_global(token: str) -> UsageError:
    close = nearest(token.partition("=")[0], GLOBAL_OPTIONS) if token.startswith("--") else []
    hint = f"; the nearest is `{close[0]}`" if close else ""
    return UsageError(f"no command, and `{token}` is not an option{hint}.", next="dbg help")
