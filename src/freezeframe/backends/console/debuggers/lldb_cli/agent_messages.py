"""Encode requests to the agent inside LLDB and parse its answers: one command, JSON both ways."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.backends import lldb, lock_waits
from freezeframe.backends.backend import RawFrame, RawValue
from freezeframe.backends.console.prompt.command_set import DebuggerBreakpoint, FrameRef, StopInfo
from freezeframe.backends.native import plain_function, without_parameters
from freezeframe.errors import DebuggerError, EvaluationFailed
from freezeframe.model.stops import StopReason, WatchHit

PREFIX = "@ff "


def encode(value: object) -> str:
    # LLDB would evaluate text between backticks before the agent reads it.
    return json.dumps(value).replace("`", "\\u0060")


def ff(name: str, *args: object) -> str:
    return f"ff {encode([name, *args])}"


def evaluation(expression: str, at: FrameRef, how: str) -> str:
    return ff("evaluate", at.thread, at.level, expression, how)


def parse(text: str) -> dict[str, Any] | None:
    """Return the agent's last message; None if there is none."""
    lines = [line for line in text.splitlines() if line.startswith(PREFIX)]
    message = json.loads(lines[-1].removeprefix(PREFIX)) if lines else None
    return message if isinstance(message, dict) else None


def answer(text: str) -> Any:
    """Return the answer. Raises EvaluationFailed with LLDB's error message."""
    message = parse(text)
    if message is None or message.get("bug"):
        error = (message["error"] if message else text).strip()
        raise DebuggerError(f"LLDB answered {error[-300:]!r}.", next="dbg logs")
    if "error" in message:
        raise EvaluationFailed(lldb.brief_error(message["error"]).rstrip("."))
    return message["answer"]


def printed(text: str) -> str:
    """Return what Python inside LLDB printed before the answer: it is not part of the answer."""
    # LLDB echoes the command, possibly after the rest of earlier output.
    match = re.search(rf"^.*?(?:^|\n)[^\n]*\bff \[[^\n]*\n(.*?){PREFIX}", text, re.DOTALL)
    return match[1] if match else ""


def done(text: str) -> None:
    answer(text)


def stop_info(stop: Mapping[str, Any]) -> StopInfo:
    reason = StopReason(stop["reason"])
    description = stop.get("description")
    if reason is StopReason.SIGNAL:
        signalled = lldb.read_signal(description or "")
        description = signalled[1] if signalled else stop.get("signal") or description
        if stop.get("signal") == "SIGSTOP":
            reason, description = StopReason.PAUSE, None
    elif reason is StopReason.EXCEPTION:
        description = None
    returned = stop.get("returned")
    return StopInfo(
        reason,
        stop["path"],
        stop["line"],
        function(stop["function"] or ""),
        stop["thread"],
        tuple(stop["numbers"]),
        description,
        value(returned) if returned else None,
        _watch_hit(stop["watch"]) if stop.get("watch") else None,
        tuple(map(breakpoint_info, stop.get("made", ()))),
    )


def breakpoint_info(body: Mapping[str, Any]) -> DebuggerBreakpoint:
    return DebuggerBreakpoint(body["number"], body.get("path"), body.get("line"), body["bound"])


def _watch_hit(body: Mapping[str, Any]) -> WatchHit:
    also = tuple(map(_watch_hit, body.get("also", ())))
    if body.get("ended"):
        return WatchHit(body["number"], "", ended=True, also=also)
    new = _plain(body["new"])
    # A read does not change the value.
    old = _plain(body["old"]) if body["old"] != body["new"] else None
    return WatchHit(body["number"], "", old, new, body.get("path"), body.get("line"), also=also)


def _plain(text: str) -> str:
    return lldb.enriched(RawValue("", text)).text


def function(name: str) -> str:
    if not name or re.fullmatch(r"0x[0-9a-fA-F]+|___lldb_unnamed_symbol\w*", name):
        return "??"
    return plain_function(without_parameters(name.removeprefix("::")))


def frame(body: Mapping[str, Any]) -> RawFrame:
    path = body["path"]
    shown = [f"{name}={_brief(text)}" for name, text in body["arguments"]]
    return RawFrame(
        0,
        function(body["function"]),
        path,
        body["line"],
        body["column"],
        body["module"] if path is None else None,
        body["address"],
        path is None or lldb.is_library(path),
        arguments=", ".join(shown) or None,
    )


def frames(listed: Sequence[Mapping[str, Any]], thread: int) -> Sequence[RawFrame]:
    """Return a thread's frames; one that waits for a mutex names the thread that holds it."""
    found = [frame(each) for each in listed]
    index = lock_waits.locking_frame(found) if listed and "lock_owner" in listed[0] else None
    if index is None:
        return found
    owner = listed[0]["lock_owner"] if lock_waits.has_owner(found[index]) else None
    holder = lock_waits.holder_name(owner, thread) if owner is not None else None
    return lock_waits.with_lock(found, index, holder)


def _brief(text: str) -> str:
    short = _plain(text)
    count = re.fullmatch(r"size=(\d+)", short)
    return f"({count[1]} items)" if count else short


def values(text: str) -> list[RawValue]:
    return [value(each) for each in answer(text)]


def value(body: Mapping[str, Any]) -> RawValue:
    return lldb.enriched(
        RawValue(
            body["name"],
            body["text"],
            body.get("type"),
            body["ref"],
            body.get("count"),
            body.get("expression"),
            body.get("address"),
            declared=body.get("declared"),
        )
    )
