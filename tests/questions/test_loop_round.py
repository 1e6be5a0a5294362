"""One round of a loop, from traces made by hand; and the frame that stays."""

from __future__ import annotations

from textwrap import dedent

from freezeframe.model.answers import Stack
from freezeframe.model.stops import Frame, Thread
from freezeframe.model.trace import Outcome, Trace, TracedFrame, TracedStep
from freezeframe.model.values import Value
from freezeframe.questions.loop_round import ObservedLine, loop_report
from freezeframe.questions.samples import busiest, staying_frame


class _Source:
    def __init__(self, text: str) -> None:
        self._lines = dedent(text).strip().splitlines()

    def lines(self, path: str) -> list[str]:
        return self._lines


_LEXER = _Source("""
    def lex(src):
        tokens, node = [], first
        while src:
            token = read(src)
            tokens.append(token)
            node = node.next
            src = src[len(token):]
        return tokens
    """)


def test_a_loop_shows_what_stays_what_grows_and_what_returns():
    lines = [3, 4, 5, 6, 7] * 5 + [3]
    frame = TracedFrame(1, "lex", "/p/lexer.py", 3)
    steps = [TracedStep(number, 1, line) for number, line in enumerate(lines)]
    observed = []
    for number, line in enumerate(lines):
        turn = number // 5
        values = (
            Value("src", "'ab'", "str"),
            Value("tokens", f"[{turn}]", "list", count=100 + turn),
            Value("node", "A" if turn % 2 else "B"),
            Value("n", str(3 * turn)),
        )
        observed.append(ObservedLine(line, {each.name: each for each in values}))

    report = loop_report(Trace({1: frame}, steps, Outcome("reached")), frame, observed, _LEXER)

    assert report is not None
    assert (report.line, report.text, report.rounds) == (3, "while src:", 5)
    assert [(each.name, each.value) for each in report.unchanged] == [("src", "'ab'")]
    assert [(each.name, each.growth) for each in report.grows] == [
        ("tokens", "+1 a round"),
        ("n", "+3 a round"),
    ]
    assert [(each.name, each.growth) for each in report.repeats] == [("node", "every 2 rounds")]
    assert [each.line for each in report.lines] == [4, 5, 6, 7]


def test_the_outermost_loop_that_went_round_is_the_one():
    source = _Source("""
        def scan(rows):
            while rows:
                for row in rows:
                    seen(row)
        """)
    frame = TracedFrame(1, "scan", "/p/scan.py", 2)
    inner, both = [3, 4, 3, 4, 3], [2, 3, 4, 3, 4, 2, 3, 4, 2]

    def head(lines: list[int]) -> int | None:
        steps = [TracedStep(number, 1, line) for number, line in enumerate(lines)]
        observed = [ObservedLine(line, {}) for line in lines]
        report = loop_report(Trace({1: frame}, steps), frame, observed, source)
        return report.line if report is not None else None

    assert (head(inner), head(both), head([2, 3, 4])) == (3, 2, None)


def _stack(*frames: tuple[str, int, bool]) -> tuple[Frame, ...]:
    return tuple(
        Frame(index, name, f"/{name}", line, library=library)
        for index, (name, line, library) in enumerate(frames)
    )


def test_the_frame_that_stays_is_the_innermost_user_frame_of_all_samples():
    samples = [
        _stack(("read", 3, False), ("lex", 7, False), ("main", 1, False)),
        _stack(("append", 9, True), ("lex", 8, False), ("main", 1, False)),
        _stack(("lex", 7, False), ("main", 1, False)),
    ]

    frame = staying_frame(samples)

    assert frame is not None
    assert frame.function == "lex"
    assert staying_frame([]) is None
    in_library = [_stack(("walk", n, True), ("parse", 4, True), ("main", 1, False)) for n in (1, 2)]
    inner = staying_frame(in_library, libraries=True)
    assert inner is not None
    assert inner.function == "walk"


def test_the_thread_whose_location_changes_is_the_busy_one():
    def sample(line: int) -> list[Stack]:
        return [
            Stack(Thread(1, "main", "in join"), _stack(("wait", 1, False))),
            Stack(Thread(2, "worker", "running"), _stack(("work", line, False))),
        ]

    frames = busiest([sample(1), sample(2)])

    assert [each[0].function for each in frames] == ["work", "work"]
