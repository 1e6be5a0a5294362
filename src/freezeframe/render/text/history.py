"""History: tables of hits, groups, trends, differences, events, recorded runs."""

from __future__ import annotations

import itertools
import math
import shlex
import time
from collections.abc import Sequence

from freezeframe.model.history import (
    EventList,
    Exported,
    HitGroups,
    HitTable,
    HitTrend,
    Pruned,
    RunAnswer,
)
from freezeframe.model.runs import Run
from freezeframe.render.budget import Capped, Fixed, Listing, Section
from freezeframe.render.formatting import clip, number, one_line, plural, relative, seconds
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, wrapped_in
from .stops import exit_text

#: The widest column of a table.
_CELL = 24
_BARS = "▁▂▃▄▅▆▇█"
#: Bars of a sparkline; more points share one.
_SPARKS = 60


def run_text(run: Run) -> str:
    """Return `run 7 (good, app)`: number, label and session of a run."""
    name = f"{run.label}, {run.name}" if run.label else run.name
    text = f"run {run.number} ({clip(name, 50)})"
    if run.traced > run.stops > 0:
        text += f", the last {number(run.stops)} of {number(run.traced)} steps"
    return text


def named(run: Run) -> str:
    return one_line(run.label) if run.label else f"run {run.number}"


def ago(then: float) -> str:
    span = max(0.0, time.time() - then)
    return "just now" if span < 5 else f"{seconds(span)} ago"


# --- tables -------------------------------------------------------------------------------------


def _table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    rank: int,
    more: str | None = None,
) -> Section:
    """Return rows in aligned columns, numbers to the right."""
    widest = [
        min(_CELL, max(len(one_line(row[i])) for row in (head, *rows))) for i in range(len(head))
    ]
    right = [all(_is_number(row[i]) for row in rows) for i in range(len(head))]

    def line(cells: Sequence[str], tone: Tone) -> Line:
        shown = [_cut(one_line(cell), width) for cell, width in zip(cells, widest, strict=True)]
        padded = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(shown, widest, right, strict=True)
        ]
        return Line("  ".join(padded).rstrip(), tone)

    def item(index: int, width: int) -> list[Line]:
        return [line(rows[index], Tone.VALUE)]

    def rest(shown: int) -> str | None:
        missing = len(rows) - shown
        if missing:
            return f"… {plural(missing, 'more row')}" + (f" ({more})" if more else "")
        return None

    return Listing(rank, len(rows), item, rest, head=(line(head, Tone.HEAD),), widths=(160,))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("", "-")
    return True


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


@renders(HitTable)
def _hits(answer: HitTable, view: View) -> list[Section]:
    where = one_line(answer.location)
    text = f"{where}: {plural(answer.total, 'hit')} in {run_text(answer.run)}"
    if answer.where is not None:
        text = (
            f"{where}: {number(answer.matched)} of {plural(answer.total, 'hit')} "
            f"in {run_text(answer.run)} with {clip(answer.where, 60)}"
        )
    sections: list[Section] = [headline(text)]
    hits = answer.hits
    if hits:
        sections.append(_hit_table(answer, view))
    left = answer.matched - answer.start - len(hits)
    if left > 0:
        end = answer.start + len(hits)
        hint = f"dbg hits {_location_argument(answer)} --range {end}:{end + len(hits)}"
        sections.append(Fixed(2, (Line(f"… {plural(left, 'more hit')} ({hint})", Tone.QUIET),)))
    if answer.unanswered:
        text = f"{plural(answer.unanswered, 'hit')} without {one_line(answer.reason or '?')}"
        sections.append(Fixed(2, (Line(f"left out: {text}", Tone.QUIET),)))
    if answer.others:
        sections.append(Capped(wrapped_in(3, f"also change: {', '.join(answer.others)}"), 240))
    if answer.constant:
        same = ", ".join(f"{v.name} = {clip(v.text, 40)}" for v in answer.constant)
        sections.append(Capped(wrapped_in(3, f"always: {same}", Tone.QUIET), 240))
    return [*sections, *next_step(answer.next)]


def _location_argument(answer: HitTable | HitGroups) -> str:
    """Return the location as an argument of `hits`: `fib` for `fib (fib.py:4)`."""
    text = answer.asked or (answer.location.partition(" (")[0],)
    return one_line(shlex.join(text))


def _hit_table(answer: HitTable, view: View) -> Section:
    hits = answer.hits
    optional = [
        ("thread", [str(hit.thread) for hit in hits]),
        ("at", [relative(hit.place, view.cwd) for hit in hits]),
        ("reason", [hit.reason for hit in hits]),
    ]
    # No column for what is the same in all rows.
    extra = [(name, cells) for name, cells in optional if len(set(cells)) > 1]
    timed = any(hit.at_s is not None for hit in hits)
    head = [
        "hit",
        *(["time"] if timed else []),
        *(name for name, _ in extra),
        *map(one_line, answer.columns),
    ]
    rows = [
        [
            str(hit.number),
            *([] if hit.at_s is None else [seconds_short(hit.at_s)]),
            *(cells[index] for _, cells in extra),
            *("-" if cell is None else cell for cell in hit.cells),
        ]
        for index, hit in enumerate(hits)
    ]
    hint = f"dbg hits {_location_argument(answer)} {view.more}"
    return _table(head, rows, 1, hint)


def seconds_short(span_s: float) -> str:
    return f"{span_s:.3f}s" if span_s < 10 else f"{span_s:.1f}s"


@renders(HitGroups)
def _groups(answer: HitGroups, view: View) -> list[Section]:
    total = len(answer.groups) + answer.more
    text = (
        f"{one_line(answer.location)}: {plural(total, 'value')} of {clip(answer.by, 50)} "
        f"in {plural(answer.matched, 'hit')} of {run_text(answer.run)}"
    )
    head = [clip(answer.by, 40), "hits", "share", "first", "last", *map(one_line, answer.columns)]
    rows = [
        [
            group.value,
            str(group.count),
            f"{100 * group.count / max(1, answer.matched):.0f}%",
            str(group.first),
            str(group.last),
            *group.cells,
        ]
        for group in answer.groups
    ]
    sections: list[Section] = [headline(text)]
    if rows:
        sections.append(_table(head, rows, 1, f"dbg hits {_location_argument(answer)} {view.more}"))
    if answer.more:
        left = f"… {plural(answer.more, 'more value')} (dbg hits {_location_argument(answer)})"
        sections.append(Fixed(2, (Line(left, Tone.QUIET),)))
    if answer.unanswered:
        left = f"left out: {plural(answer.unanswered, 'hit')} without {clip(answer.by, 50)}"
        sections.append(Fixed(2, (Line(left, Tone.QUIET),)))
    return [*sections, *next_step(answer.next)]


# --- trends -------------------------------------------------------------------------------------


def sparkline(points: Sequence[float], width: int = _SPARKS) -> str:
    """Return numbers as bars; with more than *width* numbers, each bar is a mean of several."""
    if len(points) > width:
        edges = [len(points) * i // width for i in range(width + 1)]
        points = [sum(points[a:b]) / (b - a) for a, b in itertools.pairwise(edges) if b > a]
    real = [p for p in points if math.isfinite(p)]
    if not real:
        return ""
    low, high = min(real), max(real)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[round((p - low) * scale)] if math.isfinite(p) else "?" for p in points)


def figure(value: float) -> str:
    """Return the shortest text of a number."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"


@renders(HitTrend)
def _trend(answer: HitTrend, view: View) -> list[Section]:
    points = answer.points
    text = (
        f"{clip(answer.expression, 50)} at {one_line(answer.location)}: "
        f"{plural(len(points), 'hit')} of {run_text(answer.run)}"
    )
    real = [p for p in points if math.isfinite(p)] or [0.0]
    low, high = min(real), max(real)
    at = dict(zip(reversed(points), reversed(answer.hits), strict=True))
    mean = sum(real) / len(real)
    lines = [
        Line(sparkline(points), Tone.VALUE),
        Line(
            f"first {figure(points[0])}, last {figure(points[-1])}, "
            f"min {figure(low)} (hit {at.get(low, '?')}), "
            f"max {figure(high)} (hit {at.get(high, '?')}), mean {figure(mean)}"
        ),
    ]
    rises = sum(b > a for a, b in itertools.pairwise(points))
    falls = sum(b < a for a, b in itertools.pairwise(points))
    if len(points) > 1:
        shape = (
            "never changes"
            if not rises and not falls
            else ("only rises" if rises == len(points) - 1 else "never falls")
            if not falls
            else ("only falls" if falls == len(points) - 1 else "never rises")
            if not rises
            else f"rises {rises} times, falls {falls} times"
        )
        lines.append(Line(shape, Tone.QUIET))
    sections: list[Section] = [headline(text), Fixed(1, tuple(lines))]
    if answer.skipped:
        left = f"left out: {plural(answer.skipped, 'hit')} without a number"
        if answer.instead:
            left += f" ({clip(answer.instead, 60)})"
        sections.append(Fixed(2, (Line(left, Tone.QUIET),)))
    return [*sections, *next_step(answer.next)]


# --- events -------------------------------------------------------------------------------------


@renders(EventList)
def _events(answer: EventList, view: View) -> list[Section]:
    events = answer.events
    sections: list[Section] = []
    if answer.dropped or answer.skipped:
        left = plural(answer.dropped + answer.skipped, "earlier event")
        sections.append(Fixed(2, (Line(f"… {left}", Tone.QUIET),)))
    if not events:
        waited = f" within {seconds(answer.waited_s)}" if answer.waited_s is not None else ""
        sections.append(headline(f"no events{waited}"))

    def item(index: int, width: int) -> list[Line]:
        event = events[index]
        clock = time.strftime("%H:%M:%S", time.localtime(event.time))
        text = f"{event.cursor}  {clock}  {clip(event.session, 40)}  {event.kind}"
        return [Line(f"{text}  {clip(event.text, width)}".rstrip())]

    def more(shown: int) -> str | None:
        missing = len(events) - shown
        return f"… {plural(missing, 'earlier event')} (dbg events {view.more})" if missing else None

    if events:
        sections.append(Listing(1, len(events), item, more, from_end=True))
    return [*sections, *next_step((f"events --since {answer.end}",), 3)]


# --- runs ---------------------------------------------------------------------------------------


def runs_table(runs: Sequence[Run], rank: int, view: View) -> Section:
    """Return recorded runs as a table."""
    head = ["run", "label", "session", "started", "stops", "ended", "debugger", "command"]
    rows = [
        [
            str(run.number),
            run.label or "",
            run.name,
            ago(run.started),
            str(run.traced or run.stops),
            "live" if run.live else exit_text(run.exit) if run.exit else "cut off",
            run.debugger or "",
            " ".join([relative(run.program, view.cwd), *run.args]),
        ]
        for run in runs
    ]
    if not any(run.label for run in runs):
        head.pop(1)
        for row in rows:
            row.pop(1)
    return _table(head, rows, rank, f"dbg sessions --all {view.more}")


@renders(RunAnswer)
def _run_answer(answer: RunAnswer, view: View) -> list[Section]:
    run = answer.run
    as_ = f" as {one_line(run.label)}" if run.label else ""
    text = f"{answer.done} run {run.number}{as_}: {plural(run.stops, 'stop')} of {run.name}"
    sections: list[Section] = [headline(text)]
    if answer.note:
        sections.append(Capped(wrapped_in(1, f"note: {answer.note}"), 240))
    return [*sections, *next_step(answer.next)]


@renders(Exported)
def _exported(answer: Exported, view: View) -> list[Section]:
    what = "a page" if answer.format == "html" else "JSON lines"
    text = f"the latest answer of {answer.answer} as a page" if answer.answer else ""
    if answer.run is not None:
        run = f"{plural(answer.run.stops, 'stop')} of {run_text(answer.run)}"
        text = f"{text}, with {run}" if text else f"{run} as {what}"
    path = clip(relative(answer.path, view.cwd), 100)
    return [headline(f"wrote {path}: {text}, {_bytes(answer.size)}")]


@renders(Pruned)
def _pruned(answer: Pruned, view: View) -> list[Section]:
    count = plural(len(answer.removed), "run")
    verb = "would remove" if answer.dry else "removed"
    left = f"{plural(answer.runs, 'run')} kept, {_bytes(answer.size)}"
    if not answer.removed:
        return [headline(f"nothing to remove: {left}")]
    freed = f", {_bytes(answer.freed)} freed" if answer.freed else ""
    return [
        headline(f"{verb} {count}{freed}; {left}"),
        runs_table(answer.removed, 1, view),
    ]


def _bytes(count: int) -> str:
    for unit, step in (("MB", 1e6), ("kB", 1e3)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count} bytes"
