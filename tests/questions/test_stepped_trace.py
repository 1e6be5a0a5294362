"""Traces from stops: calls and returns by depth, changes by comparison."""

from __future__ import annotations

from freezeframe.model.values import Value
from freezeframe.questions.stepped_trace import SteppedFrame, SteppedTrace

_LINES = {
    1: "int f(int n) {",
    2: "int x = g(n);",
    3: "x += 1;",
    4: "return x;",
    11: "int r = n * 2;",
    12: "return r;",
    21: "throw new Error('no');",
    31: "} catch (e) {",
    41: "rows.each do |row|",
    42: "seen = row",
    43: "last = seen",
}


def _built() -> SteppedTrace:
    return SteppedTrace(lambda path, line: _LINES.get(line))


def _at(depth: int, function: str, line: int, **facts: object) -> SteppedFrame:
    return SteppedFrame(depth, function, "/p/a.c", line, **facts)  # type: ignore[arg-type]


def _values(**texts: str) -> list[Value]:
    return [Value(name, text) for name, text in texts.items()]


def test_a_call_is_a_frame_of_its_line_and_its_result_is_known_by_name_and_by_assignment():
    built = _built()
    built.add(_at(1, "f", 2), _values(n="3"), ["n"])
    built.add(_at(2, "g", 11), _values(n="3"), ["n"])
    built.add(_at(2, "g", 12), _values(n="3", r="6"))
    rest = _at(1, "f", 2)
    assert built.left(1)
    assert built.is_rest_of_line(rest, returned=True)
    built.leave(1, rest)
    built.add(_at(1, "f", 3), _values(n="3", x="6"))
    built.leave(0)

    outer, inner = built.frames[1], built.frames[2]
    assert (inner.caller, inner.returned and inner.returned.text) == (1, "6")
    assert [(name, value.text) for name, value in inner.arguments] == [("n", "3")]
    assert outer.caller is None
    steps = built.steps()
    assert [(step.frame, step.line) for step in steps] == [(1, 2), (2, 11), (2, 12), (1, 3)]
    assert [(w.name, w.new and w.new.text) for w in steps[0].writes] == [("x", "6")]
    assert [(w.name, w.new and w.new.text) for w in steps[1].writes] == [("r", "6")]


def test_what_a_line_assigned_is_the_result_of_its_only_call():
    built = _built()
    built.add(_at(1, "f", 2), _values(n="3"), ["n"])
    built.add(_at(2, "g", 11), _values(n="3"), ["n"])
    built.leave(1, _at(1, "f", 2))
    assert built.frames[2].returned is None
    built.add(_at(1, "f", 3), _values(n="3", x="8"))
    assert built.frames[2].returned is not None
    assert built.frames[2].returned.text == "8"


def test_a_frame_that_an_exception_left_has_not_returned():
    built = _built()
    built.add(_at(1, "f", 2), [])
    built.add(_at(2, "g", 21), [])
    built.add(_at(1, "f", 3), [])
    assert (built.frames[2].raised, built.frames[2].returned) == ("Error", None)

    built = _built()
    built.add(_at(1, "f", 2), [])
    built.add(_at(2, "g", 11), [])
    built.add(_at(1, "f", 31), [])
    assert built.frames[2].raised == "an exception"


def test_a_block_that_a_library_calls_again_is_another_call():
    built = _built()
    built.add(_at(1, "f", 41), _values(rows="[1, 2]"))
    for row in ("1", "2"):
        block = _at(3, "block in f", 42, called_by_library=True)
        built.add(block, _values(row=row, seen="nil"), ["row"])
        built.add(_at(3, "block in f", 43, called_by_library=True), _values(row=row, seen=row))

    assert [each.arguments[0][1].text for each in built.frames.values() if each.caller] == [
        "1",
        "2",
    ]
    changed = [write.name for step in built.steps() for write in step.writes]
    assert changed == ["seen", "seen"], "the next element is an argument, not a change"


def test_the_changes_of_a_debugger_that_compares_itself_are_not_taken_twice():
    built = _built()
    built.add(_at(1, "f", 2), [Value("x", "1", changed=True, was="0")])
    built.add(_at(1, "f", 3), [Value("x", "1", changed=True, was="0")])
    assert built.steps()[0].writes == ()
