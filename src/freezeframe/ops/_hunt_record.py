"""Record a failing run of a command that fails now and then, and compare it with a passing one."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from freezeframe.backends.backend import Launch
from freezeframe.backends.python.tracing.shaken_run import delays_of
from freezeframe.errors import FreezeframeError, NotFound, Unsupported
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.trace import TraceLimits
from freezeframe.questions.lost_updates import LostUpdate, lost_update
from freezeframe.questions.run_comparison import ComparedTrace, CompareOptions

from ._compared_programs import (
    ComparedCommand,
    ProgramComparison,
    command_request,
    compared,
    run_compared,
    traceable,
)
from ._context import Context
from ._hunt_runs import HuntRequest, variation_of
from ._hunt_state import HuntState
from ._stored_traces import store_trace

#: seconds to find a traced run that fails, at least and at most; and how many times as many runs
#: as a failure took so far, and how much longer each takes
_LEAST_S, _MOST_S, _PATIENCE, _SLOWER = 20.0, 90.0, 3.0, 2.0
_RUN_S = 60.0


@dataclass(frozen=True, slots=True)
class RecordedFailure:
    comparison: ProgramComparison | None = None
    race: str | None = None
    #: the name of the recorded run
    name: str | None = None
    notes: tuple[str, ...] = ()


async def record_failure(ctx: Context, request: HuntRequest, state: HuntState) -> RecordedFailure:
    """Run the command traced until it fails and passes; return where the two diverge."""
    command = ComparedCommand(
        "fail", command_request(request.argv), request.cwd, ctx.workspace.root, request.env
    )
    try:
        target, name = await traceable(ctx, command)
        return await _Attempts(ctx, request, state, command, target, name).found()
    except Unsupported:
        return RecordedFailure(
            notes=("a failing run is recorded and compared for Python programs",)
        )
    except NotFound as error:
        return RecordedFailure(notes=(f"no divergence: {error.message}",))
    except FreezeframeError as error:
        return RecordedFailure(notes=(f"no failing run was recorded: {error.message}",))


class _Attempts:
    def __init__(
        self,
        ctx: Context,
        request: HuntRequest,
        state: HuntState,
        command: ComparedCommand,
        target: Launch,
        name: str,
    ) -> None:
        self._ctx, self._request, self._state = ctx, request, state
        self._command, self._target, self._name = command, target, name
        self._failing: ComparedTrace | None = None
        self._passing: ComparedTrace | None = None
        self._made = 0

    async def found(self) -> RecordedFailure:
        state = self._state
        one_in = state.runs / max(1, state.failed)
        needed_s = _PATIENCE * one_in * state.run_s * _SLOWER / self._request.jobs
        span_s = min(_MOST_S, max(_LEAST_S, needed_s))
        ends_at = time.monotonic() + span_s
        failed = [number for number, _ in self._state.failures]
        # Runs that failed are repeated under the same conditions first.
        numbers = [failed[0], self._state.passing or failed[0] + 1, *failed[1:4]]
        while time.monotonic() < ends_at and not (self._failing and self._passing):
            some = [self._number(numbers) for _ in range(max(1, self._request.jobs))]
            for each in await asyncio.gather(*(self._attempt(number) for number in some)):
                self._keep(each)
        if self._ctx.progress is not None and self._ctx.caller.terminal:
            await self._ctx.progress("\n")
        failing, passing = self._failing, self._passing
        if failing is None:
            return RecordedFailure(
                notes=(f"{self._made} traced runs within {span_s:.0f} s did not fail again",)
            )
        name = store_trace(self._ctx, f"{self._name}-failed", self._target, failing.trace)
        race = await asyncio.to_thread(lost_update, failing.trace)
        shown = _race_text(race) if race is not None else None
        if passing is None:
            notes = (f"all {self._made} traced runs failed: there is none that passed to compare",)
            return RecordedFailure(None, shown, name, notes)
        found = await compared(self._ctx, passing, failing, CompareOptions())
        return RecordedFailure(found, shown, name)

    def _number(self, numbers: list[int]) -> int:
        if numbers:
            return numbers.pop(0)
        return self._state.runs + 1 + self._made

    async def _attempt(self, number: int) -> ComparedTrace:
        self._made += 1
        variation = variation_of(self._request, self._state.seed, number)
        target = replace(self._target, env={**self._target.env, **variation.env})
        # A run that only fails when it is shaken is repeated so.
        is_shaken = self._request.shake
        delays = delays_of(variation.seed, variation.switch_s) if is_shaken else None
        return await run_compared(
            self._ctx, target, self._command, TraceLimits(seconds=_RUN_S), delays
        )

    def _keep(self, run: ComparedTrace) -> None:
        if not run.trace.steps:
            return
        if run.end.failed and self._failing is None:
            self._failing = run
        elif not run.end.failed and self._passing is None:
            self._passing = replace(run, end=replace(run.end, label="pass"))


def _race_text(race: LostUpdate) -> str:
    file = race.path.rpartition("/")[2]
    other = race.other_path.rpartition("/")[2]
    name = race.name.removeprefix(".")
    # A line that left the value as it was may have written the same one, or nothing.
    wrote = f"wrote {race.left} at" if race.is_written else f"left {race.left} there by"
    return (
        f"{name}: {race.thread} read {race.read} at {file}:{race.read_line} in {race.function} and "
        f"{wrote} line {race.line}; {race.other_thread} had written {race.lost} meanwhile "
        f"({other}:{race.other_line}), which {race.thread} had not read"
    )
