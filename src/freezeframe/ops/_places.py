"""Where a place is that a user names: in the workspace, or in what a program was made of."""

from __future__ import annotations

from freezeframe.backends.sources import source_files
from freezeframe.model.places import Location
from freezeframe.session.breakpoints import resolve

from ._context import Context


def located(
    ctx: Context, location: Location, *, remote: bool = False, program: str | None = None
) -> Location:
    """Return *location* with the path of its file.

    Besides the workspace the files count that *program* was made of, or the programs of the
    sessions here. Raises NotFound, with the nearest name, where there is none.
    """

    def made_of() -> list[str]:
        targets = [session.target for session in ctx.workspace.sessions.values()]
        programs = [program] if program else [t.program for t in targets if t is not None]
        return [path for each in programs if each is not None for path in source_files(each)]

    return resolve(location, ctx.caller.cwd, ctx.workspace.root, remote=remote, made_of=made_of)
