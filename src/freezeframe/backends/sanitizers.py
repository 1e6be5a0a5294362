"""What the sanitizers of gcc and clang found (ASan, UBSan, TSan, MSan), for gdb and LLDB."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freezeframe import files
from freezeframe.model import late_regex
from freezeframe.model.stops import ExceptionInfo

#: Symbols in a program that was built with a sanitizer.
_SANITIZED = (b"__asan_init", b"__ubsan_handle_", b"__tsan_init", b"__lsan_", b"__msan_init")
_FINDING = late_regex.compile(r"(?:ERROR|WARNING): (?P<name>\w+Sanitizer): (?P<what>[^\n]*)")
_REGISTERS = late_regex.compile(r" at pc 0x[0-9a-f]+ bp 0x[0-9a-f]+ sp 0x[0-9a-f]+| \(pid=\d+\)")
_UNDEFINED = "UndefinedBehaviorSanitizer"
#: a sanitizer whose report is yet to be read
UNREAD = ExceptionInfo("sanitizer", "")


def is_sanitized(path: str) -> bool:
    """Whether a program was built with a sanitizer."""
    try:
        with files.mapped(path) as view:
            return any(view.find(each) >= 0 for each in _SANITIZED)
    except (OSError, ValueError):
        return False


def read_printed(text: str) -> ExceptionInfo:
    """Return a sanitizer's last finding, from the reports it printed."""
    found = list(_FINDING.finditer(text))
    if not found:
        return UNREAD
    return ExceptionInfo(found[-1]["name"], _REGISTERS.sub("", found[-1]["what"]).strip())


def read_undefined(answer: str | None) -> ExceptionInfo:
    """Return UBSan's finding from the answer of `sanitizers_agent` in gdb.

    UBSan calls its function for debuggers before it writes the report.
    """
    try:
        report = json.loads(answer or "")
        return ExceptionInfo(_UNDEFINED, str(report["message"] or report["kind"]))
    except (ValueError, KeyError, TypeError):
        unread = "undefined behaviour; its report is written when the program goes on"
        return ExceptionInfo(_UNDEFINED, unread)


def is_lldb_stop(text: str) -> bool:
    """Whether LLDB's description of a stop speaks of a sanitizer whose report it cannot read."""
    return "sanitizer fault" in text


def read_lldb_report(report: Mapping[str, Any]) -> ExceptionInfo:
    """Return the finding in LLDB's report, which is empty where LLDB could not read it."""
    sanitizer = report.get("instrumentation_class")
    if sanitizer is None:
        return UNREAD
    summary = report.get("summary") if sanitizer == _UNDEFINED else None
    return ExceptionInfo(str(sanitizer), str(summary or report.get("description", "")))


def complete(info: ExceptionInfo, printed: str) -> ExceptionInfo:
    """Return a finding with what the report on standard error says beyond its kind."""
    unread = info.type == UNREAD.type
    if info.type == _UNDEFINED or not (unread or info.type.endswith("Sanitizer")):
        return info
    found = read_printed(printed)
    return replace(found, mode=info.mode) if info.message in found.message else info
