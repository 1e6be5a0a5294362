"""Whatever the answer, it fits its budget, says what is missing, and keeps what matters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freezeframe.model import answers as a
from freezeframe.model import history as h
from freezeframe.model.locations import Source, SourceLine
from freezeframe.model.runs import Run
from freezeframe.model.stops import (
    Breakpoint,
    BreakpointState,
    ExceptionInfo,
    Exit,
    Frame,
    LinkedException,
    Stop,
    StopReason,
    Thread,
    TracebackLine,
)
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.render import render_text
from freezeframe.render.budget import LEAST_TOKENS, Fixed, Listing, Resizable, fit, size, tokens
from freezeframe.render.styled_lines import Line

from .samples import local_scope, report, shown, source

# --- any report ---------------------------------------------------------------------------------

_piece = st.text(st.characters(exclude_categories=()), max_size=12)
words = st.one_of(
    _piece, st.builds(lambda piece, n: piece * n, _piece, st.sampled_from([1, 20, 400]))
)
maybe = st.none() | words
number = st.integers(0, 10**6)


def some(of: st.SearchStrategy, most: int = 4) -> st.SearchStrategy:
    return st.lists(of, max_size=most).map(tuple)


def value_of(children: st.SearchStrategy) -> st.SearchStrategy:
    return st.builds(
        Value,
        words,
        words,
        type=maybe,
        children=children,
        count=st.none() | number,
        changed=st.booleans(),
        was=maybe,
        opaque=st.booleans(),
        failed=st.booleans(),
        expression=maybe,
    )


values = value_of(some(value_of(some(value_of(st.just(())), 2)), 3))
scopes = st.builds(
    Scope, words, st.sampled_from(ScopeKind), some(values, 6), st.sampled_from([0, 40])
)
frames = st.builds(
    Frame,
    number,
    words,
    path=maybe,
    line=st.none() | number,
    module=maybe,
    address=maybe,
    library=st.booleans(),
)
threads = st.builds(Thread, number, words, words, st.none() | frames, st.booleans())
exceptions = st.builds(
    ExceptionInfo,
    words,
    words,
    some(st.builds(TracebackLine, words, number, words, words, st.booleans()), 12),
    words,
    some(words),
    some(st.builds(LinkedException, st.sampled_from(["cause", "context"]), words)),
    some(words),
    maybe,
)
stops = st.builds(
    Stop,
    number,
    st.sampled_from(StopReason),
    threads,
    st.none() | frames,
    maybe,
    some(number),
    st.none() | exceptions,
    st.booleans(),
)
sources = st.builds(
    Source,
    words,
    some(st.builds(SourceLine, number, words, st.booleans()), 8),
    st.none() | number,
    maybe,
    maybe,
)
outputs = st.builds(
    a.Output,
    some(st.builds(a.Chunk, st.sampled_from(["stdout", "stderr", "log", "console"]), words), 8),
    dropped=number,
    skipped=number,
)
exits = st.none() | st.builds(Exit, st.none() | number, maybe, words, maybe)
displays = some(st.builds(a.Display, number, words, st.none() | values, maybe), 4)
reports = st.builds(
    a.StopReport,
    words,
    st.sampled_from(["stopped", "running", "terminated"]),
    stop=st.none() | stops,
    exit=exits,
    source=st.none() | sources,
    scopes=some(scopes, 3),
    returned=st.none() | values,
    output=outputs,
    trail=some(
        st.builds(a.StepTrail, words, words, st.none() | number, words, some(values, 2)), 12
    ),
    callers=some(frames),
    breakpoints=some(
        st.builds(Breakpoint, number, words, st.sampled_from(BreakpointState), maybe, message=maybe)
    ),
    notes=some(words),
    waited_s=st.none() | st.floats(0, 1e6),
    via=maybe,
    next=some(words, 2),
    several=st.booleans(),
    displays=displays,
)
others = st.one_of(
    st.builds(a.DisplayList, displays, st.sampled_from([None, "added", "removed"])),
    st.builds(a.Variables, frames, some(scopes, 3)),
    st.builds(a.Evaluated, words, values, output=outputs),
    st.builds(a.Evaluated, words, values, range=st.just((0, 10))),
    st.builds(
        a.Backtrace,
        some(st.builds(a.Stack, threads, some(frames, 12), st.none() | number, error=maybe), 3),
        maybe,
    ),
    st.builds(a.Text, words, via=maybe),
    st.builds(a.OutputAnswer, outputs, words, words),
    st.builds(a.FrameAnswer, frames, number, st.none() | sources, some(scopes, 2), maybe),
    st.builds(a.SourceAnswer, sources, maybe),
)
runs = st.builds(
    Run, number, words, words, some(words), maybe, maybe, st.floats(0, 1e9), stops=number
)
differences = some(st.builds(h.Difference, words, maybe, maybe), 8)


@st.composite
def tables(draw):
    columns = draw(some(words, 4))
    cells = st.tuples(*[maybe] * len(columns))
    hits = some(st.builds(h.Hit, number, number, st.floats(0, 1e6), number, cells, words, words), 9)
    return h.HitTable(
        draw(words),
        draw(runs),
        draw(number),
        columns,
        draw(hits),
        draw(number),
        where=draw(maybe),
        others=draw(some(words, 3)),
        constant=draw(some(values, 3)),
    )


recorded = st.one_of(
    tables(),
    st.builds(
        h.HitGroups,
        words,
        runs,
        words,
        some(st.builds(h.HitGroup, words, number, number, number), 9),
        number,
    ),
    st.builds(
        h.RunDiff,
        runs,
        runs,
        some(
            st.builds(
                h.Divergence,
                st.sampled_from(["values", "path", "missing", "end", "output"]),
                words,
                words,
                number,
                st.none() | number,
                st.none() | number,
                differences,
                some(words),
                words,
                words,
                words,
            ),
            5,
        ),
        number,
        maybe,
        number,
        some(words),
        some(words),
    ),
    st.builds(
        h.EventList,
        some(st.builds(h.SessionEvent, number, st.floats(0, 1e9), words, words, words), 9),
        number,
    ),
    st.builds(h.RunAnswer, runs, words, maybe, some(words, 2)),
    st.builds(h.Pruned, some(runs, 6), number, number),
    st.builds(a.SessionList, recorded=some(runs, 6), sessions=st.just(()), all=st.just(True)),
)
batches = st.builds(
    a.Batch,
    some(st.builds(a.BatchItem, words, st.booleans(), reports | others, maybe, maybe, maybe), 5),
    some(words),
)


@settings(max_examples=25, deadline=None)
@given(reports, st.integers(LEAST_TOKENS, 600))
def test_any_report_fits_its_budget_with_its_first_line_whole(answer, budget):
    text = render_text(answer, budget_tokens=budget, cwd="/p")

    assert tokens(text) <= budget
    whole = render_text(answer, budget_tokens=10**6, cwd="/p")
    assert text.split("\n")[0] == whole.split("\n")[0] != ""


@settings(max_examples=25, deadline=None)
@given(recorded, st.integers(LEAST_TOKENS, 600))
def test_any_answer_about_the_past_fits_its_budget(answer, budget):
    text = render_text(answer, budget_tokens=budget, cwd="/p")

    assert tokens(text) <= budget
    assert "\x1b" not in text
    assert text.endswith("\n")


@settings(max_examples=25, deadline=None)
@given(others | batches, st.integers(LEAST_TOKENS, 600))
def test_any_answer_fits_its_budget(answer, budget):
    text = render_text(answer, budget_tokens=budget, cwd="/p")

    assert tokens(text) <= budget
    assert "\x1b" not in text
    assert not text or text.endswith("\n")


# --- what shrinks first -------------------------------------------------------------------------


def crowded() -> a.StopReport:
    return report(
        source=source(),
        scopes=(
            local_scope(
                *(Value(f"same{i}", "1") for i in range(30)),
                Value("s", "1", changed=True, was="0"),
            ),
        ),
        output=a.Output((a.Chunk("stdout", "printed\n" * 500),)),
    )


@pytest.mark.parametrize("budget", [60, 80, 100, 150, 300])
def test_what_changed_outlives_all_that_did_not(budget):
    text = shown(crowded(), budget_tokens=budget)

    assert text.startswith("stopped: breakpoint 1 at app.py:22 in total\n")
    assert "* s = 1 (was 0)\n" in text


def test_what_is_left_out_is_named_with_the_command_that_shows_it():
    text = shown(crowded(), budget_tokens=120)

    assert " more locals (dbg locals --range " in text
    assert " bytes of output (dbg output --since 0 --budget 1800)\n" in text
    whole = shown(a.OutputAnswer(crowded().output, "app", "stopped"), budget_tokens=1800)
    assert whole.count("| printed\n") == 500


def test_source_shrinks_around_the_current_line():
    lines = shown(report(source=source()), budget_tokens=60).splitlines()

    assert lines[1:] == [
        "   20      s = 0",
        "   21      for i in range(n):",
        "-> 22          s += i",
        "   23      return s",
        "   24",
        "     … (dbg source)",
    ]


def test_source_that_must_be_escaped_fits_too():
    lines = (SourceLine(10, "\x1f\x1b" * 20, True), SourceLine(11, "", False))

    assert tokens(shown(report(source=Source("/p/app.py", lines)), budget_tokens=60)) <= 60


def test_a_smaller_budget_than_the_least_counts_as_the_least():
    assert shown(crowded(), budget_tokens=1) == shown(crowded(), budget_tokens=LEAST_TOKENS)


# --- the parts ----------------------------------------------------------------------------------


def listing(rank: int, count: int, letter: str = "x", **facts: object) -> Listing:
    def more(shown: int) -> str | None:
        return f"+{count - shown}" if shown < count else None

    return Listing(rank, count, lambda index, width: [Line(letter * 9)], more, **facts)  # type: ignore[arg-type]


@given(st.integers(0, 50), st.integers(0, 400), st.booleans())
def test_a_listing_takes_no_more_than_it_is_given(count, limit, from_end):
    part = listing(1, count, from_end=from_end)

    assert size(part.within(limit)) <= max(limit, size(part.within(0)))
    assert len(part.within(10 * count)) == count


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 40)), max_size=6), st.integers(80, 600))
def test_sections_together_take_no_more_than_there_is(parts, limit):
    sections = [Fixed(0, (Line("first"),)), *(listing(rank, count) for rank, count in parts)]

    lines = fit(sections, limit)

    assert size(lines) <= limit
    assert lines[0].text == "first"


def test_a_section_that_takes_more_than_it_is_given_is_shown_in_its_shortest_form():
    greedy = Resizable(1, lambda limit: [Line("x" * (90 if limit > 40 else 9))])
    many = Fixed(1, (Line("y" * 60),))

    assert size(fit([greedy, many], 120)) <= 120


def test_sections_of_one_rank_share_evenly_and_leave_what_they_do_not_need():
    lines = fit([listing(1, 100, "a"), listing(1, 2, "b"), listing(1, 100, "c")], 200)
    counts = {letter: sum(line.text == letter * 9 for line in lines) for letter in "abc"}

    assert counts["b"] == 2
    assert abs(counts["a"] - counts["c"]) <= 1
    assert counts["a"] >= 7
