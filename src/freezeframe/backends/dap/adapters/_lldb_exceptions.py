"""The exceptions that LLDB's adapters stop for: C++'s, Rust's panics, signals."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Sequence, Set

from freezeframe.backends import lldb, native_tests
from freezeframe.backends.backend import Core, Target
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo

from . import _native_tests, _panics
from ._descriptor import Ask, Inquiry, Thrown


def offered(offered: Sequence[ExceptionFilter], target: Target) -> tuple[ExceptionFilter, ...]:
    """C++'s own two under the names users know, and Rust's panics."""
    if isinstance(target, Core):
        return ()
    kept = [f for f in offered if f.name in ("cpp_throw", "cpp_catch")]
    renamed = [ExceptionFilter(f.name.removeprefix("cpp_"), f.label, default=False) for f in kept]
    return (*renamed, *lldb.own_filters(target))


def commands(names: Set[str]) -> Sequence[str]:
    return (lldb.handle_fatal(names),)


#: the way from the unwinder's header back to the type in a C++ exception's own, on 64 bits
_TYPE_BEFORE_HEADER, _OBJECT_AFTER_HEADER = 80, 32
#: types that keep what they say behind their virtual table
_SAYING = ("std::runtime_error", "std::logic_error")
_MAX_BASES = 16


_PANICS = _panics.Commands(
    # A raw command may be answered for another thread.
    argument=lambda machine, index: Ask(f"(unsigned long)$arg{index + 1}"),
    words=lambda at, count: f"memory read --force --format x --size 8 --count {count} {at:#x}",
    symbol=lambda at: f"image lookup --address {at:#x}",
)


def examine(description: str) -> Inquiry | None:
    """Ask for the type and the words of a C++ exception, or those of a panic, at the runtimes' own
    functions."""
    if description == "panic":
        return _panics.examine(_PANICS)
    if description == native_tests.NAME:
        return _native_tests.examine(lambda machine, index: f"$arg{index + 1}")
    lower = description.lower()
    if "throw" in lower:
        return _thrown("$arg2", "$arg1")
    if "catch" in lower:
        return _thrown(
            f"*(unsigned long*)($arg1 - {_TYPE_BEFORE_HEADER})",
            f"$arg1 + {_OBJECT_AFTER_HEADER}",
        )
    return _reported()


def _reported() -> Inquiry:
    """Ask which sanitizer stopped the program, and what it found."""
    said = yield Ask("thread info --stop-info", raw=True)
    found = re.search(r"\{.*\}", said or "", re.DOTALL)
    try:
        told = json.loads(found[0]) if found is not None else {}
    except ValueError:
        return None
    if "instrumentation_class" not in told:
        return None
    sanitizer = str(told["instrumentation_class"])
    return Thrown(ExceptionInfo(sanitizer, str(told.get("description", ""))), (sanitizer,))


def _thrown(type_expression: str, object_expression: str) -> Inquiry:
    info = yield Ask(f"(unsigned long)({type_expression})")
    where = yield Ask(f"(unsigned long)({object_expression})")
    first = _number(info)
    if not first:
        return None
    types = yield from _types(first)
    if not types:
        return None
    message = ""
    address = _number(where)
    if address and any(name in _SAYING for name in types):
        said = yield Ask(f"*(char**)({address + 8:#x})")
        message = _quoted(said or "")
    return Thrown(ExceptionInfo(types[0], message), tuple(types))


def _types(first: int) -> Generator[Ask, str | None, list[str]]:
    """Return the name of a type and of every one that it inherits from."""
    names: list[str] = []
    waiting = [first]
    while waiting and len(names) < _MAX_BASES:
        info = waiting.pop(0)
        mangled = _quoted((yield Ask(f"*(char**)({info + 8:#x})")) or "").lstrip("*")
        if not mangled:
            continue
        told = yield Ask(f"language cplusplus demangle _ZTS{mangled}", raw=True)
        name = (told or "").partition("typeinfo name for ")[2].strip()
        if not name or name in names:
            continue
        names.append(name)
        table = _number((yield Ask(f"*(unsigned long*)({info:#x})")))
        kind = (yield Ask(f"image lookup --address {table:#x}", raw=True)) if table else None
        if kind and "__si_class_type_info" in kind:
            waiting.append(_number((yield Ask(f"*(unsigned long*)({info + 16:#x})"))) or 0)
        elif kind and "__vmi_class_type_info" in kind:
            count = _number((yield Ask(f"*(unsigned int*)({info + 20:#x})"))) or 0
            for index in range(min(count, _MAX_BASES)):
                base = yield Ask(f"*(unsigned long*)({info + 24 + 16 * index:#x})")
                waiting.append(_number(base) or 0)
        waiting = [each for each in waiting if each]
    return names


def _number(text: str | None) -> int | None:
    try:
        return int((text or "").split()[0], 0)
    except (IndexError, ValueError):
        return None


def _quoted(text: str) -> str:
    """Return the string behind a pointer's address."""
    inside = text.partition('"')[2]
    return inside.removesuffix('"').replace('\\"', '"')
