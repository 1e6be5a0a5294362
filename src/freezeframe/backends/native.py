"""Facts about native programs for every debugger, read from files only."""

from __future__ import annotations

import functools
import os
import re
import struct
from collections.abc import Sequence

from freezeframe import files
from freezeframe.backends.backend import Attach, Launch, Target
from freezeframe.backends.native_tests import is_framework
from freezeframe.backends.transport import process_table
from freezeframe.errors import LaunchFailed
from freezeframe.model import late_regex
from freezeframe.model.stops import ExceptionInfo

_MAGIC = {
    b"\x7fELF": "elf",
    b"\xcf\xfa\xed\xfe": "mach-o",
    b"\xce\xfa\xed\xfe": "mach-o",
    b"\xca\xfe\xba\xbe": "mach-o",
    b"MZ": "pe",
}
#: Rust's suffix of a mangled name: `::h0123456789abcdef`
_HASH = late_regex.compile(r"::h[0-9a-f]{16}$")
_PANIC = late_regex.compile(
    r"thread '(?P<thread>[^']*)'(?: \(\d+\))? panicked at (?P<rest>.*?)"
    r"(?=\nstack backtrace:|\nnote: |\Z)",
    re.DOTALL,
)


def binary_kind(path: str) -> str | None:
    """Return `elf`, `mach-o` or `pe`; None for a file that is not a binary."""
    try:
        head = files.read_head(path, 4)
    except OSError:
        return None
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def binary_kinds(path: str) -> tuple[str, ...]:
    """Return the kinds of a binary, most specific first: `("go", "elf")`; () for other files."""
    kind = binary_kind(path)
    if kind is None:
        return ()
    if is_swift(path):
        # gdb does not support Swift: only debuggers that list it claim such a program.
        return ("swift",)
    return ("go", kind) if is_go(path) else (kind,)


#: The Go linker writes this before the versions of a program's modules.
_GO_BUILD_INFO = b"\xff Go buildinf:"


#: Where package managers of compiled languages keep sources of dependencies.
_DEPENDENCIES = late_regex.compile(
    r"/\.cargo/(?:registry|git)/|/rustlib/src/|/_deps/|/go/pkg/mod/|/vcpkg(?:_installed)?/|/\.conan2?/"
    r"|/(?:googletest|gmock|catch2)[-\d.v]*(?:-src)?/"
    # A folder of the user's own may have this name, but not what is in the library's.
    r"|/gtest[-\d.v]*(?:-src)?/(?:include|src|internal|gtest|googletest|googlemock)\b",
    re.IGNORECASE,
)


def is_dependency(path: str) -> bool:
    """Whether a source was fetched by a package manager, or belongs to a test framework."""
    return _DEPENDENCIES.search(path) is not None


def is_go(path: str) -> bool:
    """Whether a binary was built by the Go toolchain."""
    try:
        return _is_go(path, os.stat(path).st_mtime_ns)
    except OSError:
        return False


@functools.lru_cache(maxsize=64)
def _is_go(path: str, stamp: int) -> bool:
    try:
        with files.mapped(path) as view:
            # The marker is aligned; programs that read it contain it too, unaligned.
            at = view.find(_GO_BUILD_INFO)
            while at >= 0 and at % 16:
                at = view.find(_GO_BUILD_INFO, at + 1)
            return at >= 0
    except (OSError, ValueError):
        return False


def is_swift(path: str) -> bool:
    """Whether an ELF program has the sections in which Swift keeps its types."""
    try:
        return _is_swift(path, os.stat(path).st_mtime_ns)
    except OSError:
        return False


@functools.lru_cache(maxsize=64)
def _is_swift(path: str, stamp: int) -> bool:
    try:
        with files.mapped(path) as view:
            return view[:4] == b"\x7fELF" and view.rfind(b"\0swift5_") >= 0
    except (OSError, ValueError):
        return False


def go_flags(path: str) -> str | None:
    """Return the compiler flags that a Go program was built with; None if unknown."""
    try:
        with files.mapped(path) as view:
            at = view.find(b"\nbuild\t-compiler=")
            if at < 0:
                return None
            settings = view[max(0, at - 2000) : at + 4000]
    except (OSError, ValueError):
        return None
    flags = re.search(rb"\nbuild\t-gcflags=([^\n]*)", settings)
    return flags[1].decode("utf-8", "replace") if flags else ""


def is_rust(path: str) -> bool:
    """Whether a binary was built by rustc."""
    return _holds(path, b"rust_panic", b"rustc version")


def has_abi_tags(path: str) -> bool:
    """Whether names of functions in a binary have ABI tags: those that return a std::string."""
    return _holds(path, b"B5cxx11")


def _holds(path: str, *texts: bytes) -> bool:
    try:
        return _contains(path, texts, os.stat(path).st_mtime_ns)
    except (OSError, ValueError):
        return False


@functools.lru_cache(maxsize=64)
def _contains(path: str, texts: tuple[bytes, ...], stamp: int) -> bool:
    with files.mapped(path) as view:
        return any(view.find(text) >= 0 for text in texts)


def is_stripped(path: str) -> bool:
    """Whether an ELF program has no symbol table, so that `main` has no name."""
    try:
        return _is_stripped(path, os.stat(path).st_mtime_ns)
    except OSError:
        return False


@functools.lru_cache(maxsize=64)
def _is_stripped(path: str, stamp: int) -> bool:
    try:
        with files.open_regular(path) as file:
            head = file.read(64)
            if len(head) < 64 or head[:4] != b"\x7fELF" or head[4] != 2:
                return False
            order = "<" if head[5] == 1 else ">"
            offset, size, count = (
                struct.unpack_from(order + "Q", head, 40)[0],
                *struct.unpack_from(order + "HH", head, 58),
            )
            file.seek(offset)
            table = file.read(size * count)
    except (OSError, struct.error):
        return False
    kinds = [struct.unpack_from(order + "I", table, i + 4)[0] for i in range(0, len(table), size)]
    return _SYMTAB not in kinds


#: The type of the symbol table's section.
_SYMTAB = 2


def has_debug_info(path: str) -> bool:
    """Whether a program has line tables."""
    try:
        return _has_debug_info(path, os.stat(path).st_mtime_ns)
    except OSError:
        return False


@functools.lru_cache(maxsize=64)
def _has_debug_info(path: str, stamp: int) -> bool:
    try:
        with files.mapped(path) as view:
            # The section names are at the end; compressed sections had a different name.
            return view.rfind(b".debug_line\0") >= 0 or view.rfind(b".zdebug_line\0") >= 0
    except (OSError, ValueError):
        return False


def remark(program: str) -> str | None:
    """Return a note for a program without debug information."""
    if binary_kind(program) != "elf" or has_debug_info(program):
        return None
    name = os.path.basename(program)
    return f"{name} has no debug information: no lines and no variables are known; build it with -g"


def folds_sourceless(program: str) -> bool:
    """Whether code without lines in the program's file belongs to a library, not to the user.

    True where libraries are linked into programs: in Rust, and in statically linked programs.
    """
    if not has_debug_info(program):
        return False
    try:
        with files.mapped(program) as view:
            return is_rust(program) or view[:4] != b"\x7fELF" or view.find(b"/ld-") < 0
    except (OSError, ValueError):
        return True


#: Start-up functions in the program's file.
STARTERS = frozenset(
    {"_start", "__libc_start_main", "__libc_start_call_main", "__libc_csu_init", "??"}
)


def is_own_code(program: str | None, module: str | None, function: str) -> bool:
    """Whether a function without lines is the user's code: in the file of the program."""
    if program is None or module != os.path.basename(program) or function in STARTERS:
        return False
    return not is_framework(function) and not folds_sourceless(program)


#: Suffix of a source file → the command that compiles it.
_COMPILERS = {".c": "gcc -g {0} -o {1}", ".rs": "rustc -g {0}"} | dict.fromkeys(
    (".cc", ".cpp", ".cxx", ".C", ".c++"), "g++ -g {0} -o {1}"
)


def check_program(target: Launch) -> None:
    """Raise LaunchFailed for a file that cannot be run, with a command that would fix that."""
    name = os.path.basename(target.program)
    if binary_kind(target.program) is None:
        stem, suffix = os.path.splitext(name)
        how = _COMPILERS.get(suffix)
        what = f"{name} is source, not a program" if how else f"{name} is not a binary"
        raise LaunchFailed(f"{what}.", next=how.format(name, stem) if how else "dbg adapters")
    if not os.access(target.program, os.X_OK):
        raise LaunchFailed(
            f"{name} may not be executed: permission denied.", next=f"chmod +x {name}"
        )


def explain_failure(target: Target, message: str) -> tuple[str, str | None] | None:
    """Return why attaching to a process failed, with the system's reason if known."""
    text = message.strip().rstrip(".")
    if not isinstance(target, Attach):
        return None
    if target.pid is None:
        return f"{target.host}:{target.port} could not be attached to: {text}.", "dbg attach PID"
    why = process_table.hindrance(target.pid)
    if why is None:
        return f"process {target.pid} could not be attached to: {text}.", None
    return f"process {target.pid} could not be attached to: {why[0]}.", why[1]


def rust_main(path: str | None) -> str:
    """Return the main function of the user's program."""
    if path is None or not is_rust(path):
        return "main"
    try:
        return f"{_crate(path, os.stat(path).st_mtime_ns)}::main"
    except OSError:
        return "main"


#: `crate::main` in rustc's two mangling schemes.
_MAINS = late_regex.compile(
    rb"_ZN\d{1,3}(\w+?)4main17h[0-9a-f]{16}E|_RNvCs\w+?_\d{1,3}_?(\w+?)4main\b"
)


@functools.lru_cache(maxsize=64)
def _crate(path: str, stamp: int) -> str:
    """Return the crate of a program's main, from its symbols or else from the file name."""
    named = re.sub(r"-[0-9a-f]{16}$", "", os.path.basename(path)).replace("-", "_")
    try:
        with files.mapped(path) as view:
            found = {
                (match[1] or match[2]).decode("ascii", "replace") for match in _MAINS.finditer(view)
            }
    except (OSError, ValueError):
        return named
    return named if named in found or not found else sorted(found)[0]


#: The function that every panic calls, since rustc 1.90 in a crate of the compiler.
_PANICS = late_regex.compile(rb"_RNvCs\w{1,40}_7___rustc10rust_panic\b")


@functools.lru_cache(maxsize=64)
def panic_function(path: str | None) -> str:
    """Return the symbol of the function that every panic calls.

    Debuggers find its short name only in debug information, which a release build lacks.
    """
    try:
        with files.mapped(path or "") as view:
            found = _PANICS.search(view)
            return found[0].decode("ascii") if found is not None else "rust_panic"
    except (OSError, ValueError):
        return "rust_panic"


#: rustc's escapes of characters that are not allowed in a symbol.
_ESCAPES = {
    "$LT$": "<",
    "$GT$": ">",
    "$C$": ",",
    "$RF$": "&",
    "$BP$": "*",
    "$LP$": "(",
    "$RP$": ")",
    "$SP$": "@",
}
_UNICODE = late_regex.compile(r"\$u([0-9a-f]{1,6})\$")


def plain_function(name: str) -> str:
    """Return a function's name without the hash that rustc adds and without its escapes."""
    name = _HASH.sub("", name)
    if "$" not in name:
        return name
    # A component that begins with an escape is prefixed with an underscore.
    name = re.sub(r"(^|::)_\$", r"\1$", name)
    for escape, character in _ESCAPES.items():
        name = name.replace(escape, character)
    name = _UNICODE.sub(lambda match: chr(int(match[1], 16)), name)
    return name.replace("..", "::") if "<" in name else name


def panic_info(text: str) -> ExceptionInfo:
    """Return a panic, from what the program printed before it stopped."""
    matches = list(_PANIC.finditer(text))
    if not matches:
        return ExceptionInfo("panic", "")
    rest = matches[-1]["rest"].strip()
    location, newline, message = rest.partition("\n")
    if not newline:
        # Before Rust 1.73 the message came first, in quotes.
        message, _, location = rest.rpartition(", ")
        message = message.strip("'")
    return ExceptionInfo("panic", message.strip() or location.rstrip(":"))


_TERMINATE = late_regex.compile(
    r"terminate called after throwing an instance of '(?P<type>.+)'"
    r"(?:\n\s*what\(\): +(?P<what>.*(?:\n(?! ).*)*))?"
)
_TERMINATING = late_regex.compile(
    r"libc\+\+abi: terminating.*? exception of type (?P<type>[^:\n]+(?:::[^:\n]+)*)"
    r"(?:: (?P<what>.*))?"
)


def read_uncaught_exception(signal_name: str, text: str) -> ExceptionInfo | None:
    """Return the uncaught C++ exception that the runtime printed before it aborted."""
    if signal_name != "SIGABRT":
        return None
    for pattern in (_TERMINATE, _TERMINATING):
        found = list(pattern.finditer(text))
        if found:
            return ExceptionInfo(
                found[-1]["type"], (found[-1]["what"] or "").strip(), mode="unhandled"
            )
    return None


def is_of_type(types: Sequence[str], requested: str) -> bool:
    """Whether an exception with *types*, its type and its bases, matches one of *requested*.

    *requested* is separated by commas; a type may be named without its namespace.
    """
    names = [each.strip() for each in requested.split(",") if each.strip()]
    return any(name == each or name.endswith(f"::{each}") for name in types for each in names)


def without_parameters(name: str) -> str:
    """Return a C++ function's name without its parameter list."""
    plain = re.sub(r"( const| volatile| &+)*$", "", name)
    inside = in_last_parentheses(plain)
    if inside is None or plain.endswith(("operator()", "(anonymous namespace)")):
        return name
    return plain[: -len(inside) - 2] or name


def in_last_parentheses(text: str) -> str | None:
    """Return the content of the parentheses that end a text; None if there are none."""
    text = text.rstrip()
    if not text.endswith(")"):
        return None
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[index], 0)
        if depth == 0:
            return text[index + 1 : -1]
    return None


#: Meaning of `si_code`, by signal.
_FAULTS = {
    ("SIGSEGV", 1): "no memory",
    ("SIGSEGV", 2): "no permission",
    ("SIGBUS", 1): "not aligned",
    ("SIGBUS", 2): "nothing behind the mapping",
    ("SIGFPE", 1): "integer divide by zero",
    ("SIGFPE", 2): "integer overflow",
}
#: SI_KERNEL: the processor does not report the address.
_BY_KERNEL = 0x80


def describe_fault(signal: str, code: int, address: int) -> str | None:
    """Return the meaning of a signal's code: `no memory at address 0x10`."""
    if code == _BY_KERNEL and signal == "SIGSEGV":
        return "no valid address"
    meaning = _FAULTS.get((signal, code))
    if meaning is None or signal == "SIGFPE":
        return meaning
    return f"{meaning} at address {address:#x}"
