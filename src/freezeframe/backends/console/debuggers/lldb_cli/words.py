"""What is said to LLDB and read from it: one command of ours, JSON both ways."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from freezeframe.backends import lldb
from freezeframe.backends.backend import RawFrame, RawValue
from freezeframe.backends.console.prompt.spelling import At, Halt, Made
from freezeframe.backends.native import plain_function, without_parameters
from freezeframe.errors import DebuggerError, EvaluationFailed
from freezeframe.model.stops import StopReason, WatchHit

PREFIX = "@ff "


def written(words: object) -> str:
    # Between backticks LLDB would evaluate before anybody reads.
    return json.dumps(words).replace("`", "\\u0060")


def ff(name: str, *words: object) -> str:
    return f"ff {written([name, *words])}"


def evaluation(expression: str, at: At, how: str) -> str:
    return ff("evaluate", at.thread, at.level, expression, how)


def heard(text: str) -> dict[str, Any] | None:
    """Return what the probe says last; None where it says nothing."""
    said = [line for line in text.splitlines() if line.startswith(PREFIX)]
    told = json.loads(said[-1].removeprefix(PREFIX)) if said else None
    return told if isinstance(told, dict) else None


def answer(text: str) -> Any:
    """Return the answer. Raises EvaluationFailed with LLDB's own complaint."""
    told = heard(text)
    if told is None or told.get("bug"):
        words = (told["error"] if told else text).strip()
        raise DebuggerError(f"LLDB answered {words[-300:]!r}.", next="dbg logs")
    if "error" in told:
        raise EvaluationFailed(lldb.brief_error(told["error"]).rstrip("."))
    return told["answer"]


def printed(text: str) -> str:
    """Return what Python inside LLDB printed before the answer: that is not part of it."""
    # LLDB repeats the command, and before it may stand the rest of what went before.
    said = re.search(rf"^.*?(?:^|\n)[^\n]*\bff \[[^\n]*\n(.*?){PREFIX}", text, re.DOTALL)
    return said[1] if said else ""


def done(text: str) -> None:
    answer(text)


def halt(stop: Mapping[str, Any]) -> Halt:
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
    return Halt(
        reason,
        stop["path"],
        stop["line"],
        function(stop["function"] or ""),
        stop["thread"],
        tuple(stop["numbers"]),
        description,
        value(returned) if returned else None,
        _watch_hit(stop["watch"]) if stop.get("watch") else None,
        tuple(map(made, stop.get("made", ()))),
    )


def made(told: Mapping[str, Any]) -> Made:
    return Made(told["number"], told.get("path"), told.get("line"), told["bound"])


def _watch_hit(told: Mapping[str, Any]) -> WatchHit:
    also = tuple(map(_watch_hit, told.get("also", ())))
    if told.get("ended"):
        return WatchHit(told["number"], "", ended=True, also=also)
    new = _plain(told["new"])
    # What was only read is what it was.
    old = _plain(told["old"]) if told["old"] != told["new"] else None
    return WatchHit(told["number"], "", old, new, told.get("path"), told.get("line"), also=also)


def _plain(text: str) -> str:
    return lldb.enriched(RawValue("", text)).text


def function(name: str) -> str:
    if not name or re.fullmatch(r"0x[0-9a-fA-F]+|___lldb_unnamed_symbol\w*", name):
        return "??"
    return plain_function(without_parameters(name.removeprefix("::")))


def frame(told: Mapping[str, Any]) -> RawFrame:
    path = told["path"]
    shown = [f"{name}={_brief(text)}" for name, text in told["arguments"]]
    return RawFrame(
        0,
        function(told["function"]),
        path,
        told["line"],
        told["column"],
        told["module"] if path is None else None,
        told["address"],
        path is None or lldb.is_library(path),
        arguments=", ".join(shown) or None,
    )


def _brief(text: str) -> str:
    short = _plain(text)
    count = re.fullmatch(r"size=(\d+)", short)
    return f"({count[1]} items)" if count else short


def values(text: str) -> list[RawValue]:
    return [value(each) for each in answer(text)]


def value(told: Mapping[str, Any]) -> RawValue:
    return lldb.enriched(
        RawValue(
            told["name"],
            told["text"],
            told.get("type"),
            told["ref"],
            told.get("count"),
            told.get("expression"),
            told.get("address"),
            declared=told.get("declared"),
        )
    )
