"""The table of operations: each one a function, declared once by `@op`.

Signature, docstring and decorator are the whole declaration. The command line, help, JSON
Schemas, completion and the reference page are loops over `OPS`; none of them holds a list of
its own. A declaration that is wrong or incomplete raises `Misdeclared` while its module is
imported, with the name of the operation in the message.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from freezeframe.errors import UsageError

from ._guesses import guess, nearest
from ._params import Arg, ArgType, Flag, Misdeclared, ParamSpec, read_param

__all__ = [
    "GLOBALS",
    "OPS",
    "Arg",
    "Effect",
    "Flag",
    "Misdeclared",
    "Needs",
    "OpSpec",
    "ParamSpec",
    "Registry",
    "op",
]

Operation = Callable[..., Coroutine[Any, Any, Any]]
F = TypeVar("F", bound=Operation)


class Effect(StrEnum):
    """What an operation does to the program or to what the house keeps."""

    READS = "reads"
    WRITES = "writes"
    RESUMES = "resumes"
    ENDS = "ends"


class Needs(StrEnum):
    """What must be there before an operation runs; the runner refuses the rest in one way."""

    NOTHING = "nothing"
    WORKSPACE = "workspace"
    SESSION = "session"
    LIVE = "live"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One operation, as every front end sees it."""

    name: str
    #: `breakpoint_add`: its name for programs
    id: str
    #: further spellings; a last word in capitals (`run PROGRAM`) means "only with words after it"
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
    examples: tuple[str, ...]
    hidden: bool
    #: options by every spelling, with the value that the spelling gives to a flag
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
        spelling=name,
        short=short,
        meta=meta,
        rest=False,
        greedy=False,
        code=False,
        ends_options=False,
        hidden=False,
        complete="session" if name == "session" else None,
    )


#: options that every operation takes; no operation may use their spellings for its own
GLOBALS: tuple[ParamSpec, ...] = (
    _global("session", ArgType(str, optional=True), "the session to speak to", "-s", "NAME"),
    _global("json", ArgType(bool), "answer in JSON", None, "JSON"),
    _global("budget", ArgType(int, optional=True), "at most this many tokens", None, "TOKENS"),
    _global("color", ArgType(bool, optional=True), "colour, or none", None, "COLOR"),
    _global("help", ArgType(bool), "explain the command", "-h", "HELP"),
)

GLOBAL_OPTIONS: dict[str, tuple[ParamSpec, bool]] = {
    spelling: (param, value) for param in GLOBALS for spelling, value in param.spellings().items()
}


@dataclass(slots=True)
class _Node:
    """A word of a command's name."""

    spec: OpSpec | None = None
    #: the operation that has this spelling only when more words follow
    with_words: OpSpec | None = None
    children: dict[str, _Node] = field(default_factory=dict)


class Registry:
    """Operations by name. Iterates in the order of declaration."""

    def __init__(self, groups: Sequence[str] = ()) -> None:
        """Make an empty table whose groups come in the order of *groups*; others follow."""
        self._groups = tuple(groups)
        self._specs: dict[str, OpSpec] = {}
        self._ids: dict[str, OpSpec] = {}
        self._root = _Node()

    def __iter__(self) -> Iterator[OpSpec]:
        """Yield every operation, module by module: whoever imports first changes nothing."""
        return iter(sorted(self._specs.values(), key=_rank))

    def __len__(self) -> int:
        return len(self._specs)

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def __getitem__(self, name: str) -> OpSpec:
        """Return the operation of that canonical name; raise KeyError where there is none."""
        return self._specs[name]

    def by_id(self, id: str) -> OpSpec:
        """Return the operation that programs call *id*; raise UsageError with the nearest one."""
        found = self._ids.get(id) or self._specs.get(id)
        if found is None:
            close = nearest(id, self._ids)
            raise UsageError(
                f"no operation `{id}`" + (f"; the nearest is `{close[0]}`." if close else "."),
                next="dbg help",
            )
        return found

    def groups(self) -> dict[str, list[OpSpec]]:
        """Return the operations that are not hidden, by group."""
        found: dict[str, list[OpSpec]] = {group: [] for group in self._groups}
        for spec in self:
            if not spec.hidden:
                found.setdefault(spec.group, []).append(spec)
        return {group: specs for group, specs in found.items() if specs}

    # --- finding ----------------------------------------------------------------------------------

    def extends(self, words: Sequence[str]) -> bool:
        """Whether some name or alias begins with *words*."""
        return self._walk(words) is not None

    def subcommands(self, words: Sequence[str]) -> list[str]:
        """Return the words that can follow *words* in a name, hidden operations left out."""
        node = self._walk(words)
        if node is None:
            return []
        return [word for word, child in node.children.items() if _visible(child)]

    def matches(self, words: Sequence[str]) -> list[tuple[OpSpec, int]]:
        """Return the operations with the longest name that *words* begin with, and its length.

        Mostly one. Two where a spelling means one operation alone and another with words after
        it (`run`, `run PROGRAM`): the bare one comes first, and is alone when no words follow.
        """
        node, best = self._root, list[tuple[OpSpec, int]]()
        for used, word in enumerate(words, start=1):
            child = node.children.get(word)
            if child is None:
                break
            node = child
            found = [(node.spec, used)] if node.spec else []
            if node.with_words and used < len(words):
                found.append((node.with_words, used))
            best = found or best
        return best

    def lookup(self, words: Sequence[str]) -> tuple[OpSpec, int]:
        """Return the operation with the longest name that *words* begin with, and its length.

        Raises UsageError with the nearest command where there is none.
        """
        found = self.matches(words)
        if not found:
            raise self.unknown(words)
        return found[-1]

    def suggest(self, words: str | Sequence[str]) -> str | None:
        """Return the command line, `dbg` left off, that somebody who typed *words* wants.

        Knows what other debuggers call things, then spelling mistakes. None where nothing is near.
        """
        typed = words.split() if isinstance(words, str) else list(words)
        if not typed:
            return None
        guessed = guess(typed)
        if guessed and self.matches(guessed.split()):
            return guessed
        for count in (2, 1):
            if len(typed) < count:
                continue
            close = nearest(" ".join(typed[:count]), self._spellings(count))
            if close:
                return " ".join([close[0], *typed[count:]])
        return None

    def unknown(self, words: Sequence[str]) -> UsageError:
        """Return the error for *words* that are no command."""
        used = 0
        while used < len(words) and self.extends(words[: used + 1]):
            used += 1
        if used:
            # The first words are the beginning of several commands, of none alone.
            begin, sub = " ".join(words[:used]), self.subcommands(words[:used])
            close = nearest(words[used], sub) if used < len(words) else []
            what = f"`{begin}` has no `{words[used]}`" if used < len(words) else f"`{begin}` alone"
            if used == len(words):
                what += " is not a command"
            next = " ".join([begin, close[0], *words[used + 1 :]]) if close else f"help {begin}"
            return UsageError(f"{what}; it takes {', '.join(sub)}.", next=f"dbg {next}")
        typed = words[0] if words else ""
        # A whole command in one pair of quotes.
        wanted = typed if self.matches(typed.split()) else self.suggest(words)
        return UsageError(
            f"there is no command `{typed}`.", next=f"dbg {wanted}" if wanted else "dbg help"
        )

    def _walk(self, words: Sequence[str]) -> _Node | None:
        node: _Node | None = self._root
        for word in words:
            node = node.children.get(word) if node else None
        return node

    def _spellings(self, count: int) -> list[str]:
        """Return the spellings of *count* words that are worth suggesting."""
        found = []
        for spec in self:
            if not spec.hidden:
                for spelling in (spec.name, *spec.aliases):
                    words = [word for word in spelling.split() if not word.isupper()]
                    if len(words) == count:
                        found.append(" ".join(words))
        return found

    # --- declaring --------------------------------------------------------------------------------

    def op(
        self,
        name: str,
        *,
        group: str,
        example: str,
        aliases: tuple[str, ...] = (),
        examples: tuple[str, ...] = (),
        effect: Effect = Effect.READS,
        needs: Needs = Needs.NOTHING,
        feature: str | None = None,
        control: bool = False,
        hidden: bool = False,
    ) -> Callable[[F], F]:
        """Declare the decorated coroutine function as the operation *name*; return it unchanged.

        Its first parameter is `ctx`. Examples leave `dbg` off. Raises Misdeclared.
        """

        def declare(func: F) -> F:
            try:
                params, result = _read_signature(func)
                summary, description = _read_docstring(func)
                for line in (example, *examples):
                    if not line.strip() or line.startswith("dbg "):
                        raise Misdeclared("an example is empty, or begins with `dbg`")
                spec = OpSpec(
                    name=name,
                    id=name.replace(" ", "_").replace("-", "_"),
                    aliases=tuple(aliases),
                    group=group,
                    summary=summary,
                    description=description,
                    params=params,
                    result=result,
                    effect=effect,
                    needs=needs,
                    feature=feature,
                    control=control,
                    func=func,
                    examples=(example, *examples),
                    hidden=hidden,
                    options=_read_options(params),
                )
                self._add(spec)
            except Misdeclared as problem:
                raise Misdeclared(f"operation `{name}`: {problem}") from None
            return func

        return declare

    def _add(self, spec: OpSpec) -> None:
        if spec.name in self._specs or spec.id in self._ids:
            raise Misdeclared("declared twice")
        for spelling in (spec.name, *spec.aliases):
            words = spelling.split()
            conditional = len(words) > 1 and words[-1].isupper()
            if conditional:
                words.pop()
            # Alone it may look like an option, as `--version` does everywhere.
            dashed = [word for word in words if word.startswith("-")]
            if not words or (dashed and len(words) > 1) or dashed == [spec.name]:
                raise Misdeclared(f"`{spelling}` cannot be a name")
            if dashed and words[0] in GLOBAL_OPTIONS:
                raise Misdeclared(f"`{spelling}` is an option of every command")
            node = self._root
            for word in words:
                node = node.children.setdefault(word, _Node())
            taken = node.with_words if conditional else node.spec
            if taken is not None:
                raise Misdeclared(f"`{spelling}` is taken by `{taken.name}`")
            if conditional:
                node.with_words = spec
            else:
                node.spec = spec
        self._specs[spec.name] = spec
        self._ids[spec.id] = spec


def _visible(node: _Node) -> bool:
    if (node.spec and not node.spec.hidden) or (node.with_words and not node.with_words.hidden):
        return True
    return any(_visible(child) for child in node.children.values())


def _read_docstring(func: Operation) -> tuple[str, str]:
    text = inspect.cleandoc(func.__doc__ or "").strip()
    summary, _, description = text.partition("\n")
    if not summary:
        raise Misdeclared("no docstring")
    if description and not description.startswith("\n"):
        raise Misdeclared("the docstring's first line is not followed by an empty one")
    return summary.strip(), description.strip()


def _read_signature(func: Operation) -> tuple[tuple[ParamSpec, ...], Any]:
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
    """Refuse arguments that could not be told apart on a command line."""
    ended: ParamSpec | None = None
    optional: ParamSpec | None = None
    for param in params:
        if not (param.positional or param.rest):
            continue
        if ended is not None:
            raise Misdeclared(f"`{param.name}` after `{ended.name}`, which takes all words")
        if param.positional and param.required and optional is not None:
            raise Misdeclared(f"required `{param.name}` after optional `{optional.name}`")
        if param.many or param.greedy:
            ended = param
        if not param.required:
            optional = param


def _read_options(params: tuple[ParamSpec, ...]) -> dict[str, tuple[ParamSpec, bool]]:
    found: dict[str, tuple[ParamSpec, bool]] = {}
    for param in params:
        for spelling, value in param.spellings().items():
            if spelling in GLOBAL_OPTIONS:
                raise Misdeclared(f"`{spelling}` is an option of every command")
            if spelling in found:
                raise Misdeclared(f"`{spelling}` stands for two parameters")
            found[spelling] = (param, value)
    return found


#: the order in which a reader meets them
GROUPS = (
    "sessions",
    "execution",
    "backward",
    "breakpoints",
    "watchpoints",
    "exceptions",
    "seeing",
    "program I/O",
    "machine",
    "history",
    "escape",
    "house",
)

#: The files of operations, in the order of the help; others follow by name.
_FILES = (
    "starting",
    "sessions",
    "execution",
    "backward",
    "breakpoints",
    "exceptions",
    "seeing",
    "values",
    "output",
    "machine",
    "history",
    "records",
    "house",
    "hosts",
    "commands",
)


def _rank(spec: OpSpec) -> tuple[int, str, int]:
    module = spec.func.__module__
    file = module.rpartition(".")[2]
    place = _FILES.index(file) if file in _FILES else len(_FILES)
    return place, module, spec.func.__code__.co_firstlineno


OPS = Registry(GROUPS)
op = OPS.op
