"""Which debugger for this program, and why.

Explicit name → FREEZEFRAME_DEBUGGER or config → the best one installed that claims the program.
In place of a name, a way of talking to debuggers (`dap`) means the best one that is spoken to so.
A name that does not exist is an error that lists those that do.
"""

from __future__ import annotations

import asyncio
import fnmatch
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from freezeframe import files
from freezeframe.config import Config
from freezeframe.errors import DebuggerMissing, NotFound, UsageError
from freezeframe.model.answers import AdapterInfo

from .backend import Backend
from .console import debuggers
from .dap import adapters
from .dap.adapters._descriptor import Adapter
from .dap.adapters._own import adapter_of
from .dap.backend import DapBackend
from .debugger import Debugger, Found, Missing
from .inspector import known as inspected
from .native import binary_kinds
from .path_mapping import PathMapping, mapped
from .transport import processes

#: for one debugger to be found and to tell its version
_SURVEY_S = 8.0


def known(config: Config | None = None) -> dict[str, Debugger]:
    """Return every debugger of every room by name, the preferred ones first.

    With *config*, those that it describes too; one of a name that we have takes its place.
    """
    described = config.adapters if config is not None else {}
    own = {name: adapter_of(name, section) for name, section in described.items()}
    mine = [replace(_of_adapter(each), yours=True) for each in own.values() if each is not None]
    if not mine:
        return _ours()
    both = _ours() | {each.name: each for each in mine}
    return {each.name: each for each in sorted(both.values(), key=lambda each: each.rank)}


@functools.cache
def _ours() -> dict[str, Debugger]:
    found = [_of_adapter(adapter) for adapter in adapters.known().values()]
    found += debuggers.known().values()
    found += inspected().values()
    return {each.name: each for each in sorted(found, key=lambda each: each.rank)}


def _of_adapter(adapter: Adapter) -> Debugger:
    return Debugger(
        name=adapter.name,
        kind="dap",
        languages=adapter.languages,
        patterns=adapter.patterns,
        shebangs=adapter.shebangs,
        binaries=adapter.binaries,
        install=adapter.install,
        find=adapter.find,
        make=lambda found, config: DapBackend(adapter, found, config),
        modules=adapter.modules,
        rank=adapter.rank,
        remark=adapter.remark,
        check_condition=adapter.breakpoints.check_condition,
        check_log=adapter.breakpoints.check_log,
        probe_program=adapter.probe_program,
        tested=adapter.tested,
        servers=adapter.servers,
        find_in_xcode=adapter.find_in_xcode,
        holds=adapter.holds,
        forks=adapter.children.ways,
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """A debugger that is there, and the reason why it was taken."""

    debugger: Debugger
    found: Found
    reason: str
    #: the program behind a process id, where it can be told
    program: str | None = None
    #: what the user should know about the choice, or about the program
    remarks: tuple[str, ...] = ()
    #: folders of a program that runs elsewhere
    mapping: PathMapping | None = None

    def of(self, program: str | None) -> Choice:
        """Return the choice with what there is to know about the program itself."""
        remark = self.debugger.remark(program) if program is not None else None
        return replace(self, remarks=(*self.remarks, remark)) if remark else self

    def make_backend(self, config: Config) -> Callable[[], Backend]:
        return mapped(lambda: self.debugger.make(self.found, config), self.mapping)


def choose(
    program: str,
    *,
    module: bool = False,
    language: str | None = None,
    kind: str | None = None,
    name: str | None = None,
    cwd: str = "/",
    env: Mapping[str, str],
    config: Config,
) -> Choice:
    """Return the debugger for a program to start. Raises UsageError or DebuggerMissing.

    *language* is that of a module, and *kind* what the program is, where its maker knows better
    than a look at the file.
    """
    if not module:
        _check_fit(name, program, kind, config)
    named = _named(name, env, config)
    if named is not None:
        return named.of(program)
    if module:
        there = [
            a
            for a in known(config).values()
            if a.modules and (language is None or language in a.languages)
        ]
        sure = [(a, f"it has {program}") for a in there if a.has_module(program, cwd, env)]
        claims = sure or [(a, "it starts modules") for a in there]
    else:
        if (
            kind is None
            and os.path.isdir(program)
            and not os.path.isfile(os.path.join(program, "__main__.py"))
        ):
            raise NotFound(f"{program} is a directory, not a program.", next="dbg start PROGRAM")
        claims = list(_claims(program, (kind,) if kind is not None else None, config=config))
    claims = _of_kind(claims, name, program, config)
    return _first_found(claims, program, env, config).of(program)


def choose_for_pid(pid: int, *, name: str | None, env: Mapping[str, str], config: Config) -> Choice:
    """Return the debugger for a running process."""
    words = processes.command_line(pid)
    program = processes.script(pid, words)
    named = _named(name, env, config)
    if named is not None:
        path = processes.executable(pid)
        if path is not None and not set(binary_kinds(path)).isdisjoint(named.debugger.binaries):
            program = path
        return Choice(named.debugger, named.found, named.reason, program).of(program)
    # What it calls itself can be anything; what it runs cannot.
    names = [os.path.basename(path) for path in (*words[:1], processes.executable(pid)) if path]
    runtime = names[0] if names else ""
    claims = [
        (adapter, f"the process runs {name}")
        for adapter in known(config).values()
        for name in names
        if any(name.startswith(word) for word in adapter.shebangs)
    ]
    what = f"process {pid} ({runtime or 'unknown'})"
    if not claims:
        path = processes.executable(pid)
        kinds = binary_kinds(path) if path is not None else ()
        reason = f"the process runs {os.path.basename(path or '')}, a binary; {_order(kinds)}"
        claims = [
            (each, reason)
            for each in known(config).values()
            if not set(kinds).isdisjoint(each.binaries)
        ]
        program = path if claims else program
    by_name = f"dbg attach {pid} --adapter NAME"
    choice = _first_found(_of_kind(claims, name, what, config), what, env, config, by_name)
    return Choice(choice.debugger, choice.found, choice.reason, program).of(program)


def choose_for_simulator(
    pid: int, *, name: str | None, env: Mapping[str, str], config: Config
) -> Choice:
    """Return the debugger of Xcode's for a process in a simulator."""
    there = [each for each in known(config).values() if each.find_in_xcode is not None]
    names = ", ".join(each.name for each in there)
    named, reason = _wish(name, config)
    if named is None or named in _kinds(config):
        reason = f"the process runs in a simulator; of {names} the first that Xcode has"
        able = [each for each in there if named in (None, each.kind)]
    else:
        wanted = _called(named, config)
        able = [each for each in there if each.name == wanted.name]
    attach = "dbg attach --simulator NAME --bundle-id ID --adapter"
    if not able:
        raise UsageError(
            f"{named} has no way into simulators; {names} have.", next=f"{attach} {there[0].name}"
        )
    others = [each.name for each in there if each not in able]
    install = (f"{attach} {others[0]}" if others else "xcode-select --install",)
    # Where a user has several, only Xcode's own know its simulators.
    claims = [
        (replace(each, find=each.find_in_xcode or each.find, install=install), reason)
        for each in able
    ]
    choice = _first_found(claims, "a simulator", env, config)
    return replace(choice, program=processes.executable(pid))


def choose_for_server(
    host: str, port: int, *, name: str | None, env: Mapping[str, str], config: Config
) -> Choice:
    """Return the debugger for a debug server at a port.

    Without a name, the one whose server listens there, where that can be seen; else the first.
    """
    listening = processes.listener(port) if host in ("127.0.0.1", "localhost", "::1") else None
    named = _named(name, env, config)
    if named is not None:
        program = processes.traced_by(listening[0]) if listening is not None else None
        return replace(named, program=program)
    if listening is not None:
        pid, server = listening
        servers = [a for a in known(config).values() if server.startswith(a.servers)]
        if servers:
            listens = [(a, f"{server} listens there") for a in servers]
            choice = _first_found(_of_kind(listens, name, server, config), server, env, config)
            return replace(choice, program=processes.traced_by(pid))
    those = [each for each in known(config).values() if not each.yours]
    claims = [(each, "the first that joins servers") for each in those]
    claims = _of_kind(claims, name, "a debug server", config)
    return _first_found(claims, "a debug server", env, config)


def condition_problem(expression: str, path: str | None) -> str | None:
    """Return why a condition can never be evaluated, by the language of the file it stands in."""
    if path is None:
        return None
    for adapter, _ in _claims(path, read=False):
        return adapter.check_condition(expression)
    return None


def takes_source(path: str, *, name: str | None, config: Config) -> bool:
    """Whether the debugger that will be taken runs a source file as it is."""
    named, _ = _wish(name, config)
    there = list(known(config).values())
    if named in _kinds(config):
        there = [each for each in there if each.kind == named]
    elif named is not None:
        there = [each for each in there if named in (each.name, *each.aliases)] or there
    base = os.path.basename(path)
    return any(fnmatch.fnmatch(base, pattern) for each in there for pattern in each.patterns)


def is_runtime(program: str) -> bool:
    """Whether a word names the runtime of a language rather than a program (`python3.12`)."""

    def bare(name: str) -> str:
        return re.sub(r"[\d.]+$", "", os.path.basename(name))

    return any(bare(program) == bare(w) for a in known().values() for w in a.shebangs)


def runs_scripts(runtime: str, *, name: str | None, env: Mapping[str, str], config: Config) -> bool:
    """Whether the debugger that will be taken debugs what a runtime runs, not the runtime."""
    base = re.sub(r"[\d.]+$", "", os.path.basename(runtime))
    named, _ = _wish(name, config)
    there = [each for each in known(config).values() if base in each.shebangs]
    if named is not None:
        return any(named in (each.name, each.kind, *each.aliases) for each in there)
    return any(isinstance(each.find(env, config.adapter(each.name)), Found) for each in there)


def log_problem(message: str, path: str | None) -> str | None:
    """Return why a logpoint's message can never be written, by the language of its file."""
    if path is None:
        return None
    for adapter, _ in _claims(path, read=False):
        return adapter.check_log(message)
    return None


def survey(env: Mapping[str, str], config: Config) -> tuple[AdapterInfo, ...]:
    """Return every debugger that is known, and whether it is here. Blocks for each version that
    has not been asked for yet."""
    return tuple(
        _info(each, each.find(env, config.adapter(each.name))) for each in known(config).values()
    )


async def survey_at_once(
    env: Mapping[str, str], config: Config, names: Sequence[str] | None = None
) -> tuple[AdapterInfo, ...]:
    """Return the same, all of them (or those of *names*) asked at one time and none for long."""

    async def look(each: Debugger) -> AdapterInfo:
        looking = asyncio.to_thread(each.find, env, config.adapter(each.name))
        try:
            async with asyncio.timeout(_SURVEY_S):
                found: Found | Missing = await looking
        except TimeoutError:
            found = Missing(f"it did not tell its version within {_SURVEY_S:g} s")
        except OSError as error:
            found = Missing(f"it cannot be looked at: {error.strerror or error}")
        return _info(each, found)

    wanted = [each for each in known(config).values() if names is None or each.name in names]
    return tuple(await asyncio.gather(*map(look, wanted)))


def _info(adapter: Debugger, found: Found | Missing) -> AdapterInfo:
    here = found if isinstance(found, Found) else None
    claims = (*adapter.patterns, *(f"#! {word}" for word in adapter.shebangs), *adapter.binaries)
    return AdapterInfo(
        name=adapter.name,
        kind=adapter.kind,
        languages=adapter.languages,
        found=here is not None,
        version=here.version if here is not None else None,
        path=here.path if here is not None else None,
        tested=adapter.tested,
        note=found.reason if isinstance(found, Missing) else None,
        yours=adapter.yours,
        install=() if here is not None else adapter.install,
        claims=(*claims, "modules") if adapter.modules else claims,
    )


def _wish(name: str | None, config: Config) -> tuple[str | None, str]:
    """Return the debugger, or the way of talking to one, that a user names, and where."""
    if name is not None:
        return name or None, "named by --adapter"
    where = config.sources.get("defaults.adapter", "config.toml")
    return config.defaults.adapter or None, f"named by {where}"


def _kinds(config: Config) -> list[str]:
    """Return the ways of talking to debuggers, where they are no debugger's name."""
    there = known(config)
    return sorted({each.kind for each in there.values()} - set(there))


def _called(name: str, config: Config) -> Debugger:
    """Return the debugger of a name. Raises UsageError with those that there are."""
    there = known(config)
    if name in there:
        return there[name]
    for each in there.values():
        if name in each.aliases:
            return each
    ways = ", ".join(_kinds(config))
    raise UsageError(
        f"there is no debugger {name!r}; there are {', '.join(sorted(there))}, "
        f"and for the best one of a kind {ways}.",
        next="dbg adapters",
    )


def _named(name: str | None, env: Mapping[str, str], config: Config) -> Choice | None:
    named, reason = _wish(name, config)
    if named is None or named in _kinds(config):
        return None
    debugger = _called(named, config)
    return _first_found([(debugger, reason)], debugger.name, env, config)


def _of_kind(
    claims: list[tuple[Debugger, str]], name: str | None, what: str, config: Config
) -> list[tuple[Debugger, str]]:
    """Keep those that are spoken to in the way that the user names, where he names one."""
    named, reason = _wish(name, config)
    if named not in _kinds(config):
        return claims
    kept = [(each, f"{why}; {named} {reason}") for each, why in claims if each.kind == named]
    if claims and not kept:
        others = ", ".join(each.name for each, _ in claims)
        raise DebuggerMissing(
            f"none of the debuggers of kind {named} claims {os.path.basename(what) or what}; "
            f"others do: {others}.",
            next=f"dbg start PROGRAM --adapter {claims[0][0].name}",
        )
    return kept


def _check_fit(name: str | None, program: str, kind: str | None, config: Config) -> None:
    """Raise UsageError where a debugger is named for a program that is only others'.

    What nobody claims may be anything: whoever names a debugger for it may know.
    """
    named, _ = _wish(name, config)
    if named is None or named in _kinds(config):
        return
    debugger = _called(named, config)
    claims = list(_claims(program, (kind,) if kind is not None else None, config=config))
    if not claims or debugger.yours or any(each.name == debugger.name for each, _ in claims):
        return
    names = list(dict.fromkeys(each.name for each, _ in claims))
    what = os.path.basename(program.rstrip("/"))
    raise UsageError(
        f"{debugger.name} debugs {', '.join(debugger.languages)}, which {what} is not; "
        f"for it there are {', '.join(names)}.",
        next="dbg adapters",
    )


def _claims(
    program: str,
    kinds: Sequence[str] | None = None,
    *,
    read: bool = True,
    config: Config | None = None,
) -> Iterator[tuple[Debugger, str]]:
    base = os.path.basename(program)
    shebang = _shebang(program) if read else None
    package = kinds is None and os.path.isdir(program)
    if kinds is None:
        kinds = binary_kinds(program) if read and not package else ()
    for adapter in known(config).values():
        pattern = next((p for p in adapter.patterns if fnmatch.fnmatch(base, p)), None)
        if pattern is not None:
            yield adapter, f"{base} matches {pattern}"
        elif shebang is not None and any(shebang.startswith(word) for word in adapter.shebangs):
            yield adapter, f"its first line names {shebang}"
        elif not set(kinds).isdisjoint(adapter.binaries):
            yield adapter, f"{base} is a binary ({', '.join(kinds)}); {_order(kinds)}"
        elif package and adapter.modules:
            yield adapter, f"{base} is a package with a __main__.py"


def _order(kinds: Sequence[str]) -> str:
    """Return in which order debuggers of binaries are taken."""
    those = [each for each in known().values() if not set(kinds).isdisjoint(each.binaries)]
    names = [adapter.name for adapter in sorted(those, key=lambda each: each.rank)]
    return f"of {', '.join(names)} the first that is here"


def _first_found(
    claims: list[tuple[Debugger, str]],
    what: str,
    env: Mapping[str, str],
    config: Config,
    by_name: str = "dbg start PROGRAM --adapter NAME",
) -> Choice:
    missing: list[tuple[Debugger, str]] = []
    for adapter, reason in sorted(claims, key=lambda claim: claim[0].rank):
        found = adapter.find(env, config.adapter(adapter.name))
        if isinstance(found, Found):
            return Choice(adapter, found, reason, remarks=_better(adapter, missing))
        missing.append((adapter, found.reason))
    if missing:
        adapter, why = missing[0]
        raise DebuggerMissing(
            f"{what} needs {adapter.name}: {why}.",
            next=adapter.install[0] if adapter.install else "dbg doctor",
        )
    languages = sorted({lang for a in known().values() for lang in a.languages})
    raise DebuggerMissing(
        f"no debugger here claims {os.path.basename(what) or what}; "
        f"known languages: {', '.join(languages)}.",
        next=by_name,
    )


def _better(taken: Debugger, missing: Sequence[tuple[Debugger, str]]) -> tuple[str, ...]:
    """Name a debugger of the program's own language that is not here, where another was taken."""
    for debugger, why in missing:
        if set(debugger.languages).isdisjoint(taken.languages):
            how = f": {debugger.install[0]}" if debugger.install else ""
            return (f"{debugger.name} shows {debugger.languages[0]} better, but {why}{how}",)
    return ()


def _shebang(program: str) -> str | None:
    """Return the name of the interpreter in a script's first line."""
    try:
        first = files.read_head(program, 256).partition(b"\n")[0]
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode("utf-8", "replace").split()
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return os.path.basename(words[0]) if words else None
