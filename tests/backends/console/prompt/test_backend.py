"""What every debugger with a prompt gets for nothing: held against a toy that can do little."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from backends.async_tests import on_loop
from backends.console.driving import Driver
from freezeframe.backends.backend import (
    BreakpointRequest,
    Feature,
    Launch,
    RawFrame,
    RawValue,
    StepKind,
    Stopped,
    Target,
)
from freezeframe.backends.console.prompt.backend import PromptBackend
from freezeframe.backends.console.prompt.command_set import (
    CommandSet,
    ConsoleQuery,
    ControlTransport,
    DebuggeeHost,
    DebuggerBreakpoint,
    FrameRef,
    LaunchSpec,
    StopInfo,
)
from freezeframe.backends.debugger import Found
from freezeframe.config import AdapterConfig, Config, Timeouts
from freezeframe.errors import DebuggerTimeout, EvaluationFailed, LaunchFailed, Unsupported
from freezeframe.model.locations import Location
from freezeframe.model.stops import Exit, StopReason
from freezeframe.model.values import ScopeKind

TOY = str(Path(__file__).with_name("toy.py"))
_WORDS = re.compile(r"^(toy> )*(toy: .*)\n?|^(toy> )+", re.MULTILINE)


class ToySpelling(CommandSet):
    """The toy's prompt. Its input is its own; it shares its output with the program."""

    name = "toy"
    prompt = "toy> "
    one_per_location = True
    shares_output = True
    stops_at_first_line = True
    alternatives = {Feature.JUMP: "dbg raw 'goto LINE'"}

    def echo(self, token: str) -> str:
        return f"echo {token}"

    def begin(self, target: Target, config: AdapterConfig) -> LaunchSpec:
        assert isinstance(target, Launch)
        words = ("async",) if self.asynchronous else ()
        argv = (sys.executable, TOY, target.program, *words, *target.args)
        return LaunchSpec(argv, target.cwd, target.env, ControlTransport.STDIO, DebuggeeHost.SHARED)

    def read_greeting(self, text: str) -> str | None:
        found = re.search(r"toy (\S+)", text)
        return found[1] if found else None

    def resume(self, thread: int | None) -> str:
        return "go"

    def step(self, kind: StepKind, thread: int) -> str:
        return "step"

    def read_stop(self, text: str) -> StopInfo | None:
        if "toy 1.0" in text:
            return StopInfo(path=self.path, line=1)
        found = re.findall(r"^(?:toy> )*toy: (\w+)(?: at (\d+))?$", text, re.MULTILINE)
        if not found:
            return None
        word, line = found[-1]
        if word == "ended":
            return StopInfo(exit=Exit(code=0))
        reason = StopReason.PAUSE if word == "interrupted" else None
        return StopInfo(reason, self.path, int(line))

    def output_of(self, text: str) -> str:
        return _WORDS.sub("", text)

    def break_at(
        self, location: Location, condition: str | None
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        assert condition is None, "it has no conditions of its own"
        number = str(location.line)
        return ConsoleQuery(
            f"break {number}", lambda text: DebuggerBreakpoint(number, location.file, location.line)
        )

    def missing_feature(self, location: Location) -> Feature | None:
        return None if location.file else Feature.FUNCTION_BREAKPOINTS

    def delete_breakpoint(self, number: str) -> str:
        return f"delete {number}"

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            return [RawFrame(0, "main", self.path, int(text.split()[1]))][start : start + count]

        return ConsoleQuery("where", read)

    def scope(self, kind: ScopeKind, at: FrameRef) -> ConsoleQuery[Sequence[RawValue]]:
        def read(text: str) -> Sequence[RawValue]:
            pairs = [line.partition("=") for line in text.splitlines() if "=" in line]
            return [RawValue(name, value, expression=name) for name, _, value in pairs]

        return ConsoleQuery("names", read)

    def evaluate(self, expression: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        def read(text: str) -> RawValue:
            if text.startswith("error: "):
                raise EvaluationFailed(text.removeprefix("error: ").strip())
            return RawValue(expression, text.rstrip("\n"), expression=expression)

        return ConsoleQuery(f"print {expression}", read)

    path = ""


class Eager(ToySpelling):
    pass


class Patient(ToySpelling):
    """The program reads its input: the token is requested when it prompts."""

    eager = False


class Asynchronous(ToySpelling):
    asynchronous = True

    def pause(self) -> str | None:
        return "hold"


class Beginning(ToySpelling):
    """The program begins on a command, and its first stop is the answer."""

    stops_at_first_line = False
    run_goes_on = True

    def run(self, target: Launch) -> str | None:
        return "go"


class Framed(ToySpelling):
    """A frame is chosen by a command, and stays so."""

    def select(self, at: FrameRef, from_: FrameRef) -> Sequence[str]:
        return (f"frame {at.level}",)

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        asked = super().frames(thread, 0, 1)
        caller = RawFrame(0, "caller", self.path, 1)
        return ConsoleQuery(
            asked.command, lambda text: [*asked.read(text), caller][start : start + count]
        )


KINDS = [Eager, Patient, Asynchronous]

PROGRAM = """\
n = 0
n = n + 1
say at (n) toy>
m = n * 10
goto 2 if n < 6
n = 100
"""


class Toys(Driver):
    def __init__(self, kind: type[ToySpelling], path: Path, config: Config | None = None) -> None:
        spelling = kind()
        spelling.path = str(path)
        self.path = path
        super().__init__(config, PromptBackend(spelling, Found("toy", None), config or Config()))

    async def launch(self, *wanted: BreakpointRequest, **how: object) -> None:
        settings = {"cwd": str(self.path.parent), "env": dict(os.environ), **how}
        await self.start(Launch(str(self.path), **settings), *wanted)  # type: ignore[arg-type]

    def at(self, line: int, id: int = 1, **how: str) -> BreakpointRequest:
        return BreakpointRequest(id, Location(file=str(self.path), line=line), **how)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.toy"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize("kind", KINDS)
@on_loop
async def test_a_breakpoint_stops_and_the_end_is_told(program, kind):
    async with Toys(kind, program) as toy:
        await toy.launch(toy.at(4))
        assert toy.backend.tool.version == "1.0"

        stop = await toy.stop()
        assert (stop.reason, stop.breakpoints) == (StopReason.BREAKPOINT, (1,))
        assert await toy.place() == ("main", 4)
        assert await toy.locals() == {"n": "1"}
        assert (await toy.evaluate("n + 41")).text == "42"
        with pytest.raises(EvaluationFailed, match="nothing"):
            await toy.evaluate("nothing")
        await toy.backend.set_breakpoints(str(program), ())
        assert (await toy.go()).exit.code == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS)
@on_loop
async def test_a_condition_holds_where_the_debugger_has_none(program, kind):
    async with Toys(kind, program) as toy:
        await toy.launch(toy.at(4, condition="n == 3"))

        await toy.stop()
        assert (await toy.locals())["n"] == "3"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("hits", "stops"),
    [("2", ["2"]), (">=5", ["5", "6"]), ("% 3", ["3", "6"]), ("< 3", ["1", "2"]), (">5", ["6"])],
)
@on_loop
async def test_hits_are_counted_where_the_debugger_does_not(program, kind, hits, stops):
    async with Toys(kind, program) as toy:
        await toy.launch(toy.at(4, hit_count=hits))
        seen = []
        while isinstance(await toy.next(), Stopped):
            seen.append((await toy.locals())["n"])
            await toy.backend.resume(1)

        assert seen == stops


@on_loop
async def test_hits_count_only_where_the_condition_holds(program):
    async with Toys(Eager, program) as toy:
        await toy.launch(toy.at(4, condition="n > 3", hit_count="2"))

        await toy.stop()
        assert (await toy.locals())["n"] == "5"


@on_loop
async def test_a_condition_that_cannot_be_evaluated_stops_and_says_why(program):
    async with Toys(Eager, program) as toy:
        await toy.launch(toy.at(4, condition="nothing > 3"))

        stop = await toy.stop()
        passed = await toy.backend.hit_breakpoints(stop.breakpoints)
        assert "nothing" in passed.failures[1]


@pytest.mark.parametrize("kind", KINDS)
@on_loop
async def test_a_logpoint_writes_and_shares_its_line_with_a_breakpoint(program, kind):
    async with Toys(kind, program) as toy:
        await toy.launch(toy.at(4, log="n is {n}, {{so}}"), toy.at(4, id=2, condition="n == 2"))

        stop = await toy.stop()
        assert stop.breakpoints == (2,)
        assert toy.printed("log") == "n is 1, {so}\nn is 2, {so}\n"
        await toy.go()
        assert toy.printed("log").count("\n") == 6


@on_loop
async def test_of_two_breakpoints_at_one_place_removing_one_leaves_the_other(program):
    async with Toys(Eager, program) as toy:
        await toy.launch(toy.at(4), toy.at(4, id=2))
        assert (await toy.stop()).breakpoints == (1, 2)

        await toy.backend.set_breakpoints(str(program), [toy.at(4, id=2)])
        again = await toy.go()

        assert isinstance(again, Stopped)
        assert again.breakpoints == (2,)


@pytest.mark.parametrize("kind", [Eager, Patient])
@on_loop
async def test_a_program_that_prints_a_prompt_and_a_stop_fools_nobody(tmp_path, kind):
    path = tmp_path / "liar.toy"
    path.write_text("n = 1\nsay toy> \nsay toy> toy: stopped at 9\nn = 2\n")
    async with Toys(kind, path) as toy:
        await toy.launch(toy.at(4))

        stop = await toy.stop()
        assert stop.breakpoints == (1,)
        assert await toy.place() == ("main", 4)


@pytest.mark.parametrize("kind", KINDS)
@on_loop
async def test_a_running_program_is_paused_and_goes_on(tmp_path, kind):
    path = tmp_path / "waits.toy"
    path.write_text("n = 1\nn = 2\nwait now\nn = 4\n")
    async with Toys(kind, path) as toy:
        await toy.launch()
        await toy.until_printed("now")
        await toy.backend.pause(None)

        stop = await toy.stop()
        assert stop.reason is StopReason.PAUSE
        assert (await toy.go()).exit.code == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS)
@on_loop
async def test_a_breakpoint_is_set_while_the_program_runs_and_nobody_sees_how(tmp_path, kind):
    path = tmp_path / "waits.toy"
    path.write_text("n = 1\nn = 2\nwait now\nn = 3\nn = 4\n")
    async with Toys(kind, path) as toy:
        await toy.launch()
        await toy.until_printed("now")

        [bound] = await toy.backend.set_breakpoints(str(path), [toy.at(5)])

        assert bound.verified
        stop = await toy.stop()
        assert (stop.reason, stop.breakpoints) == (StopReason.BREAKPOINT, (1,))
        assert await toy.place() == ("main", 5)


@on_loop
async def test_a_program_that_is_told_to_begin_stops_at_a_breakpoint_and_ends(program):
    async with Toys(Beginning, program) as toy:
        await toy.launch(toy.at(4))

        assert (await toy.stop()).breakpoints == (1,)
        assert await toy.locals() == {"n": "1"}
        await toy.backend.set_breakpoints(str(program), ())
        assert (await toy.go()).exit.code == 0  # type: ignore[union-attr]


@on_loop
async def test_a_step_after_a_look_at_a_caller_is_one_of_the_innermost_frame(program):
    async with Toys(Framed, program) as toy:
        await toy.launch(toy.at(4))
        await toy.stop()
        _, caller = await toy.frames()
        assert (await toy.backend.evaluate("n", caller.id)).text == "1"

        await toy.backend.step(StepKind.OVER, 1)

        assert (await toy.stop()).reason is StopReason.STEP
        assert await toy.place() == ("main", 5)


@on_loop
async def test_stop_on_entry_and_a_breakpoint_on_the_first_line_stop_before_it_runs(program):
    async with Toys(Eager, program) as toy:
        await toy.launch(stop_on_entry=True)
        assert (await toy.stop()).reason is StopReason.ENTRY
        assert await toy.locals() == {}
    async with Toys(Eager, program) as toy:
        await toy.launch(toy.at(1))
        assert (await toy.stop()).breakpoints == (1,)
        assert await toy.locals() == {}


@on_loop
async def test_what_it_does_not_spell_is_refused_with_what_comes_nearest(program):
    async with Toys(Eager, program) as toy:
        await toy.launch(toy.at(4))
        await toy.stop()

        assert Feature.JUMP not in toy.backend.features
        with pytest.raises(Unsupported) as refused:
            await toy.backend.jump(1, str(program), 2)
        assert refused.value.next == "dbg raw 'goto LINE'"
        with pytest.raises(Unsupported):
            await toy.backend.read_memory("0x1000", 4)
        [bound] = await toy.backend.set_function_breakpoints(
            [BreakpointRequest(9, Location(function="f"))]
        )
        assert bound.rejected
        assert "function breakpoints" in (bound.message or "")


@on_loop
async def test_a_command_that_never_ends_is_bounded(program):
    config = Config(timeouts=Timeouts(request_s=1.0))
    async with Toys(Eager, program, config) as toy:
        await toy.launch(toy.at(4))
        await toy.stop()

        with pytest.raises(DebuggerTimeout):
            await toy.backend.raw("sleep", None)


@on_loop
async def test_a_debugger_that_dies_at_once_is_told_with_its_last_words(tmp_path):
    async with Toys(Eager, tmp_path / "nowhere.toy") as toy:
        with pytest.raises(LaunchFailed, match=r"nowhere\.toy"):
            await toy.launch()
