"""What a trace of a Python program leaves out, and says so, under each Python that is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.backends.python.test_tracing import changes, frames, trace, written
from tests.harness.interpreters import Interpreter, interpreters

from freezeframe.model.trace import TraceUntil

PYTHONS = [pytest.param(each, id=str(each)) for each in interpreters()]
INSTRUMENTED = [each for each in PYTHONS if str(each.id).startswith(("3.11", "3.12", "3.13"))]


@pytest.mark.parametrize("python", PYTHONS)
def test_a_long_iteration_is_not_recorded_to_its_end(tmp_path: Path, python: Interpreter) -> None:
    path = written(
        tmp_path,
        "letters = (\n    chr(n)\n    for n in range(50_000)\n)\n"
        "upper = {c for c in letters if c.isupper()}\n"
        "def check(text):\n    found = text in upper\n    return found\n"
        "print(check('A'), len(upper) > 500)\n",
    )

    found = trace(path, python)

    assert found.output.strip() == "True True"
    assert len(found.steps) < 60_000
    assert changes(found, "check") == ["found=True"]
    assert frames(found, "<genexpr>")[0].returned is not None
    assert any(f"<genexpr> at {path}:1 were recorded" in each for each in found.remarks)


FAILS_LATE = "rest = [\n    1 // (29_999 - n)\n    for n in range(30_000)\n]\n"


@pytest.mark.parametrize("python", INSTRUMENTED)
def test_an_exception_behind_what_was_recorded_of_an_iteration_has_no_step(
    tmp_path: Path, python: Interpreter
) -> None:
    path = written(
        tmp_path, f"def run():\n    {FAILS_LATE.replace(chr(10), chr(10) + '    ')}\nrun()\n"
    )

    found = trace(path, python)

    step = found.step(found.outcome.step) if found.outcome.step is not None else None
    assert found.outcome.line == 3
    assert step is None or step.frame == frames(found, "run")[0].number


@pytest.mark.parametrize("python", INSTRUMENTED)
def test_an_iteration_in_which_recording_ends_is_recorded_up_to_there(
    tmp_path: Path, python: Interpreter
) -> None:
    path = written(
        tmp_path, "rest = list(\n    abs(\n        n\n    )\n    for n in range(9_000)\n)\n"
    )

    found = trace(path, python, until=TraceUntil(str(path), 3, 9_000))

    assert found.outcome.how == "reached"


@pytest.mark.parametrize("python", INSTRUMENTED)
def test_code_that_is_too_large_is_named_and_its_functions_are_traced(
    tmp_path: Path, python: Interpreter
) -> None:
    table = "".join(f"table[{n}] = table.get({n - 1}, {n})\n" for n in range(12_000))
    function = "def last():\n    found = table[11_999]\n    return found\n"
    path = written(tmp_path, f"table = {{}}\n{table}{function}print(last())\n")

    found = trace(path, python)

    assert found.output.strip() == "0"
    assert changes(found, "last") == ["found=0"]
    assert found.remarks == (f"not recorded: <module> in {path} (it is too large)",)


@pytest.mark.parametrize("python", INSTRUMENTED)
def test_code_that_the_program_compiles_itself_is_named(
    tmp_path: Path, python: Interpreter
) -> None:
    other = written(tmp_path, "def double(n):\n    return 2 * n\nvalue = double(21)\n", "rules.py")
    path = written(
        tmp_path,
        "names = {}\nwith open('rules.py') as file:\n"
        f"    exec(compile(file.read(), {str(other)!r}, 'exec'), names)\n"
        "print(names['value'])\n",
    )

    found = trace(path, python)

    assert found.output.strip() == "42"
    assert found.remarks == (f"code that the program compiled itself was not traced: {other}",)


@pytest.mark.parametrize("python", PYTHONS)
def test_a_key_that_changes_is_the_same_key(tmp_path: Path, python: Interpreter) -> None:
    path = written(
        tmp_path,
        "class Key:\n    def __init__(self):\n        self.used = 0\n"
        "def count(key):\n    held = {key: 1}\n    key.used = 1\n    held[key] = 2\n"
        "count(Key())\n",
    )

    found = trace(path, python)

    parts = [each for each in changes(found, "count") if each.startswith("[")]
    assert parts == ["[Key(used=0)]=1", "[Key(used=0)]=2"]
