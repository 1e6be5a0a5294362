"""Where a place is that a user names: in the workspace, or in what a program was made of."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.backends.sources import source_files
from freezeframe.errors import UsageError
from freezeframe.model.places import Location
from freezeframe.session.breakpoints import resolve

from ._context import Context
from ._guesses import quoted


def located(
    ctx: Context, location: Location, *, remote: bool = False, program: str | None = None
) -> Location:
    """Return *location* with the path of its file.

    Besides the workspace the files count that *program* was made of, or the programs of the
    sessions here. Raises NotFound, with the nearest name, where there is none, and UsageError for
    one with a condition, which only a breakpoint has.
    """
    check_unconditional(location)

    def made_of() -> list[str]:
        targets = [session.target for session in ctx.workspace.sessions.values()]
        programs = [program] if program else [t.program for t in targets if t is not None]
        return [path for each in programs if each is not None for path in source_files(each)]

    return resolve(location, ctx.caller.cwd, ctx.workspace.root, remote=remote, made_of=made_of)


def check_unconditional(location: Location) -> None:
    """Raise UsageError for `app.py:14 if n > 3` where no breakpoint is set."""
    if location.condition is not None:
        place = replace(location, condition=None)
        raise UsageError(
            f"`if {location.condition}` belongs to a breakpoint.",
            next=f"dbg break {quoted(str(place))} -c {quoted(location.condition)}",
        )
