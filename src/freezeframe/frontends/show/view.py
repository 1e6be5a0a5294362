"""What the view shows, read from the daemon as an observer: nothing counts as seen by the agent."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from freezeframe.errors import FreezeframeError

Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]

#: lines and commands that are kept; a terminal shows fewer
_MOST_LINES = 200
_CONTEXT_LINES = 60
_FRAMES = 20


@dataclass
class SessionView:
    """The state of one session, or of none."""

    session: str | None = None
    #: phase of the session; empty: there is none
    state: str = ""
    #: reason, location and exception of the stop
    stop: Mapping[str, Any] = field(default_factory=dict)
    exit: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    values: list[Mapping[str, Any]] = field(default_factory=list)
    frames: list[Mapping[str, Any]] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    #: the agent's last commands that resumed or changed something
    commands: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_LINES))
    problem: str | None = None


def note_events(view: SessionView, events: list[Mapping[str, Any]]) -> None:
    """Keep the commands among the events of the workspace."""
    for each in events:
        text = each.get("text", "")
        if each["kind"] in ("resume", "breakpoint") and text and not text[0].isdigit():
            view.commands.append(text)


async def refresh(view: SessionView, call: Call, session: str | None) -> None:
    """Read the state of *session*, or of the current one."""
    listed = (await call("sessions", {})).get("sessions", ())
    found = next(
        (each for each in listed if (each["name"] == session if session else each.get("current"))),
        None,
    )
    view.stop, view.exit, view.source, view.values, view.frames = {}, {}, {}, [], []
    if found is None:
        view.session, view.state = session, ""
        return
    view.session, view.state = found["name"], found["state"]
    try:
        await _read_output(view, call)
        if view.state == "stopped":
            await _read_stop(view, call)
        elif view.state == "terminated":
            view.exit = found.get("exit") or {}
    except FreezeframeError:
        pass  # it has resumed or ended meanwhile: the next event shows that


async def _read_output(view: SessionView, call: Call) -> None:
    answer = await call("output", {"all": True, "tail": _MOST_LINES, "peek": True})
    chunks = answer.get("output", {}).get("chunks", ())
    view.output = "".join(chunk["text"] for chunk in chunks).splitlines()


async def _read_stop(view: SessionView, call: Call) -> None:
    report = await call("context", {"context": _CONTEXT_LINES})
    view.state = report["state"]
    view.stop = report.get("stop") or {}
    view.source = report.get("source") or {}
    view.values = [value for s in report.get("scopes", ()) for value in s.get("values", ())]
    stacks = (await call("backtrace", {"limit": _FRAMES})).get("stacks", ())
    view.frames = list(stacks[0].get("frames", ())) if stacks else []
