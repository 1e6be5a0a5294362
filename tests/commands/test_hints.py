"""The next steps of answers do what they promise: they are typed verbatim."""

from __future__ import annotations

import re
import shlex

import pytest

from harness import hints

APP = """\
def scale(n):
    return n * 3  # @scale


def main():
    total = 0
    for n in range(2):
        total += scale(n)  # @loop
    print(total)


main()
"""
#: stands for what the reader puts there
_PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|…")
#: an answer, no session (which was ended by then), and a program that still runs
_ANSWERS = (0, 3, 124)


def next_steps(answer) -> list[list[str]]:
    """Return the commands that an answer names and that can be typed without a further word."""
    found = hints.named(answer.out, answer.err)
    return [shlex.split(each, comments=True)[1:] for each in found if not _PLACEHOLDER.search(each)]


#: commands that leave a session as it is
_LOOKING = frozenset(
    (
        "breakpoint",
        "backtrace",
        "locals",
        "help",
        "status",
        "sessions",
        "source",
        "threads",
        "catch",
    )
)


@pytest.mark.parametrize("is_over", [False, True], ids=["stopped", "ended"])
def test_next_steps_can_be_typed_as_they_stand(dbg, write_program, is_over):
    write_program("app.py", APP)
    typed: set[tuple[str, ...]] = set()
    begun = False
    for question in (
        *("print nosuch", "frame 99", "frame nosuch", "thread 99", "set nosuch 1", "until"),
        *("break app.py:99", "break ap.py:2", "break nosuch", "breakpoint remove 99", "catch x"),
        *("start ap.py", "contniue", "next --cuont 2", "locals --depth x", "watch nosuch", "hits"),
        *("memory read 0", "disassemble", "registers", "step --instruction", "jump 99"),
        *("help nosuch", "status", "next", "start app.py:2", "start app.py -b ap.py:2", "clear 2"),
        *("i b", "stop app", "print total"),
    ):
        if not begun:
            dbg("start", "app.py", *(() if is_over else ("-b", "scale")))
        begun = True
        for words in next_steps(dbg(*shlex.split(question))):
            if tuple(words) in typed:
                continue
            typed.add(tuple(words))
            answer = dbg(*words)
            assert answer.code in _ANSWERS, f"after {question}: {answer}"
            begun = words[0] in _LOOKING
    assert len(typed) > 5
