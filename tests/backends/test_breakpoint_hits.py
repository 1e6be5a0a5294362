"""What a hit of a breakpoint does, whichever debugger reports it."""

from __future__ import annotations

import asyncio

import pytest

from freezeframe.backends.backend import BreakpointRequest
from freezeframe.backends.breakpoint_hits import BreakpointHits, HitCondition, holds, read_log
from freezeframe.errors import EvaluationFailed
from freezeframe.model.locations import Location

PLACE = Location(file="/a.c", line=1)


def hits_of(*requests):
    hits = BreakpointHits()
    for request in requests:
        hits.add(request)
    return hits


def decide(hits, *ids, values=None, back=False):
    """Decide one stop; *values* are those of expressions, and others cannot be evaluated."""
    known = values or {}

    async def evaluate(code):
        if code not in known:
            raise EvaluationFailed(f"no symbol {code}.")
        return known[code]

    return asyncio.run(hits.decide(ids, evaluate, evaluate, back=back))


def test_hits_are_counted_where_the_condition_holds():
    hits = hits_of(BreakpointRequest(1, PLACE, condition="c", hit_count="==2"))

    stops = [decide(hits, 1, values={"c": each}).breakpoints for each in (True, False, True, True)]

    assert stops == [(), (), (1,), ()]


def test_only_the_breakpoints_of_a_location_that_act_are_reported():
    hits = hits_of(
        BreakpointRequest(1, PLACE, hit_count="==2"),
        BreakpointRequest(2, PLACE),
        BreakpointRequest(3, PLACE, log="n is {n}, {m}"),
    )

    decision = decide(hits, 1, 2, 3, values={"n": "7"})

    assert decision.breakpoints == (2,)
    assert decision.messages == ["n is 7, <no symbol m>"]
    assert decide(hits, 1, 2, 3).breakpoints == (1, 2)


def test_a_condition_that_cannot_be_evaluated_stops_and_says_why():
    decision = decide(hits_of(BreakpointRequest(1, PLACE, condition="c")), 1)

    assert decision.breakpoints == (1,)
    assert decision.failures == {1: "no symbol c"}


def test_a_count_is_kept_for_the_same_request_and_restarts_for_a_changed_one():
    request = BreakpointRequest(1, PLACE, hit_count="==2")
    hits = hits_of(request)
    decide(hits, 1)
    hits.add(request)
    assert decide(hits, 1).breakpoints == (1,)

    hits.add(BreakpointRequest(1, PLACE, hit_count="==3"))
    assert [decide(hits, 1).breakpoints for _ in range(3)] == [(), (), (1,)]


def test_nothing_is_counted_or_written_on_the_way_back():
    hits = hits_of(
        BreakpointRequest(1, PLACE, hit_count="==1"), BreakpointRequest(2, PLACE, log="n")
    )

    decision = decide(hits, 1, 2, back=True)

    assert (decision.breakpoints, decision.messages) == ((1,), [])
    assert decide(hits, 1).breakpoints == (1,)


@pytest.mark.parametrize("hits", ["==3", ">=3", ">3", "<3", "<=3", "%3"])
def test_a_hit_count_means_the_same_as_code(hits):
    condition = HitCondition.parse(hits)
    counts = range(1, 8)

    assert [condition.matches(count) for count in counts] == [
        eval(condition.expression("count"), {"count": count}) for count in counts
    ]


@pytest.mark.parametrize("value", ["0", "false", "nil", "0x0000", "(int *) 0x0", "0 '\\000'"])
def test_what_debuggers_print_for_false_does_not_hold(value):
    assert not holds(value)


@pytest.mark.parametrize("value", ["1", "true", "0x10", "(int *) 0x7ff0", "-1", '"no"', "0.5"])
def test_every_other_value_holds(value):
    assert holds(value)


def test_braces_in_a_string_of_an_expression_do_not_end_it():
    assert read_log('{f("}")} and {x\'}') == [('f("}")',), " and ", ("x'",)]
