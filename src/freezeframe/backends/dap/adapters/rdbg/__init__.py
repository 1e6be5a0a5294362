"""Ruby through the debug gem, also called rdbg.

The gem's DAP server runs inside the program: Freezeframe starts the program with an agent loaded
before it, which opens the server at a socket in a private directory and patches it (see the
`_agent.rb` files). A server that was opened by `rdbg --open` is attached to and patched the same
way. Measured with 1.4.0 on Ruby 3.1 and 1.9.2 on Ruby 3.3.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from freezeframe.backends.backend import (
    Attach,
    BreakpointRequest,
    Core,
    Feature,
    HitBreakpoints,
    Launch,
    Target,
)
from freezeframe.backends.breakpoint_hits import HitCondition, LogExpression, log_problem, read_log
from freezeframe.backends.dap.adapters._descriptor import (
    Adapter,
    AdapterBreakpoint,
    AdapterOutput,
    Breakpoints,
    Children,
    Connect,
    ConnectUnix,
    Expressions,
    Frames,
    LaunchEnvironment,
    Plan,
    Raw,
    Spawn,
    Start,
    Values,
    as_dap,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.fork_modes import PARENT_ONLY
from freezeframe.backends.transport.version_query import version
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, DebuggerMissing, Unsupported

from . import snapshots
from .agents import AGENT, install_expression
from .backend import RdbgBackend
from .snapshots import is_library

_INSTALL = "gem install debug"
_NO_GEM = "freezeframe-no-debug-gem: "
#: Run by an interpreter to print the version of its debug gem.
_VERSION_SCRIPT = "require 'debug/version'; print DEBUGGER__::VERSION"

# --- discovery -----------------------------------------------------------------------------------


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    named = config.interpreter or config.path or "ruby"
    path = shutil.which(os.path.expanduser(named), path=env.get("PATH", os.defpath))
    if path is None:
        return Missing(f"there is no {named}")
    found_version = version((path, "-e", _VERSION_SCRIPT), r"\A\s*(\d[\w.]*)\s*\Z")
    if found_version is None:
        return Missing(f"{path} has no debug gem")
    return Found(path, found_version)


# --- startup -------------------------------------------------------------------------------------


def _plan(target: Target, around: LaunchEnvironment) -> Plan:
    if isinstance(target, Core):
        raise Unsupported("Ruby has no core files to open.", next="dbg start PROGRAM")
    if isinstance(target, Attach):
        return _attach_plan(target)
    interpreter = _interpreter(target, around)
    socket = os.path.join(around.directory, "rdbg")
    env = {**target.env, "FREEZEFRAME_RUBY_SOCKET": socket}
    boot = os.path.join(os.path.dirname(__file__), "bootstrap_agent.rb")
    options = (*around.config.args, *target.interpreter_args)
    argv = (interpreter, *options, "-r", boot, target.program, *target.args)
    arguments = {
        "stopOnEntry": target.stop_on_entry,
        "justMyCode": target.just_my_code,
        **target.options,
    }
    spawn = Spawn(argv, target.cwd, env, role="program")
    return Plan(ConnectUnix(socket), "launch", arguments, spawn, interpreter)


def _interpreter(target: Launch, around: LaunchEnvironment) -> str:
    named = target.interpreter or around.config.interpreter
    if named is None:
        return around.found.path
    found = shutil.which(os.path.expanduser(named), path=target.env.get("PATH", os.defpath))
    if found is None:
        raise DebuggerMissing(
            f"there is no interpreter {named}.", next="dbg start PROGRAM --interpreter PATH"
        )
    return found


def _attach_plan(target: Attach) -> Plan:
    # 1.9 runs these scripts and does not stop; 1.4 stops, and evaluates expressions.
    arguments: dict[str, Any] = {
        "localfs": True,
        "nonstop": True,
        "justMyCode": target.just_my_code,
        "rdbgInitialScripts": [install_expression()],
        **target.options,
    }
    if target.host is not None and target.port is not None:
        return Plan(Connect(target.host, target.port), "attach", arguments)
    path = _socket_of(target.pid, target.env) if target.pid is not None else None
    if path is None:
        raise Unsupported(
            f"process {target.pid} has no debugger loaded, and Ruby cannot load one later.",
            next="rdbg --open --nonstop --port 12345 PROGRAM; dbg attach 127.0.0.1:12345",
        )
    return Plan(ConnectUnix(path), "attach", arguments)


def _socket_of(pid: int, env: Mapping[str, str]) -> str | None:
    """Return the socket that the gem opened in a process, by the gem's naming scheme."""
    temporary = env.get("TMPDIR") or "/tmp"
    directories = [env.get("RUBY_DEBUG_SOCK_DIR"), env.get("XDG_RUNTIME_DIR")]
    for name in ("rdbg", "ruby-debug-sock"):
        directories.append(os.path.join(temporary, f"{name}-{os.getuid()}"))
    for name in (".rdbg-sock", ".ruby-debug-sock"):
        directories.append(os.path.join(env.get("HOME") or "/", name))
    for directory in filter(None, directories):
        for pattern in (f"*-{pid}", f"*-{pid}-*"):
            for file in sorted(Path(directory).glob(pattern)):
                if file.is_socket():
                    return str(file)
    return None


def _raw_error(answer: str) -> str | None:
    found = re.match(r"(?:eval error: |\*\*\* )([^\n]*)", answer)
    return found[1] if found else None


def _failure(output: str) -> DebuggerError | None:
    if _NO_GEM not in output:
        return None
    return DebuggerMissing("this Ruby has no debug gem.", next=_INSTALL)


# --- breakpoints and values ----------------------------------------------------------------------


def _encode(
    requests: Sequence[BreakpointRequest], log_channel: str | None
) -> list[AdapterBreakpoint]:
    """Give each condition the id by which its failure is queried; parse what the agent counts and
    writes."""
    entries = as_dap(requests, log_channel)
    for entry in entries:
        if entry.request.hit_count is not None:
            hit_condition = HitCondition.parse(entry.request.hit_count)
            entry.fields["hitCondition"] = hit_condition.expression("count")
        if entry.request.log is not None:
            entry.fields["freezeframeLog"] = _read_log(entry.request.log)
        if entry.request.condition is not None:
            entry.fields["freezeframe"] = entry.request.id
    return entries


def _read_log(message: str) -> list[str | LogExpression]:
    return read_log(message, quotes="\"'")


def _hit_query(ids: Sequence[int]) -> str:
    return f"{AGENT}.failures({', '.join(map(str, ids))})"


def _read_passed(text: str, ids: Sequence[int]) -> HitBreakpoints:
    try:
        failures = json.loads(base64.b64decode(text.strip('"')))
    except ValueError:
        return HitBreakpoints(tuple(ids))
    return HitBreakpoints(tuple(ids), {int(id): why for id, why in failures.items()})


def _is_opaque(text: str, type: str | None) -> bool:
    return re.fullmatch(r"#<[\w:]+>", text) is not None


def _slice(expression: str, start: int, end: int) -> str:
    """Return an expression for some entries of a hash, or elements under their indices."""
    part = f"x.to_a[{start}...{end}].to_a"
    indexed = f"{part}.each_with_index.to_h {{ |v, i| [i + {start}, v] }}"
    return f"->(x) {{ x.is_a?(Hash) ? {part}.to_h : {indexed} }}.call(({expression}))"


ADAPTER = Adapter(
    name="rdbg",
    adapter_id="rdbg",
    languages=("Ruby",),
    patterns=("*.rb", "*.ru", "*.rake", "Rakefile", "Gemfile"),
    shebangs=("ruby",),
    install=(_INSTALL, "apt install ruby", "brew install ruby"),
    find=_find,
    plan=_plan,
    rank=10,
    servers=("ruby", "rdbg"),
    probe_program=(".rb", "puts 'probe'\n"),
    hints={
        Feature.JUMP: "dbg until LOC",
        Feature.MEMORY_READ: "dbg print 'EXPR.unpack1(\"H*\")'",
        Feature.MEMORY_WRITE: "dbg eval 'EXPR.replace(…)'",
        Feature.DISASSEMBLE: "dbg print 'RubyVM::InstructionSequence.of(method(:NAME)).disasm'",
    },
    children=Children(fork_modes=PARENT_ONLY),
    backend=RdbgBackend,
    start=Start(read_failure=_failure),
    breakpoints=Breakpoints(
        encode=_encode,
        check_log=lambda message: log_problem(message, _read_log),
        hit_query=_hit_query,
        read_passed=_read_passed,
    ),
    frames=Frames(
        is_library=is_library,
        snapshot_query=lambda stacks, _waits: f"{AGENT}.snapshot",
        read_snapshot=snapshots.read,
    ),
    values=Values(is_opaque=_is_opaque, returned_prefixes=("(return) ",)),
    expressions=Expressions(
        slice=_slice,
    ),
    raw=Raw(prefix=",", read_error=_raw_error),
    output=AdapterOutput(is_noise=lambda text: text.startswith("Ruby REPL: ")),
)
