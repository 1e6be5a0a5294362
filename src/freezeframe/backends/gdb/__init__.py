"""What every way to talk to gdb shares.

cxx_exceptions   asks `cxx_exceptions_agent`, which runs inside gdb, for a C++ exception
value_text       values as gdb prints them, shortened
forks_agent      runs inside gdb: detaches new processes, so that each gets its own gdb
rust_agent       likewise: paths in Rust syntax that gdb's evaluator does not support
rust_printers_agent
                 likewise: values of Rust's standard library
optimized_agent  likewise: the frames whose code is optimised
unset_agent      likewise: the variables that are not initialised yet, and the start of lines
expressions_agent
                 likewise: operators over what those two read, for expressions and conditions
cpp_agent        likewise: C++ standard library functions that gdb cannot call
locks_agent      likewise: the lock a thread waits for, and its holder
returned_agent   likewise: the value that a function returned, where gdb has a wrong one or none
sanitizers_agent likewise: what UBSan found, before it writes its report
output_agent     likewise: line-buffered C standard output
libc             addresses of symbols in a program's C library
"""

from __future__ import annotations

import os
import re

from freezeframe.backends import machine_code
from freezeframe.backends.fork_modes import ForkMode

#: what gdb can do about processes that the program forks
WAYS = (ForkMode.PARENT, ForkMode.BOTH, ForkMode.CHILD)
#: gdb's settings for each mode
FORKS = {
    ForkMode.PARENT: ("detach-on-fork on", "follow-fork-mode parent"),
    ForkMode.CHILD: ("detach-on-fork on", "follow-fork-mode child"),
    ForkMode.BOTH: ("detach-on-fork off", "follow-fork-mode parent"),
}
RUST_AGENT = os.path.join(os.path.dirname(__file__), "rust_agent.py")
RUST_PRINTERS_AGENT = os.path.join(os.path.dirname(__file__), "rust_printers_agent.py")
OPTIMIZED_AGENT = os.path.join(os.path.dirname(__file__), "optimized_agent.py")
UNSET_AGENT = os.path.join(os.path.dirname(__file__), "unset_agent.py")
EXPRESSIONS_AGENT = os.path.join(os.path.dirname(__file__), "expressions_agent.py")
CPP_AGENT = os.path.join(os.path.dirname(__file__), "cpp_agent.py")
FORKS_AGENT = os.path.join(os.path.dirname(__file__), "forks_agent.py")
OUTPUT_AGENT = os.path.join(os.path.dirname(__file__), "output_agent.py")
CXX_EXCEPTIONS_AGENT = os.path.join(os.path.dirname(__file__), "cxx_exceptions_agent.py")
LOCKS_AGENT = os.path.join(os.path.dirname(__file__), "locks_agent.py")
RETURNED_AGENT = os.path.join(os.path.dirname(__file__), "returned_agent.py")
SANITIZERS_AGENT = os.path.join(os.path.dirname(__file__), "sanitizers_agent.py")
#: prints what UBSan has found, at the function that it calls then
UNDEFINED = "python freezeframe_undefined()"
#: agents that are loaded for every program
AGENTS = (
    *machine_code.AGENTS,
    OPTIMIZED_AGENT,
    UNSET_AGENT,
    RUST_PRINTERS_AGENT,
    RUST_AGENT,
    CPP_AGENT,
    CXX_EXCEPTIONS_AGENT,
    EXPRESSIONS_AGENT,
    LOCKS_AGENT,
    RETURNED_AGENT,
    SANITIZERS_AGENT,
    OUTPUT_AGENT,
)
#: functions that a step does not enter: those of the standard libraries
SKIP = "skip -rfunction ^\\(std\\|__gnu_cxx\\|core\\|alloc\\|hashbrown\\)::"


#: parts of conditions that gdb's evaluator may refuse: calls, strings, elements, nested fields
_BEYOND_GDB = re.compile(r'["\[*!]|::|[\w>]\s*\(|\.\d|\bNone\b')


def condition(expression: str, *, rust: bool) -> str:
    """Return a breakpoint's condition as gdb is to test it, with the agents of `AGENTS` loaded."""
    # Operators of Rust take the targets of references, which are pointers to gdb.
    if _BEYOND_GDB.search(expression) is None and not rust:
        return expression
    packed = expression.encode()
    packed += bytes(-len(packed) % 3)
    numbers = (int.from_bytes(packed[i : i + 3], "big") for i in range(0, len(packed), 3))
    return f"$_freezeframe_holds({', '.join(map(str, numbers))})"


#: gdb's message for an expression whose call a breakpoint stopped, and ours after the unwinding
CALL_STOPPED = "stopped while in a function called from GDB"
CALL_ABANDONED = "a breakpoint stopped the function that it calls, so the call was abandoned"


def load_command(*agents: str) -> str:
    """Return the command that loads agents into gdb's Python.

    They are loaded as modules: compiled code is cached, each can import those before it, and of its
    names only those with our prefix are visible to commands.
    """
    return "; ".join(
        (
            "python import sys as _sys, importlib.util as _u",
            f"_p = {list(agents)!r}",
            "_s = [_u.spec_from_file_location(p[:-3].rpartition('/')[2], p) for p in _p]",
            "_m = [(s, _u.module_from_spec(s)) for s in _s]",
            "[(_sys.modules.update({s.name: m}), s.loader.exec_module(m), globals().update("
            "(n, v) for n, v in vars(m).items() if n.startswith('freezeframe_'))) for s, m in _m]",
        )
    )
