"""Lines that rustc reports inside a macro's definition, and where the macro was invoked."""

from __future__ import annotations

from textwrap import dedent

from freezeframe.model.stops import Frame
from freezeframe.model.trace import Trace, TracedFrame, TracedStep, TracedValue, Write
from freezeframe.questions.macro_calls import at_invocations, frame_at_invocation, invocation

_PATH = "/p/lib.rs"
_LINES = dedent(
    """\
    mod tests {
        macro_rules! assert_delta {
            ($x:expr, $y:expr) => {
                if ($x - $y).abs() > 1e-5 {
                    panic!("actual: `{}`, expected: `{}`", $x, $y);
                }
            };
        }

        fn close() {
            assert_delta!(0.944, jaro("martha", "marhta"));
            assert_delta!(0.6, jaro("a jke", "jane a k"));
        }

        fn single() {
            let x = 1.0;
            assert_delta!(x, jaro("a", "b"));
        }
    }
    """
).splitlines()


def test_the_line_of_a_failure_in_a_macro_is_its_invocation_in_the_test():
    assert invocation(_LINES, 5, "p::tests::single", "actual: `1`, expected: `0`") == 17
    assert invocation(_LINES, 5, "p::tests::close", "actual: `0.6`, expected: `0.68`") == 12
    # neither of the two has a literal of the message
    assert invocation(_LINES, 5, "p::tests::close", "it failed") is None
    assert invocation(_LINES, 11, "p::tests::close", "actual: `0.6`") is None
    frame = Frame(0, "p::tests::single", _PATH, 5)
    assert frame_at_invocation(frame, lambda path: _LINES, "").line == 17


def test_steps_in_the_body_of_a_macro_are_parts_of_the_step_that_invokes_it():
    trace = Trace()
    trace.frames = {
        1: TracedFrame(1, "p::tests::single", _PATH, 16),
        2: TracedFrame(2, "p::jaro", _PATH, 1, caller=4),
    }
    trace.steps = [
        TracedStep(1, 1, 16),
        TracedStep(2, 1, 17),
        TracedStep(3, 1, 4, (Write("y", TracedValue("2")),)),
        TracedStep(4, 1, 17),
        TracedStep(5, 2, 1),
        TracedStep(6, 1, 5, raised="panic"),
    ]
    at_invocations(trace, lambda path: _LINES)
    assert [(each.number, each.line) for each in trace.steps] == [(1, 16), (2, 17), (5, 1)]
    assert trace.frames[2].caller == 2
    assert trace.steps[1].raised == "panic"
    assert [each.name for each in trace.steps[1].writes] == ["y"]
