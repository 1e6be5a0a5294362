"""What every way to talk to LLDB shares: setup commands, and parsers for LLDB's texts.

formatters_agent       runs inside LLDB: replaces formatters of LLDB that are wrong or crash
rust_formatters_agent  likewise, for the formatters of the Rust toolchain
rust_trees_agent       likewise: entries of B-trees, and trait objects by their dynamic type
rust_pointers_agent    likewise: contents of boxes and shared slices
expression_values_agent  likewise: the operands of such expressions
expressions_agent      evaluates expressions of Rust, and of C++ that LLDB cannot
thread_plans_agent     likewise: discards interrupted steps, refreshes stale stacks
multi_location_agent   likewise: a breakpoint on a line stops once, where the line begins
function_code_agent    likewise: functions for the rules of `machine_code`, uninitialised variables
output_agent           likewise: line-buffered C standard output
cxx_exceptions_agent   likewise: a C++ exception that is thrown or caught
lock_owner_agent       likewise: the thread that holds a mutex
returned_agent         likewise: a function's return value where a breakpoint hides it
optimized              parses the answers of `optimized_agent` about optimised code
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from freezeframe.backends import machine_code, native_tests
from freezeframe.backends.backend import BreakpointRequest, Core, RawValue, Target
from freezeframe.backends.fork_modes import ForkMode
from freezeframe.backends.native import is_dependency, is_rust
from freezeframe.backends.native import remark as native_remark
from freezeframe.backends.transport.version_query import kept_answer
from freezeframe.errors import EvaluationFailed
from freezeframe.model.stops import ExceptionFilter, Exit

from . import optimized as optimized

# --- setup --------------------------------------------------------------------------------------

_HERE = os.path.dirname(__file__)
_AGENT = os.path.join(_HERE, "formatters_agent.py")
_RUST_AGENT = os.path.join(_HERE, "rust_formatters_agent.py")
_RUST_TREES_AGENT = os.path.join(_HERE, "rust_trees_agent.py")
_RUST_POINTERS_AGENT = os.path.join(_HERE, "rust_pointers_agent.py")
_EXPRESSIONS_AGENT = os.path.join(_HERE, "expressions_agent.py")
_THREADS_AGENT = os.path.join(_HERE, "thread_plans_agent.py")
#: the commands that `thread_plans_agent` adds
FORGET_STEPS = "freezeframe-forget-steps"
FRESH_FRAMES = "freezeframe-fresh-frames"
BREAKPOINTS_HERE = "freezeframe-breakpoints-here"
_OPTIMIZED_AGENT = os.path.join(_HERE, "optimized_agent.py")
_MULTI_LOCATION_AGENT = os.path.join(_HERE, "multi_location_agent.py")
_FUNCTION_CODE_AGENT = os.path.join(_HERE, "function_code_agent.py")
#: prints the names of a frame's variables that are not initialised yet
UNSET = "freezeframe-unset"
_OUTPUT_AGENT = os.path.join(_HERE, "output_agent.py")
_RETURN_REGISTERS_AGENT = os.path.join(_HERE, "return_registers_agent.py")
_RETURNED_AGENT = os.path.join(_HERE, "returned_agent.py")
_LOCK_OWNER_AGENT = os.path.join(_HERE, "lock_owner_agent.py")
_CXX_EXCEPTIONS_AGENT = os.path.join(_HERE, "cxx_exceptions_agent.py")
#: takes `throw` or `catch` and the arguments of the runtime's function, prints the exception
THROWN = "freezeframe-thrown"
#: takes the id of a thread that waits for a mutex, prints that of the thread that holds it
LOCK_OWNER = "freezeframe-lock-owner"
#: the commands that `returned_agent` adds: before a step out, and after it
EXPECT_RETURNED, RETURNED = "freezeframe-expect-returned", "freezeframe-returned"
#: the answer to the latter where LLDB's own value is wrong and the right one cannot be read
UNKNOWN_RETURNED = "unknown"
#: before the launch: makes the output of a C program appear at its stops, although it is piped
OUTPUT_BY_LINE = "freezeframe-output-by-line"
#: Rust's libraries, as its two mangling schemes name them: not stepped into
_RUST_LIBRARIES = r"^(<|_\$LT\$|_?&|\[)*(std|core|alloc|hashbrown|gimli|miniz_oxide)(::|\.\.)"


#: LLDB debugs one process: the other one runs on without a debugger
FORKS = (ForkMode.PARENT, ForkMode.CHILD)


def first_commands(target: Target) -> list[str]:
    """Return the commands that configure LLDB for a target."""
    commands = [
        "settings set target.inline-breakpoint-strategy always",
        "settings set target.process.stop-on-exec false",
        f'command script import "{_AGENT}"',
        f'command script import "{_THREADS_AGENT}"',
        *(f'command script import "{agent}"' for agent in machine_code.AGENTS),
        f'command script import "{_OPTIMIZED_AGENT}"',
        f'command script import "{_FUNCTION_CODE_AGENT}"',
        f'command script import "{_MULTI_LOCATION_AGENT}"',
        f'command script import "{_OUTPUT_AGENT}"',
        f'command script import "{_RETURN_REGISTERS_AGENT}"',
        f'command script import "{_RETURNED_AGENT}"',
        f'command script import "{_LOCK_OWNER_AGENT}"',
        f'command script import "{_CXX_EXCEPTIONS_AGENT}"',
        f'command script import "{_EXPRESSIONS_AGENT}"',
    ]
    if not isinstance(target, Core) and target.forks is ForkMode.CHILD:
        commands.append("settings set target.process.follow-fork-mode child")
    program = target.program
    if program is not None and is_rust(program):
        commands += _rust_commands(target.env.get("PATH", os.defpath))
    return commands


def remark(program: str) -> str | None:
    """Warn about what LLDB shows wrongly: missing debug information, code optimised by gcc."""
    if (missing := native_remark(program)) is not None or not os.path.isfile(program):
        return missing
    return optimized.remark(program)


def surroundings(env: Mapping[str, str], path: str) -> dict[str, str]:
    """Return the environment for an LLDB at *path* itself.

    Its Python takes the first `python3` on PATH for itself: in an active virtual environment of the
    same version it misses what it needs (LLDB 14: `six`).
    """
    own = dict.fromkeys(
        (os.path.dirname(path), os.path.dirname(os.path.realpath(path)), "/usr/bin")
    )
    rest = env.get("PATH", os.defpath)
    kept = {key: value for key, value in env.items() if key not in ("VIRTUAL_ENV", "PYTHONHOME")}
    return {**kept, "PATH": os.pathsep.join([*own, rest])}


#: SIGINT is LLDB's own interrupt; the program must receive its own SIGINT all the same
SIGNALS = (
    "process handle SIGINT --pass true --stop true --notify true",
    # Go's runtime preempts its threads with it all the time; otherwise it has no effect.
    "process handle SIGURG --pass true --stop false --notify false",
)


def once_a_pass(
    requests: Mapping[int, Sequence[BreakpointRequest]],
    prune: bool,
    hooked: Collection[int] = (),
) -> str | None:
    """Return the command that makes breakpoints on lines stop once, where the line begins, by
    `multi_location_agent`.

    The callbacks of the breakpoints in *hooked* are already in use. With *prune*, breakpoints that
    replace a removed one are removed, also where there are no requests.
    """
    arguments = []
    for number, all in requests.items():
        on_line = any(each.location.line is not None for each in all)
        conditions = {each.condition for each in all}
        condition = conditions.pop() if len(conditions) == 1 else None
        packed = f":if={condition.encode().hex()}" if condition is not None else ""
        hook = ":hooked" if number in hooked else ""
        arguments.append(f"{number}{':line' if on_line else ''}{hook}{packed}")
    return " ".join(("freezeframe-once-a-pass", *arguments)) if arguments or prune else None


def read_replaced(answer: str) -> dict[int, tuple[int, ...]]:
    """Return the numbers of the breakpoints that replace others, by the numbers of those."""
    try:
        return {int(number): tuple(others) for number, others in json.loads(answer).items()}
    except ValueError:
        return {}


def _rust_commands(path: str) -> list[str]:
    commands = [
        f"settings set target.process.thread.step-avoid-regexp '{_RUST_LIBRARIES}'",
    ]
    root = sysroot(path)
    if root is None:
        return commands
    library = os.path.join(root, "lib", "rustlib")
    if os.path.exists(os.path.join(library, "etc", "lldb_lookup.py")):
        commands += [
            f'command script import "{library}/etc/lldb_lookup.py"',
            f'command source -s 1 "{library}/etc/lldb_commands"',
            f'command script import "{_RUST_AGENT}"',
            f'command script import "{_RUST_TREES_AGENT}"',
            f'command script import "{_RUST_POINTERS_AGENT}"',
        ]
    return commands


def sysroot(path: str) -> str | None:
    rustc = shutil.which("rustc", path=path)
    if rustc is None:
        return None
    return (kept_answer((rustc, "--print", "sysroot"), timeout_s=10) or "").strip() or None


# --- stops --------------------------------------------------------------------------------------

_SIGNAL = re.compile(r"(?:signal )?(SIG\w+)(?:: (.*))?")


def read_signal(description: str) -> tuple[str, str] | None:
    """Return a signal's name, and the name with LLDB's description; None for no signal."""
    match = _SIGNAL.match(description)
    if match is None:
        return None
    return match[1], f"{match[1]}: {_fault(match[2])}" if match[2] else match[1]


#: LLDB's descriptions of fault codes → ours
_FAULTS = {
    "address not mapped to object": "no memory",
    "invalid permissions for mapped object": "no permission",
    "address access protected": "no permission",
    "sent by kernel (SI_KERNEL)": "no valid address",
    "illegal address": "nothing behind the mapping",
    "illegal alignment": "not aligned",
}


def _fault(text: str) -> str:
    what, _, address = text.partition(" (fault address=")
    plain = _FAULTS.get(what, what)
    return f"{plain} at address {address.rstrip(')')}" if address else plain


_ADDRESS_OF_FAULT = re.compile(r"\bsi_addr = 0x0*([0-9a-f]+)")


def siginfo_command(description: str) -> str | None:
    """Return the command that prints the address of a fault if LLDB omits it."""
    return (
        "thread siginfo" if description.startswith("SIGBUS: ") and "0x" not in description else None
    )


def with_address(description: str, siginfo: str) -> str:
    found = _ADDRESS_OF_FAULT.search(siginfo)
    return f"{description} at address 0x{found[1]}" if found is not None else description


_LAST_PACKET = re.compile(r"read packet: \$([WX])([0-9a-f]+)")


def read_exit(text: str) -> Exit | None:
    packets = _LAST_PACKET.findall(text)
    if not packets:
        return None
    kind, number = packets[-1][0], int(packets[-1][1], 16)
    if kind == "W":
        return Exit(code=number)
    try:
        return Exit(signal=signal.Signals(number).name)
    except ValueError:
        return Exit(signal=f"signal {number}")


def is_library(path: str) -> bool:
    """Whether a file or a module is not the user's."""
    if not os.path.isabs(path) or path.startswith(("/usr/", "/build/", "/rustc/", "/lib")):
        return True
    return is_dependency(path)


#: signals that terminate a program and mean that it is broken
_FATAL = "SIGSEGV SIGABRT SIGBUS SIGFPE SIGILL SIGSYS"


def own_filters(target: Target) -> tuple[ExceptionFilter, ...]:
    """Return the filters that LLDB supports besides C++ exceptions."""
    rust = target.program is not None and is_rust(target.program)
    return (
        ExceptionFilter("panic", "Rust panics", default=rust),
        ExceptionFilter("signal", "signals that end a program", default=True),
        *native_tests.filters_of(target.program),
    )


def handle_fatal(names: Collection[str]) -> str:
    """Return the command that makes fatal signals stop the program, or not."""
    stop = "true" if "signal" in names else "false"
    return f"process handle --stop {stop} --notify {stop} --pass true {_FATAL}"


#: numbered fields of Rust's tuples: LLDB parses `.1` as a fraction
_NUMBERED = re.compile(r"(?<![\w.])((?:[A-Za-z_]\w*|\.|::|->|\[\w*\])+?)((?:\.\d+)+)(?![\w])")


def written(target: Target, expression: str) -> str:
    """Return an expression with fields of Rust's tuples under LLDB's names for them."""
    if target.program is None or '"' in expression or not is_rust(target.program):
        return expression
    before = None
    while before != expression:
        before = expression
        expression = _NUMBERED.sub(lambda m: m[1] + m[2].replace(".", ".__"), expression)
    return expression


#: an index or an operator of Rust: LLDB would apply those of C, to the address of a reference
_OF_C = re.compile(r"\[|[-+*/%<>!]|==|&&|\|\|")


def is_misread(expression: str) -> bool:
    """Whether LLDB may evaluate an expression of Rust as one of C with another value."""
    return _OF_C.search(expression) is not None


def resolve_command(expression: str, *, only_rust: bool = False) -> str:
    """Return the command that reads an expression that LLDB cannot, by `expressions_agent`."""
    return f"freezeframe-expression {expression.encode().hex()}{' rust' * only_rust}"


def read_resolved(answer: str) -> str | None:
    """Return an expression of LLDB with the same value; None if there is none.

    Raises EvaluationFailed if the expression has no value.
    """
    try:
        found = json.loads(answer)
    except ValueError:
        return None
    if "error" in found:
        raise EvaluationFailed(str(found["error"]))
    return str(found["expression"]) if "expression" in found else None


_BARE_ADDRESS = re.compile(r"0x[0-9a-f]+(?: \{.*)?", re.DOTALL)


def is_address(text: str | None) -> bool:
    """Whether LLDB's text of a value is that of a pointer, and of nothing that tells its target."""
    return text is not None and _BARE_ADDRESS.fullmatch(text) is not None


def read_lvalue(answer: str) -> str | None:
    """Return an expression of LLDB for the memory of the value; None if there is none.

    Raises EvaluationFailed if the expression has no value, or no memory that LLDB can write.
    """
    if read_resolved(answer) is None:
        return None
    lvalue = json.loads(answer).get("lvalue")
    if lvalue is None:
        raise EvaluationFailed("only numbers, characters and truth values in memory can be changed")
    return str(lvalue)


def generic_function(name: str) -> str:
    """Return a pattern for a function that LLDB does not find by the user's name for it.

    A generic one, or one of C++ with an ABI tag: `greeting[abi:cxx11]()` returns a std::string.
    """
    plain = rf"(^|::){re.escape(name)}(<.*>)?(::h[0-9a-f]+)?$"
    plain += rf"|(^|::){re.escape(name)}(\[abi:[a-z0-9_]+\])+(\(.*)?$"
    owner, joint, method = name.rpartition("::")
    if not joint:
        return plain
    # A trait's name matches each implementation: `<shop::Square as shop::Shape>::area`.
    trait = re.escape(owner.rpartition("::")[2])
    blank, end = r"( |\$u20\$)", r"(>|\$GT\$)"
    of_trait = (
        rf"{blank}as{blank}([^ ]*(::|\.\.))?{trait}{end}::{re.escape(method)}(::h[0-9a-f]+)?$"
    )
    return f"{plain}|{of_trait}"


# --- values -------------------------------------------------------------------------------------

ADDRESS = re.compile(r"\b0x0+([0-9a-f]+)\b")
#: the summary of a container, and of a reference to one
_COUNT = re.compile(r"(?:(0x[0-9a-f]+) )?size=(\d+)")
#: `Cart *const` is a pointer too
_FIXED = re.compile(r"( ?\b(const|volatile|restrict|__restrict))+$")
_ARRAY = re.compile(r"[^\[(]+\[(\d+)\]")
#: a pointer or a reference to an array: `int (&)[4]`
_TO_ARRAY = re.compile(r"\([*&]+\)\[")
#: summaries of Rust's Rc, Arc and RefCell: reference counts instead of contents
_HELD = re.compile(r"strong=\d+, weak=\d+|borrow(_mut)?=\d+")
_RUST_CHAR = re.compile(r"(?:U\+0x[0-9a-f]+ )+U('(?:\\.|.)[^']*')", re.DOTALL)
#: summaries of C++'s shared pointers (keep the address) and variants (keep nothing)
_SHARED = re.compile(r".* @ (0x[0-9a-f]+)(?: (?:strong|weak)=\d+)*|\s*Active Type = .*", re.DOTALL)
#: the summary of an optional, and of a reference to one
_OPTIONAL = re.compile(r"\s*(?:(0x[0-9a-f]+)\s+)?Has Value=(true|false)\s*")
_MEMBERS = re.compile(r"(?:(0x[0-9a-f]+) )?\{.*\}", re.DOTALL)
_UNREADABLE = re.compile(r"read memory from (0x[0-9a-f]+) failed")
#: pointers whose target says less than the pointer's own text
_PLAIN_POINTER = re.compile(r"(char|void|uchar|signed char|unsigned char|wchar_t|\(.*)\W*\*")
OPTIMIZED_OUT = re.compile(r"not available|DW_OP|no location|optimized out")


def enriched(value: RawValue) -> RawValue:
    """Shorten addresses; mark values as expandable that show only a type, a size or an address."""
    text = value.text
    if value.name == "<error>":
        # LLDB's placeholder for all variables, if the compiler wrote only line tables (-g1).
        return _failed(replace(value, name="variables"), text)
    if text.startswith(("<error:", "error:")) or text == "Summary Unavailable":
        return _failed(value, text)
    before, quote, after = text.partition('"')
    text = ADDRESS.sub(lambda m: f"0x{m[1]}", before) + quote + after
    text = _RUST_CHAR.sub(lambda m: m[1], text)
    if text.endswith("<parent is NULL>"):
        text = text.split()[0]
    if (optional := _OPTIONAL.fullmatch(text)) is not None:
        text = optional[1] or "" if optional[2] == "true" else "nullopt"
    if value.ref and (shared := _SHARED.fullmatch(text)) is not None:
        text = shared[1] or ""
    kind = _FIXED.sub("", value.type or "")
    if value.ref and (members := _MEMBERS.fullmatch(text)) is not None:
        # A few of its members, made for logpoints: expanding the value shows all of them.
        text = members[1] or kind
    bare = re.sub(r"^(const |volatile |struct |class |union |enum )+", "", kind)
    count = _COUNT.fullmatch(text)
    # LLDB's adapters give the length of an array for variables only, not for expressions.
    length = _ARRAY.match(kind) if value.ref and not text.startswith('"') else None
    if count is not None and count[1] and count[2] != "0":
        text = count[1]
    pointer = re.fullmatch(r"0x[0-9a-f]+", text) is not None
    if pointer and re.search(r"(unique|shared|weak)_ptr<|^(alloc::boxed::Box<|&(mut )?)dyn ", bare):
        opaque = True
    elif pointer and (kind.endswith(("*", "&")) or _TO_ARRAY.search(kind)):
        opaque = not _PLAIN_POINTER.match(bare) and not kind.endswith("**")
    else:
        opaque = text in ("", kind, bare, "{...}") or count is not None
        opaque = opaque or _HELD.fullmatch(text) is not None
    # A null pointer has children too, each of them an error.
    ref = 0 if text in ("0x0", "nullopt") else value.ref
    return replace(
        value,
        text=text,
        ref=ref,
        opaque=opaque and ref != 0,
        whole=text.startswith('"'),
        count=int(count[2]) if count else int(length[1]) if length else value.count,
    )


def _failed(value: RawValue, text: str) -> RawValue:
    message = re.sub(r"^<?error: |>$", "", text).strip()
    if message == "could not get size of type void":
        return replace(value, text="()", type="()", ref=0)  # Rust's unit type
    if OPTIMIZED_OUT.search(message):
        return replace(value, text="<optimized out>", ref=0)
    if (unreadable := _UNREADABLE.search(message)) is not None:
        message = f"no memory at {ADDRESS.sub(lambda m: f'0x{m[1]}', unreadable[1])}"
    return replace(value, text=message, failed=True, ref=0)


#: LLDB's message for an expression that reads through a bad pointer
_LEADS_NOWHERE = re.compile(r"couldn't read (its|from) memory")


#: maximum messages of one expression: the first may follow from another
_MOST_ERRORS = 3
_IN_RUST = re.compile(
    r"'(?:\w+ )?&?(?:(?:alloc|core|hashbrown)::|std::(?:\w+::)+)(?:\w+::)*(?P<type>[A-Z]\w*)<"
)
#: types of Rust's library whose contents LLDB shows as a member, and its name
_HOLDS = {"Rc": "value", "RefCell": "value", "Mutex": "value"}
_CALLED = re.compile(r"called object type '([\w ]+)' is not a function")
_REFUSED = ("no member named", "indirection requires", "no viable overloaded operator[]")


def _of_rust(message: str) -> str:
    """Return why an expression in Rust syntax fails, and what to write instead."""
    if (called := _CALLED.match(message)) is not None:
        return f"{called[1]} cannot be called: write it without the parentheses"
    match = _IN_RUST.search(message)
    if match is None or not message.startswith(_REFUSED):
        return message
    kind = match["type"]
    if kind in _HOLDS:
        return f"LLDB does not look behind {kind} by itself: write .{_HOLDS[kind]} after its name"
    return f"LLDB knows no methods and no keys of Rust's {kind}: print the {kind} itself"


def brief_error(text: str) -> str:
    """Return LLDB's error without its preamble and the drawing of the expression."""
    if _LEADS_NOWHERE.search(text):
        return "its memory cannot be read: a pointer in it leads nowhere"
    found = [
        re.sub(r"^.*?error: (?:<user expression \d+>:\d+:\d+: )?", "", line).strip()
        for line in text.splitlines()
        if "error:" in line and "Ran expression as" not in line
    ]
    messages = list(dict.fromkeys(map(_of_rust, filter(None, found))))
    if messages:
        return "; ".join(messages[:_MOST_ERRORS])
    return text.strip().splitlines()[0] if text.strip() else "no reason was given"
