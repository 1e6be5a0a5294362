"""Sessions and the daemon."""

from __future__ import annotations

import re
from collections.abc import Sequence

from freezeframe.model.answers import (
    LaunchConfigurations,
    LivePage,
    SessionInfo,
    SessionList,
    Status,
)
from freezeframe.render.budget import Capped, Fixed, Listing, Section
from freezeframe.render.formatting import clip, one_line, plural, relative, seconds
from freezeframe.render.styled_lines import Line, Tone, View, row

from ._registry import headline, next_step, renders, wrapped_in
from .history import runs_table
from .stops import exit_text


def _state(session: SessionInfo, cwd: str | None) -> str:
    """Return `stopped: breakpoint at app.py:22 in total`."""
    if session.state == "terminated":
        return clip(exit_text(session.exit), 120)
    text = one_line(session.state)
    if session.reason:
        text = f"{text}: {clip(session.reason, 60)}"
    if session.place:
        text = f"{text} at {clip(relative(session.place, cwd), 100)}"
        if session.function:
            text = f"{text} in {clip(session.function, 60)}"
    return text


def _in_tree_order(sessions: Sequence[SessionInfo]) -> list[tuple[int, SessionInfo]]:
    """Return (depth, session), children below their parents."""
    names = {session.name for session in sessions}
    below: dict[str | None, list[SessionInfo]] = {}
    for session in sessions:
        parent = session.parent if session.parent in names - {session.name} else None
        below.setdefault(parent, []).append(session)
    ordered: list[tuple[int, SessionInfo]] = []
    seen: set[str] = set()
    waiting = [(0, session) for session in reversed(below.get(None, []))]
    while waiting:
        depth, session = waiting.pop()
        ordered.append((depth, session))
        if session.name not in seen:
            seen.add(session.name)
            children = reversed(below.get(session.name, []))
            waiting.extend((depth + 1, child) for child in children)
    return ordered


def _sessions(
    sessions: Sequence[SessionInfo], rank: int, view: View, workspace: str | None
) -> Section:
    ordered = _in_tree_order(sessions)

    def item(index: int, width: int) -> list[Line]:
        depth, session = ordered[index]
        program = " ".join(session.command) or session.program
        pid = f"pid {session.pid}" if session.pid is not None else ""
        elsewhere = workspace is not None and session.workspace != workspace
        return [
            row(
                f"{'*' if session.current else ' '} {clip(session.name, 60)}",
                _state(session, view.cwd),
                f"{pid} on {clip(session.simulator, 80)}" if session.simulator else pid,
                one_line(session.debugger or ""),
                f"$ {clip(_relative_command(program, view.cwd), max(width // 2, 40))}"
                if program
                else "",
                f"in {clip(session.workspace, 80)}" if elsewhere else "",
                tone=Tone.CURRENT if session.current else Tone.PLAIN,
                indent=2 * depth,
            )
        ]

    def more(shown: int) -> str | None:
        missing = len(ordered) - shown
        return (
            f"… {plural(missing, 'more session')} (dbg sessions {view.more})" if missing else None
        )

    return Listing(rank, len(ordered), item, more)


def _relative_command(command: str, cwd: str | None) -> str:
    if not cwd:
        return command
    return re.sub(rf"(?<!\S){re.escape(cwd.rstrip('/'))}/(?=\S)", "", command)


@renders(SessionList)
def _session_list(answer: SessionList, view: View) -> list[Section]:
    sections: list[Section] = []
    if answer.sessions:
        sections.append(_sessions(answer.sessions, 1, view, None))
    elif not answer.recorded:
        what = "no sessions and no recorded runs" if answer.all else "no sessions"
        sections.append(headline(f"{what} in this workspace"))
    if answer.recorded:
        sections.append(Fixed(1, (Line("recorded:", Tone.HEAD),)))
        sections.append(runs_table(answer.recorded, 2, view))
    if answer.elsewhere:
        text = (
            f"{plural(answer.elsewhere, 'session')} in other workspaces (dbg sessions --everywhere)"
        )
        sections.append(Fixed(2, (Line(text, Tone.QUIET),)))
    return [*sections, *next_step(answer.next)]


@renders(Status)
def _status(answer: Status, view: View) -> list[Section]:
    sections: list[Section] = []
    if answer.sessions:
        sections.append(_sessions(answer.sessions, 1, view, answer.workspace))
    else:
        sections.append(headline("no sessions"))
    for note in answer.notes:
        sections.append(Capped(wrapped_in(1, f"note: {note}", Tone.BAD), 400))
    text = (
        f"daemon {one_line(answer.version)}, pid {answer.daemon_pid}, "
        f"up {seconds(answer.uptime_s)}, log {clip(answer.log, 120)}"
    )
    sections.append(wrapped_in(2, text, Tone.QUIET))
    return [*sections, *next_step(answer.next)]


@renders(LaunchConfigurations)
def _launch_configurations(answer: LaunchConfigurations, view: View) -> list[Section]:
    entries = answer.configurations

    def item(index: int, width: int) -> list[Line]:
        each = entries[index]
        does = each.problem or _relative_command(each.command, view.cwd)
        return [row(clip(each.name, 60), clip(each.type, 20), clip(does, max(width, 80)))]

    def more(shown: int) -> str | None:
        missing = len(entries) - shown
        return f"… {plural(missing, 'more configuration')} ({view.more})" if missing else None

    paths = dict.fromkeys(relative(each.path, view.cwd) for each in entries)
    title = f"{plural(len(entries), 'configuration')} in {' and '.join(paths)}"
    return [headline(title), Listing(1, len(entries), item, more), *next_step(answer.next)]


@renders(LivePage)
def _live_page(answer: LivePage, view: View) -> list[Section]:
    shown = "opened" if answer.opened else "open"
    return [
        headline(f"live page of {answer.workspace}"),
        wrapped_in(1, f"{shown} {answer.link}"),
        *next_step(answer.next),
    ]
