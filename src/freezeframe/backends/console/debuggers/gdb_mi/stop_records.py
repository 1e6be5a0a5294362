"""Parse gdb's stop and exit records. Pure."""

from __future__ import annotations

import re

from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields
from freezeframe.model.stops import Exit, StopReason

from .mi_channel import rows

_ENDS = frozenset({"exited", "exited-normally", "exited-signalled"})
_REASONS = {
    "breakpoint-hit": StopReason.BREAKPOINT,
    "end-stepping-range": StopReason.STEP,
    "function-finished": StopReason.STEP,
    "location-reached": StopReason.STEP,
    "signal-received": StopReason.SIGNAL,
    "watchpoint-trigger": StopReason.WATCHPOINT,
    "read-watchpoint-trigger": StopReason.WATCHPOINT,
    "access-watchpoint-trigger": StopReason.WATCHPOINT,
    "watchpoint-scope": StopReason.WATCHPOINT,
}
_DESCRIPTIONS = {
    "fork": "the program forked",
    "vfork": "the program forked (vfork)",
    "exec": "the program became another one",
    "solib-event": "a shared library was loaded or unloaded",
    "syscall-entry": "a system call begins",
    "syscall-return": "a system call returned",
    "no-history": "the recording ends here",
    "thread-created": "a thread was created",
    "thread-exited": "a thread ended",
}
_CONDITION_FAILED = re.compile(
    r"Error in testing (?:breakpoint condition|condition for breakpoint (\d+)(?:\.\d+)?):\s*(.*)"
)


def ended(fields: Fields) -> Exit | None:
    """Return how the program ended, if the stop is its end."""
    # There are several reasons if a finish or a step ended with the program.
    for reason in rows(fields.get("reason")):
        if reason == "exited-signalled":
            return Exit(signal=str(fields.get("signal-name", "")) or None)
        if reason == "exited":
            return Exit(code=int(str(fields.get("exit-code", "0")), 8))
        if reason == "exited-normally":
            return Exit(code=0)
    return None


def reason(fields: Fields) -> str:
    """Return gdb's reason; empty if there is none (after an attach)."""
    found = [each for each in rows(fields.get("reason")) if each not in _ENDS]
    return str(found[0]) if found else ""


def kind(fields: Fields) -> StopReason:
    return _REASONS.get(reason(fields), StopReason.OTHER)


def thread(fields: Fields) -> int | None:
    text = fields.get("thread-id")
    return int(text) if text and str(text).isdecimal() else None


def number(fields: Fields) -> str | None:
    text = fields.get("bkptno")
    return str(text) if text is not None else None


def signal(fields: Fields) -> str | None:
    return str(fields["signal-name"]) if "signal-name" in fields else None


def describe(fields: Fields) -> str | None:
    """Return a description of the stop beyond its reason."""
    what = reason(fields)
    if what == "signal-received":
        return signal(fields)
    return _DESCRIPTIONS.get(what, what or None) if kind(fields) is StopReason.OTHER else None


def watch_numbers(fields: Fields) -> list[str]:
    """Return gdb's numbers of the watchpoints that caused a stop: several may end together."""
    seen = [watch for key, all in fields.items() if key.endswith("wpt") for watch in rows(all)]
    return [str(watch["number"]) for watch in seen] or [str(n) for n in rows(fields.get("wpnum"))]


def watch_values(fields: Fields) -> list[tuple[str | None, str | None]]:
    """Return old and new value of each expression; for a read, the value is the new one."""
    values = rows(fields.get("value"))
    return [(value.get("old"), value.get("new", value.get("value"))) for value in values]


def failed_conditions(log_text: str) -> dict[str, str]:
    """Return why conditions failed, by gdb's breakpoint number; '' if gdb names none."""
    found: dict[str, str] = {}
    lines = log_text.splitlines()
    for index, line in enumerate(lines):
        match = _CONDITION_FAILED.search(line)
        if match is not None:
            message = match[2].strip() or (
                lines[index + 1].strip() if index + 1 < len(lines) else ""
            )
            found[match[1] or ""] = message.rstrip(".")
    return found
