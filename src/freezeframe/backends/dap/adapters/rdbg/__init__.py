"""Ruby through the debug gem, which calls itself rdbg.

Its DAP server runs inside the program: we start the program with a file of ours before it, which
opens the gem's server at a socket in a private directory and mends it there (see the `_probe.rb`
files). A server that someone else opened (`rdbg --open`) is joined and mended the same way.
Measured with 1.4.0 on Ruby 3.1 and 1.9.2 on Ruby 3.3.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from freezeframe.backends.backend import (
    Attach,
    Core,
    Feature,
    Launch,
    Passed,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.dap.adapters._descriptor import (
    Adapter,
    Breakpoints,
    Dial,
    Expressions,
    Frames,
    Output,
    Plan,
    Raw,
    Socket,
    Spawn,
    Start,
    Surroundings,
    Values,
    Wired,
    as_dap,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.transport.ask import version
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, DebuggerMissing, Unsupported

from . import snapshots
from .snapshots import is_library

_INSTALL = "gem install debug"
_PROBE = "DEBUGGER__::Freezeframe"
#: the files that mend the gem, in the order in which they need one another
_PARTS = ("values", "places", "stops", "failures", "threads", "answers", "face")
_NO_GEM = "freezeframe-no-debug-gem: "
#: What is asked of an interpreter: the version of its debug gem.
_QUESTION = "require 'debug/version'; print DEBUGGER__::VERSION"

# --- finding it ----------------------------------------------------------------------------------


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    named = config.interpreter or config.path or "ruby"
    path = shutil.which(os.path.expanduser(named), path=env.get("PATH", os.defpath))
    if path is None:
        return Missing(f"there is no {named}")
    told = version((path, "-e", _QUESTION), r"\A\s*(\d[\w.]*)\s*\Z")
    if told is None:
        return Missing(f"{path} has no debug gem")
    return Found(path, told)


# --- how it is started ---------------------------------------------------------------------------


def _plan(target: Target, around: Surroundings) -> Plan:
    if isinstance(target, Core):
        raise Unsupported("Ruby has no core files to open.", next="dbg start PROGRAM")
    if isinstance(target, Attach):
        return _join(target)
    interpreter = _interpreter(target, around)
    socket = os.path.join(around.directory, "rdbg")
    env = {**target.env, "FREEZEFRAME_RUBY_SOCKET": socket}
    boot = os.path.join(os.path.dirname(__file__), "boot_probe.rb")
    options = (*around.config.args, *target.interpreter_args)
    argv = (interpreter, *options, "-r", boot, target.program, *target.args)
    arguments = {
        "stopOnEntry": target.stop_on_entry,
        "justMyCode": target.just_my_code,
        **target.options,
    }
    spawn = Spawn(argv, target.cwd, env, role="program")
    return Plan(Socket(socket), "launch", arguments, spawn, interpreter)


def _interpreter(target: Launch, around: Surroundings) -> str:
    named = target.interpreter or around.config.interpreter
    if named is None:
        return around.found.path
    found = shutil.which(os.path.expanduser(named), path=target.env.get("PATH", os.defpath))
    if found is None:
        raise DebuggerMissing(
            f"there is no interpreter {named}.", next="dbg start PROGRAM --interpreter PATH"
        )
    return found


def _join(target: Attach) -> Plan:
    # 1.9 runs these scripts and does not stop; 1.4 stops, and runs what it is asked to evaluate.
    arguments: dict[str, Any] = {
        "localfs": True,
        "nonstop": True,
        "justMyCode": target.just_my_code,
        "rdbgInitialScripts": [_take_over()],
        **target.options,
    }
    if target.host is not None and target.port is not None:
        return Plan(Dial(target.host, target.port), "attach", arguments)
    path = _socket_of(target.pid, target.env) if target.pid is not None else None
    if path is None:
        raise Unsupported(
            f"process {target.pid} has no debugger in it, and Ruby lets none in later.",
            next="rdbg --open --nonstop --port 12345 PROGRAM; dbg attach 127.0.0.1:12345",
        )
    return Plan(Socket(path), "attach", arguments)


def _socket_of(pid: int, env: Mapping[str, str]) -> str | None:
    """Return the socket that the gem opened in a process, by the names that it gives them."""
    temporary = env.get("TMPDIR") or "/tmp"
    places = [env.get("RUBY_DEBUG_SOCK_DIR"), env.get("XDG_RUNTIME_DIR")]
    for name in ("rdbg", "ruby-debug-sock"):
        places.append(os.path.join(temporary, f"{name}-{os.getuid()}"))
    for name in (".rdbg-sock", ".ruby-debug-sock"):
        places.append(os.path.join(env.get("HOME") or "/", name))
    for place in filter(None, places):
        for pattern in (f"*-{pid}", f"*-{pid}-*"):
            for file in sorted(Path(place).glob(pattern)):
                if file.is_socket():
                    return str(file)
    return None


def _take_over() -> str:
    """Return the expression that brings the probe into a program that was joined."""
    library = "$LOADED_FEATURES.grep(%r{/debug/session\\.rb\\z}).last"
    parts = [
        f'eval("{_encoded(name)}".unpack1("m").force_encoding("UTF-8"), TOPLEVEL_BINDING.dup, '
        f'File.join(File.dirname({library}), "freezeframe_{name}.rb"))'
        for name in _PARTS
    ]
    install = f"defined?({_PROBE}) or ({'; '.join(parts)})"
    return f"({install}; {_PROBE}.join)"


def _prime_stopped(target: Target) -> Sequence[str]:
    # The request after the first is still read by the gem's own code, which was waiting for it.
    return (_take_over(), f"({_PROBE}.join)") if isinstance(target, Attach) else ()


@functools.cache
def _encoded(name: str) -> str:
    return base64.b64encode(Path(__file__).with_name(f"{name}_probe.rb").read_bytes()).decode()


def _failure(words: str) -> DebuggerError | None:
    if _NO_GEM not in words:
        return None
    return DebuggerMissing("this Ruby has no debug gem.", next=_INSTALL)


# --- what is read back ---------------------------------------------------------------------------


def _wire(wanted: Sequence[WantedBreakpoint], log_channel: str | None) -> list[Wired]:
    """Give each condition the id that its failure is asked for by."""
    entries = as_dap(wanted, log_channel)
    for entry in entries:
        if entry.wanted.condition is not None:
            entry.fields["freezeframe"] = entry.wanted.id
    return entries


def _ask_passed(ids: Sequence[int]) -> str:
    return f"{_PROBE}.failures({', '.join(map(str, ids))})"


def _read_passed(text: str, ids: Sequence[int]) -> Passed:
    try:
        failures = json.loads(base64.b64decode(text.strip('"')))
    except ValueError:
        return Passed(tuple(ids))
    return Passed(tuple(ids), {int(id): why for id, why in failures.items()})


def _is_opaque(text: str, type: str | None) -> bool:
    return re.fullmatch(r"#<[\w:]+>", text) is not None


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
        Feature.WATCHPOINTS: "dbg break FILE:LINE -c 'EXPR'",
        Feature.JUMP: "dbg until LOC",
        Feature.MEMORY_READ: "dbg print 'EXPR.unpack1(\"H*\")'",
        Feature.MEMORY_WRITE: "dbg eval 'EXPR.replace(…)'",
        Feature.REGISTERS: "dbg locals",
        Feature.DISASSEMBLE: "dbg print 'RubyVM::InstructionSequence.of(method(:NAME)).disasm'",
        Feature.INSTRUCTION_STEP: "dbg step",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.SINGLE_THREAD: "dbg continue",
        Feature.STEP_BACK: "dbg restart",
    },
    start=Start(prime_stopped=_prime_stopped, read_failure=_failure),
    breakpoints=Breakpoints(wire=_wire, ask_passed=_ask_passed, read_passed=_read_passed),
    frames=Frames(
        is_library=is_library,
        ask_snapshot=lambda stacks: f"{_PROBE}.snapshot",
        read_snapshot=snapshots.read,
    ),
    values=Values(is_opaque=_is_opaque, returned_prefixes=("(return) ",)),
    expressions=Expressions(
        slice=lambda expression, start, end: f"({expression}).to_a[{start}...{end}]",
    ),
    raw=Raw(prefix=","),
    output=Output(chatter=lambda text: text.startswith("Ruby REPL: ")),
)
