"""Exceptions that LLDB's adapters stop for: C++ exceptions, Rust panics, signals."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence, Set
from typing import Any

from freezeframe.backends import lldb, native_tests, sanitizers
from freezeframe.backends.backend import Core, Target
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo

from . import _native_tests, _panics
from ._descriptor import AdapterQuery, ExceptionDetails, ExceptionQuery


def offered(offered: Sequence[ExceptionFilter], target: Target) -> tuple[ExceptionFilter, ...]:
    """Return C++'s two filters under the names users know, and Rust's panics."""
    if isinstance(target, Core):
        return ()
    kept = [f for f in offered if f.name in ("cpp_throw", "cpp_catch")]
    renamed = [ExceptionFilter(f.name.removeprefix("cpp_"), f.label, default=False) for f in kept]
    return (*renamed, *lldb.own_filters(target))


def commands(names: Set[str]) -> Sequence[str]:
    return (lldb.handle_fatal(names),)


_PANICS = _panics.Commands(
    # A raw command may be answered for another thread.
    argument=lambda machine, index: AdapterQuery(f"(unsigned long)$arg{index + 1}"),
    read_memory=lambda at, count: (
        f"memory read --force --format x --size 8 --count {count} {at:#x}"
    ),
    symbol=lambda at: f"image lookup --address {at:#x}",
)


def examine(description: str) -> ExceptionQuery | None:
    """Query the type and message of a C++ exception, or the message of a panic, at a function of
    the language's runtime."""
    if description == "panic":
        return _panics.examine(_PANICS)
    if description == native_tests.NAME:
        return _native_tests.examine(lambda machine, index: f"$arg{index + 1}")
    lower = description.lower()
    if "throw" in lower:
        return _thrown("throw")
    if "catch" in lower:
        return _thrown("catch")
    return _reported(description)


def _reported(description: str) -> ExceptionQuery:
    """Query which sanitizer stopped the program, and its report."""
    answer = yield AdapterQuery("thread info --stop-info", raw=True)
    found = sanitizers.read_lldb_report(_read_json(answer))
    if found == sanitizers.UNREAD and not sanitizers.is_lldb_stop(description):
        return None
    return ExceptionDetails(found, (found.type,))


def _thrown(mode: str) -> ExceptionQuery:
    """Query a C++ exception by the arguments of the runtime's function."""
    # By expressions: a raw command may be answered for another thread.
    first = yield AdapterQuery("(unsigned long)($arg1)")
    second = yield AdapterQuery("(unsigned long)($arg2)")
    if first is None or second is None:
        return None
    answer = yield AdapterQuery(f"{lldb.THROWN} {mode} {first} {second}", raw=True)
    report = _read_json(answer)
    if not report.get("types"):
        return None
    return ExceptionDetails(
        ExceptionInfo(report["types"][0], report["message"]), tuple(report["types"])
    )


def _read_json(answer: str | None) -> dict[str, Any]:
    """Return the object in the answer to a raw command; empty if there is none."""
    found = re.search(r"\{.*\}", answer or "", re.DOTALL)
    try:
        return dict(json.loads(found[0])) if found is not None else {}
    except ValueError:
        return {}
