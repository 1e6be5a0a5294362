"""The shape of the tree. Convention does not hold; a failing test does."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "freezeframe"
TESTS = ROOT / "tests"

#: layer → layers it may import; a layer may always import itself. Arrows point down only.
ALLOWED = {
    "model": set(),
    "errors": set(),
    # The only file that opens paths which another user named.
    "files": set(),
    # The only file that declares functions of Windows' own libraries.
    "windows": set(),
    # What backends and front ends share of the Debug Adapter Protocol and of loopback ports.
    "dap_framing": {"errors"},
    "loopback_peers": set(),
    "paths": {"errors", "windows"},
    "config": {"errors", "files", "model"},
    "render": {"errors", "model"},
    "backends": {
        *("errors", "files", "model", "config", "paths", "windows"),
        *("dap_framing", "loopback_peers"),
    },
    "session": {"errors", "files", "model", "config", "paths", "backends"},
    # A session calls its observer, and knows none of them.
    "history": {"errors", "files", "model", "config", "paths", "backends", "session"},
    # Between the commands and the sessions: answers from traces, sessions where one must step.
    "questions": {"errors", "files", "model", "config", "paths", "backends", "session"},
    # Test runners as data; ops/testing.py starts what they name.
    "runners": {"errors", "files", "model"},
    "ops": {
        "errors",
        "files",
        "model",
        "config",
        "paths",
        "backends",
        "session",
        "history",
        "questions",
        "runners",
    },
    # The server is given its handler, and so knows no operation.
    "daemon": {"errors", "files", "model", "config", "paths", "windows"},
    "frontends": {
        "errors",
        "files",
        "model",
        "config",
        "paths",
        "session",
        "history",
        "ops",
        "render",
        "daemon",
        "dap_framing",
        "loopback_peers",
    },
    # The client is one file that starts in no time: what it imports late is only the slow path.
    "client": {"daemon"},
    # The composition root.
    "__main__": {"*"},
    "__init__": set(),
}

#: inside backends: room or file → what of backends it may import
ALLOWED_IN_BACKENDS = {
    "backend": {"builds", "fork_modes", "raw_values"},
    "raw_values": set(),
    "snapshots": set(),
    "unwinding": set(),
    "fork_modes": set(),
    "gdb": {"fork_modes", "machine_code"},
    "transport": set(),
    "builds": {"transport"},
    "commands": {"builds", "python", "transport"},
    "background_tasks": set(),
    "capabilities": {"backend", "raw_values", "snapshots"},
    "lifetime": set(),
    "stop_machine": set(),
    "stop_router": {"stop_machine"},
    "thread_stops": set(),
    "program_io": {"transport"},
    "breakpoint_hits": {"backend"},
    "lock_waits": {"backend"},
    "discovery": set(),
    "request_channel": set(),
    "smoke_programs": set(),
    "simulators": {"transport"},
    "elf": set(),
    "debug_info": {"elf", "transport"},
    "optimization": {"elf", "raw_values"},
    "path_mapping": {"backend", "capabilities"},
    "javascript": set(),
    "php": {"backend"},
    "python": {"backend", "transport"},
    "debugger": {"backend", "fork_modes"},
    "native": {"backend", "native_tests", "transport"},
    "native_tests": set(),
    "process_starts": {"elf"},
    "panics": set(),
    "rust_symbols": {"native", "rust_v0_symbols"},
    "rust_v0_symbols": set(),
    "sanitizers": set(),
    "lldb": {
        "backend",
        "fork_modes",
        "machine_code",
        "native",
        "native_tests",
        "optimization",
        "transport",
    },
    "machine_code": set(),
    "catalogue": {"dap", "debugger", "fork_modes"},
    "selection": {
        "backend",
        "catalogue",
        "console",
        "dap",
        "debugger",
        "discovery",
        "native",
        "path_mapping",
        "transport",
    },
    "survey": {"debugger", "selection"},
    "dap": {
        "backend",
        "request_channel",
        "background_tasks",
        "capabilities",
        "lifetime",
        "stop_machine",
        "thread_stops",
        "program_io",
        "breakpoint_hits",
        "debugger",
        "discovery",
        "fork_modes",
        "gdb",
        "javascript",
        "lldb",
        "lock_waits",
        "native",
        "native_tests",
        "optimization",
        "panics",
        "rust_symbols",
        "sanitizers",
        "python",
        "snapshots",
        "unwinding",
        "debug_info",
        "transport",
    },
    "console": {
        "backend",
        "request_channel",
        "background_tasks",
        "capabilities",
        "lifetime",
        "stop_router",
        "program_io",
        "breakpoint_hits",
        "debugger",
        "discovery",
        "fork_modes",
        "gdb",
        "lldb",
        "lock_waits",
        "native",
        "native_tests",
        "optimization",
        "panics",
        "rust_symbols",
        "sanitizers",
        "php",
        "python",
        "snapshots",
        "unwinding",
        "transport",
    },
    "inspector": {
        "backend",
        "breakpoint_hits",
        "request_channel",
        "background_tasks",
        "capabilities",
        "lifetime",
        "thread_stops",
        "program_io",
        "debugger",
        "discovery",
        "fork_modes",
        "javascript",
        "snapshots",
        "transport",
        "unwinding",
    },
    "__init__": set(),
}

#: file → why time may pass there on purpose
SLEEPS = {
    "src/freezeframe/backends/python/signals_agent.py": "no event tells that a thread has left "
    "the debugger's code; it is looked at until it has",
    "src/freezeframe/backends/python/tracing/delays_agent.py": "delays are what it is for",
    "src/freezeframe/backends/transport/process_tree.py": "no event tells that others' "
    "children are gone; they are looked for until they are, bounded",
    "src/freezeframe/backends/transport/process_windows.py": "the same, for a job",
    "src/freezeframe/backends/transport/process_table.py": "no system tells an ordinary "
    "user that a process has started; the table is looked at until it has, bounded",
    "src/freezeframe/backends/transport/tcp.py": "a port that is not listened on yet tells nobody",
    "src/freezeframe/backends/transport/xcrun.py": "no event tells that an app has started in a "
    "simulator; its table is looked at until it has, bounded",
    "src/freezeframe/backends/transport/unix.py": "a socket that is not there yet tells nobody",
    "src/freezeframe/frontends/web/daemon_link.py": "no event tells that a daemon was started; its "
    "socket is looked at until it has been",
    "src/freezeframe/frontends/web/server.py": "events of one page are gathered for a moment",
    "src/freezeframe/daemon/cli_connection.py": "a client that waits is told every second that "
    "we live",
    "src/freezeframe/daemon/lifecycle.py": "flock can be waited for, but not with an end",
    "src/freezeframe/daemon/server.py": "the idle clock",
    "src/freezeframe/frontends/mcp/event_watcher.py": "a client is told this often at most, "
    "however often a program prints",
    "tests/harness/waits.py": "the bounded loop in which tests wait for a fact",
    "tests/backends/async_tests.py": "the same loop, for tests on an event loop",
    "tests/fake_adapter.py": "it plays a slow adapter: time between two halves of a message",
}

#: modules that are neither layer nor part of one, by exact path
GENERATED = {PACKAGE / "backends" / "dap" / "types.py"}
MAX_LINES = 500


@dataclass(frozen=True)
class Import:
    file: Path
    line: int
    module: str  # dotted, absolute
    top_level: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.module}"


# --- reading the tree ---------------------------------------------------------------------------


@cache
def sources() -> tuple[Path, ...]:
    return tuple(sorted(PACKAGE.rglob("*.py")))


class Facts(NamedTuple):
    """What the tests ask about a file, read in one pass.

    The tree is not kept: with those of six hundred files every collection of garbage in the same
    process takes a second.
    """

    imports: tuple[Import, ...]
    #: line and text of every string that the program could act on: docstrings are prose
    strings: tuple[tuple[int, str], ...]
    #: the strings that are given as `name=`
    names: tuple[str, ...]
    classes: tuple[str, ...]
    sleeps: tuple[int, ...]
    globals: tuple[int, ...]


@cache
def facts_of(file: Path) -> Facts:
    tree = ast.parse(file.read_text(), str(file))
    top = set(map(id, statements_at_import(tree.body)))
    kinds: dict[type[ast.AST], list[Any]] = defaultdict(list)
    for node in ast.walk(tree):
        kinds[type(node)].append(node)
    prose = {
        id(node.body[0].value)
        for kind in (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        for node in kinds[kind]
        if node.body and isinstance(node.body[0], ast.Expr)
    }
    return Facts(
        imports=tuple(
            Import(file, node.lineno, module, id(node) in top)
            for node in (*kinds[ast.Import], *kinds[ast.ImportFrom])
            for module in modules_of(node, file)
        ),
        strings=tuple(
            (node.lineno, node.value)
            for node in kinds[ast.Constant]
            if isinstance(node.value, str) and id(node) not in prose
        ),
        names=tuple(
            node.value.value
            for node in kinds[ast.keyword]
            if node.arg == "name"
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ),
        classes=tuple(node.name for node in kinds[ast.ClassDef]),
        sleeps=tuple(node.lineno for node in kinds[ast.Call] if sleeps(node)),
        globals=tuple(node.lineno for node in kinds[ast.Global]),
    )


def dotted(file: Path) -> str:
    """`…/freezeframe/ops/_registry.py` → `freezeframe.ops._registry`."""
    root = PACKAGE.parent if file.is_relative_to(PACKAGE) else ROOT
    parts = list(file.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(file: Path) -> tuple[Import, ...]:
    return facts_of(file).imports


def statements_at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that runs when the module is imported, but those for type checkers only."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from statements_at_import(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from statements_at_import(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from statements_at_import(handler.body)


def modules_of(node: ast.AST, file: Path) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = dotted(file).split(".")
            if file.name != "__init__.py":
                package = package[:-1]
            package = package[: len(package) - node.level + 1]
            base = ".".join([*package, *([node.module] if node.module else [])])
        # `from freezeframe import errors` names a module too.
        for alias in node.names:
            joined = f"{base}.{alias.name}"
            yield joined if is_module(joined) else base


@cache
def is_module(name: str) -> bool:
    if not name.startswith("freezeframe"):
        return False
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def part_of(module: str, depth: int) -> str:
    parts = module.split(".")
    return parts[depth] if len(parts) > depth else "__init__"


# --- arrows -------------------------------------------------------------------------------------


def test_arrows_point_down_only():
    wrong = []
    for file in sources():
        layer = "__init__" if file == PACKAGE / "__init__.py" else part_of(dotted(file), 1)
        assert layer in ALLOWED, f"{file.relative_to(ROOT)}: {layer} is no layer of the design"
        allowed = ALLOWED[layer] | {layer, "__init__"}
        for each in imports_of(file):
            if each.module.split(".")[0] != "freezeframe" or "*" in allowed:
                continue
            if part_of(each.module, 1) not in allowed:
                wrong.append(f"{each}; {layer} may import {sorted(ALLOWED[layer]) or 'nothing'}")
    assert not wrong, "\n".join(wrong)


def test_arrows_inside_backends_point_down_only():
    wrong = []
    for file in (PACKAGE / "backends").rglob("*.py"):
        room = part_of(dotted(file), 2)
        assert room in ALLOWED_IN_BACKENDS, f"{file.relative_to(ROOT)}: no such room"
        for each in imports_of(file):
            if not each.module.startswith("freezeframe.backends."):
                continue
            target = part_of(each.module, 2)
            if target not in ALLOWED_IN_BACKENDS[room] | {room, "__init__"}:
                wrong.append(str(each))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "name",
    [
        *("../dap_framing", "dap/messages", "dap/connection"),
        *("inspector/connection", "javascript/js_scanner", "inspector/breakpoint_conditions"),
    ],
)
def test_the_protocol_does_no_io(name):
    file = (PACKAGE / "backends" / f"{name}.py").resolve()
    doing_io = {"asyncio", "socket", "subprocess", "select", "selectors", "threading", "os"}

    wrong = [each for each in imports_of(file) if each.module.split(".")[0] in doing_io]

    assert not wrong, "\n".join(map(str, wrong))


def test_only_transport_starts_debuggers_and_opens_sockets():
    opening = {"socket", "_socket", "subprocess", "pty"}
    wrong = [
        str(each)
        for file in (PACKAGE / "backends").rglob("*.py")
        if "transport" not in file.parts and not is_agent(file)
        for each in imports_of(file)
        if each.module.split(".")[0] in opening
    ]
    assert not wrong, "\n".join(wrong)


def test_the_package_mcp_is_known_in_one_place():
    knows = {
        file.relative_to(PACKAGE).as_posix()
        for file in sources()
        for each in imports_of(file)
        if each.module.split(".")[0] in ("mcp", "mcp_types")
    }
    names = ("conformance", "errors", "server", "notifications", "skills")
    assert knows == {f"frontends/mcp/{name}.py" for name in names}


def test_the_client_starts_without_imports_that_cost_time():
    file = PACKAGE / "client.py"
    cheap = {"sys", "posix", "nt", "_socket"}

    wrong = [str(each) for each in imports_of(file) if each.top_level and each.module not in cheap]

    assert not wrong, "\n".join(wrong)


def is_agent(file: Path) -> bool:
    """Whether a file runs inside a program: `x_agent.py`, and what is in a folder `x_agent`."""
    return any(
        name == "agent" or name.endswith("_agent") for name in (file.stem, *file.parent.parts)
    )


def agent_files() -> list[Path]:
    return [file for file in sources() if is_agent(file)]


def test_what_runs_inside_a_program_imports_nothing_of_ours():
    """A program's interpreter has no freezeframe: an agent is text that is handed over to it."""
    wrong = [
        str(each)
        for file in agent_files()
        for each in imports_of(file)
        if each.module.split(".")[0] == "freezeframe"
    ]
    assert agent_files()
    assert not wrong, "\n".join(wrong)


def test_nobody_imports_what_runs_inside_a_program():
    """Its imports and its side effects belong to another process."""
    wrong = [
        str(each)
        for file in sources()
        if not is_agent(file)
        for each in imports_of(file)
        if any(name == "agent" or name.endswith("_agent") for name in each.module.split("."))
    ]
    assert not wrong, "\n".join(wrong)


# --- names --------------------------------------------------------------------------------------


def adapter_files() -> list[Path]:
    rooms = (
        PACKAGE / "backends" / "dap" / "adapters",
        PACKAGE / "backends" / "console" / "debuggers",
    )
    # A debugger is a file, or a folder when it has parts.
    return [
        file
        for room in rooms
        if room.is_dir()
        for file in sorted((*room.glob("*.py"), *room.glob("*/__init__.py")))
        if not is_agent(file) and (file.parent != room or not file.name.startswith("_"))
    ]


def owner_of(file: Path) -> str:
    """The debugger that an adapter file describes."""
    return file.parent.name if file.name == "__init__.py" else file.stem


def adapter_names() -> dict[str, str]:
    """Each form of a debugger's name → the file or folder that owns it."""
    names: dict[str, str] = {}
    for file in adapter_files():
        names[owner_of(file)] = owner_of(file)
        names[owner_of(file).replace("_", "-")] = owner_of(file)
        names |= dict.fromkeys(facts_of(file).names, owner_of(file))
    documented = PACKAGE / "backends" / "dap" / "adapters" / "documented.toml"
    return names | dict.fromkeys(tomllib.loads(documented.read_text())["adapters"], "_documented")


def test_a_debugger_s_name_stands_in_its_own_file_only():
    owners = adapter_names()
    # In an address or a path it is where another project's files are; in a prompt, what another
    # program prints.
    longest_first = "|".join(map(re.escape, sorted(owners, key=len, reverse=True)))
    named = re.compile(rf"(?<![\w/-])(?:{longest_first})(?![\w>-])")
    wrong = []
    for file in sources():
        # In commands a runtime's name is what a user types.
        if file in GENERATED or not {"commands", "runners"}.isdisjoint(file.parts):
            continue
        # The debugger's own file, a part of it beside it, or its folder.
        parts = {file.stem, *file.parts}
        wrong += [
            f"{file.relative_to(ROOT)}:{line} has {name!r} in {text[:60]!r}"
            for line, text in facts_of(file).strings
            for name in named.findall(text)
            if owners[name] not in parts and not file.stem.startswith(f"{owners[name]}_")
        ]
    assert not wrong, "\n".join(wrong)


def test_the_inspector_room_keeps_its_names_to_itself():
    """Another debugger may know the same runtime; no layer above may name one."""
    from freezeframe.backends.inspector import known

    wrong = [
        f"{file.relative_to(ROOT)}:{line} has {text!r}"
        for file in sources()
        # In commands it is what a user types: the runtime's own name.
        if {"inspector", "adapters", "debuggers", "commands", "runners"}.isdisjoint(file.parts)
        for line, text in facts_of(file).strings
        if text in known()
    ]
    assert known()
    assert not wrong, "\n".join(wrong)


def test_no_module_is_called_after_nothing():
    vague = re.compile(r"(manager|helper|util)s?", re.IGNORECASE)
    wrong = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in sources()
        if file not in GENERATED
        for name in facts_of(file).classes
        if vague.search(name)
    ]
    wrong += [str(file.relative_to(ROOT)) for file in sources() if vague.fullmatch(file.stem)]
    assert not wrong, "\n".join(wrong)


# --- time and size ------------------------------------------------------------------------------


def sleeps(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    name = call.func.id if isinstance(call.func, ast.Name) else name
    # sleep(0) gives way to others and waits for nothing.
    zero = len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and not call.args[0].value
    return name == "sleep" and not zero


def test_nobody_sleeps_without_a_reason():
    files = [*sources(), *TESTS.rglob("*.py")]
    wrong = [
        f"{file.relative_to(ROOT)}:{line} sleeps; wait for a fact"
        for file in files
        if file.relative_to(ROOT).as_posix() not in SLEEPS
        and TESTS / "programs" not in file.parents
        for line in facts_of(file).sleeps
    ]
    assert not wrong, "\n".join(wrong)


def test_every_reason_to_sleep_is_still_needed():
    unneeded = [name for name in SLEEPS if not facts_of(ROOT / name).sleeps]
    assert not unneeded


def test_no_file_outgrows_its_topic():
    lengths = {file: len(file.read_text().splitlines()) for file in sources()}
    wrong = [
        f"{file.relative_to(ROOT)}: {length} lines; split it by topic"
        for file, length in lengths.items()
        if length > MAX_LINES and file not in GENERATED
    ]
    assert not wrong, "\n".join(wrong)


def test_state_of_modules_is_a_registry_or_constant():
    """`global` is how a module's state changes; it is not needed."""
    wrong = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in sources()
        if not is_agent(file)
        for line in facts_of(file).globals
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_is_left_to_do_in_a_comment():
    mark = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    wrong = [
        f"{file.relative_to(ROOT)}:{token.start[0]} {token.string}"
        for file in sources()
        # Reading tokens takes ten times as long as the search.
        if file not in GENERATED and mark.search(file.read_text())
        for token in tokenize.generate_tokens(io.StringIO(file.read_text()).readline)
        if token.type == tokenize.COMMENT and mark.search(token.string)
    ]
    assert not wrong, "\n".join(wrong)


# --- the tests of the tests ---------------------------------------------------------------------


def test_an_import_is_read_wherever_it_stands(tmp_path, monkeypatch):
    file = PACKAGE / "session" / "imagined.py"
    code = "from ..ops import table\nfrom . import phase\ndef f():\n    import freezeframe.daemon\n"

    found = [
        module
        for node in ast.walk(ast.parse(code))
        for module in modules_of(node, file)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert [part_of(module, 1) for module in found] == ["ops", "session", "daemon"]


def test_a_debugger_s_name_is_found_in_a_string():
    assert adapter_names()
