"""The registry of operations: each one a function, declared once by `@op`.

Signature, docstring and decorator are the whole declaration. The command line, help, JSON
Schemas, completion and the reference page are generated from `OPS`. A declaration that is wrong
or incomplete raises `Misdeclared` when its module is imported, with the name of the operation.

A module of operations is imported when one of its commands is looked up (see catalog.py).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from freezeframe.errors import UsageError
from freezeframe.model.fast_dataclass import dataclass, field

from . import catalog
from ._op_spec import (
    GLOBAL_OPTIONS,
    GLOBALS,
    Effect,
    Needs,
    Operation,
    OpSpec,
    read_docstring,
    read_options,
    read_signature,
)
from ._params import Arg, Flag, Misdeclared, ParamSpec
from ._suggestions import guess, nearest

__all__ = [
    "GLOBALS",
    "GLOBAL_OPTIONS",
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

F = TypeVar("F", bound=Operation)


@dataclass(slots=True)
class _Node:
    """A word of a command's name."""

    spec: OpSpec | None = None
    #: the operation that has this name only when arguments follow
    with_arguments: OpSpec | None = None
    children: dict[str, _Node] = field(default_factory=dict)

    def specs(self) -> Iterator[OpSpec]:
        """Yield the operations whose names begin with this word and those before it."""
        yield from filter(None, (self.spec, self.with_arguments))
        for child in self.children.values():
            yield from child.specs()


class Registry:
    """Operations by name. Iterates in the order of declaration."""

    def __init__(
        self, groups: Sequence[str] = (), modules: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Make a registry whose groups come in the order of *groups*; others follow.

        *modules* maps modules that declare operations to the names and aliases of their operations.
        """
        self._groups = tuple(groups)
        self._specs: dict[str, OpSpec] = {}
        self._ids: dict[str, OpSpec] = {}
        self._root = _Node()
        #: modules that were not imported here yet, by how the names in them begin
        self._modules: dict[str, list[str]] = {}
        for module, names in (modules or {}).items():
            for prefix in dict.fromkeys(map(_prefix, names)):
                self._modules.setdefault(prefix, []).append(module)

    def _load(self, name: str) -> None:
        """Import the modules with operations whose names begin as *name*, which may be an id."""
        for module in self._modules.pop(_prefix(name), ()):
            importlib.import_module(module)

    def _load_all(self) -> None:
        for prefix in list(self._modules):
            self._load(prefix)

    def __iter__(self) -> Iterator[OpSpec]:
        """Yield every operation in a fixed order, independent of the import order."""
        self._load_all()
        return iter(sorted(self._specs.values(), key=_rank))

    def __len__(self) -> int:
        self._load_all()
        return len(self._specs)

    def __contains__(self, name: str) -> bool:
        self._load(name)
        return name in self._specs

    def __getitem__(self, name: str) -> OpSpec:
        """Return the operation of that canonical name. Raises KeyError."""
        self._load(name)
        return self._specs[name]

    def by_id(self, id: str) -> OpSpec:
        """Return the operation with this id. Raises UsageError with the nearest one."""
        self._load(id)
        found = self._ids.get(id) or self._specs.get(id)
        if found is None:
            self._load_all()
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

    def extends(self, tokens: Sequence[str]) -> bool:
        """Whether some name or alias begins with *tokens*."""
        return self._walk(tokens) is not None

    def subcommands(self, tokens: Sequence[str]) -> list[str]:
        """Return the tokens that can follow *tokens* in a name, hidden operations left out."""
        if not tokens:
            self._load_all()
        node = self._walk(tokens)
        if node is None:
            return []
        # Sorted, because the order of the children is that of the imports.
        found = sorted(node.children.items(), key=lambda item: min(map(_rank, item[1].specs())))
        return [word for word, child in found if _visible(child)]

    def matches(self, tokens: Sequence[str]) -> list[tuple[OpSpec, int]]:
        """Return the operations with the longest name that *tokens* begin with, and its length.

        Usually one. Two if a name is one operation alone and another with arguments
        (`run`, `run PROGRAM`): the bare one comes first, and is the only one if nothing follows.
        """
        node, best = self._root, list[tuple[OpSpec, int]]()
        if tokens:
            self._load(tokens[0])
        for used, word in enumerate(tokens, start=1):
            child = node.children.get(word)
            if child is None:
                break
            node = child
            found = [(node.spec, used)] if node.spec else []
            if node.with_arguments and used < len(tokens):
                found.append((node.with_arguments, used))
            best = found or best
        return best

    def lookup(self, tokens: Sequence[str]) -> tuple[OpSpec, int]:
        """Return the operation with the longest name that *tokens* begin with, and its length.

        Raises UsageError with the nearest command if there is none.
        """
        found = self.matches(tokens)
        if not found:
            raise self.unknown(tokens)
        return found[-1]

    def suggest(self, tokens: str | Sequence[str]) -> str | None:
        """Return the command line, without `dbg`, that *tokens* probably mean.

        Tries commands of other debuggers, then spelling mistakes. None if nothing is near.
        """
        typed = tokens.split() if isinstance(tokens, str) else list(tokens)
        if not typed:
            return None
        guessed = guess(typed)
        if guessed and self.matches(guessed.split()):
            return guessed
        for count in (2, 1):
            if len(typed) < count:
                continue
            close = nearest(" ".join(typed[:count]), self._names_to_suggest(count))
            if close:
                return " ".join([close[0], *typed[count:]])
        return None

    def unknown(self, tokens: Sequence[str]) -> UsageError:
        """Return the error for *tokens* that are not a command."""
        used = 0
        while used < len(tokens) and self.extends(tokens[: used + 1]):
            used += 1
        if used:
            # The first tokens begin several commands and are not one themselves.
            begin, sub = " ".join(tokens[:used]), self.subcommands(tokens[:used])
            close = nearest(tokens[used], sub) if used < len(tokens) else []
            what = (
                f"`{begin}` has no `{tokens[used]}`" if used < len(tokens) else f"`{begin}` alone"
            )
            if used == len(tokens):
                what += " is not a command"
            next = " ".join([begin, close[0], *tokens[used + 1 :]]) if close else f"help {begin}"
            return UsageError(f"{what}; it takes {', '.join(sub)}.", next=f"dbg {next}")
        typed = tokens[0] if tokens else ""
        # A whole command in one pair of quotes?
        suggestion = typed if self.matches(typed.split()) else self.suggest(tokens)
        return UsageError(
            f"there is no command `{typed}`.",
            next=f"dbg {suggestion}" if suggestion else "dbg help",
        )

    def _walk(self, tokens: Sequence[str]) -> _Node | None:
        node: _Node | None = self._root
        if tokens:
            self._load(tokens[0])
        for word in tokens:
            node = node.children.get(word) if node else None
        return node

    def _names_to_suggest(self, count: int) -> list[str]:
        """Return the names of *count* tokens that are worth suggesting."""
        found = []
        for spec in self:
            if not spec.hidden:
                for name in (spec.name, *spec.aliases):
                    tokens = [word for word in name.split() if not word.isupper()]
                    if len(tokens) == count:
                        found.append(" ".join(tokens))
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
        when_running: Operation | None = None,
    ) -> Callable[[F], F]:
        """Declare the decorated coroutine function as the operation *name*; return it unchanged.

        Its first parameter is `ctx`. Examples leave `dbg` off. Raises Misdeclared.
        """

        def declare(func: F) -> F:
            try:
                params, result = read_signature(func)
                summary, description = read_docstring(func)
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
                    when_running=when_running,
                    examples=(example, *examples),
                    hidden=hidden,
                    options=read_options(params),
                )
                self._add(spec)
            except Misdeclared as problem:
                raise Misdeclared(f"operation `{name}`: {problem}") from None
            return func

        return declare

    def _add(self, spec: OpSpec) -> None:
        if spec.name in self._specs or spec.id in self._ids:
            raise Misdeclared("declared twice")
        for name in (spec.name, *spec.aliases):
            tokens = name.split()
            conditional = len(tokens) > 1 and tokens[-1].isupper()
            if conditional:
                tokens.pop()
            # A name of one word may look like an option: `--version`.
            dashed = [word for word in tokens if word.startswith("-")]
            if not tokens or (dashed and len(tokens) > 1) or dashed == [spec.name]:
                raise Misdeclared(f"`{name}` cannot be a name")
            if dashed and tokens[0] in GLOBAL_OPTIONS:
                raise Misdeclared(f"`{name}` is an option of every command")
            node = self._root
            for word in tokens:
                node = node.children.setdefault(word, _Node())
            taken = node.with_arguments if conditional else node.spec
            if taken is not None:
                raise Misdeclared(f"`{name}` is taken by `{taken.name}`")
            if conditional:
                node.with_arguments = spec
            else:
                node.spec = spec
        self._specs[spec.name] = spec
        self._ids[spec.id] = spec


def _visible(node: _Node) -> bool:
    return any(not spec.hidden for spec in node.specs())


def _prefix(name: str) -> str:
    """Return how a name or an id begins: `hit` for `hit-trend x` and for `hit_trend_x`."""
    return name.replace("-", " ").replace("_", " ").partition(" ")[0]


#: the order in the help
GROUPS = (
    "questions",
    "sessions",
    "execution",
    "reverse",
    "breakpoints",
    "watchpoints",
    "exceptions",
    "inspect",
    "program I/O",
    "machine",
    "history",
    "escape",
    "admin",
)

#: The modules of operations, in the order of the help; others follow by name.
_FILES = (
    "testing",
    "launch",
    "restart",
    "sessions",
    "execution",
    "reverse",
    "breakpoints",
    "exceptions",
    "inspection",
    "evaluation",
    "program_io",
    "low_level",
    "history",
    "recordings",
    "admin",
    "agent_hosts",
    "cli_ops",
)


def _rank(spec: OpSpec) -> tuple[int, str, int]:
    module = spec.func.__module__
    file = module.rpartition(".")[2]
    position = _FILES.index(file) if file in _FILES else len(_FILES)
    return position, module, spec.func.__code__.co_firstlineno


OPS = Registry(GROUPS, catalog.read())
op = OPS.op
