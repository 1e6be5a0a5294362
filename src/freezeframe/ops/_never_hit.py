"""Notes about breakpoints that were never hit, when the program has ended."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from freezeframe import files
from freezeframe.backends import selection
from freezeframe.backends.backend import Core, Launch
from freezeframe.backends.debugger import Debugger, Found
from freezeframe.backends.fork_modes import ForkMode
from freezeframe.backends.native import binary_kind
from freezeframe.backends.process_starts import may_start_processes
from freezeframe.model.locations import Location
from freezeframe.session.breakpoints import LogicalBreakpoint
from freezeframe.session.session import Session

from ._context import Context

#: How many breakpoints are named.
_NAMED = 4
#: language → how its sources name functions that may run unseen at the end, and a note: of programs
#: that were started, and of those attached to
_RUN_AT_EXIT = {
    "Python": (
        (
            re.compile(r"\bdef __del__\b"),
            "__del__ methods that Python calls as it exits are not debugged",
        ),
        (
            re.compile(r"\batexit\b|\bdef __del__\b|\bweakref\.finalize\b"),
            "what was registered before attach and runs as Python exits (atexit, __del__) is not"
            " debugged",
        ),
    )
}
_MOST_TEXT = 1_000_000


def never_hit(ctx: Context, session: Session) -> tuple[str, ...]:
    """Return notes for breakpoints that were set, as far as is known, and never hit.

    The reason is unknown: debuggers accept any function name, and a condition may not hold. Where
    the program may have started processes that were not debugged, a note says so.
    """
    missed = [
        (entry, session.bound_breakpoints.last_verified(entry.id))
        for entry in session.breakpoints
        if entry.enabled
        and not entry.hits
        and entry.log is None
        and not is_of_another_program(ctx, session, entry)
        and (entry.location.function or entry.location.file)
    ]
    # A breakpoint that was never set is reported as such.
    found = [entry for entry, bound in missed if bound is None or bound.verified]
    pending = any(bound and not bound.verified and not bound.rejected for _, bound in missed)
    notes = tuple(
        f"breakpoint {entry.id} at {named(entry.location)} {_missed(entry)}"
        for entry in found[:_NAMED]
    )
    if len(found) > _NAMED:
        notes += (f"{len(found) - _NAMED} more breakpoints were not hit",)
    if not notes and not pending:
        return ()
    return notes + _at_exit(ctx, session.root, found) + without_breakpoints(ctx, session.root)


def is_of_another_program(ctx: Context, session: Session, entry: LogicalBreakpoint) -> bool:
    """Whether a breakpoint of the workspace is in a language that this debugger does not know."""
    file, backend = entry.location.file, session.root.backend
    if entry.owner is not None or file is None or backend is None:
        return False
    return selection.is_of_another_language(file, backend.tool.name, ctx.config)


def _at_exit(ctx: Context, root: Session, missed: Iterable[LogicalBreakpoint]) -> tuple[str, ...]:
    """Return a note if a breakpoint may be in a function that runs unseen at the end."""
    debugger = _debugger(ctx, root)
    target = root.target
    program = target.program if isinstance(target, Launch) and not target.module else None
    for language in debugger.languages if debugger is not None else ():
        if language not in _RUN_AT_EXIT:
            continue
        pattern, note = _RUN_AT_EXIT[language][not isinstance(target, Launch)]
        for path in {entry.location.file or program for entry in missed} - {None}:
            if pattern.search(_text(str(path))):
                return (note,)
    return ()


def _text(path: str) -> str:
    try:
        return files.read_head(path, _MOST_TEXT).decode("utf-8", "replace")
    except OSError:
        return ""


def _debugger(ctx: Context, root: Session) -> Debugger | None:
    if root.backend is None:
        return None
    return selection.known(ctx.config).get(root.backend.tool.name)


def _missed(entry: LogicalBreakpoint) -> str:
    """Say that a breakpoint did not stop the program, and no more than that.

    A hit whose condition or hit count does not match is not reported by most debuggers.
    """
    if not (entry.condition or entry.hit_count):
        return "was not hit after it was changed" if entry.changed else "was never hit"
    unmet = [
        *([f"its condition {entry.condition} did not hold"] if entry.condition else ()),
        *([f"its hit count {entry.hit_count} was not reached"] if entry.hit_count else ()),
    ]
    fact = "has not stopped the program since it was changed" if entry.changed else ""
    fact = fact or "never stopped the program"
    return f"{fact}: it was not reached, or {' or '.join(unmet)}"


def named(location: Location) -> str:
    """Return a short name of a location."""
    if location.function:
        return location.function
    return f"{os.path.basename(location.file or '')}:{location.line}"


def without_breakpoints(ctx: Context, root: Session) -> tuple[str, ...]:
    """Return a note that processes may have run without breakpoints, and how to stop there."""
    target, debugger = root.target, _debugger(ctx, root)
    if target is None or isinstance(target, Core) or debugger is None:
        return ()
    name = debugger.name
    if target.forks is ForkMode.BOTH:
        # Backends report the children that they could not follow; others are not known to follow.
        return () if debugger.tested else (f"{name} may have left child processes alone",)
    is_binary = isinstance(target, Launch) and not target.module and binary_kind(target.program)
    if is_binary and target.program and not may_start_processes(target.program):
        return ()
    if target.forks is ForkMode.CHILD:
        return ("breakpoints were set in the first child process alone, once there was one",)
    ways = [mode.value for mode in debugger.forks if mode is not ForkMode.PARENT]
    if ways:
        return (f"breakpoints were not set in child processes: --child {' or '.join(ways)}",)
    other = _follower(ctx, debugger)
    note = f"{name} sets no breakpoints in child processes or after an exec"
    return (f"{note}: --adapter {other}" if other else note,)


def _follower(ctx: Context, debugger: Debugger) -> str | None:
    """Return the name of an installed debugger of the same language that follows children."""
    config = ctx.config
    others = (
        each
        for each in selection.known(config).values()
        if ForkMode.BOTH in each.forks and each.tested and {*each.languages} & {*debugger.languages}
    )
    for other in sorted(others, key=lambda each: each.rank):
        if isinstance(other.find(ctx.caller.env, config.adapter(other.name)), Found):
            return other.name
    return None
