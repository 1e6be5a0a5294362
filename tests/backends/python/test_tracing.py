"""Traces of Python programs, recorded inside of them, under each Python that is installed."""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.harness.interpreters import Interpreter, interpreters
from tests.harness.programs import PROGRAMS

from freezeframe.backends.backend import Launch
from freezeframe.backends.python.tracing.trace_file import read_directory
from freezeframe.backends.python.tracing.traced_run import run_traced
from freezeframe.errors import Unsupported
from freezeframe.model.trace import (
    FrameKind,
    Trace,
    TracedFrame,
    TracedStep,
    TraceLimits,
    TraceRequest,
    TraceUntil,
    Write,
)

PYTHONS = [pytest.param(each, id=str(each)) for each in interpreters()]


def plain_environment() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if not name.startswith("VIRTUAL_ENV")}


def trace(
    path: Path, python: Interpreter, *args: str, module: str = "", **request: object
) -> Trace:
    """Run a program, or a module in its directory, traced."""
    target = Launch(
        module or str(path),
        args,
        str(path.parent),
        plain_environment(),
        module=bool(module),
        interpreter=python.path,
    )
    wanted = TraceRequest((str(path.parent),), **request)  # type: ignore[arg-type]
    return asyncio.run(run_traced(target, wanted))


def plain(path: Path, python: Interpreter, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python.path, str(path), *args], capture_output=True, text=True, timeout=60
    )


def written(directory: Path, text: str, name: str = "program.py") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def frames(found: Trace, function: str) -> list[TracedFrame]:
    return [each for each in found.frames.values() if each.function == function]


def steps(found: Trace, function: str) -> list[TracedStep]:
    """Return the steps of the first call of a function."""
    frame = frames(found, function)[0]
    return [each for each in found.steps if each.frame == frame.number]


def shown(write: Write) -> str:
    """Return a write as `name=new`, with `~` before it if code that is not traced made it."""
    text = write.new.text if write.new is not None else "deleted"
    return f"{'' if write.by_step else '~'}{write.name}={text}"


def changes(found: Trace, function: str) -> list[str]:
    return [shown(write) for step in steps(found, function) for write in step.writes]


@functools.cache
def situations(python: Interpreter, directory: str) -> Trace:
    path = Path(directory, "situations.py")
    shutil.copy(PROGRAMS / "situations.py", path)
    return trace(path, python)


@pytest.fixture(params=PYTHONS, scope="module")
def python(request: pytest.FixtureRequest) -> Interpreter:
    found: Interpreter = request.param
    return found


@pytest.fixture(scope="module")
def found(python: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return situations(python, str(tmp_path_factory.mktemp("traced")))


def test_a_traced_program_writes_what_it_writes_without_a_trace(
    found: Trace, python: Interpreter
) -> None:
    alone = plain(PROGRAMS / "situations.py", python)

    assert found.output == alone.stdout.strip()
    assert (found.outcome.how, found.outcome.exit_code) == ("exited", alone.returncode)
    assert found.remarks == ()


def test_each_assignment_is_a_write_of_its_line(found: Trace) -> None:
    changed = changes(found, "assignments")
    assert [each for each in changed if not each.lstrip("~").startswith("[")] == [
        "a=1", "b=2", "c=3", "d=[4, 5]", "a=11", "e=[1]", "f=[1]", "g=11", "h=1", "b=deleted",
        "a=11",
    ]  # fmt: skip
    assert frames(found, "assignments")[0].returned.text == "11"  # type: ignore[union-attr]


def test_a_loop_variable_is_written_in_each_iteration_even_if_it_stays_the_same(
    found: Trace,
) -> None:
    written = [each for each in changes(found, "loops") if each.startswith(("i=", "x=", "total="))]

    assert written == [
        "total=0", "i=0", "x=0", "total=0", "i=1", "x=0", "total=0", "i=2", "x=-5", "total=-5",
        "total=0",
    ]  # fmt: skip
    pairs = [write for step in steps(found, "loops") for write in step.writes][-1]
    assert (pairs.name, pairs.new and pairs.new.text) == ("pairs", "[0, 2, 4]")


def test_fields_are_written_by_the_lines_that_set_them(found: Trace) -> None:
    assert changes(found, "Account.__init__") == [".owner='Bo'", ".entries=[]"]
    assert changes(found, "Account.add") == ["[0]=5", ".total=5"]
    assert changes(found, "Slotted.__init__") == [".left=1"]
    # A generated __init__ has no lines: what it set is seen after the line that called it.
    assert changes(found, "objects") == [
        "account=Account(owner='Bo', entries=[])",
        "~.x=1", "~.y=2", "point=Point(x=1, y=2)",
        ".x=9",
        "slotted=Slotted(left=1)",
        ".right=4",
        ".y=8",
    ]  # fmt: skip


def test_elements_of_containers_are_written_by_the_lines_that_change_them(found: Trace) -> None:
    changed = [
        [shown(write) for write in step.writes if write.owner is not None]
        for step in steps(found, "containers")
    ]

    assert changed[:9] == [
        ["[0]=3", "[1]=1", "[2]=2"], ["[3]=0"], ["[0]=0", "[3]=3"], ["[1]=7"],
        [], ["['a']=2"],
        ["['n']=1", "['k']={'n': 1}"], ["['n']=2"], ["['z']=3"],
    ]  # fmt: skip
    assert changed[9:12] == [["['z']=deleted"], ["{'x'}='x'"], ["{'y'}='y'"]]
    assert changed[12:14] == [["~[0]=1"], ["[0]=0", "[1]=1"]]
    assert changed[15:17] == [["[100]=-1"], ["~[50]=50", "[50]='fifty'"]]


def test_an_object_has_one_number_through_the_whole_trace(found: Trace) -> None:
    (account,) = (
        write.new for step in steps(found, "objects") for write in step.writes
        if write.name == "account"
    )  # fmt: skip
    given = [dict(each.arguments)["self"] for each in frames(found, "Account.add")]

    assert account is not None
    assert account.object is not None
    assert {each.object for each in given} == {account.object}
    owners = {write.owner for step in steps(found, "Account.__init__") for write in step.writes}
    assert owners == {account.object}


def test_globals_are_parts_of_their_namespace_and_nonlocals_of_their_frame(found: Trace) -> None:
    frame = frames(found, "change_globals")[0]
    limit, rate = (write for step in steps(found, "change_globals") for write in step.writes)
    assert (limit.name, limit.owner, limit.old and limit.old.text) == (
        ".LIMIT",
        frame.namespace,
        "3",
    )
    assert shown(rate) == "['rate']=6"
    assert [each.expression for each in steps(found, "change_globals")[-1].reads] == ["LIMIT"]

    outer = frames(found, "closures")[0].number
    (count,) = (w for step in steps(found, "closures.<locals>.step") for w in step.writes)
    assert (count.name, count.frame, count.new and count.new.text) == ("count", outer, "1")


def test_what_a_line_reads_is_what_was_there_before_it(found: Trace) -> None:
    reads = [
        [f"{each.expression}={each.value.text}" for each in step.reads]
        for step in steps(found, "Account.add")
    ]

    assert reads == [["self.entries=[]"], ["self.entries=[5]"], []]


def test_targets_of_except_and_with_are_written_and_exceptions_belong_to_their_lines(
    found: Trace,
) -> None:
    names = [write.name for step in steps(found, "targets") for write in step.writes]
    assert [each for each in names if not each.startswith((".", "["))] == [
        "error", "message", "error", "file", "first",
    ]  # fmt: skip
    assert [each.raised for each in steps(found, "targets") if each.raised] == [
        "KeyError: 'missing'"
    ]

    assert frames(found, "fails")[0].raised == "ValueError: bad 2"
    assert [each.raised for each in steps(found, "catches")][1] == "ValueError: bad 2"
    assert frames(found, "catches")[0].raised is None


def test_a_generator_is_one_frame_and_its_lines_tell_what_they_yielded(found: Trace) -> None:
    (generator,) = frames(found, "generate")

    yielded = [each.yielded.text for each in steps(found, "generate") if each.yielded]
    assert (generator.kind, yielded) == (FrameKind.GENERATOR, ["0", "1", "4"])
    assert generator.returned is not None
    assert generator.returned.text == "'done'"
    assert not [each.raised for each in steps(found, "consume") if each.raised]


def test_tasks_threads_and_processes_are_named(found: Trace) -> None:
    tasks = {each.task for each in frames(found, "task_of")}
    assert tasks == {"first", "second"}
    assert {each.kind for each in frames(found, "task_of")} == {FrameKind.COROUTINE}
    assert "other" in {each.thread for each in frames(found, "loops")}

    processes = {each.process for each in frames(found, "deep")}
    assert None in processes
    assert len(processes) == 2
    child = [each for each in frames(found, "deep") if each.process is not None]
    assert len(child) == 4


def test_a_call_knows_its_step_and_the_position_of_the_call(found: Trace) -> None:
    calls = frames(found, "deep")[:901]
    source = (PROGRAMS / "situations.py").read_text().splitlines()

    for outer, inner in itertools.pairwise(calls):
        step = found.step(inner.caller or -1)
        assert step is not None
        assert step.frame == outer.number
        assert inner.call_site is not None
        line, column, _, end = inner.call_site
        assert source[line - 1][column:end] == "deep(n - 1)"
    assert len(calls) == 901
    assert [each.number for each in found.steps] == sorted(each.number for each in found.steps)


def test_hooks_of_the_program_are_not_called(tmp_path: Path, python: Interpreter) -> None:
    path = tmp_path / "hooks.py"
    shutil.copy(PROGRAMS / "hooks.py", path)

    found = trace(path, python)

    assert plain(path, python).stdout.strip() == found.output
    assert "calls []" in found.output
    assert found.remarks == ()


LOOKS_AT_ITSELF = """
import importlib
import sys
import traceback
import weakref

print(__file__, __name__, __spec__, type(__loader__).__name__, sys.path[0], sys.argv)
print("runpy" in sys.modules, hasattr(importlib, "util"), sorted(globals()))


class Held:
    pass


def fails(n):
    held = Held()
    refs.append(weakref.ref(held))
    for i in range(n):
        names = sorted(locals())
    raise KeyError(names)


def handles():
    try:
        fails(2)
    except KeyError as error:
        return traceback.format_exc(), sys.exc_info()[1] is error
    finally:
        print(sys.exc_info())


def numbers(n):
    try:
        yield from (x * n for x in range(n))
    except ValueError:
        yield -1
    return n


def deep(n=0):
    try:
        return deep(n + 1)
    except RecursionError:
        return n > 100


def traced(frame, event, arg):
    seen.append(frame.f_code.co_name)
    return traced


refs, seen = [], []
print(handles(), refs[0](), deep(), list(numbers(3)))
stopped = numbers(2)
print(next(stopped), stopped.throw(ValueError), [x for x in range(2) if x], locals() is globals())
sys.settrace(traced)
print(sys.gettrace() is traced)
list(numbers(1))
sys.settrace(None)
print(seen)
sys.excepthook = lambda kind, error, trace: traceback.print_exception(error, file=sys.stdout)
fails(1)
"""


def test_a_program_that_looks_at_itself_sees_nothing_of_the_trace(
    tmp_path: Path, python: Interpreter
) -> None:
    path = written(tmp_path, LOOKS_AT_ITSELF)

    found = trace(path, python)

    alone = plain(path, python)
    assert found.output == alone.stdout.strip()
    assert (found.outcome.how, found.outcome.exit_code) == ("raised", alone.returncode)
    assert [each.function for each in found.frames.values()].count("numbers") == 3


def test_recording_ends_before_a_line_is_reached_for_the_nth_time(
    tmp_path: Path, python: Interpreter
) -> None:
    path = written(tmp_path, "total = 0\nfor i in range(9):\n    total += i\nprint(total)\n")

    found = trace(path, python, until=TraceUntil(str(path), 3, hit=4))

    assert found.outcome.how == "reached"
    assert found.output == ""
    last = found.step(found.outcome.step or -1)
    assert last is not None
    assert last.line == 3
    assert [shown(each) for each in found.steps[-2].writes] == [".i=3"]


TEST_FILE = """
import unittest


def price(n):
    return n - 2


class Prices(unittest.TestCase):
    def test_raises(self):
        with self.assertRaises(KeyError):
            {}["a"]

    def test_zero(self):
        self.assertEqual(price(1), 0)

    def test_zzz(self):
        price(99)
"""


def test_recording_ends_at_the_first_failing_test(tmp_path: Path, python: Interpreter) -> None:
    path = written(tmp_path, TEST_FILE, "test_price.py")

    found = trace(path, python, "test_price", module="unittest", until=TraceUntil(failure=True))

    assert found.outcome.how == "raised"
    assert found.outcome.exception == "AssertionError: -1 != 0"
    assert (found.outcome.path, found.outcome.line) == (str(path), 15)
    failed = found.step(found.outcome.step or -1)
    assert failed is not None
    assert found.frames[failed.frame].function == "Prices.test_zero"
    assert not frames(found, "Prices.test_zzz")


def test_an_uncaught_exception_is_the_outcome_with_the_step_that_raised_it(
    tmp_path: Path, python: Interpreter
) -> None:
    path = written(tmp_path, "def f(n):\n    return 1 // n\n\nf(0)\n")

    found = trace(path, python)

    assert (found.outcome.how, found.outcome.exit_code) == ("raised", 1)
    assert found.outcome.exception is not None
    assert found.outcome.exception.startswith("ZeroDivisionError")
    assert (found.outcome.line, found.outcome.path) == (2, str(path))
    step = found.step(found.outcome.step or -1)
    assert step is not None
    assert step.line == 2


def test_the_first_and_the_last_part_stay_when_a_limit_is_reached(
    tmp_path: Path, python: Interpreter
) -> None:
    text = "def f():\n    for i in range(20_000):\n        x = i\n    return x\n\nprint(f())\n"
    path = written(tmp_path, text)

    found = trace(path, python, limits=TraceLimits(steps=8_000))

    assert found.output == "19999"
    assert found.dropped.steps > 20_000
    written_x = [
        int(write.new.text)
        for step in found.steps
        for write in step.writes
        if write.name == "x" and write.new is not None
    ]
    assert (written_x[0], written_x[-1]) == (0, 19_999)
    assert 3_000 < len(found.steps) < 12_000
    (frame,) = frames(found, "f")
    assert frame.returned is not None
    assert frame.returned.text == "19999"


@pytest.mark.parametrize("python", PYTHONS[-1:], indirect=True)
def test_a_program_that_runs_too_long_is_ended_and_what_it_did_is_kept(
    tmp_path: Path, python: Interpreter
) -> None:
    path = written(tmp_path, "n = 0\nwhile True:\n    n += 1\n")

    found = trace(path, python, limits=TraceLimits(seconds=0.5))

    assert found.outcome.how == "timeout"
    assert len(found.steps) > 100


@pytest.mark.parametrize("python", PYTHONS[-1:], indirect=True)
def test_a_function_that_takes_most_of_the_time_is_left_out_and_the_run_comes_to_its_end(
    tmp_path: Path, python: Interpreter
) -> None:
    text = (
        "def hot(i):\n    x = i\n    return x\n\n"
        "def main():\n    last = list(map(hot, range(500_000)))[-1]\n    return last\n\n"
        "main()\n"
    )
    path = written(tmp_path, text)

    found = trace(path, python, limits=TraceLimits(seconds=2.0))

    assert found.outcome.how == "exited"
    assert found.remarks[0].startswith("only the first ")
    assert found.remarks[0].endswith(" calls of hot were recorded, to end in time")
    assert 100 <= len(frames(found, "hot")) < 500_000
    assert all(frame.returned is not None for frame in frames(found, "hot"))
    assert [write.new.text for write in steps(found, "main")[0].writes if write.new] == ["499999"]


def test_only_code_of_the_workspace_is_traced_or_of_the_named_functions(
    tmp_path: Path, python: Interpreter
) -> None:
    library = tmp_path / ".env" / "lib"
    library.mkdir(parents=True)
    (tmp_path / ".env" / "pyvenv.cfg").touch()
    written(library, "def helper(x):\n    return x + 1\n", "helper.py")
    copies = tmp_path / "pack" / "_vendor"
    copies.mkdir(parents=True)
    written(copies, "def copied():\n    return 1\n", "copy_of_library.py")
    path = written(
        tmp_path,
        "import json, sys\nsys.path.append('.env/lib')\nimport helper\n"
        "from pack._vendor import copy_of_library\ncopy_of_library.copied()\n"
        "def f():\n    return g(helper.helper(1))\n"
        "def g(x):\n    y = x\n    return json.dumps(y)\n"
        "f()\nexec('z = 1')\n",
    )

    found = trace(path, python)
    named = trace(path, python, functions=("g",))

    assert {each.function for each in found.frames.values()} == {"<module>", "f", "g"}
    assert {each.function for each in named.frames.values()} == {"g"}


def test_the_program_sees_its_own_environment_and_search_path(
    tmp_path: Path, python: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    written(site, "import builtins\nbuiltins.customized = True\n", "sitecustomize.py")
    monkeypatch.setenv("PYTHONPATH", str(site))
    path = written(
        tmp_path,
        "import os, subprocess, sys\nprint(sorted(os.environ.items()), sys.path, customized)\n"
        "child = [sys.executable, '-c', 'pass', 'secret']\n"
        "subprocess.run(child)\nsubprocess.run(child, env=dict(os.environ))\n",
    )

    found = trace(path, python)

    alone = subprocess.run(
        [python.path, str(path)], capture_output=True, text=True, env=plain_environment()
    )
    assert found.output == alone.stdout.strip()
    [remark] = found.remarks
    assert remark.startswith("a child with an environment of its own was not traced: python")
    assert remark.endswith(" -c pass")


def test_a_python_that_ignores_its_environment_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "print(1)\n")
    target = Launch(str(path), (), str(tmp_path), plain_environment(), interpreter_args=("-I",))

    with pytest.raises(Unsupported, match="-I"):
        asyncio.run(run_traced(target, TraceRequest((str(tmp_path),))))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"E",
        b"E" + (1 << 40).to_bytes(8, "little"),
        b"E" + (16).to_bytes(8, "little") + b"\xff" * 16,
        b"E" + (8).to_bytes(8, "little") + (3).to_bytes(8, "little"),
        b"S" + (2).to_bytes(8, "little") + b"\xff\xfe",
        b"E"
        + (32).to_bytes(8, "little")
        + b"".join(n.to_bytes(8, "little") for n in (14, 1, 9, 9)),
        b"X" + (0).to_bytes(8, "little"),
    ],
)
def test_a_damaged_file_is_read_as_far_as_it_goes(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "7-0.trace").write_bytes(data)
    (tmp_path / "other.trace").write_bytes(data)

    found = read_directory(str(tmp_path))

    assert found.steps == []
    assert found.remarks
