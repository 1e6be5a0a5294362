"""Which calls a recording by steps enters: those of the chain that was found without them."""

from __future__ import annotations

from textwrap import dedent

from freezeframe.model.questions import Condition, Explanation, Link
from freezeframe.model.trace import Trace, TracedFrame, TracedStep
from freezeframe.questions.own_functions import OwnFunctions
from freezeframe.questions.selected_calls import SelectedCalls, TraceSites, needed_calls
from freezeframe.questions.source_files import Files

_PATH = "/p/cart.js"
_SOURCE = dedent(
    """\
    function check() {
      for (const item of items) {
        log(item);
        sum = add(sum,
          price(item));
        if (isLarge(sum)) {
          rest = sum - 1;
        }
      }
      expect(rest);
    }
    """
)


class _Sources:
    def lines(self, path: str) -> list[str]:
        return _SOURCE.splitlines()


def _trace(*lines: int) -> Trace:
    trace = Trace()
    trace.frames[1] = TracedFrame(1, "check", _PATH, 1)
    trace.steps = [TracedStep(number, 1, line) for number, line in enumerate(lines, 1)]
    return trace


def _link(line: int, step: int, *conditions: Condition) -> Link:
    return Link(_PATH, line, "check", "", "", step=step, conditions=conditions)


def test_the_calls_of_a_chain_and_of_its_branches_are_entered_in_their_round_only():
    trace = _trace(2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7, 10)
    taken = Condition("isLarge(sum)", _PATH, 6, True)
    answer = Explanation("rest", links=(_link(7, 11, taken), _link(4, 8)))
    found = needed_calls(trace, answer, 12, Files(_Sources()), OwnFunctions(()))
    # `rest = sum - 1` calls nothing; `log(item)` is not of the chain; line 5 is of line 4's call
    assert {site[-1] for site in found} == {
        ("check", 10, 1),
        ("check", 6, 2),
        ("check", 4, 2),
        ("check", 5, 2),
    }


def test_a_call_that_was_entered_is_not_asked_for_again():
    trace = _trace(2, 3, 4, 10)
    trace.frames[2] = TracedFrame(2, "add", _PATH, 1, caller=3)
    answer = Explanation("sum", links=(_link(4, 3),))
    found = needed_calls(trace, answer, 4, Files(_Sources()), OwnFunctions(()))
    assert {site[-1][1] for site in found} == {10}


def test_the_site_of_a_step_is_the_lines_that_lead_to_it_with_their_rounds():
    trace = _trace(2, 4, 2, 4)
    trace.frames[2] = TracedFrame(2, "add", _PATH, 1, caller=4)
    trace.steps.append(TracedStep(5, 2, 20))
    assert TraceSites(trace).of(trace.steps[-1]) == (("check", 4, 2), ("add", 20, 1))


def test_calls_on_the_way_to_the_stop_are_entered_and_others_only_if_they_were_selected():
    calls = SelectedCalls(stack=(4, 20, 7))
    assert calls.enters((("check", 4, 1),), "add(sum)")
    assert calls.enters((("check", 4, 1), ("add", 20, 1)), "round(x)")
    assert not calls.enters((("check", 4, 1), ("add", 21, 1)), "round(x)")
    assert not calls.enters((("check", 4, 1), ("add", 20, 1), ("round", 7, 1)), "fail(x)")
    calls.sites.add((("check", 3, 1),))
    assert calls.enters((("check", 3, 1),), "log(item)")
    assert not calls.enters((("check", 3, 2),), "log(item)")


def test_what_a_selected_call_returns_is_entered_at_once():
    calls = SelectedCalls(sites={(("check", 3, 1),)})
    inside = (("check", 3, 1), ("log", 30, 1))
    assert not calls.enters(inside, "write(item)")
    assert calls.enters(inside, "return write(item)")
    assert calls.enters((*inside, ("write", 40, 1)), "return flush(item)")
    assert not calls.enters((("check", 9, 1), ("other", 1, 1)), "return f(x)")


def test_a_call_that_takes_too_many_steps_is_refused_the_innermost_one_first():
    outer, inner = (("check", 3, 1),), (("check", 3, 1), ("log", 30, 1))
    calls = SelectedCalls(sites={outer, inner})
    assert calls.refuse((*inner, ("write", 40, 9))) == inner
    assert not calls.enters(inner, "write(item)")
    assert calls.refuse((*inner, ("write", 40, 9))) == outer
    assert calls.refuse((*inner, ("write", 40, 9))) is None
