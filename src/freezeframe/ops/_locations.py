"""Resolve a location from the user: in the workspace, or in the sources of a program."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.backends.debug_info import source_files
from freezeframe.errors import UsageError
from freezeframe.model.locations import Location
from freezeframe.session.breakpoints import resolve

from ._context import Context
from ._suggestions import quoted


def located(
    ctx: Context, location: Location, *, remote: bool = False, program: str | None = None
) -> Location:
    """Return *location* with the path of its file.

    Searches the workspace and the source files of *program*, or of the programs of its sessions.
    Raises NotFound with the nearest name, and UsageError for a location with a condition, which
    only a breakpoint has.
    """
    check_unconditional(location)

    def made_of() -> list[str]:
        targets = [session.target for session in ctx.workspace.sessions.values()]
        programs = [program] if program else [t.program for t in targets if t is not None]
        return [path for each in programs if each is not None for path in source_files(each)]

    return resolve(
        location, ctx.caller.cwd, ctx.workspace.root, remote=remote, source_files=made_of
    )


def check_unconditional(location: Location) -> None:
    """Raise UsageError for a location with a condition: `app.py:14 if n > 3`."""
    if location.condition is not None:
        unconditional = replace(location, condition=None)
        raise UsageError(
            f"`if {location.condition}` belongs to a breakpoint.",
            next=f"dbg break {quoted(str(unconditional))} -c {quoted(location.condition)}",
        )
