"""Run a command many times, to find a failure that is rare: hunt."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import replace
from typing import Annotated

from freezeframe.errors import UsageError, UserError
from freezeframe.model.hunting import Hunt, HuntWorker

from . import _hunt_state
from ._background_work import run_in_background
from ._compared_programs import ProgramComparison
from ._context import Context
from ._failure_texts import wilson
from ._hunt_record import record_failure
from ._hunt_runs import HuntRequest, HuntRuns, variation_of
from ._hunt_state import HuntState
from ._kept_answers import keep_answer
from ._registry import Arg, Effect, Needs, op

_RUNS = 100
#: seconds for one run
_RUN_S = 300.0
_MOST_JOBS = 256


@op(
    "hunt",
    group="questions",
    effect=Effect.RESUMES,
    needs=Needs.WORKSPACE,
    control=True,
    example="hunt -- pytest tests/test_queue.py::test_order",
    examples=(
        "hunt --runs 500 --shake -- python -m unittest test_cache",
        "hunt --until-failure --for 600 -- go test ./...",
        "hunt --runs 1000 --on dask://127.0.0.1:8786 -- pytest -q tests",
    ),
)
async def hunt(
    ctx: Context,
    command: Annotated[tuple[str, ...], Arg("after `--`: the command to run", rest=True)] = (),
    *,
    runs: Annotated[int | None, Arg("how often (default: 100)", short="-n", meta="N")] = None,
    until_failure: Annotated[bool, Arg("end at the first failure")] = False,
    jobs: Annotated[
        int | None, Arg("runs at the same time (default: one per processor)", short="-j", meta="J")
    ] = None,
    seconds: Annotated[float | None, Arg("end after this time", name="for", meta="SECONDS")] = None,
    shake: Annotated[
        bool,
        Arg("vary seeds, hash order, processors and load; delay threads where they meet (Python)"),
    ] = False,
    on: Annotated[
        str | None, Arg("hand the runs to a Dask cluster", meta="dask://HOST:PORT")
    ] = None,
    fresh: Annotated[bool, Arg("begin anew, where an earlier call was interrupted")] = False,
    timeout: Annotated[
        float, Arg("seconds for one run; more is a failure", short="-t", meta="SECONDS")
    ] = _RUN_S,
) -> Hunt:
    """Run a command many times, several at once, and show how often and how it fails.

    The runs are not debugged. The answer has the failure rate with its 95 % confidence interval,
    and the failures by location and message. Python programs are then run traced until one run
    fails again: it is recorded, and the answer says where it diverges from a run that passes.
    After Ctrl-C the same command goes on where it was.
    """
    request = _request(ctx, command, runs, until_failure, jobs, seconds, shake, timeout)
    key = _hunt_state.key_of(request.cwd, request.argv, shake=shake)
    known = None if fresh else _hunt_state.load(key)
    notes: tuple[str, ...] = ()
    if known is not None and not known.runs:
        known = None
    stamp = _hunt_state.source_stamp(request.cwd)
    if known is not None and known.stamp != stamp:
        known, notes = None, ("sources have changed since the interrupted hunt: it began anew",)
    state = known or _hunt_state.new_state(request.cwd)
    job = _Job(ctx, request, state, key, on, notes)

    def late(waited_s: float) -> UserError:
        done = _hunt_state.load(key)
        so_far = f"{done.runs} runs, {done.failed} failed" if done is not None else "no run yet"
        return UserError(
            f"the hunt goes on after {waited_s:.0f} s ({so_far}); the same command waits for it.",
            code="under-way",
            next=f"dbg {ctx.typed}" if ctx.typed else "dbg help hunt",
        )

    return await run_in_background(ctx, ("hunt", key), job.answer, late=late, keep=True)


def _request(
    ctx: Context,
    command: tuple[str, ...],
    runs: int | None,
    until_failure: bool,
    jobs: int | None,
    seconds: float | None,
    shake: bool,
    timeout: float,
) -> HuntRequest:
    if len(command) == 1:
        command = tuple(shlex.split(command[0])) or command
    if not command:
        raise UsageError("which command?", next="dbg hunt -- pytest tests")
    wrong = [
        name
        for name, value in (("--runs", runs), ("--jobs", jobs), ("--for", seconds))
        if value is not None and value <= 0
    ]
    if wrong or timeout <= 0:
        raise UsageError(f"{wrong[0] if wrong else '--timeout'} takes more than 0.")
    if runs is None and seconds is None and not until_failure:
        runs = _RUNS
    if runs is None and seconds is None:
        runs = 100 * _RUNS
    processors = os.cpu_count() or 1
    # More programs than processors: a load under which threads are interrupted anywhere.
    default = 2 * processors if shake else processors
    return HuntRequest(
        command,
        ctx.caller.cwd,
        ctx.caller.env,
        runs,
        until_failure,
        min(jobs or default, _MOST_JOBS, runs or _MOST_JOBS),
        seconds,
        timeout,
        shake,
    )


class _Job:
    """One hunt, until its answer."""

    def __init__(
        self,
        ctx: Context,
        request: HuntRequest,
        state: HuntState,
        key: str,
        cluster: str | None,
        notes: tuple[str, ...],
    ) -> None:
        self._ctx, self._request, self._state = ctx, request, state
        self._key, self._cluster, self._notes = key, cluster, notes
        self._continued = state.runs

    async def answer(self) -> Hunt:
        began = time.monotonic()
        workers: tuple[HuntWorker, ...] = ()
        if self._cluster is not None:
            from ._dask_runs import run_on_cluster

            workers = await run_on_cluster(
                self._cluster, self._request, self._state, self._save, self._report
            )
        else:
            await HuntRuns(self._request, self._state, self._save, self._report).run()
        _hunt_state.remove(self._key)
        if self._ctx.progress is not None and self._ctx.caller.terminal:
            await self._ctx.progress("\n")
        found = self._hunt(time.monotonic() - began)
        found = replace(found, workers=workers)
        if not self._state.failed:
            return replace(found, next=await self._keep(found, None))
        kept = await record_failure(self._ctx, self._request, self._state)
        found = replace(
            found,
            race=kept.race,
            recorded=kept.name,
            divergence=kept.comparison.answer if kept.comparison is not None else None,
            notes=(*found.notes, *kept.notes),
        )
        steps = await self._keep(found, kept.comparison)
        replayed = (f"replay {kept.name}",) if kept.name is not None else ()
        return replace(found, next=(*replayed, *steps))

    async def _keep(self, found: Hunt, comparison: ProgramComparison | None) -> tuple[str, ...]:
        """Keep what the page of the hunt shows: every run, and the divergence of a failing one."""
        state, request = self._state, self._request
        seeds = {
            number: variation_of(request, state.seed, number).env for number, _ in state.failures
        }
        facts: dict[str, object] = {
            "hunt": replace(found, divergence=None),
            "passed": state.passed,
            "failed": [(n, each.message, each.location, each.test) for n, each in state.failures],
            "group_of": state.group_of(),
            "seeds": seeds,
            **(comparison.facts() if comparison is not None else {}),
        }
        return await keep_answer(self._ctx, "hunt", facts, found.recorded)

    def _hunt(self, took_s: float) -> Hunt:
        state, request = self._state, self._request
        low, high = wilson(state.failed, state.runs)
        return Hunt(
            shlex.join(request.argv),
            state.runs,
            state.failed,
            low,
            high,
            state.groups(),
            request.runs,
            self._continued,
            took_s,
            state.run_s,
            request.jobs,
            request.shake,
            notes=self._notes,
        )

    def _save(self) -> None:
        _hunt_state.save(self._key, self._state)

    async def _report(self) -> None:
        if self._ctx.progress is None or not self._ctx.caller.terminal:
            return
        state, of = self._state, self._request.runs
        total = f" of {of}" if of is not None else ""
        await self._ctx.progress(f"\r{state.runs}{total} runs, {state.failed} failed ")
