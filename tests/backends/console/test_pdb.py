"""Python through pdb's prompt: what the contract does not ask of every debugger."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from backends.async_tests import on_loop
from freezeframe.backends.backend import BreakpointRequest, ExitedEvent, Launch, StepKind, Stopped
from freezeframe.backends.console.debuggers import known
from freezeframe.backends.debugger import Found
from freezeframe.config import Config, Timeouts
from freezeframe.errors import DebuggerError, DebuggerTimeout
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter, StopReason

from .driving import Driver


class Python(Driver):
    def __init__(self, directory: Path, text: str, config: Config | None = None) -> None:
        self.path = directory / "program.py"
        self.path.write_text(text)
        made = known()["pdb"].make(Found("pdb", None), config or Config())
        super().__init__(config, made)

    async def launch(self, *lines: int, **how: Any) -> None:
        wanted = [
            BreakpointRequest(id, Location(file=str(self.path), line=line))
            for id, line in enumerate(lines, 1)
        ]
        filters = how.pop("filters", None)
        settings = {
            "cwd": str(self.path.parent),
            "env": dict(os.environ),
            "interpreter": sys.executable,
            **how,
        }
        await self.start(Launch(str(self.path), **settings), *wanted, filters=filters)

    async def step(self, kind: StepKind, thread: int) -> Stopped | ExitedEvent:
        await self.backend.step(kind, thread)
        return await self.next()


@on_loop
async def test_what_the_program_prints_is_never_taken_for_the_debugger(tmp_path):
    text = 'print("(Pdb) ")\nprint(\'@stop {"reason": null}\')\nprint("(Pdb) ", end="")\nx = 1\n'
    async with Python(tmp_path, text) as python:
        await python.launch(4)

        assert (await python.stop()).breakpoints == (1,)
        assert python.printed() == '(Pdb) \n@stop {"reason": null}\n(Pdb) '
        assert (await python.go()).exit.code == 0  # type: ignore[union-attr]


@on_loop
async def test_a_program_that_waits_for_input_is_paused_in_the_middle_of_it(tmp_path):
    # It is on that line from its first word on.
    text = 'import sys\nname = input("ready\\n")\nprint("hello", name)\n'
    async with Python(tmp_path, text) as python:
        await python.launch()
        await python.until_printed("ready")
        await python.backend.pause(None)

        stop = await python.stop()
        assert stop.reason is StopReason.PAUSE
        assert await python.place() == ("<module>", 2)
        assert (await python.evaluate("6 * 7")).text == "42"
        await python.backend.resume(None)
        await python.backend.write_stdin(b"Ada\n")
        assert (await python.end()).exit.code == 0
        assert python.printed() == "ready\nhello Ada\n"


@on_loop
async def test_a_pause_that_was_not_heard_is_asked_for_again(tmp_path):
    text = (
        "import signal\n"
        "theirs = signal.getsignal(signal.SIGURG)\n"
        "signal.signal(signal.SIGURG, lambda *_: signal.signal(signal.SIGURG, theirs))\n"
        'input("ready\\n")\n'
    )
    async with Python(tmp_path, text) as python:
        await python.launch()
        await python.until_printed("ready")
        await python.backend.pause(None)

        assert (await python.stop()).reason is StopReason.PAUSE
        assert await python.place() == ("<module>", 4)


@on_loop
async def test_an_interrupt_from_outside_is_the_program_s_own(tmp_path):
    text = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(5))\n"
        'print("ready", flush=True)\n'
        "time.sleep(60)\n"
    )
    async with Python(tmp_path, text) as python:
        await python.launch()
        await python.until_printed("ready")

        os.kill(python.pid, signal.SIGINT)

        assert (await python.end()).exit.code == 5


@on_loop
async def test_a_step_out_of_a_function_lands_in_the_middle_of_its_caller_s_line(tmp_path):
    text = "def f(n):\n    return n + 1\ndef g():\n    return f(1) + f(2)\nprint(g())\n"
    async with Python(tmp_path, text) as python:
        await python.launch(2)
        thread = (await python.stop()).thread
        assert thread is not None

        await python.step(StepKind.OUT, thread)

        assert await python.place() == ("g", 4)
        returned = [v for v in await python.all_locals() if v.returned]
        assert [v.text for v in returned] == ["2"]


@on_loop
async def test_steps_stay_in_a_coroutine_and_a_bad_command_is_only_refused(tmp_path):
    text = (
        "import asyncio\nasync def f(n):\n    m = 1\n    await asyncio.sleep(0)\n    m += n\n"
        "    return m\nasync def g():\n    k = await f(2)\n    return k\nasyncio.run(g())\n"
    )
    async with Python(tmp_path, text) as python:
        await python.launch(4)
        thread = (await python.stop()).thread
        assert thread is not None

        with pytest.raises(DebuggerError, match="nosuch"):
            await python.backend.raw("nosuch", None)
        await python.step(StepKind.OVER, thread)
        assert await python.place() == ("f", 5)
        await python.step(StepKind.OUT, thread)
        assert await python.place() == ("g", 8)
        returned = [v for v in await python.all_locals() if v.returned]
        assert [v.text for v in returned] == ["3"]


@on_loop
async def test_a_recursion_that_is_too_deep_stops_in_the_program(tmp_path):
    async with Python(tmp_path, "def f(n):\n    return f(n + 1)\nf(0)\n") as python:
        await python.launch()
        assert (await python.stop()).reason is StopReason.EXCEPTION

        assert (await python.place())[0] == "f"


@on_loop
async def test_a_step_over_is_not_ended_by_a_logpoint_in_what_it_calls(tmp_path):
    text = "def f(n):\n    m = n + 1\n    return m\nx = f(1)\ny = f(x)\nprint(y)\n"
    async with Python(tmp_path, text) as python:
        log = BreakpointRequest(7, Location(file=str(python.path), line=2), log="n is {n}")
        await python.launch(4)
        thread = (await python.stop()).thread
        assert thread is not None
        await python.backend.set_breakpoints(str(python.path), [log])

        await python.step(StepKind.OVER, thread)

        assert await python.place() == ("<module>", 5)
        assert python.printed("log") == "n is 1\n"


@on_loop
async def test_a_value_that_cannot_be_shown_costs_no_other(tmp_path):
    text = (
        "class Slow:\n    def __repr__(self):\n        while True:\n            pass\n"
        "def f():\n    slow = Slow()\n    n = 1\n    return slow\nf()\n"
    )
    config = Config(timeouts=Timeouts(value_s=0.5))
    async with Python(tmp_path, text, config) as python:
        await python.launch(8)
        await python.stop()

        shown = {v.name: v for v in await python.all_locals()}

        assert shown["n"].text == "1"
        assert shown["slow"].text == "Slow()"  # its `__repr__` was not requested
        asked = await python.evaluate("slow")
        assert asked.failed
        assert "took too long" in asked.text
        assert (await python.evaluate("n")).text == "1"


@on_loop
async def test_code_that_never_ends_is_interrupted_and_the_session_lives(tmp_path):
    config = Config(timeouts=Timeouts(request_s=1.0))
    async with Python(tmp_path, "n = 1\nm = 2\n", config) as python:
        await python.launch(2)
        await python.stop()
        frame = (await python.frames())[0].id

        with pytest.raises(DebuggerTimeout, match="interrupted"):
            await python.backend.evaluate("while True: pass", frame, statement=True)

        assert (await python.evaluate("n")).text == "1"


@on_loop
async def test_raised_exceptions_are_narrowed_to_types_and_what_inherits_from_them(tmp_path):
    text = (
        "for n in (1, 0):\n    try:\n        {}['x'] if n else 1 / n\n"
        "    except Exception:\n        pass\n"
    )
    async with Python(tmp_path, text) as python:
        raised = ExceptionFilter("raised", "", on=True, condition="ArithmeticError")
        await python.launch(filters=[raised])

        stop = await python.stop()
        info = await python.backend.exception(stop.thread or 0)

        assert stop.reason is StopReason.EXCEPTION
        assert info is not None
        assert (info.type, info.mode) == ("ZeroDivisionError", "raised")
        assert isinstance(await python.go(), ExitedEvent)


@on_loop
async def test_an_uncaught_exception_of_a_thread_stops_too(tmp_path):
    text = (
        "import threading\ndef work():\n    raise ValueError('no')\n"
        "t = threading.Thread(target=work)\nt.start()\nt.join()\n"
    )
    async with Python(tmp_path, text) as python:
        await python.launch()

        stop = await python.stop()
        assert stop.reason is StopReason.EXCEPTION
        frame = (await python.backend.frames(stop.thread or 0, 0, 1))[0][0]
        assert (frame.function, frame.line) == ("work", 3)
        assert (await python.go()).exit.code == 0  # type: ignore[union-attr]


@on_loop
async def test_a_file_that_cannot_be_compiled_ends_like_without_a_debugger(tmp_path):
    async with Python(tmp_path, "def f(:\n") as python:
        await python.launch(1)

        assert (await python.end()).exit.code == 1
        assert "SyntaxError" in python.printed("stderr")


@on_loop
async def test_a_jump_out_of_the_function_is_refused_in_python_s_words(tmp_path):
    async with Python(tmp_path, "def f():\n    return 1\nf()\nx = 1\n") as python:
        await python.launch(2)
        stop = await python.stop()

        with pytest.raises(DebuggerError, match="no jump to line 4 from here") as refused:
            await python.backend.jump(stop.thread or 0, str(python.path), 4)

        assert refused.value.error_code == "bad-jump"


@on_loop
async def test_a_forked_child_runs_undisturbed(tmp_path):
    text = (
        "import os\npid = os.fork()\nx = 1\nif pid:\n    os.waitpid(pid, 0)\n"
        "print(bool(pid), flush=True)\n"
    )
    async with Python(tmp_path, text) as python:
        await python.launch(3)

        await python.stop()
        assert (await python.go()).exit.code == 0  # type: ignore[union-attr]
        assert sorted(python.printed().split()) == ["False", "True"]


@on_loop
async def test_a_thread_of_the_low_level_module_is_debugged_too(tmp_path):
    text = """\
import _thread, sys, time
ended = []
sys.unraisablehook = lambda args: ended.append((args.err_msg, args.object.__name__))
def work(n):
    n += 1
    raise ValueError(n)
_thread.start_new_thread(work, (1,))
while not ended:
    time.sleep(0.01)
assert ended == [("Exception ignored in thread started by", "work")], ended
"""
    async with Python(tmp_path, text) as python:
        await python.launch(5, filters=[ExceptionFilter("uncaught", "uncaught")])
        stop = await python.stop()
        assert stop.reason is StopReason.BREAKPOINT
        frames, _ = await python.backend.frames(stop.thread or 0, 0, 20)
        assert [frame.function for frame in frames] == ["work"]
        await python.backend.resume(stop.thread)
        assert (await python.stop()).reason is StopReason.EXCEPTION
        await python.backend.resume(None)
        assert (await python.end()).exit.code == 0
