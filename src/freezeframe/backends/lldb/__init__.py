"""What everyone who speaks to LLDB knows, whichever way: what it is told first, its words read.

formats_probe  runs inside LLDB: shows what it shows badly by itself
rust_probe     likewise, behind the formatters of the Rust toolchain
rust_trees_probe  likewise: entries of B-trees, trait objects as what they are
threads_probe  likewise: ends steps that were interrupted, looks at an old stack anew
passes_probe   likewise: a breakpoint on a line with several places stops once
optimized      what `optimized_probe` tells of optimised code
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Collection, Mapping
from dataclasses import replace

from freezeframe.backends import native_tests
from freezeframe.backends.backend import Core, RawValue, Target
from freezeframe.backends.forks import Forks
from freezeframe.backends.native import is_dependency, is_rust
from freezeframe.backends.native import remark as native_remark
from freezeframe.backends.transport.ask import kept_answer
from freezeframe.model.stops import ExceptionFilter, Exit

from . import optimized as optimized

# --- what it is told first ----------------------------------------------------------------------

_HERE = os.path.dirname(__file__)
_PROBE = os.path.join(_HERE, "formats_probe.py")
_RUST_PROBE = os.path.join(_HERE, "rust_probe.py")
_RUST_TREES_PROBE = os.path.join(_HERE, "rust_trees_probe.py")
_THREADS_PROBE = os.path.join(_HERE, "threads_probe.py")
#: the commands that `threads_probe` adds
FORGET_STEPS = "freezeframe-forget-steps"
FRESH_FRAMES = "freezeframe-fresh-frames"
_OPTIMIZED_PROBE = os.path.join(_HERE, "optimized_probe.py")
_PASSES_PROBE = os.path.join(_HERE, "passes_probe.py")
#: Rust's own libraries, as its two ways of mangling spell them: not stepped into
_RUST_LIBRARIES = r"^(<|_\$LT\$|_?&|\[)*(std|core|alloc|hashbrown|gimli|miniz_oxide)(::|\.\.)"


#: LLDB holds one process: the other one runs on without a debugger
FORKS = (Forks.PARENT, Forks.CHILD)


def first_commands(target: Target) -> list[str]:
    """Return the commands that make LLDB show what it can."""
    commands = [
        "settings set target.inline-breakpoint-strategy always",
        "settings set target.process.stop-on-exec false",
        f'command script import "{_PROBE}"',
        f'command script import "{_THREADS_PROBE}"',
        f'command script import "{_PASSES_PROBE}"',
        f'command script import "{_OPTIMIZED_PROBE}"',
    ]
    if not isinstance(target, Core) and target.forks is Forks.CHILD:
        commands.append("settings set target.process.follow-fork-mode child")
    program = target.program
    if program is not None and is_rust(program):
        commands += _rust_commands(target.env.get("PATH", os.defpath))
    return commands


def remark(program: str) -> str | None:
    """Say what LLDB cannot be trusted with: what has no debug information, what gcc optimised."""
    if (missing := native_remark(program)) is not None or not os.path.isfile(program):
        return missing
    return optimized.remark(program)


def surroundings(env: Mapping[str, str], path: str) -> dict[str, str]:
    """Return the environment that an LLDB at *path* itself runs in.

    Its Python takes the first `python3` on PATH for itself: in an active virtual environment of the
    same version it misses what it needs (LLDB 14: `six`).
    """
    own = dict.fromkeys(
        (os.path.dirname(path), os.path.dirname(os.path.realpath(path)), "/usr/bin")
    )
    rest = env.get("PATH", os.defpath)
    kept = {key: value for key, value in env.items() if key not in ("VIRTUAL_ENV", "PYTHONHOME")}
    return {**kept, "PATH": os.pathsep.join([*own, rest])}


#: SIGINT is LLDB's own way to interrupt; to a program it means what it means elsewhere.
SIGNALS = (
    "process handle SIGINT --pass true --stop true --notify true",
    # Go's runtime moves its own threads with it, all the time; otherwise it does nothing.
    "process handle SIGURG --pass true --stop false --notify false",
)


def once_a_pass(target: Target, numbers: Collection[int]) -> str | None:
    """Return what makes breakpoints on lines with several places stop once, by `passes_probe`.

    A negative number: only locations are left out, its callback is another's.
    """
    return f"freezeframe-once-a-pass {' '.join(map(str, numbers))}" if numbers else None


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
            f'command script import "{_RUST_PROBE}"',
            f'command script import "{_RUST_TREES_PROBE}"',
        ]
    return commands


def sysroot(path: str) -> str | None:
    rustc = shutil.which("rustc", path=path)
    if rustc is None:
        return None
    return (kept_answer((rustc, "--print", "sysroot"), timeout_s=10) or "").strip() or None


# --- stops --------------------------------------------------------------------------------------

_SIGNAL = re.compile(r"(?:signal )?(SIG\w+)(?:: (.*))?")


def read_signal(words: str) -> tuple[str, str] | None:
    """Return a signal's name, and it with what LLDB says about it; None where there is none."""
    match = _SIGNAL.match(words)
    if match is None:
        return None
    return match[1], f"{match[1]}: {_fault(match[2])}" if match[2] else match[1]


#: LLDB's words for what a fault's code means → ours
_FAULTS = {
    "address not mapped to object": "no memory",
    "invalid permissions for mapped object": "no permission",
    "address access protected": "no permission",
    "sent by kernel (SI_KERNEL)": "no valid address",
    "illegal address": "nothing behind the mapping",
    "illegal alignment": "not aligned",
}


def _fault(words: str) -> str:
    what, _, address = words.partition(" (fault address=")
    plain = _FAULTS.get(what, what)
    return f"{plain} at address {address.rstrip(')')}" if address else plain


_ADDRESS_OF_FAULT = re.compile(r"\bsi_addr = 0x0*([0-9a-f]+)")


def ask_signal(words: str) -> str | None:
    """Return the command that tells the address of a fault which LLDB tells without it."""
    return "thread siginfo" if words.startswith("SIGBUS: ") and "0x" not in words else None


def with_address(words: str, siginfo: str) -> str:
    found = _ADDRESS_OF_FAULT.search(siginfo)
    return f"{words} at address 0x{found[1]}" if found is not None else words


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
    """Whether a file, or a module, is not the user's own."""
    if not os.path.isabs(path) or path.startswith(("/usr/", "/build/", "/rustc/", "/lib")):
        return True
    return is_dependency(path)


#: signals that end a program by themselves, and mean that it is broken
_FATAL = "SIGSEGV SIGABRT SIGBUS SIGFPE SIGILL SIGSYS"


def own_filters(target: Target) -> tuple[ExceptionFilter, ...]:
    """Return what LLDB can be made to stop for besides C++'s exceptions."""
    rust = target.program is not None and is_rust(target.program)
    return (
        ExceptionFilter("panic", "Rust panics", default=rust),
        ExceptionFilter("signal", "signals that end a program", default=True),
        *native_tests.filters_of(target.program),
    )


def handle_fatal(names: Collection[str]) -> str:
    """Return the command after which fatal signals stop a program, with that filter or not."""
    stop = "true" if "signal" in names else "false"
    return f"process handle --stop {stop} --notify {stop} --pass true {_FATAL}"


#: fields of tuples, which Rust numbers: LLDB takes `.1` for a fraction
_NUMBERED = re.compile(r"(?<![\w.])((?:[A-Za-z_]\w*|\.|::|->|\[\w*\])+?)((?:\.\d+)+)(?![\w])")


def written(target: Target, expression: str) -> str:
    """Return an expression with the fields of Rust's tuples under the names that LLDB has."""
    if target.program is None or '"' in expression or not is_rust(target.program):
        return expression
    before = None
    while before != expression:
        before = expression
        expression = _NUMBERED.sub(lambda m: m[1] + m[2].replace(".", ".__"), expression)
    return expression


def generic_function(name: str) -> str:
    """Return a pattern for a generic function: its name goes on behind the one users know."""
    plain = rf"(^|::){re.escape(name)}(<.*>)?(::h[0-9a-f]+)?$"
    owner, joint, method = name.rpartition("::")
    if not joint:
        return plain
    # Of a trait each implementation is meant: `<shop::Square as shop::Shape>::area`.
    trait = re.escape(owner.rpartition("::")[2])
    blank, end = r"( |\$u20\$)", r"(>|\$GT\$)"
    of_trait = (
        rf"{blank}as{blank}([^ ]*(::|\.\.))?{trait}{end}::{re.escape(method)}(::h[0-9a-f]+)?$"
    )
    return f"{plain}|{of_trait}"


# --- values -------------------------------------------------------------------------------------

ADDRESS = re.compile(r"\b0x0+([0-9a-f]+)\b")
#: what a container says of itself, and a reference to one
_COUNT = re.compile(r"(?:(0x[0-9a-f]+) )?size=(\d+)")
#: `Cart *const`: a pointer all the same
_FIXED = re.compile(r"( ?\b(const|volatile|restrict|__restrict))+$")
_ARRAY = re.compile(r"[^\[(]+\[(\d+)\]")
#: a pointer or a reference to an array: `int (&)[4]`
_TO_ARRAY = re.compile(r"\([*&]+\)\[")
#: of Rust's Rc, Arc and RefCell: who holds it, not what is in it
_HELD = re.compile(r"strong=\d+, weak=\d+|borrow(_mut)?=\d+")
_RUST_CHAR = re.compile(r"(?:U\+0x[0-9a-f]+ )+U('(?:\\.|.)[^']*')", re.DOTALL)
#: of C++'s shared pointers where they point to, of its variants nothing: what is inside says it
_SHARED = re.compile(r".* @ (0x[0-9a-f]+)(?: (?:strong|weak)=\d+)*|\s*Active Type = .*", re.DOTALL)
_MEMBERS = re.compile(r"(?:(0x[0-9a-f]+) )?\{.*\}", re.DOTALL)
_UNREADABLE = re.compile(r"read memory from (0x[0-9a-f]+) failed")
#: pointers whose target says less than their own text
_PLAIN_POINTER = re.compile(r"(char|void|uchar|signed char|unsigned char|wchar_t|\(.*)\W*\*")
OPTIMIZED_OUT = re.compile(r"not available|DW_OP|no location|optimized out")


def enriched(value: RawValue) -> RawValue:
    """Shorten addresses; open what shows only its type, its size or the address of a struct."""
    text = value.text
    if value.name == "<error>":
        # In place of all variables, where the compiler wrote only lines (-g1).
        return _failed(replace(value, name="variables"), text)
    if text.startswith(("<error:", "error:")) or text == "Summary Unavailable":
        return _failed(value, text)
    before, quote, after = text.partition('"')
    text = ADDRESS.sub(lambda m: f"0x{m[1]}", before) + quote + after
    text = _RUST_CHAR.sub(lambda m: m[1], text)
    if text.endswith("<parent is NULL>"):
        text = text.split()[0]
    if (optional := re.fullmatch(r"\s*Has Value=(true|false)\s*", text)) is not None:
        text = "" if optional[1] == "true" else "nullopt"
    if value.ref and (shared := _SHARED.fullmatch(text)) is not None:
        text = shared[1] or ""
    kind = _FIXED.sub("", value.type or "")
    if value.ref and (members := _MEMBERS.fullmatch(text)) is not None:
        # A few of its members, made for logpoints: what is opened shows them all.
        text = members[1] or kind
    bare = re.sub(r"^(const |volatile |struct |class |union |enum )+", "", kind)
    count = _COUNT.fullmatch(text)
    # How many elements an array has, its adapters tell of variables only, not of expressions.
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
    # A pointer to nothing has children all the same, each of them an error.
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
    words = re.sub(r"^<?error: |>$", "", text).strip()
    if OPTIMIZED_OUT.search(words):
        return replace(value, text="<optimized out>", ref=0)
    if (unreadable := _UNREADABLE.search(words)) is not None:
        words = f"no memory at {ADDRESS.sub(lambda m: f'0x{m[1]}', unreadable[1])}"
    return replace(value, text=words, failed=True, ref=0)


#: LLDB's words for an expression that reads through a bad pointer
_LEADS_NOWHERE = re.compile(r"couldn't read (its|from) memory")


#: of an expression with several: the first may follow from another
_MOST_ERRORS = 3
_IN_RUST = re.compile(r"'(?:\w+ )?&?(?:alloc|core|std|hashbrown)::(?:\w+::)*(?P<type>\w+)<")
#: types of Rust's library whose contents are a member to LLDB, and its name
_HOLDS = {"Rc": "value", "RefCell": "value", "Mutex": "value"}
_CALLED = re.compile(r"called object type '([\w ]+)' is not a function")
_REFUSED = ("no member named", "indirection requires", "no viable overloaded operator[]")


def _of_rust(words: str) -> str:
    """Return why Rust's own way to write something does not work, and what does."""
    if (called := _CALLED.match(words)) is not None:
        return f"{called[1]} cannot be called: write it without the parentheses"
    match = _IN_RUST.search(words)
    if match is None or not words.startswith(_REFUSED):
        return words
    kind = match["type"]
    if kind in _HOLDS:
        return f"LLDB does not look behind {kind} by itself: write .{_HOLDS[kind]} after its name"
    return f"LLDB knows no methods and no keys of Rust's {kind}: print the {kind} itself"


def brief_error(text: str) -> str:
    """Return what is wrong without LLDB's preamble and the drawing of the expression."""
    if _LEADS_NOWHERE.search(text):
        return "its memory cannot be read: a pointer in it leads nowhere"
    found = [
        re.sub(r"^.*?error: (?:<user expression \d+>:\d+:\d+: )?", "", line).strip()
        for line in text.splitlines()
        if "error:" in line and "Ran expression as" not in line
    ]
    told = list(dict.fromkeys(map(_of_rust, filter(None, found))))
    if told:
        return "; ".join(told[:_MOST_ERRORS])
    return text.strip().splitlines()[0] if text.strip() else "no reason was given"
