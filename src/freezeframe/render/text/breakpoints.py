"""Breakpoints, watchpoints and exception filters: as requested, and as the debugger set them."""

from __future__ import annotations

from freezeframe.model.answers import BreakpointAnswer, BreakpointList, CatchList, WatchpointList
from freezeframe.model.stops import Breakpoint, BreakpointState, Watchpoint
from freezeframe.render.budget import HEADLINE, Listing, Section
from freezeframe.render.formatting import clip, file_line, one_line, plural, relative, size
from freezeframe.render.styled_lines import Line, Tone, View, row

from ._registry import headline, next_step, renders, via, wrapped_in


def _where(breakpoint: Breakpoint, cwd: str | None) -> str:
    if breakpoint.path is not None:
        where = file_line(breakpoint.path, breakpoint.line, cwd)
        requested = breakpoint.location
        # A function's name is more useful than its line.
        if requested and not requested.rpartition(":")[2].isdecimal():
            where = f"{clip(requested, 60)} ({where})"
    else:
        where = clip(relative(breakpoint.location, cwd), 100)
    if breakpoint.moved_from is not None and breakpoint.moved_from != breakpoint.line:
        where = f"{where} (requested line {breakpoint.moved_from})"
    return where


def _terms(breakpoint: Breakpoint) -> str:
    """Return the conditions and options of a breakpoint: `if n > 3, temporary`."""
    terms = []
    if breakpoint.condition:
        terms.append(f"if {clip(breakpoint.condition, 80)}")
    if breakpoint.hit_count:
        terms.append(f"hit count {clip(breakpoint.hit_count, 40)}")
    if breakpoint.log:
        terms.append(f"log {clip(breakpoint.log, 80)}")
    if breakpoint.temporary:
        terms.append("temporary")
    return ", ".join(terms)


def _state(breakpoint: Breakpoint, over: bool = False) -> str:
    """Return the problem of a breakpoint, with the debugger's reason; empty if there is none.

    *over*: the program has ended.
    """
    if breakpoint.state is BreakpointState.BOUND:
        return clip(breakpoint.message, 160) if breakpoint.message else ""
    state = {
        BreakpointState.REQUESTED: "waits for a session",
        BreakpointState.PENDING: "was never bound" if over else "not bound yet",
        BreakpointState.REJECTED: "rejected",
        BreakpointState.DISABLED: "disabled",
    }[breakpoint.state]
    return f"{state}: {clip(breakpoint.message, 160)}" if breakpoint.message else state


def breakpoint_text(breakpoint: Breakpoint, cwd: str | None, *, over: bool = False) -> str:
    """Return `breakpoint 1 at app.py:22 if n > 3`, and its problem."""
    text, state = _what_it_is(breakpoint, cwd), _state(breakpoint, over)
    return f"{text}, {state}" if state else text


def _what_it_is(breakpoint: Breakpoint, cwd: str | None) -> str:
    where = f"breakpoint {breakpoint.id} at {_where(breakpoint, cwd)}"
    return f"{where} {_terms(breakpoint)}".rstrip()


_DONE = {"exists": "exists already: "}


@renders(BreakpointAnswer)
def _breakpoint(answer: BreakpointAnswer, view: View) -> list[Section]:
    breakpoint = answer.breakpoint
    done = _DONE.get(answer.done, f"{one_line(answer.done)} ")
    text = f"{done}breakpoint {breakpoint.id} at {_where(breakpoint, view.cwd)}"
    detail = _terms(breakpoint)
    state = "" if answer.done == "disabled" and not breakpoint.message else _state(breakpoint)
    bad = breakpoint.state in (BreakpointState.PENDING, BreakpointState.REJECTED)
    sections: list[Section] = []
    whole = ", ".join(part for part in (f"{text} {detail}".rstrip(), state) if part)
    if size(whole) <= HEADLINE:
        sections.append(headline(whole, Tone.BAD if bad else Tone.REASON))
    else:
        sections.append(headline(text, Tone.BAD if bad else Tone.REASON))
        for part in (detail, state):
            if part:
                sections.append(wrapped_in(1, f"  {part}", Tone.BAD if bad else Tone.PLAIN))
    if answer.source and answer.source.strip():
        source = f"  {clip(answer.source.strip(), 120)}"
        sections.append(wrapped_in(2, source, Tone.SOURCE))
    return [*sections, *next_step(answer.next), *via(answer.via)]


@renders(BreakpointList)
def _breakpoints(answer: BreakpointList, view: View) -> list[Section]:
    sections: list[Section] = []
    if answer.removed:
        removed = answer.removed

        def gone(index: int, width: int) -> list[Line]:
            # The problem of a removed breakpoint no longer matters.
            return [Line(f"removed {_what_it_is(removed[index], view.cwd)}")]

        sections.append(
            Listing(
                1,
                len(removed),
                gone,
                lambda shown: _more(len(removed) - shown, "removed", "breakpoint list", view),
            )
        )
    points = answer.breakpoints
    if not points and not answer.removed and not answer.watchpoints:
        sections.append(headline("no breakpoints"))

    def item(index: int, width: int) -> list[Line]:
        point = points[index]
        state = _state(point)
        hits = plural(point.hits, "hit") if point.hits else ""
        wrong = point.state in (BreakpointState.PENDING, BreakpointState.REJECTED)
        return [
            row(
                str(point.id),
                _where(point, view.cwd),
                _terms(point),
                hits,
                state,
                tone=Tone.BAD if wrong else Tone.PLAIN,
            )
        ]

    if points:
        sections.append(
            Listing(
                2,
                len(points),
                item,
                lambda shown: _more(len(points) - shown, "more", "breakpoint list", view),
            )
        )
    watched = answer.watchpoints
    if watched:
        sections.append(
            Listing(
                3,
                len(watched),
                lambda index, width: [_watchpoint(watched[index], "")],
                lambda shown: _more(len(watched) - shown, "more", "watch list", view),
            )
        )
    return [*sections, *next_step(answer.next), *via(answer.via)]


def _more(missing: int, word: str, command: str, view: View) -> str | None:
    return f"… {missing} {word} (dbg {command} {view.more})" if missing else None


@renders(WatchpointList)
def _watchpoints(answer: WatchpointList, view: View) -> list[Section]:
    points = answer.watchpoints
    done = f"{one_line(answer.done)} " if answer.done else ""
    if not points:
        return [headline(f"{answer.done}, no watchpoints left" if done else "no watchpoints")]

    def item(index: int, width: int) -> list[Line]:
        return [_watchpoint(points[index], done if len(points) == 1 else "")]

    return [
        Listing(
            1,
            len(points),
            item,
            lambda shown: _more(len(points) - shown, "more", "watch list", view),
        ),
        *via(answer.via),
    ]


def _watchpoint(point: Watchpoint, done: str) -> Line:
    text = f"{done}watchpoint {point.id} on {clip(point.expression, 80)} ({one_line(point.access)})"
    if point.condition:
        text = f"{text} if {clip(point.condition, 80)}"
    if point.hits:
        text = f"{text}, {plural(point.hits, 'hit')}"
    if not point.verified:
        text = f"{text}, not set"
    if point.message:
        text = f"{text}: {clip(point.message, 160)}"
    return Line(text, Tone.PLAIN if point.verified else Tone.BAD)


@renders(CatchList)
def _catch(answer: CatchList, view: View) -> list[Section]:
    filters = answer.filters
    if not filters:
        return [headline("no exception filters"), *next_step(answer.next)]

    def item(index: int, width: int) -> list[Line]:
        filter = filters[index]
        condition = f"if {clip(filter.condition, 80)}" if filter.condition else ""
        label = filter.label if filter.label.lower() != filter.name.lower() else ""
        return [
            row(
                "on" if filter.on else "off",
                clip(filter.name, 60),
                clip(label, 60) if label else "",
                condition,
                "default" if filter.default and not filter.on else "",
                tone=Tone.GOOD if filter.on else Tone.QUIET,
            )
        ]

    def more(shown: int) -> str | None:
        missing = len(filters) - shown
        return f"… {missing} more (dbg catch list {view.more})" if missing else None

    return [Listing(1, len(filters), item, more), *next_step(answer.next), *via(answer.via)]
