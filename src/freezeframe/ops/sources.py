"""Source code of the current location or of another one: source."""

from __future__ import annotations

import os
import re
from typing import Annotated

from freezeframe.errors import NotFound, UsageError
from freezeframe.model.answers import SourceAnswer
from freezeframe.model.locations import Location
from freezeframe.model.stops import Frame
from freezeframe.session.phase import Phase
from freezeframe.session.source_cache import enclosing_block

from ._context import Context
from ._locations import located
from ._registry import Arg, Needs, op
from ._stop_report import source_at


@op(
    "source",
    aliases=("list", "l"),
    group="inspect",
    needs=Needs.WORKSPACE,
    control=True,
    example="source app.py:30",
    examples=("source --function", "source app.py:30 --context 20"),
)
async def source(
    ctx: Context,
    where: Annotated[
        Location | None,
        Arg("file:line or file:1-20; default: the current location", complete="location"),
    ] = None,
    *,
    context: Annotated[int, Arg("lines on either side", meta="N", short="-C")] = 10,
    function: Annotated[bool, Arg("the whole function", short="-f")] = False,
) -> SourceAnswer:
    """Show source code; the selected frame stays."""
    session = ctx.workspace.session() if ctx.session_name is None else None
    if ctx.session_name is not None:
        session = ctx.hub.find(ctx.session_name, ctx.workspace)
    focus = session.focus() if session is not None else None
    current: Frame | None = None
    if focus is not None and focus.phase is Phase.STOPPED:
        stop = await focus.require_stopped()
        current = await stop.current_frame()
    last = None
    if where is not None and (where.function is not None or _is_range(ctx, where)):
        where, last = _source_location(ctx, where.function or f"{where}", current)
    if where is None:
        if current is None or focus is None:
            raise UsageError("there is no current location; name one.", next="dbg source FILE:LINE")
        if not function or current.path is None or current.line is None:
            found = await source_at(ctx, focus, current, context)
            if found is None:
                raise NotFound(f"{current.function} has no source.", next="dbg disassemble")
            return SourceAnswer(found, current.function)
        path, line = current.path, current.line
    else:
        location = located(ctx, where)
        path, line = location.file or "", location.line or 1
    # A location from a recording shows the recorded source; one from the caller, the file as it is.
    sources = focus.sources if where is None and focus is not None else ctx.hub.sources
    mark = current.line if current is not None and current.path == path else None
    if function or last is not None:
        try:
            lines = sources.lines(path)
        except OSError as error:
            raise NotFound(f"{path} cannot be read: {error.strerror}.") from None
        first, end = enclosing_block(lines, line) if last is None else (line, last)
        return SourceAnswer(sources.cut(path, lines, first, end, mark))
    return SourceAnswer(sources.excerpt(path, line, context, current=mark))


#: `30`, `1,20`, `1:20`, `app.py:1-20`: lines of the current file or of another one
_LINES = re.compile(r"(?:(?P<file>.*\D.*):)?(?P<first>\d+)(?:[,:-](?P<last>\d+))?")


def _is_range(ctx: Context, where: Location) -> bool:
    """Whether `1:20` are lines of the current file; a file may be called 1."""
    file = where.file or ""
    return file.isdecimal() and not os.path.exists(os.path.join(ctx.caller.cwd, file))


def _source_location(ctx: Context, text: str, current: Frame | None) -> tuple[Location, int | None]:
    """Return the location that *text* names, and the last line if *text* names several lines.

    Without a file it is a line of the current file; a file name alone means its first line.
    """
    if os.path.isfile(os.path.join(ctx.caller.cwd, text)):
        return Location(file=text, line=1), None
    named = _LINES.fullmatch(text)
    file = named["file"] if named else None
    if named and file is None and current is not None:
        file = current.path
    if named is None or file is None:
        raise UsageError(
            f"{text!r} is neither FILE:LINE nor FILE:FIRST-LAST.", next="dbg source FILE:LINE"
        )
    first, last = int(named["first"]), named["last"]
    if last is not None and int(last) < first:
        raise UsageError(f"{text!r} ends before it begins.", next="dbg source FILE:FIRST-LAST")
    return Location(file=file, line=first), None if last is None else int(last)
