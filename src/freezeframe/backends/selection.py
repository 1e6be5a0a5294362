"""Choose the debugger for a program, and say why.

Explicit name → FREEZEFRAME_DEBUGGER or config → the best one installed that claims the program.
In place of a name, a protocol (`dap`) selects the best debugger that uses it. An unknown name is an
error that lists the known ones.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from freezeframe import files
from freezeframe.config import Config
from freezeframe.errors import DebuggerMissing, NotFound, UsageError
from freezeframe.model.fast_dataclass import dataclass

from . import catalogue
from .backend import Backend
from .debugger import Debugger, Found
from .discovery import ADAPTERS, CONSOLES, is_offered
from .native import binary_kinds
from .path_mapping import PathMapping, mapped
from .transport import process_table


def known(config: Config | None = None) -> dict[str, Debugger]:
    """Return every debugger by name, the preferred ones first.

    With *config*, those defined there too; they replace built-in ones of the same name.
    """
    user_defined = _user_defined(config)
    if not user_defined:
        return _installed()
    combined = _installed() | {each.name: each for each in user_defined}
    return {each.name: each for each in sorted(combined.values(), key=lambda each: each.rank)}


def _user_defined(config: Config | None) -> list[Debugger]:
    """Return the debuggers defined in *config*."""
    if config is None or not config.adapters:
        return []
    from .dap.adapters._user_defined import adapter_of
    from .dap.described import debugger_of

    defined = [adapter_of(name, section) for name, section in config.adapters.items()]
    return [replace(debugger_of(each), user_defined=True) for each in defined if each is not None]


@functools.cache
def _installed() -> dict[str, Debugger]:
    built_in = {each.name: each for each in catalogue.read()}
    others = [each for each in _offered() if each.name not in built_in]
    ordered = sorted((*built_in.values(), *others), key=lambda each: each.rank)
    return {each.name: each for each in ordered}


def _offered() -> list[Debugger]:
    """Return the debuggers of other installed distributions."""
    found: list[Debugger] = []
    if is_offered(ADAPTERS):
        from .dap import adapters
        from .dap.described import debugger_of

        found += map(debugger_of, adapters.offered().values())
    if is_offered(CONSOLES):
        from .console import debuggers

        found += debuggers.offered().values()
    return found


@dataclass(frozen=True, slots=True)
class DebuggerChoice:
    """An installed debugger, and the reason why it was chosen."""

    debugger: Debugger
    found: Found
    reason: str
    #: the program of a process id, if known
    program: str | None = None
    #: notes for the user about the choice, or about the program
    remarks: tuple[str, ...] = ()
    #: path mapping of a program that runs elsewhere
    mapping: PathMapping | None = None

    def of(self, program: str | None) -> DebuggerChoice:
        """Return the choice with the debugger's note about the program."""
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
) -> DebuggerChoice:
    """Return the debugger for a program to start. Raises UsageError or DebuggerMissing.

    *language* is that of a module, and *kind* the kind of the program, if the caller knows more
    than the file shows.
    """
    if not module:
        _check_fit(name, program, kind, config)
    named = _named(name, env, config)
    if named is not None:
        return named.of(program)
    if module:
        candidates = [
            a
            for a in known(config).values()
            if a.modules and (language is None or language in a.languages)
        ]
        sure = [(a, f"it has {program}") for a in candidates if a.has_module(program, cwd, env)]
        claims = sure or [(a, "it starts modules") for a in candidates]
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


def choose_for_pid(
    pid: int, *, name: str | None, env: Mapping[str, str], config: Config, native: bool = False
) -> DebuggerChoice:
    """Return the debugger for a running process; *native*: for its machine code."""
    argv = process_table.command_line(pid)
    program = process_table.script(pid, argv)
    named = _named(name, env, config)
    if named is not None:
        path = process_table.executable(pid)
        if path is not None and not set(binary_kinds(path)).isdisjoint(named.debugger.binaries):
            program = path
        return DebuggerChoice(named.debugger, named.found, named.reason, program).of(program)
    # argv[0] can be anything; the executable cannot.
    names = [os.path.basename(path) for path in (*argv[:1], process_table.executable(pid)) if path]
    runtime = names[0] if names else ""
    claims = [
        (adapter, f"the process runs {name}")
        for adapter in known(config).values()
        for name in names
        if not native and any(name.startswith(word) for word in adapter.shebangs)
    ]
    what = f"process {pid} ({runtime or 'unknown'})"
    if not claims:
        path = process_table.executable(pid)
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
    return DebuggerChoice(choice.debugger, choice.found, choice.reason, program).of(program)


def choose_for_simulator(
    pid: int, *, name: str | None, env: Mapping[str, str], config: Config
) -> DebuggerChoice:
    """Return Xcode's debugger for a process in a simulator."""
    there = [each for each in known(config).values() if each.find_in_xcode is not None]
    names = ", ".join(each.name for each in there)
    named, reason = _requested_debugger(name, config)
    if named is None or named in _kinds(config):
        reason = f"the process runs in a simulator; of {names} the first that Xcode has"
        able = [each for each in there if named in (None, each.kind)]
    else:
        requested = _called(named, config)
        able = [each for each in there if each.name == requested.name]
    attach = "dbg attach --simulator NAME --bundle-id ID --adapter"
    if not able:
        raise UsageError(
            f"{named} has no way into simulators; {names} have.", next=f"{attach} {there[0].name}"
        )
    others = [each.name for each in there if each not in able]
    install = (f"{attach} {others[0]}" if others else "xcode-select --install",)
    # If several are installed, only Xcode's support its simulators.
    claims = [
        (replace(each, find=each.find_in_xcode or each.find, install=install), reason)
        for each in able
    ]
    choice = _first_found(claims, "a simulator", env, config)
    return replace(choice, program=process_table.executable(pid))


def choose_for_server(
    host: str, port: int, *, name: str | None, env: Mapping[str, str], config: Config
) -> DebuggerChoice:
    """Return the debugger for a debug server at a port.

    Without a name, the one whose server listens there, if known; else the first.
    """
    listening = process_table.listener(port) if host in ("127.0.0.1", "localhost", "::1") else None
    named = _named(name, env, config)
    if named is not None:
        program = process_table.traced_by(listening[0]) if listening is not None else None
        return replace(named, program=program)
    if listening is not None:
        pid, server = listening
        servers = [a for a in known(config).values() if server.startswith(a.debug_servers)]
        if servers:
            listens = [(a, f"{server} listens there") for a in servers]
            choice = _first_found(_of_kind(listens, name, server, config), server, env, config)
            return replace(choice, program=process_table.traced_by(pid))
    built_in = [each for each in known(config).values() if not each.user_defined]
    claims = [(each, "the first that attaches to servers") for each in built_in]
    claims = _of_kind(claims, name, "a debug server", config)
    return _first_found(claims, "a debug server", env, config)


def condition_problem(expression: str, path: str | None) -> str | None:
    """Return why a condition can never be evaluated, by the language of its file."""
    if path is None:
        return None
    for adapter, _ in _claims(path, read=False):
        return adapter.check_condition(expression)
    return None


def takes_source(path: str, *, name: str | None, config: Config) -> bool:
    """Whether the debugger that will be chosen runs a source file without a build."""
    named, _ = _requested_debugger(name, config)
    there = list(known(config).values())
    if named in _kinds(config):
        there = [each for each in there if each.kind == named]
    elif named is not None:
        there = [each for each in there if named in (each.name, *each.aliases)] or there
    base = os.path.basename(path)
    return any(fnmatch.fnmatch(base, pattern) for each in there for pattern in each.patterns)


def is_of_another_language(path: str, debugger: str, config: Config) -> bool:
    """Whether a source file is in a language of other debuggers only, and not of that one."""
    base = os.path.basename(path)
    there = known(config)
    takers = [
        each for each in there.values() if any(fnmatch.fnmatch(base, p) for p in each.patterns)
    ]
    if debugger not in there or not takers:
        return False
    languages = set(there[debugger].languages)
    return not any(languages.intersection(each.languages) for each in takers)


def is_runtime(program: str) -> bool:
    """Whether *program* is the runtime of a language (`python3.12`)."""

    def bare(name: str) -> str:
        return re.sub(r"[\d.]+$", "", os.path.basename(name))

    return any(bare(program) == bare(w) for a in known().values() for w in a.shebangs)


def runs_scripts(runtime: str, *, name: str | None, env: Mapping[str, str], config: Config) -> bool:
    """Whether the debugger that will be chosen debugs scripts of a runtime, not the runtime."""
    base = re.sub(r"[\d.]+$", "", os.path.basename(runtime))
    named, _ = _requested_debugger(name, config)
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


def _requested_debugger(name: str | None, config: Config) -> tuple[str | None, str]:
    """Return the debugger or protocol that the user names, and where they name it."""
    if name is not None:
        return name or None, "named by --adapter"
    source = config.sources.get("defaults.adapter", "config.toml")
    return config.defaults.adapter or None, f"named by {source}"


def _kinds(config: Config) -> list[str]:
    """Return the protocols that are not the name of a debugger."""
    there = known(config)
    return sorted({each.kind for each in there.values()} - set(there))


def _called(name: str, config: Config, reason: str = "") -> Debugger:
    """Return the debugger of a name. Raises UsageError with the known ones."""
    there = known(config)
    if name in there:
        return there[name]
    for each in there.values():
        if name in each.aliases:
            return each
    kinds = ", ".join(_kinds(config))
    raise UsageError(
        f"there is no debugger {name!r}{reason and f' ({reason})'}; "
        f"there are {', '.join(sorted(there))}, "
        f"and for the best one of a kind {kinds}.",
        next="dbg adapters",
    )


def _named(name: str | None, env: Mapping[str, str], config: Config) -> DebuggerChoice | None:
    named, reason = _requested_debugger(name, config)
    if named is None or named in _kinds(config):
        return None
    debugger = _called(named, config, "" if name is not None else reason)
    found = debugger.find(env, config.adapter(debugger.name))
    if isinstance(found, Found):
        return DebuggerChoice(debugger, found, reason)
    other = _substitute(debugger, env, config)
    how = debugger.install[0] if debugger.install else "dbg doctor"
    raise DebuggerMissing(
        f"{debugger.name}, {reason}, is not here: {found.reason}"
        + (f"; {other.name} would do." if other else "."),
        next=f"dbg start PROGRAM --adapter {other.name}" if other and name is None else how,
    )


def _substitute(missing: Debugger, env: Mapping[str, str], config: Config) -> Debugger | None:
    """Return the best installed debugger of the languages of one that is not."""
    for each in known(config).values():
        shared = not set(each.languages).isdisjoint(missing.languages)
        if (
            shared
            and each.name != missing.name
            and isinstance(each.find(env, config.adapter(each.name)), Found)
        ):
            return each
    return None


def problem_of_choice(
    env: Mapping[str, str], config: Config
) -> DebuggerMissing | UsageError | None:
    """Return why the debugger that a variable or the configuration names cannot be used."""
    try:
        _named(None, env, config)
    except (DebuggerMissing, UsageError) as error:
        return error
    return None


def _of_kind(
    claims: list[tuple[Debugger, str]], name: str | None, what: str, config: Config
) -> list[tuple[Debugger, str]]:
    """Keep the debuggers of the protocol that the user names, if they name one."""
    named, reason = _requested_debugger(name, config)
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
    """Raise UsageError if only other debuggers than the named one claim a program.

    A program that no debugger claims is left to the user's choice.
    """
    named, reason = _requested_debugger(name, config)
    if named is None or named in _kinds(config):
        return
    debugger = _called(named, config, "" if name is not None else reason)
    claims = list(_claims(program, (kind,) if kind is not None else None, config=config))
    if not claims or debugger.user_defined or any(each.name == debugger.name for each, _ in claims):
        return
    names = list(dict.fromkeys(each.name for each, _ in claims))
    what = os.path.basename(program.rstrip("/"))
    raise UsageError(
        f"{debugger.name}, {reason}, debugs {', '.join(debugger.languages)}, which {what} is not; "
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
    """Return the order in which debuggers of binaries are chosen, as text."""
    able = [each for each in known().values() if not set(kinds).isdisjoint(each.binaries)]
    names = [adapter.name for adapter in sorted(able, key=lambda each: each.rank)]
    return f"of {', '.join(names)} the first that is here"


def _first_found(
    claims: list[tuple[Debugger, str]],
    what: str,
    env: Mapping[str, str],
    config: Config,
    by_name: str = "dbg start PROGRAM --adapter NAME",
) -> DebuggerChoice:
    missing: list[tuple[Debugger, str]] = []
    for adapter, reason in sorted(claims, key=lambda claim: claim[0].rank):
        found = adapter.find(env, config.adapter(adapter.name))
        if isinstance(found, Found):
            return DebuggerChoice(adapter, found, reason, remarks=_better(adapter, missing))
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
    """Return a note about a better debugger for the language that is not installed."""
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
    argv = first[2:].decode("utf-8", "replace").split()
    if argv and os.path.basename(argv[0]) == "env":
        argv = [word for word in argv[1:] if not word.startswith("-") and "=" not in word]
    return os.path.basename(argv[0]) if argv else None
